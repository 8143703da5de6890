// Pictures: shapes, lines, scales.

function drawn(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A line that keeps its height until the next point. */
function stairs(points) {
  return points.map(([x, y], index) => (index ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `M${x.toFixed(1)} ${y.toFixed(1)}`)).join("");
}

/** Seconds from 0 to the longest, on a scale on which each ten times is as wide, from a hundredth of a second on. */
function secondsScale(longest, from, width) {
  const far = Math.log10(1 + 100 * longest);
  return (seconds) => from + (far ? Math.log10(1 + 100 * seconds) / far : 0) * width;
}

/** Seconds as a mark of such a scale. */
const MARKS = [[0.1, "0.1 s"], [1, "1 s"], [10, "10 s"], [60, "1 min"], [600, "10 min"], [3600, "1 h"], [36000, "10 h"], [360000, "100 h"]];

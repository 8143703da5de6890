// The pictures of a what-if and of a replay.

const LEVELS = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1];
const SIDE = 480;
const MARGIN = 56;
const PANEL = { width: 220, height: 120, left: 44, top: 34, across: 3 };
const SCENARIOS = [["actual", "before"], ["proposed", "after"]];

/** The rows of a table of the page as objects. */
function rowsOf(name) {
  const { columns, rows } = data.parts[name];
  return rows.map((values) => Object.fromEntries(columns.map((column, index) => [column, values[index]])));
}

/** A time to the second. */
function moment(text) { return `${text.slice(0, 10)} ${text.slice(11, 19)}`; }

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

/** Positions before against positions after, the first on top: above the diagonal a message comes earlier. */
function moves(figure, points) {
  const last = Math.max(1, ...points.flatMap((row) => [row.position_before, row.position_after]));
  const at = (position) => MARGIN + (position / last) * SIDE;
  const kind = (row) => row.position_after < row.position_before ? "gains"
    : row.position_after > row.position_before ? "pays" : "stays";
  const dots = points.map((row) => drawn("circle", {
    class: kind(row), cx: at(row.position_before).toFixed(1), cy: at(row.position_after).toFixed(1), r: 3,
  }, drawn("title", {}, `level ${row.level_before} to ${row.level_after}: position ${count(row.position_before)} to ${count(row.position_after)}`)));
  const end = MARGIN + SIDE;
  const picture = drawn("svg", { viewBox: `0 0 ${end + 16} ${end + 16}`, role: "img", "aria-label": `Moves in ${figure.dataset.name}` },
    drawn("path", { class: "axis", d: `M${MARGIN} ${MARGIN}H${end}M${MARGIN} ${MARGIN}V${end}M${MARGIN} ${MARGIN}L${end} ${end}` }),
    drawn("text", { x: MARGIN, y: MARGIN - 24 }, "position before"),
    drawn("text", { x: MARGIN, y: MARGIN - 8 }, "1"),
    drawn("text", { x: end, y: MARGIN - 8, "text-anchor": "end" }, count(last)),
    drawn("text", { x: MARGIN - 8, y: end, "text-anchor": "end" }, count(last)),
    drawn("text", { x: 14, y: MARGIN, transform: `rotate(90 14 ${MARGIN})` }, "position after"),
    ...dots);
  figure.prepend(picture);
}

/** For each level a panel: which share of its messages had started after so long. */
function sharesPicture(figure, shares) {
  const levels = LEVELS.filter((level) => shares.some((row) => row.level === level));
  const scenarios = SCENARIOS.filter(([name]) => shares.some((row) => row.scenario === name));
  const longest = Math.max(...shares.map((row) => row.seconds));
  const { width, height, left, top, across } = PANEL;
  const panels = levels.map((level, index) => {
    const x0 = left + (index % across) * (width + left);
    const y0 = top + Math.floor(index / across) * (height + top + 20);
    const x = secondsScale(longest, x0, width);
    const y = (share) => y0 + height * (1 - share);
    const lines = scenarios.map(([name, kind]) => {
      const own = shares.filter((row) => row.level === level && row.scenario === name);
      const points = [[x0, y(0)], ...own.map((row) => [x(row.seconds), y(row.share)])];
      return drawn("path", { class: `curve ${kind}`, d: stairs(points) });
    });
    const ticks = MARKS.filter(([seconds]) => seconds < longest).map(([seconds, text]) =>
      drawn("text", { x: x(seconds).toFixed(1), y: y0 + height + 14, "text-anchor": "middle" }, text));
    return drawn("g", {},
      drawn("path", { class: "axis", d: `M${x0} ${y0}V${y0 + height}H${x0 + width}` }),
      drawn("text", { x: x0, y: y0 - 8 }, `level ${level}`),
      drawn("text", { x: x0 - 6, y: y0 + 10, "text-anchor": "end" }, "100%"),
      drawn("text", { x: x0 - 6, y: y0 + height, "text-anchor": "end" }, "0"),
      ...ticks, ...lines);
  });
  const rows = Math.ceil(levels.length / across);
  const picture = drawn("svg", {
    viewBox: `0 0 ${left + across * (width + left)} ${top + rows * (height + top + 20)}`,
    role: "img",
    "aria-label": `Waits by level in ${figure.dataset.name}`,
  }, ...panels);
  figure.prepend(picture);
}

/** How many messages waited, over time. */
function lengthsPicture(figure, lengths) {
  const scenarios = SCENARIOS.filter(([name]) => lengths.some((row) => row.scenario === name));
  const times = lengths.map((row) => Date.parse(row.moment));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const most = Math.max(1, ...lengths.map((row) => row.waiting));
  const [width, height, left, top] = [720, 200, 64, 20];
  const x = (time) => left + ((time - first) / Math.max(1, last - first)) * width;
  const y = (waiting) => top + height * (1 - waiting / most);
  const lines = scenarios.map(([name, kind]) => {
    const own = lengths.filter((row) => row.scenario === name);
    return drawn("path", { class: `curve ${kind}`, d: stairs([[left, y(0)], ...own.map((row) => [x(Date.parse(row.moment)), y(row.waiting)])]) });
  });
  const picture = drawn("svg", {
    viewBox: `0 0 ${left + width + 16} ${top + height + 28}`, role: "img", "aria-label": `Waiting messages in ${figure.dataset.name}`,
  },
    drawn("path", { class: "axis", d: `M${left} ${top}V${top + height}H${left + width}` }),
    drawn("text", { x: left - 6, y: top + 8, "text-anchor": "end" }, count(most)),
    drawn("text", { x: left - 6, y: top + height, "text-anchor": "end" }, "0"),
    drawn("text", { x: left, y: top + height + 18 }, moment(new Date(first).toISOString())),
    drawn("text", { x: left + width, y: top + height + 18, "text-anchor": "end" }, moment(new Date(last).toISOString())),
    ...lines);
  figure.prepend(picture);
}

for (const [id, draw, name] of [
  ["whatif-picture", moves, "whatif_points"],
  ["replay-shares", sharesPicture, "replay_shares"],
  ["replay-lengths", lengthsPicture, "replay_lengths"],
]) {
  const figure = document.getElementById(id);
  if (figure) draw(figure, rowsOf(name));
}

// The what-if that the page was made with; without one, the section is taken out.

const SIDE = 480;
const MARGIN = 56;

/** Positions before against positions after, the first on top: above the diagonal a message comes earlier. */
function moves(place, points, total) {
  const last = Math.max(1, ...points.flatMap((row) => [row.position_before, row.position_after]));
  const at = (position) => MARGIN + (position / last) * SIDE;
  const kind = (row) => row.position_after < row.position_before ? "gains"
    : row.position_after > row.position_before ? "pays" : "stays";
  const dots = points.map((row) => drawn("circle", {
    class: kind(row), cx: at(row.position_before).toFixed(1), cy: at(row.position_after).toFixed(1), r: 3,
  }, drawn("title", {}, `level ${row.level_before} to ${row.level_after}: position ${count(row.position_before)} to ${count(row.position_after)}`)));
  const end = MARGIN + SIDE;
  const name = place.kind === "receive"
    ? `${visible(place.queue)} of ${visible(place.instance)} · ${visible(place.database)}`
    : `the transmission order of ${visible(place.instance)}`;
  const gaining = points.filter((row) => kind(row) === "gains").length;
  const paying = points.filter((row) => kind(row) === "pays").length;
  const picture = drawn("svg", { viewBox: `0 0 ${end + 16} ${end + 16}`, role: "img", "aria-label": `Moves in ${name}` },
    drawn("path", { class: "axis", d: `M${MARGIN} ${MARGIN}H${end}M${MARGIN} ${MARGIN}V${end}M${MARGIN} ${MARGIN}L${end} ${end}` }),
    drawn("text", { x: MARGIN, y: MARGIN - 24 }, "position before"),
    drawn("text", { x: MARGIN, y: MARGIN - 8 }, "1"),
    drawn("text", { x: end, y: MARGIN - 8, "text-anchor": "end" }, count(last)),
    drawn("text", { x: MARGIN - 8, y: end, "text-anchor": "end" }, count(last)),
    drawn("text", { x: 14, y: MARGIN, transform: `rotate(90 14 ${MARGIN})` }, "position after"),
    ...dots);
  const some = total > points.length ? `Shown are ${count(points.length)} of ${count(total)} messages. ` : "";
  document.getElementById("whatif-picture").replaceChildren(picture, element("figcaption", {},
    `${name}, where most changes. ${some}Of those shown ${count(gaining)} come earlier, above the line, and ${count(paying)} later, below it.`));
}

/** A row for each level that passes, a column for each that is passed. */
function passing(pairs) {
  const rows = LEVELS.filter((level) => pairs.some((pair) => pair.passing_level === level))
    .map((level, index) => ({ level, index }));
  const found = (row, level) => pairs.find((pair) => pair.passing_level === row.level && pair.passed_level === level)?.pairs ?? null;
  const passed = LEVELS.filter((level) => pairs.some((pair) => pair.passed_level === level));
  table("whatif-pairs", {
    caption: "Pairs of ready messages that now stand in the other order, by level before",
    empty: "none.",
    rows,
    sortable: false,
    columns: [
      { head: "Level that passes", kind: "level", value: (row) => row.level },
      ...passed.map((level) => ({ head: `Passes level ${level}`, kind: "count", value: (row) => found(row, level) })),
    ],
  });
}

function whatif() {
  if (!data.parts.whatif_summary) {
    document.querySelectorAll("[data-only=whatif_summary]").forEach((part) => part.remove());
    return;
  }
  document.getElementById("whatif-said").replaceChildren(
    ...rowsOf("whatif_said").map((row) => element("p", {}, row.sentence)));
  const [place] = rowsOf("whatif_place");
  if (place) moves(place, rowsOf("whatif_points"), data.parts.whatif_points.total);
  else document.getElementById("whatif-picture").remove();
  passing(rowsOf("whatif_pairs"));
  table("whatif-summary", {
    caption: "Who gains and who pays",
    note: leftOut("whatif_summary", "that change most"),
    empty: "nobody: every message stands where it stood.",
    rows: rowsOf("whatif_summary"),
    columns: [
      column("Name", "name", "name"),
      column("By", "word", "dimension"),
      column("Order", "word", "kind"),
      column("Messages", "count", "messages"),
      column("Earlier", "count", "gained"),
      column("Later", "count", "lost"),
      column("Largest gain", "count", "largest_gain"),
      column("Largest loss", "count", "largest_loss"),
      column("Median move", "count", "median_moved"),
    ],
  });
  table("whatif-moves", {
    caption: "The largest moves",
    note: leftOut("whatif_moves", "largest"),
    empty: "none.",
    rows: rowsOf("whatif_moves"),
    columns: [
      placed("Queue", "queue"),
      column("Order", "word", "kind"),
      column("Message", "id", "message_id"),
      column("From", "count", "position_before"),
      column("To", "count", "position_after"),
      column("Moved", "count", "moved"),
      {
        ...column("Level", "level", "level_before"),
        cell: (row) => row.level_before === row.level_after ? String(row.level_before)
          : `${row.level_before} to ${row.level_after}`,
      },
    ],
  });
}

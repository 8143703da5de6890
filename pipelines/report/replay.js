// The replay that the page was made with; without one, the section is taken out.

const PANEL = { width: 220, height: 120, left: 44, top: 34, across: 3 };
const FOLLOWS = { calibrated: "yes", off: "no", unknown: "not known" };
const SCENARIOS = [["actual", "before"], ["proposed", "after"]];

function ofReplay() { return rowsOf("replay_place")[0]; }

function keyOf(scenarios) {
  return scenarios.length > 1 ? "Dashed: as it was (actual); drawn through: the proposal." : "The scenario actual: the log's own rules.";
}

/** For each level a panel: which share of its messages had started after so long. */
function sharesPicture(place, shares) {
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
    "aria-label": `Waits by level in ${visible(place.queue)}`,
  }, ...panels);
  document.getElementById("replay-shares").replaceChildren(picture, element("figcaption", {},
    `${visible(place.queue)} of ${visible(place.instance)} · ${visible(place.database)}, where messages waited longest in sum. `
    + `Which share of a level's messages a reader had taken after so long; each ten times as long is as wide. ${keyOf(scenarios)} `
    + "A line that ends below 100% left messages waiting."));
}

/** How many messages waited, over time. */
function lengthsPicture(place, lengths) {
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
    viewBox: `0 0 ${left + width + 16} ${top + height + 28}`, role: "img", "aria-label": `Waiting messages in ${visible(place.queue)}`,
  },
    drawn("path", { class: "axis", d: `M${left} ${top}V${top + height}H${left + width}` }),
    drawn("text", { x: left - 6, y: top + 8, "text-anchor": "end" }, count(most)),
    drawn("text", { x: left - 6, y: top + height, "text-anchor": "end" }, "0"),
    drawn("text", { x: left, y: top + height + 18 }, moment(new Date(first).toISOString())),
    drawn("text", { x: left + width, y: top + height + 18, "text-anchor": "end" }, moment(new Date(last).toISOString())),
    ...lines);
  document.getElementById("replay-lengths").replaceChildren(picture, element("figcaption", {},
    `Messages of the same queue that have arrived and no reader has taken. ${keyOf(scenarios)}`));
}

function replay() {
  if (!data.parts.replay_waits) {
    document.querySelectorAll("[data-only=replay_waits]").forEach((part) => part.remove());
    return;
  }
  const verdicts = Object.fromEntries(rowsOf("replay_verdicts").map((row) => [row.verdict, row.levels]));
  const levels = (number) => `${count(number)} ${number === 1 ? "level" : "levels"}`;
  document.getElementById("replay-said").textContent =
    `The scenario actual follows the log in ${levels(verdicts.calibrated ?? 0)} of queues, and does not in ${levels(verdicts.off ?? 0)}. `
    + (verdicts.unknown ? `In ${levels(verdicts.unknown)} nothing can be compared with the log. ` : "")
    + "Where it does not, mistrust the row.";
  const place = ofReplay();
  const shares = rowsOf("replay_shares");
  if (shares.length) sharesPicture(place, shares);
  else document.getElementById("replay-shares").remove();
  const lengths = rowsOf("replay_lengths");
  if (lengths.length) lengthsPicture(place, lengths);
  else document.getElementById("replay-lengths").remove();
  const wait = (head, key) => ({
    head,
    kind: "duration",
    value: (row) => row[key] === null ? null : row[key] / 1000,
    cell: (row) => row[key] === null ? none() : row[key] > 0 && row[key] < 1000 ? `${Math.round(row[key])} ms` : duration(row[key] / 1000),
  });
  table("replay-waits", {
    caption: "Waits by queue and level",
    note: leftOut("replay_waits", "first by queue"),
    empty: "nothing was played.",
    rows: rowsOf("replay_waits"),
    columns: [
      placed("Queue", "queue"),
      column("Level", "level", "level"),
      column("Scenario", "word", "scenario"),
      column("Messages", "count", "messages"),
      column("Left waiting", "count", "unserved"),
      wait("Median wait", "wait_p50"),
      wait("95% below", "wait_p95"),
      wait("At least", "at_least"),
      {
        head: "Follows the log",
        kind: "word",
        value: (row) => FOLLOWS[row.verdict],
        cell: (row) => element("span", { className: row.verdict === "calibrated" ? "" : "flag" }, FOLLOWS[row.verdict]),
      },
    ],
  });
}

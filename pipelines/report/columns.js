// Columns and controls that several sections have.

const column = (head, kind, key) => ({ head, kind, value: (row) => row[key] });
const columnsOfWaiting = [
  column("Messages", "count", "messages"),
  { head: "Oldest waits", kind: "duration", value: (row) => sinceSeconds(row.oldest) },
  column("Median wait", "duration", "median_seconds"),
  column("95% below", "duration", "p95_seconds"),
];

/** Where something is, in one cell: its name, and above it in small what it belongs to. */
function placed(head, key, within = ["instance", "database"]) {
  return {
    head,
    kind: "name",
    value: (row) => row[key] === null ? null : [row[key], ...within.map((name) => row[name])].join(" "),
    cell: (row) => [
      row[key] === null ? none() : visible(row[key]),
      element("span", { className: "where" }, within.map((name) => visible(row[name] ?? "?")).join(" · ")),
    ],
  };
}

/** Columns by level: a figure, and a shade that says the same. */
function heat(levels, rows) {
  const most = Math.max(1, ...rows.flatMap((row) => (levels.get(row.index) ?? []).map((one) => one.messages)));
  const used = new Set([...levels.values()].flat().map((one) => one.level));
  return LEVELS.filter((level) => used.has(level)).map((level) => {
    const value = (row) => levels.get(row.index)?.find((one) => one.level === level)?.messages ?? null;
    return {
      head: `Level ${level}`,
      kind: "count",
      value,
      className: () => "heat",
      style: (row, cell) => {
        const messages = value(row);
        if (messages) cell.style.setProperty("--share", (0.08 + 0.37 * Math.sqrt(messages / most)).toFixed(3));
      },
    };
  });
}

function byLevel(place, caption, rows, empty) {
  const most = Math.max(1, ...rows.map((row) => row.messages));
  table(place, {
    caption,
    empty,
    rows,
    sortable: false,
    columns: [
      column("Level", "level", "level"),
      ...columnsOfWaiting,
      {
        head: "Share",
        kind: "word",
        value: (row) => row.messages,
        cell: (row) => {
          const bar = element("span", { className: "bar" });
          bar.setAttribute("aria-hidden", "true");
          bar.style.setProperty("--share", (row.messages / most).toFixed(4));
          return bar;
        },
      },
    ],
  });
}

function choice(place, label, options, chosen) {
  const mount = document.querySelector(`[data-choice="${place}"]`);
  if (!options.length) return null;
  const select = element("select", { id: `choose-${place}`, onchange: () => chosen(Number(select.value)) },
    ...options.map((text, index) => element("option", { value: String(index) }, text)));
  mount.append(element("div", { className: "controls" }, element("label", {}, label, select)));
  return select;
}

/** A name that opens the details of its row, and goes there. */
function opening(base, open) {
  return {
    ...base,
    cell: (row) => {
      const [name, ...rest] = base.cell(row);
      return [element("button", { type: "button", className: "open", onclick: () => open(row.index) }, name), ...rest];
    },
  };
}

function goTo(title) {
  title.scrollIntoView();
  title.focus({ preventScroll: true });
}

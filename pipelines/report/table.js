// Tables: drawn, searched, sorted and paged. Everything from the log goes in as text, never as markup.

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const none = () => element("span", { className: "none" }, "–");

/** Kinds of columns: class, what the cell shows, what it is sorted and searched by. */
const KINDS = {
  name: { className: "name", show: (value) => visible(value) },
  word: { className: "", show: (value) => words(value) },
  id: { className: "id", show: (value) => visible(value) },
  text: { className: "long", show: (value) => value },
  count: { className: "number", show: count },
  level: { className: "number", show: (value) => String(value) },
  duration: { className: "number", show: duration },
  time: {
    className: "number",
    show: (value) => element("time", { dateTime: value }, moment(value)),
  },
};

let tables = 0;

/**
 * Draw a table where the page has a place for it.
 *
 * A column has `head`, `kind` and `value(row)`; optionally `cell(row)` for what is shown, and `className(row)`
 * or `style(row, cell)`. The first one heads its row. More rows than a page has can be searched and paged.
 */
function table(place, { caption, note = "", empty, columns, rows, sortable = true }) {
  const mount = document.querySelector(`[data-table="${place}"]`);
  mount.replaceChildren();
  if (!rows.length) {
    mount.append(element("p", { className: "notice" }, `${caption}: ${empty}`));
    return;
  }
  const id = `table-${++tables}`;
  const body = element("tbody");
  const heads = columns.map((column, index) => {
    const head = element("th", { scope: "col", className: KINDS[column.kind].className === "number" ? "number" : "" });
    if (sortable && rows.length > 1) {
      head.append(element("button", { type: "button", onclick: () => sortBy(index) }, column.head));
    } else head.append(column.head);
    return head;
  });
  const title = element("caption", { id }, caption);
  if (note) title.append(element("span", { className: "note" }, note));
  const grid = element("table", {}, title, element("thead", {}, element("tr", {}, ...heads)), body);
  const status = element("span", { role: "status" });
  const back = element("button", { type: "button", onclick: () => turn(-1) }, "Previous");
  const on = element("button", { type: "button", onclick: () => turn(1) }, "Next");
  const paged = rows.length > PAGE;
  if (paged) {
    const search = element("input", { type: "search", autocomplete: "off", oninput: () => find(search.value) });
    search.setAttribute("aria-controls", id);
    mount.append(element("div", { className: "controls" },
      element("label", {}, `Search “${caption}”`, search)));
  }
  const scroll = element("div", { className: "scroll", tabIndex: 0 }, grid);
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-labelledby", id);
  mount.append(scroll);
  if (paged) mount.append(element("div", { className: "pager" }, back, on, status));

  let found = rows;
  let start = 0;
  let sorted = null;
  let needle = [];

  /** What a search looks at: names and words, no figures. */
  const searched = columns.filter(({ kind }) => ["name", "word", "id", "text"].includes(kind));

  function text(row) {
    row.text ??= {};
    row.text[place] ??= searched.map((column) => column.value(row) ?? "")
      .map((value) => `${value}\n${words(String(value))}`).join("\n").toLowerCase();
    return row.text[place];
  }

  function find(wanted) {
    needle = wanted.toLowerCase().split(/\s+/).filter(Boolean);
    start = 0;
    arrange();
  }

  function sortBy(index) {
    const first = KINDS[columns[index].kind].className === "number" ? "descending" : "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    sorted = sorted?.index === index && sorted.direction === first
      ? { index, direction: other } : { index, direction: first };
    heads.forEach((head, i) => {
      if (i === index) head.setAttribute("aria-sort", sorted.direction);
      else head.removeAttribute("aria-sort");
    });
    start = 0;
    arrange();
  }

  function arrange() {
    found = needle.length ? rows.filter((row) => needle.every((word) => text(row).includes(word))) : rows;
    if (sorted) {
      const { value } = columns[sorted.index];
      const sign = sorted.direction === "ascending" ? 1 : -1;
      found = [...found].sort((one, other) => compare(value(one), value(other), sign));
    }
    draw();
  }

  function turn(by) {
    start += by * PAGE;
    draw();
    // A button that has just been switched off would lose the focus.
    if (back.disabled && by < 0) on.focus();
    if (on.disabled && by > 0) back.focus();
  }

  function draw() {
    const end = Math.min(start + PAGE, found.length);
    body.replaceChildren(...found.slice(start, end).map((row) => element("tr", {}, ...columns.map((column, index) => {
      const kind = KINDS[column.kind];
      const value = column.value(row);
      const cell = index === 0 ? element("th", { scope: "row" }) : element("td");
      cell.className = [kind.className, column.className?.(row) ?? ""].join(" ").trim();
      const shown = column.cell ? column.cell(row)
        : value === null || value === undefined ? none() : kind.show(value);
      cell.append(...[shown].flat());
      column.style?.(row, cell);
      return cell;
    }))));
    back.disabled = start === 0;
    on.disabled = end >= found.length;
    status.textContent = found.length
      ? `${count(start + 1)} to ${count(end)} of ${count(found.length)}${found.length < rows.length ? " found" : ""}`
      : "Nothing found";
  }

  draw();
}

/** Nulls last, whichever way. */
function compare(one, other, sign) {
  const oneIsNull = one === null || one === undefined;
  const otherIsNull = other === null || other === undefined;
  if (oneIsNull || otherIsNull) return oneIsNull - otherIsNull;
  return sign * (one < other ? -1 : one > other ? 1 : 0);
}

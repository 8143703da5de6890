// The tables of the chosen queue and the chosen instance.

function none() { return element("span", { className: "none" }, "–"); }

/** A name that wraps as those of the templates do. */
function wrapped(name) {
  return name.split(/(?<=[^\s./_][./_])(?=[^\s./_])/).flatMap((part, index) => (index ? [element("wbr"), part] : [part]));
}

/** A cell of the data: text, a number, nothing, text with its small print, or the place of a text that many rows have. */
function contentOf(value, isName) {
  if (value === null) return [none()];
  if (typeof value === "number") return [count(value)];
  const [first, small] = Array.isArray(value) ? value : [value];
  const text = typeof first === "number" && small === undefined ? data.texts[first] : first;
  const shown = isName ? wrapped(text) : [text];
  return small === undefined ? shown : [...shown, element("span", { className: "where" }, small)];
}

/** Show the rows of one queue or instance in a table. */
function fill(mount, rows, option) {
  const classes = [...mount.querySelectorAll("thead th")].map((head) => head.dataset.class ?? "");
  const { label, note, empty } = option.dataset;
  const caption = mount.dataset.caption.replace("{}", () => label);
  mount.querySelector(".title").textContent = caption;
  mount.querySelector(".first").textContent = note;
  mount.querySelector(".notice").textContent = `${caption}: ${empty}`;
  mount.querySelector(".notice").hidden = rows.length > 0;
  mount.querySelector(".scroll").hidden = rows.length === 0;
  const made = rows.map((row) => {
    // The first value is the place.
    return element("tr", {}, ...row.slice(1).map((value, index) => element(index ? "td" : "th",
      index ? { className: classes[index] } : { className: classes[index], scope: "row" }, ...contentOf(value, classes[index] === "name"))));
  });
  mount.querySelector("tbody").replaceChildren(...made);
  fit(mount, made);
}

function choices(name) {
  const select = document.getElementById(`choose-${name}`);
  if (!select) return;
  const mounts = [...document.querySelectorAll(`[data-chosen="${name}"]`)].map((mount) => {
    const byPlace = new Map();
    for (const row of data.parts[mount.dataset.source].rows) {
      if (!byPlace.has(row[0])) byPlace.set(row[0], []);
      byPlace.get(row[0]).push(row);
    }
    return [mount, byPlace];
  });

  function show() {
    for (const [mount, byPlace] of mounts) fill(mount, byPlace.get(Number(select.value)) ?? [], select.selectedOptions[0]);
  }

  select.addEventListener("change", show);
  // A name that opens the details of its row, and goes there.
  select.closest("section").parentElement.addEventListener("click", (event) => {
    const button = event.target.closest(`[data-table="${name}s"] .open`);
    if (!button) return;
    select.value = button.dataset.opens;
    show();
    const title = document.getElementById(`${name}-title`);
    title.scrollIntoView();
    title.focus({ preventScroll: true });
  });
  show();
}

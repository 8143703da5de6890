"use strict";
// Tables are sorted, searched and paged. The scripts are one when the page is made; this one is first, start.js last.

const data = JSON.parse(document.getElementById("data").textContent);
const PAGE = 20;

function count(value) { return value.toLocaleString("en-US"); }

/** Shades: the page's policy forbids style attributes, so the cells carry their share as data. */
function shade(root) {
  for (const each of root.querySelectorAll("[data-share]")) each.style.setProperty("--share", each.dataset.share);
}

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** The text of a cell, and its small print, if it has any. */
function partsOf(cell) {
  const small = cell.querySelector(".where, .change")?.textContent ?? "";
  return [cell.textContent.slice(0, cell.textContent.length - small.length), small].filter(Boolean);
}

/** What a cell is sorted by; null is last. */
function valueOf(cell, isNumber) {
  if (cell.dataset.value !== undefined) return isNumber ? Number(cell.dataset.value) : cell.dataset.value;
  return isNumber || cell.querySelector(".none") ? null : cell.textContent;
}

function compare(one, other, sign) {
  if (one === null || other === null) return (one === null) - (other === null);
  return sign * (one < other ? -1 : one > other ? 1 : 0);
}

/** Add sorting to the heads of a table, and a search and pages if it has more rows than a page. */
function control(mount) {
  const body = mount.querySelector("tbody");
  const rows = [...body.rows];
  const heads = [...mount.querySelectorAll("thead th")];
  const searched = heads.flatMap((head, index) => (head.dataset.search === undefined ? [] : [index]));
  const caption = mount.querySelector("caption");
  const status = element("span", { role: "status" });
  const back = element("button", { type: "button", onclick: () => turn(-1) }, "Previous");
  const on = element("button", { type: "button", onclick: () => turn(1) }, "Next");
  const texts = new Map();
  let found = rows;
  let start = 0;
  let sorted = null;
  let needle = [];

  /** What a search looks at: names, words and texts, no numbers. */
  function text(row) {
    if (!texts.has(row)) {
      const parts = searched.flatMap((index) => {
        const cell = row.cells[index];
        return [...partsOf(cell), cell.dataset.value ?? ""];
      });
      texts.set(row, parts.join("\n").toLowerCase());
    }
    return texts.get(row);
  }

  function sortBy(index) {
    const first = heads[index].classList.contains("number") ? "descending" : "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const direction = sorted?.index === index && sorted.direction === first ? other : first;
    sorted = { index, direction };
    heads.forEach((head, i) => {
      if (i === index) head.setAttribute("aria-sort", direction);
      else head.removeAttribute("aria-sort");
    });
    arrange();
  }

  function arrange() {
    start = 0;
    found = needle.length ? rows.filter((row) => needle.every((word) => text(row).includes(word))) : rows;
    if (sorted) {
      const isNumber = heads[sorted.index].dataset.sort === "number";
      const sign = sorted.direction === "ascending" ? 1 : -1;
      const value = (row) => valueOf(row.cells[sorted.index], isNumber);
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
    body.replaceChildren(...found.slice(start, end));
    back.disabled = start === 0;
    on.disabled = end >= found.length;
    status.textContent = found.length
      ? `${count(start + 1)} to ${count(end)} of ${count(found.length)}${found.length < rows.length ? " found" : ""}`
      : "Nothing found";
  }

  fit(mount, rows);
  heads.forEach((head, index) => {
    if (head.dataset.sort === undefined) return;
    head.replaceChildren(element("button", { type: "button", onclick: () => sortBy(index) }, head.textContent));
  });
  if (rows.length > PAGE) {
    const search = element("input", { type: "search", autocomplete: "off" });
    search.addEventListener("input", () => {
      needle = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      arrange();
    });
    search.setAttribute("aria-controls", caption.id);
    const label = `Search “${caption.firstChild.textContent}”`;
    mount.prepend(element("div", { className: "controls" }, element("label", {}, label, search)));
    mount.append(element("div", { className: "pager" }, back, on, status));
    draw();
  }
}


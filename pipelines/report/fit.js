// Tables on any screen: short ids, columns with one value in the title, and a word where a table scrolls.

const SHORT = 8;

/** The short forms of ids of one kind: their first characters where these are unique. See console/short_ids.py. */
function shortIds(ids) {
  const whole = new Set(ids);
  const madeUp = /^([0-9A-Fa-f]{8})-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(\/.*)$/s;
  const tails = new Map();
  const beginnings = new Map();
  const withTail = new Map();
  const add = (counts, key) => counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const id of whole) {
    add(beginnings, id.slice(0, SHORT));
    const found = madeUp.exec(id);
    if (found) {
      tails.set(id, found[1] + found[2]);
      add(withTail, found[1] + found[2]);
    }
  }
  const short = new Map();
  for (const id of whole) {
    const tail = tails.get(id);
    if (id.length > SHORT && beginnings.get(id.slice(0, SHORT)) === 1) short.set(id, id.slice(0, SHORT));
    else if (tail !== undefined && withTail.get(tail) === 1 && !whole.has(tail)) short.set(id, tail);
  }
  return short;
}

function shortId(id, short) { return element("button", { type: "button", className: "short", title: id }, short); }

/** Shorten the ids of rows; each shows the whole on hover, and copies it on a click. */
function shortenIds(heads, rows) {
  heads.forEach((head, index) => {
    if (head.dataset.class !== "id") return;
    // What has an element in it is no id; what is in quotes is a name with hidden characters.
    const cells = rows.map((row) => row.cells[index]).filter((cell) => !cell.firstElementChild && !cell.textContent.startsWith('"'));
    const short = shortIds(cells.map((cell) => cell.textContent));
    for (const cell of cells) {
      const id = cell.textContent;
      if (!short.has(id)) continue;
      cell.dataset.value = id;
      cell.replaceChildren(shortId(id, short.get(id)));
    }
  });
}

/** Say in the title what all rows share; a table that has no room leaves these columns out. */
function moveSingleValues(mount, heads, rows) {
  const said = mount.querySelector(".shared");
  const isNothing = (cell) => cell.querySelector(".none") !== null;
  const all = [mount.querySelector("thead tr"), ...rows];
  for (const row of all) for (const cell of row.cells) cell.classList.remove("same");
  // As the cells show it, but ids whole.
  const text = (cell) => (cell.querySelector(".short") ? cell.dataset.value : partsOf(cell).join(" · "));
  const same = heads.map((_, index) => rows.every((row) => text(row.cells[index]) === text(rows[0].cells[index])));
  const isMoved = rows.length > 1 && same.some(Boolean) && !same.every(Boolean);
  const parts = isMoved
    ? heads.flatMap((head, index) => (same[index] && !isNothing(rows[0].cells[index]) ? [`${head.textContent}: ${text(rows[0].cells[index])}`] : []))
    : [];
  const times = /(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)/;
  said.replaceChildren(...parts.join("; ").split(times).filter(Boolean).map((part) => (
    times.test(part) ? element("span", { className: "whole" }, part) : part)));
  if (!isMoved) return;
  for (const row of all) [...row.cells].forEach((cell, index) => { if (same[index]) cell.classList.add("same"); });
}

/** Fit the rows of a table that is new or filled anew. */
function fit(mount, rows) {
  const heads = [...mount.querySelectorAll("thead th")];
  shortenIds(heads, rows);
  moveSingleValues(mount, heads, rows);
}

/** Shorten the ids of sentences, and keep times whole. What to do is left as it is: it is there to be pasted. */
function fitSentences(list) {
  const parts = /([0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12})|(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)/;
  const texts = [...list.querySelectorAll("p.sentence")].flatMap((item) => [...item.childNodes]);
  const short = shortIds(texts.flatMap((node) => node.data.match(new RegExp(parts, "g")) ?? []).filter((word) => !word.includes(":")));
  for (const node of texts) {
    // Behind each text stand an id and a time, one of which there is.
    node.replaceWith(...node.data.split(parts).filter(Boolean).map((part) => (
      short.has(part) ? shortId(part, short.get(part)) : parts.test(part) ? element("span", { className: "whole" }, part) : part)));
  }
}

/** Leave out columns where a table has no room, and say of one that scrolls that it does. */
function watchRoom() {
  const isWide = (scroll) => scroll.scrollWidth > scroll.clientWidth;
  const look = (scroll) => {
    scroll.classList.remove("tight");
    scroll.classList.toggle("tight", isWide(scroll));
    scroll.querySelector(".scrolls").hidden = !isWide(scroll);
  };
  const seen = new ResizeObserver((entries) => {
    for (const scroll of new Set(entries.map((entry) => entry.target.closest(".scroll")))) look(scroll);
  });
  for (const scroll of document.querySelectorAll(".scroll")) {
    seen.observe(scroll);
    seen.observe(scroll.querySelector("table"));
  }
}

/** Copy a text; where the browser has no clipboard for this page, from a field. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = element("textarea", { value: text, readOnly: true });
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

function copyOnClick() {
  for (const button of document.querySelectorAll(".copy")) button.hidden = false;
  const said = document.getElementById("copied");
  document.addEventListener("click", async (event) => {
    const button = event.target.closest(".short, .copy");
    if (!button) return;
    const statement = button.previousElementSibling?.textContent;
    await copy(button.title || statement);
    button.focus();
    said.textContent = `Copied ${button.title || "the statement"}`;
    setTimeout(() => { said.textContent = ""; }, 4000);
  });
}

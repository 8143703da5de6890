"use strict";
// The data of the page, and how its values are written. The scripts are one when the page is made; this one is first.

const data = JSON.parse(document.getElementById("data").textContent);
const asOf = new Date(data.as_of);
const PAGE = 20;
const LEVELS = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1];

/** The rows of a part as objects; each knows its place. */
function rowsOf(name) {
  const part = data.parts[name];
  return part.rows.map((values, index) => {
    const row = { index };
    part.columns.forEach((column, i) => { row[column] = values[i]; });
    return row;
  });
}

/** What a bounded part leaves out, in words; empty if nothing. */
function leftOut(name, what) {
  const { rows, total } = data.parts[name];
  return total > rows.length ? `Shown are the ${count(rows.length)} ${what}, of ${count(total)}.` : "";
}

function byPlace(rows) {
  const found = new Map();
  for (const row of rows) {
    if (!found.has(row.place)) found.set(row.place, []);
    found.get(row.place).push(row);
  }
  return found;
}

function count(value) { return value.toLocaleString("en-US"); }

/** A time to the second; what is finer is in the tables of the warehouse. */
function moment(text) { return `${text.slice(0, 10)} ${text.slice(11, 19)}`; }

/** The name of a night: its day, if it ends with one. */
function night(text) { return text.slice(11) === "00:00:00Z" ? text.slice(0, 10) : moment(text); }

function duration(seconds) {
  if (seconds < 0) return `−${duration(-seconds)}`;
  const whole = Math.floor(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

function sinceSeconds(text) { return (asOf - new Date(text)) / 1000; }

/** A name as it is; in quotes where blanks or other invisible characters would hide what it is. */
function visible(name) {
  return name === "" || name !== name.trim() || /\s\s|[\u0000-\u001f\u007f-\u00a0\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u.test(name)
    ? JSON.stringify(name).replace(/[\u007f-\u00a0\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu,
        (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
    : name;
}

/** A word of the tables, such as group_locked, as people write it. */
function words(code) { return code.replaceAll("_", " "); }

function change(now, before) {
  if (before === undefined || before === null || now === null) return "";
  const by = now - before;
  return by === 0 ? "±0" : `${by > 0 ? "+" : "−"}${count(Math.abs(by))}`;
}

"use strict";
// Draws the page from its data. Everything from the log goes in as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const asOf = new Date(data.as_of);
  const PAGE = 20;
  const LEVELS = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1];

  // --- the data -------------------------------------------------------------------------------------

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

  // --- words and figures ----------------------------------------------------------------------------

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

  // --- elements -------------------------------------------------------------------------------------

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

    function text(row) {
      row.text ??= {};
      row.text[place] ??= columns.map((column) => {
        const value = column.value(row);
        if (value === null || value === undefined) return "";
        return `${value} ${column.cell ? "" : words(String(value))}`;
      }).join("\n").toLowerCase();
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

  // --- columns that several tables have -------------------------------------------------------------

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

  // --- the sections ---------------------------------------------------------------------------------

  const nights = rowsOf("nights");
  const [tonight, before] = nights;

  function overview() {
    const levels = rowsOf("receive_levels");
    const oldest = levels.map((row) => row.oldest).sort()[0];
    const held = rowsOf("states").filter((row) => row.state !== "ready");
    const since = before ? ` since ${night(before.as_of)}` : "";
    const compared = (value, earlier) => (before ? `${change(value, earlier)}${since}` : "");
    const sum = (row) => (row ? row.unresolved_receive + row.unresolved_transmission : undefined);
    const messages = levels.reduce((total, row) => total + row.messages, 0);
    const sending = rowsOf("transmission_levels").reduce((total, row) => total + row.messages, 0);
    const sent = (row) => (row ? row.open_transmission + row.open_forwarded : undefined);
    const unresolved = rowsOf("unresolved").reduce((total, row) => total + row.messages, 0);
    const figures = [
      ["Ready messages", count(messages), compared(messages, before && before.open_receive - before.unresolved_receive)],
      ["Held back", count(held.reduce((total, row) => total + row.messages, 0)),
        held.map((row) => `${count(row.messages)} ${words(row.state)}`).join(", ")],
      ["Queues with messages", count(data.parts.receive_places.total), ""],
      ["Oldest ready message", oldest ? duration(sinceSeconds(oldest)) : "–", oldest ? `arrived ${moment(oldest)}` : ""],
      ["Waiting to be sent", count(sending), compared(sending, before && sent(before) - before.unresolved_transmission)],
      ["Not placed yet", count(unresolved), compared(unresolved, sum(before))],
      ["Rows rejected so far", tonight ? count(tonight.rejected ?? 0) : "–", tonight ? `of ${count(tonight.events ?? 0)} events` : ""],
      ["The run took", tonight ? duration(tonight.seconds) : "–", tonight && before ? `${duration(before.seconds)} the night before` : ""],
    ];
    document.getElementById("tiles").append(...figures.map(([name, figure, aside]) => element("div", {},
      element("dt", {}, name),
      element("dd", { className: "figure" }, figure),
      ...(aside ? [element("dd", { className: "aside" }, aside)] : []))));
    byLevel("levels", "Ready messages of all queues, by level", levels, "none.");
    if (tonight) {
      document.getElementById("made").textContent =
        `Run ${tonight.run_id}, finished ${moment(tonight.finished_at)}, version ${tonight.code_version}.`;
    }
  }

  function queues() {
    const rows = rowsOf("receive_places");
    const levels = byPlace(rowsOf("receive_place_levels"));
    const top = byPlace(rowsOf("receive_top"));
    const label = (row) => [row.instance, row.database, row.queue].map(visible).join(" · ");
    const select = choice("queue", "Queue", rows.map((row) => `${label(row)} (${count(row.messages)})`), show);

    function open(index) {
      select.value = String(index);
      show(index);
      goTo(document.getElementById("queue-title"));
    }

    function show(index) {
      const row = rows[index];
      byLevel("queue-levels", row ? `Ready messages of ${label(row)}, by level` : "One queue",
        row ? levels.get(index) ?? [] : [], "no queue has messages.");
      if (!row) return;
      const first = top.get(index) ?? [];
      table("queue-top", {
        caption: `What one reader receives first from ${label(row)}`,
        note: row.ready > first.length ? `Shown are the first ${count(first.length)}, of ${count(row.ready)}.` : "",
        empty: row.queue_off ? "nothing, the queue is off." : "nothing, every group is locked.",
        rows: first,
        sortable: false,
        columns: [
          column("Position", "level", "position"),
          column("RECEIVE", "level", "receive_number"),
          column("Level of the group", "level", "group_priority"),
          column("Level", "level", "priority"),
          column("Arrived", "time", "arrived_at"),
          column("Message type", "name", "message_type"),
          column("Group", "id", "conversation_group_id"),
          column("Conversation", "id", "conversation_id"),
          column("Message", "id", "message_id"),
        ],
      });
    }

    table("queues", {
      caption: "Ready messages by queue and level",
      note: leftOut("receive_places", "queues with the most messages"),
      empty: "none.",
      rows,
      columns: [
        opening(placed("Queue", "queue"), open),
        ...columnsOfWaiting.slice(0, 1),
        {
          head: "Held back",
          kind: "count",
          value: (row) => row.group_locked + row.queue_off,
          cell: (row) => row.queue_off ? [count(row.queue_off), element("span", { className: "where flag" }, "queue off")]
            : row.group_locked ? [count(row.group_locked), element("span", { className: "where" }, "group locked")] : none(),
        },
        ...columnsOfWaiting.slice(1),
        ...heat(levels, rows),
      ],
    });
    show(0);
  }

  function starvation() {
    const shared = [
      column("Later ones before it", "count", "passed_by"),
      column("Position", "count", "position"),
      column("Waits since", "time", "since"),
      column("Message", "id", "message_id"),
    ];
    const most = "most overtaken messages (at most ten of each)";
    table("receive-overtaken", {
      caption: "Messages that later ones are received before",
      note: leftOut("receive_overtaken", most),
      empty: "none; first come, first served.",
      rows: rowsOf("receive_overtaken"),
      columns: [placed("Queue", "queue"), ...shared],
    });
    table("transmission-overtaken", {
      caption: "Messages that later ones are sent before",
      note: leftOut("transmission_overtaken", most),
      empty: "none; first come, first sent.",
      rows: rowsOf("transmission_overtaken"),
      columns: [column("Instance", "name", "instance"), ...shared],
    });
  }

  function transmission() {
    const rows = rowsOf("transmission_places");
    const levels = byPlace(rowsOf("transmission_place_levels"));
    const top = byPlace(rowsOf("transmission_top"));
    const select = choice("instance", "Instance",
      rows.map((row) => `${visible(row.instance)} (${count(row.messages)})`), show);

    function open(index) {
      select.value = String(index);
      show(index);
      goTo(document.getElementById("instance-title"));
    }

    function show(index) {
      const row = rows[index];
      const name = row ? visible(row.instance) : "";
      byLevel("instance-levels", row ? `Messages that ${name} has to send, by level` : "One instance",
        row ? levels.get(index) ?? [] : [], "no instance has messages to send.");
      if (!row) return;
      const first = top.get(index) ?? [];
      table("instance-top", {
        caption: `What ${name} sends first`,
        note: row.messages > first.length ? `Shown are the first ${count(first.length)}, of ${count(row.messages)}.` : "",
        empty: "nothing.",
        rows: first,
        sortable: false,
        columns: [
          column("Position", "level", "position"),
          {
            ...column("Level that counts", "level", "transmit_priority"),
            cell: (one) => [String(one.transmit_priority), ...(one.elevated ? [element("span", { className: "where" }, "raised by waiting")] : [])],
          },
          column("Level shown", "level", "priority"),
          column("Sendable since", "time", "sendable_at"),
          {
            head: "From",
            kind: "name",
            value: (one) => one.database,
            cell: (one) => [visible(one.database), ...(one.forwarded ? [element("span", { className: "where" }, "only forwarded")] : [])],
          },
          {
            ...placed("To service", "to_service", ["destination_instance", "destination_database"]),
          },
          column("Message type", "name", "message_type"),
          column("Conversation", "id", "conversation_id"),
          column("Message", "id", "message_id"),
        ],
      });
    }

    table("instances", {
      caption: "Messages that wait to be sent, by instance and level",
      note: leftOut("transmission_places", "instances with the most messages"),
      empty: "none.",
      rows,
      columns: [
        opening({ ...column("Instance", "name", "instance"), cell: (row) => [visible(row.instance)] }, open),
        columnsOfWaiting[0],
        column("Only forwarded", "count", "forwarded"),
        column("Raised by waiting", "count", "elevated"),
        ...columnsOfWaiting.slice(1),
        ...heat(levels, rows),
      ],
    });
    show(0);
  }

  function rules() {
    table("rules", {
      caption: "Rules and what they decide",
      note: leftOut("rules", "first rule versions by database and name"),
      empty: "there are no rules and no endpoints.",
      rows: rowsOf("rules"),
      columns: [
        {
          ...placed("Rule", "rule_name"),
          value: (row) => `${row.rule_name ?? ""} ${row.instance} ${row.database}`,
          cell: (row) => [
            row.rule_name === null ? "default, no rule matched" : visible(row.rule_name),
            element("span", { className: "where" }, `${visible(row.instance)} · ${visible(row.database)}`),
          ],
        },
        column("Level", "level", "level"),
        {
          ...column("Valid from", "time", "valid_from"),
          cell: (row) => row.valid_from ? KINDS.time.show(row.valid_from)
            : row.rule_name === null ? none() : "not in the history",
        },
        {
          ...column("Endpoints", "count", "endpoints"),
          cell: (row) => row.endpoints || row.rule_name === null ? count(row.endpoints)
            : element("span", { className: "flag" }, "unused"),
        },
        column("Messages of the night", "count", "messages"),
        column("Open messages", "count", "open_messages"),
        column("Last used", "time", "last_use"),
      ],
    });
  }

  function activation() {
    table("activation", {
      caption: "Queues with a monitor, those that need attention first",
      note: leftOut("activation", "queues that were longest in need of a reader"),
      empty: "nothing was replayed.",
      rows: rowsOf("activation"),
      columns: [
        placed("Queue", "queue"),
        {
          ...column("Advice", "word", "advice"),
          cell: (row) => element("span", { className: row.advice === "keeps_up" ? "" : "flag" }, words(row.advice)),
        },
        column("In words", "text", "sentence"),
        column("In need of a reader", "duration", "need_seconds"),
        column("Kept away by the limit", "duration", "short_seconds"),
        column("Limit", "level", "max_queue_readers"),
        column("Readers started", "count", "activations"),
        column("Most ready", "count", "most_ready"),
        column("Ready at the end", "count", "ready_at_end"),
      ],
    });
  }

  function input() {
    table("inputs", {
      caption: "Events so far",
      empty: "none.",
      rows: rowsOf("inputs"),
      columns: [
        column("Input", "word", "source"),
        ...["events", "accepted", "duplicates", "rejected"].map((name) => column(name[0].toUpperCase() + name.slice(1), "count", name)),
      ],
    });
    table("rejected", {
      caption: "Why rows were rejected, so far",
      note: leftOut("rejected", "most frequent reasons") || "A row with several reasons counts at each.",
      empty: "nothing was rejected.",
      rows: rowsOf("rejected"),
      columns: [
        column("Reason", "text", "reason"),
        column("Input", "word", "source"),
        column("Rows", "count", "rows"),
        column("Last met by a run of", "time", "last_seen"),
      ],
    });
    table("unresolved", {
      caption: "Open messages that no schedule can place yet",
      empty: "none.",
      rows: rowsOf("unresolved"),
      columns: [
        column("Reason", "word", "reason"),
        column("Missing from", "word", "kind"),
        column("Messages", "count", "messages"),
      ],
    });
    if (data.parts.unresolved_messages.total) {
      table("unresolved-messages", {
        caption: "Which messages these are",
        note: leftOut("unresolved_messages", "first of them"),
        empty: "none.",
        rows: rowsOf("unresolved_messages"),
        columns: [
          column("Message", "id", "id"),
          column("Reason", "word", "reason"),
          column("Missing from", "word", "kind"),
        ],
      });
    }
  }

  function comparison() {
    const compared = (head, key) => ({
      ...column(head, "count", key),
      cell: (row) => row[key] === null ? none()
        : [`${count(row[key])} `, element("span", { className: "change" }, change(row[key], nights[row.index + 1]?.[key]))],
    });
    table("nights", {
      caption: "Nights, the latest first",
      note: leftOut("nights", "latest"),
      empty: "no run was published.",
      rows: nights,
      sortable: false,
      columns: [
        { ...column("Night", "time", "as_of"), cell: (row) => element("time", { dateTime: row.as_of }, night(row.as_of)) },
        compared("To receive", "open_receive"),
        compared("To send", "open_transmission"),
        compared("To forward", "open_forwarded"),
        compared("Unplaced, receive", "unresolved_receive"),
        compared("Unplaced, send", "unresolved_transmission"),
        compared("Events so far", "events"),
        compared("Rejected so far", "rejected"),
        column("Took", "duration", "seconds"),
        column("Runs", "count", "attempts"),
        column("Failed", "count", "failed"),
      ],
    });
  }

  overview();
  queues();
  starvation();
  transmission();
  rules();
  activation();
  input();
  comparison();
})();

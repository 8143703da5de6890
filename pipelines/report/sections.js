// The other sections; and then all are drawn, in the order of the page.

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

/** What the page begins with: only what there is. */
function firstOf(part, place, options) {
  if (data.parts[part].total) table(place, { ...options, empty: "none.", rows: rowsOf(part) });
  else document.querySelector(`[data-table="${place}"]`).remove();
}

function first() {
  firstOf("caveats", "caveats", {
    caption: "What the inputs do not have",
    note: "",
    columns: [column("In words", "text", "sentence")],
  });
  firstOf("transmission_status", "said", {
    caption: "Why messages still wait to be sent, as the server says",
    note: leftOut("transmission_status", "most frequent texts"),
    columns: [
      column("Messages", "count", "messages"),
      { ...column("transmission_status", "text", "why_still_here"),
        value: (row) => row.why_still_here ?? "none: not tried yet, or no snapshot shows the message" },
      column("Oldest", "time", "oldest"),
      column("Such as", "id", "example_message_id"),
    ],
  });
  firstOf("queues_off", "queues-off", {
    caption: "Queues that are off",
    note: leftOut("queues_off", "with the most messages"),
    columns: [
      placed("Queue", "queue"),
      column("Off since", "time", "off_since"),
      column("Seen off at", "time", "seen_off_at"),
      column("In the queue", "count", "messages"),
      column("More wait for it", "count", "waiting"),
      column("Rollbacks", "count", "rollbacks"),
      column("Message", "id", "message_id"),
      column("Conversation", "id", "conversation_id"),
      column("Group", "id", "conversation_group_id"),
    ],
  });
  firstOf("unplaced", "unplaced", {
    caption: "Messages that can't be placed",
    note: leftOut("unplaced", "most frequent kinds"),
    columns: [
      column("Messages", "count", "messages"),
      column("Reason", "word", "reason"),
      placed("Service", "local_service"),
      column("Contract", "name", "contract"),
      column("Missing from", "word", "kind"),
    ],
  });
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
        value: (row) => `${row.rule_name ?? "default"} ${row.instance} ${row.database}`,
        cell: (row) => [
          row.rule_name !== null ? visible(row.rule_name)
            : row.level === null ? "the server's level, no rule" : "default, no rule matched",
          element("span", { className: "where" }, `${visible(row.instance)} · ${visible(row.database)}`),
        ],
      },
      column("Level", "level", "level"),
      {
        ...column("Valid from, or first seen", "time", "valid_from"),
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
        cell: (row) => element("span", { className: ["keeps_up", "not_known"].includes(row.advice) ? "" : "flag" }, words(row.advice)),
      },
      column("In words", "text", "sentence"),
      column("In need of a reader", "duration", "need_seconds"),
      column("Kept away by the limit", "duration", "short_seconds"),
      column("Limit", "level", "max_queue_readers"),
      column("Readers to start", "count", "activations"),
      column("Most ready", "count", "most_ready"),
      column("Ready at the end", "count", "ready_at_end"),
    ],
  });
}

function leaks() {
  table("leaks", {
    caption: "Conversations that are never ended",
    note: leftOut("leaks", "oldest kinds"),
    empty: "none.",
    rows: rowsOf("leaks"),
    columns: [
      placed("Service", "local_service"),
      column("Contract", "name", "contract"),
      column("Far service", "name", "remote_service"),
      column("Why", "word", "reason"),
      column("Endpoints", "count", "endpoints"),
      column("A day", "count", "a_day"),
      { head: "Age of the oldest", kind: "duration", value: (row) => sinceSeconds(row.oldest) },
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
      column("Reason", "name", "reason"),
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

first();
overview();
queues();
starvation();
transmission();
rules();
whatif();
replay();
conformance();
activation();
leaks();
input();
comparison();

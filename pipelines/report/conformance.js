// The conformance check that the page was made with; without one, the section is taken out.

/** How much was kept to, of what could be passed; cut off, so that only what is whole shows as 100%. */
function percent(share) { return `${Math.floor(share * 1000) / 10}%`; }

const ratio = (head, key) => ({
  head,
  kind: "level",
  value: (row) => row[key],
  cell: (row) => (row[key] === null ? none() : percent(row[key])),
});

/** A row a queue, a column an hour; the shade says how much was passed. */
function fitnessByHour(queues, hours) {
  const byQueue = byPlace(hours);
  const moments = [...new Set(hours.map((row) => row.hour))].sort();
  const days = new Set(moments.map((hour) => hour.slice(0, 10)));
  const found = (row, hour) => byQueue.get(row.index)?.find((one) => one.hour === hour)?.fitness ?? null;
  table("conformance-hours", {
    caption: "Fitness by queue and hour",
    note: "100%: no group of a higher level was passed; the darker, the more were. Empty: nothing to choose.",
    empty: "no receive could choose between levels.",
    rows: queues.filter((row) => byQueue.has(row.index)),
    sortable: false,
    columns: [
      placed("Queue", "queue"),
      ...moments.map((hour) => ({
        head: days.size > 1 ? hour.slice(5, 16).replace("-", "\u2011").replace("T", " ") : hour.slice(11, 16),
        kind: "level",
        value: (row) => found(row, hour),
        cell: (row) => (found(row, hour) === null ? none() : percent(found(row, hour))),
        className: () => "heat",
        style: (row, cell) => {
          const fitness = found(row, hour);
          if (fitness !== null) cell.style.setProperty("--share", (0.45 * (1 - fitness)).toFixed(3));
        },
      })),
    ],
  });
}

function conformance() {
  if (!data.parts.conformance_queues) {
    document.querySelectorAll("[data-only=conformance_queues]").forEach((part) => part.remove());
    return;
  }
  const queues = rowsOf("conformance_queues");
  const [counts] = rowsOf("conformance_counts");
  document.getElementById("conformance-said").textContent =
    `Of ${count(counts.with_choice)} receives that could choose between levels, ${count(counts.conforming)} passed no higher one.`;
  fitnessByHour(queues, rowsOf("conformance_hours"));
  table("conformance-queues", {
    caption: "Receives by queue, those that passed most first",
    note: leftOut("conformance_queues", "that passed most"),
    empty: "none.",
    rows: queues,
    columns: [
      placed("Queue", "queue"),
      column("Receives", "count", "decisions"),
      column("Could choose", "count", "with_choice"),
      column("Passed nothing", "count", "conforming"),
      column("Groups passed", "count", "passed"),
      ratio("Fitness", "fitness"),
      ratio("Skill", "skill"),
      column("Higher one locked", "count", "lock_skipped"),
      column("Unexplained", "count", "unexplained"),
    ],
  });
  table("conformance-deviations", {
    caption: "Receives that passed a higher level, the worst first",
    note: leftOut("conformance_deviations", "worst"),
    empty: "none.",
    rows: rowsOf("conformance_deviations"),
    columns: [
      placed("Queue", "queue"),
      column("At", "time", "at"),
      column("Why", "word", "class"),
      column("Level", "level", "level"),
      column("Best level", "level", "best_level"),
      column("Groups passed", "count", "passed_groups"),
      column("Group taken", "id", "conversation_group_id"),
      column("Transaction", "id", "transaction_id"),
      column("First message passed", "id", "witness_message_id"),
    ],
  });
  table("conformance-links", {
    caption: "Links, most overtaken first",
    note: leftOut("conformance_links", "with most inversions"),
    empty: "no message went from one instance to another.",
    rows: rowsOf("conformance_links"),
    columns: [
      column("From", "name", "sending_instance"),
      column("To", "name", "receiving_instance"),
      column("Messages", "count", "messages"),
      column("Overtook a higher level", "count", "with_inversion"),
      column("Pairs", "count", "inversions"),
    ],
  });
}

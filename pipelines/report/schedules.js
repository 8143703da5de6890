// The sections about the two schedules: queues, starvation, transmission.

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
      empty: "nothing, all wait for a queue that is off.",
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
        column("The server says", "text", "why_still_here"),
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

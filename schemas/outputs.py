"""The output tables."""

from schemas.table import Table, optional, required

AS_OF = required("as_of", "timestamp", "instant (UTC) described")
AS_OF_KEY = required("as_of_key", "string", "partition: as_of as text, 20261121T000000000000Z")
QUEUE = (
    required("instance", "string", "the queue's instance"),
    required("database", "string", "the queue's database"),
    required("queue", "string", "queue name"),
)
STATES = "state in ('ready', 'group_locked', 'queue_off')"
PLACED_WHEN_READY = "(position is not null) = (state = 'ready')"
STATE = required("state", "string", "ready, group_locked (by an open transaction) or queue_off")

QUEUE_ORDER = ("queue", "instance", "database", "position")
"""The queue goes first: a file in which one instance ends and another begins could hold any queue of both."""
QUEUE_RANGES = ("queue", "coalesce(position, 0) div 1000000")
"""Queues of one name share a file, a million positions of each: more would be too much for one task."""

GROUP_PRIORITIES = Table(
    name="group_priorities",
    comment="Groups with ready messages: one row per as_of, queue and group.",
    columns=(
        AS_OF,
        AS_OF_KEY,
        *QUEUE,
        required("conversation_group_id", "string", "group"),
        required("priority", "int", "highest level 1..10 of its conversations with ready messages"),
        required("deciding_conversation_id", "string", "conversation that gives the priority"),
        required("conversations", "bigint", "conversations with ready messages"),
        required("messages", "bigint", "ready messages"),
        required("oldest_arrival", "timestamp", "arrival of the oldest ready message, UTC"),
        STATE,
        optional("position", "bigint", "order of GET CONVERSATION GROUP, from 1; null unless ready"),
    ),
    key=("as_of", "instance", "database", "queue", "conversation_group_id"),
    partition_by=("as_of_key",),
    checks={
        "level": "priority between 1 and 10",
        "known_state": STATES,
        "placed_when_ready": PLACED_WHEN_READY,
    },
    file_order=QUEUE_ORDER,
    file_ranges=QUEUE_RANGES,
)

RECEIVE_SCHEDULE = Table(
    name="receive_schedule",
    comment="Receive order of one reader: one row per as_of, queue and message.",
    columns=(
        AS_OF,
        AS_OF_KEY,
        *QUEUE,
        required("message_id", "string", "message"),
        optional("position", "bigint", "receive order, from 1; null unless ready"),
        optional("receive_number", "bigint", "RECEIVE that returns it, from 1; null unless ready"),
        required("conversation_group_id", "string", "receiving endpoint's group"),
        required("group_priority", "int", "group's level 1..10 at that RECEIVE; at as_of unless ready"),
        required("conversation_id", "string", "conversation"),
        required("is_initiator", "boolean", "receiving endpoint is the initiator"),
        optional("conversation_handle", "string", "receiving endpoint's; null if inferred or not logged"),
        optional("contract", "string", "receiving endpoint's; null in rows of an older version"),
        optional("local_service", "string", "receiving endpoint's; null in rows of an older version"),
        optional("remote_service", "string", "receiving endpoint's; null in rows of an older version"),
        required("priority", "int", "receiving endpoint's level 1..10"),
        optional("message_sequence_number", "bigint", "per conversation and direction; null if unsequenced"),
        required("message_type", "string", "message type"),
        required("arrived_at", "timestamp", "arrival in the queue, UTC"),
        optional("queuing_order", "bigint", "queue's arrival counter; null if not logged"),
        STATE,
        optional(
            "held_since",
            "timestamp",
            "when the queue went off or the group was locked, UTC; null if ready, off by catalog alone, or "
            "in rows of an older version",
        ),
        optional(
            "held_source",
            "string",
            "what shows it: log, snapshot or catalog; null if ready, or in rows of an older version",
        ),
    ),
    key=("as_of", "instance", "database", "queue", "message_id"),
    partition_by=("as_of_key",),
    checks={
        "level": "priority between 1 and 10 and group_priority between 1 and 10",
        "positions": "position is null or (position >= 1 and receive_number >= 1)",
        "known_state": STATES,
        "placed_when_ready": PLACED_WHEN_READY,
    },
    file_order=QUEUE_ORDER,
    file_ranges=QUEUE_RANGES,
)

TRANSMISSION_SCHEDULE = Table(
    name="transmission_schedule",
    comment="Transmission order: one row per as_of, instance and waiting message.",
    columns=(
        AS_OF,
        AS_OF_KEY,
        required("instance", "string", "sending or forwarding instance"),
        required("message_id", "string", "message"),
        required("position", "bigint", "instance's order, from 1"),
        required(
            "database",
            "string",
            "database whose transmission queue holds it; FORWARD_ACCEPTED's if forwarded",
        ),
        optional("destination_instance", "string", "destination; null if unknown, or if several could be it"),
        optional("destination_database", "string", "destination; null if unknown, or if several could be it"),
        required("conversation_id", "string", "conversation"),
        required("sent_by_initiator", "boolean", "true: initiator to target"),
        optional("from_service", "string", "sending service; null if forwarded and unknown"),
        optional("to_service", "string", "receiving service; null if forwarded and unknown"),
        optional(
            "contract",
            "string",
            "sending endpoint's, else the receiving one's; null if unknown, or in rows of an older version",
        ),
        optional("message_sequence_number", "bigint", "per conversation and direction; null if unsequenced"),
        required("message_type", "string", "message type"),
        optional("size_bytes", "bigint", "body in bytes, for blocks; null if not logged"),
        optional("priority", "int", "sending endpoint's level 1..10; null if unknown"),
        required("transmit_priority", "int", "level 1..10 used for sending"),
        optional(
            "honored",
            "boolean",
            "database honors priorities, so priority counts; false if forwarded; null: not known, priority "
            "counts if it does, or in rows of an older version",
        ),
        required("elevated", "boolean", "starvation prevention raised transmit_priority"),
        required("forwarded", "boolean", "instance only passes it on"),
        optional("block", "bigint", "block with its last fragment, from 1; null with blocks off"),
        required(
            "sendable_at", "timestamp", "when it and its conversation's earlier messages were sent, UTC"
        ),
        optional(
            "why_still_here", "string", "transmission_status of the latest snapshot up to as_of; null if none"
        ),
        optional(
            "waits_for",
            "string",
            "queue of the same instance that is off, INSTANCE.DATABASE.QUEUE; null if none, or in rows of an "
            "older version",
        ),
        optional(
            "waits_since",
            "timestamp",
            "when that queue went off, UTC; null if none, or off by catalog alone",
        ),
        optional(
            "waits_source", "string", "what shows that it is off: log, snapshot or catalog; null if none"
        ),
    ),
    key=("as_of", "instance", "message_id"),
    partition_by=("as_of_key",),
    checks={
        "level": "(priority is null or priority between 1 and 10) and transmit_priority between 1 and 10",
        "positions": "position >= 1",
    },
    file_order=("instance", "position"),
)

ACTIVATION = Table(
    name="activation",
    comment="When a reader was needed: one row per as_of, queue and run of checks with equal result.",
    columns=(
        AS_OF,
        AS_OF_KEY,
        *QUEUE,
        required("ordinal", "bigint", "queue's run, from 1"),
        required("first_check", "timestamp", "first check, UTC"),
        required("last_check", "timestamp", "last check, UTC"),
        required("until", "timestamp", "next check after the run, else as_of, UTC"),
        required("checks", "bigint", "checks with equal result"),
        required(
            "trigger",
            "string",
            "of the first check: arrival, receive, rollback, task_exit, queue_altered, timer",
        ),
        required("reason", "string", "arrival_on_empty_queue or readers_falling_behind"),
        required("ready_messages", "bigint", "ready messages at the first check"),
        required("running_tasks", "bigint", "running activated tasks"),
        required("mode", "string", "internal (procedure) or external (event notification)"),
        required("occurs", "boolean", "monitor would have started a reader or sent a notification"),
        optional("suppressed_by", "string", "max_queue_readers or notification_pending; null if it occurs"),
    ),
    key=("as_of", "instance", "database", "queue", "ordinal"),
    partition_by=("as_of_key",),
    checks={
        "known_reason": "reason in ('arrival_on_empty_queue', 'readers_falling_behind')",
        "known_mode": "mode in ('internal', 'external')",
        "suppressed": "occurs = (suppressed_by is null)",
        "order_of_checks": "first_check <= last_check and last_check <= until and until <= as_of",
    },
    file_order=("instance", "database", "queue", "ordinal"),
)

ACTIVATION_SUMMARY = Table(
    name="activation_summary",
    comment="Need of readers: one row per as_of and queue that has a monitor, or that only events name.",
    columns=(
        AS_OF,
        AS_OF_KEY,
        *QUEUE,
        optional("mode", "string", "internal or external; null if not in the catalog"),
        optional("max_queue_readers", "int", "from the catalog; null unless internal"),
        required(
            "need_seconds", "double", "seconds in need: from each check that needs a reader to the next check"
        ),
        required("short_seconds", "double", "need_seconds limited by max_queue_readers"),
        required("activations", "bigint", "checks that would have started or notified a reader"),
        required("most_ready", "bigint", "largest number of ready messages"),
        optional("most_ready_at", "timestamp", "when first reached, UTC; null if none"),
        required("groups_ready", "bigint", "groups with ready messages then"),
        required("groups_free", "bigint", "groups_ready that no transaction held"),
        required("ready_at_end", "bigint", "ready messages at as_of"),
        required("is_on", "boolean", "queue is on at as_of"),
        optional(
            "off_since", "timestamp", "when turned off, UTC; null if on, or off only by catalog or snapshot"
        ),
        required("advice", "string", "see docs/activation.md#advice"),
        required("sentence", "string", "advice in words"),
        required("oddities", "map<string,bigint>", "contradictions in the log, by name: docs/activation.md"),
    ),
    key=("as_of", "instance", "database", "queue"),
    partition_by=("as_of_key",),
    checks={
        "known_advice": "advice in ('queue_off', 'not_in_catalog', 'more_readers_wont_help', "
        "'raise_max_queue_readers', 'reader_exits_early', 'answers_late', 'keeps_up', 'not_received', "
        "'not_known')",
        "free_groups": "groups_free between 0 and groups_ready",
        "short_in_need": "short_seconds between 0 and need_seconds",
    },
)

PRIORITY_RULES = Table(
    name="priority_rules",
    comment="Rule history: one row per rule and validity [valid_from, valid_to).",
    columns=(
        required("instance", "string", "the rule's instance"),
        required("database", "string", "the rule's database"),
        required("name", "string", "rule, unique in its database"),
        required("valid_from", "timestamp", "first valid instant, UTC"),
        optional("contract", "string", "contract; null is ANY"),
        optional("local_service", "string", "local service; null is ANY"),
        optional("remote_service", "string", "remote service; null is ANY"),
        required("level", "int", "level 1..10"),
        optional("valid_to", "timestamp", "first instant after it, UTC; null if in force"),
    ),
    key=("instance", "database", "name", "valid_from"),
    checks={"level": "level between 1 and 10", "period": "valid_to is null or valid_to > valid_from"},
)

CATALOG_HISTORY = Table(
    name="catalog_history",
    comment="Catalogs by snapshots and DDL logs: one row per attribute and validity [valid_from, valid_to).",
    columns=(
        required("instance", "string", "instance"),
        required("database", "string", "database"),
        required("kind", "string", "database, queue, service or contract"),
        required("name", "string", "of the database, queue, service or contract"),
        required(
            "attribute",
            "string",
            "database: broker_enabled, honor, broker_guid; queue: on, activation, procedure, max_readers; "
            "service: queue; contract: exists",
        ),
        optional(
            "valid_from",
            "timestamp",
            "first moment with this value, UTC; null if nothing before it says otherwise",
        ),
        required("value", "string", "value; of a switch on or off"),
        optional(
            "valid_to",
            "timestamp",
            "first moment without this value, UTC; null if it still holds",
        ),
        required("source", "string", "snapshot, or ddl-log"),
    ),
    key=("instance", "database", "kind", "name", "attribute", "valid_from"),
    checks={
        "known_kind": "kind in ('database', 'queue', 'service', 'contract')",
        "period": "valid_to is null or valid_from is null or valid_to > valid_from",
    },
)

SENDS = Table(
    name="sends",
    comment="Messages that a trace shows to be sent, with an acknowledgement in them: one row per message, "
    "fragment and moment.",
    columns=(
        required("instance", "string", "sending instance"),
        required("conversation_id", "string", "conversation"),
        required("sent_by_initiator", "boolean", "true: initiator to target"),
        required("message_sequence_number", "bigint", "per conversation and direction, from 0"),
        required("fragment", "bigint", "fragment of the message, from 0"),
        required("sent_at", "timestamp", "when the server sent it, UTC"),
        optional("database", "string", "sending database; null if unknown"),
        optional("level", "int", "level 1..10 that the server sent by; null if not logged"),
        optional("honor", "boolean", "database honored priorities; null if not logged"),
        optional("elevated", "boolean", "starvation prevention raised the level; null if not logged"),
        optional("acknowledged_at", "timestamp", "when its acknowledgement came in, UTC; null if not logged"),
        required("sent_on", "date", "partition: UTC day of sent_at"),
        required("batch", "bigint", "batch of the row"),
    ),
    key=(
        "instance",
        "conversation_id",
        "sent_by_initiator",
        "message_sequence_number",
        "fragment",
        "sent_at",
    ),
    partition_by=("sent_on",),
)

REJECTED_EVENTS = Table(
    name="rejected_events",
    comment="Rejected input rows: one row per input, event, reason and raw row.",
    columns=(
        required("source", "string", "input"),
        optional("event_id", "string", "event; null if missing or unreadable"),
        required("reason", "string", "why: docs/data-dictionary.md#reasons-of-rejected-rows"),
        required("payload", "string", "declared columns as JSON; of a broken row its length"),
        required("run_id", "string", "first run with the row"),
        required("first_seen", "timestamp", "start of that run, UTC"),
    ),
    key=("source", "event_id", "reason", "payload"),
)

UNRESOLVED = Table(
    name="unresolved",
    comment="Open messages without a position: one row per as_of, schedule and message.",
    columns=(
        AS_OF,
        AS_OF_KEY,
        required("kind", "string", "schedule that lacks it: receive or transmission"),
        required("id", "string", "message_id"),
        required(
            "reason",
            "string",
            "endpoint_unknown, service_not_in_catalog or handle_unknown: docs/semantics.md#unresolved",
        ),
        optional(
            "instance", "string", "its endpoint's, else that of the view that shows it; null: not known"
        ),
        optional(
            "database", "string", "its endpoint's, else that of the view that shows it; null: not known"
        ),
        optional("queue", "string", "queue whose view shows it; null if none does, and in transmission"),
    ),
    key=("as_of", "kind", "id"),
    partition_by=("as_of_key",),
    checks={
        "known_kind": "kind in ('receive', 'transmission')",
        "known_reason": "reason in ('endpoint_unknown', 'service_not_in_catalog', 'handle_unknown')",
    },
)

EXPECTATIONS = Table(
    name="expectations",
    comment="Whether what the settings expect holds: one row per as_of and expectation.",
    columns=(
        AS_OF,
        AS_OF_KEY,
        required("name", "string", "expectation; else its entry as written"),
        optional("value", "double", "measured: seconds, share or count; null if nothing to measure"),
        required("limit", "double", "limit: seconds, share or count"),
        required("met", "boolean", "value meets the limit, and min_messages were measured"),
        optional("messages", "bigint", "messages measured; null for leaked_conversations and data_age"),
    ),
    key=("as_of", "name"),
    partition_by=("as_of_key",),
    checks={"counted": "messages is null or messages >= 0"},
)

PLACE = (
    required("kind", "string", "receive (a queue), transmission (an instance) or unresolved (no place)"),
    optional("instance", "string", "instance; null if unresolved"),
    optional("database", "string", "database; null unless receive"),
)
PLACE_KEY = ("kind", "instance", "database", "queue")

FINDINGS = Table(
    name="findings",
    comment="Why open messages wait: one row per as_of, cause and place.",
    columns=(
        AS_OF,
        AS_OF_KEY,
        required("code", "string", "cause: docs/findings.md"),
        required("severity", "string", "stopped, blocked, misconfigured or order"),
        *PLACE,
        optional("queue", "string", "queue; null unless receive, and if the whole database is meant"),
        required(
            "messages",
            "bigint",
            "open messages that have the cause; of broker_changed and conversations_gone, those gone",
        ),
        required("conversations", "bigint", "conversations of these messages"),
    ),
    key=("as_of", "code", "severity", *PLACE_KEY),
    partition_by=("as_of_key",),
    checks={
        "known_severity": "severity in ('stopped', 'blocked', 'misconfigured', 'order')",
        "known_kind": "kind in ('receive', 'transmission', 'unresolved')",
    },
)

WAITS = Table(
    name="waits",
    comment="How long scheduled messages have waited: one row per as_of, place and level.",
    columns=(
        AS_OF,
        AS_OF_KEY,
        *PLACE,
        optional("queue", "string", "queue; null unless receive"),
        required("level", "int", "priority, or transmit_priority, 1..10"),
        required("ready", "bigint", "messages that nothing holds back; in transmission all"),
        required("held", "bigint", "messages of locked groups, or in a queue that is off"),
        required("oldest_seconds", "bigint", "longest wait so far, whole seconds"),
        required("p95_seconds", "double", "95th percentile of the waits, interpolated"),
    ),
    key=("as_of", *PLACE_KEY, "level"),
    partition_by=("as_of_key",),
    checks={
        "level": "level between 1 and 10",
        "known_kind": "kind in ('receive', 'transmission')",
        "counted": "ready >= 0 and held >= 0 and ready + held > 0",
    },
)

RUNS = Table(
    name="runs",
    comment="One row per run, written last. A rerun of a published as_of also writes it first, as failed.",
    columns=(
        required("run_id", "string", "run"),
        required("as_of", "timestamp", "instant (UTC) described"),
        required("started_at", "timestamp", "start, UTC"),
        required("finished_at", "timestamp", "publication or failure, UTC; until then the first write"),
        required("status", "string", "succeeded or failed"),
        required("code_version", "string", "code version"),
        required("settings", "string", "settings as JSON"),
        required("row_counts", "map<string,bigint>", "rows written for as_of, by table"),
        required("reconciliation", "map<string,bigint>", "sums, by name: docs/operations.md"),
        optional("last_batch", "bigint", "last batch included; null if nothing was written"),
        optional("versions", "map<string,bigint>", "final Delta versions, by table; null if failed"),
        optional("error", "string", "error in one line; null if succeeded"),
        optional(
            "newest_data",
            "timestamp",
            "newest event before as_of or snapshot up to it, UTC; null if none or not known",
        ),
        optional(
            "newest_facts",
            "map<string,timestamp>",
            "newest snapshot of each [instance].[database], else newest event of its instance, UTC; null if "
            "failed or in rows of an older version",
        ),
        optional(
            "databases_gone",
            "map<string,timestamp>",
            "[instance].[database] that captures of its server list no more, and since when, UTC; null if "
            "failed or in rows of an older version",
        ),
    ),
    key=("run_id",),
    checks={"known_status": "status in ('succeeded', 'failed')"},
)

BATCHES = Table(
    name="batches",
    comment="One row per batch and input, written last. events = accepted + duplicates + rejected + pending.",
    columns=(
        required("batch", "bigint", "batch, from 1"),
        required("source", "string", "input, or snapshots"),
        required("events", "bigint", "rows read, and rows that were pending before"),
        required("accepted", "bigint", "events accepted"),
        required("duplicates", "bigint", "exact duplicates"),
        required("rejected", "bigint", "rows rejected"),
        optional("newest", "timestamp", "log's newest moment so far, UTC; null without events"),
        required("bindings", "string", "fingerprint of the catalog's services and queues"),
        optional(
            "newest_data",
            "timestamp",
            "newest accepted event, or newest taken_at, UTC; null without any or in an older version",
        ),
        optional(
            "counts",
            "map<string,bigint>",
            "what is counted of mapped rows beside that, by name: docs/exporting.md; null without any",
        ),
        optional("pending", "bigint", "rows pending after it; null in rows of an older version"),
    ),
    key=("batch", "source"),
    public=False,
)

PENDING_EVENTS = Table(
    name="pending_events",
    comment="Rows of mapped sources that wait for what makes them events: one row per source and event.",
    columns=(
        required("source", "string", "source"),
        required("event_id", "string", "event"),
        required("reason", "string", "handle_unknown: no input shows the endpoint of its handle"),
        required("payload", "string", "declared columns as JSON"),
        required("first_seen", "timestamp", "start of the run that first read it, UTC"),
        required("batch", "bigint", "batch that tried it last"),
    ),
    key=("source", "event_id"),
    public=False,
)

FILES = Table(
    name="files",
    comment="Input files read: one row per file, or per version of a Delta input.",
    columns=(
        required("batch", "bigint", "batch that read it; without rows in `batches` it is read again"),
        required("source", "string", "input"),
        required("path", "string", "file, or Delta folder"),
        optional("length", "bigint", "bytes; null for Delta"),
        optional("modified_at", "timestamp", "last change, UTC; null for Delta"),
        optional("version", "bigint", "last Delta version read; null for files"),
        optional("mapping", "string", "mapping that read it, as JSON; null without one"),
    ),
    key=("batch", "source", "path"),
    public=False,
)

SNAPSHOTS = Table(
    name="snapshots",
    comment="Views read: one row per snapshot and view.",
    columns=(
        required("batch", "bigint", "batch that read it; without rows in `batches` it is read again"),
        required("instance", "string", "instance"),
        required("database", "string", "database"),
        required("taken_at", "timestamp", "snapshot's moment, UTC"),
        required("view", "string", "view, as its file is named"),
        required("complete", "boolean", "view shows all rows"),
        optional("path", "string", "file, or folder, of the view or the capture"),
        optional("length", "bigint", "bytes; null for a capture"),
        optional("modified_at", "timestamp", "last change, UTC; null for a capture"),
        optional("rows", "bigint", "rows, of a queue those of status 1; null if not counted"),
        optional("repeated_rows", "bigint", "rows among them that repeat another; null if not counted"),
        optional("rejected_rows", "bigint", "rows among them that were rejected; null if not counted"),
    ),
    key=("instance", "database", "taken_at", "view"),
    public=False,
)

QUEUE_STATUSES = Table(
    name="queue_statuses",
    comment="Rows of queues in snapshots, where some do not wait: one row per queue, snapshot and status.",
    columns=(
        required("batch", "bigint", "batch that read it; without rows in `batches` it is read again"),
        *QUEUE,
        required("taken_at", "timestamp", "snapshot's moment, UTC"),
        required("status", "bigint", "1 ready; 0 received and 3 sent, both retained; 2 not in order yet"),
        required("rows", "bigint", "rows of the queue with it"),
    ),
    key=("instance", "database", "queue", "taken_at", "status"),
    public=False,
)

CAPTURES = Table(
    name="captures",
    comment="Captures read: one row per file of a capture.",
    columns=(
        required("batch", "bigint", "batch that read it; without rows in `batches` it is read again"),
        required("capture_id", "string", "id of the capture"),
        required("path", "string", "file"),
        required("length", "bigint", "bytes"),
        required("modified_at", "timestamp", "last change of the file, UTC"),
        required("sha256", "string", "hash of the capture's lines"),
        required("server", "string", "the server's own name"),
        required("instance", "string", "instance"),
        required("taken_at", "timestamp", "capture's moment, UTC"),
        required("first_seen", "timestamp", "start of the run that read it, UTC"),
        required(
            "databases", "string", "databases that it shows, as JSON: name, catalog, rule_lines, complete"
        ),
        required("catalogs", "string", "catalogs that no earlier row has, by hash, as JSON: rows by view"),
        optional(
            "listed",
            "string",
            "databases that it lists, read or not, as JSON; null in rows of an older version",
        ),
        optional("utc_offset_minutes", "int", "of the server's clock; null if unknown"),
    ),
    key=("capture_id", "path"),
    public=False,
)

QUEUE_MONITORS = Table(
    name="queue_monitors",
    comment="Monitors in snapshots: one row per queue and snapshot.",
    columns=(
        required("batch", "bigint", "batch that read it; without rows in `batches` it is read again"),
        *QUEUE,
        required("taken_at", "timestamp", "snapshot's moment, UTC"),
        optional("state", "string", "INACTIVE, NOTIFIED or RECEIVES_OCCURRING; null if missing"),
        optional(
            "last_activated_time",
            "timestamp",
            "last start or notification as the server wrote it, without zone; null if never or unknown",
        ),
        optional(
            "last_empty_rowset_time",
            "timestamp",
            "last empty RECEIVE as the server wrote it, without zone; null if never or unknown",
        ),
        optional("tasks_waiting", "bigint", "sessions waiting in RECEIVE; null if unknown"),
        optional("tasks_running", "bigint", "activated tasks; null without dm_broker_activated_tasks"),
        optional("dropped", "bigint", "monitors in state DROPPED; null in rows of an older version"),
        optional("utc_offset_minutes", "int", "server's clock ahead of UTC; null if unknown"),
    ),
    key=("instance", "database", "queue", "taken_at"),
    public=False,
)

"""The output tables."""

from schemas.table import Table, optional, required

AS_OF = required("as_of", "timestamp", "the instant (UTC) that the row describes")
AS_OF_KEY = required("as_of_key", "string", "as_of as text, such as 20261121T000000000000Z: the partition")
QUEUE = (
    required("instance", "string", "instance of the queue"),
    required("database", "string", "database of the queue"),
    required("queue", "string", "the queue"),
)
STATES = "state in ('ready', 'group_locked', 'queue_off')"
PLACED_WHEN_READY = "(position is not null) = (state = 'ready')"
STATE = required("state", "string", "ready, group_locked (an open transaction holds the group) or queue_off")

QUEUE_ORDER = ("queue", "instance", "database", "position")
"""The queue goes first: a file in which one instance ends and another begins could hold any queue of both."""
QUEUE_RANGES = ("queue", "coalesce(position, 0) div 1000000")
"""Queues of one name share a file, a million positions of each: more would be too much for one task."""

GROUP_PRIORITIES = Table(
    name="group_priorities",
    comment="Conversation groups with ready messages in a queue: one row per as_of, queue and group.",
    columns=(
        AS_OF,
        AS_OF_KEY,
        *QUEUE,
        required("conversation_group_id", "string", "the group"),
        required("priority", "int", "level 1..10: the highest of its conversations with ready messages"),
        required(
            "deciding_conversation_id",
            "string",
            "the conversation that gives the priority, first in the group's order",
        ),
        required("conversations", "bigint", "its conversations with ready messages"),
        required("messages", "bigint", "their ready messages"),
        required("oldest_arrival", "timestamp", "arrival of its oldest ready message, UTC"),
        STATE,
        optional(
            "position",
            "bigint",
            "order of GET CONVERSATION GROUP, from 1 per queue; null unless ready",
        ),
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
    comment="The order in which one reader would receive: one row per as_of, queue and ready message.",
    columns=(
        AS_OF,
        AS_OF_KEY,
        *QUEUE,
        required("message_id", "string", "the message"),
        optional("position", "bigint", "order in the queue, from 1; null unless ready"),
        optional(
            "receive_number", "bigint", "the RECEIVE that returns it, from 1 per queue; null unless ready"
        ),
        required("conversation_group_id", "string", "group of the receiving endpoint"),
        required("group_priority", "int", "level 1..10 of the group at that RECEIVE; at as_of unless ready"),
        required("conversation_id", "string", "the message's conversation"),
        required("is_initiator", "boolean", "whether the receiving endpoint is the initiator"),
        optional(
            "conversation_handle", "string", "the receiving endpoint's handle; null if inferred or not logged"
        ),
        required("priority", "int", "level 1..10 of the receiving endpoint"),
        optional("message_sequence_number", "bigint", "per conversation and direction; null if unsequenced"),
        required("message_type", "string", "name of the message type"),
        required("arrived_at", "timestamp", "when it arrived in the queue, UTC"),
        optional(
            "queuing_order",
            "bigint",
            "the queue's own arrival counter, which decides between equal times; null if not logged",
        ),
        STATE,
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
    comment="The order in which an instance would transmit: one row per as_of, instance and waiting message.",
    columns=(
        AS_OF,
        AS_OF_KEY,
        required("instance", "string", "instance that sends or forwards"),
        required("message_id", "string", "the message"),
        required("position", "bigint", "order over all databases of the instance, from 1"),
        required(
            "database",
            "string",
            "database whose transmission queue holds it; that of FORWARD_ACCEPTED if forwarded",
        ),
        optional(
            "destination_instance",
            "string",
            "where it goes; null if neither an endpoint nor the catalog says",
        ),
        optional(
            "destination_database",
            "string",
            "where it goes; null if neither an endpoint nor the catalog says",
        ),
        required("conversation_id", "string", "the message's conversation"),
        required("sent_by_initiator", "boolean", "direction: true from the initiator to the target"),
        optional("from_service", "string", "the sending service; null if forwarded and unknown here"),
        optional("to_service", "string", "the receiving service; null if forwarded and unknown here"),
        optional("message_sequence_number", "bigint", "per conversation and direction; null if unsequenced"),
        required("message_type", "string", "name of the message type"),
        optional("size_bytes", "bigint", "size of the body, for blocks; null if not logged"),
        optional(
            "priority",
            "int",
            "level 1..10 of the sending endpoint, as sys.transmission_queue shows it; null if unknown",
        ),
        required("transmit_priority", "int", "level 1..10 that counts for sending"),
        required("elevated", "boolean", "whether starvation prevention raised transmit_priority"),
        required("forwarded", "boolean", "whether the instance only passes it on"),
        optional(
            "block",
            "bigint",
            "block of fragments that completes it, from 1 per instance; null with blocks off",
        ),
        required(
            "sendable_at",
            "timestamp",
            "when it and all that goes before it in its conversation had been sent, UTC",
        ),
        optional(
            "why_still_here",
            "string",
            "transmission_status of the latest snapshot that shows the message; null if none says anything",
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
    comment="When queue monitors found that a reader was needed: one row per as_of, queue and run of checks.",
    columns=(
        AS_OF,
        AS_OF_KEY,
        *QUEUE,
        required("ordinal", "bigint", "order of the runs of the queue, from 1"),
        required("first_check", "timestamp", "first check of the run, UTC"),
        required("last_check", "timestamp", "last check of the run, UTC"),
        required("until", "timestamp", "next check of the queue after the run, UTC; as_of if there is none"),
        required("checks", "bigint", "consecutive checks that found the same"),
        required(
            "trigger",
            "string",
            "of the first check: arrival, receive, rollback, task_exit, queue_altered or timer",
        ),
        required("reason", "string", "arrival_on_empty_queue or readers_falling_behind"),
        required("ready_messages", "bigint", "ready messages in the queue at the first check"),
        required("running_tasks", "bigint", "activated tasks that ran"),
        required("mode", "string", "internal (activation procedure) or external (event notification)"),
        required(
            "occurs", "boolean", "whether the monitor would have started a reader or sent a notification"
        ),
        optional(
            "suppressed_by",
            "string",
            "max_queue_readers or notification_pending; null where activation occurs",
        ),
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
    comment="What the activation window says of a queue: one row per as_of and queue that has a monitor, or "
    "that queue events name and the catalog lacks.",
    columns=(
        AS_OF,
        AS_OF_KEY,
        *QUEUE,
        optional("mode", "string", "internal or external; null for a queue that the catalog lacks"),
        optional("max_queue_readers", "int", "of the catalog; null unless internal"),
        required(
            "need_seconds",
            "double",
            "time in need of a reader: from each check that found one necessary to the next check",
        ),
        required("short_seconds", "double", "the part of it in which max_queue_readers kept one away"),
        required(
            "activations",
            "bigint",
            "checks at which a monitor would have started a reader or sent a notification",
        ),
        required("most_ready", "bigint", "largest number of ready messages, longer than an instant"),
        optional("most_ready_at", "timestamp", "when it was reached first, UTC; null if there were none"),
        required("groups_ready", "bigint", "conversation groups that had ready messages then"),
        required("groups_free", "bigint", "those of them that no transaction held then"),
        required("ready_at_end", "bigint", "ready messages at as_of"),
        required("is_on", "boolean", "whether the queue is on at as_of"),
        optional(
            "off_since",
            "timestamp",
            "when it was turned off, UTC; null if it is on, off by the catalog alone, or seen off by a "
            "snapshot alone",
        ),
        required(
            "advice",
            "string",
            "queue_off, not_in_catalog, more_readers_wont_help, raise_max_queue_readers, "
            "reader_exits_early, answers_late, keeps_up, not_received (a snapshot shows the monitor as "
            "NOTIFIED, and nothing was received since) or not_known (the log does not say what readers did)",
        ),
        required("sentence", "string", "the advice in words, with its numbers"),
        required(
            "oddities",
            "map<string,bigint>",
            "what the log says and can't be, or the catalog lacks, counted; docs/activation.md has the rules",
        ),
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
    comment="Priority rules with their history: one row per rule and validity [valid_from, valid_to).",
    columns=(
        required("instance", "string", "instance of the rule"),
        required("database", "string", "database of the rule"),
        required("name", "string", "the rule, unique in its database at any time"),
        required("valid_from", "timestamp", "first instant of validity, UTC"),
        optional("contract", "string", "contract that it asks for; null is ANY"),
        optional("local_service", "string", "local service that it asks for; null is ANY"),
        optional("remote_service", "string", "remote service that it asks for; null is ANY"),
        required("level", "int", "level 1..10 that it gives"),
        optional("valid_to", "timestamp", "first instant when it is not valid any more, UTC; null is open"),
    ),
    key=("instance", "database", "name", "valid_from"),
    checks={"level": "level between 1 and 10", "period": "valid_to is null or valid_to > valid_from"},
)

REJECTED_EVENTS = Table(
    name="rejected_events",
    comment="Rows of the inputs that were not accepted: one row per input, event, reason and raw row.",
    columns=(
        required("source", "string", "the input's name"),
        optional("event_id", "string", "the event; null if it has none or could not be read"),
        required("reason", "string", "why it was rejected; docs/operations.md lists the reasons"),
        required("payload", "string", "the declared columns of the row as JSON; of a broken row its length"),
        required("run_id", "string", "the run that met it first"),
        required("first_seen", "timestamp", "start of that run, UTC"),
    ),
    key=("source", "event_id", "reason", "payload"),
)

UNRESOLVED = Table(
    name="unresolved",
    comment="Open messages that no schedule can place yet: one row per as_of, schedule and message.",
    columns=(
        AS_OF,
        AS_OF_KEY,
        required("kind", "string", "receive or transmission: the schedule that it is missing from"),
        required("id", "string", "message_id"),
        required(
            "reason",
            "string",
            "endpoint_unknown (the receiving endpoint, for transmission the sending one, does not exist at "
            "as_of), service_not_in_catalog (its service has no queue) or handle_unknown (a snapshot shows "
            "the message under a handle that no endpoint has)",
        ),
    ),
    key=("as_of", "kind", "id"),
    partition_by=("as_of_key",),
    checks={
        "known_kind": "kind in ('receive', 'transmission')",
        "known_reason": "reason in ('endpoint_unknown', 'service_not_in_catalog', 'handle_unknown')",
    },
)

RUNS = Table(
    name="runs",
    comment="Runs: one row per run, written last, when everything else of it can be read. A run "
    "of an as_of that was published before writes it first, too: failed, for it has not ended.",
    columns=(
        required("run_id", "string", "the run"),
        required("as_of", "timestamp", "the instant (UTC) that it describes"),
        required("started_at", "timestamp", "when it started, UTC"),
        required(
            "finished_at",
            "timestamp",
            "when it was published, or failed, UTC; until then when it began to write",
        ),
        required("status", "string", "succeeded or failed"),
        required("code_version", "string", "version of the code that ran"),
        required("settings", "string", "the settings as JSON"),
        required("row_counts", "map<string,bigint>", "rows written for this as_of, by table"),
        required(
            "reconciliation", "map<string,bigint>", "the sums that add up; docs/operations.md explains them"
        ),
        optional(
            "last_batch",
            "bigint",
            "the last batch that it covers; null if it failed before it wrote anything",
        ),
        optional("versions", "map<string,bigint>", "at which version it left each table; null if it failed"),
        optional("error", "string", "what went wrong, in one line; null if it succeeded"),
    ),
    key=("run_id",),
    checks={"known_status": "status in ('succeeded', 'failed')"},
)

BATCHES = Table(
    name="batches",
    comment="What came in: one row per batch and input, written when its fold is done. "
    "events = accepted + duplicates + rejected.",
    columns=(
        required("batch", "bigint", "the batch, from 1"),
        required("source", "string", "the input's name; snapshots for the views of all snapshots"),
        required("events", "bigint", "rows read"),
        required("accepted", "bigint", "events accepted"),
        required("duplicates", "bigint", "exact duplicates, counted and left out"),
        required("rejected", "bigint", "rows rejected, each counted once however many its reasons"),
        optional(
            "newest",
            "timestamp",
            "the log's newest moment up to this batch, UTC; null without events",
        ),
        required("bindings", "string", "fingerprint of the catalog's services with their queues"),
    ),
    key=("batch", "source"),
    public=False,
)

FILES = Table(
    name="files",
    comment="Which input files were taken: one row per file, or per version of a Delta input.",
    columns=(
        required(
            "batch", "bigint", "the batch that took it; without its rows in `batches` it is taken again"
        ),
        required("source", "string", "the input's name"),
        required("path", "string", "the file, or the folder of a Delta input"),
        optional("length", "bigint", "bytes; null for Delta"),
        optional("modified_at", "timestamp", "when the file was last changed, UTC; null for Delta"),
        optional("version", "bigint", "the version up to which a Delta input was taken; else null"),
    ),
    key=("batch", "source", "path"),
    public=False,
)

SNAPSHOTS = Table(
    name="snapshots",
    comment="Which views of which snapshots were taken: one row per snapshot and view.",
    columns=(
        required(
            "batch", "bigint", "the batch that took it; without its rows in `batches` it is taken again"
        ),
        required("instance", "string", "instance of the snapshot"),
        required("database", "string", "database of the snapshot"),
        required("taken_at", "timestamp", "the moment that it shows, UTC"),
        required("view", "string", "the view, as its file is named"),
        required("complete", "boolean", "whether what the view does not show was not there"),
    ),
    key=("instance", "database", "taken_at", "view"),
    public=False,
)

QUEUE_MONITORS = Table(
    name="queue_monitors",
    comment="Queue monitors as snapshots show them: one row per queue and snapshot with its monitor.",
    columns=(
        required(
            "batch", "bigint", "the batch that took it; without its rows in `batches` it is taken again"
        ),
        *QUEUE,
        required("taken_at", "timestamp", "the snapshot's moment, UTC"),
        optional("state", "string", "INACTIVE, NOTIFIED or RECEIVES_OCCURRING; null if the view lacks it"),
        optional(
            "last_activated_time",
            "timestamp",
            "when the monitor last started a procedure or sent a notification, UTC; null if never or unknown",
        ),
        optional(
            "last_empty_rowset_time",
            "timestamp",
            "when a RECEIVE last came back empty, UTC; null if never or unknown",
        ),
        optional("tasks_waiting", "bigint", "sessions that wait in a RECEIVE; null if unknown"),
        optional(
            "tasks_running",
            "bigint",
            "activated tasks; null if the snapshot lacks dm_broker_activated_tasks",
        ),
    ),
    key=("instance", "database", "queue", "taken_at"),
    public=False,
)

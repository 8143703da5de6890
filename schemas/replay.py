"""The tables of a replay: of the folder that --out names, not of the warehouse."""

from schemas.table import Table, optional, required

SCENARIO = required("scenario", "string", "actual (recorded levels) or proposed")
QUEUE_COLUMNS = (
    required("instance", "string", "instance"),
    required("database", "string", "database"),
    required("queue", "string", "queue"),
)
CALIBRATED = required(
    "calibrated",
    "boolean",
    "whether the scenario actual follows the log closely enough in this queue; if not, mistrust the row",
)
LEVEL = required("level", "int", "level of the messages in the scenario")
WAITING = "of the waiting from arrival to RECEIVE, in ms; null if that rank was not served"

REPLAY_WAITS = Table(
    name="replay_waits",
    comment="One row per scenario, queue and level: how long its messages waited.",
    columns=(
        SCENARIO,
        *QUEUE_COLUMNS,
        LEVEL,
        required("messages", "bigint", "messages played: served and unserved"),
        required("served", "bigint", "messages received in the period, or the drain"),
        required("unserved", "bigint", "messages that were not, those of ended endpoints among them"),
        required("estimated", "bigint", "messages never taken in the log, whose work is a median"),
        *[optional(f"wait_p{rank}", "double", f"percentile {rank} {WAITING}") for rank in (50, 90, 95, 99)],
        optional("wait_max", "double", "longest waiting in ms; null if any is unserved"),
        optional("wait_mean", "double", "mean waiting in ms; null if any is unserved"),
        optional(
            "at_least",
            "double",
            "ms that the waiting at the lowest null rank had lasted at the end of the period or of its "
            "endpoint; null if all are served",
        ),
        CALIBRATED,
    ),
    key=("scenario", "instance", "database", "queue", "level"),
)

REPLAY_QUEUES = Table(
    name="replay_queues",
    comment="One row per scenario and queue: what its readers did.",
    columns=(
        SCENARIO,
        *QUEUE_COLUMNS,
        optional("readers", "bigint", "readers, at most at one time; null if the log does not know them"),
        optional("busy_seconds", "double", "reader-seconds at work; null if the readers are not known"),
        optional("utilisation", "double", "share of the reader-seconds at work; null if there are none"),
        required("most_ready", "bigint", "most ready messages, locked groups and a queue off included"),
        optional(
            "idle_locked_seconds",
            "double",
            "reader-seconds idle while only locked groups were ready; null if the readers are not known",
        ),
        optional(
            "empty_at", "timestamp", "with --drain: when the last message was done; null if some are left"
        ),
        CALIBRATED,
    ),
    key=("scenario", "instance", "database", "queue"),
)

REPLAY_CALIBRATION = Table(
    name="replay_calibration",
    comment="One row per queue and level: the scenario actual beside the log.",
    columns=(
        *QUEUE_COLUMNS,
        LEVEL,
        required("messages", "bigint", "messages played"),
        *[
            optional(f"{name}_p{rank}", "double", f"percentile {rank} of the waiting {where}, in ms")
            for rank in (50, 95)
            for name, where in (
                ("logged", "in the log, to the first RECEIVED"),
                ("replayed", "in the scenario actual"),
                ("difference", "in the replay less that in the log"),
            )
        ],
        required(
            "verdict",
            "string",
            "calibrated; off: p50 or p95 differs by more than a tenth and more than 50 ms, or is known on "
            "one side only; unknown: neither side knows one",
        ),
        CALIBRATED,
    ),
    key=("instance", "database", "queue", "level"),
)

REPLAY_MESSAGES = Table(
    name="replay_messages",
    comment="One row per scenario and message that was played.",
    columns=(
        SCENARIO,
        *QUEUE_COLUMNS,
        required("message_id", "string", "message"),
        required("arrived_at", "timestamp", "its arrival in the queue, UTC"),
        optional("started_at", "timestamp", "when a RECEIVE took it, UTC; null if none did"),
        optional("finished_at", "timestamp", "when the work on the whole RECEIVE was done, UTC"),
        optional("receive_number", "bigint", "the RECEIVE of its queue, from 1; null for one with WHERE"),
        LEVEL,
    ),
    key=("scenario", "message_id"),
)

REPLAY_CURVE = Table(
    name="replay_curve",
    comment="One row per scenario, queue and number of readers of the range that was asked for.",
    columns=(
        SCENARIO,
        *QUEUE_COLUMNS,
        required("readers", "bigint", "readers"),
        required("messages", "bigint", "messages played"),
        required("served", "bigint", "messages received in the period, or the drain"),
        optional("wait_p95", "double", f"percentile 95 {WAITING}"),
        optional("at_least", "double", "ms that it had lasted at least; null unless wait_p95 is"),
        optional("utilisation", "double", "share of the reader-seconds at work"),
        required("idle_locked_seconds", "double", "reader-seconds idle while only locked groups were ready"),
        CALIBRATED,
    ),
    key=("scenario", "instance", "database", "queue", "readers"),
)

REPLAY_TABLES = (REPLAY_WAITS, REPLAY_QUEUES, REPLAY_CALIBRATION, REPLAY_MESSAGES)

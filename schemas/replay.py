"""The tables of a replay: of the folder that --out names, not of the warehouse."""

from schemas.table import Table, optional, required

SCENARIO = required("scenario", "string", "actual (recorded levels) or proposed")
QUEUE_COLUMNS = (
    required("instance", "string", "instance"),
    required("database", "string", "database"),
    required("queue", "string", "queue"),
)
CALIBRATED = optional(
    "calibrated",
    "boolean",
    "false: the replay does not follow the log here; null: captures are too far apart to tell",
)
LEVEL = required("level", "int", "level in the scenario")
WAITING = "of the wait from arrival to RECEIVE, ms; null if unserved"

REPLAY_WAITS = Table(
    name="replay_waits",
    comment="Waits: one row per scenario, queue and level.",
    columns=(
        SCENARIO,
        *QUEUE_COLUMNS,
        LEVEL,
        required("messages", "bigint", "messages played"),
        required("served", "bigint", "messages received in period or drain"),
        required("unserved", "bigint", "messages not received, ended endpoints included"),
        required("estimated", "bigint", "messages never received in the log; work is a median"),
        *[optional(f"wait_p{rank}", "double", f"percentile {rank} {WAITING}") for rank in (50, 90, 95, 99)],
        optional("wait_max", "double", "longest wait, ms; null if any unserved"),
        optional("wait_mean", "double", "mean wait, ms; null if any unserved"),
        optional("at_least", "double", "wait so far at the lowest unserved rank, ms; null if all served"),
        CALIBRATED,
    ),
    key=("scenario", "instance", "database", "queue", "level"),
)

REPLAY_QUEUES = Table(
    name="replay_queues",
    comment="Readers: one row per scenario and queue.",
    columns=(
        SCENARIO,
        *QUEUE_COLUMNS,
        optional("readers", "bigint", "most readers at once; null if unknown"),
        optional("busy_seconds", "double", "reader-seconds at work; null if readers unknown"),
        optional("utilisation", "double", "share of reader-seconds at work; null if none"),
        required("most_ready", "bigint", "most ready messages, held back included"),
        optional(
            "idle_locked_seconds",
            "double",
            "reader-seconds idle with only locked groups; null if readers unknown",
        ),
        optional("empty_at", "timestamp", "end of the last message with --drain, UTC; null if some left"),
        CALIBRATED,
    ),
    key=("scenario", "instance", "database", "queue"),
)

REPLAY_CALIBRATION = Table(
    name="replay_calibration",
    comment="Actual and log: one row per queue and level.",
    columns=(
        *QUEUE_COLUMNS,
        LEVEL,
        required("messages", "bigint", "messages played"),
        *[
            optional(
                f"{name}_p{rank}", "double", f"percentile {rank} of the wait {where}, ms; null if unknown"
            )
            for rank in (50, 95)
            for name, where in (
                ("logged", "in the log, to the first RECEIVED"),
                ("replayed", "in the scenario actual"),
                ("difference", "replayed less logged"),
            )
        ],
        optional("width", "double", "most between two captures that show a receive, ms; null if none does"),
        required(
            "verdict",
            "string",
            "calibrated, off (p50 or p95 beyond a tenth and 50 ms, or one-sided), unknown (neither known) or "
            "too_wide (width beyond both)",
        ),
        CALIBRATED,
    ),
    key=("instance", "database", "queue", "level"),
)

REPLAY_MESSAGES = Table(
    name="replay_messages",
    comment="One row per scenario and message.",
    columns=(
        SCENARIO,
        *QUEUE_COLUMNS,
        required("message_id", "string", "message"),
        required("arrived_at", "timestamp", "arrival, UTC"),
        optional("started_at", "timestamp", "RECEIVE, UTC; null if none"),
        optional("finished_at", "timestamp", "end of the RECEIVE's work, UTC; null if none"),
        optional("receive_number", "bigint", "queue's RECEIVE, from 1; null with WHERE, or none"),
        LEVEL,
    ),
    key=("scenario", "message_id"),
)

REPLAY_CURVE = Table(
    name="replay_curve",
    comment="One row per scenario, queue and number of readers.",
    columns=(
        SCENARIO,
        *QUEUE_COLUMNS,
        required("readers", "bigint", "readers"),
        required("messages", "bigint", "messages played"),
        required("served", "bigint", "messages received in period or drain"),
        optional("wait_p95", "double", f"percentile 95 {WAITING}"),
        optional("at_least", "double", "wait so far, ms; null unless wait_p95 is"),
        optional("utilisation", "double", "share of reader-seconds at work; null if none"),
        required("idle_locked_seconds", "double", "reader-seconds idle with only locked groups"),
        CALIBRATED,
    ),
    key=("scenario", "instance", "database", "queue", "readers"),
)

REPLAY_TABLES = (REPLAY_WAITS, REPLAY_QUEUES, REPLAY_CALIBRATION, REPLAY_MESSAGES)

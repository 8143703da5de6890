"""Queue monitors in Python workers: a drawn timeline in, runs of checks out. A unit of time is a second."""

from pyspark.sql import functions as F

from pipelines.activation import timeline as codes
from pipelines.activation.checks import Clock
from pipelines.activation.monitor import Monitor
from pipelines.activation.workers import TOTALS, activation, replay_monitors
from pipelines.queue_machine.workers import row_position
from schemas.outputs import ACTIVATION
from tests.support.drawn import Draw

TIMES = "ordinal bigint, first_check bigint, last_check bigint, until bigint, occurs boolean"
CODES = {
    "ARRIVAL": (codes.ARRIVAL, codes.ARRIVALS),
    "TAKEN": (codes.TAKEN, codes.RECEIVES),
    "RECEIVE": (codes.RECEIVE, codes.QUEUE_EVENTS),
    "TASK_STARTED": (codes.TASK_STARTED, codes.QUEUE_EVENTS),
}


def test_runs_of_checks_and_totals(draw: Draw) -> None:
    """An internal monitor of one reader, an external one with a timeout of 7 seconds, and a quiet one."""
    # 0    5    10   15   20
    #  aS                       internal: a message arrives, S a reader starts
    #  !   #    #    #          ! starts a reader, # max_queue_readers run
    #    a            R         external: R takes the message
    #    ! -    !    -.         ! notifies, - the notification is pending
    events = draw("""
        queue_number int | time bigint | tie | event        | number bigint
        0                | 1           | ''  | ARRIVAL      | 1
        0                | 2           | a   | TASK_STARTED | 51
        1                | 3           | ''  | ARRIVAL      | 1
        1                | 16          | b   | RECEIVE      | 52
        1                | 16          | ''  | TAKEN        | 1
    """)
    kind, rank = (
        F.coalesce(*[F.when(F.col("event") == name, F.lit(pair[part])) for name, pair in CODES.items()])
        for part in (0, 1)
    )
    timeline = events.withColumns({"kind": kind, "position": row_position(F.col("time"), rank)})
    monitors = [
        Monitor(0, max_queue_readers=1, timeout=None, is_on=True),
        Monitor(1, max_queue_readers=None, timeout=7, is_on=True),
        Monitor(2, max_queue_readers=1, timeout=None, is_on=True),
    ]
    replay = draw.keep(replay_monitors(timeline, monitors, Clock(start=0, end=20, check=5, empty=5)))
    totals = replay.where("ordinal = 0")
    draw.require(totals, ", ".join(f"{name} {type}" for name, type in TOTALS.items()))("""
        queue_number int | ready | takes | receives | most_ready | most_ready_at | is_on
        0                | 1     | 0     | 0        | 1          | 1             | true
        1                | 0     | 1     | 1        | 1          | 3             | true
    """)
    named = draw("""
        queue_number int | instance | database | queue | mode
        0                | SQL1     | B        | P     | internal
        1                | SQL1     | B        | Q     | external
    """)
    runs = activation(replay, named)
    draw.require(runs, ACTIVATION)("""
        queue | ordinal | checks | trigger | reason                 | running_tasks | suppressed_by
        P     | 1       | 1      | arrival | arrival_on_empty_queue | 0             | -
        P     | 2       | 3      | timer   | readers_falling_behind | 1             | max_queue_readers
        Q     | 1       | 1      | arrival | arrival_on_empty_queue | 0             | -
        Q     | 2       | 1      | timer   | readers_falling_behind | 0             | notification_pending
        Q     | 3       | 1      | timer   | readers_falling_behind | 0             | -
        Q     | 4       | 1      | timer   | readers_falling_behind | 0             | notification_pending
    """)
    times = [F.unix_micros(name).alias(name) for name in ("first_check", "last_check", "until")]
    draw.require(runs.select("queue", "ordinal", "mode", "occurs", *times), TIMES)("""
        queue | ordinal | mode     | first_check | last_check | until | occurs
        P     | 1       | internal | 1           | 1          | 5     | true
        P     | 2       | internal | 5           | 15         | 20    | false
        Q     | 1       | external | 3           | 3          | 5     | true
        Q     | 2       | external | 5           | 5          | 10    | false
        Q     | 3       | external | 10          | 10         | 15    | true
        Q     | 4       | external | 15          | 15         | 16    | false
    """)

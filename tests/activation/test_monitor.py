"""The state machine against the model that plays every check, and a drawn timeline in Python workers."""

from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings, strategies as st
from pyspark.sql import functions as F

from pipelines.activation import timeline as codes
from pipelines.activation.checks import Clock
from pipelines.activation.monitor import TOTALS, Monitor, MonitorReplay, replay_monitors
from pipelines.activation.summary import activation
from pipelines.queue_machine.workers import BITS, row_position
from schemas.keys import QUEUE
from schemas.outputs import ACTIVATION
from tests.support.drawn import Draw
from tests.support.harness import difference
from tests.support.model import activation as model
from tests.support.strategies import Log
from tests.support.strategies.monitored import AS_OF, TIMINGS, Timing, monitored_logs

Row = dict[str, Any]
Feed = list[tuple[int, int, int]]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMES = "ordinal bigint, first_check bigint, last_check bigint, until bigint, occurs boolean"
CODES = {
    "ARRIVAL": (codes.ARRIVAL, codes.ARRIVALS),
    "TAKEN": (codes.TAKEN, codes.RECEIVES),
    "RECEIVE": (codes.RECEIVE, codes.QUEUE_EVENTS),
    "TASK_STARTED": (codes.TASK_STARTED, codes.QUEUE_EVENTS),
}
KINDS = {
    "RECEIVE": codes.RECEIVE,
    "WAIT_ENDED": codes.WAIT_ENDED,
    "TASK_STARTED": codes.TASK_STARTED,
    "TASK_EXITED": codes.TASK_EXITED,
    "ROLLBACK": codes.ROLLBACK,
    "QUEUE_ALTERED": codes.ALTERED,
}


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


class Recorded(model._Replay):
    """The model, noting what the state machine would have been fed with."""

    all: ClassVar[list["Recorded"]] = []
    feed: Feed

    def rows(self) -> list[Row]:
        self.feed = []
        Recorded.all.append(self)
        return super().rows()

    def _play(self, happening: model.Happening) -> None:
        time, before = micros(happening.time), len(self.queue.ready)
        super()._play(happening)
        change = len(self.queue.ready) - before
        if happening.kind == model.ARRIVAL and change:
            self.feed.append((time, codes.ARRIVAL, 1))
        elif happening.kind != model.ARRIVAL:
            self.feed += [(time, codes.TAKEN if change < 0 else codes.REDELIVERED, 1)] * abs(change)
        if happening.kind == model.QUEUE_EVENT and (kind := _kind(happening.event)) is not None:
            session = happening.event["session_id"]
            self.feed.append((time, kind, codes.NO_SESSION if session is None else session))


def _kind(event: Row) -> int | None:
    is_empty = event["row_count"] == 0 and not event["has_where"]
    match event["event_type"]:
        case "RECEIVE" if is_empty:
            return codes.EMPTY_RECEIVE
        case "GET_CONVERSATION_GROUP":
            return codes.EMPTY_GET_GROUP if is_empty else None
        case "WAIT_STARTED":
            return codes.WAIT_ENDED if event["has_where"] else codes.WAIT_STARTED
        case "QUEUE_ALTERED" if event["queue_status"]:
            return codes.TURNED_OFF if event["queue_status"] == "OFF" else codes.TURNED_ON
        case event_type:
            return KINDS.get(event_type)


def replayed(recorded: Recorded) -> list[Row]:
    """What the state machine makes of what the model was fed with, as rows of the table."""
    monitor = recorded.monitor
    timeout = None if monitor.timeout is None else monitor.timeout // timedelta(microseconds=1)
    clock = Clock(
        micros(recorded.start),
        micros(recorded.end),
        recorded.period // timedelta(microseconds=1),
        recorded.empty // timedelta(microseconds=1),
    )
    replay = MonitorReplay(Monitor(0, monitor.max_queue_readers, timeout, monitor.on), clock)
    # In pieces, as batches come; the last one is empty.
    times, *others = np.array(recorded.feed, np.int64).reshape(-1, 3).T
    columns = np.array([times << BITS, *others])
    results = []
    for begin in range(0, len(recorded.feed), 3):
        results += replay.play_batch(columns[:, begin : begin + 3], is_last=False)
    results += replay.play_batch(columns[:, :0], is_last=True)
    named = [
        dict(zip(part, run, strict=True)) for part in results for run in zip(*part.values(), strict=True)
    ]
    return [
        {
            **dict(zip(QUEUE, monitor.queue, strict=True)),
            **{name: run[name] for name in ("checks", "ready_messages", "running_tasks")},
            **{name: EPOCH + timedelta(microseconds=run[name]) for name in ("first_check", "last_check")},
            **{name: run[name] for name in ("ordinal", "trigger", "reason", "occurs", "suppressed_by")},
            "mode": "internal" if timeout is None else "external",
        }
        for run in named
        if run["ordinal"]
    ]


@settings(max_examples=40)
@given(log=monitored_logs(), timing=st.sampled_from(TIMINGS))
def test_the_state_machine_finds_what_checking_one_by_one_finds(log: Log, timing: Timing) -> None:
    Recorded.all.clear()
    with patch.object(model, "_Replay", Recorded):
        expected = model.activation(log.events, catalog=log.catalog, as_of=AS_OF, **timing.settings)
    found = [row for recorded in Recorded.all for row in replayed(recorded)]
    assert difference(found, expected) == []


def test_runs_of_checks_and_totals(draw: Draw) -> None:
    """An internal monitor of one reader, an external one with a timeout of 7 seconds, and a quiet one.

    A unit of time is a second.
    """
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

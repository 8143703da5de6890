"""The state machine alone against the model that plays every check, on many random logs."""

from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings, strategies as st

from pipelines.activation import timeline as codes
from pipelines.activation.checks import CHECKS, OCCURS, REASONS, SUPPRESSED_BY, TRIGGERS, Clock
from pipelines.activation.monitor import Monitor, MonitorReplay
from pipelines.activation.states import QueueEvents
from schemas.keys import QUEUE
from tests.support.harness import difference
from tests.support.model import activation as model
from tests.support.strategies import Log
from tests.support.strategies.monitored import AS_OF, TIMINGS, Timing, monitored_logs

Row = dict[str, Any]
Feed = list[tuple[int, int, int]]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
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
    # In pieces, as batches come.
    columns = np.array(recorded.feed, np.int64).reshape(-1, 3).T
    pieces = [QueueEvents(*columns[:, begin : begin + 3]) for begin in range(0, len(recorded.feed), 3)]
    runs = [run for piece in pieces for run in replay.play(piece).tolist()]
    last, _ = replay.finish()
    named = [dict(zip(CHECKS.names or (), run, strict=True)) for run in [*runs, *last.tolist()]]
    return [
        {
            **dict(zip(QUEUE, monitor.queue, strict=True)),
            **{name: run[name] for name in ("checks", "ready_messages", "running_tasks")},
            **{name: EPOCH + timedelta(microseconds=run[name]) for name in ("first_check", "last_check")},
            "ordinal": ordinal,
            "trigger": TRIGGERS[run["trigger"]],
            "reason": REASONS[run["reason"]],
            "mode": "internal" if timeout is None else "external",
            "occurs": run["suppressed_by"] == OCCURS,
            "suppressed_by": SUPPRESSED_BY[run["suppressed_by"]],
        }
        for ordinal, run in enumerate(named, start=1)
    ]


@settings(max_examples=40)
@given(log=monitored_logs(), timing=st.sampled_from(TIMINGS))
def test_the_state_machine_finds_what_checking_one_by_one_finds(log: Log, timing: Timing) -> None:
    Recorded.all.clear()
    with patch.object(model, "_Replay", Recorded):
        expected = model.activation(log.events, catalog=log.catalog, as_of=AS_OF, **timing.settings)
    found = [row for recorded in Recorded.all for row in replayed(recorded)]
    assert difference(found, expected) == []

"""The queue events that no message causes: tasks that come and go, waits that end empty, ALTER QUEUE."""

import numpy as np
import pyarrow as pa

from dev.generator.columns import flags, id_texts, moments, numbers
from dev.generator.events import TypedEvents, events
from dev.generator.frame import NEVER, Array, Frame
from dev.generator.plan import Plan
from dev.generator.world import MINUTE, SECOND

STATUS = (None,) * 7 + ("OFF", "ON", None)
"""The status of the queue after each step."""


def reader_events(plan: Plan) -> Frame:
    """Log the readers of the queues.

    A task starts, works, waits in RECEIVE for a minute at last, gets nothing and exits; the next one starts
    when its time comes.

    Returns:
        See `events.events`; `attempt` is the step of what a task does, and `c` the conversation that
        begins about then, which decides the part of the log.
    """
    frame, start, draws = _tasks(plan), plan.volume.start_us, plan.volume.draws
    span = plan.volume.cut_us - start
    by_type: list[TypedEvents] = []
    for event_type, at in _steps(frame, plan):
        moment = at + frame["skew"]
        by_type.append(TypedEvents(event_type, np.where(moment < start, NEVER, moment), attempt=len(by_type)))

    def event_id(rows: Frame, typed: TypedEvents) -> Array:
        step = np.array([typed.attempt], dtype=np.int32)
        return draws.id("reader event", rows["ordinal"], rows["turn"], rows["task"], step)

    logged = events(frame, by_type, plan=plan, event_id=event_id)
    logged["c"] = ((logged["at"] - start) / span * plan.drawn).astype(np.int64)
    return logged


def reader_columns(frame: Frame, *, plan: Plan) -> dict[str, pa.Array]:
    """The columns of the contract for events of `reader_events`."""
    names, kind, step = plan.world.names, frame["event_type"], frame["attempt"]
    received, altered = kind == names.code("RECEIVE"), kind == names.code("QUEUE_ALTERED")
    nothing = pa.nulls(len(frame), pa.string())
    status = names.codes(STATUS)
    return {
        "event_id": id_texts(frame["event_id"]),
        "event_time": moments(frame["at"]),
        "instance": names.column(frame["instance"]),
        "database": names.column(frame["database"]),
        "queue": names.column(frame["queue"]),
        "event_type": names.column(kind),
        "session_id": numbers(np.where(altered, NEVER, frame["session"] + frame["task"])),
        "transaction_id": nothing,
        "conversation_group_id": nothing,
        "has_where": flags(np.zeros_like(received), where=received | (kind == names.code("WAIT_STARTED"))),
        "row_count": numbers(np.where(received, 0, NEVER)),
        "queue_status": names.column(status[step]),
    }


def _tasks(plan: Plan) -> Frame:
    """One row per task that reads a queue, and one for each period of a queue that no task reads."""
    readers = plan.world.reader_table
    periods = (plan.volume.cut_us - plan.volume.start_us) // readers["period"] + 1
    tasks = np.maximum(readers["tasks"], 1)
    count = periods * tasks
    of = np.repeat(np.arange(len(count)), count)
    position = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
    return readers.children(of, turn=position // tasks[of], task=position % tasks[of])


def _steps(frame: Frame, plan: Plan) -> list[tuple[str, Array]]:
    """The events of a task, and once per queue the events of the queue."""
    turn, task, tasks, busy_from = frame["turn"], frame["task"], frame["tasks"], frame["busy_from"]
    start = plan.volume.start_us + turn * frame["period"] + task * 17 * SECOND + 1
    end = start + frame["period"] - 3 * MINUTE
    starts, exits = ((tasks > 0) & (moment < busy_from) for moment in (start, end))
    once = (turn == 0) & (task == 0)
    last = (turn == 0) & (task == np.maximum(tasks, 1) - 1)

    def where(condition: Array, at: Array) -> Array:
        return np.where(condition, at, NEVER)

    return [
        ("TASK_STARTED", where(starts, start)),
        ("WAIT_STARTED", where(exits, end - MINUTE)),
        ("WAIT_ENDED", where(exits, end)),
        ("RECEIVE", where(exits, end + 500)),
        ("TASK_EXITED", where(exits, end + 20_000)),
        ("RECEIVE", where(last, frame["waits_from"])),
        ("WAIT_STARTED", where(last, frame["waits_from"] + 2_000)),
        ("QUEUE_ALTERED", where(once, frame["off_from"])),
        ("QUEUE_ALTERED", where(once, frame["off_until"])),
        ("QUEUE_ALTERED", where(once, frame["altered_at"])),
    ]

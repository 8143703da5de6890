"""The events of the queues in the period, as rows in the order in which they are played.

At one instant the event code decides: the state at the start of the period comes first. Then arrivals
precede ends of endpoints, which precede messages that a RECEIVE with WHERE receives, moves, status changes
and numbers of readers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.frames import union_all
from pipelines.queue_machine.workers import arrival_payload, endpoint_text, event_rows, row_position
from pipelines.replay.request import Period
from pipelines.state.endpoints import SIDE
from pipelines.state.ledger import Ledger
from schemas.events import MOVE as MOVE_TYPE
from schemas.keys import QUEUE

START = 0
"""The queue, with its status at the start of the period."""
LOCK = 1
"""A group that is locked until the outcome of a transaction of the log."""
HOLD = 2
"""A transaction of the log that keeps a reader busy."""
ARRIVAL = 3
"""A message becomes ready."""
END = 4
"""An endpoint ends."""
FILTERED_RECEIPT = 5
"""A RECEIVE with WHERE receives a message."""
MOVE = 6
"""A conversation moves to another group."""
STATUS = 7
"""The queue is turned on or off."""
READERS = 8
"""The number of readers from now on."""

PAYLOAD = {
    "message_id": "string",
    "endpoint": "string",
    "group_id": "string",
    "arrived": "bigint",
    "queuing_order": "bigint",
    "level": "int",
    "proposed": "int",
    "rank": "int",
    "sequence": "bigint",
    "number": "bigint",
    "estimated": "boolean",
}
"""The columns of events; each kind has some of them. `number` is the work on a message in microseconds, a
moment in microseconds (of LOCK and HOLD; null without an end), a number of readers, or 1 for on and 0 for
off."""

ORDER = ("position", "tie")
PLAYED = ("machine", "position", *(name for name in PAYLOAD if name != "proposed"))
"""The number of a machine, and the columns that it plays."""
COLUMNS = (*PLAYED, "tie")


@dataclass(frozen=True)
class Inputs:
    """The inputs of a replay; only `messages` has levels.

    Attributes:
        messages: `messages.with_service`, with the levels `level` and `proposed`.
        first_received: `first_receipts`.
        filtered_receipts: `transactions.first_filtered_receipts`.
        ledger: its endpoint events have the moves, its queue events turn queues on and off.
        locks: `OpenTransactions.locks`.
        holds: `OpenTransactions.holds`.
        readers: `readers.logged_readers`.
        off: `queues_off` at the start of the period.
    """

    messages: DataFrame
    first_received: DataFrame
    filtered_receipts: DataFrame
    ledger: Ledger
    locks: DataFrame
    holds: DataFrame
    readers: DataFrame
    off: DataFrame


def timeline(inputs: Inputs, numbered: DataFrame, period: Period, by_proposal: Sequence[bool]) -> DataFrame:
    """The events of the queues, once for each machine that plays them.

    Args:
        inputs: the inputs of the replay.
        numbered: (instance, database, queue, queue_number) of the queues that are played, unique.
        period: the period.
        by_proposal: for each of a queue's machines whether it uses the proposed levels. The machines of a
            queue have the numbers queue_number * len(by_proposal) and so on, in this order.

    Returns:
        `COLUMNS`; the order of a machine's rows is `ORDER`.
    """
    queues = F.broadcast(numbered)

    def of_queues(rows: DataFrame) -> DataFrame:
        return queues.join(rows, QUEUE)

    start = F.lit(period.start)
    messages = inputs.messages
    within = (F.col("event_time") >= start) & (F.col("event_time") < F.lit(period.end))
    receivers = messages.select(*SIDE, *QUEUE, "created_at").distinct()
    moves = (
        inputs.ledger.endpoint_events.where(within & (F.col("event_type") == MOVE_TYPE))
        .select(*SIDE, "event_time", "event_id", "conversation_group_id")
        .join(receivers, SIDE)
        .where("event_time >= created_at")
    )
    ends = messages.where(F.col("ended_at") < F.lit(period.end)).select(*SIDE, *QUEUE, "ended_at").distinct()
    altered = inputs.ledger.queue_events.where(
        within & (F.col("event_type") == "QUEUE_ALTERED") & F.col("queue_status").isNotNull()
    )
    is_on = F.col("is_off").isNull()
    at_start = queues.join(F.broadcast(inputs.off.withColumn("is_off", F.lit(True))), QUEUE, "left")
    filtered = messages.join(inputs.filtered_receipts, "message_id")
    until = F.unix_micros("until")
    parts = [
        _rows(at_start, start, START, number=is_on.cast("bigint")),
        _rows(of_queues(inputs.locks), start, LOCK, group_id="conversation_group_id", number=until),
        _rows(of_queues(inputs.holds), start, HOLD, number=until),
        event_rows(
            of_queues(messages),
            row_position(F.unix_micros("ready_at"), ARRIVAL),
            {
                **arrival_payload(),
                "endpoint": endpoint_text(),
                "group_id": "conversation_group_id",
                "level": "level",
                "proposed": "proposed",
                "number": "service",
                "estimated": "estimated",
            },
            PAYLOAD,
        ),
        _rows(of_queues(ends), F.col("ended_at"), END, endpoint=endpoint_text()),
        _rows(
            of_queues(filtered),
            F.col("left_at"),
            FILTERED_RECEIPT,
            message_id="message_id",
            endpoint=endpoint_text(),
        ),
        _rows(
            of_queues(moves),
            F.col("event_time"),
            MOVE,
            tie="event_id",
            endpoint=endpoint_text(),
            group_id="conversation_group_id",
        ),
        _rows(
            of_queues(altered),
            F.col("event_time"),
            STATUS,
            tie="event_id",
            number=(F.upper("queue_status") != "OFF").cast("bigint"),
        ),
        _rows(of_queues(inputs.readers), F.col("moment"), READERS, number="readers"),
    ]
    return _for_machines(union_all(parts), by_proposal)


def _rows(
    rows: DataFrame, time: Column, kind: int, *, tie: str | None = None, **payload: Column | str
) -> DataFrame:
    return event_rows(rows, row_position(F.unix_micros(time), kind), payload, PAYLOAD, tie=tie)


def _for_machines(rows: DataFrame, by_proposal: Sequence[bool]) -> DataFrame:
    """Each row once for each machine, with the level that the machine uses."""
    count = len(by_proposal)
    repeated = rows.withColumn("variant", F.explode(F.array(*[F.lit(number) for number in range(count)])))
    proposed = F.col("variant").isin(
        *[number for number, is_proposed in enumerate(by_proposal) if is_proposed]
    )
    level = (
        F.when(proposed, F.col("proposed")).otherwise(F.col("level")) if any(by_proposal) else F.col("level")
    )
    machine = (F.col("queue_number") * F.lit(count) + F.col("variant")).cast("int")
    return repeated.withColumns({"machine": machine, "level": level}).select(*COLUMNS)

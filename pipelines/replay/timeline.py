"""Everything that happens on the queues in the period, as rows in the order in which it is played."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.union import union_all
from pipelines.replay import event_codes as h
from pipelines.replay.period import Period
from pipelines.schedules.ready import system_first
from pipelines.state.endpoints import SIDE
from pipelines.state.timeline_rows import rows_of_kind, side_text
from schemas.events import MOVE
from schemas.keys import QUEUE

PAYLOAD = {
    "message_id": "string",
    "side": "string",
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
"""What a happening carries, each kind some of it. `number` is the work on a message in microseconds, a
moment in microseconds (of LOCK and HOLD, null for ever), a number of readers, or 1 for on and 0 for off."""

ORDER = ("place", "tie")
COLUMNS = ("machine", *ORDER, *(name for name in PAYLOAD if name != "proposed"))


@dataclass(frozen=True)
class Inputs:
    """What a replay starts from; no levels but those of `messages`.

    Attributes:
        messages: `services.with_service`, with the levels `level` and `proposed`.
        leaves: `leaves.leaves`.
        endpoint_events: endpoint events that may matter, for moves.
        queue_events: queue events that may matter, for on and off.
        locks: `transactions.Open.locks`.
        holds: `transactions.Open.holds`.
        readers: `readers.logged_readers`; null where the number is given.
        off: `queues_off` as the period begins.
    """

    messages: DataFrame
    leaves: DataFrame
    endpoint_events: DataFrame
    queue_events: DataFrame
    locks: DataFrame
    holds: DataFrame
    readers: DataFrame
    off: DataFrame


def timeline(inputs: Inputs, numbered: DataFrame, period: Period, by_proposal: Sequence[bool]) -> DataFrame:
    """What happens on the queues, once for each machine that plays it.

    Args:
        inputs: what a replay starts from.
        numbered: (instance, database, queue, queue_number) of the queues that are played, unique.
        period: what is played.
        by_proposal: for each of a queue's machines whether it goes by the proposed levels. The machines of
            a queue have the numbers queue_number * len(by_proposal) and so on, in this order.

    Returns:
        `COLUMNS`; the order of a machine's rows is `ORDER`.
    """
    few = F.broadcast(numbered)

    def of_queues(rows: DataFrame) -> DataFrame:
        return few.join(rows, QUEUE)

    start = F.lit(period.start)
    messages = inputs.messages
    within = (F.col("event_time") >= start) & (F.col("event_time") < F.lit(period.end))
    receivers = messages.select(*SIDE, *QUEUE, "created_at").distinct()
    moves = (
        inputs.endpoint_events.where(within & (F.col("event_type") == MOVE))
        .select(*SIDE, "event_time", "event_id", "conversation_group_id")
        .join(receivers, SIDE)
        .where("event_time >= created_at")
    )
    ends = messages.where(F.col("ended_at") < F.lit(period.end)).select(*SIDE, *QUEUE, "ended_at").distinct()
    altered = inputs.queue_events.where(
        within & (F.col("event_type") == "QUEUE_ALTERED") & F.col("queue_status").isNotNull()
    )
    is_on = F.col("is_off").isNull()
    began = few.join(F.broadcast(inputs.off.withColumn("is_off", F.lit(True))), QUEUE, "left")
    left = messages.join(inputs.leaves, "message_id")
    until = F.unix_micros("until")
    parts = [
        _rows(began, start, h.START, number=is_on.cast("bigint")),
        _rows(of_queues(inputs.locks), start, h.LOCK, group_id="conversation_group_id", number=until),
        _rows(of_queues(inputs.holds), start, h.HOLD, number=until),
        _rows(
            of_queues(messages),
            F.col("ready_at"),
            h.ARRIVAL,
            message_id="message_id",
            side=side_text(),
            group_id="conversation_group_id",
            arrived=F.unix_micros("arrived_at"),
            queuing_order="queuing_order",
            level="level",
            proposed="proposed",
            rank=system_first(),
            sequence="message_sequence_number",
            number="service",
            estimated="estimated",
        ),
        _rows(
            of_queues(ends),
            F.col("ended_at"),
            h.END,
            side=side_text(),
        ),
        _rows(
            of_queues(left),
            F.col("left_at"),
            h.LEAVE,
            message_id="message_id",
            side=side_text(),
        ),
        _rows(
            of_queues(moves),
            F.col("event_time"),
            h.MOVE,
            tie="event_id",
            side=side_text(),
            group_id="conversation_group_id",
        ),
        _rows(
            of_queues(altered),
            F.col("event_time"),
            h.STATUS,
            tie="event_id",
            number=(F.upper("queue_status") != "OFF").cast("bigint"),
        ),
        _rows(of_queues(inputs.readers), F.col("moment"), h.READERS, number="readers"),
    ]
    return _for_machines(union_all(parts), by_proposal)


def _rows(
    rows: DataFrame, time: Column, kind: int, *, tie: str | None = None, **payload: Column | str
) -> DataFrame:
    return rows_of_kind(rows, time, kind, payload, PAYLOAD, tie=tie)


def _for_machines(rows: DataFrame, by_proposal: Sequence[bool]) -> DataFrame:
    """Each row once a machine, with the level that it goes by."""
    count = len(by_proposal)
    each = rows.withColumn("variant", F.explode(F.array(*[F.lit(number) for number in range(count)])))
    proposed = F.col("variant").isin(*[number for number, does in enumerate(by_proposal) if does])
    level = (
        F.when(proposed, F.col("proposed")).otherwise(F.col("level")) if any(by_proposal) else F.col("level")
    )
    machine = (F.col("queue_number") * F.lit(count) + F.col("variant")).cast("int")
    return each.withColumns({"machine": machine, "level": level}).select(*COLUMNS)

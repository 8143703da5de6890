"""The periods in which messages were ready.

A period begins with the arrival of a message, or with a ROLLBACK that returns it, and ends when the message
is received or its endpoint ends; see docs/semantics.md#activation. Most messages have one. Columns of a frame
of periods: queue_number, conversation_id and is_initiator of the receiving endpoint; `ready_from` and
`ready_until` in microseconds: the first is null if the message never was ready (such a row exists for
`not_ready` only), the second if it still is; `redelivered_by`, the event_id of the ROLLBACK, null after an
arrival; `not_ready`, the number of its RECEIVED events in the window that did not find it ready, in one row
of the message.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.activation import timeline as codes
from pipelines.engine.ordered import sort_within_keys
from pipelines.engine.python_workers import Work, run_in_python
from pipelines.queue_machine.workers import BITS, KIND, arrow_schema, row_position
from pipelines.state.endpoints import SIDE

if TYPE_CHECKING:
    import pyarrow as pa

PERIODS = (
    "queue_number int, conversation_id string, is_initiator boolean, ready_from bigint, ready_until bigint, "
    "redelivered_by string, not_ready bigint"
)
OF_MESSAGE = ["message_id", "queue_number", *SIDE]
OUTPUT_ROWS = 4096


def received_once(messages: DataFrame, *, start: int) -> DataFrame:
    """The periods of messages that no ROLLBACK returned: the first RECEIVED, or the endpoint's end, ends it.

    Args:
        messages: `monitored_messages`.
        start: start of the window, in microseconds.

    Returns:
        One row per such message; see the top of this module.
    """
    ended, received = F.col("ended"), F.col("received")
    arrives = ended.isNull() | (F.col("arrived") <= ended)
    takes = arrives & received.isNotNull() & (ended.isNull() | (received <= ended))
    takes_in_window = (takes & (received >= start)).cast("bigint")
    return messages.where("not may_return").select(
        "queue_number",
        *SIDE,
        F.when(arrives, F.col("arrived")).alias("ready_from"),
        F.when(arrives, F.when(takes, received).otherwise(ended)).alias("ready_until"),
        F.lit(None).cast("string").alias("redelivered_by"),
        (F.col("receives") - F.coalesce(takes_in_window, F.lit(0))).alias("not_ready"),
    )


def redelivered(
    messages: DataFrame,
    message_events: DataFrame,
    queue_events: DataFrame,
    rolled_back: DataFrame,
    *,
    start: int,
) -> DataFrame:
    """The periods of the few messages that a ROLLBACK can have returned, played event by event.

    Args:
        messages: `monitored_messages`.
        message_events: the message events before as_of.
        queue_events: the queue events before as_of of monitored queues, with `queue_number`.
        rolled_back: `rolled_back_transactions`.
        start: start of the window, in microseconds.

    Returns:
        One row per period; see the top of this module.
    """
    few = messages.where("may_return")
    alone = F.lit(None).cast("string")
    arrivals = few.select(
        *OF_MESSAGE, _position("arrived", codes.ARRIVALS), F.lit("").alias("event_id"), alone.alias("t")
    )
    ends = few.where("ended is not null").select(
        *OF_MESSAGE, _position("ended", codes.ENDS), F.lit("").alias("event_id"), alone.alias("t")
    )
    received = message_events.where("event_type = 'RECEIVED'").select(
        "message_id", F.unix_micros("event_time").alias("time"), "event_id", "instance", "transaction_id"
    )
    holders = rolled_back.select("instance", "transaction_id", F.col("transaction_id").alias("t"))
    receives = (
        F.broadcast(few.select(*OF_MESSAGE, "queue_instance"))
        .join(received, "message_id", "inner")
        # A transaction of another instance cannot return a message to this queue.
        .withColumn("instance", F.when(F.col("instance") == F.col("queue_instance"), F.col("instance")))
        .join(F.broadcast(holders), ["instance", "transaction_id"], "left")
        .select(*OF_MESSAGE, _position("time", codes.RECEIVES), "event_id", "t")
    )
    rollbacks = queue_events.where("event_type = 'ROLLBACK'").select(
        "queue_number",
        F.col("transaction_id").alias("t"),
        F.unix_micros("event_time").alias("time"),
        "event_id",
    )
    backs = (
        receives.where("t is not null")
        .select(*OF_MESSAGE, "t")
        .distinct()
        .join(rollbacks, ["queue_number", "t"], "inner")
        .select(*OF_MESSAGE, _position("time", codes.QUEUE_EVENTS), "event_id", "t")
    )
    played = arrivals.unionByName(receives).unionByName(ends).unionByName(backs)
    return run_in_python(
        sort_within_keys(played, "message_id", ["position", "event_id"]), _play(start), PERIODS
    )


def _position(time: str, rank: int) -> Column:
    return row_position(F.col(time), rank).alias("position")


class Event(NamedTuple):
    """An event of a message; `t` is the transaction."""

    message_id: str
    queue_number: int
    conversation_id: str
    is_initiator: bool
    position: int
    event_id: str
    t: str | None


class Period(NamedTuple):
    """A row of the frame of periods."""

    queue_number: int
    conversation_id: str
    is_initiator: bool
    ready_from: int | None
    ready_until: int | None
    redelivered_by: str | None
    not_ready: int


@dataclass(slots=True)
class Message:
    """One message, played in order.

    Attributes:
        ready_from: the begin of the current period, null if it is not ready.
        redelivered_by: the ROLLBACK that made it ready.
        holder: the transaction that received it and can return it.
        not_ready: RECEIVED events of the window that did not find it ready.
    """

    ready_from: int | None = None
    redelivered_by: str | None = None
    holder: str | None = None
    has_ended: bool = False
    not_ready: int = 0

    def play(self, event: Event, start: int) -> Period | None:
        """Play the next event; return the period that it ends, if any."""
        time, rank = event.position >> BITS, event.position & KIND
        if rank == codes.ARRIVALS and not self.has_ended:
            self.ready_from = time
        elif rank == codes.QUEUE_EVENTS and self.holder is not None and self.holder == event.t:
            self.ready_from, self.redelivered_by, self.holder = time, event.event_id, None
        elif rank in (codes.RECEIVES, codes.ENDS):
            period = self.period_until(event, time)
            if rank == codes.RECEIVES and period is None:
                self.not_ready += time >= start
                return None
            self.ready_from, self.has_ended = None, rank == codes.ENDS or self.has_ended
            # After the end of the endpoint no transaction holds the message, so none returns it.
            self.holder = None if rank == codes.ENDS else event.t
            return period
        return None

    def period_until(self, event: Event, until: int | None) -> Period | None:
        """The current period, if the message is ready; `event` is any event of the message."""
        if self.ready_from is None:
            return None
        return Period(*event[1:4], self.ready_from, until, self.redelivered_by, not_ready=0)


def _play(start: int) -> Work:
    def play(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        import pyarrow as pa

        schema = arrow_schema(dict(field.split() for field in PERIODS.split(", ")))
        periods = periods_of((event for batch in batches for event in _events(batch)), start)
        while some := list(islice(periods, OUTPUT_ROWS)):
            yield pa.RecordBatch.from_pydict(
                dict(zip(schema.names, zip(*some, strict=True), strict=True)), schema
            )

    return play


def _events(batch: "pa.RecordBatch") -> Iterator[Event]:
    columns = (batch.column(name).to_pylist() for name in Event._fields)
    return map(Event._make, zip(*columns, strict=True))


def periods_of(events: Iterable[Event], start: int) -> Iterator[Period]:
    """Play messages, each after the other.

    Args:
        events: in the order of message_id, position and event_id.
        start: start of the window, in microseconds.

    Raises:
        RuntimeError: the events are not in order.
    """
    before: Event | None = None
    message = Message()
    for event in events:
        if before and event.message_id != before.message_id:
            yield from _last_periods(before, message)
            message = Message()
        if before and _order(event) < _order(before):
            raise RuntimeError("the engine did not keep the order of the events of messages")
        period = message.play(event, start)
        if period:
            yield period
        before = event
    if before:
        yield from _last_periods(before, message)


def _order(event: Event) -> tuple[str, int, str]:
    return event.message_id, event.position, event.event_id


def _last_periods(event: Event, message: Message) -> Iterator[Period]:
    last = message.period_until(event, None)
    if last:
        yield last
    if message.not_ready:
        yield Period(*event[1:4], None, None, None, message.not_ready)

"""For how long each message was ready.

A spell is a time in which a message was ready: from its arrival, or from a ROLLBACK that gave it back, until
a RECEIVED took it or its endpoint ended. Most messages have one. Columns of a frame of spells:
queue_number, conversation_id and is_initiator of the receiving endpoint; `ready_from` and `ready_until` in
microseconds, the one null if it never was ready (such a row is only there for what follows), the other if it
still is; `given_back_by`, the event_id of the ROLLBACK, null after an arrival; `not_ready`, its RECEIVED
events in the window that did not find it ready, said once per message.

Source: the design, "Activation".
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.activation import event_codes as codes
from pipelines.engine.ordered import sort_within_keys
from pipelines.engine.python_workers import Work, run_in_python
from pipelines.state.endpoints import SIDE

if TYPE_CHECKING:
    import pyarrow as pa

SPELLS = (
    "queue_number int, conversation_id string, is_initiator boolean, ready_from bigint, ready_until bigint, "
    "given_back_by string, not_ready bigint"
)
OF_MESSAGE = ["message_id", "queue_number", *SIDE]
OUTPUT_ROWS = 4096


def received_once(messages: DataFrame, *, start: int) -> DataFrame:
    """The spells of messages that no ROLLBACK gave back: the first RECEIVED takes it, or the end.

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
        F.lit(None).cast("string").alias("given_back_by"),
        (F.col("receives") - F.coalesce(takes_in_window, F.lit(0))).alias("not_ready"),
    )


def redelivered(
    messages: DataFrame,
    message_events: DataFrame,
    queue_events: DataFrame,
    returning: DataFrame,
    *,
    start: int,
) -> DataFrame:
    """The spells of the few messages that a ROLLBACK may have given back, played one event after the other.

    Args:
        messages: `monitored_messages`.
        message_events: the message events before as_of.
        queue_events: the queue events before as_of of monitored queues, with `queue_number`.
        returning: `rolled_back_transactions`.
        start: start of the window, in microseconds.

    Returns:
        One row per spell, and per such message; see the top of this module.
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
    holders = returning.select("instance", "transaction_id", F.col("transaction_id").alias("t"))
    receives = (
        F.broadcast(few.select(*OF_MESSAGE, "queue_instance"))
        .join(received, "message_id", "inner")
        # A transaction of another instance gives nothing back here.
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
        sort_within_keys(played, "message_id", ["position", "event_id"]), _spells(start), SPELLS
    )


def _position(time: str, rank: int) -> Column:
    return codes.row_position(F.col(time), rank).alias("position")


class Event(NamedTuple):
    """What happens to a message; `t` is the transaction."""

    message_id: str
    queue_number: int
    conversation_id: str
    is_initiator: bool
    position: int
    event_id: str
    t: str | None


class Period(NamedTuple):
    """A row of the frame of spells."""

    queue_number: int
    conversation_id: str
    is_initiator: bool
    ready_from: int | None
    ready_until: int | None
    given_back_by: str | None
    not_ready: int


@dataclass(slots=True)
class Message:
    """One message, played in order.

    Attributes:
        ready_from: since when it is ready, null if it is not.
        given_back_by: the ROLLBACK that made it ready.
        holder: the transaction that took it and may give it back.
        not_ready: RECEIVED events of the window that did not find it ready.
    """

    ready_from: int | None = None
    given_back_by: str | None = None
    holder: str | None = None
    has_ended: bool = False
    not_ready: int = 0

    def play(self, event: Event, start: int) -> Period | None:
        """Play what happens next; return the spell that this ends, if it ends one."""
        time, rank = divmod(event.position, codes.KINDS_AT_AN_INSTANT)
        if rank == codes.ARRIVALS and not self.has_ended:
            self.ready_from = time
        elif rank == codes.QUEUE_EVENTS and self.holder is not None and self.holder == event.t:
            self.ready_from, self.given_back_by, self.holder = time, event.event_id, None
        elif rank in (codes.RECEIVES, codes.ENDS):
            spell = self.spell(event, time)
            if rank == codes.RECEIVES and spell is None:
                self.not_ready += time >= start
                return None
            self.ready_from, self.has_ended = None, rank == codes.ENDS or self.has_ended
            # After an end nothing holds the message, so nothing gives it back.
            self.holder = None if rank == codes.ENDS else event.t
            return spell
        return None

    def spell(self, event: Event, until: int | None) -> Period | None:
        """The spell that it is in, if it is in one; `event` is any of its own."""
        if self.ready_from is None:
            return None
        return Period(*event[1:4], self.ready_from, until, self.given_back_by, not_ready=0)


def _spells(start: int) -> Work:
    def play(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        import pyarrow as pa

        schema = pa.schema(
            [
                ("queue_number", pa.int32()),
                ("conversation_id", pa.string()),
                ("is_initiator", pa.bool_()),
                ("ready_from", pa.int64()),
                ("ready_until", pa.int64()),
                ("given_back_by", pa.string()),
                ("not_ready", pa.int64()),
            ]
        )
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
            yield from _last_spells(before, message)
            message = Message()
        if before and _order(event) < _order(before):
            raise RuntimeError("the engine did not keep the order of the events of messages")
        spell = message.play(event, start)
        if spell:
            yield spell
        before = event
    if before:
        yield from _last_spells(before, message)


def _order(event: Event) -> tuple[str, int, str]:
    return event.message_id, event.position, event.event_id


def _last_spells(event: Event, message: Message) -> Iterator[Period]:
    last = message.spell(event, None)
    if last:
        yield last
    if message.not_ready:
        yield Period(*event[1:4], None, None, None, message.not_ready)

"""The backlog of an as_of, and its orders."""

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame

from pipelines.config.model import Blocks
from pipelines.engine.materialize import Materialize
from pipelines.schedules.blocks import in_blocks, without_blocks
from pipelines.schedules.groups import ordered_groups, ready_conversations, ready_groups
from pipelines.schedules.messages import ON_THEIR_WAY, needed_endpoints, with_receiver, with_sender
from pipelines.schedules.numbering import are_many
from pipelines.schedules.ready import groups_locked, queues_off, received_messages
from pipelines.schedules.receive import receive_schedule
from pipelines.schedules.transmission import sendable, transmission_order, with_transmit_priority
from pipelines.settings.load import Settings
from pipelines.state.endpoints import SIDE, endpoints_at
from pipelines.state.ledger import Ledger
from pipelines.state.messages import SHOWN
from pipelines.state.open_messages import StateOfMessages, state_of_messages
from pipelines.state.transactions import named_locks
from schemas.keys import QUEUE


@dataclass(frozen=True)
class Catalog:
    """The frames of the catalog that schedules need.

    Attributes:
        bindings: (instance, database, service, queue), unique by the first three.
        honoring: (instance, database, honors), unique by the first two; null is not known.
        queues: (instance, database, queue, is_on).
    """

    bindings: DataFrame
    honoring: DataFrame
    queues: DataFrame


@dataclass(frozen=True)
class Backlog:
    """The messages that wait at an as_of; only `endpoints` has levels.

    Attributes:
        messages: `state.open_messages`.
        endpoints: `endpoints_at` of the endpoints of these messages, with `priority`, materialized.
        forwarding: `state.forwarding`.
        locks: `named_locks`.
        off: `queues_off`.
    """

    messages: DataFrame
    endpoints: DataFrame
    forwarding: DataFrame
    locks: DataFrame
    off: DataFrame


@dataclass(frozen=True)
class Orders:
    """The orders of a backlog.

    Attributes:
        groups: `ordered_groups`.
        received: `receive_schedule`.
        sent: the `transmission_schedule` table without `as_of`.
    """

    groups: DataFrame
    received: DataFrame
    sent: DataFrame


def backlog(
    ledger: Ledger,
    catalog: Catalog,
    *,
    as_of: datetime,
    known: StateOfMessages | None,
    materialize: Materialize,
) -> Backlog:
    """Find the messages that wait at as_of, and what holds them back.

    Args:
        ledger: the rows that can matter at as_of, with events of any time.
        catalog: where services are.
        as_of: the instant.
        known: the state of messages at as_of, if it was found before.
        materialize: computes a frame once.
    """
    state = known or state_of_messages(ledger, as_of=as_of, materialize=materialize)
    so_far = ledger.before(as_of)
    return Backlog(
        messages=state.messages,
        endpoints=materialize(
            endpoints_at(
                ledger.endpoints.join(needed_endpoints(state.messages), SIDE, "left_semi"),
                so_far.endpoint_events,
                catalog.bindings,
                as_of=as_of,
            )
        ),
        forwarding=state.forwarding,
        locks=named_locks(so_far.queue_events, state.uncommitted),
        off=materialize(queues_off(catalog.queues, so_far.queue_events)),
    )


def queued(waiting: Backlog) -> DataFrame:
    """The messages of a backlog in queues: `received_messages`."""
    in_flight = with_receiver(waiting.messages.where("in_flight"), waiting.endpoints)
    in_queues = with_receiver(waiting.messages.where("in_queue"), waiting.endpoints)
    return received_messages(in_queues, waiting.off, groups_locked(waiting.locks, in_flight))


def on_their_way(waiting: Backlog) -> DataFrame:
    """The messages of a backlog that wait to be sent, or are being forwarded, between their endpoints."""
    messages = waiting.messages.where(ON_THEIR_WAY)
    return with_sender(with_receiver(messages, waiting.endpoints), waiting.endpoints)


def orders(
    received: DataFrame,
    sent: DataFrame,
    waiting: Backlog,
    catalog: Catalog,
    *,
    as_of: datetime,
    settings: Settings,
    materialize: Materialize,
) -> Orders:
    """Order a backlog.

    Args:
        received: `queued` of the backlog, materialized.
        sent: `on_their_way` of it, materialized.
        waiting: the backlog.
        catalog: where services are.
        as_of: the instant.
        settings: TOP of a RECEIVE, starvation prevention, and blocks.
        materialize: computes a frame once.
    """
    ready = received.where("queue is not null").drop("receiver_exists", "unknown_handle", *SHOWN)
    groups, in_order = receive_order(ready, top=settings.receive.top, materialize=materialize)
    transmission = settings.transmission
    to_send = sendable(sent, waiting.forwarding, catalog.bindings, waiting.off)
    with_levels = with_transmit_priority(
        to_send, catalog.honoring, as_of=as_of, starvation=transmission.starvation
    )
    return Orders(
        groups, in_order, send_order(with_levels, blocks=transmission.blocks, materialize=materialize)
    )


def receive_order(
    ready: DataFrame, *, top: int | None, materialize: Materialize
) -> tuple[DataFrame, DataFrame]:
    """Order ready messages by RECEIVE: `ordered_groups`, materialized, and `receive_schedule`.

    Args:
        ready: ready messages, `with_arrival_order`, materialized.
        top: TOP(n) of the RECEIVE statement; None takes all ready messages of the group.
        materialize: computes a frame once.
    """
    many = are_many(ready, QUEUE)
    conversations = materialize(ready_conversations(ready, materialize))
    groups = materialize(ordered_groups(materialize(ready_groups(conversations)), are_many=many))
    return groups, receive_schedule(ready, conversations, groups, top=top, are_many=many)


def send_order(rows: DataFrame, *, blocks: Blocks | None, materialize: Materialize) -> DataFrame:
    """Order the messages that instances have to send: add `position` and `block`.

    Args:
        rows: `sendable`, `with_transmit_priority`.
        blocks: the size of a fragment, and the number of fragments in a block; None sends message by message.
        materialize: computes a frame once.
    """
    rows = materialize(rows)
    many = are_many(rows, ["instance"])
    sent = transmission_order(rows, are_many=many)
    return without_blocks(sent) if blocks is None else in_blocks(materialize(sent), blocks, are_many=many)

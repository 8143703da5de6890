"""The state of messages at a moment, from the events."""

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame

from pipelines.engine.differences import Materialize
from pipelines.state.ends import ends
from pipelines.state.events_before import events_before
from pipelines.state.messages import facts_of_few, forwarding, undecided
from pipelines.state.open_messages import open_messages
from pipelines.state.transactions import uncommitted


@dataclass(frozen=True)
class StateOfMessages:
    """What is open at a moment.

    Attributes:
        as_of: the moment.
        messages: `open_messages`: one row per message that has a state, with what it is.
        forwarding: `messages.forwarding`.
        uncommitted: `transactions.uncommitted`.
    """

    as_of: datetime
    messages: DataFrame
    forwarding: DataFrame
    uncommitted: DataFrame


def state_of_messages(
    message_events: DataFrame,
    endpoint_events: DataFrame,
    queue_events: DataFrame,
    *,
    as_of: datetime,
    every_receive_counts: bool,
    materialize: Materialize,
) -> StateOfMessages:
    """Find the messages that have a state at as_of: few, as most are received for good.

    Args:
        message_events: message events that may matter, whatever their time.
        endpoint_events: endpoint events that may matter, likewise.
        queue_events: queue events that may matter, likewise.
        as_of: the moment.
        every_receive_counts: without any queue events a RECEIVED counts as committed.
        materialize: computes a frame once (`pipelines.engine.differences.kept`).

    Narrow passes over all events find the few messages; only their events are looked at whole.
    """
    counted = events_before(message_events, as_of)
    exceptions = materialize(uncommitted(counted, events_before(queue_events, as_of)))
    left = materialize(undecided(counted, exceptions, every_receive_counts=every_receive_counts))
    passing_on = materialize(forwarding(counted))
    ids = left.select("message_id").unionByName(passing_on.select("message_id"))
    events = materialize(message_events.join(ids, "message_id", "left_semi"))
    ended = ends(
        events_before(endpoint_events, as_of).join(
            events.select("conversation_id").distinct(), "conversation_id", "left_semi"
        )
    )
    found = open_messages(facts_of_few(events), left, passing_on, ended)
    return StateOfMessages(as_of, materialize(found), passing_on, exceptions)

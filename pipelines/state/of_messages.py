"""The state of messages at a moment, from the events."""

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame

from pipelines.engine.differences import Materialize
from pipelines.state.ends import ends
from pipelines.state.ledger import Ledger
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


def state_of_messages(ledger: Ledger, *, as_of: datetime, materialize: Materialize) -> StateOfMessages:
    """Find the messages that have a state at as_of: few, as most are received for good.

    Args:
        ledger: the rows that can matter at as_of, with events of any time.
        as_of: the moment.
        materialize: computes a frame once.

    Narrow passes over all events find the few messages; only their events are looked at whole.
    """
    so_far = ledger.before(as_of)
    exceptions = materialize(uncommitted(so_far.message_events, so_far.queue_events))
    left = materialize(undecided(so_far, exceptions))
    passing_on = materialize(forwarding(so_far.message_events))
    ids = left.select("message_id").unionByName(passing_on.select("message_id"))
    events = materialize(ledger.message_events.join(ids, "message_id", "left_semi"))
    conversations = events.select("conversation_id").distinct()
    ended = ends(so_far.endpoint_events.join(conversations, "conversation_id", "left_semi"))
    found = open_messages(facts_of_few(events), left, passing_on, ended)
    return StateOfMessages(as_of, materialize(found), passing_on, exceptions)

"""The ledger: the rows of its four tables that a computation reads, as one value."""

from dataclasses import dataclass, replace
from datetime import datetime

from pyspark.sql import DataFrame

from pipelines.state.events_before import events_before


@dataclass(frozen=True)
class Ledger:
    """Rows of the ledger's tables.

    Which rows a ledger holds is up to the caller: all that matter at a moment, or the working set of a batch.

    Attributes:
        message_events: rows of `message_events`; key (UTC day of event_time, event_id).
        endpoint_events: rows of `endpoint_events`; same key.
        queue_events: rows of `queue_events`; same key.
        endpoints: rows of `endpoints`; key (conversation_id, is_initiator).
        has_queue_events: whether the pipeline ever accepted a queue event. Without any, transactions are
            unknown: every RECEIVED counts as committed, and no group is locked.
    """

    message_events: DataFrame
    endpoint_events: DataFrame
    queue_events: DataFrame
    endpoints: DataFrame
    has_queue_events: bool

    def before(self, as_of: datetime) -> "Ledger":
        """The ledger without the events at or after as_of; endpoints are not filtered."""
        return replace(
            self,
            message_events=events_before(self.message_events, as_of),
            endpoint_events=events_before(self.endpoint_events, as_of),
            queue_events=events_before(self.queue_events, as_of),
        )

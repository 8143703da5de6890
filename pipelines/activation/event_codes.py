"""Codes of the events that a queue monitor plays, and their order.

At one instant arrivals come first, then RECEIVED events, then ends of endpoints, then queue events in the
order of their event_id; see docs/semantics.md#activation. Messages that a ROLLBACK returns share its event_id
and precede it, so their code is lower. A monitor does not distinguish a received message from one whose
endpoint ended.
"""

from pyspark.sql import Column, functions as F

ARRIVAL = 0
"""A message arrives, and the monitor checks."""
TAKEN = 1
"""A ready message leaves: it is received, or its endpoint ends."""
REDELIVERED = 2
"""A message is ready again after a ROLLBACK."""
READY_BEFORE = 3
"""Messages that are ready at the start of the window."""
RECEIVE = 4
EMPTY_RECEIVE = 5
"""A RECEIVE without WHERE that returned no row."""
EMPTY_GET_GROUP = 6
"""A GET CONVERSATION GROUP without WHERE that returned no row."""
ROLLBACK = 7
WAIT_STARTED = 8
"""The session waits in a statement without WHERE."""
WAIT_ENDED = 9
"""The session stops waiting, or waits in a statement with WHERE."""
TASK_STARTED = 10
TASK_EXITED = 11
TURNED_ON = 12
TURNED_OFF = 13
ALTERED = 14
"""A QUEUE_ALTERED without a status."""
OVER = 15
"""The end of the window; it is in no timeline."""
KINDS = 16

CHECKED_ONLY = (RECEIVE, ROLLBACK, ALTERED)
"""Events after which a monitor checks, and which do not change the state."""

NO_SESSION = -(2**63)
"""Stands for a missing session_id; all of them are one session."""

ARRIVALS, RECEIVES, ENDS, QUEUE_EVENTS = range(4)
"""The ranks of events at one instant."""
RANKS = 4


def row_position(time: Column, rank: int) -> Column:
    """A moment in microseconds, and the rank at that moment, as one number that compares the same way."""
    return time * F.lit(RANKS) + F.lit(rank)

"""What a replay is fed with: the kinds of happenings on a queue, as small numbers, and their order.

At one instant arrivals come first, then RECEIVED events, then ends of endpoints, then queue events in the
order of their event_id (the design, "Activation"). Messages that a ROLLBACK gives back share its event_id
and come before it, so their numbers are lower. Whether a message was received or its endpoint ended is the
same to a monitor.
"""

from pyspark.sql import Column, functions as F

ARRIVAL = 0
"""A message arrives: one more is ready, and the monitor checks."""
TAKEN = 1
"""A ready message is gone: received, or its endpoint ended."""
GIVEN_BACK = 2
"""A message is ready again after a ROLLBACK."""
READY_BEFORE = 3
"""So many messages are ready as the window begins."""
RECEIVE = 4
EMPTY_RECEIVE = 5
"""A RECEIVE without WHERE that returned no row."""
EMPTY_GET_GROUP = 6
"""A GET CONVERSATION GROUP without WHERE that returned no row."""
ROLLBACK = 7
WAIT_STARTED = 8
"""The session waits in a statement without WHERE."""
WAIT_ENDED = 9
"""The session waits no more, or in a statement with WHERE."""
TASK_STARTED = 10
TASK_EXITED = 11
TURNED_ON = 12
TURNED_OFF = 13
ALTERED = 14
"""A QUEUE_ALTERED that says nothing about on or off."""
OVER = 15
"""The window is over; it is in no timeline."""
KINDS = 16

CHECKED_ONLY = (RECEIVE, ROLLBACK, ALTERED)
"""What a monitor checks after, and what changes nothing that lasts."""

NO_SESSION = -(2**63)
"""Stands for a session_id that was not logged: one session of its own."""

ARRIVALS, RECEIVES, ENDS, QUEUE_EVENTS = range(4)
"""The order of the kinds at one instant."""
KINDS_AT_AN_INSTANT = 4


def row_position(time: Column, rank: int) -> Column:
    """A moment in microseconds, and the rank at that moment, as one number that compares the same way."""
    return time * F.lit(KINDS_AT_AN_INSTANT) + F.lit(rank)

"""What a replay is fed with: the kinds of happenings on a queue, as small numbers.

At one instant arrivals come first, then RECEIVED events, then ends of endpoints, then queue events in the
order of their event_id (the design, "Activation"). Messages that a ROLLBACK gives back share its event_id
and come before it, so their numbers are lower.
"""

ARRIVAL = 0
"""A message arrives: one more is ready, and the monitor checks."""
TAKEN = 1
"""A ready message is gone: received, or its endpoint ended."""
GIVEN_BACK = 2
"""A message is ready again after a ROLLBACK, or was ready before the window began."""
NOT_READY = 3
"""A RECEIVED of a message that was not ready: it takes nothing, and is counted."""
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

ARRIVALS, RECEIVES, ENDS, QUEUE_EVENTS = range(4)
"""The order of the kinds at one instant."""

NO_SESSION = -(2**63)
"""Stands for a session_id that was not logged: one session of its own."""

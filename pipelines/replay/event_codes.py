"""Codes of the events that a replay plays, in their order at one instant.

The state at the start of the period comes first. Then arrivals precede ends of endpoints, which precede
messages that a RECEIVE with WHERE receives, moves, status changes and numbers of readers.
"""

START = 0
"""The queue, with its status at the start of the period."""
LOCK = 1
"""A group that is locked until the outcome of a transaction of the log."""
HOLD = 2
"""A transaction of the log that keeps a reader busy."""
ARRIVAL = 3
"""A message becomes ready."""
END = 4
"""An endpoint ends."""
FILTERED_RECEIPT = 5
"""A RECEIVE with WHERE receives a message."""
MOVE = 6
"""A conversation moves to another group."""
STATUS = 7
"""The queue is turned on or off."""
READERS = 8
"""The number of readers from now on."""

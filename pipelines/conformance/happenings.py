"""What a queue is told, as small numbers, and in which order at one instant.

The state before a decision has everything of its instant that is no decision. Of a move, an arrival, an end
and the outcome of a transaction at one instant none depends on the other, but a lock is that of the group
after the moves.
"""

MOVE = 0
ARRIVAL = 1
END = 2
GET_GROUP = 3
"""A GET CONVERSATION GROUP that locks a group."""
STATEMENT = 4
"""A SEND or BEGIN DIALOG of an endpoint of the queue: it locks the group for the moment."""
RECEIVE = 5
TAKEN = 6
"""A message was received."""

"""What a queue is told, as small numbers, and in which order at one instant.

The state before a decision has everything of its instant that is no decision. Of a move, an arrival, an end
and an outcome at one instant none depends on the other, but a lock is that of the group after the moves.
"""

MOVE = 0
ARRIVAL = 1
END = 2
COMMIT = 3
ROLLBACK = 4
GET_GROUP = 5
"""A GET CONVERSATION GROUP that locks a group."""
STATEMENT = 6
"""A SEND or BEGIN DIALOG of an endpoint of the queue: it locks the group for the moment."""
RECEIVE = 7
TAKEN = 8
"""A message was received."""

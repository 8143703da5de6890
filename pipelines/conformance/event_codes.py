"""What a queue is told, as small numbers, and in which order at one instant.

The state before a decision has everything of its instant that is no decision. Of a move, an arrival, an end,
a message that is gone and the outcome of a transaction at one instant none depends on the other, but a lock
is that of the group after the moves.
"""

MOVE = 0
ARRIVAL = 1
END = 2
GONE = 3
"""A message is in the queue no more, as a snapshot shows. Who received it is not known: it is no decision."""
GET_GROUP = 4
"""A GET CONVERSATION GROUP that locks a group."""
STATEMENT = 5
"""A SEND or BEGIN DIALOG of an endpoint of the queue: it locks the group for the moment."""
RECEIVE = 6
TAKEN = 7
"""A message was received."""

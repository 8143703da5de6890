"""Codes of the events that conformance plays, in their order at one instant.

Decisions come last: the state before a decision has all other events of its instant. The order of moves,
arrivals, ends and outcomes at one instant does not matter, except that locks follow moves.
"""

MOVE = 0
ARRIVAL = 1
END = 2
GONE = 3
"""A snapshot shows that a message has left the queue. Its receiver is unknown, so it is no decision."""
GET_GROUP = 4
"""A GET CONVERSATION GROUP that locks a group."""
STATEMENT = 5
"""A SEND or BEGIN DIALOG of an endpoint of the queue: it locks the group for the moment."""
RECEIVE = 6
RECEIVED = 7
"""A message is received."""

"""What a replay is fed with: the kinds of happenings on a queue, as small numbers in their order.

At one instant what holds as the period begins comes first, then arrivals, then ends of endpoints, then
messages that leave by a WHERE, then moves, then on and off and the number of readers (our choice).
"""

(
    START,
    LOCK,
    HOLD,
    ARRIVAL,
    END,
    LEAVE,
    MOVE,
    STATUS,
    READERS,
) = range(9)
"""START: the queue with its status. LOCK: a group is locked until an outcome of the log. HOLD: a
transaction of the log keeps a reader busy. ARRIVAL: a message becomes ready. END: the endpoint ends. LEAVE: a
RECEIVE with WHERE takes a message. MOVE: a conversation goes to another group. STATUS: on or off. READERS:
so many there are from now on."""

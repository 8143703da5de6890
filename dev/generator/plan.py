"""The size of a log, and the numbers that are derived from it."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from dev.generator.draws import Draws
from dev.generator.world import DAY, World, micros

LENGTHS = (2, 4, 2, 6, 4, 2, 2, 8, 4, 3, 2, 4, 6, 2, 4, 12, 2, 4, 5, 11)
"""Messages of a conversation, taken in turn, so that their sum is known without counting: 89 per 20."""

BATCH = 5
"""Messages that one RECEIVE takes from a conversation that sends without waiting for replies."""


@dataclass(frozen=True)
class Volume:
    """Size, period, skew and faults of a log.

    Attributes:
        messages: to be sent, before the end of the log cuts conversations off.
        start: first day of the log.
        days: how many.
        tail: what the log still holds after the end of its last day.
        parts: slices of the conversations, one task and, without faults, one file each.
        seed: the same seed gives the same log.
        skew: exponent of the zipf law of the kinds' popularity; 0 is uniform.
        backlog: share of all messages that are not received at the end.
        waiting: share of the backlog between instances that has not even been delivered.
        errors: share of all events with a fault.
        delivered_logged: share of the received messages whose DELIVERED was logged.
        autocommit: share of the RECEIVE statements without a transaction.
    """

    messages: int
    start: datetime
    days: int = 1
    tail: timedelta = timedelta()
    parts: int = 1
    seed: int = 1
    skew: float = 1.1
    backlog: float = 0.05
    waiting: float = 0.4
    errors: float = 0.001
    delivered_logged: float = 0.4
    autocommit: float = 0.5

    @property
    def draws(self) -> Draws:
        """The draws of this log's seed."""
        return Draws(self.seed)

    @property
    def start_us(self) -> int:
        """Start of the log, in microseconds since the epoch."""
        return micros(self.start)

    @property
    def end_us(self) -> int:
        """End of the last day, the log's natural as_of."""
        return self.start_us + self.days * DAY

    @property
    def cut_us(self) -> int:
        """The end of the log, which is not part of it."""
        return self.end_us + self.tail // timedelta(microseconds=1)


@dataclass(frozen=True)
class Plan:
    """A world and a volume, and the numbers that follow from both.

    Attributes:
        drawn: conversations that are drawn; the scenes come on top.
        last_length: messages of the last drawn one, so that the sum is exact; None if kinds have lengths of
            their own and it is not.
        stalled: share of the conversations that is left unreceived, before a kind's own factor.
        slots: rows of the table of kinds that a draw points into, without the scenes.
    """

    world: World
    volume: Volume
    drawn: int = field(init=False)
    last_length: int | None = field(init=False)
    stalled: float = field(init=False)
    slots: int = field(init=False)

    def __post_init__(self) -> None:
        last: int | None
        kinds, weights = self.world.kinds, self.world.weights or (1,) * len(self.world.kinds)
        total = sum(weights)
        mean = sum(LENGTHS) / len(LENGTHS)
        lengths = [kind.messages or mean for kind in kinds]
        own = sum(weight * length for weight, length in zip(weights, lengths, strict=True)) / total
        if any(kind.messages for kind in kinds):
            drawn, last = max(1, round(self.volume.messages / own)), None
        else:
            drawn, last = _conversations_of(self.volume.messages)
        dialogs = sum(w for kind, w in zip(kinds, weights, strict=True) if kind.shape == "dialog") / total
        # A stalled dialog may have had its first message received: see timeline.py.
        pending = own - self.answered_first * dialogs
        factor = sum(w * n * kind.backlog for kind, w, n in zip(kinds, weights, lengths, strict=True)) / (
            own * total
        )
        object.__setattr__(self, "drawn", drawn)
        object.__setattr__(self, "last_length", last)
        object.__setattr__(self, "stalled", self.volume.backlog * own / pending / factor)
        object.__setattr__(self, "slots", total)

    @property
    def conversations(self) -> int:
        """The drawn conversations and the scenes."""
        return self.drawn + len(self.world.scenes)

    @property
    def answered_first(self) -> float:
        """Share of the stalled dialogs whose first message was received, so that the replies wait."""
        return 0.3 * (1 - self.volume.backlog)


def _conversations_of(messages: int) -> tuple[int, int]:
    """The number of conversations for a number of messages, and the messages of the last conversation."""
    rounds, left = divmod(messages, sum(LENGTHS))
    count, last = rounds * len(LENGTHS), LENGTHS[-1]
    for length in LENGTHS:
        if left <= 0:
            break
        count, last, left = count + 1, min(length, left), left - length
    return count, last

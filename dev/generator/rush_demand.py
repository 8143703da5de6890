"""The demand of a rush: conversations, arrivals of messages, and the work on them."""

from dataclasses import dataclass, field

from dev.generator.draws import Draws
from dev.generator.world import MINUTE, SECOND, Line, Rush

HALF_HOUR = 30 * MINUTE
SECOND_MESSAGE = 0.3
"""Share of the conversations with a second message."""
LEAST_WORK, MOST_WORK = 8 * SECOND, 58 * SECOND
LEAST_LATER, MOST_LATER = 5 * SECOND, 120 * SECOND
"""From the first message to the second."""


@dataclass
class Message:
    """A message for the queue.

    Attributes:
        talk: its conversation.
        turn: its number in it, from 0.
        sent_at: when it is sent.
        arrives_at: when it is in the queue.
        size: in bytes.
        work: how long a reader works on it.
    """

    talk: "Talk"
    turn: int
    sent_at: int
    arrives_at: int
    size: int
    work: int


@dataclass
class Talk:
    """A conversation of the rush, which has a group of its own.

    Attributes:
        number: counts from 0.
        begin: when the initiator begins it.
        level: what the server gave the target's endpoint.
        messages: those of the initiator, in order.
    """

    number: int
    contract: str
    begin: int
    level: int
    messages: list[Message] = field(default_factory=list)


def demand(rush: Rush, draws: Draws) -> list[Talk]:
    """The conversations of a rush, in the order in which they begin."""
    begins = sorted(
        rush.begin + half_hour * HALF_HOUR + draws.python_below(HALF_HOUR, "rush begin", half_hour, number)
        for half_hour, count in enumerate(rush.per_half_hour)
        for number in range(count)
    )
    return [talk_of(number, _line(rush, number, draws), begin, draws) for number, begin in enumerate(begins)]


def talk_of(number: int, line: Line, begin: int, draws: Draws, *, alone: bool = False) -> Talk:
    """A conversation on a line.

    Args:
        number: its number.
        line: what it is about.
        begin: when it begins.
        draws: of the log's seed.
        alone: whether it has one message only; else that is drawn.
    """
    talk = Talk(number, line.contract, begin, level_at(line, begin))
    sent_at = begin + 1_000
    for turn in range(1 + (not alone and draws.python_uniform("rush messages", number) < SECOND_MESSAGE)):
        if turn:
            sent_at += _between(LEAST_LATER, MOST_LATER, draws, "rush later", number)
        talk.messages.append(
            Message(
                talk,
                turn,
                sent_at=sent_at,
                arrives_at=sent_at + _between(200, 900, draws, "rush way", number, turn),
                size=_between(400, 3_000, draws, "rush size", number, turn),
                work=_between(LEAST_WORK, MOST_WORK, draws, "rush work", number, turn),
            )
        )
    return talk


def level_at(line: Line, moment: int) -> int:
    """The level that the server gives then."""
    return [level for since, level in line.levels if since <= moment][-1]


def _line(rush: Rush, number: int, draws: Draws) -> Line:
    left = draws.python_uniform("rush line", number)
    for line in rush.lines:
        left -= line.share
        if left < 0:
            return line
    return rush.lines[-1]


def _between(least: int, most: int, draws: Draws, purpose: str, *ids: int) -> int:
    return least + draws.python_below(most - least, purpose, *ids)

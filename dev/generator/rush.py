"""A rush played reader by reader: each RECEIVE takes the group of the highest level, as the engine does.

Few messages and plain Python: who is free when depends on every decision before.
"""

from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from typing import NamedTuple

from dev.generator.draws import Draws
from dev.generator.rush_demand import HALF_HOUR, Message, Talk, demand, level_at, talk_of
from dev.generator.world import MINUTE, SECOND, Rush

TIMEOUT = MINUTE
"""Of WAITFOR (RECEIVE ...)."""
PATIENCE = 10
"""Empty results in a row after which a task exits, once the rush is over."""
STARTS, STARTS_APART = 40_000, 5 * SECOND
"""From the first message to the first task, and to the next one: the queue monitor's checks."""
BETWEEN = 150
"""From a COMMIT to the next RECEIVE."""
FAILS = 0.01
"""Share of the transactions that are rolled back, halfway through the work."""
JUST_BEFORE = 4_000
"""A message that arrives less than this before a decision is too late for it."""
SENDS = 2_000
"""Time from a decision that a SEND keeps from a group to the end of the SEND."""
BY_HAND = 2 * SECOND


class Step(NamedTuple):
    """Something that is logged.

    Attributes:
        at: when, in microseconds.
        what: the event type; SENT is an answer of the target's.
        session: null for what no reader does.
        transaction: its number.
        talk: the conversation that it is about; a RECEIVE without one gets nothing.
        messages: those that a RECEIVE takes.
    """

    at: int
    what: str
    session: int | None = None
    transaction: int | None = None
    talk: Talk | None = None
    messages: tuple[Message, ...] = ()
    has_where: bool = False


class Take(NamedTuple):
    """A RECEIVE and the work after it.

    Attributes:
        then: what the session does after the outcome.
        lasts: how long it takes; None is as long as the work on its messages.
    """

    session: int
    transaction: int
    talk: Talk
    then: Callable[[], None]
    lasts: int | None = None
    has_where: bool = False


class Station:
    """A queue with its readers.

    Attributes:
        talks: the conversations, those that come too late for a decision included.
        steps: what is logged, once it is played; not in order.
    """

    def __init__(self, rush: Rush, draws: Draws) -> None:
        """Begin with an empty queue."""
        self.talks = demand(rush, draws)
        self.steps: list[Step] = []
        self._rush, self._draws = rush, draws
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._numbered = self._transactions = self._now = 0
        self._ready: dict[int, list[Message]] = {}
        """By conversation, each of which is a group."""
        self._locked: set[int] = set()
        self._waiting: dict[int, tuple[int, int]] = {}
        """Sessions that wait in RECEIVE: since when, and how often they got nothing before."""
        self._late, self._sending = list(rush.late), list(rush.sending)
        self._going_on = list(rush.going_on)
        self._answered: set[int] = set()
        self._closes = rush.begin + len(rush.per_half_hour) * HALF_HOUR

    def play(self) -> None:
        """Play until the last task has exited."""
        rush = self._rush
        for talk in self.talks:
            for message in talk.messages:
                self._at(message.arrives_at, partial(self._arrive, message))
        first = min(talk.messages[0].arrives_at for talk in self.talks)
        for number in range(rush.readers):
            started = first + STARTS + number * STARTS_APART
            self._at(started, partial(self._start, rush.session + number))
        for moment in rush.by_hand:
            self._at(moment, self._receive_by_hand)
        self._at(rush.stray_from, self._receive_astray)
        while self._due:
            self._now, _, do = heappop(self._due)
            do()

    def _at(self, at: int, do: Callable[[], None]) -> None:
        self._numbered += 1
        heappush(self._due, (at, self._numbered, do))

    # Messages, and who waits for them.

    def _arrive(self, message: Message) -> None:
        self._ready.setdefault(message.talk.number, []).append(message)
        self._wake()

    def _wake(self) -> None:
        """The first session that waits goes on, if there is something to receive."""
        if self._waiting and self._free():
            session = min(self._waiting)
            del self._waiting[session]
            self.steps.append(Step(self._now + 200, "WAIT_ENDED", session))
            self._at(self._now + 500, partial(self._receive, session))

    def _free(self) -> list[Talk]:
        """The conversations that can be received, the one that is next first."""
        free = [self.talks[number] for number in self._ready if number not in self._locked]
        return sorted(free, key=lambda talk: (-talk.level, self._since(talk)))

    def _since(self, talk: Talk) -> int:
        return self._ready[talk.number][0].arrives_at

    # What a task does.

    def _start(self, session: int) -> None:
        self.steps.append(Step(self._now, "TASK_STARTED", session))
        self._at(self._now + BETWEEN, partial(self._receive, session))

    def _receive(self, session: int, nothing: int = 0) -> None:
        free = self._free()
        if free:
            talk = self._choose(free)
            self._take(Take(session, self._transaction(), talk, partial(self._receive, session)))
        else:
            self.steps.append(Step(self._now, "WAIT_STARTED", session))
            self._waiting[session] = self._now, nothing
            self._at(self._now + TIMEOUT, partial(self._expire, session, self._now))

    def _expire(self, session: int, since: int) -> None:
        waits, nothing = self._waiting.get(session, (0, 0))
        if waits != since:
            return
        del self._waiting[session]
        self.steps.append(Step(self._now, "WAIT_ENDED", session))
        self.steps.append(Step(self._now + 500, "RECEIVE", session))
        if nothing + 1 >= PATIENCE and since > self._closes:
            self.steps.append(Step(self._now + 20_000, "TASK_EXITED", session))
        else:
            self._at(self._now + BETWEEN, partial(self._receive, session, nothing + 1))

    def _transaction(self) -> int:
        self._transactions += 1
        return self._transactions

    def _take(self, take: Take) -> None:
        """Receive all of a group, which locks it, and work."""
        messages = self._ready.pop(take.talk.number)
        self._locked.add(take.talk.number)
        self.steps.append(
            Step(self._now, "RECEIVE", *take[:3], messages=tuple(messages), has_where=take.has_where)
        )
        work = sum(message.work for message in messages) if take.lasts is None else take.lasts
        if take.lasts is None and self._draws.python_uniform("rush fails", take.transaction) < FAILS:
            self._at(self._now + work // 2, partial(self._roll_back, take, messages))
        else:
            self._at(self._now + work, partial(self._finish, take))

    def _finish(self, take: Take) -> None:
        free = self._free()
        goes_on = self._going_on and self._going_on[0] <= self._now and take.talk.number in self._ready
        if goes_on and free and free[0].level > take.talk.level:
            self._going_on.pop(0)
            self._take(take)
        else:
            self._end("COMMIT", take)

    def _roll_back(self, take: Take, messages: list[Message]) -> None:
        self._ready[take.talk.number] = messages + self._ready.get(take.talk.number, [])
        self._end("ROLLBACK", take)

    def _end(self, outcome: str, take: Take) -> None:
        self.steps.append(Step(self._now, outcome, take.session, take.transaction))
        self._locked.remove(take.talk.number)
        self._at(self._now + BETWEEN, take.then)
        self._wake()

    # What goes wrong.

    def _choose(self, free: list[Talk]) -> Talk:
        """The one that is next; sometimes a SEND holds it, or a better one has just come.

        Both on the second line: the few messages of the first one would hardly wait otherwise.
        """
        best, others = free[0], free[1:]
        second = level_at(self._rush.lines[1], self._now)
        if (
            self._sending
            and self._sending[0] <= self._now
            and best.level == second
            and best.number not in self._answered
            and others
            and others[0].level < second
        ):
            self._sending.pop(0)
            self._answered.add(best.number)
            self.steps.append(Step(self._now + SENDS, "SENT", talk=best))
            return others[0]
        if self._late and self._late[0] <= self._now and best.level < second:
            self._late.pop(0)
            begin = self._now - JUST_BEFORE
            talk = talk_of(len(self.talks), self._rush.lines[1], begin, self._draws, alone=True)
            self.talks.append(talk)
            self._at(self._now, partial(self._arrive, talk.messages[0]))
        return best

    def _receive_by_hand(self) -> None:
        """An operator asks for the newest conversation of the lowest level, while better ones wait."""
        free = self._free()
        if free and free[0].level > free[-1].level:
            session = self._rush.session + self._rush.readers
            self._take(
                Take(session, self._transaction(), free[-1], lambda: None, lasts=BY_HAND, has_where=True)
            )
        elif self._now < self._closes:
            self._at(self._now + SECOND, self._receive_by_hand)

    def _receive_astray(self) -> None:
        """Somebody takes what came first, whatever its level, until he is found."""
        free = self._free()
        if self._now > self._rush.stray_until:
            return
        if free:
            session = self._rush.session + self._rush.readers + 1
            first = min(free, key=self._since)
            self._take(Take(session, self._transaction(), first, self._receive_astray))
        else:
            self._at(self._now + SECOND, self._receive_astray)

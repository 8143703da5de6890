"""One queue, played forward: what happens on it in, what becomes of its messages out.

All times are whole microseconds since the epoch.
"""

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from pipelines.queue_machine.groups import arrival_of
from pipelines.replay import event_codes as h
from pipelines.replay.backlog import PlayedBacklog, PlayedGroup, PlayedMessage
from pipelines.state.timeline_rows import BITS, KIND


@dataclass(frozen=True)
class Machine:
    """How a queue is played.

    Attributes:
        start: start of the period.
        end: its end, which is not part of it.
        readers: how many there are; None for as many as the log has.
        top: TOP(n) of a RECEIVE; None takes all ready messages of the group.
        drain: whether it goes on without arrivals until nothing more can be served.
    """

    start: int
    end: int
    readers: int | None
    top: int | None
    drain: bool


class Player:
    """Plays a queue; feed it everything in order, then finish it.

    At one instant everything of the log comes first. Then, in rounds until neither happens: what is due is
    done and unlocks its group; idle readers each choose a group. After the period nothing of the log comes
    but the outcomes of transactions that were open as it began. Source: our choice.

    Attributes:
        finished: what became of messages, one tuple each: message_id, arrived, started, finished,
            receive_number, level, estimated, gone; whoever feeds takes them away.
    """

    def __init__(self, machine: Machine) -> None:
        """Begin as the period does."""
        self.finished: list[tuple[Any, ...]] = []
        self._machine, self._backlog = machine, PlayedBacklog()
        self._now = machine.start
        self._place = machine.start << BITS
        self._on = True
        self._readers = machine.readers or 0
        self._known = machine.readers is not None
        self._most_readers = self._most_ready = self._receives = self._busy = 0
        self._last_finish: int | None = None
        self._last_left: int | None = None
        """When a message was last taken away, by an END_* or a RECEIVE with WHERE."""
        self._work: list[tuple[int, int, PlayedGroup | None, bool]] = []
        """Until when, a number, the group that is held, whether a reader is busy with it."""
        self._begun = 0
        self._sums = [0, 0, 0]
        """Reader-microseconds busy, there, and idle while only locked groups are ready."""

    def feed(
        self,
        places: list[int],
        message_ids: list[str],
        sides: list[str],
        groups: list[str],
        arrived: list[int],
        queuing_orders: list[int | None],
        levels: list[int],
        ranks: list[int],
        sequences: list[int | None],
        numbers: list[int | None],
        estimated: list[bool],
    ) -> None:
        """Play happenings; see `pipelines.replay.timeline`.

        Raises:
            RuntimeError: the engine did not keep the order.
        """
        arrive, last = self._backlog.arrive, self._place
        rows = zip(
            places,
            message_ids,
            sides,
            groups,
            arrived,
            queuing_orders,
            levels,
            ranks,
            sequences,
            numbers,
            estimated,
            strict=True,
        )
        for (
            place,
            message_id,
            side,
            group,
            at,
            order,
            level,
            rank,
            sequence,
            number,
            guess,
        ) in rows:
            if place < last:
                raise RuntimeError("the engine did not keep the order of what happened on a queue")
            last = place
            time, kind = place >> BITS, place & KIND
            if time > self._now:
                self._settle()
                self._pass_time(time)
            if kind == h.ARRIVAL:
                arrival = arrival_of(at, order, message_id)
                message = PlayedMessage(arrival, rank, sequence, number or 0, estimated=guess)
                arrive(message, side, group, level)
            elif kind in (h.END, h.LEAVE, h.MOVE):
                self._of_endpoint(kind, side, message_id, group)
            else:
                self._of_queue(kind, group, number)
        self._place = last

    def finish(self) -> dict[str, int | None]:
        """Play the rest of the period, and on if it drains.

        Returns:
            `workers.TOTALS`; what is left is in `finished`.
        """
        machine = self._machine
        self._settle()
        self._pass_time(machine.end)
        if machine.drain:
            self._drain()
        left = self._backlog.left()
        for message in left:
            self._out(message, None, None, None, None)
        busy, available, idle_locked = self._sums
        is_empty = machine.drain and not left
        last = max(self._last_finish or machine.start, self._last_left or machine.start)
        return {
            "readers": (machine.readers or self._most_readers) if self._known else None,
            "busy": busy,
            "available": available,
            "idle_locked": idle_locked,
            "most_ready": self._most_ready,
            "empty_at": last if is_empty else None,
        }

    def _of_queue(self, kind: int, group: str, number: int | None) -> None:
        logged = self._machine.readers is None
        if kind in (h.START, h.STATUS):
            self._on = bool(number)
        elif kind == h.LOCK:
            locked = self._backlog.lock(group)
            if number is not None:
                self._begin(number, locked, busy=False)
        elif kind == h.HOLD and logged:
            self._begin(number or 0, None, busy=True)
        elif kind == h.READERS and logged:
            self._readers, self._known = number or 0, True

    def _of_endpoint(self, kind: int, side: str, message_id: str, group: str) -> None:
        backlog = self._backlog
        if kind == h.END:
            for message in backlog.end(side):
                self._out(message, None, None, None, self._now)
                self._last_left = self._now
        elif kind == h.MOVE:
            backlog.move(side, group)
        elif found := backlog.find(side, message_id):
            backlog.remove(found)
            self._out(found, self._now, self._now, None, None)
            self._last_left = self._now

    def _drain(self) -> None:
        """Serve what is left, as long as work that is done makes a group or a reader free."""
        if self._machine.readers is None:
            self._readers = self._most_readers = max(self._most_readers, 1)
            self._known = True
        self._rounds()
        # What goes on after the last RECEIVE is done is no part of the drain.
        sums = list(self._sums)
        while self._work:
            self._spend(self._work[0][0])
            self._rounds()
            if self._now == self._last_finish:
                sums = list(self._sums)
        self._sums = sums

    def _settle(self) -> None:
        """Everything of the log that happens now is known."""
        if self._backlog.ready > self._most_ready:
            self._most_ready = self._backlog.ready
        if self._readers > self._most_readers:
            self._most_readers = self._readers
        self._rounds()

    def _pass_time(self, time: int) -> None:
        """Play what is done before the moment, and go on to it."""
        while self._work and self._work[0][0] < time:
            self._spend(self._work[0][0])
            self._rounds()
        self._spend(time)

    def _spend(self, time: int) -> None:
        """Nothing happens until then."""
        span = time - self._now
        if span:
            sums, backlog = self._sums, self._backlog
            sums[0] += self._busy * span
            sums[1] += self._readers * span
            if self._on and backlog.ready and not backlog.free.size:
                sums[2] += max(self._readers - self._busy, 0) * span
            self._now = time

    def _rounds(self) -> None:
        work, backlog, now = self._work, self._backlog, self._now
        while True:
            while work and work[0][0] <= now:
                _, _, group, busy = heappop(work)
                self._busy -= busy
                if group is not None:
                    backlog.unlock(group)
            if backlog.touched:
                backlog.count()
            chosen = False
            while self._on and backlog.free.size and self._busy < self._readers:
                self._receive()
                chosen = True
            if not chosen:
                return

    def _receive(self) -> None:
        """An idle reader takes what its RECEIVE gives it, and is busy with it."""
        group, messages = self._backlog.take(self._machine.top)
        self._receives += 1
        now, number, until = self._now, self._receives, self._now
        for message in messages:
            until += message.service
        for message in messages:
            self._out(message, now, until, number, None)
        if self._last_finish is None or until > self._last_finish:
            self._last_finish = until
        self._begin(until, group, busy=True)

    def _begin(self, until: int, group: PlayedGroup | None, *, busy: bool) -> None:
        self._begun += 1
        self._busy += busy
        heappush(self._work, (until, self._begun, group, busy))

    def _out(
        self,
        message: PlayedMessage,
        started: int | None,
        until: int | None,
        number: int | None,
        gone: int | None,
    ) -> None:
        self.finished.append(
            (
                message.arrival[2],
                message.arrival[0],
                started,
                until,
                number,
                message.conversation.level,
                message.estimated,
                gone,
            )
        )

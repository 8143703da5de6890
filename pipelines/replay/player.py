"""One queue, played forward: events of the queue in, receipts and waits of its messages out.

All times are whole microseconds since the epoch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from pipelines.queue_machine.groups import arrival_of
from pipelines.queue_machine.workers import BITS, KIND, Columns
from pipelines.replay import timeline as codes
from pipelines.replay.backlog import ReplayBacklog, ReplayGroup, ReplayMessage

MESSAGE = {
    "message_id": "string",
    "arrived": "bigint",
    "started": "bigint",
    "finished": "bigint",
    "receive_number": "bigint",
    "level": "int",
    "estimated": "boolean",
    "gone": "bigint",
}
"""A message that was played. `gone` is the end of its endpoint, if that removed the message."""
TOTALS = {
    "readers": "bigint",
    "busy": "bigint",
    "available": "bigint",
    "idle_locked": "bigint",
    "most_ready": "bigint",
    "empty_at": "bigint",
}
"""The totals of one machine, in a row without message_id."""
RESULTS = {**MESSAGE, **TOTALS}


@dataclass(frozen=True)
class Machine:
    """One way to play a queue.

    Attributes:
        start: start of the period, in microseconds.
        end: its end, which is not part of it.
        readers: the number of readers; None for the log's.
        top: TOP(n) of a RECEIVE; None takes all ready messages of the group.
        drain: whether readers go on without arrivals until no message can be served.
    """

    start: int
    end: int
    readers: int | None
    top: int | None
    drain: bool


class Player:
    """Plays a queue: play all events in order, then finish.

    At one instant the events of the log come first. Then rounds follow until nothing changes: work that is
    due ends and unlocks its group, and each idle reader receives from a group. After the period only the
    outcomes of transactions that were open at its start are played.

    Attributes:
        finished: a tuple of `MESSAGE` per message that is finished since the last batch.
    """

    def __init__(self, machine: Machine) -> None:
        """Begin at the start of the period."""
        self.finished: list[tuple[Any, ...]] = []
        self._machine, self._backlog = machine, ReplayBacklog()
        self._now = machine.start
        self._on = True
        self._readers = machine.readers or 0
        self._known = machine.readers is not None
        self._most_readers = self._most_ready = self._receives = self._busy = 0
        self._last_finish: int | None = None
        self._last_removal: int | None = None
        """When an END_* or a RECEIVE with WHERE last removed a message."""
        self._work: list[tuple[int, int, ReplayGroup | None, bool]] = []
        """The end of the work, a number, the group that is held, and whether a reader is busy with it."""
        self._begun = 0
        self._sums = [0, 0, 0]
        """Reader-microseconds: busy, available, and idle while only locked groups are ready."""

    def play(self, columns: Sequence[list[Any]]) -> None:
        """Play the next events: the columns of `timeline.PLAYED` from position on."""
        arrive = self._backlog.arrive
        for (
            position,
            message_id,
            endpoint,
            group,
            arrived,
            queuing_order,
            level,
            rank,
            sequence,
            number,
            is_estimated,
        ) in zip(*columns, strict=True):
            time, kind = position >> BITS, position & KIND
            if time > self._now:
                self._settle()
                self._pass_time(time)
            if kind == codes.ARRIVAL:
                arrival = arrival_of(arrived, queuing_order, message_id)
                message = ReplayMessage(arrival, rank, sequence, number or 0, estimated=is_estimated)
                arrive(message, endpoint, group, level)
            elif kind in (codes.END, codes.FILTERED_RECEIPT, codes.MOVE):
                self._play_endpoint_event(kind, endpoint, message_id, group)
            else:
                self._play_queue_event(kind, group, number)

    def play_batch(self, columns: Sequence[list[Any]], *, is_last: bool) -> Iterator[Columns]:
        """Play the next events; give the messages that are finished since, and at the end the totals."""
        self.play(columns)
        totals = self.finish() if is_last else None
        if self.finished:
            yield dict(zip(MESSAGE, zip(*self.finished, strict=True), strict=True))
            self.finished.clear()
        if totals:
            yield {name: [value] for name, value in totals.items()}

    def finish(self) -> dict[str, int | None]:
        """Play the rest of the period, and beyond it if the machine drains.

        Returns:
            `TOTALS`; messages that were not served are in `finished`.
        """
        machine = self._machine
        self._settle()
        self._pass_time(machine.end)
        if machine.drain:
            self._drain()
        unserved = self._backlog.remaining()
        for message in unserved:
            self._finish_message(message, None, None, None, None)
        busy, available, idle_locked = self._sums
        is_empty = machine.drain and not unserved
        last = max(self._last_finish or machine.start, self._last_removal or machine.start)
        return {
            "readers": (machine.readers or self._most_readers) if self._known else None,
            "busy": busy,
            "available": available,
            "idle_locked": idle_locked,
            "most_ready": self._most_ready,
            "empty_at": last if is_empty else None,
        }

    def _play_queue_event(self, kind: int, group: str, number: int | None) -> None:
        readers_of_log = self._machine.readers is None
        if kind in (codes.START, codes.STATUS):
            self._on = bool(number)
        elif kind == codes.LOCK:
            locked = self._backlog.lock(group)
            if number is not None:
                self._begin_work(number, locked, busy=False)
        elif kind == codes.HOLD and readers_of_log:
            self._begin_work(number or 0, None, busy=True)
        elif kind == codes.READERS and readers_of_log:
            self._readers, self._known = number or 0, True

    def _play_endpoint_event(self, kind: int, endpoint: str, message_id: str, group: str) -> None:
        backlog = self._backlog
        if kind == codes.END:
            for ended in backlog.end(endpoint):
                self._finish_message(ended, None, None, None, self._now)
                self._last_removal = self._now
        elif kind == codes.MOVE:
            backlog.move(endpoint, group)
        elif message := backlog.find(endpoint, message_id):
            backlog.remove(message)
            self._finish_message(message, self._now, self._now, None, None)
            self._last_removal = self._now

    def _drain(self) -> None:
        """Serve the remaining messages, as long as work that ends frees a group or a reader."""
        if self._machine.readers is None:
            self._readers = self._most_readers = max(self._most_readers, 1)
            self._known = True
        self._play_rounds()
        # Work that goes on after the end of the last RECEIVE is no part of the drain.
        sums = list(self._sums)
        while self._work:
            self._advance(self._work[0][0])
            self._play_rounds()
            if self._now == self._last_finish:
                sums = list(self._sums)
        self._sums = sums

    def _settle(self) -> None:
        """Play the instant once all of its events of the log are known."""
        if self._backlog.ready > self._most_ready:
            self._most_ready = self._backlog.ready
        if self._readers > self._most_readers:
            self._most_readers = self._readers
        self._play_rounds()

    def _pass_time(self, time: int) -> None:
        """Play the work that ends before the moment, and advance to the moment."""
        while self._work and self._work[0][0] < time:
            self._advance(self._work[0][0])
            self._play_rounds()
        self._advance(time)

    def _advance(self, time: int) -> None:
        """Advance the clock; nothing happens until then."""
        span = time - self._now
        if span:
            sums, backlog = self._sums, self._backlog
            sums[0] += self._busy * span
            sums[1] += self._readers * span
            if self._on and backlog.ready and not backlog.free.size:
                sums[2] += max(self._readers - self._busy, 0) * span
            self._now = time

    def _play_rounds(self) -> None:
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
        """An idle reader receives, and is busy with the messages."""
        group, messages = self._backlog.take(self._machine.top)
        self._receives += 1
        now, number, until = self._now, self._receives, self._now
        for message in messages:
            until += message.service
        for message in messages:
            self._finish_message(message, now, until, number, None)
        if self._last_finish is None or until > self._last_finish:
            self._last_finish = until
        self._begin_work(until, group, busy=True)

    def _begin_work(self, until: int, group: ReplayGroup | None, *, busy: bool) -> None:
        self._begun += 1
        self._busy += busy
        heappush(self._work, (until, self._begun, group, busy))

    def _finish_message(
        self,
        message: ReplayMessage,
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

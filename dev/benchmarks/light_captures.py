"""A day of a busy queue as `priorities capture --every` writes it, for the time of a night on many captures.

python -m dev.benchmarks.light_captures COUNT MINUTES OUT: one server, whose queue has 10,000 messages all the
time, and readers that take the oldest. A capture an hour is full, and the others are light.
"""

import gzip
import random
import sys
from collections import Counter, deque
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.support.captures import capture_lines
from tests.support.view_rows import named_views, queue, ready, shown

START = datetime(2026, 11, 27, tzinfo=UTC)
SERVER, DATABASE, QUEUE, SERVICE, CONTRACT = "SQL1", "Orders", "dbo.OrderQueue", "//orders/Desk", "PlaceOrder"
MESSAGES, CONVERSATIONS = 10_000, 2_000
TAKEN_A_MINUTE = 80
"""Messages that readers take."""
HOUR = timedelta(hours=1)
Row = dict[str, Any]


class Server:
    """The queue and its conversations, as they go on."""

    def __init__(self) -> None:
        """Begin with a full queue."""
        self._random = random.Random(7)
        self._order = 0
        self._sent = Counter[str]()
        """Messages of each endpoint so far, by its handle."""
        self.endpoints = [self._endpoint() for _ in range(CONVERSATIONS)]
        self.messages: deque[Row] = deque()
        self.go_on(START, minutes=60)

    def go_on(self, moment: datetime, *, minutes: float) -> None:
        """Let readers take messages, conversations end and begin, and messages arrive, up to a moment."""
        taken = min(int(TAKEN_A_MINUTE * minutes), len(self.messages))
        for _ in range(taken):
            self.messages.popleft()
        for _ in range(taken // 5):
            self.endpoints.pop(self._random.randrange(len(self.endpoints) // 2))
            self.endpoints.append(self._endpoint())
        handles = {each["conversation_handle"] for each in self.endpoints}
        self.messages = deque(each for each in self.messages if each["conversation_handle"] in handles)
        while len(self.messages) < MESSAGES:
            self._order += 1
            endpoint = self._random.choice(self.endpoints)
            handle = endpoint["conversation_handle"]
            self.messages.append(
                ready(
                    side=False,
                    sequence=self._sent[handle],
                    priority=endpoint["priority"],
                    queuing_order=self._order,
                    conversation_handle=handle,
                    conversation_group_id=endpoint["conversation_group_id"],
                    message_enqueue_time=moment - timedelta(minutes=minutes * self._random.random()),
                )
            )
            self._sent[handle] += 1

    def capture(self, moment: datetime, known: set[str], *, is_full: bool) -> list[str]:
        """The lines of a capture; a light one has the endpoints of messages that are not known."""
        asked = {each["conversation_handle"] for each in self.messages} - known
        told = [each for each in self.endpoints if is_full or each["conversation_handle"] in asked]
        known |= {each["conversation_handle"] for each in told}
        rules = [("Gold", (CONTRACT, None, None), 8)]
        views = {
            QUEUE: list(self.messages),
            "conversation_endpoints": told,
            "service_queues": [queue(100, QUEUE.partition(".")[2])],
            **named_views({CONTRACT: 7}, {SERVICE: 2}, {SERVICE: 100}, rules),
        }
        return capture_lines(
            {DATABASE: views}, server=SERVER, taken_at=moment, id=self._guid(), is_light=not is_full
        )

    def _endpoint(self) -> Row:
        ids = ("conversation_handle", "conversation_id", "conversation_group_id")
        own: Row = {name: self._guid() for name in ids}
        return shown(side=False, priority=self._random.choice((1, 3, 5, 8)), **own)

    def _guid(self) -> str:
        return str(UUID(int=self._random.getrandbits(128))).upper()


def write_captures(count: int, minutes: float, folder: Path) -> None:
    """Write captures, one every so many minutes, into subfolders by day."""
    server, known = Server(), set[str]()
    full_at = START - HOUR
    for number in range(count):
        moment = START + timedelta(minutes=minutes * number)
        if number:
            server.go_on(moment, minutes=minutes)
        if is_full := moment - full_at >= HOUR:
            full_at, known = moment, set()
        lines = server.capture(moment, known, is_full=is_full)
        path = folder / f"{moment:%Y-%m-%d}" / f"{SERVER}-{moment:%Y%m%dT%H%M%SZ}.jsonl.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt", encoding="ascii", newline="\n") as file:
            file.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    write_captures(int(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3]))

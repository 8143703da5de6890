"""What an as_of has to say of the captures that were taken, counted row by row."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import Any

from tests.support.simulation.database import READY, RETAINED, Database, Endpoint, Row
from tests.support.simulation.days import Days
from tests.support.simulation.shots import Shot, Shown

Place = tuple[str, str]
PARTNERS = timedelta(seconds=60)
"""Captures of one database from two servers that are closer are one moment; the writable one counts."""
ENDED = ("DO", "CD")


@dataclass(frozen=True)
class Queued:
    """A ready message of a queue, with its endpoint."""

    row: Row
    endpoint: Endpoint
    queue: str
    group: str


class Truth:
    """What the captures of a world, so far, say of each moment."""

    def __init__(
        self,
        days: Days,
        shots: Iterable[Shot],
        ends: Mapping[tuple[str, bool], datetime] = MappingProxyType({}),
    ) -> None:
        self.days = days
        self.ends = ends
        """When endpoints ended by a log, by conversation and whether it is the initiator."""
        self.shots = sorted(shots, key=lambda shot: shot.taken_at)
        self.seen: dict[Place, list[tuple[datetime, Shown]]] = {}
        for database in days.servers.databases:
            place = days.place(database.name)
            found = [
                (shot.taken_at, shot.shown[database.name])
                for shot in self.shots
                if database.name in shot.shown
            ]
            if found:
                self.seen[place] = [each for each in found if self._counts(each, found)]
        self.arrived: dict[str, datetime] = {}
        """The earliest time of each message in a queue; a row that is kept was received before its view."""
        self.sent: dict[str, list[tuple[datetime, datetime]]] = {}
        """When each message was shown in a transmission queue, in order, and the time of its row."""
        for seen in self.seen.values():
            for moment, shown in seen:
                for row in _ready(shown.database):
                    self.arrived[row.id] = min(row.at, self.arrived.get(row.id, row.at))
                for row in shown.database.queued if shown.has_retained else ():
                    if row.status == RETAINED:
                        self.arrived.setdefault(row.id, moment - timedelta(microseconds=1))
                for row in shown.database.transmission:
                    self.sent.setdefault(row.id, []).append((moment, row.at))

    @staticmethod
    def _counts(one: tuple[datetime, Shown], found: list[tuple[datetime, Shown]]) -> bool:
        return one[1].writable or not any(
            other.writable and abs(moment - one[0]) < PARTNERS for moment, other in found
        )

    def shown_at(self, place: Place, as_of: datetime) -> Database:
        """A database in the newest capture up to as_of."""
        return [shown.database for moment, shown in self.seen[place] if moment <= as_of][-1]

    def _later(self, place: Place, as_of: datetime) -> list[Database]:
        return [shown.database for moment, shown in self.seen[place] if moment > as_of]

    # --- Schedules ---

    def queued(self, place: Place, as_of: datetime) -> list[Queued]:
        """The ready messages of a database's queues.

        Those that its newest capture shows, and those that a later one shows with an earlier arrival: they
        had arrived, and were never gone. Those whose receiver the far side has shown ended since are dropped.
        """
        base, found = self.shown_at(place, as_of), {}
        taken_at = max(moment for moment, _ in self.seen[place] if moment <= as_of)
        for database in [base, *self._later(place, as_of)]:
            for row in _ready(database):
                endpoint, came = database.endpoints[row.handle], self.arrived[row.id]
                is_shown = database is base
                if is_shown and self._is_dropped(row, taken_at, as_of):
                    continue
                if row.id not in found and (is_shown or self._was_there(place, came, endpoint, as_of)):
                    queue = row.queue if is_shown else base.services[endpoint.local]
                    group = self._group_at(place, endpoint, as_of)
                    found[row.id] = Queued(replace(row, at=came), endpoint, queue, group)
        return [*found.values()]

    def _was_there(self, place: Place, came_at: datetime, endpoint: Endpoint | None, as_of: datetime) -> bool:
        """Whether a row that a later capture shows counts at as_of: it came before, and its endpoint did."""
        return came_at < as_of and (endpoint is None or self._created_at(place, endpoint) < as_of)

    def _created_at(self, place: Place, endpoint: Endpoint) -> datetime:
        """Its creation, but not before a capture of all endpoints that lacks it, as after a restore."""
        first, _ = self._views_of(place, endpoint)[0]
        return max([endpoint.created_at, *[moment for moment in self.full(place) if moment < first]])

    def _group_at(self, place: Place, endpoint: Endpoint, as_of: datetime) -> str:
        """The group in the last view of endpoints up to as_of that has it, else in the first after it."""
        views = self._views_of(place, endpoint)
        before = [each for moment, each in views if moment <= as_of]
        return (before[-1] if before else views[0][1]).group

    def _views_of(self, place: Place, endpoint: Endpoint) -> list[tuple[datetime, Endpoint]]:
        """What the captures show of an endpoint, in order."""
        return [
            (moment, each)
            for moment, shown in self.seen[place]
            for each in shown.endpoints
            if each.handle == endpoint.handle
        ]

    def receive_schedule(self, as_of: datetime) -> list[dict[str, Any]]:
        """Rows of the table, with the columns that are compared."""
        found = []
        for place in self.seen:
            base = self.shown_at(place, as_of)
            of_queue: dict[str, list[Queued]] = {}
            for each in self.queued(place, as_of):
                of_queue.setdefault(each.queue, []).append(each)
            for queue, rows in of_queue.items():
                is_on = base.queues[queue].is_on
                for position, each in enumerate(receive_order(rows), start=1):
                    found.append(
                        {
                            "instance": place[0],
                            "database": place[1],
                            "queue": queue,
                            "message_id": each.row.id,
                            "position": position if is_on else None,
                            "state": "ready" if is_on else "queue_off",
                            "priority": each.endpoint.level,
                            "conversation_group_id": each.group,
                            "conversation_handle": each.row.handle,
                            "local_service": each.endpoint.local,
                            "remote_service": each.endpoint.remote,
                            "contract": each.endpoint.contract,
                            "arrived_at": each.row.at,
                        }
                    )
        return found

    def _is_dropped(self, row: Row, shown_at: datetime, as_of: datetime) -> bool:
        """Whether the receiver was seen to have ended, after the message was last seen waiting."""
        ended_at = self.ended_at(row.conversation, not row.by_initiator)
        return ended_at is not None and shown_at < ended_at <= as_of

    def ended_at(self, conversation: str, is_initiator: bool) -> datetime | None:
        """When the log or a capture first says that an endpoint has ended, and no later capture denies it."""
        own: list[tuple[datetime, str]] = []
        ends: list[datetime] = []
        ready: list[datetime] = []
        place = None
        for here, seen in self.seen.items():
            for moment, shown in seen:
                of_conversation = (row for row in _ready(shown.database) if row.conversation == conversation)
                ready += [moment for row in of_conversation if row.by_initiator != is_initiator]
                for each in shown.endpoints:
                    if each.conversation == conversation and each.is_initiator == is_initiator:
                        own.append((moment, each.state))
                        place = here
                    elif each.conversation == conversation and each.state == "DI":
                        ends.append(moment)
        open_at = max((moment for moment, state in own if state not in ENDED), default=None)
        alive_at = max(
            [*ready, *([] if open_at is None else [open_at])], default=datetime.min.replace(tzinfo=UTC)
        )
        if ends and alive_at >= min(ends):
            ends = []
        own_ends = [
            moment for moment, state in own if state in ENDED and (open_at is None or moment > open_at)
        ]
        ends += [moment for moment in own_ends if moment >= max(ready, default=moment)]
        if place is not None:
            last = max(moment for moment, _ in own)
            ends += [moment for moment in self.full(place) if moment > last]
        logged = self.ends.get((conversation, is_initiator))
        if logged is not None and alive_at <= logged + PARTNERS:
            ends.append(logged)
        return min(ends, default=None)

    def full(self, place: Place) -> list[datetime]:
        """When captures showed all endpoints of a database."""
        full = {id(shown) for shot in self.shots if not shot.light for shown in shot.shown.values()}
        return [moment for moment, shown in self.seen[place] if id(shown) in full]

    def transmission_schedule(self, as_of: datetime) -> list[dict[str, Any]]:
        """Rows of the table, with the columns that are compared."""
        arrived = {id for id, at in self.arrived.items() if at < as_of}
        first_sent = {id: min(at for _, at in shown) for id, shown in self.sent.items()}
        owners = {service: place for place in self.seen for service in self.shown_at(place, as_of).services}
        found = []
        for place in self.seen:
            base = self.shown_at(place, as_of)
            rows = {row.id: (row, base.endpoints.get(row.handle)) for row in base.transmission}
            for later in self._later(place, as_of):
                for row in later.transmission:
                    endpoint = later.endpoints.get(row.handle)
                    if self._was_there(place, first_sent[row.id], endpoint, as_of):
                        rows.setdefault(row.id, (row, endpoint))
            for id, (row, endpoint) in rows.items():
                # A restore can give the number again: what was sent later says nothing of as_of.
                shown_at = max(moment for moment, at in self.sent[id] if at < as_of)
                if endpoint is None or id in arrived or self._is_dropped(row, shown_at, as_of):
                    continue
                found.append((place, base, replace(row, at=first_sent[id]), endpoint))
        answer = []
        for instance in sorted({place[0] for place, *_ in found}):
            own = [each for each in found if each[0][0] == instance]
            sendable = _sendable_at([row for _, _, row, _ in own])

            own.sort(key=partial(_order_to_send, sendable))
            for position, (place, base, row, endpoint) in enumerate(own, start=1):
                owner = owners.get(endpoint.remote, (None, None))
                answer.append(
                    {
                        "instance": place[0],
                        "database": place[1],
                        "message_id": row.id,
                        "position": position,
                        "priority": endpoint.level,
                        "transmit_priority": endpoint.level if base.honor else 5,
                        "honored": base.honor,
                        "from_service": endpoint.local,
                        "to_service": endpoint.remote,
                        "contract": endpoint.contract,
                        "destination_instance": owner[0],
                        "destination_database": owner[1],
                        "sendable_at": sendable[row],
                    }
                )
        return answer

    def unresolved(self, as_of: datetime) -> set[str]:
        """The ids of messages of transmission queues whose endpoint no capture shows.

        One that a later capture shows with an earlier time was never gone, as after a restore.
        """
        found = set()
        for place in self.seen:
            later = [row for each in self._later(place, as_of) for row in each.transmission]
            rows = [*self.shown_at(place, as_of).transmission, *[row for row in later if row.at < as_of]]
            found |= {f"{row.handle}/unknown/{row.number}" for row in rows if row.names is not None}
        return found

    def restored(self, as_of: datetime) -> set[str]:
        """The ids of messages that a restore brought back together with their endpoint, after as_of."""
        return {
            row.id
            for place in self.seen
            for later in self._later(place, as_of)
            for row in [*later.queued, *later.transmission]
            if (endpoint := later.endpoints.get(row.handle)) is not None
            if not self._was_there(place, row.at, endpoint, as_of)
        }


def _ready(database: Database) -> list[Row]:
    return [row for row in database.queued if row.status == READY]


def _order_to_send(sendable: dict[Row, datetime], each: tuple[Place, Database, Row, Endpoint]) -> Any:
    _, base, row, endpoint = each
    level = endpoint.level if base.honor else 5
    return -level, sendable[row], row.conversation, not row.by_initiator, row.number


def _sendable_at(rows: list[Row]) -> dict[Row, datetime]:
    """The latest time of a message and the waiting ones before it in its conversation and direction."""
    return {
        row: max(
            other.at
            for other in rows
            if (other.conversation, other.by_initiator) == (row.conversation, row.by_initiator)
            and other.number <= row.number
        )
        for row in rows
    }


def receive_order(rows: list[Queued]) -> Iterator[Queued]:
    """RECEIVE after RECEIVE, each without TOP, as one reader takes the messages of a queue."""

    def arrival(each: Queued) -> Any:
        return each.row.at, each.row.order, each.row.id

    def rank(each: Queued) -> int:
        return 0 if each.row.type.endswith("/DialogTimer") else 1 if each.row.type.endswith("/Error") else 2

    left = list(rows)
    while left:
        best = max(each.endpoint.level for each in left)
        group = min((each for each in left if each.endpoint.level == best), key=arrival).group
        taken = [each for each in left if each.group == group]
        oldest = {
            each.row.handle: min(arrival(other) for other in taken if other.row.handle == each.row.handle)
            for each in taken
        }
        yield from sorted(
            taken,
            key=lambda each: (
                -each.endpoint.level,
                oldest[each.row.handle],
                each.row.conversation,
                not each.endpoint.is_initiator,
                rank(each),
                each.row.number,
                arrival(each),
            ),
        )
        left = [each for each in left if each.group != group]

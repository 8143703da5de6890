"""Random days of the simulated servers: what applications and people do, and the captures that are taken."""

from collections.abc import Sequence
from copy import deepcopy
from datetime import datetime, timedelta
from random import Random

from tests.support.simulation.actions import FREQUENCIES, TRAFFIC, Actions
from tests.support.simulation.database import Database, Queue
from tests.support.simulation.servers import NewId, Servers
from tests.support.simulation.shots import Shot, Shown


class Days:
    """One world: two servers, four databases, and the captures of some moments.

    PressDB is in an availability group of both servers; its alias is the instance. DeskDB is on the second
    server, InkDB on the first.
    """

    def __init__(
        self,
        seed: int,
        world: int,
        moments: Sequence[datetime],
        *,
        without: Sequence[str] = (),
        retention: float = 0,
    ) -> None:
        """Let the days pass; `world` is part of all names, so that several worlds fit into one project.

        Args:
            seed: of all that is drawn.
            world: the number of the world.
            moments: when both servers are captured.
            without: actions that do not happen.
            retention: the share of queues that keep messages from the start on.
        """
        self.frequencies = {name: often for name, often in FREQUENCIES.items() if name not in without}
        self.random = Random(seed)
        self.seed, self.mark = seed, f"{world:02}"
        self.retention = retention
        self.first, self.second = f"MILL{self.mark}", f"DESK{self.mark}"
        self.alias = f"PRESSAG{self.mark}"
        self.new_id = NewId(self.random)
        press = self._database("PressDB", self.first, 5, {"Job": "JobQueue", "Desk": "DeskQueue"})
        ink = self._database("InkDB", self.first, 6, {"Ink": "InkQueue"})
        desk = self._database("DeskDB", self.second, 7, {"View": "ViewQueue", "Plan": "ViewQueue"})
        self.servers, self.press = Servers([press, ink, desk], self.new_id), press
        self.actions = Actions(self.random, self.servers, press, (self.first, self.second), self.mark)
        self.reads_secondary = self.random.random() < 0.3
        self.shows_uncommitted = self.random.random() < 0.5
        self.shots: list[Shot] = []
        self.told: list[str] = []
        self._handles: dict[str, set[tuple[str, str]]] = {}
        before = moments[0] - (moments[1] - moments[0])
        for moment in moments:
            self._pass(before, moment)
            before = moment

    def place(self, name: str) -> tuple[str, str]:
        """The instance and the database that a database is in all answers."""
        server = {"InkDB": self.first, "DeskDB": self.second, "PressDB": self.alias}[name]
        return server, name

    def _database(self, name: str, server: str, number: int, services: dict[str, str]) -> Database:
        queues = {
            queue: Queue(100 + at, retention=self.retention > 0 and self.random.random() < self.retention)
            for at, queue in enumerate([*dict.fromkeys(services.values()), "Spare"])
        }
        return Database(
            name,
            server,
            self.new_id(),
            number,
            honor=self.random.random() < 0.7,
            queues=queues,
            services={f"//{service}/{self.mark}": queue for service, queue in services.items()},
            contracts=["//site/Work", "//site/Talk"],
        )

    # --- Time ---

    def _pass(self, since: datetime, moment: datetime) -> None:
        """The time up to a moment, when both servers are captured, one some seconds before the other."""
        order = [self.first, self.second]
        self.random.shuffle(order)
        first = moment - timedelta(seconds=self.random.randint(2, 40))
        for now in self._times(since + timedelta(seconds=1), first, self.random.randint(4, 30)):
            [name] = self.random.choices([*self.frequencies], [*self.frequencies.values()])
            self._do(name, now)
        self._capture(order[0], first)
        for now in self._times(first + timedelta(seconds=1), moment, self.random.randint(0, 3)):
            self._do(self.random.choice(TRAFFIC), now)
        self._capture(order[1], moment)

    def _times(self, since: datetime, until: datetime, count: int) -> list[datetime]:
        """Whole milliseconds in between, each once."""
        width = (until - since) // timedelta(milliseconds=1)
        found = sorted(self.random.sample(range(1, max(width, 2 + count)), count))
        return [since + timedelta(milliseconds=at) for at in found if at < width]

    def _do(self, name: str, now: datetime) -> None:
        self.servers.remove_closed(now)
        for database in self.servers.databases:
            self.servers.deliver(database, now)
        told = self.actions.do(name, now)
        if told is not None:
            self.told.append(f"{now:%dT%H:%M:%S.%f} {name} {told}")

    def _capture(self, server: str, now: datetime) -> None:
        self.servers.remove_closed(now)
        light = server in self._handles and self.random.random() < 0.5 and not self.reads_secondary
        shown, unread = {}, {}
        for database in self.servers.databases:
            is_partner = database is self.press
            if database.server != server and not is_partner:
                continue
            if database.server != server and not self.reads_secondary:
                unread[database.name] = "READ_ONLY"
                continue
            shown[database.name] = self._show(database, database.server == server, server if light else None)
        if (copy := self.actions.copy) is not None and server == self.first:
            shown[copy.name] = Shown(copy, True, [*copy.endpoints.values()])
        handles = {(name, each.handle) for name, one in shown.items() for each in one.endpoints}
        self._handles[server] = handles | (self._handles[server] if light else set())
        self.shots.append(Shot(server, now, light, shown, unread))
        self.told.append(f"{now:%dT%H:%M:%S.%f} captured {server}{' light' if light else ''}")

    def _show(self, database: Database, writable: bool, light_of: str | None) -> Shown:
        held = {row.handle for row in database.queued if row.in_transaction}
        groups = {database.endpoints[handle].group for handle in held}
        copy = deepcopy(database)
        if not self.shows_uncommitted:
            copy.queued = [row for row in copy.queued if not row.in_transaction]
        endpoints = [*copy.endpoints.values()]
        if light_of is not None:
            waiting = {row.handle for row in [*copy.queued, *copy.transmission]}
            endpoints = [
                each
                for each in endpoints
                if each.handle in waiting and (copy.name, each.handle) not in self._handles[light_of]
            ]
        return Shown(copy, writable, endpoints, len(groups))

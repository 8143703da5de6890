"""What applications and people do to the simulated servers, at random."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from random import Random

from tests.support.simulation.database import Database, Endpoint, Queue, Row
from tests.support.simulation.servers import Servers

MESSAGE = "//press/Text"
TRAFFIC = ("begin", "send", "receive", "receive", "end", "send", "settle")
"""What happens while captures are taken."""
FREQUENCIES = {
    "begin": 16,
    "send": 16,
    "receive": 22,
    "settle": 6,
    "end": 7,
    "end_with_error": 2,
    "clean_up": 2,
    "change_rule": 8,
    "switch_honor": 2,
    "switch_queue": 5,
    "change_activation": 3,
    "move_service": 3,
    "move_conversation": 3,
    "switch_network": 5,
    "fail_over": 3,
    "back_up": 3,
    "restore": 2,
    "new_broker": 1,
    "notify": 1,
    "create_queue": 1,
}
"""What else happens, and how often."""
OF_ENDPOINTS = {
    "send": ("SO", "CO"),
    "end": ("CO", "DI", "ER", "SO"),
    "end_with_error": ("CO",),
    "clean_up": ("CO", "SO", "DI", "DO", "ER"),
    "move_conversation": ("CO",),
}
"""What happens to one endpoint, and the states in which it may."""
OF_NO_DATABASE = ("receive", "settle", "switch_network", "fail_over", "restore")
"""What does not happen to a database that is chosen at random."""


@dataclass
class Transaction:
    """A RECEIVE that is not committed."""

    database: Database
    rows: list[Row]


class Actions:
    """All that can happen, each on what is there."""

    def __init__(
        self, random: Random, servers: Servers, press: Database, partners: tuple[str, str], mark: str
    ) -> None:
        """`press` is the database of the availability group of `partners`, `mark` a part of all names."""
        self.random, self.servers, self.mark = random, servers, mark
        self.press, self.partners = press, partners
        self.new_id = servers.new_id
        self.transactions: list[Transaction] = []
        self.copy: Database | None = None
        """PressDB as a backup had it, restored beside it."""

    def do(self, name: str, now: datetime) -> str | None:
        """Let something happen, and say what; None if there is nothing to do it to."""
        act: Callable[..., str | None] = getattr(self, f"_{name}")
        if name in OF_NO_DATABASE:
            return act(now)
        if name not in OF_ENDPOINTS:
            database = self.random.choice(self.servers.databases)
            return f"{database.name} {act(database, now)}"
        found = [
            (database, each)
            for database in self.servers.databases
            for each in database.endpoints.values()
            if each.state in OF_ENDPOINTS[name]
        ]
        if not found:
            return None
        database, endpoint = self.random.choice(found)
        act(database, endpoint, now)
        return f"{endpoint.conversation} {endpoint.is_initiator}"

    def _maybe(self, name: str) -> str | None:
        return name if self.random.random() < 0.5 else None

    def _begin(self, database: Database, now: datetime) -> str:
        local = self.random.choice([*database.services])
        remotes = [
            service for each in self.servers.databases for service in each.services if service != local
        ]
        remote = self.random.choice([*remotes, *remotes, f"//nowhere/{self.mark}"])
        groups = [
            each.group
            for each in database.endpoints.values()
            if database.services[each.local] == database.services[local] and each.state != "CD"
        ]
        group = self.random.choice(groups) if groups and self.random.random() < 0.3 else None
        contract = self.random.choice(database.contracts)
        endpoint = self.servers.begin(database, local, remote, contract, now, group)
        for _ in range(self.random.randint(0, 3)):
            self.servers.send(database, endpoint, MESSAGE, now)
        return f"{endpoint.conversation} from {local} to {remote} level {endpoint.level}"

    def _send(self, database: Database, endpoint: Endpoint, now: datetime) -> None:
        self.servers.send(database, endpoint, MESSAGE, now)

    def _receive(self, now: datetime) -> str | None:
        places = [
            (database, name, group)
            for database in self.servers.databases
            for name, queue in database.queues.items()
            if queue.is_on
            for group in sorted(database.groups_in(name))
        ]
        if not places:
            return None
        database, queue, group = self.random.choice(places)
        rows = self.servers.receive(database, queue, group)
        rows.sort(key=lambda row: (row.conversation, row.number))
        rows = rows[: self.random.choice((1, 2, 100))]
        if self.random.random() < 0.2:
            for row in rows:
                row.in_transaction = True
            self.transactions.append(Transaction(database, rows))
            return f"{[row.id for row in rows]} in a transaction"
        self.servers.take(database, rows, now)
        return f"{[row.id for row in rows]}"

    def _settle(self, now: datetime) -> str | None:
        """COMMIT or ROLLBACK."""
        if not self.transactions:
            return None
        found = self.transactions.pop(self.random.randrange(len(self.transactions)))
        rows = [row for row in found.rows if row in found.database.queued and row.in_transaction]
        commits = self.random.random() < 0.5
        if commits:
            self.servers.take(found.database, rows, now)
        for row in rows:
            row.in_transaction = False
        return f"{'commit' if commits else 'rollback'} {[row.id for row in rows]}"

    def _end(self, database: Database, endpoint: Endpoint, now: datetime) -> None:
        self.servers.end(database, endpoint, now)

    def _end_with_error(self, database: Database, endpoint: Endpoint, now: datetime) -> None:
        self.servers.end(database, endpoint, now, with_error=True)

    def _clean_up(self, database: Database, endpoint: Endpoint, now: datetime) -> None:
        self.servers.clean_up(database, endpoint, now)

    def _move_conversation(self, database: Database, endpoint: Endpoint, now: datetime) -> None:
        queue = database.services[endpoint.local]
        groups = [
            each.group for each in database.endpoints.values() if database.services[each.local] == queue
        ]
        endpoint.group = self.random.choice([*groups, self.new_id()])

    def _notify(self, database: Database, now: datetime) -> None:
        """An event notification, whose dialog nobody sees, to a service that is nowhere."""
        row = Row(self.new_id(), self.new_id(), True, 0, "//site/Notice", now)
        row.reason = "The target service name could not be found."
        row.names = ("//site/Events", "//nowhere/Events", "//site/Notices")
        database.transmission.append(row)

    def _change_rule(self, database: Database, now: datetime) -> str:
        names = [*database.rules]
        if names and self.random.random() < 0.3:
            name = self.random.choice(names)
            del database.rules[name]
            return f"drop {name}"
        altered = names and self.random.random() < 0.4
        name = self.random.choice(names) if altered else f"Rule{self.random.randrange(5)}"
        services = [service for each in self.servers.databases for service in each.services]
        criteria = (
            self._maybe(self.random.choice(database.contracts)),
            self._maybe(self.random.choice([*database.services])),
            self._maybe(self.random.choice([*services, f"//nowhere/{self.mark}"])),
        )
        if criteria in {given for other, (given, _) in database.rules.items() if other != name}:
            return "refused"
        database.rules[name] = (criteria, self.random.randint(1, 10))
        return f"{name} {database.rules[name]}"

    def _switch_honor(self, database: Database, now: datetime) -> str:
        database.honor = not database.honor
        return str(database.honor)

    def _switch_queue(self, database: Database, now: datetime) -> str:
        name = self.random.choice([*database.queues])
        queue = database.queues[name]
        if self.random.random() < 0.2:
            queue.retention = True
        else:
            queue.is_on = not queue.is_on
        return f"{name} on {queue.is_on} retention {queue.retention}"

    def _change_activation(self, database: Database, now: datetime) -> str:
        name = self.random.choice([*database.queues])
        queue = database.queues[name]
        queue.activation, queue.procedure = not queue.activation or queue.procedure is None, "[dbo].[Read]"
        queue.max_readers = self.random.randint(1, 5)
        return name

    def _move_service(self, database: Database, now: datetime) -> str:
        service = self.random.choice([*database.services])
        queue = self.random.choice([*database.queues])
        self.servers.move_service(database, service, queue, now)
        return f"{service} to {queue}"

    def _create_queue(self, database: Database, now: datetime) -> str:
        name = f"Queue{self.random.randrange(3)}"
        database.queues.setdefault(name, Queue(200 + len(database.queues)))
        return name

    def _switch_network(self, now: datetime) -> str:
        self.servers.network = not self.servers.network
        return str(self.servers.network)

    def _fail_over(self, now: datetime) -> str:
        """The other server becomes the primary of PressDB; transactions roll back."""
        first, second = self.partners
        self.press.server = second if self.press.server == first else first
        self._roll_back(self.press)
        return self.press.server

    def _roll_back(self, database: Database) -> None:
        for each in [each for each in self.transactions if each.database is database]:
            self.transactions.remove(each)
            for row in each.rows:
                row.in_transaction = False

    def _back_up(self, database: Database, now: datetime) -> None:
        """A backup; the first of PressDB is restored beside it, and the settings leave that copy out."""
        self.servers.back_up(database)
        if database is self.press and self.copy is None:
            self.copy = deepcopy(database)
            self.copy.name, self.copy.number = "PressDB_Test", 9

    def _restore(self, now: datetime) -> str | None:
        names = [*self.servers.backups]
        if not names:
            return None
        name = self.random.choice(names)
        [database] = [each for each in self.servers.databases if each.name == name]
        self._roll_back(database)
        self.servers.restore(database)
        return name

    def _new_broker(self, database: Database, now: datetime) -> None:
        self._roll_back(database)
        self.servers.new_broker(database)

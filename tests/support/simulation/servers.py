"""What Service Broker does with the messages and conversations of several databases."""

from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

from tests.support.simulation.database import (
    COPY,
    EARLY,
    END_DIALOG,
    ERROR,
    READY,
    RETAINED,
    Database,
    Endpoint,
    Row,
)

LIFETIME = timedelta(seconds=2147483647)
CLOSED_FOR = timedelta(minutes=30)
"""How long a closed target endpoint stays."""


@dataclass(frozen=True)
class Step:
    """What an endpoint did, with the row of the message."""

    what: str
    at: datetime
    database: Database
    server: str
    endpoint: Endpoint
    row: Row | None


class Servers:
    """All databases, and the network between their servers."""

    def __init__(self, databases: list[Database], new_id: "NewId") -> None:
        self.databases = databases
        self.new_id = new_id
        self.network = True
        self.backups: dict[str, Database] = {}
        self.steps: list[Step] = []
        """What endpoints did, in its order."""

    def owner_of(self, service: str, guid: str | None) -> Database | None:
        """The database that a message to a service goes to: of a dialog that is bound, its broker."""
        found = [each for each in self.databases if service in each.services and guid in (None, each.guid)]
        return found[0] if found else None

    def begin(
        self, database: Database, local: str, remote: str, contract: str, now: datetime, group: str | None
    ) -> Endpoint:
        """BEGIN DIALOG."""
        begun = self._create(
            database,
            (contract, local, remote),
            handle=self.new_id(),
            conversation=self.new_id(),
            is_initiator=True,
            group=group or self.new_id(),
            created_at=now,
            expires_at=now + LIFETIME,
            state="SO",
        )
        self._tell("begun", database, begun, now)
        return begun

    def _tell(
        self, what: str, database: Database, endpoint: Endpoint, now: datetime, row: Row | None = None
    ) -> None:
        copies = replace(endpoint), row and replace(row)
        self.steps.append(Step(what, now, database, database.server, *copies))

    def _create(self, database: Database, names: tuple[str, str, str], **more: Any) -> Endpoint:
        contract, local, remote = names
        level = database.level_of(names)
        endpoint = Endpoint(contract=contract, local=local, remote=remote, level=level, **more)
        database.endpoints[endpoint.handle] = endpoint
        return endpoint

    def send(self, database: Database, endpoint: Endpoint, type: str, now: datetime) -> None:
        """SEND, or the message that an end sends; it goes at once where it can."""
        row = Row(endpoint.handle, endpoint.conversation, endpoint.is_initiator, endpoint.sent, type, now)
        if type not in (END_DIALOG, ERROR):
            self._tell("sent", database, endpoint, now, row)
        endpoint.sent += 1
        queue = database.services[endpoint.local]
        if database.queues[queue].retention:
            database.put(replace(row, status=COPY), queue, now)
        database.transmission.append(row)
        self.deliver(database, now)

    def deliver(self, database: Database, now: datetime) -> None:
        """Deliver what a transmission queue holds, each conversation in its order."""
        blocked, left = set(), []
        for row in database.transmission:
            endpoint = database.endpoints.get(row.handle)
            key = (row.conversation, row.by_initiator)
            if endpoint is None:
                left.append(row)
                continue
            row.reason = "" if key in blocked else self._refusal(database, endpoint, row)
            if key in blocked or row.reason:
                blocked.add(key)
                left.append(row)
                continue
            self._arrive(database, endpoint, row, now)
        database.transmission = left

    def _refusal(self, database: Database, endpoint: Endpoint, row: Row) -> str:
        """Why a message can't be delivered now; empty if it can."""
        target = self.owner_of(endpoint.remote, endpoint.far_guid)
        if target is None:
            return "The target service name could not be found."
        if target.server != database.server and not self.network:
            return "Connection attempt failed with error: '10061(No connection could be made)'."
        far = target.endpoint_of(row.conversation, not row.by_initiator)
        if far is None and (not row.by_initiator or row.number > 0):
            return "This message could not be delivered because the conversation endpoint is gone."
        if not target.queues[target.services[endpoint.remote]].is_on:
            return "One or more messages could not be delivered to the local service targeted by this dialog."
        return ""

    def _arrive(self, database: Database, endpoint: Endpoint, row: Row, now: datetime) -> None:
        target = self.owner_of(endpoint.remote, endpoint.far_guid)
        assert target is not None
        far = target.endpoint_of(row.conversation, not row.by_initiator)
        if far is None:
            far = self._create_target(database, target, endpoint, now)
            self._tell("created", target, far, now)
        endpoint.far_guid = target.guid
        if endpoint.state == "SO":
            endpoint.state = "CO"
        if endpoint.state == "DO" and row.type in (END_DIALOG, ERROR):
            self._close(database, endpoint, now)
        if far.state in ("DO", "CD") or row.number < far.arrived:
            return  # dropped
        self._tell("arrived", target, far, now, row)
        waits = row.number > far.arrived
        moved = Row(far.handle, row.conversation, row.by_initiator, row.number, row.type, now)
        moved.status = EARLY if waits else READY
        target.put(moved, target.services[endpoint.remote], now)
        if waits:
            return
        far.arrived = row.number + 1
        for early in target.queued:
            if early.handle == far.handle and early.status == EARLY and early.number == far.arrived:
                early.status, far.arrived = READY, far.arrived + 1
        if row.type == END_DIALOG:
            far.state = "DI"
        if row.type == ERROR:
            far.state = "ER"

    def _create_target(
        self, database: Database, target: Database, endpoint: Endpoint, now: datetime
    ) -> Endpoint:
        return self._create(
            target,
            (endpoint.contract, endpoint.remote, endpoint.local),
            handle=self.new_id(),
            conversation=endpoint.conversation,
            is_initiator=False,
            group=self.new_id(),
            created_at=now,
            expires_at=endpoint.expires_at,
            state="CO",
            far_guid=database.guid,
        )

    def receive(self, database: Database, queue: str, group: str) -> list[Row]:
        """The ready messages of a group in a queue; the caller takes them or puts them back."""
        return [
            row
            for row in database.queued
            if row.queue == queue and row.status == READY and database.endpoints[row.handle].group == group
        ]

    def take(self, database: Database, rows: list[Row], now: datetime) -> None:
        """Commit a RECEIVE; an EndDialog or an Error that was read is answered with END CONVERSATION."""
        for row in rows:
            if row not in database.queued:
                continue  # an end or a restore took it away
            self._tell("received", database, database.endpoints[row.handle], now, row)
            if database.queues[row.queue].retention:
                row.status, row.in_transaction = RETAINED, False
            else:
                database.queued.remove(row)
        for row in rows:
            if row.type in (END_DIALOG, ERROR) and row.handle in database.endpoints:
                self.end(database, database.endpoints[row.handle], now)

    def end(self, database: Database, endpoint: Endpoint, now: datetime, *, with_error: bool = False) -> None:
        """END CONVERSATION."""
        if endpoint.state in ("DO", "CD"):
            return
        self._tell("ended with error" if with_error else "ended", database, endpoint, now)
        database.drop_unread(endpoint.handle)
        if endpoint.state in ("DI", "ER"):
            self._close(database, endpoint, now)
            return
        endpoint.state = "DO"
        if with_error:
            database.transmission = [row for row in database.transmission if row.handle != endpoint.handle]
        self.send(database, endpoint, ERROR if with_error else END_DIALOG, now)

    def clean_up(self, database: Database, endpoint: Endpoint, now: datetime) -> None:
        """END CONVERSATION WITH CLEANUP."""
        self._tell("cleaned up", database, endpoint, now)
        database.drop_unread(endpoint.handle)
        database.transmission = [row for row in database.transmission if row.handle != endpoint.handle]
        del database.endpoints[endpoint.handle]

    def _close(self, database: Database, endpoint: Endpoint, now: datetime) -> None:
        if endpoint.is_initiator and not any(row.handle == endpoint.handle for row in database.transmission):
            del database.endpoints[endpoint.handle]
        else:
            endpoint.state, endpoint.closed_at = "CD", now

    def remove_closed(self, now: datetime) -> None:
        """Closed endpoints go after a while."""
        for database in self.databases:
            for endpoint in list(database.endpoints.values()):
                if endpoint.closed_at is not None and endpoint.closed_at + CLOSED_FOR <= now:
                    database.transmission = [
                        row for row in database.transmission if row.handle != endpoint.handle
                    ]
                    database.drop_unread(endpoint.handle)
                    del database.endpoints[endpoint.handle]

    def move_service(self, database: Database, service: str, queue: str, now: datetime) -> None:
        """ALTER SERVICE ... ON QUEUE: its messages move along."""
        database.services[service] = queue
        own = {each.handle for each in database.endpoints.values() if each.local == service}
        moved = [row for row in database.queued if row.handle in own and row.queue != queue]
        database.queued = [row for row in database.queued if row not in moved]
        for row in moved:
            row.in_transaction = False
            database.put(row, queue, row.at)

    def back_up(self, database: Database) -> None:
        """BACKUP DATABASE."""
        self.backups[database.name] = deepcopy(database)

    def restore(self, database: Database) -> None:
        """RESTORE DATABASE, in place: an older copy with the same broker id."""
        copy = deepcopy(self.backups[database.name])
        for row in copy.queued:
            row.in_transaction = False
        for name in ("guid", "honor", "queues", "services", "contracts", "rules", "endpoints"):
            setattr(database, name, getattr(copy, name))
        database.queued, database.transmission = copy.queued, copy.transmission
        database.orders = copy.orders

    def new_broker(self, database: Database) -> None:
        """ALTER DATABASE ... SET NEW_BROKER."""
        database.guid = self.new_id()
        database.endpoints, database.queued, database.transmission = {}, [], []


class NewId:
    """GUIDs, the same for the same seed."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def __call__(self) -> str:
        """A new one."""
        digits = f"{self._random.getrandbits(128):032X}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

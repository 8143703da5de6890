"""A simulated database: services, queues, rules, conversations and messages."""

from dataclasses import dataclass, field
from datetime import datetime

DEFAULT_LEVEL = 5
END_DIALOG = "http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog"
ERROR = "http://schemas.microsoft.com/SQL/ServiceBroker/Error"
READY, RETAINED, EARLY, COPY = 1, 0, 2, 3
"""States of a row of a queue: ready, received and kept, waiting for an earlier number, sent and kept."""

Criteria = tuple[str | None, str | None, str | None]
"""Contract, local service and remote service of a rule; None is ANY."""


@dataclass
class Queue:
    """A queue's switches."""

    number: int
    is_on: bool = True
    activation: bool = False
    procedure: str | None = None
    max_readers: int = 0
    retention: bool = False


@dataclass
class Endpoint:
    """A conversation endpoint."""

    handle: str
    conversation: str
    is_initiator: bool
    contract: str
    local: str
    remote: str
    group: str
    level: int
    created_at: datetime
    expires_at: datetime
    state: str
    far_guid: str | None = None
    sent: int = 0
    arrived: int = 0
    closed_at: datetime | None = None


@dataclass(eq=False)
class Row:
    """A message, in a transmission queue or in a queue."""

    handle: str
    conversation: str
    by_initiator: bool
    number: int
    type: str
    at: datetime
    status: int = READY
    queue: str = ""
    order: int = 0
    reason: str = ""
    names: tuple[str, str, str] | None = None
    in_transaction: bool = False

    @property
    def id(self) -> str:
        """The id that a capture gives the message."""
        return f"{self.conversation}/{'initiator' if self.by_initiator else 'target'}/{self.number}"


@dataclass
class Database:
    """A database: what it holds, and the server where it is writable."""

    name: str
    server: str
    guid: str
    number: int
    honor: bool = True
    queues: dict[str, Queue] = field(default_factory=dict)
    services: dict[str, str] = field(default_factory=dict)
    contracts: list[str] = field(default_factory=list)
    rules: dict[str, tuple[Criteria, int]] = field(default_factory=dict)
    endpoints: dict[str, Endpoint] = field(default_factory=dict)
    queued: list[Row] = field(default_factory=list)
    transmission: list[Row] = field(default_factory=list)
    orders: dict[str, int] = field(default_factory=dict)

    def level_of(self, names: tuple[str, str, str]) -> int:
        """The level that the ladder gives: a named contract counts before a named local service."""
        fitting = [
            (tuple(criterion is None for criterion in criteria), level)
            for criteria, level in self.rules.values()
            if all(wanted in (None, name) for wanted, name in zip(criteria, names, strict=True))
        ]
        return min(fitting)[1] if fitting else DEFAULT_LEVEL

    def endpoint_of(self, conversation: str, is_initiator: bool) -> Endpoint | None:
        """An endpoint of this database."""
        found = [
            each
            for each in self.endpoints.values()
            if (each.conversation, each.is_initiator) == (conversation, is_initiator)
        ]
        return found[0] if found else None

    def put(self, row: Row, queue: str, now: datetime) -> None:
        """Put a message into a queue."""
        self.orders[queue] = self.orders.get(queue, -1) + 1
        row.queue, row.order, row.at = queue, self.orders[queue], now
        self.queued.append(row)

    def groups_in(self, queue: str) -> set[str]:
        """Groups with ready messages in a queue, less those that a transaction holds."""
        rows = [row for row in self.queued if row.queue == queue and row.status == READY]
        held = {self.endpoints[row.handle].group for row in rows if row.in_transaction}
        return {self.endpoints[row.handle].group for row in rows} - held

    def drop_unread(self, handle: str) -> None:
        """The unread messages of an endpoint leave its queue."""
        self.queued = [row for row in self.queued if row.handle != handle]

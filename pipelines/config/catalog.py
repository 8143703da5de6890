"""The catalog: instances, databases, queues and services as the operator describes them."""

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import Field

from pipelines.config.errors import ConfigError
from pipelines.config.nearest import suggest_nearest
from pipelines.config.shape import Shape, Switch, check
from pipelines.config.yaml_file import Loc, YamlFile, load_yaml

Name = Annotated[str, Field(min_length=1)]
"""A name as the engine knows it: compared byte by byte, never trimmed."""

BINDINGS = "instance string, database string, service string, queue string"
"""The columns of `Catalog.service_bindings`."""


class QueueActivation(Shape):
    """Internal activation of a queue; giving it turns it on unless its status says otherwise."""

    status: Switch = True
    procedure: Name | None = None
    max_queue_readers: Annotated[int, Field(strict=True, ge=0, le=32767)] = 1


class EventNotification(Shape):
    """External activation: the server sends a notification, and the next one after a RECEIVE or a timeout."""

    timeout_seconds: Annotated[float, Field(strict=True, gt=0, le=1e9)]


class Queue(Shape):
    """A queue; `status` counts until a QUEUE_ALTERED event says otherwise."""

    name: Name
    status: Switch = True
    activation: QueueActivation | None = None
    event_notification: EventNotification | None = None


class Service(Shape):
    """A service and the queue of the same database that it is bound to."""

    name: Name
    queue: Name


class Database(Shape):
    """A database; without honor_broker_priority it sends everything at level 5."""

    name: Name
    honor_broker_priority: Switch = False
    queues: tuple[Queue, ...] = ()
    services: tuple[Service, ...] = ()


class Instance(Shape):
    """A database engine."""

    name: Name
    databases: tuple[Database, ...] = ()


class Catalog(Shape):
    """All instances; the row iterators keep the order of the file."""

    instances: tuple[Instance, ...] = ()

    def database_rows(self) -> Iterator[tuple[str, str, bool | None]]:
        """Yield (instance, database, honor_broker_priority), one a database; None if it is not known."""
        for instance, database in self._databases():
            yield instance.name, database.name, database.honor_broker_priority

    def honors(self) -> dict[tuple[str, str], bool | None]:
        """Return honor_broker_priority by (instance, database); None if it is not known."""
        return {(instance, database): is_on for instance, database, is_on in self.database_rows()}

    def queues(self) -> dict[tuple[str, str, str], Queue]:
        """Return the queues by (instance, database, queue)."""
        return {
            (instance.name, database.name, queue.name): queue
            for instance, database in self._databases()
            for queue in database.queues
        }

    def queue_rows(self) -> Iterator[tuple[str, str, str, bool]]:
        """Yield (instance, database, queue, is_on), one a queue."""
        for name, queue in self.queues().items():
            yield *name, queue.status

    def service_bindings(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield (instance, database, service, queue), one a service."""
        for instance, database in self._databases():
            for service in database.services:
                yield instance.name, database.name, service.name, service.queue

    def monitor_rows(self) -> Iterator[tuple[str, str, str, str, int | None, float | None]]:
        """Yield (instance, database, queue, mode, max_queue_readers, timeout_seconds), one a monitored queue.

        The mode is internal or external; the number that only the other mode has is None.
        """
        for name, queue in self.queues().items():
            if queue.event_notification:
                yield *name, "external", None, queue.event_notification.timeout_seconds
            elif queue.activation and queue.activation.status:
                yield *name, "internal", queue.activation.max_queue_readers, None

    def _databases(self) -> Iterator[tuple[Instance, Database]]:
        for instance in self.instances:
            for database in instance.databases:
                yield instance, database


def load_catalog(path: str) -> Catalog:
    """Read and check a catalog.

    Raises:
        ConfigError: The file is not a catalog, a name stands twice in its scope, a service's queue is not in
            its database, or a queue has two kinds of monitor.
    """
    file = load_yaml(path)
    catalog = check(Catalog, file)
    ConfigError.raise_any(_contradictions(file, catalog))
    return catalog


def _contradictions(file: YamlFile, catalog: Catalog) -> Iterator[str]:
    yield from _repeated(file, catalog.instances, ("instances",), "instance", "")
    for i, instance in enumerate(catalog.instances):
        loc: Loc = ("instances", i, "databases")
        yield from _repeated(file, instance.databases, loc, "database", f" of instance {instance.name!r}")
        for d, database in enumerate(instance.databases):
            scope = f" of database {database.name!r}"
            yield from _repeated(file, database.queues, (*loc, d, "queues"), "queue", scope)
            yield from _repeated(file, database.services, (*loc, d, "services"), "service", scope)
            yield from _unbound(file, database, (*loc, d, "services"))
            yield from _two_monitors(file, database, (*loc, d, "queues"))


def _repeated(
    file: YamlFile, things: Sequence[Instance | Database | Queue | Service], loc: Loc, kind: str, scope: str
) -> Iterator[str]:
    first: dict[str, int] = {}
    for index, thing in enumerate(things):
        if thing.name in first:
            line = file.position((*loc, first[thing.name], "name")).line
            message = f"the {kind} {thing.name!r}{scope} stands here twice, first on line {line}; remove one"
            yield file.problem((*loc, index, "name"), message)
        first.setdefault(thing.name, index)


def _unbound(file: YamlFile, database: Database, loc: Loc) -> Iterator[str]:
    queues = dict.fromkeys(queue.name for queue in database.queues)
    for index, service in enumerate(database.services):
        if service.queue not in queues:
            hint = suggest_nearest(service.queue, queues)
            message = f"database {database.name!r} has no queue {service.queue!r}; {hint}"
            yield file.problem((*loc, index, "queue"), message)


def _two_monitors(file: YamlFile, database: Database, loc: Loc) -> Iterator[str]:
    for index, queue in enumerate(database.queues):
        if queue.activation and queue.event_notification:
            message = f"the queue {queue.name!r} has an activation as well; remove one of the two"
            yield file.problem((*loc, index, "event_notification"), message, key=True)

"""Which open messages are asked about."""

from dataclasses import dataclass

from pyspark.sql import DataFrame, functions as F

from pipelines.config.catalog import Catalog
from pipelines.config.errors import ConfigError
from pipelines.config.nearest import suggest_nearest
from pipelines.config.queue_filter import KnownQueues, QueueFilter
from pipelines.engine.frames import among
from pipelines.storage.collect import collect_rows
from pipelines.why.places import Place
from pipelines.why.read import PublishedTables
from schemas.keys import QUEUE
from schemas.ledger import ENDPOINTS


@dataclass(frozen=True)
class Filters:
    """What messages must have; None is anything, and all that is given holds together.

    Attributes:
        queue: the messages in queues of that name, in any form of the name.
        is_transmission: whether messages that wait to be sent are asked about, and no others.
        instance: of the place.
        database: of the queue.
        contract: of the holding endpoint.
        service: its own service.
        remote_service: the far one.
        conversation: its conversation_id, or a handle until it is found.
    """

    queue: str | None = None
    is_transmission: bool = False
    instance: str | None = None
    database: str | None = None
    contract: str | None = None
    service: str | None = None
    remote_service: str | None = None
    conversation: str | None = None

    @property
    def names(self) -> dict[str, str]:
        """The names asked for, by the column of rows."""
        given = {
            "contract": self.contract,
            "local_service": self.service,
            "remote_service": self.remote_service,
        }
        return {column: name for column, name in given.items() if name is not None}

    def of(self, rows: DataFrame, queues: list[tuple[str, str, str]]) -> DataFrame:
        """The rows that fit.

        Args:
            rows: `explained_rows`.
            queues: what `queue` means; empty without it.
        """
        if self.queue is not None:
            rows = among(
                rows.where("kind = 'receive'"), queues, "instance string, database string, queue string"
            )
        if self.is_transmission:
            rows = rows.where("kind = 'transmission'")
        if self.instance is not None:
            rows = rows.where(F.col("instance") == self.instance)
        if self.database is not None:
            rows = rows.where((F.col("kind") == "receive") & (F.col("database") == self.database))
        for column, name in self.names.items():
            rows = rows.where(F.col(column) == name)
        if self.conversation is not None:
            rows = rows.where(F.col("conversation_id") == self.conversation)
        return rows

    def takes(self, place: Place, queues: list[tuple[str, str, str]]) -> bool:
        """Whether a queue without messages, or a database, fits; messages alone have the other names."""
        _, instance, database, queue = place
        if self.is_transmission or self.conversation is not None or self.names:
            return False
        if self.queue is not None and (instance, database, queue) not in queues:
            return False
        return self.instance in (None, instance) and self.database in (None, database)


def find_queues(filters: Filters, rows: DataFrame, catalog: Catalog) -> list[tuple[str, str, str]]:
    """The queues that a filter means.

    Raises:
        ConfigError: there is no such queue, instance or database.
    """
    if filters.queue is None and filters.instance is None and filters.database is None:
        return []
    there = collect_rows(rows.where("kind <> 'unresolved'").select(*QUEUE).distinct())
    known = KnownQueues.of(catalog).and_queues(
        (row["instance"], row["database"], row["queue"]) for row in there if row["queue"]
    )
    known = known.and_databases((row["instance"], row["database"]) for row in there)
    asked = QueueFilter(filters.queue, filters.instance, filters.database)
    asked.require_place(known)
    if filters.queue is None:
        return []
    found = asked.find(known)
    if not found:
        hint = known.nearest(filters.queue)
        raise ConfigError(f"command line: --queue {filters.queue}: there is no such queue; {hint}")
    return found


def require_known_names(tables: PublishedTables, filters: Filters, rows: DataFrame, catalog: Catalog) -> None:
    """Refuse a contract or service that neither the catalog nor an endpoint nor a row has.

    Raises:
        ConfigError: a name is of none; the nearest one is named.
    """
    services = {row[2] for row in catalog.service_bindings()}
    for column, option in (
        ("contract", "--contract"),
        ("local_service", "--service"),
        ("remote_service", "--remote-service"),
    ):
        name = filters.names.get(column)
        if name is None or (column != "contract" and name in services):
            continue
        columns = ("contract",) if column == "contract" else ("local_service", "remote_service")
        endpoints = tables.left(ENDPOINTS, None)
        if any(_has(frame, columns, name) for frame in (rows, endpoints)):
            continue
        every = set(services) if column != "contract" else set()
        for each in columns:
            named = endpoints.where(F.col(each).isNotNull()).select(F.col(each).alias("name")).distinct()
            every |= {row["name"] for row in collect_rows(named)}
        kind = "contract" if column == "contract" else "service"
        hint = suggest_nearest(name, every) if every else f"no {kind} is known"
        raise ConfigError(f"command line: {option} {name}: there is no such {kind}; {hint}")


def _has(frame: DataFrame, columns: tuple[str, ...], name: str) -> bool:
    found = F.lit(False)
    for column in columns:
        found |= F.col(column) == name
    return not frame.where(found).isEmpty()

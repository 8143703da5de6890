"""Endpoints of a log, counted by database, contract and services."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from pyspark.sql import DataFrame, functions as F

from pipelines.rules.ladder import DatabaseKey, Mask, Names, masked
from pipelines.rules.statements import STEPS
from schemas.keys import ENDPOINT_NAMES


@dataclass(frozen=True)
class EndpointCount:
    """Endpoints of one database with the same contract and services, and how many there are."""

    instance: str
    database: str
    contract: str
    local_service: str
    remote_service: str
    endpoints: int

    @property
    def database_key(self) -> DatabaseKey:
        """Instance and database."""
        return self.instance, self.database

    @property
    def names(self) -> Names:
        """Contract, local and remote service."""
        return self.contract, self.local_service, self.remote_service


@dataclass(frozen=True)
class LogEndpoints:
    """The endpoint counts of a log, each (database, contract, local service, remote service) once."""

    kinds: tuple[EndpointCount, ...]
    _projections_of: dict[DatabaseKey, dict[Mask, set[Names]]] = field(default_factory=dict, compare=False)

    @cached_property
    def by_database(self) -> Mapping[DatabaseKey, list[EndpointCount]]:
        """The counts of each database, the largest first, then by their names."""
        found: dict[DatabaseKey, list[EndpointCount]] = {}
        for kind in sorted(self.kinds, key=lambda kind: (-kind.endpoints, kind.database_key, kind.names)):
            found.setdefault(kind.database_key, []).append(kind)
        return found

    @cached_property
    def by_names(self) -> Mapping[Names, list[EndpointCount]]:
        """The counts of all databases by contract, local and remote service."""
        found: dict[Names, list[EndpointCount]] = {}
        for kind in self.kinds:
            found.setdefault(kind.names, []).append(kind)
        return found

    @cached_property
    def contracts(self) -> frozenset[str]:
        """The contracts of all databases."""
        return frozenset(kind.contract for kind in self.kinds) - {""}

    @cached_property
    def services(self) -> frozenset[str]:
        """The services of all databases, at either end."""
        return frozenset(
            service for kind in self.kinds for service in (kind.local_service, kind.remote_service)
        ) - {""}

    def local_services(self, database_key: DatabaseKey) -> set[str]:
        """Return the services that have endpoints in a database."""
        return {kind.local_service for kind in self.by_database.get(database_key, ())} - {""}

    def may_have(self, database_key: DatabaseKey, names: Names) -> bool:
        """Say whether the database may have an endpoint with these names: has one, or one with unknown names.

        A name that is not known is empty, and may be any.
        """
        if self.has(database_key, names):
            return True
        return any(
            all(name is None or own in ("", name) for name, own in zip(names, kind.names, strict=True))
            for kind in self._with_unknown.get(database_key, ())
        )

    @cached_property
    def _with_unknown(self) -> Mapping[DatabaseKey, list[EndpointCount]]:
        found: dict[DatabaseKey, list[EndpointCount]] = {}
        for kind in self.kinds:
            if "" in kind.names:
                found.setdefault(kind.database_key, []).append(kind)
        return found

    def has(self, database_key: DatabaseKey, names: Names) -> bool:
        """Say whether the database has an endpoint with these names; None may be any name."""
        if database_key not in self._projections_of:
            self._projections_of[database_key] = _project(self.by_database.get(database_key, ()))
        contract, local, remote = names
        return (
            names
            in self._projections_of[database_key][contract is not None, local is not None, remote is not None]
        )


def _project(kinds: Iterable[EndpointCount]) -> dict[Mask, set[Names]]:
    found: dict[Mask, set[Names]] = {mask: set() for mask in STEPS}
    for kind in kinds:
        for mask, names in found.items():
            names.add(masked(kind.names, mask))
    return found


def count_endpoints(endpoints: DataFrame, *, before: datetime | None) -> DataFrame:
    """Count the endpoints by database, contract and services.

    Args:
        endpoints: the `endpoints` table; five columns of names and created_at are read.
        before: only endpoints created before it count; None counts all.

    Returns:
        instance, database, contract, local_service, remote_service (the key) and `endpoints`.
    """
    counted = endpoints if before is None else endpoints.where(F.col("created_at") < F.lit(before))
    return counted.groupBy(*ENDPOINT_NAMES).agg(F.count(F.lit(1)).alias("endpoints"))


def count_queued_before(
    endpoints: DataFrame, received: DataFrame, transmitted: DataFrame, changes: DataFrame
) -> DataFrame:
    """Count the endpoints with open messages that are older than their database's last change of rules.

    Args:
        endpoints: the `endpoints` rows that may have open messages.
        received: `receive_schedule` of one as_of; a message is its receiving endpoint's.
        transmitted: `transmission_schedule` of the same as_of; a message is its sending endpoint's.
        changes: (instance, database, changed_at), one row a database, few.

    Returns:
        instance, database, contract, local_service, remote_service, priority (the key), `endpoints`,
        their `unread` messages in queues, and `oldest`, the first created_at among them.
    """
    sent = transmitted.where("not forwarded").withColumnRenamed("sent_by_initiator", "is_initiator")
    key = ["conversation_id", "is_initiator"]
    open_messages = received.select(*key, F.lit(1).alias("is_unread")).union(sent.select(*key, F.lit(0)))
    queued = open_messages.groupBy(*key).agg(F.sum("is_unread").alias("unread"))
    return (
        endpoints.join(F.broadcast(changes), ["instance", "database"])
        .where("created_at < changed_at")
        .join(queued, key, "inner")
        .groupBy(*ENDPOINT_NAMES, "priority")
        .agg(
            F.count(F.lit(1)).alias("endpoints"),
            F.sum("unread").alias("unread"),
            F.min("created_at").alias("oldest"),
        )
    )

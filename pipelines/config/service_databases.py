"""The databases of the services of a catalog."""

from pipelines.config.catalog import Catalog
from pipelines.config.queue_filter import queue_text

DatabaseKey = tuple[str, str]
"""Instance and database."""


class ServiceDatabases:
    """The databases of each service of a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        """Take the services of a catalog."""
        self._databases: dict[str, list[DatabaseKey]] = {}
        self._services: dict[DatabaseKey, list[str]] = {}
        for instance, database, service, _ in catalog.service_bindings():
            self._databases.setdefault(service, []).append((instance, database))
            self._services.setdefault((instance, database), []).append(service)

    @property
    def services(self) -> list[str]:
        """The names of all services."""
        return list(self._databases)

    def services_of(self, database_key: DatabaseKey) -> list[str]:
        """Return the services of a database; none if the catalog does not have it."""
        return self._services.get(database_key, [])

    def find_service(self, database_key: DatabaseKey, service: str) -> list[DatabaseKey]:
        """Return the databases of a remote service: this database, else its instance, else anywhere.

        The order is that of destinations (docs/semantics.md).
        """
        service_databases = self._databases.get(service, [])
        if database_key in service_databases:
            return [database_key]
        return [other for other in service_databases if other[0] == database_key[0]] or service_databases

    def describe_open(self, database_key: DatabaseKey, service: str | None) -> str | None:
        """Say that a remote service may be in several databases; None if it is in one or in none."""
        found = [] if service is None else sorted(self.find_service(database_key, service))
        if len(found) < 2:
            return None
        is_here = all(instance == database_key[0] for instance, _ in found)
        return f"one of {', '.join(queue_text(place[1:] if is_here else place) for place in found)}"

    def may_be_local(self, database_key: DatabaseKey, service: str | None) -> bool:
        """Say whether a service may live in a database: it does, or the catalog does not know the service."""
        return service is None or service not in self._databases or database_key in self._databases[service]

    def is_local(self, database_key: DatabaseKey, service: str | None) -> bool:
        """Say whether a service is one of its database, as far as the catalog describes that."""
        return service is None or service in self._services.get(database_key, [service])

"""Where the catalog has services."""

from pipelines.config.catalog import Catalog
from pipelines.lint.standing_rules import Place


class ServicePlaces:
    """The databases of each service of a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        """Take the services of a catalog."""
        self._places: dict[str, list[Place]] = {}
        self._services: dict[Place, list[str]] = {}
        for instance, database, service, _ in catalog.service_bindings():
            self._places.setdefault(service, []).append((instance, database))
            self._services.setdefault((instance, database), []).append(service)

    @property
    def services(self) -> list[str]:
        """The names of all services."""
        return list(self._places)

    def services_of(self, place: Place) -> list[str]:
        """Return the services of a database; none if the catalog does not have it."""
        return self._services.get(place, [])

    def seen_from(self, place: Place, service: str) -> list[Place]:
        """Return where a remote service may be: in the database itself, else its instance, else anywhere.

        Source: the design, "Transmission schedule", on destinations.
        """
        places = self._places.get(service, [])
        if place in places:
            return [place]
        return [other for other in places if other[0] == place[0]] or places

    def may_be_local(self, place: Place, service: str | None) -> bool:
        """Say whether a service may live in a database: it does, or the catalog does not know the service."""
        return service is None or service not in self._places or place in self._places[service]

    def is_local(self, place: Place, service: str | None) -> bool:
        """Say whether a service is one of its database, as far as the catalog describes that."""
        return service is None or service in self._services.get(place, [service])

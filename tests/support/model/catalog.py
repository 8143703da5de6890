"""What the catalog says, and the defaults for what it does not mention."""

from collections.abc import Iterator

from .vocabulary import QueueKey, Row, is_on


class Catalog:
    """Lookups in the Python form of the catalog file."""

    def __init__(self, catalog: Row) -> None:
        self._catalog = catalog

    def _databases(self) -> Iterator[tuple[str, str, Row]]:
        for instance in self._catalog.get("instances") or []:
            for database in instance.get("databases") or []:
                yield instance["name"], database["name"], database

    def _queues(self) -> Iterator[tuple[QueueKey, Row]]:
        for instance, database, entry in self._databases():
            for queue in entry.get("queues") or []:
                yield (instance, database, queue["name"]), queue

    def honors_priority(self, instance: str, database: str) -> bool | None:
        """HONOR_BROKER_PRIORITY of the database, off by default; not known of a database without entry."""
        for instance_name, database_name, entry in self._databases():
            if (instance_name, database_name) == (instance, database):
                return is_on(entry.get("honor_broker_priority", False))
        return None

    def queues(self) -> Iterator[QueueKey]:
        """All queues that it mentions."""
        return (key for key, _ in self._queues())

    def queue(self, queue: QueueKey) -> Row:
        """What it says of the queue; empty where it does not mention it."""
        return next((entry for key, entry in self._queues() if key == queue), {})

    def queue_is_on(self, queue: QueueKey) -> bool:
        """The status of the queue; on by default."""
        return is_on(self.queue(queue).get("status", True))

    def queue_of(self, instance: str, database: str, service: str) -> QueueKey | None:
        """The queue that the service of that instance and database is bound to."""
        for instance_name, database_name, entry in self._databases():
            for candidate in entry.get("services") or []:
                if (instance_name, database_name, candidate["name"]) == (instance, database, service):
                    return (instance, database, candidate["queue"])
        return None

    def places_of(self, service: str) -> list[tuple[str, str]]:
        """Where a service of this name is."""
        return [
            (instance, database)
            for instance, database, entry in self._databases()
            if any(candidate["name"] == service for candidate in entry.get("services") or [])
        ]

    def place_of(self, service: str, near: tuple[str, str]) -> tuple[str, str] | None:
        """Where the service is: in the same database as `near`, else in the same instance, else anywhere.

        None where several databases could be it.
        """
        places = self.places_of(service)
        if near in places:
            return near
        possible = [place for place in places if place[0] == near[0]] or places
        return possible[0] if len(possible) == 1 else None

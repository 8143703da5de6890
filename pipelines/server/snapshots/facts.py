"""Facts of a catalog as snapshots show them, one a name and attribute, and the databases that they make."""

from collections.abc import Mapping

from pipelines.config.catalog import Database, Queue, QueueActivation, Service

DATABASE, QUEUE, SERVICE, CONTRACT = "database", "queue", "service", "contract"
"""The kinds of things that facts are about."""
ON, OFF = "on", "off"
"""Values of switches."""

Name = tuple[str, str, str]
"""Kind, name and attribute."""
Facts = Mapping[Name, str | None]
"""Values by name; None where it is known that there is none. What is not known is not there."""


class ShownDatabase(Database):
    """A database as snapshots show it: what no view says is None, for it is not known."""

    honor_broker_priority: bool | None = None  # type: ignore[assignment]


def switch(is_on: object) -> str:
    """The value of a switch."""
    return ON if is_on else OFF


def database_of(name: str, facts: Facts) -> ShownDatabase:
    """The database that facts make."""
    by_kind: dict[str, dict[str, dict[str, str]]] = {}
    for (kind, each, attribute), value in facts.items():
        attributes = by_kind.setdefault(kind, {}).setdefault(each, {})
        if value is not None:
            attributes[attribute] = value
    bound = {each: found["queue"] for each, found in by_kind.get(SERVICE, {}).items() if "queue" in found}
    queues = {
        queue: by_kind.get(QUEUE, {}).get(queue, {}) for queue in [*by_kind.get(QUEUE, {}), *bound.values()]
    }
    honor = by_kind.get(DATABASE, {}).get(name, {}).get("honor")
    return ShownDatabase(
        name=name,
        honor_broker_priority=None if honor is None else honor == ON,
        queues=tuple(_queue(queue, attributes) for queue, attributes in queues.items()),
        services=tuple(Service(name=service, queue=queue) for service, queue in bound.items()),
    )


def _queue(name: str, attributes: Mapping[str, str]) -> Queue:
    known: dict[str, object] = {}
    if "on" in attributes:
        known["status"] = attributes["on"] == ON
    if "procedure" in attributes:
        known["activation"] = QueueActivation(
            status=attributes.get("activation") == ON,
            procedure=attributes["procedure"],
            max_queue_readers=int(attributes.get("max_readers", 0)),
        )
    return Queue.model_validate({"name": name, **known})

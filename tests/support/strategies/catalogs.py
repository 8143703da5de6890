"""Catalogs of one or two instances with one or two databases each."""

from dataclasses import dataclass

from hypothesis import strategies as st

from .base import DATABASES, INSTANCES, QUEUES, SERVICES, Row, one_of, seldom, some_of

ON = (True, "on")
OFF = (False, "off")


@dataclass(frozen=True)
class Place:
    """A service and where it is."""

    instance: str
    database: str
    queue: str
    service: str


@st.composite
def catalogs(draw: st.DrawFn) -> Row:
    """The Python form of a catalog file, with both spellings of on and off, and with things left out."""
    instances = some_of(draw, INSTANCES, at_least=1 if seldom(draw, 3) else 2, at_most=2)
    return {"instances": [{"name": instance, "databases": draw(_databases())} for instance in instances]}


@st.composite
def _databases(draw: st.DrawFn) -> list[Row]:
    databases = []
    for name in some_of(draw, DATABASES, at_least=1, at_most=2):
        queues = some_of(draw, QUEUES, at_least=1, at_most=2)
        database: Row = {"name": name, "queues": [{"name": queue} for queue in queues], "services": []}
        if not seldom(draw, 6):
            database["honor_broker_priority"] = one_of(draw, (*ON, *ON, *OFF))
        for queue in database["queues"]:
            if seldom(draw, 4):
                queue["status"] = one_of(draw, (*ON, *OFF))
        for service in some_of(draw, SERVICES, at_least=1, at_most=3):
            queue_name = "Undeclared" if seldom(draw, 20) else one_of(draw, queues)
            database["services"].append({"name": service, "queue": queue_name})
        databases.append(database)
    return databases


def places(catalog: Row) -> list[Place]:
    """All services of the catalog."""
    return [
        Place(instance["name"], database["name"], service["queue"], service["name"])
        for instance in catalog["instances"]
        for database in instance["databases"]
        for service in database["services"]
    ]

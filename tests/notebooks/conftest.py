"""The small warehouses that the notebooks are run on."""

import pytest
from pyspark.sql import SparkSession

from schemas.reading import as_of_key
from tests.support.factories import Row, at, catalog, create_rule, message_event, rule
from tests.support.harness import Project
from tests.support.packing import packing_night
from tests.support.written import ended_run, endpoint, received, warehouse_of

AS_OF = at(60)


@pytest.fixture(scope="session")
def project(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Six conversations in one queue, every other one of level 9; and a rule that decides nothing."""
    rules = [
        create_rule("Urgent", 9, database="B", contract="Urgent"),
        create_rule("Misspelt", 2, database="B", contract="Contrakt"),
    ]
    project = Project(tmp_path_factory.mktemp("notebooks") / "project", catalog=catalog(), rules=rules)
    talks = range(6)
    # Those of level 9 go first, each as they came.
    in_order = sorted(talks, key=lambda number: (number % 2 == 0, number))
    sums = {"open_receive": 6, "open_transmission": 0}
    rows: dict[str, list[Row]] = {
        "priority_rules": [
            rule("Urgent", 9, database="B", contract="Urgent"),
            rule("Misspelt", 2, database="B", contract="Contrakt"),
        ],
        "endpoints": [endpoint for number in talks for endpoint in _endpoints(number)],
        "message_events": [event for number in talks for event in _events(number)],
        "receive_schedule": [_received(number, place) for place, number in enumerate(in_order, start=1)],
        "group_priorities": [_group(number, place) for place, number in enumerate(in_order, start=1)],
        "runs": [ended_run("one", AS_OF, reconciliation=sums)],
    }
    warehouse_of(session, project.folder / "warehouse", rows)
    return project


@pytest.fixture(scope="session")
def packing(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The packing station of the sample: receives, and readers that are the bottleneck."""
    return packing_night(session, tmp_path_factory.mktemp("packing") / "project")


def _level(number: int) -> int:
    return 9 if number % 2 else 5


def _endpoints(number: int) -> list[Row]:
    contract = {"contract": "Urgent" if number % 2 else "Contract", "created_at": at(number)}
    given = {"priority": 9, "rule_name": "Urgent", "ladder_step": 4} if number % 2 else {}
    name = f"c{number}"
    return [endpoint(name, True, **contract), endpoint(name, False, **contract, **given)]


def _events(number: int) -> list[Row]:
    return [
        message_event("SENT", f"c{number}/0", event_time=at(number)),
        message_event("DELIVERED", f"c{number}/0", event_time=at(number + 0.5)),
    ]


def _received(number: int, place: int) -> Row:
    return received(
        "TargetQueue",
        place,
        database="B",
        message_id=f"c{number}/0",
        conversation_id=f"c{number}",
        conversation_group_id=f"group c{number} False",
        priority=_level(number),
        group_priority=_level(number),
        arrived_at=at(number + 0.5),
    )


def _group(number: int, place: int) -> Row:
    return {
        "as_of": AS_OF,
        "as_of_key": as_of_key(AS_OF),
        "instance": "SQL1",
        "database": "B",
        "queue": "TargetQueue",
        "conversation_group_id": f"group c{number} False",
        "priority": _level(number),
        "deciding_conversation_id": f"c{number}",
        "conversations": 1,
        "messages": 1,
        "oldest_arrival": at(number + 0.5),
        "state": "ready",
        "position": place,
    }

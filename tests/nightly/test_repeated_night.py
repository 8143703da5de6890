"""What is closed is settled: it is neither written nor read again, unless events concern it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from pipelines.ingest import ingest as fold
from tests.support.factories import (
    INITIATOR,
    Events,
    at,
    by_source,
    catalog,
    create_rule,
    database,
    endpoint_event,
    ends_of,
    message_event,
    queue_event,
    short_talk,
)
from tests.support.harness import SOURCES, Project
from tests.support.random_logs import require_equal
from tests.support.strategies import Log
from tests.support.warehouses import closed_files

pytestmark = pytest.mark.slow

YEARS = timedelta(days=6 * 365)
FULL = 150
"""So many events on a day that one event of another day is fewer than a hundredth of them."""


def joined(*events: Events) -> Events:
    return {source: [row for each in events for row in each[source]] for source in SOURCES}


def resolved(project: Project) -> list[tuple[object, ...]]:
    """What decided the level of each endpoint, and its queue."""
    columns = ["conversation_id", "is_initiator", "priority", "rule_name", "ladder_step", "queue"]
    return sorted(tuple(row.values()) for row in project.table("endpoints", columns))


def test_changes_of_rules_and_catalog_and_late_creations(session: SparkSession, tmp_path: Path) -> None:
    """Three nights in one warehouse.

    1. stays and late begin, ended is over for a day; Gold is level 9 and valid from minute 10; the target
       service is in no catalog.
    2. Gold was edited to level 3 from the start; a late BEGIN_DIALOG says that late began before it was
       valid; new is new.
    3. The target service comes to the catalog, and the initiator's has another queue: ended keeps its own.
    """
    places = catalog({"SQL1": [database("A", INITIATOR, "OldQueue")]})
    gold = create_rule("Gold", 9, effective_from=at(10), contract="Contract")
    project = Project(tmp_path, catalog=places, rules=[gold])
    begun = by_source(
        endpoint_event(conversation="stays", event_time=at(20)),
        endpoint_event(conversation="late", event_time=at(20)),
        endpoint_event("DIALOG_CREATED", "stays", event_time=at(21)),
        message_event("DELIVERED", "stays/0", event_time=at(21)),
    )
    project.add(joined(short_talk("ended", -1, ends=True), begun))
    project.schedule(session, at(60))
    ended = [
        ("ended", False, 5, None, None, None),
        ("ended", True, 5, None, None, "OldQueue"),
    ]
    assert resolved(project) == [
        *ended,
        ("late", True, 9, "Gold", 4, "OldQueue"),
        ("stays", False, 5, None, None, None),
        ("stays", True, 9, "Gold", 4, "OldQueue"),
    ]
    assert project.table("unresolved", ["kind", "id", "reason"]) == [
        {"kind": "receive", "id": "stays/0", "reason": "service_not_in_catalog"}
    ]
    files = closed_files(project)
    assert {name for name, paths in files.items() if paths} == {
        "endpoints",
        "endpoint_events",
        "message_events",
    }

    project.set_rules([gold | {"create": gold["create"] | {"level": 3}}])
    project.add(
        by_source(
            endpoint_event(conversation="late", event_id="earlier", event_time=at(5)),
            endpoint_event(conversation="stays", event_id="again", event_time=at(30)),
            endpoint_event(conversation="new", event_time=at(40)),
            message_event("SENT", "stays/1", event_time=at(30)),
        )
    )
    project.schedule(session, at(60))
    assert resolved(project) == [
        *ended,
        ("late", True, 5, None, None, "OldQueue"),
        ("new", True, 3, "Gold", 4, "OldQueue"),
        ("stays", False, 5, None, None, None),
        ("stays", True, 9, "Gold", 4, "OldQueue"),
    ]

    (tmp_path / "catalog.yaml").write_text(yaml.safe_dump(catalog()))
    project.schedule(session, at(60))
    assert resolved(project) == [
        *ended,
        ("late", True, 5, None, None, "InitiatorQueue"),
        ("new", True, 3, "Gold", 4, "InitiatorQueue"),
        ("stays", False, 5, None, None, "TargetQueue"),
        ("stays", True, 9, "Gold", 4, "InitiatorQueue"),
    ]
    assert project.table("unresolved") == []
    assert project.table("receive_schedule", ["queue", "message_id", "position"]) == [
        {"queue": "TargetQueue", "message_id": "stays/0", "position": 1}
    ]
    assert closed_files(project) == files


def busy_day(day: int) -> Events:
    """Messages that are received at once, in conversations that end, and two that stay."""
    rows = []
    for number in range(FULL // 2):
        name = f"day {day} {number}"
        rows += [
            endpoint_event(conversation=name, event_time=at(1, day=day)),
            message_event("RECEIVED", f"{name}/0", event_time=at(2, day=day)),
            *(ends_of(name, at(3, day=day)) if number > 1 else []),
        ]
    rows += [
        queue_event("COMMIT", f"commit {day}", event_time=at(2, day=day), transaction_id=f"t{day}"),
        message_event("SENT", f"waits {day}/0", event_time=at(60, day=day)),
    ]
    return by_source(*rows)


def stale(name: str, clock: datetime) -> Events:
    """Events of a clock that is wrong."""
    return by_source(
        endpoint_event(conversation=name, event_time=clock),
        message_event("SENT", f"{name}/0", event_time=clock),
        queue_event("QUEUE_ALTERED", name, event_time=clock, queue_status="ON"),
    )


@contextmanager
def aside(paths: Sequence[str], folder: Path) -> Iterator[None]:
    """Move files away for a while."""
    kept = {Path(path): folder / f"kept {number}" for number, path in enumerate(paths)}
    for path, place in kept.items():
        path.rename(place)
    yield
    for path, place in kept.items():
        place.rename(path)


def require_model(project: Project, as_of: datetime, *events: Events) -> None:
    nothing: dict[str, Any] = dict.fromkeys(("top", "starvation", "blocks"))
    require_equal(project, Log(**joined(*events), catalog=catalog(), rules=[], as_of=as_of, **nothing))


@pytest.mark.long
def test_stale_clocks_touch_nothing_that_is_closed(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is years ahead, and one years in the past."""
    monkeypatch.setattr(fold, "SMALL_HISTORY", 0)
    project = Project(tmp_path, catalog=catalog())
    first = busy_day(0)
    first["queue_events"].append(queue_event("QUEUE_ALTERED", "off", event_time=at(0), queue_status="OFF"))
    first["message_events"].append(message_event("DELIVERED", "day 0 0/1", event_time=at(3)))
    project.add(first)
    project.take_in(session)
    closed = closed_files(project)
    assert all(closed[source] for source in SOURCES)

    second = joined(busy_day(2), stale("ahead", at(day=2) + YEARS))
    project.add(second)
    # What is not there can't be read.
    with aside([path for paths in closed.values() for path in paths], tmp_path):
        project.schedule(session, at(90, day=2))
    require_model(project, at(90, day=2), first, second)

    third = joined(busy_day(4), stale("past", at(day=2) - YEARS))
    project.add(third)
    # What an old event concerns is looked for in all that was closed since.
    project.schedule(session, at(90, day=4))
    require_model(project, at(90, day=4), first, second, third)
    found = closed_files(project)
    assert [name for name, paths in closed.items() if paths - found[name]] == []
    days = {row["closed_on"] for row in project.table("message_events")}
    assert days == {None, *(at(day=day).date() for day in (0, 2, 4))}

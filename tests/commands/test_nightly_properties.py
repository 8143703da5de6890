"""What must hold of a night whatever the log: backfills, reruns, few events, later changes."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import itemgetter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
import yaml
from hypothesis import HealthCheck, given, settings, strategies as st
from pyspark.sql import SparkSession

from pipelines.nightly.publish import COUNTED
from schemas import TABLES
from tests.support.factories import (
    INITIATOR,
    TARGET,
    Events,
    Row,
    at,
    by_source,
    catalog,
    create_rule,
    database,
    endpoint_event,
    message_event,
    queue_event,
)
from tests.support.harness import SOURCES, Project, difference, one_log
from tests.support.model import simulate
from tests.support.nights import DAYS, nights, stretched
from tests.support.random_logs import PUBLIC, project_of, random_logs, require_equal
from tests.support.strategies import Log, logs
from tests.support.strategies.base import START
from tests.support.warehouses import changed, commits, contents

pytestmark = pytest.mark.slow

LONG = {"COMMIT": "Long commit", "ROLLBACK": "Long rollback"}
COMMITS_A_NIGHT = 15


def long_transactions() -> Events:
    """A message is received and its conversation ends on one day, the transaction ends days later.

    Another conversation of the same group has a message ready all the time: its group is locked so long.
    """
    rows = []
    for outcome, instance in LONG.items():
        for conversation in ("held", "free"):
            name = f"{instance} {conversation}"
            rows += [
                endpoint_event(conversation=name, event_time=START),
                endpoint_event("DIALOG_CREATED", name, event_time=START, conversation_group_id="one"),
                message_event("DELIVERED", f"{name}/0", event_time=START + timedelta(hours=1)),
            ]
        held, t = f"{instance} held", f"{instance} t"
        end, late = START + timedelta(hours=2), START + timedelta(hours=59)
        rows += [
            message_event("RECEIVED", f"{held}/0", event_time=end, transaction_id=t),
            endpoint_event("END_CONVERSATION", held, event_time=end),
            endpoint_event("END_CONVERSATION", held, event_time=end, is_initiator=False),
            queue_event(outcome, event_time=late, transaction_id=t),
        ]
        rows[-10:] = [row | {"instance": instance} for row in rows[-10:]]
    return by_source(*rows)


@dataclass(frozen=True)
class Backfilled:
    """A warehouse after three nights' events out of order, and runs for several as_of out of order."""

    project: Project
    log: Log
    commits_in_a_night: int
    before_rerun: dict[str, list[str]]
    after_rerun: dict[str, list[str]]


@pytest.fixture(scope="module")
def backfilled(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Backfilled:
    log = stretched(one_log(random_logs(12, 21)), 3)
    first, second, third = nights(log.events, Random(21))
    # These come whole in the first night, so that the later ones close what is over.
    long = long_transactions()
    for source in SOURCES:
        second[source] += long[source]
    log = replace(
        log,
        **{source: [*log.events[source], *long[source]] for source in SOURCES},
        catalog={"instances": [*log.catalog["instances"], *_long_catalog()["instances"]]},
        top=2,
        starvation={"after_seconds": 5 * 3600, "raise_by": 2},
    )
    project = project_of(tmp_path_factory.mktemp("backfilled"), log, quality={"max_rejected_share": 1.0})
    for number, night in enumerate((second, third, first)):
        night["message_events"].append(message_event("OTHER", f"rejected/{number}"))
    project.add(second)
    project.run(session, DAYS[2])
    project.add(third)
    project.take_in(session)
    project.add(first)
    before_night = commits(project)
    project.run(session, DAYS[1])
    in_a_night = commits(project) - before_night
    for as_of in (DAYS[0], DAYS[2]):
        project.run(session, as_of)
    before = contents(project)
    project.run(session, DAYS[1])
    return Backfilled(project, log, in_a_night, before, contents(project))


def _long_catalog() -> Row:
    databases = [database("A", INITIATOR, "InitiatorQueue"), database("B", TARGET, "TargetQueue")]
    return {"instances": [{"name": name, "databases": databases} for name in LONG.values()]}


def of_as_of(project: Project, table: str, as_of: datetime, columns: list[str]) -> list[Row]:
    """The table's rows of one as_of; all rows of a table without as_of."""
    rows = project.table(table)
    return [{name: row[name] for name in columns} for row in rows if row.get("as_of", as_of) == as_of]


@pytest.mark.parametrize("day", range(len(DAYS)))
def test_every_as_of_is_what_it_would_have_been(backfilled: Backfilled, day: int) -> None:
    expected = simulate(backfilled.log.events, **backfilled.log.settings | {"as_of": DAYS[day]})
    for table in PUBLIC:
        columns = list(expected[table][0])
        found = of_as_of(backfilled.project, table, DAYS[day], columns)
        assert difference(_without_long(found), _without_long(expected[table])) == [], table


def _without_long(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row.get("instance") not in LONG.values()]


@pytest.mark.parametrize("outcome", LONG)
def test_a_group_is_locked_until_its_transaction_ended_days_after_its_conversation(
    backfilled: Backfilled, outcome: str
) -> None:
    """The as_of lies between the two ends, more than a day from each."""
    columns = ["instance", "deciding_conversation_id", "state", "position"]
    groups = of_as_of(backfilled.project, "group_priorities", DAYS[1], columns)
    instance = LONG[outcome]
    assert [tuple(row.values()) for row in groups if row["instance"] == instance] == [
        (instance, f"{instance} free", "group_locked", None)
    ]


def test_a_rerun_changes_nothing_but_runs(backfilled: Backfilled) -> None:
    assert changed(backfilled.before_rerun, backfilled.after_rerun) == {}
    runs = backfilled.project.table("runs")
    assert sorted(row["as_of"] for row in runs) == sorted([*DAYS, DAYS[1], DAYS[2]])
    assert {row["status"] for row in runs} == {"succeeded"}
    assert len({row["run_id"] for row in runs}) == 5


def test_runs_count_the_rows_of_each_table(backfilled: Backfilled) -> None:
    runs = sorted(backfilled.project.table("runs"), key=itemgetter("started_at"))
    for as_of, counts in {run["as_of"]: dict(run["row_counts"]) for run in runs}.items():
        tables = {name: of_as_of(backfilled.project, name, as_of, ["as_of"]) for name in COUNTED}
        assert counts == {name: len(rows) for name, rows in tables.items()}


def test_an_empty_log_leaves_every_public_table(session: SparkSession, tmp_path: Path) -> None:
    project = Project(tmp_path, catalog=catalog())
    project.run(session, at())
    rows = {table.name: len(project.table(table.name)) for table in TABLES.values() if table.public}
    assert rows == {**dict.fromkeys(rows, 0), "runs": 1}


def test_a_night_is_few_commits(backfilled: Backfilled) -> None:
    """Of all tables together, with something new of every kind, once the tables are there."""
    assert backfilled.commits_in_a_night <= COMMITS_A_NIGHT


@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(logs(), st.integers(1, 4), st.booleans())
def test_a_handful_of_events_that_come_twice_equals_the_model(
    session: SparkSession, log: Log, count: int, at_once: bool
) -> None:
    """Few rows, and columns of one value: engines read these in ways of their own; many logs have none.

    One small log at a time, so that a failure shrinks; test_against_model.py tries many at once.
    """
    moment = {"event_time": START} if at_once else {}
    events = {source: [row | moment for row in rows[:count]] for source, rows in log.events.items()}
    few = one_log([replace(log, **events)])
    with TemporaryDirectory() as folder:
        project = project_of(Path(folder) / "project", few)
        project.add({source: rows * 2 for source, rows in few.events.items()})
        project.run(session, few.as_of)
        require_equal(project, few)


def test_changes_of_rules_and_catalog_and_late_creations(session: SparkSession, tmp_path: Path) -> None:
    """Three nights in one warehouse.

    1. stays and late begin, Gold is level 9 and valid from minute 10; the target service is in no catalog.
    2. Gold was edited to level 3 from the start; a late BEGIN_DIALOG says that late began before it was
       valid; new is new.
    3. The target service comes to the catalog.
    """
    places = catalog({"SQL1": [database("A", INITIATOR, "InitiatorQueue")]})
    gold = create_rule("Gold", 9, effective_from=at(10), contract="Contract")
    project = Project(tmp_path, catalog=places, rules=[gold])

    project.add(
        by_source(
            endpoint_event(conversation="stays", event_time=at(20)),
            endpoint_event(conversation="late", event_time=at(20)),
            endpoint_event("DIALOG_CREATED", "stays", event_time=at(21)),
            message_event("DELIVERED", "stays/0", event_time=at(21)),
        )
    )
    project.run(session, at(60))
    columns = ["conversation_id", "is_initiator", "priority", "rule_name", "ladder_step", "queue"]
    assert sorted(tuple(row.values()) for row in project.table("endpoints", columns)) == [
        ("late", True, 9, "Gold", 4, "InitiatorQueue"),
        ("stays", False, 5, None, None, None),
        ("stays", True, 9, "Gold", 4, "InitiatorQueue"),
    ]
    assert project.table("unresolved", ["kind", "id", "reason"]) == [
        {"kind": "receive", "id": "stays/0", "reason": "service_not_in_catalog"}
    ]

    project.set_rules([gold | {"create": gold["create"] | {"level": 3}}])
    project.add(
        by_source(
            endpoint_event(conversation="late", event_id="earlier", event_time=at(5)),
            endpoint_event(conversation="stays", event_id="again", event_time=at(30)),
            endpoint_event(conversation="new", event_time=at(40)),
            message_event("SENT", "stays/1", event_time=at(30)),
        )
    )
    project.run(session, at(60))
    resolved = [
        ("late", True, 5, None, None, "InitiatorQueue"),
        ("new", True, 3, "Gold", 4, "InitiatorQueue"),
        ("stays", False, 5, None, None, None),
        ("stays", True, 9, "Gold", 4, "InitiatorQueue"),
    ]
    assert sorted(tuple(row.values()) for row in project.table("endpoints", columns)) == resolved

    places["instances"][0]["databases"].append(database("B", TARGET, "TargetQueue"))
    (tmp_path / "catalog.yaml").write_text(yaml.safe_dump(places))
    project.run(session, at(60))
    resolved[2] = ("stays", False, 5, None, None, "TargetQueue")
    assert sorted(tuple(row.values()) for row in project.table("endpoints", columns)) == resolved
    assert project.table("unresolved") == []
    assert project.table("receive_schedule", ["queue", "message_id", "position"]) == [
        {"queue": "TargetQueue", "message_id": "stays/0", "position": 1}
    ]

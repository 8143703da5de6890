"""Nights against the naive model, on many random logs at once, and what holds whatever the log."""

from dataclasses import dataclass, replace
from datetime import timedelta
from operator import itemgetter
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from pipelines.config.model import Receive, Transmission
from pipelines.nightly.night import describe
from pipelines.nightly.publish import COUNTED
from pipelines.schedules import orders
from pipelines.schedules.write import write_schedules
from pipelines.storage.batches import read_completed_batches
from pipelines.storage.maintain import maintain
from schemas.events import ACCEPTED
from schemas.ledger import ENDPOINTS
from tests.support.factories import (
    INITIATOR,
    TARGET,
    Events,
    by_source,
    database,
    endpoint_event,
    message_event,
    queue_event,
)
from tests.support.harness import SOURCES, Project, one_log
from tests.support.nights import DAYS, nights, stretched
from tests.support.random_logs import project_of, random_logs, require_equal
from tests.support.strategies import Log
from tests.support.strategies.base import START
from tests.support.strategies.logs import split
from tests.support.warehouses import changed, commits, contents

pytestmark = pytest.mark.slow

LOGS_A_RUN = 10
STARVATION = {"after_seconds": 5400, "raise_by": 3}
BLOCKS = {"fragment_bytes": 100, "fragments": 3}


def test_an_as_of_after_the_log_and_one_in_it_with_settings(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the log, what the fold has found describes it; nobody finds that a second time."""
    log = replace(one_log(random_logs(LOGS_A_RUN, 4)), top=None, starvation=None, blocks=None)
    project, late = project_of(tmp_path, log), log.as_of + timedelta(days=400)
    earlier, last = split(log.events, 2, Random(7))
    project.add(earlier)
    project.take_in(session)
    project.add(last)

    def again(*_: object, **__: object) -> None:
        raise AssertionError("the state of messages is looked for")

    with monkeypatch.context() as patched:
        patched.setattr(orders, "state_of_messages", again)
        project.schedule(session, late)
        # Nothing is new, so there is no fold that has found it.
        with pytest.raises(AssertionError, match="is looked for"):
            project.schedule(session, late)
    require_equal(project, replace(log, as_of=late))
    assert {row["state"] for row in project.table("receive_schedule")} == {
        *("ready", "group_locked", "queue_off")
    }
    # A job that finds it from the tables writes the same.
    before = contents(project)
    warehouse, settings = project.warehouse(session), project.settings()
    completed = read_completed_batches(warehouse)
    write_schedules(warehouse, settings, late, completed)
    assert changed(before, contents(project)) == {}

    others = replace(
        settings,
        receive=Receive(top=3),
        transmission=Transmission.model_validate({"starvation": STARVATION, "blocks": BLOCKS}),
    )
    write_schedules(warehouse, others, log.as_of, completed)
    require_equal(project, replace(log, top=3, starvation=STARVATION, blocks=BLOCKS))


def test_queue_events_that_come_for_the_first_time_on_a_later_night(
    session: SparkSession, tmp_path: Path
) -> None:
    """Until then every RECEIVED counts: what was closed by that is open again."""
    log = one_log([log for log in random_logs(30, 51) if log.queue_events][:LOGS_A_RUN])
    project = project_of(tmp_path, log)
    project.add({source: rows for source, rows in log.events.items() if source != "queue_events"})
    project.schedule(session, log.as_of)
    require_equal(project, replace(log, queue_events=[]))
    before = contents(project)["receive_schedule"]

    project.add({"queue_events": log.events["queue_events"]})
    project.schedule(session, log.as_of)
    require_equal(project, log)
    assert contents(project)["receive_schedule"] != before


def test_a_handful_of_events_that_come_twice(session: SparkSession, tmp_path: Path) -> None:
    """Few rows, and columns of one value: engines read these in ways of their own; many logs have none."""
    [*_, log] = random_logs(5, 3)
    events = {
        source: [row | {"event_time": START} for row in rows[:2]] for source, rows in log.events.items()
    }
    few = one_log([replace(log, **events)])
    project = project_of(tmp_path, few)
    project.add({source: rows * 2 for source, rows in few.events.items()})
    project.schedule(session, few.as_of)
    require_equal(project, few)


LONG = {"COMMIT": "Long commit", "ROLLBACK": "Long rollback"}
COMMITS_A_NIGHT = 15


def long_transactions() -> Events:
    """A message is received and its conversation ends on one day, the transaction ends days later.

    Another conversation of the same group has a message ready all the time: its group is locked so long.
    """
    rows = []
    end, late = START + timedelta(hours=2), START + timedelta(hours=59)
    for outcome, instance in LONG.items():
        held, free = f"{instance} held", f"{instance} free"
        own = {"instance": instance}
        for name in (held, free):
            rows += [
                endpoint_event(conversation=name, event_time=START, **own),
                endpoint_event("DIALOG_CREATED", name, event_time=START, conversation_group_id="one", **own),
                message_event("DELIVERED", f"{name}/0", event_time=START + timedelta(hours=1), **own),
            ]
        rows += [
            message_event("RECEIVED", f"{held}/0", event_time=end, transaction_id=instance, **own),
            endpoint_event("END_CONVERSATION", held, event_time=end, **own),
            endpoint_event("END_CONVERSATION", held, event_time=end, is_initiator=False, **own),
            queue_event(outcome, event_time=late, transaction_id=instance, **own),
        ]
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
    log = stretched(one_log(random_logs(LOGS_A_RUN, 21)), 3)
    first, second, third = nights(log.events, Random(21))
    # These come whole in the first night, so that the later ones close what is over.
    long = long_transactions()
    for source in SOURCES:
        second[source] += long[source]
    databases = [database("A", INITIATOR, "InitiatorQueue"), database("B", TARGET, "TargetQueue")]
    instances = [{"name": name, "databases": databases} for name in LONG.values()]
    log = replace(
        log,
        **{source: [*log.events[source], *long[source]] for source in SOURCES},
        catalog={"instances": [*log.catalog["instances"], *instances]},
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
    # Folds go on from what housekeeping has put together.
    assert spread(project)
    maintain(project.warehouse(session).root, keep_hours=0, spark=session)
    assert not spread(project)
    project.add(first)
    # This as_of is before what earlier nights closed: the fold does not read all rows that it needs.
    closed = [row["closed_on"] for row in project.table("message_events") if row["closed_on"]]
    assert max(closed) > DAYS[1].date()
    before_night = commits(project)
    project.run(session, DAYS[1])
    in_a_night = commits(project) - before_night
    for as_of in (DAYS[0], DAYS[2]):
        describe(project.warehouse(session), project.settings(), as_of)
    before = contents(project)
    project.run(session, DAYS[1])
    return Backfilled(project, log, in_a_night, before, contents(project))


def spread(project: Project) -> set[tuple[str, object]]:
    """Tables and closed days whose rows are of several folds."""
    found: dict[tuple[str, object], set[int]] = {}
    for table in (*ACCEPTED, ENDPOINTS.name):
        for row in project.table(table):
            if row["closed_on"] is not None:
                found.setdefault((table, row["closed_on"]), set()).add(row["fold"])
    return {place for place, folds in found.items() if len(folds) > 1}


@pytest.mark.long
@pytest.mark.parametrize("day", range(len(DAYS)))
def test_every_as_of_is_what_it_would_have_been(backfilled: Backfilled, day: int) -> None:
    require_equal(backfilled.project, replace(backfilled.log, as_of=DAYS[day]))


@pytest.mark.long
def test_a_group_is_locked_until_its_transaction_ended_days_after_its_conversation(
    backfilled: Backfilled,
) -> None:
    """The as_of lies between the two ends, more than a day from each."""
    groups = [row for row in backfilled.project.table("group_priorities") if row["as_of"] == DAYS[1]]
    columns = ("instance", "deciding_conversation_id", "state", "position")
    found = [tuple(row[name] for name in columns) for row in groups if row["instance"] in LONG.values()]
    assert sorted(found) == [(name, f"{name} free", "group_locked", None) for name in LONG.values()]


@pytest.mark.long
def test_a_rerun_changes_nothing_but_runs(backfilled: Backfilled) -> None:
    assert changed(backfilled.before_rerun, backfilled.after_rerun) == {}
    runs = backfilled.project.table("runs")
    assert sorted(row["as_of"] for row in runs) == sorted([*DAYS, DAYS[1], DAYS[2]])
    assert {row["status"] for row in runs} == {"succeeded"}
    assert len({row["run_id"] for row in runs}) == 5


@pytest.mark.long
def test_runs_count_the_rows_of_each_table(backfilled: Backfilled) -> None:
    runs = sorted(backfilled.project.table("runs"), key=itemgetter("started_at"))
    tables = {name: backfilled.project.table(name, ["as_of"]) for name in COUNTED}
    for as_of, counts in {run["as_of"]: dict(run["row_counts"]) for run in runs}.items():
        assert counts == {name: rows.count({"as_of": as_of}) for name, rows in tables.items()}


@pytest.mark.long
def test_a_night_is_few_commits(backfilled: Backfilled) -> None:
    """Of all tables together, with something new of every kind, once the tables are there."""
    assert backfilled.commits_in_a_night <= COMMITS_A_NIGHT

"""Pruning closed days of the ledger: what is said before, what is refused afterwards, what a kill leaves.

Four conversations begin at noon of a day each, from 2026-11-20 on, and are over three minutes later; a fifth
one never ends. A conversation closes on the day after its own, with the next batch.
"""

import logging
import re
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from pipelines.cli import find_command
from pipelines.config.errors import ConfigError, InputError, PipelineError
from pipelines.storage.maintain import maintain
from pipelines.storage.upkeep import Upkeep
from schemas.events import ACCEPTED, ENDPOINT_FACTS, MESSAGES
from schemas.ledger import ENDPOINTS
from tests.support.broken_off import BrokenOffError, dying
from tests.support.factories import Events, Row, at, by_source, catalog, message_event, short_talk
from tests.support.harness import SOURCES, Project
from tests.support.snapshot_views import Server, views
from tests.support.warehouses import contents

pytestmark = pytest.mark.long

DAYS = 4
MIDNIGHTS = [at(12 * 60, day=day) for day in range(DAYS)]
"""The ends of the days, of which the first two need 2026-11-20 or 2026-11-21 for their activation window."""
FIRST_LEFT = "the first day left is 2026-11-22"
TICK = timedelta(microseconds=1)
LEDGER = (*ACCEPTED.values(), ENDPOINTS)
TOLD = [
    "endpoints: delete 1 closed day, 2026-11-21 to 2026-11-21, with 2 rows in N files",
    "endpoint_events: delete 1 closed day, 2026-11-21 to 2026-11-21, with 4 rows in N files",
    "message_events: delete 1 closed day, 2026-11-21 to 2026-11-21, with 2 rows in N files",
    "an as_of before 2026-11-22 can no longer be made; replay, conformance and reassign start at 2026-11-22; "
    "an event before it that comes later is rejected",
]


def log_of(day: int) -> Events:
    """The conversation of a day, and on the first one that which never ends."""
    talks = [short_talk(f"c{day}", day, ends=True)]
    if day == 0:
        talks.append(short_talk("endless", 0, ends=False))
    return {source: [row for talk in talks for row in talk[source]] for source in SOURCES}


@pytest.fixture(scope="module")
def unpruned(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A warehouse with all its days, of which the first two and the last are published; nothing writes it."""
    folder = tmp_path_factory.mktemp("unpruned")
    project = Project(folder, catalog=catalog(), quality={"max_rejected_share": 0.6})
    for day, midnight in enumerate(MIDNIGHTS):
        project.add(log_of(day))
        if day == 2:
            project.take_in(session)
        else:
            project.run(session, midnight)
    return project


@pytest.fixture(scope="module")
def pruned(session: SparkSession, unpruned: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of it that has two days; nothing writes it."""
    project = unpruned.copied(tmp_path_factory.mktemp("pruned"))
    prune(project, session)
    return project


def prune(project: Project, session: SparkSession, days: int | None = 1, **options: bool) -> list[str]:
    """Keep so many days before the newest one, on either engine; other housekeeping is not told."""
    root = project.warehouse(session).root
    lines = maintain(root, keep_event_days=days, keep_hours=0, spark=session, **options)
    return [without_files(line) for line in lines if "closed day" in line or line.startswith("an as_of")]


def without_files(line: str) -> str:
    """The line with N for its number of files, which an engine chooses."""
    return re.sub("in [0-9]+ files?$", "in N files", line)


def closed_days(project: Project) -> set[str]:
    """The days on which rows of the ledger were closed."""
    rows = [row for table in LEDGER if table.name != "queue_events" for row in project.table(table.name)]
    return {str(row["closed_on"]) for row in rows if row["closed_on"] is not None}


def first_day(project: Project, session: SparkSession) -> str:
    return str(project.warehouse(session).first_day)


def test_what_is_lost_is_said_before_it_is_deleted_and_never_comes_back(
    session: SparkSession, unpruned: Project, tmp_path: Path
) -> None:
    project = unpruned.copied(tmp_path)
    before = contents(project)
    whole = {"2026-11-21", "2026-11-22", "2026-11-23"}
    assert closed_days(project) == whole
    assert prune(project, session, dry_run=True) == TOLD
    assert prune(project, session, days=2) == []
    assert contents(project) == before
    assert first_day(project, session) == "None"

    told: list[tuple[str, set[str]]] = []

    def tell(line: str) -> None:
        told.append((without_files(line), closed_days(project)))

    maintain(project.warehouse(session).root, keep_event_days=1, spark=session, tell=tell)
    assert told[: len(TOLD)] == [(line, whole) for line in TOLD]
    assert closed_days(project) == {"2026-11-22", "2026-11-23"}
    assert {row["conversation_id"] for row in project.table("endpoints")} == {"c1", "c2", "c3", "endless"}
    assert first_day(project, session) == "2026-11-22"
    for days in (None, 0, 1, 2, 800_000, 2_000_000_000):
        assert bool(prune(project, session, days=days)) == (days == 0)
        assert first_day(project, session) == ("2026-11-22" if days is None else "2026-11-23")


REFUSED = {
    "nightly": ["--as-of", "2026-11-21T23:59:59Z"],
    "schedules": ["--as-of", "2026-11-21T23:59:59Z"],
    "activation": ["--as-of", "2026-11-22T23:59:59Z"],
    "reassign": ["--from", "2026-11-21T23:59:59Z", "--to", "2026-11-24"],
    "replay": ["--from", "2026-11-22T23:59:59Z", "--to", "2026-11-23T18:00:00Z"],
    "conformance": ["--window-hours", "49"],
    "leaks": ["--days", "3"],
    "coverage": ["--as-of", "2026-11-22T00:00:00Z"],
    "whatif": ["--as-of", "2026-11-21T00:00:00Z", "--rules", "{folder}/rules.yaml"],
}


def test_what_needs_a_pruned_day_is_refused(pruned: Project) -> None:
    before = contents(pruned), pruned.table("runs")
    for command, given in REFUSED.items():
        options = [option.format(folder=pruned.folder) for option in given]
        with pytest.raises(ConfigError, match=FIRST_LEFT) as refused:
            find_command(command)(["--config", pruned.config, *options])
        assert len(refused.value.problems) == 1, command
    assert (contents(pruned), pruned.table("runs")) == before


def test_the_whole_log_is_refused_with_the_longest_window(pruned: Project) -> None:
    conformance = find_command("conformance")
    with pytest.raises(ConfigError, match=r"needs the whole log, .*name --window-hours 47 or less"):
        conformance(["--config", pruned.config])
    assert conformance(["--config", pruned.config, "--window-hours", "47"]) == 0


def test_an_as_of_and_events_of_pruned_days_are_refused(
    session: SparkSession, unpruned: Project, tmp_path: Path
) -> None:
    """A refused night ingests nothing. Of late events one is new, one repeats a deleted one, one a row left.

    The last two are of days left.
    """
    project = unpruned.copied(tmp_path)
    # To the copy, the files that it has ingested would be new.
    for file in tmp_path.glob("*_events/*"):
        file.unlink()
    prune(project, session)
    project.add(short_talk("new", 3, ends=False))
    with pytest.raises(ConfigError, match=FIRST_LEFT):
        project.run(session, MIDNIGHTS[0])
    assert {row["batch"] for row in project.table("batches")} == {1, 2, 3, 4}

    midnight = at(12 * 60, day=1)
    late: list[Row] = [
        message_event("SENT", "late/0", event_time=at(-30, day=1)),
        message_event("SENT", "c0/0", event_time=at()),
        message_event("SENT", "endless/0", event_time=at()),
        message_event("SENT", "c1/0", event_time=midnight),
        message_event("SENT", "c3/0", event_time=at(day=3)),
    ]
    project.add(by_source(*late))
    project.run(session, MIDNIGHTS[3])
    rows = project.table("receive_schedule", ["as_of", "message_id"])
    assert {row["message_id"] for row in rows if row["as_of"] == MIDNIGHTS[3]} == {"endless/0", "new/0"}
    assert {row["event_id"]: row["reason"] for row in project.table("rejected_events")} == {
        f"SENT {message} True": "day_pruned" for message in ("late/0", "c0/0", "endless/0")
    }
    [counts] = [
        row for row in project.table("batches") if row["batch"] == 5 and row["source"] == "message_events"
    ]
    # Two are of the new conversation.
    assert [counts[name] for name in ("events", "accepted", "duplicates", "rejected")] == [7, 3, 1, 3]


def test_a_published_as_of_stays_readable(
    pruned: Project, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    old = ["--config", pruned.config, "--as-of", MIDNIGHTS[0].isoformat(), "--format", "json"]
    for command in (["next", *old, "--queue", "SQL1.B.TargetQueue"], ["waiting", *old]):
        caplog.clear()
        assert find_command(command[0])(command[1:]) == 0
        assert "TargetQueue" in capsys.readouterr().out
        warnings = [record.getMessage() for record in caplog.records]
        assert [FIRST_LEFT in warning for warning in warnings if "pruned" in warning] == [True]
    with pytest.raises(PipelineError, match="or closed before 2026-11-22, and so pruned"):
        find_command("explain")(["--config", pruned.config, "--conversation", "c0"])
    assert find_command("coverage")(["--config", pruned.config]) == 0
    assert "the counts of endpoints lack the conversations that closed before 2026-11-22" in caplog.text


def test_a_snapshot_of_a_pruned_day_is_refused(session: SparkSession, tmp_path: Path) -> None:
    """Its rows count as of the microsecond before it; one that was ingested before is no new one."""
    server = Server(tmp_path)
    server.snapshot(views(), at())
    for day in (0, 1, 3):
        server.project.add(short_talk(f"c{day}", day, ends=day < 3))
        server.project.take_in(session)
    assert prune(server.project, session)
    midnight = at(12 * 60, day=1)
    server.snapshot(views(), midnight)
    with pytest.raises(InputError, match=r"snap1 shows SQL1\.B at .*, a pruned day .*2026-11-22"):
        server.project.take_in(session)
    server.settings["snapshots"][-1]["taken_at"] = (midnight + TICK).isoformat()
    server.path.write_text(yaml.safe_dump(server.settings))
    server.project.take_in(session)
    assert len(server.project.table("snapshots")) == 2 * len(views())


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_killed_pruning_is_none_or_a_whole_one(
    session: SparkSession, unpruned: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """Killed after none of its commits, after that of the day, and after those of two tables."""
    project = unpruned.copied(tmp_path)
    before = contents(project, leave_out=["fold"])
    with dying(monkeypatch, Upkeep, "set_property", "prune", after=after), pytest.raises(BrokenOffError):
        prune(project, session)
    warehouse = project.warehouse(session)
    ids = {
        table.name: {
            row["conversation_id"] for row in warehouse.read(table).select("conversation_id").collect()
        }
        for table in (ENDPOINTS, ENDPOINT_FACTS, MESSAGES)
    }
    if after == 0:
        assert contents(project, leave_out=["fold"]) == before
        assert all("c0" in found for found in ids.values())
        return
    assert all(found == {"c1", "c2", "c3", "endless"} for found in ids.values())
    with pytest.raises(ConfigError, match=FIRST_LEFT):
        project.run(session, MIDNIGHTS[0])
    # Even a housekeeping that is not told to prune deletes what is left over.
    assert prune(project, session, days=None) == TOLD[after - 1 :]
    assert closed_days(project) == {"2026-11-22", "2026-11-23"}
    assert contents(project, leave_out=["fold"]) == without_c0(before)


def without_c0(before: dict[str, list[str]]) -> dict[str, list[str]]:
    """The rows of all tables but those of the first conversation in the ledger."""
    names = [table.name for table in LEDGER]
    return {
        name: [row for row in rows if name not in names or "conversation_id='c0'" not in row]
        for name, rows in before.items()
    }

"""Receives of small logs: which followed the levels, and what explains the others."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.commands import conformance as job
from pipelines.config.errors import ConfigError, PipelineError
from pipelines.conformance.read import request_at
from pipelines.conformance.receives import UNKNOWN_WITHOUT_QUEUE_EVENTS, receives_at
from pipelines.conformance.view import WITHOUT_QUEUE_EVENTS, receives_sentence
from pipelines.storage.collect import collect_rows
from schemas.conformance import CONFORMANCE
from tests.support.factories import NOON, Row
from tests.support.harness import Project, difference, same
from tests.support.random_logs import project_of
from tests.support.why_scenes.joined import join_scenes
from tests.support.why_scenes.scene import AS_OF, Scene, scenes

HIGH = "talk h contract=High, ready h/0 1, rule High 9 contract=High"
BOTH = f"{HIGH}, talk l, ready l/0 2"
"""A message at level 9 and one at level 5, each in a group of its own."""
LOW = "received l/0 t 5, COMMIT 5.5 transaction=t"
"""The lower one is received at 5."""
PASSED = "decisions=1 with_choice=1 passed=1 passable=1"
TOLERANCE = timedelta(milliseconds=2)
SCENES = scenes(
    "receives",
    f"""
    the highest level first
        {BOTH}, received h/0 t1 5, COMMIT 5.1 transaction=t1, received l/0 t2 6, COMMIT 6.1 transaction=t2
        => => counts: decisions=2 with_choice=1 conforming=1 passable=1
    a higher level was ready and free
        {BOTH}, {LOW} => => counts: {PASSED} unexplained=1
        => deviations: at=5 level=5 best_level=9 passed_groups=1 class=unexplained witness_message_id=h/0
    it was received by a WHERE
        {BOTH}, RECEIVE 5 transaction=t of=l where=true, {LOW} => => counts: where_clause=1
        => deviations: class=where_clause
    its group was held already
        {BOTH}, GET_CONVERSATION_GROUP 4 transaction=t of=l, {LOW} => => counts: {PASSED} own_group=1
        => deviations: class=own_group
    the server logged other levels
        talk h contract=High logged=5, ready h/0 1, rule High 9 contract=High, talk l logged=5, ready l/0 2,
        {LOW}
        => => counts: {PASSED} logged_level=1 => deviations: class=logged_level
    the higher one had just arrived
        {BOTH}, talk m contract=High, ready m/0 4.99999, received h/0 - 3, {LOW}
        => => counts: decisions=2 with_choice=2 conforming=1 passed=1 passable=2 timing=1
        => deviations: class=timing passed_groups=1
    a statement of the higher one was near
        {BOTH}, {LOW}, sent h/1 5.00001 sent_by_initiator=false => => counts: {PASSED} other_lock=1
        => deviations: class=other_lock
    the higher one was locked
        {BOTH}, RECEIVE 4 transaction=t9 of=h, {LOW} => => counts: decisions=1 lock_skipped=1
    of one level the oldest goes first
        talk a, ready a/0 1, talk b, ready b/0 2, received a/0 - 5, received b/0 - 6
        => => counts: decisions=2 ties=1 ties_oldest_first=1
    of one level the younger went first
        talk a, ready a/0 1, talk b, ready b/0 2, received b/0 - 5 => => counts: decisions=1 ties=1
    a part of a group
        talk a, ready a/0 1, ready a/1 1, ready a/2 1, received a/0 t 5, received a/1 t 5,
        COMMIT 5.5 transaction=t
        => => counts: decisions=1 partial=1
    a whole group
        talk a, ready a/0 1, ready a/1 2, received a/0 t 5, received a/1 t 5, COMMIT 5.5 transaction=t
        => => counts: decisions=1
    a later message of a group before an earlier one
        talk a, ready a/0 1, ready a/1 2, received a/1 - 5 => => counts: decisions=1 partial=1 within_group=1
    twice, the second time for nothing
        talk a, ready a/0 1, received a/0 t1 5, COMMIT 5.1 transaction=t1, received a/0 t2 6,
        COMMIT 6.1 transaction=t2
        => => counts: decisions=2 not_ready=1
    two at one instant
        {BOTH}, received h/0 t1 5, received l/0 t2 5
        => => counts: decisions=2 with_choice=1 conforming=1 passable=1
    the higher one had just been freed
        {BOTH}, RECEIVE 4 transaction=t9 of=h, COMMIT 4.99999 transaction=t9, {LOW}
        => => counts: {PASSED} timing=1 => deviations: class=timing
    its own transaction had just named the higher one
        {BOTH}, GET_CONVERSATION_GROUP 4.99999 transaction=t of=h, {LOW}
        => => counts: {PASSED} unexplained=1 => deviations: class=unexplained
    the endpoint of the higher one has ended
        {BOTH}, end h 3 is_initiator=false, {LOW} => => counts: decisions=1
    the endpoint of the higher one ends at that instant
        {BOTH}, end h 5 is_initiator=false, {LOW} => => counts: decisions=1
    the endpoint of the higher one ends a moment later
        {BOTH}, {LOW}, end h 5.00001 is_initiator=false => => counts: {PASSED} other_lock=1
        => deviations: class=other_lock
    the higher one was moved into the group
        {BOTH}, move h 3 is_initiator=false group='group l False', {LOW}
        => => counts: decisions=1 partial=1 within_group=1
    the higher one was moved into the group of a third one
        {BOTH}, talk m, ready m/0 3, move h 4 is_initiator=false group='group m False', {LOW}
        => => counts: {PASSED} unexplained=1 => deviations: passed_groups=1 witness_message_id=h/0
    in flight since another transaction took it
        {BOTH}, received h/0 t9 4, {LOW} => => counts: decisions=2 with_choice=1 conforming=1 passable=1
    in a queue beside it
        {BOTH}, reply l/1 1, received l/1 t 4 sent_by_initiator=false, {LOW}
        => => counts: {PASSED} unexplained=1, queue=InitiatorQueue decisions=1 => deviations: at=5
    the higher one was taken and given back at one instant
        {BOTH}, received h/0 t9 4, ROLLBACK 4 transaction=t9, {LOW}
        => => counts: decisions=2 with_choice=2 conforming=1 passed=1 passable=2 unexplained=1
        => deviations: at=5 class=unexplained
    rolled back, and received again
        {BOTH}, received l/0 t 5, ROLLBACK 5.5 transaction=t, received h/0 - 6
        => => counts: decisions=2 with_choice=2 conforming=1 passed=1 passable=2 unexplained=1
        => deviations: at=5 class=unexplained
    on its way to another instance it was overtaken
        begin h contract=High, create h contract=High instance=SQL2 database=C,
        rule High 9 in=A contract=High, begin l, create l instance=SQL2 database=C, sent h/0 0, sent l/0 1,
        ready l/0 9 instance=SQL2 database=C, ready h/0 10 instance=SQL2 database=C =>
    """,
)


COUNTS = [column.name for column in CONFORMANCE.columns if column.type == "bigint"]


@dataclass(frozen=True)
class Night:
    """A night of all scenes, and their marks."""

    project: Project
    scenes: Mapping[str, Scene]

    def tables(
        self, session: SparkSession, window: timedelta | None = None
    ) -> tuple[list[Row], list[Row], list[Row]]:
        """The tables of receives, of hours and of deviations."""
        asked = request_at(
            self.project.warehouse(session),
            self.project.settings(),
            as_of=AS_OF,
            window=window,
            tolerance=TOLERANCE,
            materialize=same,
        )
        receives, hours, deviations = receives_at(asked, tolerance=TOLERANCE, materialize=same)
        return collect_rows(receives), collect_rows(hours), collect_rows(deviations)

    def named(self, rows: Iterable[Row]) -> dict[str, list[Row]]:
        """The rows by their scene, without its mark; moments are in minutes after noon."""
        found: dict[str, list[Row]] = {}
        for row in rows:
            scene = self.scenes[row["instance"][:3]]
            found.setdefault(scene.name, []).append({name: shown(value) for name, value in row.items()})
        return found


def shown(value: Any) -> str:
    text = f"{(value - NOON) / timedelta(minutes=1):g}" if isinstance(value, datetime) else str(value)
    return re.sub(r"^\d\d\.(?=\D)", "", text)


def night_of(session: SparkSession, folder: Path, *, queue_events: bool = True) -> Night:
    [joined] = join_scenes(SCENES)
    log = joined.log if queue_events else replace(joined.log, queue_events=None)
    project = project_of(folder, log, activation=joined.activation)
    project.add(log.events)
    project.run(session, AS_OF)
    return Night(project, joined.scenes)


@pytest.fixture(scope="module")
def night(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Night:
    return night_of(session, tmp_path_factory.mktemp("night"))


def counted(row: Row) -> Row:
    """The counts of a row that are not 0, and its queue."""
    return {name: row[name] for name in COUNTS if row[name] not in ("0", "None")} | {"queue": row["queue"]}


@pytest.mark.slow
def test_receives_and_what_explains_deviations(session: SparkSession, night: Night) -> None:
    receives, hours, deviations = night.tables(session)
    found, told = night.named(receives), night.named(deviations)
    for scene in SCENES:
        expected = [{"queue": "TargetQueue", **row} for row in scene.details.get("counts", ())]
        counts = [counted(row) for row in found.get(scene.name, ())]
        assert sorted(counts, key=repr) == sorted(expected, key=repr), scene.name
        drawn = scene.details.get("deviations", ())
        columns = [*drawn[0]] if drawn else []
        passed = [{name: row[name] for name in columns} for row in told.get(scene.name, ())]
        assert passed == [*drawn], scene.name
    assert {row["hour"] for row in hours} == {NOON}
    names = ("instance", "queue", "decisions", "with_choice", "conforming", "passed", "passable", "fitness")
    of_hour, in_all = (
        sorted(repr([row[name] for name in names]) for row in rows if row["decisions"])
        for rows in (hours, receives)
    )
    assert of_hour == in_all


@pytest.mark.slow
def test_shares_and_windows(session: SparkSession, night: Night) -> None:
    """One of two groups was passed, as by chance; the window begins with the later receive."""
    name = "receives: rolled back, and received again"
    [row] = night.named(night.tables(session)[0])[name]
    assert (row["fitness"], row["skill"]) == ("0.5", "0.0")
    receives, _, deviations = night.tables(session, timedelta(minutes=54))
    [row] = night.named(receives)[name]
    assert (counted(row)["decisions"], row["fitness"], row["skill"]) == ("1", "1.0", "1.0")
    assert deviations == []


@pytest.mark.slow
def test_the_command_writes_the_tables(
    session: SparkSession, night: Night, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project, out = night.project, tmp_path / "out"
    asked = ["--config", project.config, "--as-of", AS_OF.isoformat(), "--tolerance-ms", "2"]
    assert job.main([*asked, "--out", str(out), "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    receives, hours, deviations = night.tables(session)
    tables = {"conformance": receives, "conformance_hours": hours, "conformance_deviations": deviations}
    for name, expected in tables.items():
        rows = DeltaTable(str(out / name)).to_pyarrow_table().to_pylist()
        assert difference(rows, expected) == [], name
    assert report["receives"]["decisions"] == sum(row["decisions"] for row in receives)
    [link] = DeltaTable(str(out / "conformance_links")).to_pyarrow_table().to_pylist()
    mark = f"{len(SCENES) - 1}."
    assert link == {
        "as_of": AS_OF,
        "sending_instance": f"{mark}SQL1",
        "receiving_instance": f"{mark}SQL2",
        "messages": 2,
        "with_inversion": 1,
        "inversions": 1,
        "inversions_fragmented": None,
    }

    assert job.main([*asked, "--limit", "3"]) == 0
    told = capsys.readouterr().out
    counts = report["receives"]
    assert (
        f"Of {counts['with_choice']} receives that could choose between levels, {counts['conforming']} passed"
        in told
    )
    assert "have no RECEIVE, COMMIT or ROLLBACK events" in told
    assert "ROLLBACK" not in receives_sentence({**report, "silent_queues": 0})
    assert sum(line.startswith("- at ") for line in told.splitlines()) == 3
    with pytest.raises(ConfigError, match="--out"):
        job.main([*asked, "--out", str(project.folder / "warehouse" / "answers")])
    with pytest.raises(ConfigError, match=r"--tolerance-ms: '-1' is not a whole number of 0"):
        job.main([*asked, "--tolerance-ms=-1"])
    with pytest.raises(PipelineError, match="2026-11-20T11:00:00Z was not published"):
        job.main(["--config", project.config, "--as-of", "2026-11-20T11:00:00Z"])


@pytest.mark.slow
def test_without_queue_events_locks_are_not_known(
    session: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every RECEIVED counts as committed then; what depends on locks and on WHERE is null."""
    night = night_of(session, tmp_path, queue_events=False)
    found = night.named(night.tables(session)[0])
    rows = [row for rows in found.values() for row in rows]
    assert {row[name] for row in rows for name in UNKNOWN_WITHOUT_QUEUE_EVENTS} == {"None"}
    [locked] = found["receives: the higher one was locked"]
    passed = dict(word.split("=") for word in PASSED.split())
    assert counted(locked) == {"queue": "TargetQueue", **passed, "unexplained": "1"}
    capsys.readouterr()
    assert job.main(["--config", night.project.config]) == 0
    text = capsys.readouterr().out
    assert WITHOUT_QUEUE_EVENTS in text
    assert "unexplained; locks and WHERE are not known" in text
    assert "no lock, no WHERE" not in text

"""The replay against a naive model that looks at all groups at every choice, and what is said of it."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.commands import replay as job
from pipelines.config.errors import ConfigError, PipelineError
from pipelines.replay.read import open_replay
from pipelines.replay.report import report_replay
from pipelines.replay.request import Period, ReplayRequest
from pipelines.replay.view import sentence
from pipelines.settings.proposal import read_replacement
from pipelines.storage.collect import collect_rows
from tests.support.factories import (
    NOON,
    TARGET,
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
from tests.support.harness import Project, difference, one_log
from tests.support.model.endpoints import Endpoint
from tests.support.model.replay import Inputs, as_logged, is_off, replay as by_model, waits
from tests.support.model.rules import Rule
from tests.support.model.vocabulary import queue_of
from tests.support.model.whatif import decided, standing
from tests.support.proposals import other_levels, written
from tests.support.random_logs import project_of, random_logs
from tests.support.strategies import Log
from tests.support.strategies.busy import BEGIN, END, MOMENT, TICK, busy_log, crowded_log

BUSY, CROWDED, RANDOM = 4, 6, 4
Night = tuple[Project, list[Log]]


def night_of(session: SparkSession, folder: Path, log: Log) -> Project:
    project = project_of(folder, log)
    project.add(log.events)
    project.run(session, log.as_of)
    return project


@pytest.fixture(scope="module")
def night(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Night:
    """Busy queues, queues where much happens at one instant, and random logs, all some days ago."""
    logs = [busy_log(number) for number in range(BUSY)]
    logs += [crowded_log(number) for number in range(CROWDED)]
    logs += [log for log in random_logs(RANDOM, 61) if log.queue_events]
    settings = {"as_of": at(day=5), "top": None, "starvation": None, "blocks": None}
    logs = [replace(log, **settings) for log in logs]
    return night_of(session, tmp_path_factory.mktemp("night"), one_log(logs)), logs


def modelled(
    logs: list[Log], asked: ReplayRequest, other: Callable[[list[Row]], list[Row]] | None = None
) -> tuple[list[Row], list[Row]]:
    """What the model finds in each log, marked as `one_log` does; with other rules by their levels."""
    messages: list[Row] = []
    queues: list[Row] = []
    for number, log in enumerate(logs):
        alone = one_log([log])
        inputs = Inputs(alone.events, alone.catalog, alone.rules, asked.period.start, asked.period.end, 100)
        rules = standing(other(alone.rules)) if other else []

        def level(endpoint: Endpoint, rules: list[Rule] = rules) -> int:
            stays = other is None or (asked.as_if is not None and endpoint.created_at < asked.as_if)
            return endpoint.priority if stays else decided(endpoint, rules).priority

        found = by_model(inputs, level, readers=asked.readers, top=asked.top, drain=asked.drain)
        for rows, more in zip((messages, queues), found, strict=True):
            rows += [renumbered(row, number) for row in more]
    return messages, queues


def renumbered(row: Row, number: int) -> Row:
    """The row of the first of some logs as that of another one of them."""
    return row | {name: f"{number:02d}{row[name][2:]}" for name in ("instance", "message_id") if name in row}


def answered(
    session: SparkSession, project: Project, asked: ReplayRequest
) -> tuple[dict[str, list[Row]], Row]:
    """The tables of a replay, and its report."""
    with open_replay(project.warehouse(session), project.settings(), asked) as answer:
        tables = {name: collect_rows(frame) for name, frame in answer.by_name().items()}
        return tables, report_replay(answer, asked, limit=20)


def require_messages(found: list[Row], expected: list[Row]) -> None:
    assert expected
    columns = [name for name in found[0] if name != "scenario"]
    rows = [[{name: row[name] for name in columns} for row in side] for side in (found, expected)]
    assert difference(*rows) == []


def require_queues(found: list[Row], expected: list[Row], *, knows_readers: bool) -> None:
    of_queues = {queue_of(row): row for row in found}
    for row in expected:
        ours = of_queues[queue_of(row)]
        assert ours["most_ready"] == row["most_ready"], row
        assert ours["empty_at"] == row["empty_at"], row
        if not knows_readers:
            assert (ours["readers"], ours["busy_seconds"], ours["idle_locked_seconds"]) == (None, None, None)
            continue
        assert ours["readers"] == row["readers"], row
        assert ours["busy_seconds"] == pytest.approx(row["busy"].total_seconds()), row
        assert ours["idle_locked_seconds"] == pytest.approx(row["idle_locked"].total_seconds()), row


FIGURES = ("wait_p50", "wait_p90", "wait_p95", "wait_p99", "wait_max", "wait_mean", "at_least")
COUNTS = ("messages", "served", "unserved", "estimated")


def level_of(row: Row) -> tuple[str, ...]:
    """Queue and level."""
    return (*queue_of(row), row["level"])


def require_waits(found: dict[str, list[Row]], messages: list[Row], period: Period) -> None:
    """Waits and calibration of the scenario actual."""
    ours = {level_of(row): row for row in found["replay_waits"] if row["scenario"] == "actual"}
    compared = {level_of(row): row for row in found["replay_calibration"]}
    expected: dict[tuple[str, ...], list[Row]] = {}
    for row in messages:
        expected.setdefault(level_of(row), []).append(row)
    assert ours.keys() == compared.keys() == expected.keys()
    off = set()
    for place, rows in expected.items():
        figures = waits(rows, period.end)
        logged = waits(as_logged(rows, period.start, period.end), period.end)
        assert {name: ours[place][name] for name in COUNTS} == {name: figures[name] for name in COUNTS}
        for name in FIGURES:
            assert ours[place][name] == pytest.approx(figures[name]), (place, name)
        for rank in ("p50", "p95"):
            for side, known in (("logged", logged), ("replayed", figures)):
                assert compared[place][f"{side}_{rank}"] == pytest.approx(known[f"wait_{rank}"]), place
            if is_off(logged[f"wait_{rank}"], figures[f"wait_{rank}"]):
                off.add(place)
    assert off == {place for place, row in compared.items() if row["verdict"] == "off"}
    for table in ("replay_waits", "replay_queues", "replay_calibration"):
        for row in found[table]:
            assert row["calibrated"] == (queue_of(row) not in {place[:3] for place in off}), row


def require_as_modelled(
    session: SparkSession, project: Project, logs: list[Log], asked: ReplayRequest
) -> tuple[list[Row], list[Row], Row]:
    """Compare all tables; the messages and queues of the model, and the report."""
    messages, queues = modelled(logs, asked)
    found, report = answered(session, project, asked)
    require_messages(found["replay_messages"], messages)
    knows_readers = asked.readers is not None or asked.drain or logs[0].queue_events is not None
    require_queues(found["replay_queues"], queues, knows_readers=knows_readers)
    require_waits(found, messages, asked.period)
    return messages, queues, report


@pytest.mark.slow
@pytest.mark.parametrize(
    ("period", "readers", "top", "drain"),
    [
        (Period(BEGIN, END), None, 1, True),
        (Period(BEGIN, BEGIN + 6 * MOMENT), None, None, False),
        (Period(BEGIN + 2 * MOMENT, BEGIN + 2 * MOMENT), None, 1, True),
    ],
)
def test_queues_play_as_the_model_does(
    session: SparkSession, night: Night, period: Period, readers: int | None, top: int | None, drain: bool
) -> None:
    """Ends at arrivals and at borders of the period, WHERE with and without sessions, empty periods."""
    project, logs = night
    asked = ReplayRequest(period, readers=readers, top=top, drain=drain)
    messages, queues, _ = require_as_modelled(session, project, logs, asked)
    if readers is None and not drain:
        assert 0 in {row["readers"] for row in queues}
    if period == Period(BEGIN, END):
        assert sum(row["started_at"] is not None for row in messages) > 5 * BUSY
        assert any(row["idle_locked"] for row in queues)


@pytest.mark.slow
def test_a_proposal_plays_the_same_messages_by_its_levels(session: SparkSession, night: Night) -> None:
    """It is asked as if it stood from within the log on: earlier endpoints keep their levels."""
    project, logs = night
    as_if = NOON + 5 * TICK
    path = written(project.folder / "other.yaml", other_levels(one_log(logs).rules))
    proposal = read_replacement(project.settings(), [path])
    asked = ReplayRequest(Period(BEGIN, END), proposal=proposal, as_if=as_if, readers=2, top=2)
    found, report = answered(session, project, asked)
    for scenario, rules in (("actual", None), ("proposed", other_levels)):
        messages, queues = modelled(logs, asked, rules)
        messages_found, queues_found = (
            [row for row in found[name] if row["scenario"] == scenario]
            for name in ("replay_messages", "replay_queues")
        )
        require_messages(messages_found, messages)
        require_queues(queues_found, queues, knows_readers=True)
        if scenario == "actual":
            require_waits(found, messages, asked.period)
    assert report["waits"][0]["difference_p95"]
    assert "With the proposal, at percentile 95, level" in sentence(report)


@pytest.mark.slow
def test_without_queue_events_readers_and_work_are_not_known(session: SparkSession, tmp_path: Path) -> None:
    logs = [replace(busy_log(number), queue_events=None) for number in range(2)]
    project = night_of(session, tmp_path, one_log(logs))
    for readers, drain in ((None, False), (2, True)):
        asked = ReplayRequest(Period(BEGIN, END), readers=readers, drain=drain)
        messages, _, report = require_as_modelled(session, project, logs, asked)
        assert any(row["started_at"] for row in messages) is drain
        assert drain or "give --readers N" in sentence(report)


def talk(name: str, since: datetime, arrived_at: datetime, place: Row, **changes: str) -> list[Row]:
    """A conversation with one message, which arrives at a place."""
    return [
        endpoint_event(conversation=name, event_time=since, **changes),
        endpoint_event("DIALOG_CREATED", name, event_time=since, **place, **changes),
        message_event("DELIVERED", f"{name}/0", event_time=arrived_at, **place),
    ]


def taken(name: str, since: datetime, until: datetime, place: Row, queue: str) -> list[Row]:
    """A session receives the message in a transaction of its own."""
    of_queue = {**place, "queue": queue, "session_id": 51, "transaction_id": name}
    return [
        message_event("RECEIVED", f"{name}/0", event_time=since, **place, transaction_id=name),
        queue_event("RECEIVE", event_time=since, **of_queue),
        queue_event("COMMIT", event_time=until, **of_queue),
    ]


def two_tiers() -> list[Row]:
    """Gold and Silver wait at noon for one session that takes a message a minute, each in its own group."""
    place = {"instance": "SQL1", "database": "B"}
    rows = []
    for minute, tier in enumerate(("Gold", "Gold", "Silver", "Silver")):
        name = f"{tier} {minute}"
        rows += talk(name, at(-5), at(-1), place, contract=tier)
        rows += taken(name, at(minute), at(minute + 1), place, "TargetQueue")
    return rows


def unread() -> list[Row]:
    """Two messages in a queue that no session reads."""
    place = {"instance": "SQL3", "database": "D"}
    return [row for number in range(2) for row in talk(f"k{number}", at(-40), at(number), place)]


def work_after_the_period() -> list[Row]:
    """Work of ten seconds in the first half hour, three times that of a minute later, and a message left."""
    place = {"instance": "SQL4", "database": "E"}
    rows = talk("never", at(9), at(10), place)
    for name, minute, seconds in (("a", 20, 10), ("b", 60, 60), ("c", 65, 60), ("d", 70, 60)):
        since = at(minute + 1)
        rows += talk(name, at(minute - 1), at(minute), place)
        rows += taken(name, since, since + timedelta(seconds=seconds), place, "LateQueue")
    return rows


@pytest.fixture(scope="module")
def scenes(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Three queues at two hours."""
    further = {
        "SQL3": [database("D", TARGET, "UnreadQueue")],
        "SQL4": [database("E", TARGET, "LateQueue")],
    }
    rules = [
        create_rule("Gold", 8, database="B", contract="Gold"),
        create_rule("Silver", 6, database="B", contract="Silver"),
    ]
    project = Project(tmp_path_factory.mktemp("scenes"), catalog=catalog(further), rules=rules)
    project.add(by_source(*two_tiers(), *unread(), *work_after_the_period()))
    project.run(session, at(120))
    return project


SILVER_FIRST = """
USE [B];
CREATE BROKER PRIORITY [Silver] FOR CONVERSATION SET (CONTRACT_NAME = [Silver], PRIORITY_LEVEL = 9);
"""


@pytest.mark.slow
def test_it_is_told_on_one_screen(
    scenes: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--config", scenes.config, "--from", at(0).isoformat(), "--to", at(30).isoformat()]
    asked += ["--queue", "SQL1.B.TargetQueue"]
    script = tmp_path / "silver.sql"
    script.write_text(SILVER_FIRST)
    gold = written(tmp_path / "gold.yaml", [create_rule("Gold", 8, database="B", contract="Gold")])
    rules = ["--rules", gold, f"SQL1={script}"]
    capsys.readouterr()
    out = tmp_path / "out"
    assert job.main([*asked, *rules, "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Assumed: messages arrive as they did")
    assert (
        "With the proposal, at percentile 95, level 6 of SQL1.B.TargetQueue waits 2 min less and level 8 "
        "of SQL1.B.TargetQueue waits 2 min longer; the replay follows the log in all of 1 queue."
    ) in shown
    assert len(shown.splitlines()) <= 40
    rows = DeltaTable(str(out / "replay_messages")).to_pyarrow_table().to_pylist()
    started = {
        scenario: {row["message_id"]: row["started_at"] for row in rows if row["scenario"] == scenario}
        for scenario in ("actual", "proposed")
    }
    names = ("Gold 0/0", "Gold 1/0", "Silver 2/0", "Silver 3/0")
    assert started["actual"] == dict(zip(names, map(at, range(4)), strict=True))
    assert started["proposed"] == dict(zip(names, map(at, (2, 3, 0, 1)), strict=True))

    assert job.main([*asked, "--readers", "1..3", "--drain", "--format", "json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [row["wait_p95"] for row in result["curve"]] == [240_000.0, 120_000.0, 120_000.0]
    [enough] = result["enough"]
    assert (enough["readers"], enough["locked"]) == (2, False)
    assert [row["empty_at"] for row in result["queues"]] == [at(4).strftime("%Y-%m-%dT%H:%M:%SZ")]

    assert job.main([*asked, "--readers", "1..2"]) == 0
    shown = capsys.readouterr().out
    assert "Waits by number of readers" in shown
    assert "SQL1.B.TargetQueue: each more reader of this range still helps" in shown


@pytest.mark.slow
def test_work_was_shared_with_messages_that_are_closed_since(session: SparkSession, night: Night) -> None:
    project, logs = night
    asked = ReplayRequest(Period(at(day=3), at(day=3, minute=300)), readers=1, top=2, drain=True)
    messages, _, _ = require_as_modelled(session, project, logs, asked)
    worked = [row for row in messages if row["started_at"] and row["finished_at"] > row["started_at"]]
    assert any(not row["estimated"] for row in worked)
    assert any(row["closed_on"] for row in project.table("message_events", ["closed_on"]))


@pytest.mark.slow
def test_a_queue_that_nobody_read_has_a_reader_to_drain_it(session: SparkSession, scenes: Project) -> None:
    """To drain it takes one, which works a tenth of a second on each of two messages."""
    asked = ReplayRequest(Period(at(0), at(30)), queues=["SQL3.D.UnreadQueue"], drain=True)
    tables, _ = answered(session, scenes, asked)
    [queue] = tables["replay_queues"]
    found = [queue[name] for name in ("readers", "busy_seconds", "idle_locked_seconds", "empty_at")]
    assert found == [1, 0.2, 0.0, at(30) + timedelta(milliseconds=200)]


@pytest.mark.slow
def test_work_after_the_period_counts_for_medians(session: SparkSession, scenes: Project) -> None:
    """Also that of conversations that are begun only then: one took ten seconds, three after it a minute."""
    asked = ReplayRequest(Period(at(0), at(30)), queues=["SQL4.E.LateQueue"], readers=1)
    tables, _ = answered(session, scenes, asked)
    messages = {row["message_id"]: row for row in tables["replay_messages"]}
    assert messages["never/0"]["finished_at"] == at(11)


@pytest.mark.slow
def test_what_can_not_be_asked(scenes: Project, tmp_path: Path) -> None:
    def refused(said: str, *options: str, since: int = 0, until: int = 30) -> None:
        span = ["--from", at(since).isoformat(), "--to", at(until).isoformat()]
        with pytest.raises(ConfigError, match=said):
            job.main(["--config", scenes.config, *span, *options])

    refused(r"--from 2026-11-20T12:30:00Z is not before --to 2026-11-20T12:00", since=30, until=0)
    refused(r"is in the future: the ledger goes to 2026-11-20T14:00:00Z", until=121)
    refused("no message is ready in that time", since=-60, until=-50)
    refused(r"no message is ready in SQL2\.C\.TargetQueue in that time", "--queue", "SQL2.C.TargetQueue")
    refused(r"--queue Targetqueue: .* you mean SQL1.B.TargetQueue or SQL2", "--queue", "Targetqueue")
    refused(r"TargetQueue is one of SQL1.B.TargetQueue, SQL2.C.TargetQueue", "--queue", "TargetQueue")
    refused("not a whole number of 1", "--readers", "0")
    refused("not a range", "--readers", "4..2")
    refused("not a whole", "--readers", "few")
    refused("--as-if says since when --rules or --proposed stand", "--as-if", at(0).isoformat())
    refused("lies in the warehouse", "--out", str(scenes.folder / "warehouse" / "answers"))
    unpublished = Project(tmp_path, catalog=catalog())
    with pytest.raises(PipelineError, match="no run was published yet"):
        job.main(["--config", unpublished.config, "--from", at(0).isoformat(), "--to", at(30).isoformat()])

"""What receives and links really did, against a model that looks at everything before every decision."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.commands import conformance as job
from pipelines.config.errors import ConfigError, PipelineError
from pipelines.conformance.read import links_at, request_at
from pipelines.conformance.receives import receives_at
from pipelines.conformance.view import WITHOUT_QUEUE_EVENTS, print_conformance
from pipelines.console.wording import format_queue
from pipelines.state.messages import describe_messages
from pipelines.storage.collect import collect_rows
from schemas.events import MESSAGES
from tests.support.factories import (
    INITIATOR,
    NOON,
    Row,
    at,
    by_source,
    catalog,
    create_rule,
    database,
    endpoint_event,
    message_event,
)
from tests.support.harness import Project, difference, one_log, same
from tests.support.model.conformance import CLASSES, conformance, conformance_links
from tests.support.random_logs import project_of
from tests.support.running_sums import comparable, figures_at
from tests.support.strategies import Log
from tests.support.strategies.busy import TICK, busy_log
from tests.support.strategies.crowded import TICK as CROWDED_TICK, crowded_log

BUSY, LOGS, CROWDED = 10, 12, 30
EVER = datetime(1970, 1, 1, tzinfo=UTC)


def with_logged_levels(log: Log, random: Random) -> Log:
    """The levels that the server logged: mostly those of the rules."""
    levels = {"Gold": 9, "Silver": 6, "Lead": 2}
    rows = [
        {**row, "logged_priority": random.choice((levels.get(row["contract"], 5),) * 9 + (10, 1, None))}
        if row.get("contract")
        else row
        for row in log.endpoint_events
    ]
    return replace(log, endpoint_events=rows)


def night_of(session: SparkSession, folder: Path, logs: list[Log]) -> tuple[Project, list[Log]]:
    log = one_log(logs)
    project = project_of(folder, log)
    project.add(log.events)
    project.run(session, log.as_of)
    return project, [replace(each, as_of=log.as_of) for each in logs]


@pytest.fixture(scope="module")
def busy(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, list[Log]]:
    random = Random(5)
    logs = [with_logged_levels(busy_log(number), random) for number in range(BUSY)]
    return night_of(session, tmp_path_factory.mktemp("busy"), logs)


def renumbered(row: Row, number: int) -> Row:
    """The row of the first of some logs as that of another one of them."""
    marked = (
        "instance",
        "sending_instance",
        "receiving_instance",
        "conversation_group_id",
        "witness_message_id",
    )
    return row | {name: f"{number:02d}{row[name][2:]}" for name in marked if name in row}


def modelled(logs: list[Log], since: datetime, tolerance: timedelta) -> dict[str, list[Row]]:
    tables: dict[str, list[Row]] = {"conformance": [], "conformance_hours": [], "conformance_deviations": []}
    for number, log in enumerate(logs):
        alone = one_log([log])
        rows = conformance(
            alone.events,
            catalog=alone.catalog,
            rules=alone.rules,
            as_of=log.as_of,
            since=since,
            tolerance=tolerance,
        )
        for name, found in rows.items():
            tables[name] += [renumbered(row, number) for row in found]
    return tables


def found(
    session: SparkSession, project: Project, as_of: datetime, window: timedelta | None, tolerance: timedelta
) -> dict[str, list[Row]]:
    asked = request_at(
        project.warehouse(session), project.settings(), as_of=as_of, window=window, materialize=same
    )
    frames = receives_at(asked, tolerance=tolerance, materialize=same)
    names = ("conformance", "conformance_hours", "conformance_deviations")
    tables = dict(zip(names, map(collect_rows, frames), strict=True))
    for row in tables["conformance"]:
        row["skill"] = None if row["skill"] is None else round(row["skill"], 9)
    return tables


@pytest.mark.spark
@pytest.mark.parametrize(
    ("window", "tolerance"),
    [(None, timedelta(milliseconds=1)), (None, TICK), (40 * TICK, timedelta(0))],
)
def test_receives_equal_the_model(
    session: SparkSession, busy: tuple[Project, list[Log]], window: timedelta | None, tolerance: timedelta
) -> None:
    project, logs = busy
    as_of = logs[0].as_of
    expected = modelled(logs, EVER if window is None else as_of - window, tolerance)
    tables = found(session, project, as_of, window, tolerance)
    for name, rows in expected.items():
        assert difference(tables[name], rows) == [], name
    if tolerance == TICK:
        assert {row["class"] for row in expected["conformance_deviations"]} == set(CLASSES)


@pytest.fixture(scope="module")
def crowded(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, list[Log]]:
    logs = [crowded_log(number) for number in range(CROWDED)]
    return night_of(session, tmp_path_factory.mktemp("crowded"), logs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hours", "tolerance"),
    [
        pytest.param(None, timedelta(milliseconds=1), marks=pytest.mark.spark),
        (None, 2 * CROWDED_TICK),
        (3.75, timedelta(microseconds=2)),
    ],
)
def test_what_happens_at_one_instant_equals_the_model(
    session: SparkSession, crowded: tuple[Project, list[Log]], hours: float | None, tolerance: timedelta
) -> None:
    """Endpoints that end as they receive or before the COMMIT, moves and outcomes at decisions: both ways."""
    project, logs = crowded
    as_of, window = logs[0].as_of, None if hours is None else timedelta(hours=hours)
    expected = modelled(logs, EVER if window is None else as_of - window, tolerance)
    asked = request_at(
        project.warehouse(session),
        project.settings(),
        as_of=as_of,
        window=window,
        tolerance=tolerance,
        materialize=same,
    )
    for name, frame in zip(expected, receives_at(asked, tolerance=tolerance, materialize=same), strict=True):
        assert expected[name]
        assert difference(map(rounded, collect_rows(frame)), expected[name]) == [], name
    assert difference(figures_at(asked), comparable(expected["conformance"])) == []


def rounded(row: Row) -> Row:
    return row | {"skill": round(row["skill"], 9)} if row.get("skill") is not None else row


@pytest.mark.parametrize("window", [None, pytest.param(40 * TICK, marks=pytest.mark.spark)])
def test_running_sums_give_the_same_figures(
    session: SparkSession, busy: tuple[Project, list[Log]], window: timedelta | None
) -> None:
    project, logs = busy
    asked = request_at(
        project.warehouse(session), project.settings(), as_of=logs[0].as_of, window=window, materialize=same
    )
    since = EVER if window is None else asked.as_of - window
    counted = comparable(modelled(logs, since, TICK)["conformance"])
    assert difference(figures_at(asked), counted) == []
    assert sum(row["lock_skipped"] for row in counted) > 0
    assert sum(row["passed"] for row in counted) > 0


@pytest.mark.slow
def test_the_command_writes_the_tables(
    session: SparkSession, busy: tuple[Project, list[Log]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project, logs = busy
    as_of = logs[0].as_of
    asked = ["--config", project.config, "--as-of", as_of.isoformat()]
    out = tmp_path / "out"
    assert job.main([*asked, "--out", str(out), "--tolerance-ms", "1", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    expected = modelled(logs, EVER, timedelta(milliseconds=1))
    rows = DeltaTable(str(out / "conformance")).to_pyarrow_table().to_pylist()
    for row in rows:
        row["skill"] = None if row["skill"] is None else round(row["skill"], 9)
    assert difference(rows, expected["conformance"]) == []
    rows = DeltaTable(str(out / "conformance_deviations")).to_pyarrow_table().to_pylist()
    assert difference(rows, expected["conformance_deviations"]) == []
    assert report["receives"]["decisions"] == sum(row["decisions"] for row in expected["conformance"])

    assert job.main([*asked, "--limit", "3"]) == 0
    shown = capsys.readouterr().out
    counts = report["receives"]
    assert (
        f"Of {counts['with_choice']} receives that could choose between levels, {counts['conforming']} passed"
        in shown
    )
    assert sum(line.startswith("- at ") for line in shown.splitlines()) == 3
    with pytest.raises(ConfigError, match="--out"):
        job.main([*asked, "--out", str(project.folder / "warehouse" / "answers")])
    with pytest.raises(ConfigError, match=r"--tolerance-ms: '-1' is not a whole number of 0"):
        job.main([*asked, "--tolerance-ms=-1"])
    with pytest.raises(PipelineError, match="2026-11-20T11:00:00Z was not published"):
        job.main(["--config", project.config, "--as-of", "2026-11-20T11:00:00Z"])


FAR = {"instance": "SQL2", "database": "C"}
BLOCKS = {"fragment_bytes": 100, "fragments": 3}


def on_links(number: int) -> Log:
    """Many messages between two instances, by clocks that have few ticks."""
    random = Random(number)
    rows: list[Row] = []
    for each in range(8):
        name = f"c{each}"
        contract = random.choice(("Gold", "Silver", "Lead", "Other"))
        rows.append(endpoint_event("BEGIN_DIALOG", name, contract=contract))
        if random.randrange(6):
            rows.append(endpoint_event("DIALOG_CREATED", name, contract=contract, **FAR))
        for sequence in range(random.randrange(7)):
            forth = random.randrange(3) > 0
            what = {"sent_by_initiator": forth, "size_bytes": random.choice((None, 100, 101, 5000))}
            near, far = ({}, FAR) if forth else (FAR, {"instance": "SQL1", "database": "A"})
            message = f"{name}/{sequence}"
            if random.randrange(8):
                sent = at(random.randrange(1, 12))
                rows.append(message_event("SENT", message, event_time=sent, **what, **near))
            if random.randrange(8):
                came = at(random.randrange(1, 12))
                rows.append(message_event("DELIVERED", message, event_time=came, **what, **far))
            if not random.randrange(8):
                place = random.choice((near, {"instance": "SQL1", "database": "B"}))
                rows.append(message_event("FORWARD_ACCEPTED", message, event_time=at(3), **what, **place))
    honors = bool(random.randrange(3))
    places = catalog({"SQL1": [database("A", INITIATOR, "InitiatorQueue", honor=honors)]})
    rules = [
        create_rule(f"{name} {instance}", level, instance=instance, database=where, contract=name)
        for name, level in (("Gold", 9), ("Silver", 6), ("Lead", 2))
        for instance, where in (("SQL1", "A"), ("SQL2", "C"))
    ]
    return replace(busy_log(0), **by_source(*rows), catalog=places, rules=rules, as_of=at(11))


@pytest.mark.spark
@pytest.mark.parametrize("blocks", [None, BLOCKS])
def test_links_equal_the_model(session: SparkSession, tmp_path: Path, blocks: Row | None) -> None:
    project, logs = night_of(
        session, tmp_path, [replace(on_links(each), blocks=blocks) for each in range(LOGS)]
    )
    window = timedelta(minutes=8)
    expected = []
    for number, log in enumerate(logs):
        alone = one_log([log])
        rows = conformance_links(
            alone.events,
            catalog=alone.catalog,
            rules=alone.rules,
            as_of=log.as_of,
            since=log.as_of - window,
            fragment_bytes=blocks and blocks["fragment_bytes"],
        )
        expected += [renumbered(row, number) for row in rows]
    warehouse = project.warehouse(session)
    messages = describe_messages(warehouse.read(MESSAGES), same)
    links = links_at(warehouse, project.settings(), as_of=logs[0].as_of, window=window, messages=messages)
    assert difference(collect_rows(links), expected) == []
    assert sum(row["inversions"] for row in expected) > LOGS
    assert any(row["inversions_fragmented"] for row in expected) == (blocks is not None)


def test_receives_by_the_levels_fit(session: SparkSession, tmp_path: Path) -> None:
    """A reader that takes the highest level first obeys; one that draws lots has skill near 0."""
    obeying, drawing = 0.0, 0.0
    for seed, by_level in ((1, True), (2, False)):
        log = drained(Random(seed), by_level=by_level)
        project, _ = night_of(session, tmp_path / str(seed), [log])
        [row] = found(session, project, log.as_of, None, timedelta(0))["conformance"]
        assert row["decisions"] == CONVERSATIONS
        if by_level:
            assert (row["fitness"], row["passed"], row["unexplained"]) == (1.0, 0, 0)
            obeying = row["skill"]
        else:
            drawing = row["skill"]
    assert obeying == 1.0
    assert abs(drawing) < 0.1


CONVERSATIONS = 300


def drained(random: Random, *, by_level: bool) -> Log:
    """Messages of many conversations that all stand ready, received one after the other."""
    log = busy_log(0)
    levels = {"Gold": 9, "Silver": 6, "Lead": 2}
    rows: list[Row] = []
    order: list[tuple[int, str]] = []
    for number in range(CONVERSATIONS):
        contract = random.choice(list(levels))
        name = f"c{number}"
        made = {"contract": contract, "event_time": NOON, "conversation_group_id": f"g{number}"}
        rows += [endpoint_event(kind, name, **made) for kind in ("BEGIN_DIALOG", "DIALOG_CREATED")]
        rows.append(message_event("DELIVERED", f"{name}/0", event_time=NOON + timedelta(seconds=number)))
        order.append((-levels[contract] if by_level else 0, name))
    if by_level:
        order.sort(key=lambda each: each[0])
    else:
        random.shuffle(order)
    for number, (_, name) in enumerate(order):
        moment = NOON + timedelta(hours=1, seconds=number)
        rows.append(message_event("RECEIVED", f"{name}/0", event_time=moment))
    return replace(log, **by_source(*rows))


def test_without_queue_events_locks_are_not_known(
    session: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every RECEIVED counts as committed then; what depends on locks and on WHERE is null."""
    logs = [replace(busy_log(number), queue_events=None) for number in range(6)]
    project, logs = night_of(session, tmp_path, logs)
    expected = modelled(logs, EVER, timedelta(0))
    unknown = dict.fromkeys(("lock_skipped", "where_clause", "own_group"))
    expected["conformance"] = [row | unknown for row in expected["conformance"]]
    tables = found(session, project, logs[0].as_of, None, timedelta(0))
    for name, rows in expected.items():
        assert rows
        assert difference(tables[name], rows) == [], name
    print_conformance(
        {
            "as_of": logs[0].as_of,
            "endpoints": {
                "endpoints": 0,
                "logged": 0,
                "differing": 0,
                "of_server": 0,
                "differing_today": 0,
            },
            "has_queue_events": False,
            "has_receives": True,
            "silent_queues": 0,
            "receives": {"decisions": 10, "with_choice": 4, "conforming": 1},
            "levels": [],
            "queues": tables["conformance"][:1],
            "deviations": [{**tables["conformance_deviations"][0], "locks_known": False}],
            "links": [],
        }
    )
    text = capsys.readouterr().out
    assert "Of 4 receives that could choose between levels, 1 passed no higher one." in text
    assert WITHOUT_QUEUE_EVENTS in text
    worst = tables["conformance_deviations"][0]
    assert (
        f"took group {worst['conversation_group_id']} of {format_queue(worst)} at level {worst['level']}"
        in text
    )
    assert "no lock, no WHERE" not in text

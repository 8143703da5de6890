"""What-if against a naive model that plays both rule sets apart, and what is said of it."""

import copy
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import yaml
from deltalake import DeltaTable
from hypothesis import given, settings, strategies as st
from pyspark.sql import DataFrame, SparkSession

from pipelines.commands import report as page, whatif as job
from pipelines.commands.steps import run_rules
from pipelines.commands.upkeep import run_reassign
from pipelines.config.errors import ConfigError, PipelineError, ReconciliationError
from pipelines.config.instants import format_instant
from pipelines.engine.frames import small_frame
from pipelines.nightly.night import describe
from pipelines.questions.overtaken import count_passed_by_level
from pipelines.report.whatif import read_whatif_tables
from pipelines.schedules.orders import receive_order
from pipelines.settings.load import load_settings
from pipelines.settings.proposal import keep_standing_rules, read_changes, read_replacement
from pipelines.settings.proposed_settings import read_proposed_settings
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from pipelines.whatif.read import WhatIf, require_sums, what_if
from pipelines.whatif.report import report_whatif
from pipelines.whatif.request import TODAY
from pipelines.whatif.view import sentence
from schemas.whatif import WHATIF_TABLES
from tests.support.factories import Row, at, by_source, catalog, create_rule, endpoint_event, message_event
from tests.support.harness import Project, difference, one_log
from tests.support.model.whatif import Settings, answers, changed, drift, standing, what_if as by_model
from tests.support.proposals import other_levels, written
from tests.support.random_logs import project_of, random_logs
from tests.support.strategies import Log

LOGS = 8
SINCE = timedelta(hours=5)
"""An instant this long before as_of is one at which endpoints are created, and others before it."""


def other_honors(places: Row) -> Row:
    changed = copy.deepcopy(places)
    for instance in changed["instances"]:
        for database in instance["databases"]:
            honors = database.get("honor_broker_priority")
            database["honor_broker_priority"] = honors not in (True, "on", "ON", "true")
    return changed


def with_edges(log: Log) -> Log:
    """The log, with forwarded messages of endpoints that are created before, at or after as_of, or never."""
    step = timedelta(microseconds=1)
    moments = (log.as_of - step, log.as_of, log.as_of + step, None)
    [instance, *_] = log.catalog["instances"]
    [database, *_] = instance["databases"]
    place = {"instance": instance["name"], "database": database["name"]}
    rows = []
    for number, moment in enumerate(moments):
        for by_initiator in (True, False):
            conversation = f"edge {number} {by_initiator}"
            rows.append(
                message_event(
                    "FORWARD_ACCEPTED",
                    f"{conversation}/0",
                    sent_by_initiator=by_initiator,
                    instance="HUB",
                    event_time=log.as_of - step,
                )
            )
            if moment:
                event_type = "BEGIN_DIALOG" if by_initiator else "DIALOG_CREATED"
                created = {**place, "contract": f"Edge {number}", "event_time": moment}
                rows.append(endpoint_event(event_type, conversation, **created))
    added = by_source(*rows)
    return replace(
        log,
        endpoint_events=log.endpoint_events + added["endpoint_events"],
        message_events=log.message_events + added["message_events"],
    )


def changes_of(statements: list[Row]) -> list[Row]:
    """A change of rules that stand: one is dropped and another made in its place, the next one is altered.

    The dates say the opposite of the order, and are older than the rules.
    """
    changes: list[Row] = []
    for number, rule in enumerate(standing(statements)):
        where = {"instance": rule.instance, "database": rule.database}
        if number % 3 == 0:
            criteria = zip(("contract", "local_service", "remote_service"), rule.triple, strict=True)
            made = {name: {"name": value} for name, value in criteria if value is not None}
            changes.append({**where, "drop": {"name": rule.name}})
            changes.append({**where, "create": {"name": f"New {number}", "level": 11 - rule.level, **made}})
        elif number % 3 == 1:
            changes.append({**where, "alter": {"name": rule.name, "level": 11 - rule.level}})
    earliest = at(-100_000)
    return [
        {**change, "effective_from": earliest - timedelta(days=number)}
        for number, change in enumerate(changes)
    ]


@pytest.fixture(scope="module")
def night(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Log]:
    log = replace(with_edges(one_log(random_logs(LOGS, 51))), top=2, starvation=None, blocks=None)
    project = project_of(tmp_path_factory.mktemp("night"), log)
    project.add(log.events)
    project.run(session, log.as_of)
    return project, log


def test_the_random_logs_have_what_matters(night: tuple[Project, Log]) -> None:
    """Forwarded messages of endpoints that are not there yet, late statements, ties with --as-if."""
    project, log = night
    assert any(statement["effective_from"] >= log.as_of for statement in log.rules)
    created = [row["created_at"] for row in project.table("endpoints", ["created_at"])]
    assert log.as_of in created
    assert log.as_of - SINCE in created
    forwarded = [row for row in project.table("transmission_schedule") if row["forwarded"]]
    assert {row["priority"] is None for row in forwarded} == {True, False}


def require_equal(found: WhatIf, expected: dict[str, list[Row]]) -> None:
    frames = found.by_name()
    for table in WHATIF_TABLES:
        rows = collect_rows(frames[table.name].select(*table.names))
        assert difference(rows, expected[table.name]) == [], table.name


OTHER = {
    "starvation": {"after_seconds": 5400, "raise_by": 3},
    "blocks": {"fragment_bytes": 100, "fragments": 3},
}


def other_settings(night: tuple[Project, Log], **changes: Any) -> str:
    """A settings file with another catalog, TOP, starvation and blocks."""
    project, log = night
    places = written(project.folder / "places.yaml", other_honors(log.catalog))
    content = yaml.safe_load(Path(project.config).read_text())
    content |= {"catalog": places, "receive": {"top": 1}, "transmission": OTHER, **changes}
    return written(project.folder / "other settings.yaml", content)


@pytest.mark.slow
def test_changes_from_then_on_equal_the_model(session: SparkSession, night: tuple[Project, Log]) -> None:
    """What is before is by the settings of now, and not by those of the run."""
    project, log = night
    settings = load_settings(other_settings(night))
    changes = changes_of(log.rules)
    half = len(changes) // 2
    files = [
        written(project.folder / "first.yaml", changes[:half]),
        written(project.folder / "then.yaml", changes[half:]),
    ]
    as_if = log.as_of - SINCE
    current = Settings(other_honors(log.catalog), log.rules, top=1, **OTHER)
    proposed = replace(current, rules=changed(log.rules, changes))
    expected = by_model(log.events, current, proposed, as_of=log.as_of, as_if=as_if)
    # Drift, and forwarded messages whose contract nobody knows or whose endpoint is just there.
    assert {row["cause"] for row in expected["whatif_endpoints"]} == {"drift", "proposal"}
    contracts = [row for row in expected["whatif_summary"] if row["dimension"] == "contract"]
    [of_unknown] = [row["messages"] for row in contracts if row["name"] is None]
    assert of_unknown >= 6
    assert [row["name"] for row in contracts if (row["name"] or "").startswith("Edge")] == ["Edge 0"]
    proposal = read_changes(settings, files)
    with what_if(project.warehouse(session), settings, proposal, as_of=log.as_of, as_if=as_if) as answer:
        require_equal(answer, expected)


@pytest.mark.slow
def test_a_proposal_compared_with_the_rules_of_today_equals_the_model(
    session: SparkSession, night: tuple[Project, Log]
) -> None:
    project, log = night
    changes = changes_of(log.rules)
    proposal = read_changes(project.settings(), [written(project.folder / "change.yaml", changes)])
    current = Settings(log.catalog, log.rules, top=2)
    proposed = replace(current, rules=changed(log.rules, changes))
    expected = by_model(log.events, current, proposed, as_of=log.as_of, as_if=None, baseline=TODAY)
    with what_if(
        project.warehouse(session), project.settings(), proposal, as_of=log.as_of, as_if=None, baseline=TODAY
    ) as answer:
        require_equal(answer, expected)
        counted = answer.counts
    # All that differs from today's rules without the proposal is one number.
    assert {row["cause"] for row in expected["whatif_endpoints"]} == {"proposal"}
    drifts = drift(log.events, current, proposed, log.as_of)
    assert counted["endpoints"] == {"proposal": len(expected["whatif_endpoints"]), "drift": drifts}
    assert drifts > 0


@pytest.mark.slow
def test_other_settings_equal_the_model(session: SparkSession, night: tuple[Project, Log]) -> None:
    project, log = night
    rules = other_levels(log.rules)
    path = other_settings(night, rules=[{"path": written(project.folder / "other.yaml", rules)}])
    current = Settings(log.catalog, log.rules, top=2)
    proposed = Settings(other_honors(log.catalog), rules, top=1, **OTHER)
    expected = by_model(log.events, current, proposed, as_of=log.as_of, as_if=None)
    assert expected["whatif_pairs"]
    proposal = read_proposed_settings(project.settings(), path)
    with what_if(
        project.warehouse(session), project.settings(), proposal, as_of=log.as_of, as_if=None
    ) as answer:
        require_equal(answer, expected)
        found = report_whatif(answer, limit=1)["answers"]
    assert found == answers(log.events, current, proposed, as_of=log.as_of)
    assert found["deployment"]["messages"]["gained"] > 0


@pytest.mark.slow
def test_only_queues_with_another_level_are_reordered(
    session: SparkSession, night: tuple[Project, Log], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the current rules from now on none is, and nothing changes."""
    project, log = night
    ordered: list[int] = []

    def counted(ready: DataFrame, **named: Any) -> Any:
        ordered.append(ready.count())
        return receive_order(ready, **named)

    monkeypatch.setattr("pipelines.whatif.request.receive_order", counted)
    some = len(log.rules) // 8
    rules = written(project.folder / "some.yaml", other_levels(log.rules[:some]) + log.rules[some:])
    for path, as_if in ((rules, log.as_of - SINCE), (str(project.folder / "rules.yaml"), log.as_of + SINCE)):
        proposal = read_replacement(project.settings(), [path])
        with what_if(
            project.warehouse(session), project.settings(), proposal, as_of=log.as_of, as_if=as_if
        ) as answer:
            moves = collect_rows(answer.messages)
            said = sentence(answer.counts)
        assert any(row["moved"] for row in moves) == (path == rules)
    (reordered,) = ordered
    assert 0 < reordered < len(project.table("receive_schedule"))
    assert said == "The proposal changes no level and no order."


@settings(max_examples=15)
@given(st.permutations(range(12)), st.lists(st.integers(1, 10), min_size=12, max_size=12))
def test_pairs_are_counted_as_they_are_named_one_by_one(after: list[int], levels: list[int]) -> None:
    size = max(levels) + 1
    expected = np.zeros((size, size), dtype=np.int64)
    for first in range(12):
        for second in range(first + 1, 12):
            expected[levels[second], levels[first]] += after[second] < after[first]
    found = count_passed_by_level(np.array(after, dtype=np.int64), np.array(levels, dtype=np.int32))
    assert (found == expected).all()


MOVED = (
    "kind string, instance string, database string, queue string, position_before bigint, "
    "position_after bigint, moved bigint, level_before int, level_after int, level int, "
    "reordered_before boolean, reordered_after boolean"
)


@pytest.mark.parametrize(
    ("second", "is_wrong"),
    [
        ((2, 1, 1, 5, 5, 5, True, True), True),
        ((2, 1, 1, 5, 6, 5, True, True), False),
        ((2, 2, 0, 5, 6, 5, True, True), True),
        ((2, None, None, 5, 6, 5, True, True), True),
        ((2, 1, 1, 5, 6, 5, True, False), True),
    ],
    ids=["moves without another level", "as it should", "gains come free", "in one order only", "in part"],
)
def test_what_does_not_add_up_ends_the_job(
    session: SparkSession, second: tuple[Any, ...], is_wrong: bool
) -> None:
    place = ("receive", "SQL1", "B", "Q")
    moved = small_frame(session, [(*place, 1, 2, -1, 5, 5, 5, True, True), (*place, *second)], MOVED)
    if is_wrong:
        with pytest.raises(ReconciliationError, match="receive of SQL1 Q: "):
            require_sums(moved, [])
    else:
        require_sums(moved, [])
    require_sums(moved.where("moved = 0"), ["receive"])


def two_tiers(folder: Path) -> Project:
    """Gold waits ahead of Silver in one queue: two messages each, a minute apart."""
    rules = [
        create_rule("Gold", 8, database="B", contract="Gold"),
        create_rule("Silver", 6, database="B", contract="Silver"),
    ]
    project = Project(folder, catalog=catalog(), rules=rules)
    rows = []
    for minute, name in enumerate(("Silver", "Gold", "Silver", "Gold")):
        conversation = f"{name} {minute}"
        rows += [
            endpoint_event(conversation=conversation, contract=name),
            endpoint_event("DIALOG_CREATED", conversation, contract=name),
            message_event("DELIVERED", f"{conversation}/0", event_time=at(minute + 1)),
        ]
    project.add(by_source(*rows))
    return project


@pytest.fixture(scope="module")
def published(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two tiers at one minute, when no message has arrived, and at an hour; no test writes the warehouse."""
    project = two_tiers(tmp_path_factory.mktemp("published"))
    project.run(session, at(1))
    describe(project.warehouse(session), project.settings(), at(60))
    return project


SILVER_FIRST = """
USE [B];
-- effective_from: 2026-11-20T12:30:00Z
ALTER BROKER PRIORITY [Silver] FOR CONVERSATION SET (PRIORITY_LEVEL = 9);
"""
ANSWERS = {
    "deployment": {
        "endpoints": {"proposal": 0, "drift": 0},
        "messages": {"messages": 4, "gained": 0, "lost": 0},
    },
    "always": {
        "endpoints": {"proposal": 2, "drift": 0},
        "messages": {"messages": 4, "gained": 2, "lost": 2},
    },
}
"""What the script changes from its deployment on, and what it would have changed from the beginning."""


@pytest.mark.slow
def test_after_is_what_reassigning_would_give(
    session: SparkSession, published: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = published.copied(tmp_path / "project")
    script = tmp_path / "silver.sql"
    script.write_text(SILVER_FIRST)
    out = tmp_path / "out"
    rules = [str(project.folder / "rules.yaml"), f"SQL1={script}"]
    # A change is the same as the current files and it in place of all rules.
    for proposal in (
        read_changes(project.settings(), rules[1:]),
        read_replacement(project.settings(), rules),
    ):
        standing_rules = keep_standing_rules(proposal.settings.rule_history)
        assert {rule.name: rule.level for rule in standing_rules} == {"Gold": 8, "Silver": 9}
    asked = ["--config", project.config, "--as-of", at(60).isoformat(), "--rules", *rules]
    capsys.readouterr()
    assert job.main([*asked, "--out", str(out), "--format", "json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["endpoints"] == {"proposal": 2, "drift": 0}
    assert result["messages"] == {"messages": 4, "gained": 2, "lost": 2}
    assert (result["answers"], result["replaced_rules"]) == (ANSWERS, 2)
    in_all = [result[f"{part}_in_all"] for part in ("summary", "moved", "largest_moves", "pairs")]
    moved = {"contract": 2, "level": 2, "queue": 1, "local_service": 1}
    assert in_all == [{"rows": 6}, moved, {"rows": 4}, {"rows": 1, "pairs": 4}]
    assert job.main([*asked, "--limit", "1"]) == 0
    assert "and 3 more messages: --out writes all" in capsys.readouterr().out
    assert result["sentence"] == (
        "The proposal changes the level of 2 endpoints: of 4 messages 2 come earlier and 2 later."
    )
    answer = {
        row["message_id"]: (row["position_before"], row["position_after"])
        for row in DeltaTable(str(out / "whatif_messages")).to_pyarrow_table().to_pylist()
    }
    assert answer == {"Silver 0/0": (3, 1), "Gold 1/0": (1, 3), "Silver 2/0": (4, 2), "Gold 3/0": (2, 4)}
    parts = read_whatif_tables(Warehouse(session, str(out)), at(60))
    moves = [dict(zip(parts["whatif_moves"].columns, row, strict=True)) for row in parts["whatif_moves"].rows]
    assert moves == [
        {name: row[name] for name in move} for move, row in zip(moves, result["largest_moves"], strict=True)
    ]
    assert parts["whatif_counts"].rows == [list(result["messages"].values())]
    (pairs,) = DeltaTable(str(out / "whatif_pairs")).to_pyarrow_table().to_pylist()
    assert (pairs["passing_level"], pairs["passed_level"], pairs["pairs"]) == (6, 8, 4)

    # The same rules for real, from before the conversations on.
    now = yaml.safe_load(Path(project.folder / "rules.yaml").read_text())
    now[1]["create"]["level"] = 9
    (project.folder / "rules.yaml").write_text(yaml.safe_dump(now))
    span = ["--from", at(-60).isoformat(), "--to", at(60).isoformat()]
    assert run_rules(["--config", project.config]) == 0
    assert run_reassign(["--config", project.config, *span, "--apply"]) == 0
    # What was published is still by the levels of before; the order is that of the levels as they are now.
    current = read_replacement(project.settings(), [str(project.folder / "rules.yaml")])
    with what_if(
        project.warehouse(session), project.settings(), current, as_of=at(60), as_if=at(90)
    ) as unchanged:
        moves = collect_rows(unchanged.messages)
    assert {row["message_id"]: row["position_before"] for row in moves} == {
        name: after for name, (_, after) in answer.items()
    }
    assert not any(row["moved"] for row in moves)
    describe(project.warehouse(session), project.settings(), at(60))
    positions = {row["message_id"]: row["position"] for row in project.table("receive_schedule")}
    assert positions == {name: after for name, (_, after) in answer.items()}


@pytest.mark.slow
def test_the_page_takes_a_whole_answer_of_its_own_as_of_only(
    published: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    empty, full = at(1), at(60)
    out, html = tmp_path / "out", tmp_path / "page.html"
    config = ["--config", published.config]
    asked = [*config, "--rules", str(published.folder / "rules.yaml"), "--out", str(out)]
    shown = [*config, "--whatif", str(out), "--out", str(html)]
    capsys.readouterr()
    assert job.main([*asked, "--as-of", empty.isoformat()]) == 0
    assert "came in after it was published" not in capsys.readouterr().out
    assert DeltaTable(str(out / "whatif_messages")).to_pyarrow_table().num_rows == 0
    with pytest.raises(ConfigError) as told_of:
        page.main([*shown, "--as-of", full.isoformat()])
    again = f"run whatif again with --as-of {format_instant(full)}"
    assert str(told_of.value) == f"--whatif {out}: is of {format_instant(empty)}; {again}"
    assert not html.exists()
    assert page.main([*shown, "--as-of", empty.isoformat()]) == 0
    assert "At the moment of deployment existing endpoints keep their levels" in html.read_text()

    monkeypatch.setattr(job, "write_answers", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        job.main(asked)
    with pytest.raises(ConfigError, match="does not say its as_of"):
        page.main(shown)


@pytest.mark.slow
def test_it_is_told_on_one_screen(
    session: SparkSession, published: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = published.copied(tmp_path / "project")
    silver = create_rule("Silver", 9, database="B", contract="Silver")
    misspelt = create_rule("Gold", 8, database="B", local_service="targetservice")
    other = written(tmp_path / "other.yaml", [silver, misspelt])
    project.add(by_source(message_event("SENT", "late/0", event_time=at(1))))
    project.take_in(session)
    capsys.readouterr()
    assert job.main(["--config", project.config, "--rules", other]) == 0
    shown = capsys.readouterr().out
    assert "The proposal changes the level of 4 endpoints: of 4 messages 2 come earlier and 2 later." in shown
    assert "Lint finds 1 warning in the proposal:" in shown
    assert "warning R302" in shown
    assert "as it was, not as it would have become" in shown
    assert "came in after it was published are not counted (batches: 1)" in shown
    assert len(shown.splitlines()) <= 40


def test_what_can_not_be_asked(session: SparkSession, tmp_path: Path) -> None:
    project = two_tiers(tmp_path / "project")
    settings, folder = project.settings(), project.folder
    places = catalog()
    places["instances"][0]["databases"][1]["services"][0]["name"] = "Renamed"
    content = yaml.safe_load(Path(project.config).read_text())
    content |= {"catalog": written(folder / "places.yaml", places), "warehouse": str(folder / "elsewhere")}
    with pytest.raises(ConfigError) as told_of:
        read_proposed_settings(settings, written(folder / "proposed.yaml", content))
    was = f"in {settings.path} it is"
    bound = [line.split(": ")[1].split("; ")[0] for line in str(told_of.value).splitlines()]
    assert bound == [
        f"the warehouse is {folder / 'elsewhere'}, {was} {folder / 'warehouse'}",
        "the service SQL1.B.Renamed is not in " + str(folder / "catalog.yaml"),
        f"the service SQL1.B.TargetService is missing, {folder / 'catalog.yaml'} has it",
    ]
    with pytest.raises(PipelineError, match="no run was published yet"):
        job.main(["--config", project.config, "--rules", str(folder / "rules.yaml")])
    with pytest.raises(ConfigError, match="one of the arguments --change --rules --proposed is required"):
        job.main(["--config", project.config])
    assert load_settings(project.config) == settings

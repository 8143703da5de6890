"""Every command that reads the warehouse, on a server of many databases with a queue of the same name."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from pipelines.engine.frames import small_frame
from schemas.outputs import SNAPSHOTS
from tests.field.running import Case, run
from tests.support.factories import (
    Row,
    at,
    by_source,
    create_rule,
    database,
    endpoint_event,
    message_event,
    queue_event,
)
from tests.support.harness import Project
from tests.support.server import Place, Views, snapshots

AS_OF = at(67)
PERIOD = ("--from", at(0).isoformat(), "--to", AS_OF.isoformat())
THIRD = "00000003-0000-4000-8000-000000000000"
QUESTIONS: dict[str, tuple[str, ...]] = {
    "why": (),
    "why, to send": ("--transmission",),
    "why, one of a kind": ("--database", "Db0003", "--contract", "Contract0003"),
    "next": ("--queue", "Db0003.Q"),
    "next, to send": ("--transmission", "--instance", "SQL1"),
    "waiting": ("--by", "database,queue,contract,local_service,remote_service,level"),
    "explain": ("--conversation", THIRD),
    "explain, a message": ("--message", f"{THIRD}/0"),
    "expect": (),
    "coverage": (),
    "rejected": (),
    "activation": ("--queue", "Db0004.Q"),
    "lint": (),
    "conformance": (),
    "replay": (*PERIOD, "--readers", "1"),
    "whatif": ("--change", "change.yaml"),
    "reassign": (*PERIOD,),
    "report": ("--out", "report.html"),
}
WITHOUT_JSON = ("report", "reassign")


def place(number: int) -> Row:
    return {"instance": "SQL1", "database": f"Db{number:04}"}


def events_of(number: int, count: int) -> list[Row]:
    """A conversation of a database with the next: one message was received, one is ready, one on its way.

    Its initiator has ended it, the target has not.
    """
    sender, receiver = place(number), place((number + 1) % count)
    id = f"{number:08}-0000-4000-8000-000000000000"
    here, there = (f"//service/{each['database']}" for each in (sender, receiver))
    own = {"conversation": id, "contract": f"Contract{number:04}"}
    queue = {**receiver, "queue": "Q", "transaction_id": f"t{number}"}
    return [
        endpoint_event(**own, **sender, local_service=here, remote_service=there),
        endpoint_event("DIALOG_CREATED", **own, **receiver, local_service=there, remote_service=here),
        *[message_event("SENT", f"{id}/{each}", **sender, event_time=at(each)) for each in range(3)],
        *[
            message_event("DELIVERED", f"{id}/{each}", **receiver, event_time=at(each + 1))
            for each in range(2)
        ],
        message_event("RECEIVED", f"{id}/0", **receiver, event_time=at(5), transaction_id=f"t{number}"),
        endpoint_event("END_CONVERSATION", **own, **sender, event_time=at(7)),
        queue_event("RECEIVE", f"receive {number}", **queue, event_time=at(5), session_id=51),
        queue_event("COMMIT", f"commit {number}", **queue, event_time=at(6)),
    ]


def rules_of(number: int) -> list[Row]:
    """A rule that fits, and one whose contract is misspelt; no other database has either."""
    contracts = (f"Contract{number:04}", f"Contract{number:04}x")
    return [
        create_rule(f"Rule {contract}", 7, contract=contract, database=f"Db{number:04}")
        for contract in contracts
    ]


def published(session: SparkSession, folder: Path, count: int) -> Project:
    """A night of a log of so many databases, each of which has a snapshot."""
    databases = [
        database(name, f"//service/{name}", "Q") for name in (f"Db{each:04}" for each in range(count))
    ]
    for each in databases:
        each["queues"][0]["activation"] = {"status": "on", "procedure": "dbo.Read", "max_queue_readers": 1}
    project = Project(
        folder,
        catalog={"instances": [{"name": "SQL1", "databases": databases}]},
        rules=[rule for each in range(count) for rule in rules_of(each)],
        expect=[{"name": "No leaks", "leaked_conversations": 0}],
    )
    project.add(by_source(*[row for each in range(count) for row in events_of(each, count)]))
    project.take_in(session)
    # Of the commands, none but those that compare views reads more of a snapshot than that it was taken.
    shown = [(1, "SQL1", each["name"], at(10), "conversation_endpoints", True) for each in databases]
    rows = [(*row, *[None] * (len(SNAPSHOTS.names) - len(row))) for row in shown]
    project.warehouse(session).append(SNAPSHOTS, small_frame(session, rows, SNAPSHOTS.struct))
    project.run(session, AS_OF)
    change = [
        {**rules_of(each)[0], "effective_from": (AS_OF - timedelta(minutes=1)).isoformat()}
        for each in range(count)
    ]
    for each in change:
        each["create"] |= {"name": "New", "level": 9, "local_service": f"//service/{each['database']}"}
    (folder / "change.yaml").write_text(json.dumps(change))
    return project


@pytest.fixture(
    scope="module",
    params=[pytest.param(60, marks=pytest.mark.slow), pytest.param(1000, marks=pytest.mark.long)],
)
def many(
    request: pytest.FixtureRequest, session: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Project:
    return published(session, tmp_path_factory.mktemp("many") / "project", request.param)


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_at_any_number_of_databases(many: Project, question: str) -> None:
    command = question.partition(",")[0]
    options = [
        str(many.folder / each) if each.startswith(("change.", "report.")) else each
        for each in QUESTIONS[question]
    ]
    form = () if command in WITHOUT_JSON else ("--format", "json")
    done = run(command, "--config", many.config, *options, *form)
    # 4: lint has findings. 6: an expectation is not met.
    assert done.code in {"lint": (0, 4), "expect": (6,)}.get(command, (0,)), done.err
    assert "error" not in done.err
    if form:
        assert done.json or command == "rejected"


def test_all_queues_of_a_name_and_all_leaks_are_counted(many: Project) -> None:
    count = len(many.settings().catalog.instances[0].databases)
    case = Case(many.folder)
    assert case.ask("why", "--queue", "Q")["situation"]["messages"] == count
    assert case.ask("leaks")["endpoints"] == count
    [met] = many.table("expectations", ["value", "met"])
    assert met == {"value": count, "met": False}


def test_snapshots_of_all_databases_differ_from_the_catalog(many: Project) -> None:
    settings = yaml.safe_load(Path(many.config).read_text())
    names = [each.name for each in many.settings().catalog.instances[0].databases]
    views: dict[Place, Views] = {
        ("SQL1", name): {"databases": [{"name": name, "is_honor_broker_priority_on": False}]}
        for name in names
    }
    settings["snapshots"] = snapshots(many.folder, views, at(10), "csv")
    config = many.folder / "settings-shown.yaml"
    config.write_text(yaml.safe_dump(settings))
    shown = run("differences", "--config", config, "--format", "json").json
    assert [row["database"] for row in shown["catalog"]] == names

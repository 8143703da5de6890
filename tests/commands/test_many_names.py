"""Every command that reads the warehouse, on a server of many databases with a queue of the same name."""

import json
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from pipelines.engine.frames import small_frame
from schemas.outputs import SNAPSHOTS
from tests.field.running import Case
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

pytestmark = pytest.mark.slow

COUNT = 150
NAMES = [f"Db{number:04}" for number in range(COUNT)]
PERIOD = ("--from", at(0).isoformat(), "--to", at(67).isoformat())
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


def events_of(number: int) -> list[Row]:
    """A conversation of a database with the next: one message was received, one is ready, one on its way.

    Its initiator has ended it, the target has not.
    """
    sender, receiver = ({"database": name} for name in (NAMES[number], NAMES[(number + 1) % COUNT]))
    id, t = f"{number:08}-0000-4000-8000-000000000000", f"t{number}"
    services = [f"//service/{each['database']}" for each in (sender, receiver)]
    begun = {"local_service": services[0], "remote_service": services[1], **sender}
    created = {"local_service": services[1], "remote_service": services[0], **receiver}
    own = {"conversation": id, "contract": f"Contract{number:04}"}
    return [
        endpoint_event(**own, **begun),
        endpoint_event("DIALOG_CREATED", **own, **created),
        *[message_event("SENT", f"{id}/{each}", event_time=at(each), **sender) for each in range(3)],
        *[message_event("DELIVERED", f"{id}/{each}", event_time=at(each + 1), **receiver) for each in (0, 1)],
        message_event("RECEIVED", f"{id}/0", event_time=at(5), transaction_id=t, **receiver),
        queue_event("RECEIVE", event_time=at(5), transaction_id=t, queue="Q", session_id=51, **receiver),
        queue_event("COMMIT", event_time=at(6), transaction_id=t, queue="Q", **receiver),
        endpoint_event("END_CONVERSATION", event_time=at(7), **own, **begun),
    ]


def rules_of(number: int) -> list[Row]:
    """A rule that fits, and one whose contract is misspelt; no other database has either."""
    contracts = (f"Contract{number:04}", f"Contract{number:04}x")
    return [create_rule(f"Rule {name}", 7, contract=name, database=NAMES[number]) for name in contracts]


@pytest.fixture(scope="module")
def many(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A night of a log of so many databases, each of which has a snapshot."""
    folder = tmp_path_factory.mktemp("many") / "project"
    databases = [database(name, f"//service/{name}", "Q") for name in NAMES]
    for each in databases:
        each["queues"][0]["activation"] = {"status": "on", "procedure": "dbo.Read", "max_queue_readers": 1}
    project = Project(
        folder,
        catalog={"instances": [{"name": "SQL1", "databases": databases}]},
        rules=[rule for number in range(COUNT) for rule in rules_of(number)],
        expect=[{"name": "No leaks", "leaked_conversations": 0}],
    )
    project.add(by_source(*[row for number in range(COUNT) for row in events_of(number)]))
    project.take_in(session)
    # Of the commands, none but those that compare views reads more of a snapshot than that it was taken.
    shown = [(1, "SQL1", name, at(10), "conversation_endpoints", True) for name in NAMES]
    rows = [(*row, *[None] * (len(SNAPSHOTS.names) - len(row))) for row in shown]
    project.warehouse(session).append(SNAPSHOTS, small_frame(session, rows, SNAPSHOTS.struct))
    project.run(session, at(67))
    change = [{**rules_of(number)[0], "effective_from": at(66).isoformat()} for number in range(COUNT)]
    for each in change:
        each["create"] |= {"name": "New", "level": 9, "local_service": f"//service/{each['database']}"}
    (folder / "change.yaml").write_text(json.dumps(change))
    return Case(folder)


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_at_any_number_of_databases(many: Case, question: str) -> None:
    command = question.partition(",")[0]
    options = [
        str(many.folder / each) if each.startswith(("change.", "report.")) else each
        for each in QUESTIONS[question]
    ]
    form = () if command in WITHOUT_JSON else ("--format", "json")
    done = many.job(command, *options, *form)
    # 4: lint has findings. 6: an expectation is not met.
    assert done.code in {"lint": (0, 4), "expect": (6,)}.get(command, (0,)), done.err
    assert "error" not in done.err
    if form:
        assert done.json or command == "rejected"


def test_all_queues_of_a_name_and_all_leaks_are_counted(many: Case) -> None:
    assert many.ask("why", "--queue", "Q")["situation"]["messages"] == COUNT
    assert many.ask("leaks")["endpoints"] == COUNT
    assert many.table("expectations", ["value", "met"]) == [{"value": COUNT, "met": False}]


def test_snapshots_of_all_databases_differ_from_the_catalog(many: Case) -> None:
    views: dict[Place, Views] = {
        ("SQL1", name): {"databases": [{"name": name, "is_honor_broker_priority_on": False}]}
        for name in NAMES
    }
    settings = yaml.safe_load(Path(many.config).read_text())
    settings["snapshots"] = snapshots(many.folder, views, at(10), "csv")
    shown = Case(many.folder, "settings-shown.yaml")
    Path(shown.config).write_text(yaml.safe_dump(settings))
    assert [row["database"] for row in shown.ask("differences")["catalog"]] == NAMES

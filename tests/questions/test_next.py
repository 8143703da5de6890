"""What comes next, and who waits, read from a warehouse of a few rows."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.commands.questions import NEXT, WAITING
from pipelines.config.catalog import Catalog
from pipelines.config.errors import ConfigError, PipelineError
from pipelines.config.queue_filter import QueueFilter
from pipelines.questions.next import report_next
from pipelines.questions.view import print_next
from pipelines.questions.waiting import report_waits
from pipelines.settings.load import Settings
from pipelines.storage.warehouse import Warehouse
from tests.console.test_tables import table_rows
from tests.support import written
from tests.support.factories import Row, at
from tests.support.report_warehouse import of_as_of, write
from tests.support.written import ended_run, sent, warehouse_of

AS_OF = at(60)
YESTERDAY = of_as_of(at(60, day=-1))


def received(queue: str, position: int | None, **changes: Any) -> Row:
    """Two messages to a RECEIVE; the later its position, the earlier it arrived."""
    own = {"receive_number": position and (position + 1) // 2, "arrived_at": at(10 - (position or 0))}
    return written.received(queue, position, **{**own, **changes})


@pytest.fixture(scope="module")
def settings(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Its latest run is that of AS_OF; a later, failed one does not count."""
    rows = {
        "receive_schedule": [
            *[received("Q", position) for position in (1, 2, 3, None)],
            received("Two", 1),
            received("Two", 1, database="B", message_id="other"),
            received("Locked", None),
            received("SQL1.A.Two", 1, message_id="dotted"),
            received("Q", 1, **YESTERDAY, message_id="gone"),
        ],
        "transmission_schedule": [sent(1), sent(2), sent(1, instance="SQL2"), sent(3, **YESTERDAY)],
        "runs": [ended_run("one", AS_OF), ended_run("two", at(90), "failed")],
    }
    return write(session, tmp_path_factory.mktemp("next"), rows)


@pytest.fixture(scope="module")
def warehouse(session: SparkSession, settings: Settings) -> Warehouse:
    return Warehouse(session, settings.warehouse)


def test_the_next_of_a_queue_with_the_conversation_that_decides(
    warehouse: Warehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    found = report_next(warehouse, QueueFilter("Q"), as_of=AS_OF, limit=3)
    assert (found["as_of"], found["instance"], found["database"], found["queue"]) == (AS_OF, "SQL1", "A", "Q")
    columns = ("position", "receive_number", "deciding_conversation_id", "conversation_id", "arrived_at")
    assert [tuple(row[name] for name in columns) for row in found["next"]] == [
        (1, 1, "c1", "c1", at(9)),
        (2, 1, "c1", "c2", at(8)),
        (3, 2, "c3", "c3", at(7)),
    ]
    assert found["held_back"] == {"group_locked": 1}
    print_next(found)
    said = capsys.readouterr().out
    names, nothing = ["Contract", "TargetService", "InitiatorService"], ["", "", ""]
    assert table_rows(said) == [
        ["RECEIVE 1", "group", "9", *nothing, "", "g"],
        ["", "conversation, decides", "9", *names, "", "c1"],
        ["1", "Order, unsequenced", "", *nothing, "2026-11-20T12:09:00Z", "Q/1"],
        ["", "conversation", "3", *names, "", "c2"],
        ["2", "Order, unsequenced", "", *nothing, "2026-11-20T12:08:00Z", "Q/2"],
        ["RECEIVE 2", "group", "9", *nothing, "", "g"],
        ["", "conversation, decides", "9", *names, "", "c3"],
        ["3", "Order, unsequenced", "", *nothing, "2026-11-20T12:07:00Z", "Q/3"],
    ]
    assert [found["next"][0][name] for name in ("contract", "local_service", "remote_service")] == names
    assert "Received next at 2026-11-20T13:00:00Z: SQL1.A.Q" in said
    assert "1 more held back: group_locked" in said


def test_other_places(warehouse: Warehouse, capsys: pytest.CaptureFixture[str]) -> None:
    """All of a queue is held back; an instance; and queues as every job writes them in full.

    A name with dots stands in brackets where it may mean another queue.
    """
    found = report_next(warehouse, QueueFilter("Locked"), as_of=AS_OF, limit=3)
    assert (found["next"], found["held_back"]) == ([], {"group_locked": 1})
    print_next(found)
    assert "SQL1.A.Locked: nothing can be received" in capsys.readouterr().out
    found = report_next(warehouse, QueueFilter(instance="SQL1"), as_of=AS_OF, limit=1)
    columns = ("message_id", "priority", "transmit_priority", "contract", "from_service", "to_service")
    assert [tuple(row[name] for name in columns) for row in found["next"]] == [
        ("m1", 7, 5, "Contract", "InitiatorService", "TargetService")
    ]
    in_full = report_next(warehouse, QueueFilter("SQL1.B.Two"), as_of=AS_OF, limit=1)
    assert (in_full["instance"], in_full["database"], in_full["queue"]) == ("SQL1", "B", "Two")
    assert [row["message_id"] for row in in_full["next"]] == ["other"]
    dotted = report_next(warehouse, QueueFilter("[SQL1.A.Two]"), as_of=AS_OF, limit=1)
    assert (dotted["queue"], dotted["next"][0]["message_id"]) == ("SQL1.A.Two", "dotted")


def test_what_an_instance_sends_says_what_is_special_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    plain = {"block": None, "message_sequence_number": None}
    rows = [
        {**plain, **sent(1), "message_sequence_number": 4},
        {**sent(2, elevated=True, transmit_priority=10), "message_sequence_number": 0, "block": 3},
        {**plain, **sent(3, forwarded=True, destination_instance=None), "destination_of": "one of C and D"},
    ]
    print_next({"as_of": AS_OF, "instance": "SQL1", "next": rows, "held_back": {}})
    said = capsys.readouterr().out
    assert "Sent next at 2026-11-20T13:00:00Z: SQL1 (Contract Contract, Message type Order)" in said
    to, target = "SQL2.C.TargetService", "TargetService (in one of C and D)"
    service = "InitiatorService"
    assert table_rows(said) == [
        ["1", "5", "2026-11-20T12:01:00Z", service, to, "4", "m1"],
        ["2 (block 3)", "10 (raised from 7)", "2026-11-20T12:02:00Z", service, to, "0", "m2"],
        ["3", "5", "2026-11-20T12:03:00Z", f"{service} (only forwarded)", target, "", "m3"],
    ]


IN_A, QUIET = {"name": "A", "queues": [{"name": "Idle"}]}, {"name": "Quiet", "databases": [{"name": "D"}]}
CATALOG = Catalog.model_validate({"instances": [{"name": "SQL1", "databases": [IN_A, {"name": "C"}]}, QUIET]})


@pytest.mark.parametrize(
    ("place", "complaint"),
    [
        (QueueFilter("q"), "--queue q: there is no such queue; did you mean SQL1.A.Q?"),
        (QueueFilter("Two"), "--queue Two is one of SQL1.A.Two, SQL1.B.Two; write one of these"),
        (QueueFilter("SQL1.A.q"), "--queue SQL1.A.q: there is no such queue; did you mean SQL1.A.Q?"),
        (QueueFilter("B.Q"), "--queue B.Q: there is no such queue; did you mean SQL1.A.Q?"),
        (QueueFilter(instance="SQL3"), "--instance SQL3: there is none of that name; did you mean 'SQL2'?"),
        (QueueFilter("Q", instance="SQL2"), "--instance SQL2: there is none of that name; did you mean 'S"),
        (QueueFilter("Q", database="E"), "--database E: there is none of that name; write one of A, B, C"),
    ],
)
def test_a_name_of_nothing_or_of_several_is_refused(
    warehouse: Warehouse, place: QueueFilter, complaint: str
) -> None:
    with pytest.raises(ConfigError) as error:
        report_next(warehouse, place, as_of=AS_OF, limit=1, catalog=CATALOG)
    assert complaint in str(error.value)


def test_that_nothing_waits_is_an_answer_of_a_place_of_the_catalog(
    warehouse: Warehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    idle = {"instance": "SQL1", "database": "A", "queue": "Idle", "queue_off": None, "statuses": []}
    for place, named, line in (
        (QueueFilter("dbo.Idle"), idle, "Received next at 2026-11-20T13:00:00Z: SQL1.A.Idle"),
        (
            QueueFilter(instance="Quiet"),
            {"instance": "Quiet", "queues_off": []},
            "Sent next at 2026-11-20T13:00:00Z: Quiet",
        ),
    ):
        found = report_next(warehouse, place, as_of=AS_OF, limit=1, catalog=CATALOG)
        assert found == {"as_of": AS_OF, **named, "next": [], "held_back": {}}
        print_next(found)
        assert capsys.readouterr().out == f"{line}: nothing waits there\n"


def test_the_commands_print_json_and_refuse_half_a_question(
    embedded: SparkSession, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    config = ["--config", settings.path, "--format", "json"]
    with pytest.raises(PipelineError, match="--as-of 2026-11-20T13:30:00Z was not published"):
        NEXT([*config, "--queue", "Q", "--as-of", "2026-11-20T13:30:00Z"])
    assert NEXT([*config, "--instance", "SQL1", "--transmission"]) == 0
    assert [row["position"] for row in json.loads(capsys.readouterr().out)["next"]] == [1, 2]
    assert WAITING(config) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["as_of"], found["transmission"]["overtaken"]) == ("2026-11-20T13:00:00Z", [])
    for options in (
        [],
        ["--queue", "Q", "--transmission"],
        ["--instance", "I", "--database", "D", "--transmission"],
    ):
        with pytest.raises(ConfigError, match="command line"):
            NEXT(["--config", "settings.yaml", *options])


def test_an_instance_may_be_left_out_if_it_is_the_only_one(
    embedded: SparkSession, warehouse: Warehouse, tmp_path: Path
) -> None:
    one = warehouse_of(embedded, tmp_path / "one", {"transmission_schedule": [sent(1), sent(2)]})
    found = report_next(one, QueueFilter(), as_of=AS_OF, limit=5)
    assert (found["instance"], len(found["next"])) == ("SQL1", 2)
    empty = warehouse_of(embedded, tmp_path / "empty", {})
    for other, known in ((warehouse, "one of SQL1 and SQL2"), (empty, "none is known")):
        with pytest.raises(ConfigError, match=f"--transmission needs --instance: {known}"):
            report_next(other, QueueFilter(), as_of=AS_OF, limit=5)


def test_who_waits(warehouse: Warehouse) -> None:
    found = report_waits(warehouse, as_of=AS_OF, limit=50)
    queues = {(row["database"], row["queue"], row["priority"]): row for row in found["receive"]["waiting"]}
    assert queues[("A", "Q", 3)]["messages"] == 2
    assert queues[("A", "Q", 9)]["oldest"] == at(7)
    late = [(row["message_id"], row["passed_by"]) for row in found["receive"]["overtaken"]]
    assert late == [("Q/3", 2), ("Q/2", 1)]
    assert found["transmission"]["overtaken"] == []


def test_who_waits_by_any_columns(warehouse: Warehouse) -> None:
    """Two of the messages of Q have level 9, the third and the locked one have 3."""

    def waiting(*by: str) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        found = report_waits(warehouse, as_of=AS_OF, limit=50, by=[*by])
        assert found["by"] == [*by]
        rows = (found["receive"]["waiting"], found["transmission"]["waiting"])
        received, sent = ([tuple(row[name] for name in (*by, "messages")) for row in each] for each in rows)
        return received, sent

    assert waiting("contract", "level") == ([("Contract", 9, 5), ("Contract", 3, 3)], [("Contract", 5, 3)])
    assert waiting("queue", "remote_service") == (
        [
            ("Q", "InitiatorService", 4),
            ("SQL1.A.Two", "InitiatorService", 1),
            ("Two", "InitiatorService", 2),
            ("Locked", "InitiatorService", 1),
        ],
        [(None, "TargetService", 3)],
    )


def test_the_command_takes_columns_in_one_list_or_several(
    embedded: SparkSession, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    config = ["--config", settings.path]
    assert WAITING([*config, "--by", "level, queue", "--by", "instance,level"]) == 0
    printed = capsys.readouterr().out
    assert "Waiting for receive by level, queue, instance, the longest first" in printed
    assert "Waiting for transmission by level, instance, the longest first" in printed
    with pytest.raises(ConfigError, match=r"'contrat' is unknown; did you mean 'contract'\?"):
        WAITING([*config, "--by", "contrat"])

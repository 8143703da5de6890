"""What comes next, read from a warehouse of a few rows."""

import json
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from jobs import next as next_job, waiting as waiting_job
from jobs.next import Place
from pipelines.errors import ConfigError, PipelineError
from pipelines.settings.load import Settings, load_settings
from schemas import TABLES
from storage.small_frame import small_frame
from storage.warehouse import Warehouse
from tests.factories import Row, at
from tests.opened import opened

AS_OF = at(60)


def received(queue: str, position: int | None, **changes: Any) -> Row:
    return {
        "as_of": AS_OF,
        "instance": "SQL1",
        "database": "A",
        "queue": queue,
        "message_id": f"{queue}/{position}",
        "position": position,
        "receive_number": position and (position + 1) // 2,
        "conversation_group_id": "g",
        "group_priority": 9,
        "conversation_id": f"c{position}",
        "is_initiator": False,
        "priority": 9 if position and position % 2 else 3,
        "message_type": "Order",
        "arrived_at": at(10 - (position or 0)),
        "state": "ready" if position else "group_locked",
        **changes,
    }


def sent(position: int, **changes: Any) -> Row:
    return {
        "as_of": AS_OF,
        "instance": "SQL1",
        "message_id": f"m{position}",
        "position": position,
        "database": "A",
        "conversation_id": "c",
        "sent_by_initiator": True,
        "message_type": "Order",
        "priority": 10,
        "transmit_priority": 5,
        "elevated": False,
        "forwarded": False,
        "sendable_at": at(position),
        **changes,
    }


@pytest.fixture(scope="module")
def settings(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A warehouse whose latest run is that of AS_OF; a later, failed one does not count."""
    folder = tmp_path_factory.mktemp("next")
    (folder / "catalog.yaml").write_text("instances: []\n")
    inputs = {name: {"path": name, "format": "json"} for name in ("endpoint_events", "message_events")}
    content = {"warehouse": "warehouse", "inputs": inputs, "catalog": "catalog.yaml"}
    (folder / "settings.yaml").write_text(yaml.safe_dump(content))
    found = load_settings(folder / "settings.yaml")
    warehouse = Warehouse(spark, found.warehouse)
    run = {"code_version": "1", "settings": "{}", "row_counts": {}, "reconciliation": {}}
    rows = {
        "receive_schedule": [
            *[received("Q", position) for position in (1, 2, 3, None)],
            received("Two", 1),
            received("Two", 1, database="B", message_id="other"),
        ],
        "transmission_schedule": [sent(1), sent(2), sent(1, instance="SQL2")],
        "runs": [
            run
            | {
                "run_id": status,
                "as_of": moment,
                "started_at": moment,
                "finished_at": moment,
                "status": status,
            }
            for status, moment in (("succeeded", AS_OF), ("failed", at(90)))
        ],
    }
    for name, of_table in rows.items():
        table = TABLES[name]
        frame = small_frame(
            spark, [[row.get(column) for column in table.names] for row in of_table], table.struct
        )
        warehouse.replace(table, frame)
    return found


def test_the_next_of_a_queue_with_the_conversation_that_decides(
    spark: SparkSession, settings: Settings
) -> None:
    found = next_job.run(spark, settings, Place("Q", None, None), None, limit=3)
    assert (found["as_of"], found["instance"], found["database"], found["queue"]) == (AS_OF, "SQL1", "A", "Q")
    columns = ("position", "receive_number", "deciding_conversation_id", "conversation_id", "arrived_at")
    assert [tuple(row[name] for name in columns) for row in found["next"]] == [
        (1, 1, "c1", "c1", at(9)),
        (2, 1, "c1", "c2", at(8)),
        (3, 2, "c3", "c3", at(7)),
    ]
    assert found["held_back"] == {"group_locked": 1}


def test_the_next_of_an_instance(spark: SparkSession, settings: Settings) -> None:
    found = next_job.run(spark, settings, Place(None, "SQL1", None), AS_OF, limit=1)
    assert [(row["message_id"], row["priority"], row["transmit_priority"]) for row in found["next"]] == [
        ("m1", 10, 5)
    ]


@pytest.mark.parametrize(
    ("place", "table"),
    [(Place("Q", None, None), "receive_schedule"), (Place(None, "SQL1", None), "transmission_schedule")],
)
def test_a_schedule_is_read_once(spark: SparkSession, settings: Settings, place: Place, table: str) -> None:
    with opened(spark) as files:
        next_job.run(spark, settings, place, AS_OF, limit=2)
    assert files == {"runs": 1, table: 1}


@pytest.mark.parametrize(
    ("place", "as_of", "complaint"),
    [
        (Place("q", None, None), AS_OF, "--queue q: nothing waits there"),
        (Place("Two", None, None), AS_OF, "--instance SQL1 --database A; --instance SQL1 --database B"),
        (Place("Q", None, None), at(90), "--as-of 2026-11-20T13:30:00Z was not published"),
    ],
)
def test_what_is_not_there_is_said(
    spark: SparkSession, settings: Settings, place: Place, as_of: Any, complaint: str
) -> None:
    with pytest.raises(PipelineError) as error:
        next_job.run(spark, settings, place, as_of, limit=1)
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--queue", "Q", "--transmission"],
        ["--transmission"],
        ["--instance", "I", "--database", "D", "--transmission"],
    ],
)
def test_half_a_question_is_refused(options: list[str]) -> None:
    with pytest.raises(ConfigError, match="command line"):
        next_job.main(["--config", "settings.yaml", *options])


def test_the_waiting_report_as_json(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert waiting_job.main(["--config", settings.path, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["as_of"] == "2026-11-20T13:00:00Z"
    queues = {(row["database"], row["queue"], row["priority"]): row for row in found["receive"]["waiting"]}
    assert queues[("A", "Q", 3)]["messages"] == 2
    assert queues[("A", "Q", 9)]["oldest"] == "2026-11-20T12:07:00Z"
    late = [(row["message_id"], row["passed_by"]) for row in found["receive"]["overtaken"]]
    assert late == [("Q/3", 2), ("Q/2", 1)]
    assert found["transmission"]["overtaken"] == []

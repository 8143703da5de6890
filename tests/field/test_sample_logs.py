"""samples/logs: a log of each kind that people have, in the night in which clocks went back."""

import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case

pytestmark = [pytest.mark.slow, pytest.mark.long]

AS_OF = "2026-10-25T03:00:00Z"
SAMPLE = Path(__file__).parents[2] / "samples" / "logs"
CONVERSATION = "C0000000-0000-0000-0000-000000000001"


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}+00:00")


@pytest.fixture(scope="module")
def sample(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp("logs") / "logs"
    shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns("warehouse"))
    case = Case(folder)
    case.schedule(AS_OF)
    return case


def test_each_source_is_counted(sample: Case) -> None:
    counts = {
        row["source"]: (row["events"], row["accepted"], dict(row["counts"] or {}))
        for row in sample.table("batches")
    }
    assert counts == {
        "message_events/audit": (2, 2, {"ambiguous_time": 1}),
        "logs/trace": (3, 3, {"other_events": 1}),
        "logs/xe": (2, 2, {}),
        "logs/xe-file": (1, 1, {"acknowledgements": 1}),
        "snapshots": (counts["snapshots"][0], counts["snapshots"][0], {}),
    }


def test_own_rows_go_before_retained_ones(sample: Case) -> None:
    """Local times are an hour or two ahead of UTC; in the doubled hour the earlier instant counts."""
    found: dict[tuple[int, str], list[Any]] = {}
    for row in sample.table("message_events"):
        key = (row["message_sequence_number"], row["event_type"])
        found.setdefault(key, []).append((row["event_time"], row["inferred"]))
    end = at("2026-10-25T02:59:59.999999")
    assert found[0, "RECEIVED"] == [(at("2026-10-24T23:30:00.123"), None)]
    assert found[1, "RECEIVED"] == [(at("2026-10-25T00:30:00"), None)]
    assert found[2, "RECEIVED"] == [(end, True)]
    assert found[0, "SENT"] == found[3, "SENT"] == [(end, True)]
    assert found[3, "DELIVERED"] == [(at("2026-10-25T02:50:00"), None)]
    [waiting] = sample.table("receive_schedule")
    assert (waiting["message_id"], waiting["priority"]) == (f"{CONVERSATION}/initiator/3", 9)


def test_tasks_of_traces_and_extended_events_have_names(sample: Case) -> None:
    tasks = {
        (row["queue"], row["event_type"], row["event_time"], row["running_tasks"])
        for row in sample.table("queue_events")
        if row["event_type"].startswith("TASK_") and row["seen_at"] is None
    }
    assert tasks == {
        ("IntakeQueue", "TASK_STARTED", at("2026-10-24T23:29:59.900"), 1),
        ("IntakeQueue", "TASK_EXITED", at("2026-10-25T02:20:00"), 0),
        ("DeskQueue", "TASK_STARTED", at("2026-10-25T02:30:00"), 1),
        ("DeskQueue", "TASK_EXITED", at("2026-10-25T02:35:00"), 0),
    }


def test_rules_and_queues_have_the_times_of_the_ddl_log(sample: Case) -> None:
    [gold] = sample.table("priority_rules")
    assert (gold["name"], gold["valid_from"]) == ("Gold", at("2026-10-24T10:00:00"))
    on = [
        (row["value"], row["valid_from"], row["valid_to"])
        for row in sample.table("catalog_history")
        if (row["name"], row["attribute"]) == ("IntakeQueue", "on")
    ]
    off, back = at("2026-10-25T02:05:00"), at("2026-10-25T02:15:00")
    assert sorted(on, key=str) == sorted([("off", off, back), ("on", back, None)], key=str)

"""What the job puts on the page, from warehouses of a few rows."""

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession, functions as F

from pipelines.commands import report
from pipelines.config.errors import ConfigError, PipelineError
from pipelines.settings.load import Settings
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import RECEIVE_SCHEDULE
from tests.field.running import parts_of
from tests.support.factories import at
from tests.support.report_warehouse import AS_OF, NASTY, OF_AS_OF, SMALL_QUEUES, page_of, run, write


def total(text: str, name: str) -> int:
    count = re.search(rf'"{name}":{{"columns":.*?"total":(\d+)', text, re.DOTALL)
    assert count is not None
    return int(count[1])


def test_queues_with_the_most_messages_come_first(full_page: str) -> None:
    places = parts_of(full_page)["receive_places"]
    shown = ("queue", "messages", "ready", "group_locked", "queue_off", "oldest")
    assert [tuple(row[name] for name in shown) for row in places[:3]] == [
        ("OrderQueue", 14, 12, 2, 0, "2026-11-20T11:48:00Z"),
        (NASTY, 3, 3, 0, 0, "2026-11-20T11:57:00Z"),
        ("Queue 00", 1, 1, 0, 0, "2026-11-20T11:59:00Z"),
    ]
    assert places[-1]["queue"] == "Trailing "
    assert places[-1]["queue_off"] == 1
    assert len(places) == SMALL_QUEUES + 3
    # Of OrderQueue: minutes -12 to -1, and two at noon that are held.
    assert places[0]["median_seconds"] == (60 + 5.5) * 60


def test_levels_add_up(full_page: str) -> None:
    levels = {row["level"]: row["messages"] for row in parts_of(full_page)["receive_levels"]}
    assert levels == {9: 6 + 2, 3: 6 + 2 + 1 + 1, 1: SMALL_QUEUES}
    of_first = {
        row["level"]: row["messages"]
        for row in parts_of(full_page)["receive_place_levels"]
        if not row["place"]
    }
    assert of_first == {9: 6, 3: 8}


def test_the_top_of_each_queue_in_its_order(full_page: str) -> None:
    top = parts_of(full_page)["receive_top"]
    assert [row["position"] for row in top if row["place"] == 0] == list(range(1, 11))
    assert [row["message_id"] for row in top if row["place"] == 1] == [
        f"{NASTY}/{number}" for number in (1, 2, 3)
    ]
    assert len(top) == 10 + 3 + SMALL_QUEUES


def test_who_is_overtaken(full_page: str) -> None:
    # The queue's messages arrived in the opposite order: the last one is passed by all others.
    late = parts_of(full_page)["receive_overtaken"]
    assert [(row["queue"], row["passed_by"], row["message_id"]) for row in late[:2]] == [
        ("OrderQueue", 11, "OrderQueue/12"),
        ("OrderQueue", 10, "OrderQueue/11"),
    ]
    sent = parts_of(full_page)["transmission_overtaken"]
    assert [(row["message_id"], row["passed_by"]) for row in sent] == [("m2", 1), ("m3", 1)]


def test_transmission_by_instance(full_page: str) -> None:
    places = parts_of(full_page)["transmission_places"]
    shown = ("instance", "messages", "forwarded", "elevated")
    assert [tuple(row[name] for name in shown) for row in places] == [("SQL1", 3, 1, 1), ("SQL2", 1, 0, 0)]
    assert [(row["place"], row["message_id"]) for row in parts_of(full_page)["transmission_top"]] == [
        (0, "m1"),
        (0, "m2"),
        (0, "m3"),
        (1, "m1"),
    ]


def test_rules_monitors_and_input(full_page: str) -> None:
    counted = ("rule_name", "endpoints", "messages", "open_messages")
    assert [tuple(row[name] for name in counted) for row in parts_of(full_page)["rules"]] == [
        (None, 4, 0, 0),
        ("Gold", 8, 16, 8 + 3 + SMALL_QUEUES),
        ("Unused", 0, 0, 0),
    ]
    assert [row["queue"] for row in parts_of(full_page)["activation"]] == ["OrderQueue", "Queue 00"]
    assert [(row["events"], row["rejected"]) for row in parts_of(full_page)["inputs"]] == [(20, 4)]
    assert [(row["reason"], row["events"]) for row in parts_of(full_page)["rejected"]] == [
        ("message_id is null", 2),
        ("unknown event_type", 1),
    ]
    assert parts_of(full_page)["unresolved"] == [
        {"kind": "receive", "reason": "endpoint_unknown", "messages": 3}
    ]


def test_nights_are_those_up_to_this_one(full_page: str) -> None:
    nights = parts_of(full_page)["nights"]
    shown = ("run_id", "attempts", "failed", "seconds", "open_receive")
    assert [tuple(row[name] for name in shown) for row in nights] == [
        ("r2", 2, 1, 100.0, 61),
        ("r0", 1, 0, 100.0, 50),
    ]
    assert "What the settings expect" not in full_page


def test_tables_that_were_never_written_are_empty(empty_page: str) -> None:
    for name in ("receive_places", "transmission_top", "activation", "rules", "rejected", "unresolved"):
        assert parts_of(empty_page)[name] == []
        assert total(empty_page, name) == 0


def test_what_was_not_published_is_said(session: SparkSession, full: Settings) -> None:
    with pytest.raises(PipelineError, match="was not published"):
        page_of(session, full, at(60, day=1))


def test_a_file_that_can_not_be_written_is_said_before_spark_starts(tmp_path: Path) -> None:
    for out in (tmp_path, tmp_path / "none" / "report.html"):
        with pytest.raises(ConfigError, match="--out"):
            report.main(["--config", "none.yaml", "--out", str(out)])


@pytest.mark.slow
def test_the_file_is_replaced_whole_and_is_the_same_for_the_same_tables(
    embedded: SparkSession, full: Settings, full_page: str, tmp_path: Path, capsys: Any
) -> None:
    out = tmp_path / "page.html"
    out.write_text("old")
    assert report.main(["--config", full.path, "--out", str(out)]) == 0
    assert out.read_text("utf-8") == full_page
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert str(out) in capsys.readouterr().out


QUEUES = 2_000


@pytest.mark.slow
def test_many_queues_make_no_heavy_page(session: SparkSession, tmp_path: Path) -> None:
    """Of queues with long names, every fourth has 9 messages, the others 3."""
    settings = write(session, tmp_path, {"runs": [run("r", AS_OF)]})
    queue = session.range(QUEUES).select(
        F.format_string("%05d %s", "id", F.repeat(F.lit("ü"), F.lit(120))).alias("queue"),
        F.explode(F.sequence(F.lit(1), F.when(F.col("id") % 4 == 0, 9).otherwise(3))).alias("number"),
    )
    long_names = ("message_type", "conversation_id", "conversation_group_id", "contract")
    values = {
        "instance": F.lit("SQL1"),
        "database": F.lit("A"),
        "queue": F.col("queue"),
        "message_id": F.concat_ws("/", "queue", "number"),
        **{name: F.col("number") for name in ("position", "receive_number", "message_sequence_number")},
        "group_priority": F.lit(5),
        "is_initiator": F.lit(False),
        "priority": F.col("number") % 10 + 1,
        "arrived_at": F.lit(at(0)),
        "state": F.lit("ready"),
        **{name: F.lit("m" * 128) for name in (*long_names, "local_service", "remote_service")},
    }
    rows = queue.select(
        *[
            values.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name)
            for field in RECEIVE_SCHEDULE.struct.fields
            if field.name not in OF_AS_OF
        ]
    )
    Warehouse(session, settings.warehouse).replace_as_of(RECEIVE_SCHEDULE, rows, AS_OF)
    many = page_of(session, settings, AS_OF)
    assert len(many.encode()) < 6_000_000
    assert total(many, "receive_places") == QUEUES
    places = parts_of(many)["receive_places"]
    assert len(places) == 500
    assert {row["messages"] for row in places} == {9}
    assert len(parts_of(many)["receive_top"]) == 500 * 9
    assert sum(row["messages"] for row in parts_of(many)["receive_levels"]) == QUEUES // 4 * (9 + 3 * 3)

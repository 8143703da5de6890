"""What a nightly run shows at its end, from a warehouse of a few rows."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.publish import Run
from jobs.summary import FIRST, show_summary
from tests.report.warehouse import AS_OF, NASTY, NIGHT_BEFORE, everything, sent, write

DRAWN = "┏┃┡│└"
"""How the lines of a table begin."""


def shown(text: str) -> dict[str, list[list[str]]]:
    """The rows of each table by its title, in the order of the page; a folded cell has several rows."""
    tables: dict[str, list[list[str]]] = {}
    title = ""
    for line in text.splitlines():
        if line.startswith("│"):
            tables[title].append([cell.strip() for cell in line.strip("│").split("│")])
        elif line.strip() and line[0] not in DRAWN:
            title = line.strip()
            tables[title] = []
    return {title: rows for title, rows in tables.items() if rows}


def test_a_run_shows_the_first_rows_of_its_night_and_no_empty_table(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = everything()
    written["transmission_schedule"].append(sent(1, instance="SQL0", as_of=NIGHT_BEFORE))
    settings = write(spark, tmp_path, written)
    capsys.readouterr()

    show_summary(spark, settings, Run("r2", AS_OF, AS_OF))

    text = capsys.readouterr().out
    assert "Run r2 described 2026-11-20T13:00:00+00:00." in text
    assert NASTY[:4] in text
    tables = shown(text)
    assert list(tables) == [
        "Events so far",
        "Why rows were rejected",
        "receive_schedule: the order in which one reader would receive, per queue",
        "transmission_schedule: the order in which an instance would transmit",
        "rule_coverage: what each rule version decides",
        "Starvation: messages that later ones are received before",
        "Starvation: messages that later ones are sent before",
        "activation_summary: what the queue monitors found",
        "Open messages that cannot be placed yet",
    ]
    assert tables["Events so far"] == [["message_events", "20", "14", "2", "4"]]
    assert tables["Why rows were rejected"] == [
        ["message_events", "message_id is null", "2"],
        ["message_events", "unknown event_type", "1"],
    ]
    assert tables["Open messages that cannot be placed yet"] == [["receive", "endpoint_unknown", "3"]]
    sending = tables["transmission_schedule: the order in which an instance would transmit"]
    assert [row[:2] for row in sending] == [["SQL1", "1"], ["SQL2", "1"], ["SQL1", "2"], ["SQL1", "3"]]
    receiving = tables["receive_schedule: the order in which one reader would receive, per queue"]
    assert [row[3] for row in receiving if row[3]] == ["1"] * FIRST
    advice = tables["activation_summary: what the queue monitors found"]
    assert [row[2] for row in advice if row[2]] == ["OrderQueue", "Queue 00"]

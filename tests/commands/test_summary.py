"""What a nightly run shows at its end, from a warehouse of a few rows."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.console.invocation import command_line, name_command
from pipelines.nightly import report, summary
from pipelines.nightly.report import MOST_STATUSES
from pipelines.nightly.summary import MOST_WAITING, print_summary
from pipelines.storage.ages import read_ages
from pipelines.storage.warehouse import Warehouse
from pipelines.why.report import first_findings
from tests.support.factories import Row
from tests.support.report_warehouse import (
    AS_OF,
    NIGHT_BEFORE,
    everything,
    monitored,
    of_as_of,
    write,
)
from tests.support.written import group, sent


def table_rows(text: str, title: str) -> list[list[str]]:
    """The rows of a table on the screen, by its title."""
    lines = text[text.index(title) :].splitlines()[1:]
    end = next((number for number, line in enumerate(lines) if line.startswith("└")), len(lines))
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines[:end] if line[0] == "│"]


def printed(
    session: SparkSession, folder: Path, tables: dict[str, list[Row]], capsys: pytest.CaptureFixture[str]
) -> tuple[str, str, str]:
    """The summary of a warehouse with these tables, that with --verbose, and the path of its settings."""
    settings = write(session, folder, tables)
    warehouse = Warehouse(session, settings.warehouse)
    found, ages = first_findings(warehouse, settings, AS_OF), read_ages(warehouse, settings, AS_OF)
    capsys.readouterr()
    print_summary(warehouse, settings, AS_OF, found, ages)
    short = capsys.readouterr().out
    print_summary(warehouse, settings, AS_OF, found, ages, verbose=True)
    return short, capsys.readouterr().out, settings.path


def list_items(text: str) -> list[str]:
    return [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]


def test_a_run_shows_what_came_in_what_waits_and_what_to_look_at(
    session: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(summary, "MOST_FINDINGS", 4)
    written = everything()
    written["transmission_schedule"].append(sent(1, instance="SQL0", **of_as_of(NIGHT_BEFORE)))
    written["activation_summary"].append(monitored("Off", "queue_off", 1.0))
    written["group_priorities"] = [
        group("OrderQueue", 12, priority=9),
        group("OrderQueue", 2, state="group_locked", position=None),
        *[group(f"Queue {number}", 1) for number in range(MOST_WAITING)],
        group("OrderQueue", 99, **of_as_of(NIGHT_BEFORE)),
    ]
    short, text, config = printed(session, tmp_path, written, capsys)
    assert [line for line in short.splitlines() if line not in text.splitlines()] == [
        "and 1 more note: nightly --verbose prints all"
    ]
    assert "Events so far" not in short
    assert "First rows" not in short
    assert table_rows(text, "Events so far") == [["message_events", "20", "14", "2", "4"]]
    waits = table_rows(text, "Waiting at 2026-11-20T13:00:00Z")
    assert waits[:3] == [
        ["SQL1.A.OrderQueue", "14", "2", "9", "1 h 12 min"],
        ["SQL1 (to send)", "3", "", "10", "58 min"],
        ["SQL1.A.[Queue 0]", "1", "", "5", "1 h 1 min"],
    ]
    assert len(waits) == MOST_WAITING
    waiting = command_line("waiting", "--as-of", "2026-11-20T13:00:00Z", config=config)
    assert f"and 3 more places: {waiting}" in text
    first, notes = text.partition("Note\n")[::2]
    assert list_items(first) == [
        "Stopped. Messages without a queue: 3 messages are not matched to a queue: no input shows the "
        "creation of the endpoint before as_of.",
        "Stopped. Queue SQL1.A.[Trailing ]: 1 message waits in queue SQL1.A.[Trailing ], which is off by "
        "the catalog.",
        "Blocked. Queue SQL1.A.OrderQueue: 2 messages wait in locked groups, such as g; no event names the "
        "transaction.",
    ]
    assert list_items(notes) == [
        "no input has a RECEIVED event: messages that were received, but not logged so, count as waiting",
        "whether SQL1.A and SQL2.A honor priorities is not known; the order to send holds if they do",
        "SQL1.A.Off: Off: one more reader would help",
        "SQL1.A.OrderQueue: OrderQueue: one more reader would help",
        "SQL1.A.OrderQueue: message OrderQueue/12 has waited since 2026-11-20T11:48:00Z; 11 later "
        "messages are ahead of it",
        "3 rejected rows so far, 2 of them of message_events (message_id is null): priorities rejected",
    ]
    lines = text.splitlines()
    assert lines[0].endswith("is stopped. 3 messages are not matched to a queue.")
    unplaced = lines.index("3 messages are not matched to a queue: 3 endpoint_unknown")
    assert lines[unplaced : unplaced + 2] == [
        "3 messages are not matched to a queue: 3 endpoint_unknown",
        "  3: no input shows the creation of the receiving endpoint before as_of (endpoint_unknown)",
    ]
    received = table_rows(text, "First rows of receive_schedule, SQL1.A.OrderQueue")
    assert [(row[0], row[-1]) for row in received if row[0]] == [
        *(("RECEIVE 1", "g"), ("1", "OrderQueue/1")),
        *(("RECEIVE 2", "g"), ("2", "OrderQueue/2")),
        *(("RECEIVE 3", "g"), ("3", "OrderQueue/3")),
    ]
    sent_first = table_rows(text, "First rows of transmission_schedule, SQL1")
    assert [(row[0], row[1], row[-1]) for row in sent_first] == [
        *(("1", "10 (raised from 7)", "m1"), ("2", "5", "m2"), ("3", "5", "m3"))
    ]
    *_, next_line, report_line = text.splitlines()
    of, at = f"--config {config}", "--as-of 2026-11-20T13:00:00Z"
    assert next_line == f"  {name_command('next')} {of} --queue SQL1.A.OrderQueue {at}"
    assert report_line == f"  {name_command('report')} {of} --out page.html {at}"


def test_leaks_are_one_line(
    session: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = ["2 endpoints leak: as they have no traffic", "Endpoints that may leak: DO: 1"]
    monkeypatch.setattr(report, "leak_sentences", lambda _: told)
    short, _, config = printed(session, tmp_path, {}, capsys)
    command = command_line("leaks", "--as-of", "2026-11-20T13:00:00Z", config=config)
    assert f"\n{'. '.join(told)}: {command}\n" in short


def test_a_run_without_anything_says_so(
    embedded: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, text, _ = printed(embedded, tmp_path, {}, capsys)
    assert "No queue and no instance has a message that waits at 2026-11-20T13:00:00Z." in text
    assert "Look at first" not in text
    assert "First rows" not in text


def test_kinds_of_texts_that_are_not_printed_are_counted(
    embedded: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [f"Text {letter * 3}" for letter in "abcdefghijkl"]
    rows = [sent(number, why_still_here=text) for number, text in enumerate(texts, 1)]
    short, _, _ = printed(embedded, tmp_path, {"transmission_schedule": rows}, capsys)
    assert short.count("1 message: Text") == MOST_STATUSES
    assert f"  and 2 more kinds, 2 messages: {name_command('waiting')}" in short

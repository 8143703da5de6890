"""Expectations on a terminal and on the page."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.console.terminal import open_console
from pipelines.expectations.view import describe_not_met, format_limit, format_value, print_expectations
from tests.support.factories import Row
from tests.support.report_warehouse import AS_OF, OF_AS_OF, everything, page_of, write

COLUMNS = ("name", "value", "limit", "met", "messages", "measure")
ROWS: list[Row] = [
    dict(zip(COLUMNS, row, strict=True))
    for row in (
        ("<b>slow</b>", 1800.0, 600.0, False, 4, "oldest_wait"),
        ("nobody", None, 300.0, True, 0, "p95_wait"),
        ("share", 0.5, 0.6, False, 4, "level_at_least"),
        ("leaks", 2.0, 1e4, True, None, "leaked_conversations"),
    )
]


def test_a_table_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_expectations(open_console(), ROWS, AS_OF)
    text = capsys.readouterr().out
    assert "Expectations at 2026-11-20T13:00:00Z" in text
    lines = [line for line in text.splitlines() if line.startswith("│")][-4:]
    assert [[cell.strip() for cell in line.strip("│").split("│")] for line in lines] == [
        ["<b>slow</b>", "no", "30 min", "at most 10 min", "4"],
        ["nobody", "yes", "nothing to measure", "at most 5 min", "0"],
        ["share", "no", "50 %", "at least 60 %", "4"],
        ["leaks", "yes", "2", "at most 10,000", ""],
    ]


@pytest.mark.slow
def test_the_page_has_them(session: SparkSession, tmp_path: Path) -> None:
    described = json.dumps({"expect": [{"name": row["name"], "measure": row["measure"]} for row in ROWS]})
    tables = everything()
    tables["expectations"] = [OF_AS_OF | {key: row[key] for key in row if key != "measure"} for row in ROWS]
    tables["runs"] = [row | {"settings": described} for row in tables["runs"]]
    page = page_of(session, write(session, tmp_path, tables), AS_OF)
    table = page[page.index("Expectations") :].replace("<wbr>", "")
    slow = ("&lt;b&gt;slow&lt;/b&gt;", "30 min", "at most 10 min")
    places = [table.index(part) for part in (*slow, "nothing to measure", "at least 60 %", "</table>")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("value", "measure", "text"),
    [
        (None, "oldest_wait", "nothing to measure"),
        (53_994.0, "oldest_wait", "14 h 59 min"),
        (12.5, "p95_wait", "12.5 s"),
        (0.9899999999, "level_at_least", "98.9999 %"),
        (1.0, "level_at_least", "100 %"),
        (12_345_678.0, "unresolved", "12,345,678"),
        (7.0, None, "7"),
    ],
)
def test_values(value: float | None, measure: str | None, text: str) -> None:
    assert format_value(value, measure) == text


def test_lines_of_what_is_not_met() -> None:
    row = {"name": "n", "value": 700.0, "limit": 600.0, "met": False, "messages": 1, "measure": "oldest_wait"}
    settings = "; the settings ask for at most 10 min"
    few = "1 message, fewer than min_messages"

    assert describe_not_met(row) == f"expectation 'n': 11 min 40 s (1 message){settings}"
    assert describe_not_met({**row, "value": 600.0}) == f"expectation 'n': 10 min: {few}"
    assert describe_not_met({**row, "messages": None}) == f"expectation 'n': 11 min 40 s{settings}"
    slightly = describe_not_met({**row, "value": 600.5})
    assert slightly == f"expectation 'n': more than 10 min (1 message){settings}"
    nothing = describe_not_met({**row, "value": None, "messages": 0})
    assert nothing == "expectation 'n': nothing to measure: 0 messages, fewer than min_messages"
    unknown = describe_not_met({**row, "value": None, "messages": None})
    assert unknown == "expectation 'n': not measured at this as_of; run the night again"
    assert format_limit({**row, "measure": "level_at_least", "limit": 0.99}) == "at least 99 %"
    assert format_limit({**row, "measure": None}) == "600"

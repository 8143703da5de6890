"""Names from events steer no terminal, whatever signs they have."""

import json
import re

import pytest
from rich.table import Table as Grid

from pipelines.blocks.tables import Table, column
from pipelines.console.tables import print_answer
from pipelines.console.terminal import PLAIN_WIDTH, escape_invisible, escape_line, open_console, to_json
from pipelines.lint.findings import Finding, FindingCode, Severity
from pipelines.lint.view import print_findings
from tests.support.factories import at

HOSTILE = "Gold\x1b[2J\x1b]0;owned\x07\x9b31m \u202etxt.exe\u2066 \x00\r[b]"
SEEN = r"Gold\u001b[2J\u001b]0;owned\u0007\u009b31m \u202etxt.exe\u2066 \u0000\u000d[b]"

UNSEEN = (
    "\x0b \x0c \x85 \u00ad \u034f \u061c \u115f \u180e \u200b \u200c \u200d \u2028 \u2029 \u2060 "
    "\u2064 \u206a \u3164 \ufe0f \ufeff \uffa0 \ufff9 \U000e0041 \U000e0100"
)
STEERING = set("\x1b\x07\x9b\u202e\u2066\x00\r")


def cell_lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith("│")]


def test_signs_that_steer_or_take_no_room_are_written_out_and_no_others() -> None:
    assert escape_invisible(HOSTILE) == SEEN
    assert escape_invisible("Zoë\n\t'“日本” 🙂 [x] \\u001b") == "Zoë\n\t'“日本” 🙂 [x] \\u001b"
    assert escape_invisible(UNSEEN).isascii()
    assert escape_invisible("a\U000e0041\u2028b") == r"a\udb40\udc41\u2028b"


@pytest.mark.parametrize("name", [HOSTILE, UNSEEN])
def test_json_is_read_back_as_it_was(name: str) -> None:
    text = to_json({"queue": name})
    assert not set(text) & STEERING
    assert json.loads(text) == {"queue": name}


def test_a_name_begins_no_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    console = open_console()
    name = "a\nerror: forged\t:bomb:"
    seen = r"a\u000aerror: forged\u0009:bomb:"
    assert escape_line(name) == seen
    print_answer(console, Table("t", name, [column("queue", "name", "queue")]), [{"queue": name}])
    console.write_line(f"Queue {name}")
    columns = [column("queue", "name", "queue"), column(name, "lines", "lines")]
    print_answer(console, Table("t", "", columns), [{"queue": name, "lines": (name, "b")}])
    printed = capsys.readouterr().out
    assert printed.count(seen) == 6
    assert [line for line in printed.splitlines() if line.startswith("error")] == []
    assert [line for line in printed.splitlines() if "│ b " in line] != []


def test_tables_and_lines_show_what_a_name_holds(capsys: pytest.CaptureFixture[str]) -> None:
    console = open_console()
    print_answer(console, Table("t", HOSTILE, [column("queue", "name", "queue")]), [{"queue": HOSTILE}])
    console.print(HOSTILE, style="bold")
    grid = Grid(HOSTILE)
    grid.add_row(HOSTILE)
    console.print(grid)
    printed = capsys.readouterr().out
    assert printed.count(SEEN) == 5
    assert not set(printed) & STEERING


def test_numbers_stand_right_and_texts_left(capsys: pytest.CaptureFixture[str]) -> None:
    columns = [column("queue", "name", "queue"), column("messages", "count", "messages")]
    rows = [{"queue": "A", "messages": 1234}, {"queue": "Orders", "messages": 0.12345}]
    print_answer(open_console(), Table("t", "Waiting", columns), rows)
    assert cell_lines(capsys) == ["│ A      │    1,234 │", "│ Orders │    0.123 │"]


def test_names_of_columns_are_broken_before_what_stands_below_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = {
        "id": "6C7CC50F-D016-50A7-5A70-E9CF31A7C6BE",
        "number": 7,
        "on": "yes",
        "why": "x" * (PLAIN_WIDTH - 72),
    }
    columns = [
        column("id", "id", "id"),
        column("message_sequence_number", "level", "number"),
        column("is_on", "name", "on"),
        column("why", "text", "why"),
    ]
    print_answer(open_console(), Table("t", "Wide", columns), [row])
    printed = capsys.readouterr().out
    cells = [re.split(" *[┃│] *", line)[1:4] for line in printed.splitlines() if line[0] in "┃│"]
    heading = [["", "message_", ""], ["", "sequence_", "is_"], ["id", "number", "on"]]
    assert cells == [*heading, [row["id"], "7", "yes"]]


def test_times_are_broken_before_names(capsys: pytest.CaptureFixture[str]) -> None:
    row = {"rule_name": "x" * (PLAIN_WIDTH - 20), "first_use": at(0)}
    columns = [column("rule_name", "name", "rule_name"), column("first_use", "moment", "first_use")]
    print_answer(open_console(), Table("t", "Wide", columns), [row])
    assert [[each.strip() for each in line.strip("│").split("│")] for line in cell_lines(capsys)] == [
        [row["rule_name"], "2026-11-20"],
        ["", "T12:00:00Z"],
    ]


def test_findings_show_what_a_name_holds(capsys: pytest.CaptureFixture[str]) -> None:
    place = (HOSTILE, HOSTILE)
    finding = Finding(FindingCode.REDUNDANT, Severity.WARNING, place, HOSTILE, None, HOSTILE, HOSTILE)
    print_findings(open_console(), [finding])
    printed = capsys.readouterr().out
    assert not set(printed) & STEERING
    assert "[b]" in printed

"""A declared table: the columns that it reads, and those that it shows."""

import pytest

from pipelines.blocks.tables import AtLeast, Column, Id, Table, column, place_column
from pipelines.console.tables import print_answer
from pipelines.console.terminal import open_console
from pipelines.report.cells import make_answer
from pipelines.report.tables import PageData, PageTable
from tests.support.factories import NOON, Row

ROWS: list[Row] = [
    {"instance": "SQL1", "database": "A", "queue": "Dot.ted", "why": "not_known", "share": 0.5, "wait": 0.25},
    {"instance": "SQL1", "database": None, "queue": None, "why": "late", "share": None, "wait": AtLeast(90)},
]
TABLE = Table(
    "answer-waits",
    "Waits",
    [
        place_column("Queue"),
        column("Why", "word", "why"),
        column("Fitness", "share", "share"),
        Column("Waits", "duration", lambda row: row["wait"], ("wait",), lambda row: row["why"] == "late"),
        Column("Never", "text", lambda row: None, ("why",)),
        column("Code", "name", "why", is_detail=True),
    ],
)
TREE = Table(
    "tree",
    "Tree",
    [
        Column("Level", "level", lambda row: row["level"], remark=lambda row: row.get("remark")),
        column("Lines", "lines", "lines"),
        column("Id", "id", "id"),
    ],
    is_tree=True,
    is_last=lambda row: row["level"] is None,
)


def test_a_table_knows_what_it_reads_and_shows() -> None:
    assert TABLE.keys == ["instance", "database", "queue", "why", "share", "wait"]
    assert [each.head for each in TABLE.columns_of(ROWS)] == ["Queue", "Why", "Fitness", "Waits"]
    assert TABLE.with_title("Other").title == "Other"


def test_console_and_page_write_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer(open_console(), TABLE, ROWS)
    printed = capsys.readouterr().out
    lines = [line.strip("│").split("│") for line in printed.splitlines() if line.startswith("│")]
    assert printed.startswith("Waits\n")
    assert [[cell.strip() for cell in line] for line in lines] == [
        ["SQL1.A.[Dot.ted]", "not known", "50%", "250 ms"],
        ["SQL1.?", "late", "", "at least 1 min 30 s"],
    ]
    rows = [[row[key] for key in TABLE.keys] for row in ROWS]
    made = make_answer(TABLE, PageData(NOON, {"answer_waits": PageTable(TABLE.keys, rows, 2)}))
    assert [each.head for each in made.columns] == ["Queue", "Why", "Fitness", "Waits", "Code"]
    assert [[(cell.text, cell.small, cell.text_class) for cell in row] for row in made.rows] == [
        [
            ("Dot.ted", "SQL1 · A", ""),
            ("not known", "", ""),
            ("50%", "", ""),
            ("250 ms", "", ""),
            ("not_known", "", ""),
        ],
        [
            ("\u2013", "SQL1 · ?", "none"),
            ("late", "", ""),
            ("\u2013", "", "none"),
            ("at least 1 min 30 s", "", "flag"),
            ("late", "", ""),
        ],
    ]


def test_remarks_lines_and_ends_of_sections(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[Row] = [
        {"level": 9, "remark": "raised", "lines": None, "id": Id("group", "g")},
        {"level": None, "lines": ("a", "b"), "id": Id("message", "m")},
        {"level": 5, "lines": None, "id": None},
    ]
    print_answer(open_console(), TREE, rows)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[4:]] == [
        ["│", "9", "(raised)", "│", "│", "g", "│"],
        ["│", "│", "a", "│", "m", "│"],
        ["│", "│", "b", "│", "│"],
        [lines[7]],
        ["│", "5", "│", "│", "│"],
        [lines[9]],
    ]
    assert lines[7].startswith("├")
    made = make_answer(
        TREE,
        PageData(
            NOON, {"tree": PageTable(["level", "remark", "lines", "id"], [[9, "raised", ["a", "b"], "g"]], 1)}
        ),
    )
    assert [(cell.text, cell.small) for cell in made.rows[0]] == [("9", "raised"), ("a; b", ""), ("g", "")]


def test_without_rows_there_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer(open_console(), TABLE, [])
    assert capsys.readouterr().out == "Waits: none.\n"

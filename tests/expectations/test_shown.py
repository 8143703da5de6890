"""The page and the summary of a night show expectations; days that were pruned are refused."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.config.errors import ConfigError
from pipelines.expectations.view import describe_not_met, format_limit, format_value
from pipelines.nightly.summary import print_summary
from pipelines.report.content import read_tables
from pipelines.report.page import render_page
from pipelines.storage.maintain import maintain
from tests.support.expected_night import AS_OF, events, project_in
from tests.support.factories import short_talk
from tests.support.harness import Project

EXPECTED = [
    {"name": "<b>slow</b>", "oldest_wait": "10 min"},
    {"name": "nobody", "contract": "Misspelt", "p95_wait": "5 min"},
    {"name": "share", "level_at_least": 9, "share": 0.6},
    {"name": "leaks", "leaked_conversations": 10_000},
]


@pytest.fixture(scope="module")
def project(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = project_in(tmp_path_factory.mktemp("project"), EXPECTED)
    project.add(events())
    project.run(session, AS_OF)
    return project


def test_the_summary_shows_them(
    session: SparkSession, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    print_summary(project.warehouse(session), project.settings(), AS_OF)

    text = capsys.readouterr().out
    lines = text[text.index("Expectations at 2026-11-20T13:00:00Z") :].splitlines()[4:8]
    assert [[cell.strip() for cell in line.strip("│").split("│")] for line in lines] == [
        ["<b>slow</b>", "no", "1,800 s", "at most 600 s", "4"],
        ["nobody", "yes", "nothing to measure", "at most 300 s", "0"],
        ["share", "no", "0.5", "at least 0.6", "4"],
        ["leaks", "yes", "2", "at most 10,000", ""],
    ]


def test_the_page_shows_them(session: SparkSession, project: Project) -> None:
    text = render_page(AS_OF, read_tables(project.warehouse(session), AS_OF))

    overview = text[text.index('<section id="overview"') : text.index('<section id="queues"')]
    begin = overview.index("What the settings expect")
    table = overview[begin : overview.index("</table>", begin)]
    places = [
        table.index(part)
        for part in (
            "&lt;b&gt;slow&lt;/b&gt;",
            "1,800 s",
            "at most 600 s",
            "nothing to measure",
            "at least 0.6",
        )
    ]
    assert places == sorted(places)


def test_a_page_without_expectations_has_no_such_table(session: SparkSession, tmp_path: Path) -> None:
    project = project_in(tmp_path, None)
    project.add(events())
    project.run(session, AS_OF)

    assert "What the settings expect" not in render_page(
        AS_OF, read_tables(project.warehouse(session), AS_OF)
    )


def test_pruned_days_are_refused_before_the_as_of_is_touched(session: SparkSession, tmp_path: Path) -> None:
    project = project_in(tmp_path, None)
    for day in (-9, -8):
        project.add(short_talk(f"day {day}", day, ends=True))
        project.take_in(session)
    project.add(events())
    project.run(session, AS_OF)
    maintain(project.warehouse(session).root, keep_event_days=2, keep_hours=0, spark=session)
    project = project_in(tmp_path, [{"leaked_conversations": 0, "days": 2}, {"leaked_conversations": 0}])

    with pytest.raises(ConfigError) as caught:
        project.run(session, AS_OF)

    assert str(caught.value).startswith(
        f"{project.config}: expect[1].days: 7 days before 2026-11-20T13:00:00Z needs the log of "
        "2026-11-13T13:00:00Z, which "
    )
    assert str(caught.value).endswith("the first day left is 2026-11-18; write days: 2 or less")
    assert [row["status"] for row in project.table("runs")] == ["succeeded"]
    project_in(tmp_path, [{"leaked_conversations": 2, "days": 2}]).run(session, AS_OF)
    assert [row["value"] for row in project.table("expectations")] == [2]


@pytest.mark.parametrize(
    ("value", "measure", "text"),
    [
        (None, "oldest_wait", "nothing to measure"),
        (53_994.0, "oldest_wait", "53,994 s"),
        (1709.9999999999998, "p95_wait", "1,710 s"),
        (0.9899999999, "level_at_least", "0.989999"),
        (1.0, "level_at_least", "1"),
        (12_345_678.0, "unresolved", "12,345,678"),
        (7.0, None, "7"),
    ],
)
def test_values(value: float | None, measure: str | None, text: str) -> None:
    assert format_value(value, measure) == text


def test_lines_of_what_is_not_met() -> None:
    row = {"name": "n", "value": 700.0, "limit": 600.0, "met": False, "messages": 1, "measure": "oldest_wait"}
    settings = "; the settings ask for at most 600 s"
    few = "1 message, fewer than min_messages"

    assert describe_not_met(row) == f"expectation 'n': 700 s (1 message){settings}"
    assert describe_not_met({**row, "value": 600.0}) == f"expectation 'n': 600 s: {few}"
    assert describe_not_met({**row, "messages": None}) == f"expectation 'n': 700 s{settings}"
    nothing = describe_not_met({**row, "value": None, "messages": 0})
    assert nothing == "expectation 'n': nothing to measure: 0 messages, fewer than min_messages"
    assert format_limit({**row, "measure": "level_at_least", "limit": 0.99}) == "at least 0.99"
    assert format_limit({**row, "measure": None}) == "600"

"""The sections of a what-if, a conformance check and a replay: in the page if asked for, names as text."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from axe_core_python.selenium import Axe
from pyspark.sql import SparkSession
from selenium.webdriver.common.by import By

from pipelines.commands import report
from pipelines.config.errors import ConfigError
from pipelines.engine.frames import small_frame
from pipelines.report.conformance import QUEUES_SHOWN, read_conformance_tables
from pipelines.report.replay import MOMENTS, STEPS, read_replay_tables
from pipelines.report.tables import PageTable
from pipelines.report.whatif import read_whatif_tables
from pipelines.settings.load import Settings
from pipelines.storage.answers import read_answers
from pipelines.storage.warehouse import Warehouse
from pipelines.whatif.report import MOST_MOVED
from schemas.conformance import CONFORMANCE_TABLES
from schemas.replay import REPLAY_TABLES
from schemas.table import Table
from schemas.whatif import WHATIF_AS_OF, WHATIF_TABLES
from tests.support.browser import Browser, complaints, first_column, opened, requests, table
from tests.support.factories import Row, at
from tests.support.report_warehouse import AS_OF, NASTY

pytestmark = pytest.mark.slow

QUEUE = {"instance": "SQL1", "database": "A", "queue": NASTY}


def moved(number: int, before: int, after: int, level: int, **others: Any) -> Row:
    return {
        **QUEUE,
        "kind": "receive",
        "message_id": f"m{number}",
        "position_before": before,
        "position_after": after,
        "moved": before - after,
        "level_before": level,
        "level_after": level,
        "state": "ready",
        **others,
    }


SUMS = ("gained", "lost", "positions_gained", "positions_lost", "largest_gain", "largest_loss")
COUNTED = {"kind": "receive", "messages": 3, **dict.fromkeys(SUMS, 1), "median_moved": 0.0}
WHATIF = {
    "whatif_messages": [
        moved(1, 1, 2, 9, message_id=NASTY),
        moved(2, 2, 1, 7, level_after=8),
        moved(3, 3, 3, 5),
    ],
    "whatif_summary": [
        {**COUNTED, "dimension": "queue", "name": f"[SQL1].[A].[{NASTY}]"},
        {**COUNTED, "dimension": "contract", "name": NASTY},
    ],
    "whatif_pairs": [{**QUEUE, "passing_level": 7, "passed_level": 9, "pairs": 1}],
    WHATIF_AS_OF.name: [{"as_of": AS_OF}],
}

FIGURES = {"decisions": 5, "with_choice": 4, "conforming": 1, "passed": 3, "passable": 4, "fitness": 0.25}
CLASSES = ("where_clause", "own_group", "logged_level", "timing", "other_lock", "unexplained")
REST = ("ties", "ties_oldest_first", "lock_skipped", "partial", "within_group", "not_ready", *CLASSES)
CHECKED = {"as_of": AS_OF, **QUEUE, **FIGURES}
CONFORMANCE = {
    "conformance": [{**CHECKED, "skill": -0.5, **dict.fromkeys(REST, 0)}],
    "conformance_hours": [
        {**CHECKED, "hour": at(minute), "fitness": fitness}
        for minute, fitness in ((0, 0.9999), (60, 0.0), (120, None))
    ],
    "conformance_deviations": [
        {
            "as_of": AS_OF,
            **QUEUE,
            "at": at(61),
            "conversation_group_id": group,
            "level": 3,
            "best_level": 9,
            "passed_groups": 1,
            "class": kind,
            "witness_message_id": NASTY,
        }
        for group, kind in (("g1", "timing"), (NASTY, "unexplained"))
    ],
}


def message(number: int, scenario: str, started: int | None) -> Row:
    served = {} if started is None else {"started_at": at(started), "finished_at": at(started)}
    return {
        **QUEUE,
        "scenario": scenario,
        "message_id": f"m{number}",
        "arrived_at": at(0),
        "receive_number": None if started is None else number,
        "level": 9,
        **served,
    }


WAIT = {**QUEUE, "level": 9, "messages": 2, "served": 1, "unserved": 1, "estimated": 0, "calibrated": False}
COMPARED = {**QUEUE, "messages": 2}
UNCOMPARED = {"queue": "Uncompared", "calibrated": True}
REPLAY = {
    "replay_waits": [
        {**WAIT, "scenario": "actual", "wait_p50": 250.0, "at_least": 60_000.0},
        {**WAIT, "scenario": "proposed", "wait_p50": 0.0, "wait_p95": 60_000.0},
        {**WAIT, "scenario": "actual", **UNCOMPARED},
    ],
    "replay_calibration": [
        {**COMPARED, "level": 9, "verdict": "off", "calibrated": False},
        {**COMPARED, "level": 5, "verdict": "calibrated", "calibrated": True},
        {**COMPARED, "level": 4, "verdict": "calibrated", "calibrated": True},
        {**COMPARED, "level": 3, "verdict": "unknown", "calibrated": False},
        {**COMPARED, "level": 9, "verdict": "unknown", **UNCOMPARED},
    ],
    "replay_messages": [
        message(1, "actual", 1),
        message(2, "actual", None),
        message(1, "proposed", 0),
        message(2, "proposed", 1),
    ],
}


def answers_of(
    session: SparkSession, folder: Path, tables: Sequence[Table], rows: dict[str, list[Row]]
) -> Warehouse:
    """A folder with the tables of an answer; those without rows are empty."""
    answers = Warehouse(session, str(folder))
    for each in tables:
        values = [[row.get(name) for name in each.names] for row in rows.get(each.name, [])]
        answers.replace(each, small_frame(session, values, each.struct))
    return answers


def rows_of(part: PageTable) -> list[Row]:
    return [dict(zip(part.columns, row, strict=True)) for row in part.rows]


@pytest.fixture(scope="module")
def page(session: SparkSession, full: Settings, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page with all three answers."""
    folder = tmp_path_factory.mktemp("answers")
    asked = []
    for option, tables, rows in (
        ("whatif", (*WHATIF_TABLES, WHATIF_AS_OF), WHATIF),
        ("conformance", CONFORMANCE_TABLES, CONFORMANCE),
        ("replay", REPLAY_TABLES, REPLAY),
    ):
        asked += [f"--{option}", answers_of(session, folder / option, tables, rows).root]
    out = folder / "page.html"
    assert report.main(["--config", full.path, *asked, "--out", str(out)]) == 0
    return out.read_text()


@pytest.fixture
def seen(browser: Browser, page: str, tmp_path: Path) -> Browser:
    return opened(browser, page, tmp_path)


def test_they_are_accessible_and_ask_for_nothing(seen: Browser) -> None:
    assert seen.title != "owned"
    assert complaints(seen) == []
    assert requests(seen) == []
    found = Axe().run(seen)["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


def test_a_whatif_shows_moves_pairs_and_who_pays(seen: Browser) -> None:
    said = seen.find_element(By.ID, "whatif-said").text
    assert said == (
        "The proposal changes the level of 0 endpoints: of 3 messages 1 come earlier and 1 later."
    )
    dots = seen.find_elements(By.CSS_SELECTOR, "#whatif-picture circle")
    assert [dot.get_attribute("class") for dot in dots] == ["pays", "gains", "stays"]
    caption = seen.find_element(By.CSS_SELECTOR, "#whatif figcaption").text
    assert "1 come earlier, above the line, and 1 later, below it" in caption
    assert NASTY in caption
    assert first_column(seen, "whatif-pairs") == ["7"]
    assert "Passes level 9" in table(seen, "whatif-pairs").text
    assert first_column(seen, "whatif-summary") == [NASTY, f"SQL1.A.[{NASTY}]"]
    assert first_column(seen, "whatif-moves") == [NASTY, NASTY]
    [short] = table(seen, "whatif-moves").find_elements(By.CSS_SELECTOR, ".short")
    assert short.get_attribute("title") == NASTY
    moves = table(seen, "whatif-moves").find_elements(By.CSS_SELECTOR, "tbody tr")
    assert [[cell.text for cell in move.find_elements(By.TAG_NAME, "td")] for move in moves] == [
        ["receive", NASTY[:8], "1", "2", "-1", "9", "9"],
        ["receive", "m2", "2", "1", "1", "7", "8"],
    ]


def cells(seen: Browser, selector: str) -> list[str]:
    return [cell.text for cell in seen.find_elements(By.CSS_SELECTOR, selector)]


def test_a_check_shows_hours_and_deviations(seen: Browser) -> None:
    said = seen.find_element(By.ID, "conformance-said").text
    assert said == "Of 4 receives that could choose between levels, 1 passed no higher one."
    hours = table(seen, "conformance-hours").text
    assert "12:00" in hours
    assert "99.9%" in hours
    assert "14:00" not in hours
    heat = seen.find_elements(By.CSS_SELECTOR, "[data-table=conformance-hours] .heat")
    assert [cell.get_attribute("style") for cell in heat] == ["--share: 0.000;", "--share: 0.450;"]
    assert "-50%" in table(seen, "conformance-queues").text
    kinds = cells(seen, "[data-table=conformance-deviations] tbody td:nth-child(3)")
    assert kinds == ["unexplained", "timing"]
    assert "no message went" in table(seen, "conformance-links").text


def test_a_replay_shows_waits_and_what_follows_the_log(seen: Browser) -> None:
    said = seen.find_element(By.ID, "replay-said").text
    assert said == (
        "The replay does not follow the log in 1 of 2 queues, so mistrust the figures there; in 1 of 2 "
        "queues nothing can be compared with the log."
    )
    curves = seen.find_elements(By.CSS_SELECTOR, "#replay-shares .curve")
    assert [curve.get_attribute("class") for curve in curves] == ["curve before", "curve after"]
    assert len(seen.find_elements(By.CSS_SELECTOR, "#replay-lengths .curve")) == 2
    assert NASTY in seen.find_element(By.CSS_SELECTOR, "#replay-shares figcaption").text
    shown = table(seen, "replay-waits").text
    assert "250 ms" in shown
    assert "at least 1 min" in shown
    assert len(first_column(seen, "replay-waits")) == 3
    follows = cells(seen, "[data-table=replay-waits] tbody td:last-child")
    assert sorted(follows) == ["no", "no", "not known"]


def test_the_largest_moves_are_those_of_the_terminal_and_all_messages_count_once(
    session: SparkSession, tmp_path: Path
) -> None:
    sent = {"kind": "transmission", "queue": None, "state": None}
    rows = [moved(number, number, number, 5) for number in range(1, 20)]
    rows += [moved(number, 30 + number, 31, 5) for number in range(20, 30)]
    rows += [moved(30, 1, 30, 5), moved(31, 1, 30, 5, **sent), moved(32, 1, 30, 5, queue="Another")]
    rows += [moved(33, 1, 90, 5, position_after=None, moved=None)]
    level = {**COUNTED, "dimension": "level", "name": "9"}
    sums = {**COUNTED, "dimension": "instance", "name": "[SQL1]", "kind": "transmission", "messages": 5}
    summary = [*WHATIF["whatif_summary"], level, {**sums, "gained": 2, "lost": 3}]
    given = {**WHATIF, "whatif_messages": rows, "whatif_summary": summary}
    answers = answers_of(session, tmp_path, (*WHATIF_TABLES, WHATIF_AS_OF), given)
    parts = read_whatif_tables(answers, AS_OF)
    assert [(row["message_id"], row["moved"]) for row in rows_of(parts["whatif_moves"])] == [
        ("m30", -29),
        ("m32", -29),
        ("m31", -29),
        *[(f"m{number}", number - 1) for number in range(29, 29 - MOST_MOVED + 3, -1)],
    ]
    assert parts["whatif_moves"].total == 10 + 3
    assert rows_of(parts["whatif_counts"]) == [{"messages": 8, "gained": 3, "lost": 4}]


def test_empty_answers_count_nothing(session: SparkSession, tmp_path: Path) -> None:
    none = {WHATIF_AS_OF.name: WHATIF[WHATIF_AS_OF.name]}
    answers = answers_of(session, tmp_path / "whatif", (*WHATIF_TABLES, WHATIF_AS_OF), none)
    parts = read_whatif_tables(answers, AS_OF)
    assert parts["whatif_counts"].rows == [[0, 0, 0]]
    assert parts["whatif_moves"].rows == []
    checked = answers_of(session, tmp_path / "conformance", CONFORMANCE_TABLES, {})
    assert read_conformance_tables(checked, AS_OF)["conformance_counts"].rows == [[0, 0]]


def test_an_answer_without_a_table_is_named(session: SparkSession, tmp_path: Path) -> None:
    warehouse = Warehouse(session, str(tmp_path / "warehouse"))
    with pytest.raises(ConfigError, match="nothing: has no table whatif_endpoints, whatif_groups,"):
        read_answers(warehouse, str(tmp_path / "nothing"), WHATIF_TABLES, option="--whatif")
    # An early version wrote no table that says the as_of.
    old = answers_of(session, tmp_path / "old", WHATIF_TABLES, WHATIF)
    with pytest.raises(ConfigError, match="does not say its as_of, so it isn't known; run "):
        read_whatif_tables(read_answers(warehouse, old.root, WHATIF_TABLES, option="--whatif"), AS_OF)


LINK = {"sending_instance": "SQL1", "receiving_instance": "SQL2", "messages": 1, "with_inversion": 0}
OF_ANOTHER: dict[str, dict[str, list[Row]]] = {
    "queues": {**CONFORMANCE, "conformance": [{**CONFORMANCE["conformance"][0], "as_of": at(5)}]},
    "links alone": {
        "conformance_links": [{"as_of": at(5), **LINK, "inversions": 0, "inversions_fragmented": 0}]
    },
}


@pytest.mark.parametrize("what", OF_ANOTHER)
def test_a_check_of_another_as_of_is_refused(session: SparkSession, tmp_path: Path, what: str) -> None:
    other = answers_of(session, tmp_path, CONFORMANCE_TABLES, OF_ANOTHER[what])
    with pytest.raises(ConfigError, match="is of 2026-11-20T12:05:00Z; write it again with --as-of"):
        read_conformance_tables(other, AS_OF)


def test_more_queues_than_are_shown_are_counted(session: SparkSession, tmp_path: Path) -> None:
    [row] = CONFORMANCE["conformance"]
    queues = QUEUES_SHOWN + 3
    rows = [{**row, "queue": f"Queue {number}"} for number in range(queues)]
    many = answers_of(session, tmp_path, CONFORMANCE_TABLES, {**CONFORMANCE, "conformance": rows})
    parts = read_conformance_tables(many, AS_OF)
    assert len(parts["conformance_queues"].rows) == QUEUES_SHOWN
    assert rows_of(parts["conformance_counts"]) == [{"with_choice": 4 * queues, "conforming": queues}]


def test_the_curves_are_those_of_the_messages(session: SparkSession, tmp_path: Path) -> None:
    """Of 2 messages that wait 0 and 60 s, and one that waits for ever; and of more than there are points."""
    many = 3 * STEPS + 1
    rows = [message(number, "actual", number) for number in range(many)]
    rows += [message(number, "proposed", started) for number, started in enumerate((0, 1, None))]
    answers = answers_of(session, tmp_path, REPLAY_TABLES, {**REPLAY, "replay_messages": rows})
    parts = read_replay_tables(answers)
    shares = [tuple(row) for row in parts["replay_shares"].rows]
    assert [row for row in shares if row[0] == "proposed"] == [
        ("proposed", 9, 0.0, pytest.approx(1 / 3)),
        ("proposed", 9, 60.0, pytest.approx(2 / 3)),
    ]
    actual = [row for row in shares if row[0] == "actual"]
    assert STEPS * 3 / 4 < len(actual) <= STEPS + 1
    assert all(share == pytest.approx((seconds / 60 + 1) / many) for _, _, seconds, share in actual)
    assert actual[-1][3] == 1.0
    lengths = parts["replay_lengths"].rows
    assert len(lengths) <= 2 * (MOMENTS + 1)
    # All arrive at once; a moment has all that happened before it.
    for scenario, moment, waiting in lengths:
        minutes = (moment - at(0)).total_seconds() / 60
        started = min(many, -int(-minutes // 1)) if scenario == "actual" else min(2, -int(-minutes // 1))
        assert waiting == (many if scenario == "actual" else 3) - started

"""The section of a what-if: in the page if it is asked for, with its picture and nasty names as text."""

from pathlib import Path

import pytest
from axe_core_python.selenium import Axe
from pyspark.sql import SparkSession
from selenium.webdriver.common.by import By

from pipelines.config.errors import ConfigError
from pipelines.report.page import render_page
from pipelines.report.whatif import read_whatif_tables
from pipelines.storage.answers import read_answers
from pipelines.storage.warehouse import Warehouse
from pipelines.whatif.report import MOST_MOVED
from schemas.whatif import WHATIF_TABLES
from tests.support.browser import Browser, complaints, first_column, opened, requests, table
from tests.support.factories import Row
from tests.support.report_answers import ANSWER, answers_at, answers_of, counted, moved
from tests.support.report_warehouse import AS_OF, NASTY


def test_the_section_shows_moves_pairs_and_who_pays(
    browser: Browser, session: SparkSession, tmp_path: Path
) -> None:
    answers = answers_at(session, tmp_path / "answers", AS_OF)
    seen = opened(browser, render_page(AS_OF, read_whatif_tables(answers, AS_OF)), tmp_path)
    said = seen.find_element(By.ID, "whatif-said").text
    assert said == (
        "The proposal changes the level of 0 endpoints: of 3 messages 1 come earlier and 1 later."
    )
    dots = seen.find_elements(By.CSS_SELECTOR, "#whatif-picture circle")
    assert [dot.get_attribute("class") for dot in dots] == ["pays", "gains", "stays"]
    caption = seen.find_element(By.TAG_NAME, "figcaption").text
    assert "1 come earlier, above the line, and 1 later, below it" in caption
    assert NASTY in caption
    assert first_column(seen, "whatif-pairs") == ["7"]
    assert "Passes level 9" in table(seen, "whatif-pairs").text
    assert first_column(seen, "whatif-summary") == [NASTY, f"[SQL1].[A].[{NASTY}]"]
    assert first_column(seen, "whatif-moves") == [NASTY, NASTY]
    [short] = table(seen, "whatif-moves").find_elements(By.CSS_SELECTOR, ".short")
    assert short.get_attribute("title") == NASTY
    moves = table(seen, "whatif-moves").find_elements(By.CSS_SELECTOR, "tbody tr")
    assert [[cell.text for cell in move.find_elements(By.TAG_NAME, "td")] for move in moves] == [
        ["receive", NASTY[:8], "1", "2", "-1", "9"],
        ["receive", "m2", "2", "1", "1", "7 to 8"],
    ]
    assert seen.title != "owned"
    assert complaints(seen) == []
    assert requests(seen) == []
    found = Axe().run(seen)["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


def test_the_largest_moves_are_those_of_the_terminal_and_all_messages_count_once(
    session: SparkSession, tmp_path: Path
) -> None:
    sent = {"kind": "transmission", "queue": None, "state": None}
    rows = [moved(number, number, number, 5) for number in range(1, 20)]
    rows += [moved(number, 30 + number, 31, 5) for number in range(20, 30)]
    rows += [moved(30, 1, 30, 5), moved(31, 1, 30, 5, **sent), moved(32, 1, 30, 5, queue="Another")]
    rows += [moved(33, 1, 90, 5, position_after=None, moved=None)]
    sums = counted("instance", "[SQL1]", kind="transmission", messages=5, gained=2, lost=3)
    summary = [*ANSWER["whatif_summary"], counted("level", "9"), sums]
    answers = answers_at(session, tmp_path, AS_OF, whatif_messages=rows, whatif_summary=summary)
    parts = read_whatif_tables(answers, AS_OF)
    part = parts["whatif_moves"]
    shown = [dict(zip(part.columns, row, strict=True)) for row in part.rows]
    assert [(row["message_id"], row["moved"]) for row in shown] == [
        ("m30", -29),
        ("m32", -29),
        ("m31", -29),
        *[(f"m{number}", number - 1) for number in range(29, 29 - MOST_MOVED + 3, -1)],
    ]
    assert part.total == 10 + 3
    counts = parts["whatif_counts"]
    assert dict(zip(counts.columns, counts.rows[0], strict=True)) == {"messages": 8, "gained": 3, "lost": 4}


def test_an_empty_answer_counts_nothing(session: SparkSession, tmp_path: Path) -> None:
    none = {name: list[Row]() for name in ANSWER}
    parts = read_whatif_tables(answers_at(session, tmp_path / "none", AS_OF, **none), AS_OF)
    assert parts["whatif_counts"].rows == [[0, 0, 0]]
    assert parts["whatif_moves"].rows == []


def test_an_answer_without_a_table_is_named(session: SparkSession, tmp_path: Path) -> None:
    warehouse = Warehouse(session, str(tmp_path / "warehouse"))
    with pytest.raises(ConfigError, match="nothing: has no table whatif_endpoints, whatif_groups,"):
        read_answers(warehouse, str(tmp_path / "nothing"), WHATIF_TABLES, option="--whatif")
    # An early version wrote no table that says the as_of.
    old = answers_of(session, tmp_path / "old", WHATIF_TABLES, ANSWER)
    with pytest.raises(ConfigError, match="does not say its as_of, so it isn't known; run "):
        read_whatif_tables(read_answers(warehouse, old.root, WHATIF_TABLES, option="--whatif"), AS_OF)

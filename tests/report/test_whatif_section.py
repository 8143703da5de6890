"""The section of a what-if: in the page if it is asked for, with its picture and nasty names as text."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest
from axe_core_python.selenium import Axe
from pyspark.sql import SparkSession
from selenium.webdriver.common.by import By

from config.errors import ConfigError
from config.instants import format_instant
from config.load import Settings
from jobs import report
from schemas.table import Table
from schemas.whatif import WHATIF_AS_OF, WHATIF_TABLES
from storage.small_frame import small_frame
from storage.warehouse import Warehouse
from tests.factories import Row, at
from tests.report.test_browser import Browser, complaints, first_column, opened, requests, table
from tests.report.warehouse import AS_OF, NASTY

QUEUE = {"instance": "SQL1", "database": "A", "queue": NASTY}


def moved(number: int, before: int, after: int, level: int) -> Row:
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
    }


ANSWER: dict[str, list[Row]] = {
    "whatif_endpoints": [],
    "whatif_groups": [],
    "whatif_messages": [moved(1, 1, 2, 9), moved(2, 2, 1, 7), moved(3, 3, 3, 5)],
    "whatif_summary": [
        {
            "kind": "receive",
            "dimension": "contract",
            "name": NASTY,
            "messages": 3,
            "gained": 1,
            "lost": 1,
            "positions_gained": 1,
            "positions_lost": 1,
            "largest_gain": 1,
            "largest_loss": 1,
            "median_moved": 0.0,
        }
    ],
    "whatif_pairs": [{**QUEUE, "passing_level": 7, "passed_level": 9, "pairs": 1}],
}


def answers_of(
    session: SparkSession, folder: Path, tables: Sequence[Table], answer: dict[str, list[Row]]
) -> Warehouse:
    """A folder with the tables of an answer."""
    answers = Warehouse(session, str(folder))
    for each in tables:
        rows = [[row.get(name) for name in each.names] for row in answer[each.name]]
        answers.replace(each, small_frame(session, rows, each.struct))
    return answers


def answers_at(session: SparkSession, folder: Path, *as_of: datetime) -> Warehouse:
    """A folder with the tables of a what-if of this as_of."""
    rows = [{"as_of": moment} for moment in as_of]
    return answers_of(session, folder, (*WHATIF_TABLES, WHATIF_AS_OF), {**ANSWER, WHATIF_AS_OF.name: rows})


@pytest.fixture
def answers(session: SparkSession, tmp_path: Path) -> str:
    return answers_at(session, tmp_path / "answers", AS_OF).root


def test_the_section_shows_moves_pairs_and_who_pays(
    browser: Browser, full: Settings, answers: str, tmp_path: Path
) -> None:
    out = tmp_path / "page.html"
    assert report.main(["--config", full.path, "--whatif", answers, "--out", str(out)]) == 0
    seen = opened(browser, out.read_text(), tmp_path)
    dots = seen.find_elements(By.CSS_SELECTOR, "#whatif-picture circle")
    assert [dot.get_attribute("class") for dot in dots] == ["pays", "gains", "stays"]
    caption = seen.find_element(By.TAG_NAME, "figcaption").text
    assert "1 come earlier, above the line, and 1 later, below it" in caption
    assert NASTY in caption
    assert first_column(seen, "whatif-pairs") == ["7"]
    assert "Passes level 9" in table(seen, "whatif-pairs").text
    assert first_column(seen, "whatif-summary") == [NASTY]
    assert seen.title != "owned"
    assert complaints(seen) == []
    assert requests(seen) == []
    found = Axe().run(seen)["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


def test_without_one_there_is_no_section(browser: Browser, full_page: str, tmp_path: Path) -> None:
    seen = opened(browser, full_page, tmp_path)
    assert seen.find_elements(By.ID, "whatif") == []
    assert "What if" not in seen.find_element(By.TAG_NAME, "nav").text


def test_a_folder_without_the_tables_is_named(full: Settings, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing: has no table whatif_endpoints, whatif_groups,"):
        report.main(
            ["--config", full.path, "--whatif", str(tmp_path / "nothing"), "--out", str(tmp_path / "p")]
        )


def test_a_what_if_of_another_as_of_is_refused(session: SparkSession, full: Settings, tmp_path: Path) -> None:
    folder = answers_at(session, tmp_path / "other", at(5)).root
    out = tmp_path / "p"
    again = f"run jobs/whatif.py again with --as-of {format_instant(AS_OF)}"
    with pytest.raises(ConfigError) as told_of:
        report.main(["--config", full.path, "--whatif", folder, "--out", str(out)])
    assert str(told_of.value) == f"--whatif {folder}: is of 2026-11-20T12:05:00Z; {again}"
    assert not out.exists()


@pytest.mark.parametrize("is_there", [False, True], ids=["without the table", "without its row"])
def test_a_what_if_of_an_unknown_as_of_is_refused(
    session: SparkSession, full: Settings, tmp_path: Path, is_there: bool
) -> None:
    folder = tmp_path / "old"
    old = answers_at(session, folder) if is_there else answers_of(session, folder, WHATIF_TABLES, ANSWER)
    with pytest.raises(ConfigError, match="does not say its as_of, so it isn't known; run jobs/whatif"):
        report.main(["--config", full.path, "--whatif", old.root, "--out", str(tmp_path / "p")])

"""The sections of a replay and of a conformance check: in the page if asked for, nasty names as text."""

from pathlib import Path

import pytest
from axe_core_python.selenium import Axe
from pyspark.sql import SparkSession
from selenium.webdriver.common.by import By

from pipelines.commands import report
from pipelines.config.errors import ConfigError
from pipelines.config.load import Settings
from pipelines.report.conformance import QUEUES_SHOWN, read_conformance_tables
from pipelines.report.replay import MOMENTS, STEPS, read_replay_tables
from pipelines.storage.warehouse import Warehouse
from schemas.conformance import CONFORMANCE_TABLES
from schemas.replay import REPLAY_TABLES
from tests.support.browser import Browser, complaints, first_column, opened, requests, table
from tests.support.factories import Row, at
from tests.support.report_answers import answers_of
from tests.support.report_warehouse import AS_OF, NASTY

QUEUE = {"instance": "SQL1", "database": "A", "queue": NASTY}
FIGURES = {"decisions": 5, "with_choice": 4, "conforming": 1, "passed": 3, "passable": 4, "fitness": 0.25}
CLASSES = ("where_clause", "own_group", "logged_level", "timing", "other_lock", "unexplained")
REST = ("ties", "ties_oldest_first", "lock_skipped", "partial", "within_group", "not_ready", *CLASSES)
CONFORMANCE: dict[str, list[Row]] = {
    "conformance_levels": [],
    "conformance": [{"as_of": AS_OF, **QUEUE, **FIGURES, "skill": -0.5, **dict.fromkeys(REST, 0)}],
    "conformance_hours": [
        {"as_of": AS_OF, **QUEUE, **FIGURES, "hour": at(0), "fitness": 0.9999},
        {"as_of": AS_OF, **QUEUE, **FIGURES, "hour": at(60), "fitness": 0.0},
        {"as_of": AS_OF, **QUEUE, **FIGURES, "hour": at(120), "fitness": None},
    ],
    "conformance_deviations": [
        {
            "as_of": AS_OF,
            **QUEUE,
            "at": at(61),
            "transaction_id": None,
            "conversation_group_id": group,
            "level": 3,
            "best_level": 9,
            "passed_groups": 1,
            "class": kind,
            "witness_message_id": NASTY,
        }
        for group, kind in (("g1", "timing"), (NASTY, "unexplained"))
    ],
    "conformance_links": [],
}


def message(number: int, scenario: str, started: int | None) -> Row:
    return {
        **QUEUE,
        "scenario": scenario,
        "message_id": f"m{number}",
        "arrived_at": at(0),
        "started_at": None if started is None else at(started),
        "finished_at": None if started is None else at(started),
        "receive_number": None if started is None else number,
        "level": 9,
    }


WAIT = {**QUEUE, "level": 9, "messages": 2, "served": 1, "unserved": 1, "estimated": 0, "calibrated": False}
REPLAY: dict[str, list[Row]] = {
    "replay_waits": [
        {**WAIT, "scenario": "actual", "wait_p50": 250.0, "at_least": 60_000.0},
        {**WAIT, "scenario": "proposed", "wait_p50": 0.0, "wait_p95": 60_000.0},
        {**WAIT, "queue": "Uncompared", "scenario": "actual", "calibrated": True},
    ],
    "replay_queues": [],
    "replay_calibration": [
        {**QUEUE, "level": level, "messages": 2, "verdict": verdict, "calibrated": verdict == "calibrated"}
        for level, verdict in ((9, "off"), (5, "calibrated"), (4, "calibrated"), (3, "unknown"))
    ]
    + [{**QUEUE, "queue": "Uncompared", "level": 9, "messages": 2, "verdict": "unknown", "calibrated": True}],
    "replay_messages": [
        message(1, "actual", 1),
        message(2, "actual", None),
        message(1, "proposed", 0),
        message(2, "proposed", 1),
    ],
}


@pytest.fixture
def conformance(session: SparkSession, tmp_path: Path) -> str:
    return answers_of(session, tmp_path / "conformance", CONFORMANCE_TABLES, CONFORMANCE).root


@pytest.fixture
def replay(session: SparkSession, tmp_path: Path) -> Warehouse:
    return answers_of(session, tmp_path / "replay", REPLAY_TABLES, REPLAY)


def test_the_sections_show_hours_deviations_and_waits(
    browser: Browser, full: Settings, conformance: str, replay: Warehouse, tmp_path: Path
) -> None:
    out = tmp_path / "page.html"
    asked = ["--config", full.path, "--conformance", conformance, "--replay", replay.root]
    assert report.main([*asked, "--out", str(out)]) == 0
    seen = opened(browser, out.read_text(), tmp_path)
    said = seen.find_element(By.ID, "conformance-said").text
    assert said == "Of 4 receives that could choose between levels, 1 passed no higher one."
    hours = table(seen, "conformance-hours").text
    assert "12:00" in hours
    assert "99.9%" in hours
    assert "14:00" not in hours
    heat = seen.find_elements(By.CSS_SELECTOR, "[data-table=conformance-hours] .heat")
    assert [cell.get_attribute("style") for cell in heat] == ["--share: 0.000;", "--share: 0.450;"]
    assert "-50%" in table(seen, "conformance-queues").text
    assert [
        cell.text
        for cell in seen.find_elements(
            By.CSS_SELECTOR, "[data-table=conformance-deviations] tbody td:nth-child(3)"
        )
    ] == ["unexplained", "timing"]
    assert "no message went" in table(seen, "conformance-links").text
    said = seen.find_element(By.ID, "replay-said").text
    assert "follows the log in 2 levels of queues, and does not in 1 level." in said
    assert "In 2 levels nothing can be compared with the log." in said
    curves = seen.find_elements(By.CSS_SELECTOR, "#replay-shares .curve")
    assert [curve.get_attribute("class") for curve in curves] == ["curve before", "curve after"]
    assert len(seen.find_elements(By.CSS_SELECTOR, "#replay-lengths .curve")) == 2
    assert NASTY in seen.find_element(By.CSS_SELECTOR, "#replay-shares figcaption").text
    assert "250 ms" in table(seen, "replay-waits").text
    assert len(first_column(seen, "replay-waits")) == 3
    follows = seen.find_elements(By.CSS_SELECTOR, "[data-table=replay-waits] tbody td:last-child")
    assert sorted(cell.text for cell in follows) == ["no", "no", "not known"]
    assert seen.title != "owned"
    assert complaints(seen) == []
    assert requests(seen) == []
    found = Axe().run(seen)["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


LINK = {"sending_instance": "SQL1", "receiving_instance": "SQL2", "messages": 1, "with_inversion": 0}
OF_ANOTHER: dict[str, dict[str, list[Row]]] = {
    "queues": {"conformance": [{**CONFORMANCE["conformance"][0], "as_of": at(5)}]},
    "links alone": {
        **{name: [] for name in CONFORMANCE},
        "conformance_links": [{"as_of": at(5), **LINK, "inversions": 0, "inversions_fragmented": 0}],
    },
}


@pytest.mark.parametrize("what", OF_ANOTHER)
def test_a_check_of_another_as_of_is_refused(session: SparkSession, tmp_path: Path, what: str) -> None:
    other = answers_of(session, tmp_path, CONFORMANCE_TABLES, {**CONFORMANCE, **OF_ANOTHER[what]})
    with pytest.raises(ConfigError, match="is of 2026-11-20T12:05:00Z; write it again with --as-of"):
        read_conformance_tables(other, AS_OF)


def test_more_queues_than_are_shown_are_counted(session: SparkSession, tmp_path: Path) -> None:
    [row] = CONFORMANCE["conformance"]
    queues = QUEUES_SHOWN + 3
    rows = [{**row, "queue": f"Queue {number}"} for number in range(queues)]
    folder = tmp_path / "many"
    many = answers_of(session, folder, CONFORMANCE_TABLES, {**CONFORMANCE, "conformance": rows})
    parts = read_conformance_tables(many, AS_OF)
    assert len(parts["conformance_queues"].rows) == QUEUES_SHOWN
    counts = parts["conformance_counts"]
    assert dict(zip(counts.columns, counts.rows[0], strict=True)) == {
        "with_choice": 4 * queues,
        "conforming": queues,
    }


def test_no_queue_counts_as_nothing(session: SparkSession, tmp_path: Path) -> None:
    none = {name: list[Row]() for name in CONFORMANCE}
    parts = read_conformance_tables(answers_of(session, tmp_path / "none", CONFORMANCE_TABLES, none), AS_OF)
    assert parts["conformance_counts"].rows == [[0, 0]]


def test_the_curves_are_those_of_the_messages(session: SparkSession, tmp_path: Path) -> None:
    """Of 2 messages that wait 0 and 60 s, and one that waits for ever; and of more than there are points."""
    many = 3 * STEPS + 1
    rows = [message(number, "actual", number) for number in range(many)]
    rows += [message(number, "proposed", started) for number, started in enumerate((0, 1, None))]
    answers = answers_of(session, tmp_path / "many", REPLAY_TABLES, {**REPLAY, "replay_messages": rows})
    parts = read_replay_tables(answers)
    shares = [tuple(row) for row in parts["replay_shares"].rows]
    proposed = [row for row in shares if row[0] == "proposed"]
    assert proposed == [
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

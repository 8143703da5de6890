"""The first screen of the page: cards, pictures, and columns that have something to show. No Spark."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from pipelines.report.charts import make_charts
from pipelines.report.findings import group_ages, make_cards
from pipelines.report.page import render_page
from pipelines.report.tables import PageData, PageTable
from tests.support.browser import Browser, complaints, opened, pasted, requests

AS_OF = datetime(2026, 11, 21, tzinfo=UTC)
STATEMENT = "USE [Claims]; ALTER QUEUE [dbo].[Intake] WITH STATUS = ON"
FINDING: dict[str, Any] = {
    "place": "Queue SQL1.Claims.Intake",
    "code": "queue_off",
    "severity": "stopped",
    "sentence": "3 messages wait for queue SQL1.Claims.Intake, which is off",
    "messages": 3,
    "conversations": 2,
    "since": datetime(2026, 11, 20, 18, 58, tzinfo=UTC),
    "words": "",
    "statement": STATEMENT,
    "command": "priorities waiting",
    "section": "queues",
    "details": [{"queue": "Intake", "since": None, "messages": 3}],
}
KINDS = [{"text": "error 10061", "messages": 2}, {"text": "error 10060", "messages": 1}]
SENDING = {"sentence": "the server says why", "since": None, "statement": "", "details": KINDS}


def tables(*findings: dict[str, Any], more: str = "") -> dict[str, PageTable]:
    rows = [list(row.values()) for row in findings]
    return {
        "servers": PageTable(["server"], [["SQL1"]], 1),
        "verdict": PageTable(["sentence"], [["1 of 2 queues is stopped."]], 1),
        "findings": PageTable(list(FINDING), rows, len(rows)),
        "more_findings": PageTable(["sentence", "command"], [[more, "priorities why"]] if more else [], 1),
    }


def test_a_card_says_what_since_when_how_many_and_what_to_do(browser: Browser, tmp_path: Path) -> None:
    found = tables(
        FINDING,
        {**FINDING, **SENDING, "severity": "blocked", "words": "see the text"},
        more="And 7 more (7 blocked)",
    )
    seen = opened(browser, render_page(AS_OF, found), tmp_path)
    assert seen.find_element(By.TAG_NAME, "h1").text == "Conversation priorities of SQL1"
    assert seen.find_element(By.TAG_NAME, "h2").text == "1 of 2 queues is stopped."
    off, sending = seen.find_elements(By.CSS_SELECTOR, ".cards li")
    assert off.text.splitlines() == [
        "Queue SQL1.Claims.Intake",
        "3 messages wait for queue SQL1.Claims.Intake, which is off.",
        "2 conversations; the oldest message has waited 5 h 2 min, since 2026-11-20 18:58:00. See the rows",
        "To do: run this:",
        STATEMENT,
        "Copy",
        "More",
    ]
    assert sending.text.splitlines()[1:] == [
        "The server says why.",
        "2 conversations. See the rows",
        "To do: see the text.",
        "More",
    ]
    sending.find_element(By.TAG_NAME, "summary").click()
    rows = sending.find_elements(By.CSS_SELECTOR, "tbody tr")
    assert [row.text.split(" ", 1) for row in rows] == [["2", "error 10061"], ["1", "error 10060"]]
    assert "And 7 more (7 blocked): priorities why" in seen.find_element(By.ID, "verdict").text
    assert complaints(seen) == []
    assert requests(seen) == []


def test_the_age_of_the_data_stands_before_the_verdict(browser: Browser, tmp_path: Path) -> None:
    gone = {**FINDING, "code": "broker_changed", "messages": 0, "conversations": 0, "since": None}
    found = tables(gone)
    ages = [["SQL1.Claims", datetime(2026, 11, 20, tzinfo=UTC)], ["SQL1.Stage and SQL1.Test", AS_OF]]
    found["ages"] = PageTable(["databases", "newest"], ages, 3)
    found["changed"] = PageTable(["sentence"], [["since the as_of of yesterday: nothing has changed"]], 1)
    seen = opened(browser, render_page(AS_OF, found), tmp_path)
    lines = seen.find_element(By.TAG_NAME, "body").text.splitlines()
    first = lines.index("SQL1.Claims: data up to 2026-11-20 00:00:00, 24 h before")
    assert lines[first + 1 : first + 3] == [
        "SQL1.Stage and SQL1.Test: data up to 2026-11-21 00:00:00",
        "1 more: newer data",
    ]
    verdict = lines.index("1 of 2 queues is stopped.")
    assert first < verdict
    assert lines[verdict + 1] == "Since the as_of of yesterday: nothing has changed."
    card = seen.find_element(By.CSS_SELECTOR, ".cards li").text.splitlines()
    assert card[2:4] == ["See the rows", "To do: run this:"]


def test_databases_of_one_capture_have_one_line() -> None:
    newest = {("SQL1", name): AS_OF.replace(microsecond=len(name)) for name in ("A", "BB", "CC", "D", "E")}
    before = AS_OF - timedelta(seconds=1)
    assert group_ages({**newest, ("SQL2", "A"): before}) == [
        ["SQL2.A", before],
        ["SQL1.A, SQL1.BB, SQL1.CC and 2 more", AS_OF],
    ]


def test_a_click_copies_the_statement(browser: Browser, tmp_path: Path) -> None:
    seen = opened(browser, render_page(AS_OF, tables(FINDING)), tmp_path)
    seen.find_element(By.CSS_SELECTOR, ".copy").click()
    said = seen.find_element(By.ID, "copied")
    WebDriverWait(seen, 10).until(lambda _: said.text == "Copied the statement")
    assert pasted(seen) == STATEMENT


def test_without_scripts_the_statement_stands_there_without_a_button(
    browser: Browser, tmp_path: Path
) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        seen = opened(browser, render_page(AS_OF, tables(FINDING)), tmp_path)
        assert seen.find_element(By.TAG_NAME, "pre").text == STATEMENT
        assert not seen.find_element(By.CSS_SELECTOR, ".copy").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_a_column_without_values_is_left_out() -> None:
    [(_, _, [card])] = make_cards(PageData(AS_OF, tables({**FINDING, "details": FINDING["details"] * 2})))
    assert card.details is not None
    assert [column.head for column in card.details.columns] == ["Messages", "Queue"]


def test_bars_stand_side_by_side() -> None:
    names = ("instance", "database", "queue", "messages")
    levels = [[0, 9, 30], [0, 5, 10], [1, 5, 20]]
    queue = "A" * 60
    found = {
        "receive_places": PageTable(names, [["SQL1", "Claims", queue, 40], ["SQL1", "Claims", "B", 20]], 3),
        "receive_place_levels": PageTable(["place", "level", "messages"], levels, 3),
    }
    [places] = make_charts(PageData(AS_OF, found))
    assert places.title == "Messages by place and level; 1 more place has fewer"
    first, second = places.bars
    assert first.parts == [(0.0, 0.75, "level-9", "level 9: 30"), (0.75, 0.25, "level-5", "level 5: 10")]
    assert (first.label, first.shown) == (f"SQL1.Claims.{queue}", f"SQL1.Claims.AAAAAAA…{'A' * 19}")
    assert (second.label, second.figure) == ("SQL1.Claims.B", "20")
    assert second.parts == [(0.0, 0.5, "level-5", "level 5: 20")]

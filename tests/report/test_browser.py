"""The page in a browser: what it shows, what clicks do, and that it asks nobody for anything."""

from pathlib import Path

import pytest
from axe_core_python.selenium import Axe
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from tests.support.browser import Browser, complaints, first_column, opened, requests, table
from tests.support.report_warehouse import NASTY, SMALL_QUEUES


@pytest.fixture
def seen(browser: Browser, full_page: str, tmp_path: Path) -> Browser:
    return opened(browser, full_page, tmp_path)


def caption(browser: Browser, place: str) -> str:
    return table(browser, place).find_element(By.TAG_NAME, "caption").text


def status(browser: Browser, place: str) -> str:
    return table(browser, place).find_element(By.CSS_SELECTOR, '[role="status"]').text


def press(browser: Browser, place: str, name: str) -> None:
    for button in table(browser, place).find_elements(By.TAG_NAME, "button"):
        if button.text.strip() == name:
            button.click()
            return
    raise AssertionError(f"no button {name!r} in {place}")


def test_every_section_has_its_tables_and_nothing_complains(seen: Browser) -> None:
    tiles = {
        tile.find_element(By.TAG_NAME, "dt").text: [
            each.text for each in tile.find_elements(By.TAG_NAME, "dd")
        ]
        for tile in seen.find_elements(By.CSS_SELECTOR, "#tiles div")
    }
    assert tiles["Ready messages"] == ["58", "+8 since 2026-11-19 13:00:00"]
    assert tiles["Held back"] == ["3", "2 group locked, 1 queue off"]
    assert tiles["Waiting to be sent"][0] == "4"
    assert tiles["The run took"] == ["1 min 40 s", "1 min 40 s the night before"]
    assert first_column(seen, "levels") == ["9", "3", "1"]
    assert first_column(seen, "rules") == ["default, no rule matched", "Gold", "Unused"]
    assert "unused" in table(seen, "rules").text
    assert first_column(seen, "activation") == ["OrderQueue", "Queue 00"]
    assert "raise max queue readers" in table(seen, "activation").text
    assert first_column(seen, "leaks") == ["InitiatorService"]
    assert "traffic not known" in table(seen, "leaks").text
    assert "no input has a RECEIVED event" in table(seen, "caveats").text
    assert first_column(seen, "rejected") == ["message_id is null", "unknown event_type"]
    assert first_column(seen, "nights") == ["2026-11-20 13:00:00", "2026-11-19 13:00:00"]
    assert "+11" in table(seen, "nights").text
    assert complaints(seen) == []
    assert requests(seen) == []


def test_names_are_text(seen: Browser) -> None:
    assert first_column(seen, "queues")[:2] == ["OrderQueue", NASTY]
    assert seen.title == "Conversation priorities at 2026-11-20T13:00:00Z"
    assert seen.find_elements(By.TAG_NAME, "img") == []


def test_names_that_look_alike_are_told_apart(seen: Browser) -> None:
    search = table(seen, "queues").find_element(By.TAG_NAME, "input")
    search.send_keys("trailing")
    assert first_column(seen, "queues") == ['"Trailing "']
    assert "queue off" in table(seen, "queues").text


def test_pages_turn_and_searches_find(seen: Browser) -> None:
    queues = SMALL_QUEUES + 3
    assert status(seen, "queues") == f"1 to 20 of {queues}"
    press(seen, "queues", "Next")
    press(seen, "queues", "Next")
    assert status(seen, "queues") == f"41 to {queues} of {queues}"
    # The button that was pressed is switched off now; the focus is not lost.
    assert seen.switch_to.active_element.text == "Previous"
    search = table(seen, "queues").find_element(By.TAG_NAME, "input")
    search.send_keys("SQL1 queue 0")
    # Queue 00 to 09, and 10, 20 and 30.
    assert status(seen, "queues") == "1 to 13 of 13 found"
    search.send_keys("7")
    assert first_column(seen, "queues") == ["Queue 07"]
    search.send_keys("no such")
    assert status(seen, "queues") == "Nothing found"


def test_columns_sort_and_say_so(seen: Browser) -> None:
    press(seen, "queues", "Messages")
    head = table(seen, "queues").find_element(By.CSS_SELECTOR, "[aria-sort]")
    assert (head.text.strip(), head.get_attribute("aria-sort")) == ("Messages", "descending")
    press(seen, "queues", "Messages")
    head = table(seen, "queues").find_element(By.CSS_SELECTOR, "[aria-sort]")
    assert head.get_attribute("aria-sort") == "ascending"
    assert first_column(seen, "queues")[0] == "Queue 00"


def test_a_queue_opens_with_its_order(seen: Browser) -> None:
    assert first_column(seen, "queue-top") == [str(position) for position in range(1, 11)]
    assert "Shown are the first 10, of 12." in caption(seen, "queue-top")
    table(seen, "queues").find_elements(By.CSS_SELECTOR, "button.open")[1].click()
    assert NASTY in caption(seen, "queue-top")
    assert first_column(seen, "queue-top") == ["1", "2", "3"]
    assert seen.switch_to.active_element.get_attribute("id") == "queue-title"
    choice = Select(seen.find_element(By.ID, "choose-queue"))
    choice.select_by_index(len(choice.options) - 1)
    assert "nothing, the queue is off." in table(seen, "queue-top").text


def test_an_instance_opens_with_its_order(seen: Browser) -> None:
    text = table(seen, "instance-top").text
    assert "raised by waiting" in text
    assert "only forwarded" in text
    Select(seen.find_element(By.ID, "choose-instance")).select_by_index(1)
    assert first_column(seen, "instance-top") == ["1"]
    assert "SQL2" in caption(seen, "instance-top")


def test_the_keyboard_reaches_everything(seen: Browser) -> None:
    seen.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    skip = seen.switch_to.active_element
    assert skip.text == "Skip to the content"
    skip.send_keys(Keys.ENTER)
    assert seen.switch_to.active_element.get_attribute("id") == "main"
    reached = set()
    for _ in range(60):
        active = seen.switch_to.active_element
        active.send_keys(Keys.TAB)
        active = seen.switch_to.active_element
        reached.add((active.tag_name, active.text.strip() or active.get_attribute("type")))
    assert {
        ("input", "search"),
        ("button", "Messages"),
        ("button", "OrderQueue"),
        ("button", "Next"),
    } <= reached


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
def test_it_is_accessible_and_fits_the_screen(seen: Browser, scheme: str, width: int) -> None:
    seen.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    seen.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    wide = seen.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width
    found = Axe().run(seen)["violations"]
    assert [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found] == []


def test_a_night_without_anything_says_so(browser: Browser, empty_page: str, tmp_path: Path) -> None:
    opened(browser, empty_page, tmp_path)
    assert table(browser, "queues").text == "Ready messages by queue and level: none."
    assert table(browser, "activation").text.endswith("nothing was replayed.")
    assert complaints(browser) == []

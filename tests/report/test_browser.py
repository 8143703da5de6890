"""The page in a browser: what it shows, what clicks do, and that it asks nobody for anything."""

from pathlib import Path

import pytest
from axe_core_python.selenium import Axe
from pyspark.sql import SparkSession
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from tests.support.browser import Browser, complaints, first_column, opened, pasted, requests, table
from tests.support.report_warehouse import AS_OF, NASTY, SMALL_QUEUES, page_of, run, write
from tests.support.written import received

pytestmark = pytest.mark.slow


@pytest.fixture
def seen(browser: Browser, full_page: str, tmp_path: Path) -> Browser:
    return opened(browser, full_page, tmp_path)


def caption(browser: Browser, place: str) -> str:
    return table(browser, place).find_element(By.TAG_NAME, "caption").text


def chart(browser: Browser, name: str) -> list[tuple[str, str]]:
    """The labels of a picture's bars, with their figures."""
    texts = browser.find_elements(By.CSS_SELECTOR, f"#chart-{name} svg:first-of-type > text")
    shown = [each.text for each in texts]
    return list(zip(shown[::2], shown[1::2], strict=True))


def status(browser: Browser, place: str) -> str:
    return table(browser, place).find_element(By.CSS_SELECTOR, '[role="status"]').text


def press(browser: Browser, place: str, name: str) -> None:
    for button in table(browser, place).find_elements(By.TAG_NAME, "button"):
        if button.text.strip() == name:
            button.click()
            return
    raise AssertionError(f"no button {name!r} in {place}")


def test_every_section_has_its_tables_and_nothing_complains(seen: Browser) -> None:
    assert chart(seen, "waits") == [
        ("level 9", "1 h 4 min · 1 h 10 min · 1 h 11 min"),
        ("level 3", "1 h 3 min · 1 h 11 min · 1 h 12 min"),
        ("level 1", "1 h 1 min · 1 h 1 min · 1 h 1 min"),
    ]
    assert first_column(seen, "rules") == ["default, no rule matched", "Gold", "Unused"]
    assert "unused" in table(seen, "rules").text
    assert first_column(seen, "activation") == ["OrderQueue", "Queue 00"]
    assert "raise max queue readers" in table(seen, "activation").text
    assert first_column(seen, "leaks") == ["InitiatorService"]
    assert "traffic not known" in table(seen, "leaks").text
    assert "no input has a RECEIVED event" in table(seen, "notes").text
    assert first_column(seen, "rejected") == ["message_id is null", "unknown event_type"]
    assert first_column(seen, "nights") == ["2026-11-20 13:00:00", "2026-11-19 13:00:00"]
    assert "+11" in table(seen, "nights").text
    assert "Contract" in table(seen, "receive-kinds").text
    assert set(first_column(seen, "transmission-kinds")) == {"Contract"}
    for place in ("queue-top", "receive-overtaken", "instance-top"):
        heads = [head.text for head in table(seen, place).find_elements(By.CSS_SELECTOR, "thead th")]
        assert "Contract" in heads or "Contract: Contract" in caption(seen, place)
    # Names are text.
    assert first_column(seen, "queues")[:2] == ["OrderQueue", NASTY]
    assert seen.title == "Conversation priorities at 2026-11-20T13:00:00Z"
    assert seen.find_elements(By.TAG_NAME, "img") == []
    # Nobody asked for a what-if, a replay or a conformance check.
    for section in ("whatif", "replay", "conformance"):
        assert seen.find_elements(By.ID, section) == []
    assert "What if" not in seen.find_element(By.TAG_NAME, "nav").text
    assert complaints(seen) == []
    assert requests(seen) == []


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
    # A name that looks like another one stands in quotes.
    search.clear()
    search.send_keys("trailing")
    assert first_column(seen, "queues") == ['"Trailing "']
    assert "queue off" in table(seen, "queues").text


def test_columns_sort_and_say_so(seen: Browser) -> None:
    press(seen, "queues", "Messages")
    head = table(seen, "queues").find_element(By.CSS_SELECTOR, "[aria-sort]")
    assert (head.text.strip(), head.get_attribute("aria-sort")) == ("Messages", "descending")
    press(seen, "queues", "Messages")
    head = table(seen, "queues").find_element(By.CSS_SELECTOR, "[aria-sort]")
    assert head.get_attribute("aria-sort") == "ascending"
    assert first_column(seen, "queues")[0] == "Queue 00"


def test_a_queue_and_an_instance_open_with_their_order(seen: Browser) -> None:
    assert first_column(seen, "queue-top") == [str(position) for position in range(1, 11)]
    assert "Shown are the first 10, of 12." in caption(seen, "queue-top")
    table(seen, "queues").find_elements(By.CSS_SELECTOR, "button.open")[1].click()
    assert NASTY in caption(seen, "queue-top")
    assert first_column(seen, "queue-top") == ["1", "2", "3"]
    assert seen.switch_to.active_element.get_attribute("id") == "queue-title"
    choice = Select(seen.find_element(By.ID, "choose-queue"))
    choice.select_by_index(len(choice.options) - 1)
    assert "nothing, the queue is off." in table(seen, "queue-top").text
    text = table(seen, "instance-top").text
    assert "raised from" in text
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


def test_it_is_accessible_and_fits_the_screen(seen: Browser) -> None:
    for width, scheme in ((375, "dark"), (1280, "light")):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        seen.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        set_width(seen, width)
        wide = seen.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width
        found = Axe().run(seen)["violations"]
        assert [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found] == []


def test_a_night_without_anything_says_so(browser: Browser, empty_page: str, tmp_path: Path) -> None:
    opened(browser, empty_page, tmp_path)
    assert table(browser, "queues").text == "Messages by queue and level: none."
    sections = [each.get_attribute("id") for each in browser.find_elements(By.TAG_NAME, "section")]
    assert sections == ["verdict", "queues", "nights"]
    assert complaints(browser) == []


ID = "6C7CC50F-D016-50A7-5A70-E9CF31A7C6BE"
TWINS = ["B75890D2-0000-2E27-ADB2-F5CF1719E6DB", "B75890D2-4768-2E27-ADB2-F5CF1719E6DB"]
GOLD = "//acme/portal/Gold"


@pytest.fixture(scope="module")
def guids_page(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A queue with three messages of one conversation, two of whose ids begin alike, and a locked one."""
    queue = "ClaimIntakeQueue"
    own = {"conversation_id": ID, "conversation_group_id": "g", "remote_service": GOLD, "priority": 9}
    messages = [
        received(queue, position, message_id=id, **own)
        for position, id in enumerate([f"{ID}/target/0", *TWINS], start=1)
    ]
    locked = received(queue, None, **own | {"conversation_group_id": ID})
    rows = {"receive_schedule": [*messages, locked], "runs": [run("r", AS_OF)]}
    settings = write(session, tmp_path_factory.mktemp("guids"), rows)
    return page_of(session, settings, AS_OF)


def shown_ids(browser: Browser, place: str, column: int) -> list[str]:
    cells = table(browser, place).find_elements(By.CSS_SELECTOR, f"tbody tr > :nth-child({column})")
    return [cell.text for cell in cells]


def set_width(browser: Browser, width: int) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    # The observer runs before the second frame.
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")


def test_ids_are_short_where_unique_and_whole_on_hover_and_click(
    browser: Browser, guids_page: str, tmp_path: Path
) -> None:
    opened(browser, guids_page, tmp_path)
    set_width(browser, 2000)
    heads = [head.text for head in table(browser, "queue-top").find_elements(By.CSS_SELECTOR, "thead th")]
    assert shown_ids(browser, "queue-top", heads.index("Conversation") + 1) == ["6C7CC50F"] * 3
    assert shown_ids(browser, "queue-top", heads.index("Message") + 1) == ["6C7CC50F", *TWINS]
    short = table(browser, "queue-top").find_elements(By.CSS_SELECTOR, "tbody tr:first-child .short")
    assert [each.get_attribute("title") for each in short] == [ID, f"{ID}/target/0"]
    short[1].click()
    said = browser.find_element(By.ID, "copied")
    WebDriverWait(browser, 10).until(lambda _: said.text == f"Copied {ID}/target/0")
    assert pasted(browser) == f"{ID}/target/0"
    assert complaints(browser) == []


def test_ids_of_the_first_sentences_are_short_too(browser: Browser, guids_page: str, tmp_path: Path) -> None:
    opened(browser, guids_page, tmp_path)
    [short] = browser.find_elements(By.CSS_SELECTOR, ".cards .short")
    assert (short.text, short.get_attribute("title")) == ("6C7CC50F", ID)
    sentence = browser.find_element(By.CSS_SELECTOR, ".cards li").text
    assert "1 message waits in locked groups, such as 6C7CC50F" in sentence
    short.click()
    said = browser.find_element(By.ID, "copied")
    WebDriverWait(browser, 10).until(lambda _: said.text == f"Copied {ID}")


def test_a_narrow_screen_says_what_all_rows_share_and_that_a_table_scrolls(
    browser: Browser, guids_page: str, tmp_path: Path
) -> None:
    opened(browser, guids_page, tmp_path)
    set_width(browser, 1280)
    assert broken_words(browser) == []
    set_width(browser, 375)
    assert broken_words(browser) == []
    said = caption(browser, "queue-top")
    assert f"Contract: Contract; Local service: TargetService; Remote service: {GOLD}" in said
    assert "This table scrolls to the side." in said
    columns = table(browser, "queue-top").find_elements(By.CSS_SELECTOR, "thead th")
    assert [head.text for head in columns if head.is_displayed()] == [
        *("Position", "RECEIVE", "Arrived", "Message")
    ]
    set_width(browser, 2000)
    assert "Contract: Contract" not in caption(browser, "queue-top")
    assert "scrolls" not in caption(browser, "queue-top")
    assert "Contract" in [head.text for head in columns if head.is_displayed()]


def test_what_all_rows_share_is_written_as_in_cells(seen: Browser) -> None:
    set_width(seen, 400)
    assert "Took: 1 min 40 s" in caption(seen, "nights")
    assert "Last met by a run of: 2026-11-20 13:00:00" in caption(seen, "rejected")
    times = table(seen, "rejected").find_elements(By.CSS_SELECTOR, "caption .whole")
    assert [time.text for time in times] == ["2026-11-20 13:00:00"]


def broken_words(browser: Browser) -> list[str]:
    """The words of cells that have more than one line: the range of a whole one has one rectangle."""
    found: list[str] = browser.execute_script(
        """
        const found = [];
        const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
          const node = texts.currentNode;
          if (!node.parentElement.closest("table")) continue;
          for (const word of node.data.matchAll(/[^\\s\\/._·-]+/g)) {
            const range = document.createRange();
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            const tops = new Set([...range.getClientRects()].map((each) => Math.round(each.top)));
            if (tops.size > 1) found.push(word[0]);
          }
        }
        return found;
        """
    )
    return found

"""The report page in Chromium."""

import json
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

Browser = webdriver.Chrome


def opened(browser: Browser, text: str, folder: Path) -> Browser:
    file = folder / "page.html"
    file.write_text(text, encoding="utf-8")
    browser.get(file.as_uri())
    return browser


def table(browser: Browser, place: str) -> WebElement:
    return browser.find_element(By.CSS_SELECTOR, f'[data-table="{place}"]')


def first_column(browser: Browser, place: str) -> list[str]:
    """The names of the rows that are shown, without the small print below them."""
    heads = table(browser, place).find_elements(By.CSS_SELECTOR, "tbody th")
    return [head.text.split("\n")[0] for head in heads]


def pasted(browser: Browser) -> str | None:
    """What the clipboard has."""
    field = "Object.assign(document.createElement('textarea'), {id: 'pasted'})"
    browser.execute_script(f"document.body.append({field})")
    browser.find_element(By.ID, "pasted").send_keys(Keys.CONTROL, "v")
    return browser.find_element(By.ID, "pasted").get_attribute("value")


def complaints(browser: Browser) -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser")]


def requests(browser: Browser) -> list[str]:
    """What the page made the browser ask for, beside the file itself and what starts with data:."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [each["params"] for each in events if each["method"] == "Network.requestWillBeSent"]
    urls = [each["request"]["url"] for each in asked if each["documentURL"].endswith("/page.html")]
    # The file itself is among them, so the log is known to see requests.
    assert any(url.endswith("/page.html") for url in urls)
    return [url for url in urls if not url.startswith("data:") and not url.endswith("/page.html")]

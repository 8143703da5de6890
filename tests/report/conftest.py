"""Pages made once, and a browser to look at them."""

import os
import shutil
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from selenium import webdriver

from pipelines.settings.load import Settings
from tests.support.report_warehouse import AS_OF, everything, page_of, run, write


@pytest.fixture(scope="session")
def full(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A warehouse with something of everything."""
    return write(session, tmp_path_factory.mktemp("full"), everything())


@pytest.fixture(scope="session")
def full_page(session: SparkSession, full: Settings) -> str:
    return page_of(session, full, AS_OF)


@pytest.fixture(scope="session")
def empty_page(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a run that found nothing; the other tables were never written."""
    settings = write(session, tmp_path_factory.mktemp("empty"), {"runs": [run("r", AS_OF)]})
    return page_of(session, settings, None)


@pytest.fixture
def browser(chromium: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """The browser as it was when it opened: on no page, of its own size, and with nothing in its logs."""
    yield chromium
    chromium.get("about:blank")
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    for log in ("browser", "performance"):
        chromium.get_log(log)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """Debian's Chromium without a window, and without anything that it would fetch by itself."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        message = "chromium and chromedriver are not installed (Debian: chromium, chromium-driver)"
        # CI installs them: there, a missing browser is a failure.
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail(message)
        pytest.skip(message)
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for switch in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={tmp_path_factory.mktemp('profile')}",
        "--window-size=1280,900",
        # A click waits for no scrolling.
        "--force-prefers-reduced-motion",
    ):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # With its path given, Selenium looks for no driver on the network.
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))
    yield opened
    opened.quit()

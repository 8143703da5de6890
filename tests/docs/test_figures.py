"""Versions and sizes that pages name are those of the code."""

import re

from pipelines import __version__
from tests.support.processes import ROOT

SETUP = (ROOT / "tools" / "setup").read_text(encoding="utf-8")


def sizes() -> dict[str, str]:
    """What `tools/setup` says that its parts need."""
    return dict(re.findall(r"(\w+)_SIZE='([^']+)'", SETUP))


def named(page: str, pattern: str) -> list[str]:
    return re.findall(pattern, (ROOT / page).read_text(encoding="utf-8"))


def test_pages_pin_the_version_of_the_package() -> None:
    pages = [page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").glob("*.md")]
    pins = {pin for page in pages for pin in named(page, r"conversation-priorities(?:\[[\w,]+\])?==([\w.]+)")}
    assert pins == {__version__}


def test_pages_name_the_sizes_of_setup() -> None:
    assert sizes().keys() == {"SPARK", "EMBEDDED", "DRIVER"}
    assert named("README.md", r"([\d.]+ GB) of\s+disk") == [sizes()["EMBEDDED"]]
    assert named("docs/running.md", r"\(([\d.]+ MB)\)") == [sizes()["DRIVER"]]

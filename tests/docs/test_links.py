"""Links of the documentation lead somewhere, and it names nothing that is not there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as they are made where Markdown is shown."""
    headings = HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page: Path) -> None:
    broken = []
    for path, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        if path.startswith(("http:", "https:")):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(f"{path}#{anchor}")
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_jobs_that_are_named_exist(page: Path) -> None:
    named = set(re.findall(r"jobs/\w+\.py", page.read_text(encoding="utf-8")))
    assert [job for job in sorted(named) if not (ROOT / job).exists()] == []

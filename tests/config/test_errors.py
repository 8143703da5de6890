"""A problem is one line, whatever names are in it."""

import re
from pathlib import Path

from pipelines.config.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("jobs", "pipelines", "schemas")


def test_a_line_end_of_a_name_begins_no_line() -> None:
    error = ConfigError("a\nerror: forged\r\n", "b")
    assert error.problems == ("a\\u000aerror: forged\\u000d\\u000a", "b")
    assert str(error) == "a\\u000aerror: forged\\u000d\\u000a\nb"


def test_several_problems_are_several_arguments() -> None:
    """Joined to one text they would be taken for one problem with line ends in it."""
    joined = re.compile(r'Error\(\s*"\\n"\.join')
    files = [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]
    assert len(files) > 100
    assert [file for file in files if joined.search(file.read_text(encoding="utf-8"))] == []

"""The embedded engine needs nothing that Windows lacks: modules, attributes, UTF-8 consoles, `time.tzset`."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.field.running import Case, table_of
from tests.support.capture_project import without_run
from tests.support.harness import difference
from tests.support.processes import ended, run_program

AS_OF = "2026-11-20T13:00:00Z"
ASKS = """
import sys
from tests.support.without_posix import hide
hide()
hidden = "import os, time; assert not hasattr(os, 'fork') and not hasattr(time, 'tzset')"
exec(hidden, {"__name__": "pipelines"})
from pipelines import cli
from pipelines.commands.launch import launch
_, config, *lines = sys.argv
launch(lambda _: max(cli.run([*line.split(), "--config", config]) for line in lines))
"""


@pytest.mark.long
def test_a_night_and_its_questions(published: Case, tmp_path: Path) -> None:
    """The process has another time zone, which it can't change."""
    there = tmp_path / "there"
    shutil.copytree(published.folder, there, ignore=shutil.ignore_patterns("warehouse"))
    queue = "--queue SQL1.B.TargetQueue --format json"
    questions = [
        f"next {queue}",
        "explain --conversation c1 --format json",
        "waiting --format json",
        "coverage --format json",
        f"activation --as-of {AS_OF} {queue}",
    ]
    lines = [f"nightly --as-of {AS_OF} --quiet --no-expect", "maintain --keep-hours 0", *questions]
    done = run_program(tmp_path, ASKS, f"{there}/settings.yaml", *lines, TZ="Asia/Kolkata")
    assert done.returncode == 0, done.stderr
    for name in ("endpoints", "message_events", "receive_schedule", "transmission_schedule", "activation"):
        tables = [without_run(table_of(each / "warehouse", name)) for each in (published.folder, there)]
        assert difference(*tables) == [], name
    said = done.stdout[done.stdout.index("{") :]
    for question in questions:
        answer, end = json.JSONDecoder().raw_decode(said)
        said = said[end:].lstrip()
        job, *options = question.split()
        expected = published.job(job, *options).json
        for each in (answer, expected):
            for finding in each.get("findings", []) if isinstance(each, dict) else []:
                del finding["command"]  # how the process was started, and its settings
        assert answer == expected, job


@pytest.mark.long
def test_a_console_of_code_page_1252(published: Case) -> None:
    """A character that the console lacks is written as an escape."""
    names = {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0", "NO_COLOR": "1"}
    asked = [sys.executable, "-m", "jobs.next", "--config", published.config, "--queue"]
    done = ended([*asked, "SQL1.B.TargetQueue"], names)
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "+--" in done.stdout
    done = ended([*asked, "\u0141\u00f3d\u017a\u4e2d"], names)
    assert done.returncode == 2
    assert "\\u0141" in done.stderr
    assert "\ufffdd\\u017a\\u4e2d" in done.stderr  # byte F3, which is no UTF-8

"""The embedded engine needs nothing that Windows lacks: modules, attributes, UTF-8 consoles, `time.tzset`."""

import json
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.factories import at
from tests.support.processes import ended
from tests.support.small_project import a_bit_of_everything, project_in
from tests.support.warehouses import changed, contents

AS_OF = at(60)
HIDES = """
import sys
from tests.support.without_posix import hide
hide()
sys.modules["pipelines.tries"] = module = type(sys)("pipelines.tries")
exec('''
import os, signal, time
found = [name for name in ("fork", "sysconf", "geteuid", "O_NOFOLLOW") if hasattr(os, name)]
found += [name for name in ("SIGHUP", "SIGKILL") if hasattr(signal, name)]
found += [name for name in ("tzset",) if hasattr(time, name)]
for name in ("fcntl", "pwd", "grp", "resource", "termios"):
    try:
        __import__(name, globals())
        found.append(name)
    except ImportError:
        pass
''', module.__dict__)
print(module.found)
"""


def test_what_is_hidden() -> None:
    done = ended([sys.executable, "-c", HIDES])
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.slow
def test_a_night_and_its_questions(embedded: SparkSession, tmp_path: Path) -> None:
    """The process has another time zone, which it can't change."""
    here, there = project_in(tmp_path / "here"), project_in(tmp_path / "there")
    for project in (here, there):
        project.add(a_bit_of_everything())
    here.run(embedded, AS_OF)
    as_of = AS_OF.isoformat()
    questions = [
        ("next", "--queue", "SQL1.B.TargetQueue"),
        ("explain", "--conversation", "c1"),
        ("waiting",),
        ("coverage",),
        ("activation", "--as-of", as_of, "--queue", "SQL1.B.TargetQueue"),
    ]

    def run(job: str, *options: str) -> str:
        command = [
            sys.executable,
            "-m",
            "tests.support.without_posix",
            f"jobs.{job}",
            "--config",
            there.config,
        ]
        done = ended([*command, *options], {"TZ": "Asia/Kolkata"})
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("nightly", "--as-of", as_of, "--quiet")
    run("maintain", "--keep-hours", "0")
    kept = [contents(each, leave_out={"path"}) for each in (here, there)]
    assert changed(*kept) == {}
    for job, *options in questions:
        command = [sys.executable, "-m", f"jobs.{job}", "--config", here.config, *options, "--format", "json"]
        expected = json.loads(ended(command).stdout)
        assert json.loads(run(job, *options, "--format", "json")) == expected, job


@pytest.mark.slow
def test_a_console_of_code_page_1252(embedded: SparkSession, tmp_path: Path) -> None:
    """A character that the console lacks is written as an escape."""
    project = project_in(tmp_path)
    project.add(a_bit_of_everything())
    project.run(embedded, AS_OF)
    names = {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0", "NO_COLOR": "1"}

    def run(job: str, *options: str) -> "tuple[int, str, str]":
        done = ended([sys.executable, "-m", f"jobs.{job}", "--config", project.config, *options], names)
        return done.returncode, done.stdout, done.stderr

    code, table, _ = run("next", "--queue", "SQL1.B.TargetQueue")
    assert code == 0
    assert table.isascii()
    assert "+--" in table
    code, _, said = run("next", "--queue", "\u0141\u00f3d\u017a\u4e2d")
    assert code == 2
    assert "\\u0141" in said
    assert "\ufffdd\\u017a\\u4e2d" in said  # byte F3, which is no UTF-8

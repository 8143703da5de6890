"""The embedded engine needs nothing that Windows lacks: modules, attributes, UTF-8 consoles, `time.tzset`."""

import json
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.field.running import run
from tests.support.factories import at
from tests.support.harness import Project
from tests.support.processes import ROOT, ended
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


ASKS = """
import sys
from tests.support.without_posix import hide
hide()
from pipelines import cli
from pipelines.commands.launch import launch
_, config, *lines = sys.argv
launch(lambda _: max(cli.run([*line.split(), "--config", config]) for line in lines))
"""


@pytest.fixture(scope="module")
def here(embedded: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A published night of this process."""
    project = project_in(tmp_path_factory.mktemp("here"))
    project.add(a_bit_of_everything())
    project.run(embedded, AS_OF)
    return project


@pytest.mark.long
def test_a_night_and_its_questions(here: Project, tmp_path: Path) -> None:
    """The process has another time zone, which it can't change."""
    there = project_in(tmp_path)
    there.add(a_bit_of_everything())
    as_of, queue = AS_OF.isoformat(), "--queue SQL1.B.TargetQueue --format json"
    questions = [
        f"next {queue}",
        "explain --conversation c1 --format json",
        "waiting --format json",
        "coverage --format json",
        f"activation --as-of {as_of} {queue}",
    ]
    # In a file: of python -c, the client of Spark Connect thinks that it is a doctest.
    script = tmp_path / "asks.py"
    script.write_text(ASKS)
    lines = [f"nightly --as-of {as_of} --quiet", "maintain --keep-hours 0", *questions]
    variables = {"TZ": "Asia/Kolkata", "PYTHONPATH": str(ROOT)}
    done = ended([sys.executable, str(script), there.config, *lines], variables)
    assert done.returncode == 0, done.stderr
    assert changed(*[contents(each, leave_out={"path"}) for each in (here, there)]) == {}
    said = done.stdout[done.stdout.index("{") :]
    for question in questions:
        answer, end = json.JSONDecoder().raw_decode(said)
        said = said[end:].lstrip()
        job, *options = question.split()
        expected = run(job, "--config", here.config, *options).json
        for each in (answer, expected):
            for finding in each.get("findings", []) if isinstance(each, dict) else []:
                del finding["command"]  # how the process was started, and its settings
        assert answer == expected, job


@pytest.mark.long
def test_a_console_of_code_page_1252(here: Project) -> None:
    """A character that the console lacks is written as an escape."""
    names = {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0", "NO_COLOR": "1"}
    asked = [sys.executable, "-m", "jobs.next", "--config", here.config, "--queue"]
    done = ended([*asked, "SQL1.B.TargetQueue"], names)
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "+--" in done.stdout
    done = ended([*asked, "\u0141\u00f3d\u017a\u4e2d"], names)
    assert done.returncode == 2
    assert "\\u0141" in done.stderr
    assert "\ufffdd\\u017a\\u4e2d" in done.stderr  # byte F3, which is no UTF-8

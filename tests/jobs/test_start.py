"""How a job may be started."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines import cli
from pipelines.config.errors import ConfigError
from tests.support.processes import PATIENCE, ROOT, ended, environment

JOBS = sorted(path for path in (ROOT / "jobs").glob("[a-z]*.py") if "    main(" in path.read_text())


def test_each_job_finds_the_project_as_a_file() -> None:
    begins = re.compile(r'\n\nimport sys\n\nif not __package__:  # run as a file\n    sys.path.append\(f"')
    assert len(JOBS) > 15
    assert [path.name for path in JOBS if not begins.search(path.read_text(encoding="utf-8"))] == []


def test_a_job_as_a_file_from_another_folder(tmp_path: Path) -> None:
    job = ROOT / "jobs" / "next.py"
    done = subprocess.run(
        [sys.executable, job, "--help"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (0, "")
    # Help and printed commands name the job in the form in which it was started.
    assert done.stdout.startswith(f"usage: {sys.executable} {job}")


def test_settings_that_are_a_pipe_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match=r"^\S+/pipe: is a device or a pipe; name a file$"):
        cli.run(["next", "--config", str(tmp_path / "pipe"), "--queue", "Q"])


def test_a_line_end_in_a_name_begins_no_line(tmp_path: Path) -> None:
    name = f"{tmp_path}/a\nerror: forged\u2028\x85.yaml"
    done = ended([sys.executable, "-m", "jobs.next", "--config", name, "--queue", "Q"])
    assert done.returncode == 2
    assert done.stderr == (
        f"error: {tmp_path}/a\\u000aerror: forged\\u2028\\u0085.yaml: no such file; "
        "correct the path or create it\n"
    )

"""How a job may be started."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jobs.processes import PATIENCE, ROOT, environment

JOBS = sorted(path for path in (ROOT / "jobs").glob("*.py") if "launch(main)" in path.read_text())


def test_each_job_finds_the_project_as_a_file() -> None:
    begins = re.compile(r'\n\nimport sys\n\nif not __package__:  # run as a file\n    sys.path.append\(f"')
    assert len(JOBS) > 15
    assert [path.name for path in JOBS if not begins.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("name", ["next", "generate_log"])
def test_a_job_as_a_file_from_another_folder(tmp_path: Path, name: str) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "jobs" / f"{name}.py", "--help"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {name}.py ")


def test_settings_that_are_a_pipe_are_not_waited_for(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -m jobs.next --config <(sleep 300) --queue Q'],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert re.fullmatch(r"error: /dev/fd/\d+: is a device or a pipe; name a file\n", done.stderr)

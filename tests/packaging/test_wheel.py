"""The wheel in an environment of its own, used in a folder whose packages have names that we once had.

Packages come from the index that uv knows, which takes a fraction of pip's time. Where none answers, those of
this environment are used by way of a .pth file, and the test says so.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from pipelines import __version__, cli
from tests.support.packages import UNREACHED
from tests.support.processes import PATIENCE, ROOT, environment

pytestmark = [pytest.mark.slow, pytest.mark.long]

SOURCES = ("pyproject.toml", "README.md", "LICENSE", "pipelines", "jobs", "schemas")
AS_OF = "2026-11-24T07:30:00Z"
PROGRAM = """
import pipelines

warehouse = pipelines.open_warehouse()
rows = warehouse.read_pandas("receive_schedule")
print([f"{as_of:%Y-%m-%dT%H:%M:%SZ}" for as_of in warehouse.as_ofs], len(rows) > 0)
"""
OPTIONS = """
from contextlib import suppress
from pipelines import cli

for name in cli.COMMANDS:
    with suppress(SystemExit):
        cli.run([name, "--help"])
"""
OWN = "raise ImportError('this is a module of the user')\n"


def ended(command: Sequence[str | Path], folder: Path) -> CompletedProcess[str]:
    """Run a command in a folder, whose own packages come first, as in many users' shells.

    The command's environment is the active one.
    """
    variables = environment() | {"PYTHONPATH": str(folder)}
    variables["PATH"] = f"{Path(command[0]).parent}{os.pathsep}{variables['PATH']}"
    # Each of some forty processes would compile pandas.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run(
        command,
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def build(folder: Path) -> Path:
    """Build the wheel from a copy of what it is made of: setuptools leaves files beside it."""
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder)
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", "wheels"]
    done = ended([sys.executable, "-m", "pip", "wheel", *options, "."], folder)
    assert done.returncode == 0, done.stderr
    (wheel,) = (folder / "wheels").glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path) -> tuple[Path, str]:
    """Make an environment with the wheel and its extra `embedded`, and say where the packages come from."""
    uv: list[str | Path] = [sys.executable, "-m", "uv"]
    done = ended([*uv, "venv", "--quiet", "--python", sys.executable, folder], wheel.parent)
    assert done.returncode == 0, done.stderr
    install: list[str | Path] = [*uv, "pip", "install", "--quiet", "--python", folder]
    done = ended([*install, f"{wheel}[embedded]"], wheel.parent)
    if done.returncode == 0:
        return folder / "bin" / "priorities", "an index"
    assert any(words in done.stderr for words in UNREACHED), done.stderr
    done = ended([*install, "--no-deps", "--no-index", wheel], wheel.parent)
    assert done.returncode == 0, done.stderr
    (site,) = (folder / "lib").glob("python3.*/site-packages")
    (site / "packages.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return folder / "bin" / "priorities", "this environment, as no index answers"


@pytest.fixture(scope="module")
def priorities(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed command."""
    command, packages = install(build(tmp_path_factory.mktemp("build")), tmp_path_factory.mktemp("venv"))
    print(f"packages come from {packages}")
    return command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folder with packages of its own."""
    folder = tmp_path_factory.mktemp("user")
    for name in ("config", "storage", "engine", "state"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(OWN)
    return folder


def run(priorities: Path, folder: Path, *words: str) -> str:
    """Run the command; what it prints."""
    done = ended([priorities, *words], folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_says_its_version_and_its_options(priorities: Path, folder: Path) -> None:
    assert run(priorities, folder, "version").startswith(f"priorities {__version__} (Python 3.")
    (folder / "options.py").write_text(OPTIONS)
    done = ended([priorities.parent / "python", "options.py"], folder)
    assert done.returncode == 0, done.stderr
    usages = [line for line in done.stdout.splitlines() if line.startswith("usage: ")]
    assert [line.split()[2] for line in usages] == list(cli.COMMANDS)


def test_the_first_use(priorities: Path, folder: Path) -> None:
    """Files of init, which the checks take; a question before any night; the night, questions, a program."""
    run(priorities, folder, "init", "log", "--sample")
    log = folder / "log"
    assert "ERROR" not in run(priorities, log, "check")
    done = ended([priorities, "waiting"], log)
    assert done.returncode == 1
    assert done.stderr.endswith(
        "no run was published yet; run priorities nightly --config priorities.yaml --as-of latest first\n"
    )
    run(priorities, log, "nightly", "--as-of", AS_OF, "--quiet")
    assert json.loads(run(priorities, log, "waiting", "--format", "json"))["as_of"] == AS_OF
    assert run(priorities, log, "report").startswith("report.html: ")
    # The client of Spark Connect takes `python -c` for its own tests, and asks for Apache Spark.
    (log / "program.py").write_text(PROGRAM)
    done = ended([priorities.parent / "python", "program.py"], log)
    assert (done.returncode, done.stdout) == (0, f"['{AS_OF}'] True\n"), done.stderr

"""The lock serves every system and Python that the project names; PySpark alone has no wheels.

The package index knows which wheels exist, so the tests that ask it are long; `make test` needs no network.
"""

import os
import re
import subprocess
import sys
import tomllib
from subprocess import PIPE, Popen

import pytest

from tests.support.packages import UNREACHED
from tests.support.processes import ROOT

PLATFORMS = {
    "Windows": "x86_64-pc-windows-msvc",
    "macOS": "aarch64-apple-darwin",
    "Linux": "x86_64-manylinux_2_28",
}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SOURCES = ("pyspark", "pyspark-client")
"""What comes as a source package; it is Python alone, with Spark's jars beside it in the first."""
ENGINE = {
    "deltalake",
    "filelock",
    "grpcio",
    "numpy",
    "pandas",
    "psutil",
    "pyarrow",
    "pydantic",
    "pysail",
    "zstandard",
}
IN_CI = os.environ.get("CI") == "true"


@pytest.mark.slow
@pytest.mark.long
def test_systems_and_their_pythons() -> None:
    """The first and the last Python: a wheel for both is there for those between.

    What packages need is looked at once, on Windows; the lock has it.
    """
    with_needs = ("Windows", PYTHONS[-1])
    places = [(system, python) for system in PLATFORMS for python in (PYTHONS[0], PYTHONS[-1])]
    running = {place: resolution(*place, *([] if place == with_needs else ["--no-deps"])) for place in places}
    found = {place: pins(resolved(process)) for place, process in running.items()}
    assert [place for place, packages in found.items() if not packages.keys() >= ENGINE] == []
    assert found[with_needs].items() <= pins((ROOT / "requirements.lock").read_text()).items()


def test_the_pythons_of_the_metadata() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11,<3.15"
    setup = (ROOT / "tools" / "setup").read_text()
    assert f"PYTHONS=({' '.join(PYTHONS)})" in setup


def resolution(system: str, python: str, *options: str) -> "Popen[str]":
    """A process that prints the packages of the lock that this system takes; wheels only, but for SOURCES."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "requirements.lock", "--quiet", *options]
    command += ["--python-platform", PLATFORMS[system], "--python-version", python]
    command += ["--no-header", "--no-annotate", "--only-binary", ":all:"]
    command += [word for name in SOURCES for word in ("--no-binary", name)]
    return Popen(command, cwd=ROOT, stdout=PIPE, stderr=PIPE, text=True)


def resolved(process: "Popen[str]") -> str:
    """What it prints; the test is skipped where no network is, but not in CI."""
    output, errors = process.communicate()
    if not IN_CI and any(words in errors for words in UNREACHED):
        pytest.skip("the package index can't be reached")
    assert process.returncode == 0, errors
    return output


def pins(text: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)(?:\[[a-z0-9,]+\])?==([^ ;\\\n]+)", text, re.MULTILINE))


def test_the_jars_are_of_the_version_of_the_package() -> None:
    version = pins((ROOT / "requirements.lock").read_text())["delta-spark"]
    setup = (ROOT / "tools" / "setup").read_text()
    start = setup.index("root=$(cd")
    begin = setup[start : setup.index("\nvenv=")].replace("${BASH_SOURCE[0]}", "tools/setup")
    done = subprocess.run(
        ["bash", "-euc", f'{begin}\nprintf "%s\\n" "${{JARS[@]}}"'], cwd=ROOT, capture_output=True, text=True
    )
    assert [line.split()[:2] for line in done.stdout.splitlines() if line.startswith("delta")] == [
        ["delta-spark_4.2_2.13", version],
        ["delta-storage", version],
    ]

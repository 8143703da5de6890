"""The lock serves every system and Python that the project names; PySpark alone has no wheels.

The vendor's driver is in it too, but has no wheels for some of these systems: `make setup` leaves it out.

The package index knows which wheels exist, so the tests that ask it are long; `make test` needs no network.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
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
def test_systems_and_their_pythons(tmp_path: Path) -> None:
    """The first and the last Python: a wheel for both is there for those between.

    What packages need is looked at once, on Windows; the lock has it.
    """
    with_needs = ("Windows", PYTHONS[-1])
    places = [(system, python) for system in PLATFORMS for python in (PYTHONS[0], PYTHONS[-1])]
    lock = tmp_path / "requirements.txt"
    lock.write_text("".join(text for name, text in blocks().items() if not re.fullmatch(driver(), name)))
    running = {
        place: resolution(lock, *place, *([] if place == with_needs else ["--no-deps"])) for place in places
    }
    found = {place: pins(resolved(process)) for place, process in running.items()}
    assert [place for place, packages in found.items() if not packages.keys() >= ENGINE] == []
    assert found[with_needs].items() <= pins((ROOT / "requirements.lock").read_text()).items()


def test_the_pythons_of_the_metadata() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11,<3.15"
    setup = (ROOT / "tools" / "setup").read_text()
    assert f"PYTHONS=({' '.join(PYTHONS)})" in setup


def test_setup_leaves_out_the_driver_and_what_it_alone_needs() -> None:
    """What nothing else needs, by the comments of the lock."""
    needed_by = {
        name: set(re.findall(r"^    #(?: via|  ) ([a-z0-9-]+)", text, re.MULTILINE))
        for name, text in blocks().items()
    }
    alone = {"mssql-python"}
    while more := {name for name, by in needed_by.items() if by and by <= alone} - alone:
        alone |= more
    assert alone == {name for name in needed_by if re.fullmatch(driver(), name)}


def blocks() -> dict[str, str]:
    """The lines of the lock by package."""
    text = (ROOT / "requirements.lock").read_text()
    return {
        re.split("==", each)[0]: each for each in re.split(r"^(?=[a-z])", text, flags=re.MULTILINE) if each
    }


def driver() -> str:
    """The pattern by which `tools/setup` knows the driver and its packages."""
    found = re.search(r"^DRIVER='(.*)'$", (ROOT / "tools" / "setup").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def resolution(lock: Path, system: str, python: str, *options: str) -> "Popen[str]":
    """A process that prints the packages of the lock that this system takes; wheels only, but for SOURCES."""
    command = [sys.executable, "-m", "uv", "pip", "compile", lock, "--quiet", *options]
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

"""The lock serves every system and Python that the project names; PySpark alone has no wheels.

The vendor's driver is in it too, but has no wheels for some of these systems: `make setup` leaves it out.
"""

import os
import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.support.packages import UNREACHED
from tests.support.processes import ROOT

LOCK = (ROOT / "requirements.lock").read_text()
SETUP = (ROOT / "tools" / "setup").read_text()
BLOCKS = {text.split("==")[0]: text for text in re.split(r"^(?=[a-z])", LOCK, flags=re.MULTILINE) if text}
"""The lines of the lock by package."""
PLATFORMS = {
    "Windows": "x86_64-pc-windows-msvc",
    "macOS": "aarch64-apple-darwin",
    "Linux": "x86_64-manylinux_2_28",
}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SOURCES = ("pyspark", "pyspark-client")
"""What comes as a source package; it is Python alone, with Spark's jars beside it in the first."""
ENGINE = {"deltalake", "grpcio", "numpy", "pandas", "pyarrow", "pydantic", "pysail", "zstandard"}
IN_CI = os.environ.get("CI") == "true"


@pytest.mark.slow
@pytest.mark.long
def test_systems_and_their_pythons(tmp_path: Path) -> None:
    """The package index knows which wheels exist; a wheel for the first and the last Python is for all.

    What packages need is looked at once, on Windows; the lock has it.
    """
    lock = tmp_path / "requirements.txt"
    lock.write_text("".join(text for name, text in BLOCKS.items() if not is_of_driver(name)))
    with_needs = ("Windows", PYTHONS[-1])
    places = [(system, python) for system in PLATFORMS for python in (PYTHONS[0], PYTHONS[-1])]
    options = [[] if place == with_needs else ["--no-deps"] for place in places]
    with ThreadPoolExecutor() as pool:
        found = dict(zip(places, pool.map(partial(resolved, lock), places, options), strict=True))
    assert [place for place, packages in found.items() if not packages.keys() >= ENGINE] == []
    assert found[with_needs].items() <= pins(LOCK).items()


def test_the_pythons_of_the_metadata() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11,<3.15"
    assert f"PYTHONS=({' '.join(PYTHONS)})" in SETUP


def test_setup_leaves_out_the_driver_and_what_it_alone_needs() -> None:
    """What nothing else needs, by the comments of the lock."""
    needed_by = {
        name: set(re.findall(r"^    #(?: via|  ) ([a-z0-9-]+)", text, re.MULTILINE))
        for name, text in BLOCKS.items()
    }
    alone = {"mssql-python"}
    while more := {name for name, by in needed_by.items() if by and by <= alone} - alone:
        alone |= more
    assert alone == set(filter(is_of_driver, needed_by))


def test_the_jars_are_of_the_version_of_the_package() -> None:
    version = pins(LOCK)["delta-spark"]
    begin = SETUP[SETUP.index("root=$(cd") : SETUP.index("\nvenv=")].replace(
        "${BASH_SOURCE[0]}", "tools/setup"
    )
    script = f'{begin}\nprintf "%s\\n" "${{JARS[@]}}"'
    done = subprocess.run(["bash", "-euc", script], cwd=ROOT, capture_output=True, text=True)
    assert [line.split()[:2] for line in done.stdout.splitlines() if line.startswith("delta")] == [
        ["delta-spark_4.2_2.13", version],
        ["delta-storage", version],
    ]


def is_of_driver(name: str) -> bool:
    """Whether `tools/setup` takes the package for one of the driver's."""
    found = re.search(r"^DRIVER='(.*)'$", SETUP, re.MULTILINE)
    assert found is not None
    return re.fullmatch(found[1], name) is not None


def resolved(lock: Path, place: tuple[str, str], options: list[str]) -> dict[str, str]:
    """The packages of the lock that a system and Python takes; wheels only, but for SOURCES.

    The test is skipped where no network is, but not in CI.
    """
    system, python = place
    command = [sys.executable, "-m", "uv", "pip", "compile", lock, "--quiet", *options]
    command += ["--python-platform", PLATFORMS[system], "--python-version", python]
    command += ["--no-header", "--no-annotate", "--only-binary", ":all:"]
    command += [word for name in SOURCES for word in ("--no-binary", name)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if not IN_CI and any(words in done.stderr for words in UNREACHED):
        pytest.skip("the package index can't be reached")
    assert done.returncode == 0, done.stderr
    return pins(done.stdout)


def pins(text: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)(?:\[[a-z0-9,]+\])?==([^ ;\\\n]+)", text, re.MULTILINE))

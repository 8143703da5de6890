"""The lock serves every system and Python that the project names; PySpark alone has no wheels."""

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from subprocess import CompletedProcess

import pytest

from tests.support.processes import ROOT

PLATFORMS = {
    "Windows": "x86_64-pc-windows-msvc",
    "macOS": "aarch64-apple-darwin",
    "Linux": "x86_64-manylinux_2_28",
}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SOURCES = ("pyspark", "pyspark-client")
"""What comes as a source package; it is Python alone, with Spark's jars beside it in the first."""
UNREACHED = ("Failed to fetch", "error sending request", "dns error", "network was disabled")
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


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cache() -> None:
    """See that uv has what the index says of each package: with it, a system is looked at in no time."""
    if not IN_CI and importlib.util.find_spec("uv") is None:
        pytest.skip("uv is not installed in .venv; run make setup")
    done = resolve("Windows", PYTHONS[-1], "--no-deps")
    if not IN_CI and any(word in done.stderr for word in UNREACHED):
        pytest.skip("the package index can't be reached")
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("system", PLATFORMS)
def test_a_system_and_its_python(system: str, python: str) -> None:
    done = resolve(system, python, "--no-deps", "--offline")
    assert done.returncode == 0, done.stderr
    assert pins(done.stdout).keys() >= ENGINE


@pytest.mark.usefixtures("cache")
def test_the_lock_has_what_its_packages_need() -> None:
    done = resolve("Windows", PYTHONS[-1])
    assert done.returncode == 0, done.stderr
    assert pins(done.stdout).items() <= pins((ROOT / "requirements.lock").read_text()).items()


def test_the_pythons_of_the_metadata() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11,<3.15"
    setup = (ROOT / "tools" / "setup").read_text()
    assert f"PYTHONS=({' '.join(PYTHONS)})" in setup


def resolve(system: str, python: str, *options: str) -> "CompletedProcess[str]":
    """The packages of the lock that this system takes; wheels only, but for the source packages."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "requirements.lock", "--quiet", *options]
    command += ["--python-platform", PLATFORMS[system], "--python-version", python]
    command += ["--no-header", "--no-annotate", "--only-binary", ":all:"]
    command += [word for name in SOURCES for word in ("--no-binary", name)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


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

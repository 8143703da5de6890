"""What tools/setup says on a machine where it can't work, and that it leaves a finished setup alone."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Everything that the script calls, except Java and Python.
COMMANDS = [
    *("awk", "bash", "cat", "cut", "dirname", "grep", "head", "mkdir", "mv", "rm", "sed", "sha256sum"),
    *("shasum", "sleep", "tail", "touch"),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "a project"
    (root / "tools").mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "setup", root / "tools")
    (root / "requirements.lock").write_text("")
    return root


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder of commands that stands for the machine."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in COMMANDS:
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    return folder


def install(machine: Path, name: str, body: str) -> None:
    (machine / name).write_text(f"#!/bin/bash\n{body}\n")
    (machine / name).chmod(0o755)


def install_java(machine: Path, version: str = "17.0.15") -> None:
    install(machine, "java", f"echo 'openjdk version \"{version}\" 2025-04-15' >&2")


def setup(project: Path, machine: Path, **env: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        [str(project / "tools" / "setup")],
        env={"PATH": str(machine)} | env,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr).splitlines()


def test_no_java(project: Path, machine: Path) -> None:
    assert setup(project, machine) == (
        2,
        ["setup: no Java found (java); install a JDK 17 or newer, or set JAVA_HOME"],
    )


def test_a_java_home_without_java(project: Path, machine: Path) -> None:
    install_java(machine)

    code, lines = setup(project, machine, JAVA_HOME="/nowhere")

    assert (code, len(lines)) == (2, 1)
    assert "/nowhere/bin/java" in lines[0]


@pytest.mark.parametrize(
    ("version", "major"), [pytest.param("11.0.2", 11, id="11"), pytest.param("1.8.0_301", 8, id="8")]
)
def test_an_old_java(project: Path, machine: Path, version: str, major: int) -> None:
    install_java(machine, version)

    assert setup(project, machine) == (
        2,
        [f"setup: Java {major} is too old (java); install a JDK 17 or newer, or set JAVA_HOME"],
    )


@pytest.mark.parametrize(
    ("found", "named", "says"),
    [
        pytest.param(None, None, "(none found)", id="none"),
        pytest.param("3.10.2", None, "(python3 is 3.10.2)", id="old"),
        pytest.param("3.13.0", None, "(python3 is 3.13.0)", id="new"),
        pytest.param(None, "/nowhere/python", "(can't run /nowhere/python)", id="named but missing"),
    ],
)
def test_no_python_that_will_do(
    project: Path, machine: Path, found: str | None, named: str | None, says: str
) -> None:
    install_java(machine)
    if found:
        install(machine, "python3", f"echo {found}")

    code, lines = setup(project, machine, **({"PYTHON": named} if named else {}))

    assert (code, len(lines)) == (2, 1)
    assert lines[0].startswith(f"setup: Python 3.11 or 3.12 is needed {says}")


def test_a_python_without_venv(project: Path, machine: Path) -> None:
    install_java(machine)
    install(machine, "python3.11", '[[ $2 == *ensurepip* ]] && exit 1; echo "3.11.7"')

    code, lines = setup(project, machine)

    assert (code, len(lines)) == (2, 1)
    assert "python3.11-venv" in lines[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_no_permission_to_write(project: Path, machine: Path) -> None:
    install_java(machine)
    project.chmod(0o555)
    try:
        code, lines = setup(project, machine)
    finally:
        project.chmod(0o755)

    assert (code, len(lines)) == (2, 1)
    assert "no permission to write" in lines[0]


def test_a_failing_pip_is_one_line_and_the_next_run_starts_afresh(project: Path, machine: Path) -> None:
    script = project / "tools" / "setup"
    script.write_text(script.read_text().replace("TRIES=3", "TRIES=1"))
    install_java(machine)
    pip = 'echo "ERROR: the disk is full"; exit 1'
    venv = f'mkdir -p "$3/bin"; printf \'#!/bin/bash\\n[[ $1 == -c ]] || {{ {pip}; }}\\n\' >"$3/bin/python"'
    install(
        machine,
        "python3.11",
        f'[[ $1 == -m ]] && {{ {venv}; chmod 755 "$3/bin/python"; exit; }}; echo 3.11.7',
    )
    install(machine, "chmod", f'exec {shutil.which("chmod")} "$@"')

    code, lines = setup(project, machine)

    assert code == 1
    assert lines[-1].startswith("setup: can't install the Python packages (ERROR: the disk is full)")
    assert (project / ".venv" / ".incomplete").exists()

    (project / ".venv" / "left-over").touch()
    setup(project, machine)
    assert not (project / ".venv" / "left-over").exists()


def test_a_finished_setup_is_left_alone(project: Path, machine: Path) -> None:
    install_java(machine)
    script = project / "tools" / "setup"
    empty = hashlib.sha256(b"").hexdigest()
    text = script.read_text()
    for line in text.splitlines():
        if line.startswith('  "delta-'):
            name, version, expected = line.strip().strip('"').split()
            text = text.replace(expected, empty)
            jar = project / ".jars" / f"{name}-{version}.jar"
            jar.parent.mkdir(exist_ok=True)
            jar.touch()
    script.write_text(text)
    (project / ".venv" / "bin").mkdir(parents=True)
    install(project / ".venv" / "bin", "python", "exit 0")
    (project / ".venv" / ".setup").write_text(hashlib.sha256(text.encode()).hexdigest() + "\n")

    assert setup(project, machine) == (0, [])

"""The recipes of docs/recipes.md for cron, systemd, Airflow, logs and alerts, as far as a machine allows."""

import re
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path

import pytest

from pipelines.storage.lock import only_writer
from tests.support.factories import NOON, at
from tests.support.packages import needs
from tests.support.processes import ROOT, environment
from tests.support.recipes import (
    FOLDER,
    SCRIPTS,
    Place,
    blocks,
    cron_lines,
    files,
    lines_of,
)


def test_the_crontab() -> None:
    assert [schedule for schedule, _ in cron_lines()] == ["0 3 * * *", "0 5 * * 0"]
    for _, command in cron_lines():
        assert "%" not in command  # cron makes a line end of it
        assert set(re.findall(rf"{FOLDER}/\w+\.sh", command)) <= files().keys()


def require_alert(place: Place, code: int, text: str) -> None:
    """Run the night's line of the crontab, and see that one mail has the exit code and its meaning."""
    (_, command), _ = cron_lines()
    place.sh(command)
    subject, line = place.mails
    assert subject.startswith("-s priorities on "), place.log
    assert subject.endswith(f": exit code {code} dba@example.com"), place.log
    assert text in line


def test_an_alert_of_wrong_settings(place: Place) -> None:
    place.serve_both()
    (place.folder / "priorities.yaml").write_text("warehouse: warehouse\nsnapshot: []\n")
    require_alert(place, 2, "Correct the line that the log names")
    assert "did you mean 'snapshots'?" in place.log


def test_an_alert_of_a_broken_capture(place: Place) -> None:
    place.serve("SQL1", lines_of("SQL1", at(-10), 1)[:-1])
    require_alert(place, 3, "An input breaks its contract")
    assert "error: captures/SQL1-20261120T115000Z.jsonl:21: " in place.log


def test_an_alert_of_another_writer(place: Place) -> None:
    place.serve_both()
    with only_writer(str(place.folder / "warehouse"), "nightly"):
        require_alert(place, 5, "Another command was writing the warehouse")
    assert len(list((place.folder / "captures").iterdir())) == 2


@pytest.mark.slow
def test_a_midnight_before_captures_of_three_is_no_empty_night_and_an_alert_of_what_cannot_be_placed(
    place: Place,
) -> None:
    place.serve("SQL1", lines_of("SQL1", at(-10), 1))
    place.serve("SQL2", lines_of("SQL2", NOON, 2, known=False))
    place.sh("for server in SQL1 SQL2; do priorities capture --server $server; done")
    done = place.sh("priorities nightly --as-of 2026-11-20T00:00:00Z")
    assert done.returncode == 2
    assert "no snapshot or event counts yet, the first is of 2026-11-20T11:50:00Z" in done.stderr
    assert not (place.folder / "warehouse" / "receive_schedule").exists()
    require_alert(place, 6, "Some messages are not matched to a queue: priorities waiting.")


@pytest.mark.slow
def test_an_alert_of_an_expectation_says_so_and_nothing_of_queues(place: Place) -> None:
    place.serve_both()
    with (place.folder / "priorities.yaml").open("a", encoding="utf-8") as settings:
        settings.write("expect:\n  - {oldest_wait: 1 min}\n")
    require_alert(place, 6, "is not met. An expectation is not met: priorities expect.")
    assert "priorities waiting" not in place.mails[1]


def test_the_recorder_that_runs_already_is_no_fault(place: Place) -> None:
    """The line of cron and the unit start the same recorder."""
    (block,) = blocks("A recorder", "crontab")
    schedule, command = block.split()[:5], block.split(maxsplit=5)[5]
    assert (schedule, "%" in command) == (["*/10", "*", "*", "*", "*"], False)
    unit = files()["/etc/systemd/system/priorities-recorder@.service"]
    options = "capture --server {} --every 5min --keep 14d --config priorities.yaml"
    assert options.format("%i") in unit
    place.install("record.sh", place.here(files()[f"{FOLDER}/record.sh"]))
    for code, seen in ((5, 0), (1, 1), (0, 0)):
        place.install("venv/bin/priorities", f'#!/bin/sh\necho "$*" >>{place.folder}/called\nexit {code}\n')
        assert place.sh(command).returncode == seen
    assert place.called == [options.format("SQL1")] * 3


@pytest.mark.parametrize(
    ("call", "mailed"),
    [
        ("alert.sh 1", "exit code 1 "),
        ("alert.sh 137", "exit code 137 "),
        ("alert.sh", "exit code "),
        ("alert.sh 0", None),
    ],
)
def test_alerts_of_other_codes(place: Place, call: str, mailed: str | None) -> None:
    place.sh(f"{FOLDER}/{call}")
    assert [mailed is not None and mailed in subject for subject in place.mails[::2]] == (
        [True] if mailed else []
    )
    text = "A capture or a command failed. Read the log, then run it again."
    assert place.mails[1::2] == ([text] if mailed else [])


@pytest.mark.parametrize(("status", "mailed"), [("5", 1), ("TERM", 1), ("0", 0)])
def test_alerts_of_systemd(place: Place, status: str, mailed: int) -> None:
    place.sh(f"EXIT_STATUS={status} {FOLDER}/alert.sh")
    assert [f"exit code {status} " in subject for subject in place.mails[::2]] == [True] * mailed


def test_the_units_name_files_and_units_of_the_page() -> None:
    service, timers = files()["/etc/systemd/system/priorities@.service"], []
    for name in ("night", "weekly"):
        parser = ConfigParser(interpolation=None)
        parser.read_string(files()[f"/etc/systemd/system/priorities-{name}.timer"])
        timers.append(parser["Timer"]["Unit"])
    assert timers == ["priorities@night.service", "priorities@weekly.service"]
    parser = ConfigParser(interpolation=None)
    parser.read_string(service)
    started = {parser["Service"]["ExecStart"].replace("%i", name) for name in ("night", "weekly")}
    assert {*started, parser["Service"]["ExecStopPost"]} == {f"{FOLDER}/{name}" for name in SCRIPTS}


@needs(shutil.which("systemd-analyze"), "SYSTEMD", "no systemd-analyze on the PATH")
def test_systemd_takes_the_units(place: Place) -> None:
    names = [path.name for path in place.write_units()]
    assert names == [
        "priorities-night.timer",
        "priorities-recorder@.service",
        "priorities-weekly.timer",
        "priorities@.service",
    ]
    services = ("priorities@night.service", "priorities@weekly.service", "priorities-recorder@SQL1.service")
    for given in (*services, *[name for name in names if name.endswith(".timer")]):
        done = subprocess.run(
            ["systemd-analyze", "verify", f"./{given}"],
            cwd=place.folder / "units",
            capture_output=True,
            text=True,
            check=False,
        )
        complaints = [line for line in done.stderr.splitlines() if "priorities" in line]
        assert (done.returncode, complaints) == (0, []), done.stderr


def test_the_rotation_is_of_the_logs_that_cron_writes() -> None:
    (block,) = blocks("Log files", "logrotate")
    (pattern,) = re.findall(r"^(/\S+) \{$", block, re.MULTILINE)
    written = [path for _, command in cron_lines() for path in re.findall(r">>(\S+)", command)]
    assert len(written) == 2
    assert all(Path(path).match(pattern) for path in written)
    assert block.count("{") == block.count("}") == 1


def test_airflow_reads_the_variables_of_the_page(place: Place) -> None:
    dag = (ROOT / "dags" / "conversation_priorities.py").read_text(encoding="utf-8")
    (block,) = blocks("Airflow with captures", "sh")
    given = dict(re.findall(r"^export (\w+)=(\S+)$", block, re.MULTILINE))
    assert given.keys() == set(re.findall(r'os\.environ\.get\("(\w+)"', dag))
    assert given["CONVERSATION_PRIORITIES_AS_OF"] in re.findall(r'"(\w+)"', dag)
    assert f'"{given["CONVERSATION_PRIORITIES_ENGINE"]}": [' in dag
    assert Path(place.here(given["CONVERSATION_PRIORITIES_CONFIG"])).is_file()


AIRFLOW = ROOT / ".venv-airflow" / "bin" / "python"
TASKS = """
import runpy, sys
dag = next(value for name, value in runpy.run_path(sys.argv[1]).items() if type(value).__name__ == "DAG")
for task in dag.tasks:
    print(task.task_id, "|", task.bash_command)
"""


@needs(AIRFLOW.exists(), "AIRFLOW", "no .venv-airflow; make airflow-setup makes it")
def test_the_dag_of_captures(place: Place) -> None:
    (block,) = blocks("Airflow with captures", "python")
    (place.folder / "dag.py").write_text(block)
    done = subprocess.run(
        [AIRFLOW, "-c", TASKS, place.folder / "dag.py"],
        env=environment() | {"AIRFLOW_HOME": str(place.folder), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [
        f"capture_{server} | {FOLDER}/venv/bin/priorities capture --server {server}"
        for server in ("SQL1", "SQL2")
    ], done.stderr

"""The recipes of docs/recipes.md for cron, systemd, Airflow, logs and alerts, as far as a machine allows."""

import re
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path

import pytest

from tests.support.factories import NOON, at
from tests.support.packages import needs
from tests.support.processes import ROOT, environment
from tests.support.recipes import FOLDER, SAMPLES, SCRIPTS, Place, blocks, cron_lines, files, lines_of


def test_the_crontab() -> None:
    assert [schedule for schedule, _ in cron_lines()] == ["0 3 * * *", "0 5 * * 0"]
    for _, command in (*cron_lines(), *cron_lines("A recorder")):
        assert "%" not in command  # cron makes a line end of it
        assert set(re.findall(rf"{FOLDER}/\w+\.sh", command)) <= files().keys()


@pytest.mark.parametrize(
    ("call", "mailed"),
    [
        ("alert.sh 1", "exit code 1 dba@example.com: A capture or a command failed."),
        ("alert.sh", "exit code unknown dba@example.com: A capture or a command failed."),
        ("alert.sh 2", "exit code 2 dba@example.com: Settings, catalog or rules are wrong."),
        ("alert.sh 3", "exit code 3 dba@example.com: An input breaks its contract,"),
        ("alert.sh 5", "exit code 5 dba@example.com: Another command was writing the warehouse."),
        ("alert.sh 6", "exit code 6 dba@example.com: The night is published, but"),
        ("EXIT_STATUS=TERM alert.sh", "exit code TERM dba@example.com: A capture or a command failed."),
        ("alert.sh 0", ""),
        ("EXIT_STATUS=0 alert.sh", ""),
    ],
)
def test_an_alert_says_what_an_exit_code_means(place: Place, call: str, mailed: str) -> None:
    place.sh(call.replace("alert.sh", f"{FOLDER}/alert.sh"))
    _, _, mail = ": ".join(place.mails).partition("-s priorities on ")
    assert mail.partition(": ")[2].startswith(mailed)
    assert (mail == "") == (mailed == "")


def test_the_line_of_cron_mails_the_exit_code_of_the_night(place: Place) -> None:
    place.serve_both()
    (place.folder / "priorities.yaml").write_text("warehouse: warehouse\nsnapshot: []\n")
    (_, command), _ = cron_lines()
    place.sh(command)
    assert ": exit code 2 " in place.mails[0], place.log
    assert "did you mean 'snapshots'?" in place.log


@pytest.mark.slow
def test_an_alert_says_which_conditions_are_not_met(place: Place) -> None:
    place.serve("SQL1", lines_of("SQL1", at(-10), 1))
    place.serve("SQL2", lines_of("SQL2", NOON, 2, known=False))
    with (place.folder / "priorities.yaml").open("a", encoding="utf-8") as settings:
        settings.write("expect:\n  - {oldest_wait: 1 min}\n")
    (_, command), _ = cron_lines()
    place.sh(command)
    assert ": exit code 6 " in place.mails[0], place.log
    assert place.mails[1].endswith(
        "is not met. An expectation is not met: priorities expect. Some messages are not matched to a queue: "
        "priorities waiting."
    )


def test_the_recorder_that_runs_already_is_no_fault(place: Place) -> None:
    """The line of cron and the unit start the same recorder."""
    (schedule, command), (of_watch, _) = cron_lines("A recorder")
    assert (schedule, of_watch) == ("*/10 * * * *", "7 * * * *")
    unit = files()["/etc/systemd/system/priorities-recorder@.service"]
    options = "capture --server {} --every 5min --keep 14d --config priorities.yaml"
    assert options.format("%i") in unit
    place.install("record.sh", place.here(files()[f"{FOLDER}/record.sh"]))
    for code, seen in ((5, 0), (1, 1), (0, 0)):
        place.install("venv/bin/priorities", f'#!/bin/sh\necho "$*" >>{place.folder}/called\nexit {code}\n')
        assert place.sh(command).returncode == seen
    assert place.called == [options.format("SQL1")] * 3

    # Another one that cron starts meanwhile says nothing, and is not started.
    again = f'#!/bin/sh\necho began\n{place.here(command)}\necho "second $?"\n'
    place.install("venv/bin/priorities", again)
    assert place.sh(command).returncode == 0
    assert (place.folder / "log" / "recorder.log").read_text() == "began\nsecond 0\n"


def test_the_units_name_files_and_units_of_the_page() -> None:
    service, timers = files()["/etc/systemd/system/priorities@.service"], []
    for name in ("night", "watch", "weekly"):
        parser = ConfigParser(interpolation=None)
        parser.read_string(files()[f"/etc/systemd/system/priorities-{name}.timer"])
        timers.append(parser["Timer"]["Unit"])
    assert timers == [f"priorities@{name}.service" for name in ("night", "watch", "weekly")]
    parser = ConfigParser(interpolation=None)
    parser.read_string(service)
    started = {parser["Service"]["ExecStart"].replace("%i", name) for name in ("night", "watch", "weekly")}
    assert {*started, parser["Service"]["ExecStopPost"]} == {f"{FOLDER}/{name}" for name in SCRIPTS}


@needs(shutil.which("systemd-analyze"), "SYSTEMD", "no systemd-analyze on the PATH")
def test_systemd_takes_the_units(place: Place) -> None:
    names = [path.name for path in place.write_units()]
    assert names == [
        "priorities-night.timer",
        "priorities-recorder@.service",
        "priorities-watch.timer",
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
    block = files()["/etc/logrotate.d/priorities"]
    (pattern,) = re.findall(r"^(/\S+) \{$", block, re.MULTILINE)
    lines = (*cron_lines(), *cron_lines("A recorder"))
    written = [path for _, command in lines for path in re.findall(r">>(\S+)", command)]
    assert len(written) == 4
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
    shutil.copy(SAMPLES / "conversation_captures.py", place.folder / "dag.py")
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

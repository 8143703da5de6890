"""The recipes of docs/recipes.md, run as far as a machine allows."""

import os
import re
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path

import pytest
import yaml
from deltalake import DeltaTable, Field
from deltalake.schema import PrimitiveType

from pipelines.storage.lock import only_writer
from tests.support.captures import write_capture
from tests.support.factories import NOON, at
from tests.support.processes import ROOT, environment
from tests.support.recipes import (
    CALLED,
    FOLDER,
    PAGE,
    SCRIPTS,
    SERVERS,
    Place,
    blocks,
    cron_lines,
    files,
    lines_of,
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "srv")


def test_the_scripts_are_for_any_shell() -> None:
    scripts = blocks("", "sh", "")
    assert len(scripts) == 12
    for script in scripts:
        done = subprocess.run(["sh", "-n"], input=script, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), script


@pytest.mark.slow
def test_nights_of_two_servers(place: Place) -> None:
    place.serve("SQL1", lines_of("SQL1", at(-10), 1))
    place.serve("SQL2", lines_of("SQL2", NOON, 2))
    assert place.night() == 0, place.log
    assert place.receive() == [(NOON, "SQL1", "01"), (NOON, "SQL2", "02")]

    # A day later SQL2 does not answer, and a reader of SQL1 has taken nothing.
    place.silence("SQL2")
    place.serve("SQL1", lines_of("SQL1", at(day=1), 1))
    assert place.night() == 1, place.log
    assert place.receive()[2:] == [(at(day=1), "SQL1", "01"), (at(day=1), "SQL2", "02")]
    assert place.log.count("the latest") == 2


def test_a_password_comes_from_the_file_login(place: Place) -> None:
    place.install("venv/bin/priorities", '#!/bin/sh\necho "$1 $PRIORITIES_CONNECTION" >>called\n')
    (line,) = re.findall(r"`export\s+(PRIORITIES_CONNECTION=\S+)`", PAGE)
    (place.folder / "login").write_text(f"export {line}\n")
    assert place.night() == 0, place.log
    secret = "UID=capture;PWD=..."
    assert place.called == [f"capture {secret}"] * 2 + [f"nightly {secret}"]


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


def serve_both(place: Place) -> None:
    place.serve("SQL1", lines_of("SQL1", at(-10), 1))
    place.serve("SQL2", lines_of("SQL2", NOON, 2))


def test_an_alert_of_wrong_settings(place: Place) -> None:
    serve_both(place)
    (place.folder / "priorities.yaml").write_text("warehouse: warehouse\nsnapshot: []\n")
    require_alert(place, 2, "Correct the line that the log names")
    assert "did you mean 'snapshots'?" in place.log


def test_an_alert_of_a_broken_capture(place: Place) -> None:
    place.serve("SQL1", lines_of("SQL1", at(-10), 1)[:-1])
    place.serve("SQL2", lines_of("SQL2", NOON, 2))
    require_alert(place, 3, "An input breaks its contract")
    assert "error: captures/SQL1-20261120T115000Z.jsonl:21: " in place.log


def test_an_alert_of_another_writer(place: Place) -> None:
    serve_both(place)
    with only_writer(str(place.folder / "warehouse"), "nightly"):
        require_alert(place, 5, "Another command was writing the warehouse")
    assert len(list((place.folder / "captures").iterdir())) == 2


@pytest.mark.slow
def test_an_alert_of_messages_that_cannot_be_placed(place: Place) -> None:
    place.serve("SQL1", lines_of("SQL1", at(-10), 1))
    place.serve("SQL2", lines_of("SQL2", NOON, 2, known=False))
    require_alert(place, 6, "some messages can't be placed")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("1", "A capture or a command failed"),
        ("137", "A capture or a command failed"),
        ("", "A capture or a command failed"),
        ("0", None),
    ],
)
def test_alerts_of_other_codes(place: Place, arguments: str, text: str | None) -> None:
    place.sh(f"{FOLDER}/alert.sh {arguments}")
    assert place.mails[1:] == ([f"{text}. Read the log, then run it again."] if text else [])


@pytest.mark.parametrize(("status", "mailed"), [("5", 1), ("TERM", 1), ("0", 0)])
def test_alerts_of_systemd(place: Place, status: str, mailed: int) -> None:
    place.sh(f"EXIT_STATUS={status} {FOLDER}/alert.sh")
    subjects = place.mails[::2]
    assert len(subjects) == mailed
    assert all(f"exit code {status} " in subject for subject in subjects)


def units(place: Place) -> list[Path]:
    """The units of the page, written into a folder, with the paths and the user of the test."""
    folder = place.folder / "units"
    folder.mkdir()
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    for path, text in files().items():
        if path.startswith("/etc/systemd/system/"):
            (folder / Path(path).name).write_text(place.here(text).replace("User=priorities", f"User={user}"))
    return sorted(folder.iterdir())


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


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze on the PATH")
def test_systemd_takes_the_units(place: Place) -> None:
    names = [path.name for path in units(place)]
    assert names == ["priorities-night.timer", "priorities-weekly.timer", "priorities@.service"]
    for given in ("priorities@night.service", "priorities@weekly.service", *names[:2]):
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


@pytest.mark.slow
def test_a_week_and_a_rebuild(place: Place) -> None:
    """The week prunes old days and moves their captures away; nights go on, and a rebuild takes them."""
    captures = place.folder / "captures"
    write_capture(captures / "SQL1-first.jsonl", lines_of("SQL1", at(day=-25), 1))
    old = place.serve("SQL1", lines_of("SQL1", at(day=-20)))
    assert place.night() == 1, place.log
    new = place.serve("SQL2", lines_of("SQL2", NOON, 2))
    assert place.night() == 0, place.log
    tables = place.receive()
    assert tables == [(NOON, "SQL2", "02")]
    for name in ("SQL1-first.jsonl", old):
        os.utime(captures / name, (0, 0))

    _, (_, week) = cron_lines()
    place.install("weekly.sh", place.here(files()[f"{FOLDER}/weekly.sh"]).replace("days 100", "days 10"))
    place.sh(week)
    log = (place.folder / "log" / "weekly.log").read_text()
    assert place.mails == [], log
    assert "message_events: delete 1 closed day, 2026-10-31 to 2026-10-31" in log
    assert [path.name for path in captures.iterdir()] == [new]
    assert sorted(path.name for path in (place.folder / "archive" / "captures").iterdir()) == [
        old,
        "SQL1-first.jsonl",
    ]

    place.silence("SQL1")
    assert place.night() == 1, place.log
    assert "nothing new" in place.log
    assert place.receive() == tables

    _, rebuild = blocks("Limit disk use", "sh")
    place.sh(rebuild)
    assert sorted(path.name for path in captures.iterdir()) == [old, "SQL1-first.jsonl", new]
    assert place.receive() == tables
    assert (place.folder / "warehouse.old" / "runs").exists()


@pytest.mark.slow
def test_two_servers_of_one_name(place: Place) -> None:
    _, settings = blocks(SERVERS, "yaml")
    (place.folder / "priorities.yaml").write_text(settings)
    serve_both(place)
    place.serve("london.example.com", lines_of("SQL1", NOON, 3))
    place.serve("paris.example.com", lines_of("SQL1", NOON, 4))
    (capture,) = blocks(SERVERS, "sh")
    assert place.sh(capture).returncode == 0
    assert place.night() == 0, place.log
    expected = [
        (NOON, "LONDON", "03"),
        (NOON, "PARIS", "04"),
        (NOON, "SQL1", "01"),
        (NOON, "SQL2", "02"),
    ]
    assert place.receive() == expected

    (place.folder / "priorities.yaml").write_text(settings.replace("instance: LONDON", "instance: OXFORD"))
    assert place.night() == 0, place.log
    assert place.receive() == expected


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


@pytest.mark.skipif(not AIRFLOW.exists(), reason="no .venv-airflow; make airflow-test makes it")
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


@pytest.mark.slow
def test_the_midnight_before_a_capture_of_three_is_no_empty_night(place: Place) -> None:
    serve_both(place)
    place.sh("for server in SQL1 SQL2; do priorities capture --server $server; done")
    done = place.sh("priorities nightly --as-of 2026-11-20T00:00:00Z")
    assert done.returncode == 2
    assert "no snapshot or event counts yet, the first is of 2026-11-20T11:50:00Z" in done.stderr
    assert not (place.folder / "warehouse" / "receive_schedule").exists()


@pytest.mark.slow
def test_an_upgrade_and_the_way_back(place: Place) -> None:
    serve_both(place)
    assert place.night() == 0, place.log
    before = place.receive()
    place.install("venv/bin/pip", CALLED.format(name="pip", folder=place.folder))
    upgrade, back = blocks("Upgrade", "sh")
    done = place.sh(f"set -e\n{upgrade}")
    assert done.returncode == 0, done.stderr
    assert place.receive() == before

    # A later version has added a column, so the earlier one refuses the warehouse.
    column = Field("of_a_later_version", PrimitiveType("string"))
    DeltaTable(str(place.folder / "warehouse" / "endpoints")).alter.add_columns([column])
    assert place.night() == 1
    assert "column of_a_later_version was added" in place.log
    done = place.sh(f"set -e\n{back}")
    assert done.returncode == 0, done.stderr
    assert place.receive() == before
    installs = [line for line in place.called if line.startswith("pip ")]
    extras = "conversation-priorities[embedded,capture]"
    assert installs == [
        f"pip install --upgrade --find-links wheels {extras}",
        f"pip install --find-links wheels {extras}==1.0.0",
    ]


def test_the_extras_are_those_of_the_package() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for extras in re.findall(r"conversation-priorities\[([\w,]+)\]", PAGE):
        assert all(re.search(rf"^{extra} = \[", text, re.MULTILINE) for extra in extras.split(","))


def test_removal(place: Place) -> None:
    first, with_systemd = blocks("Removal", "sh")
    table = "\n".join(["5 4 * * * /usr/bin/true", *(f"{when} {what}" for when, what in cron_lines())])
    (place.folder.parent / "table").write_text(place.here(table) + "\n")
    place.install(
        "bin/crontab",
        '#!/bin/sh\nif [ "$1" = -l ]; then cat "TABLE"; else cat >"TABLE.new"; fi\n'.replace(
            "TABLE", str(place.folder.parent / "table")
        ),
    )
    place.stand_in("systemctl")
    written = units(place)
    target = str(place.folder / "units")
    done = place.sh("set -e\n" + with_systemd.replace("/etc/systemd/system", target))
    assert (done.returncode, done.stderr) == (0, "")
    assert [path for path in written if path.exists()] == []
    assert [line.split()[1] for line in place.called] == ["disable", "daemon-reload"]

    done = place.sh(f"set -e\ncd /\n{first}")
    assert (done.returncode, done.stderr) == (0, "")
    assert not place.folder.exists()
    assert (place.folder.parent / "table.new").read_text() == "5 4 * * * /usr/bin/true\n"


def test_the_first_steps_make_settings(place: Place) -> None:
    (steps,) = blocks("", "")[:1]
    (place.folder / "priorities.yaml").unlink()
    (place.folder / "captures").rmdir()
    (place.folder / "log").rmdir()
    place.serve("SQL1", lines_of("SQL1", NOON, 1))
    place.stand_in("python3")
    place.install("venv/bin/pip", CALLED.format(name="pip", folder=place.folder))
    done = place.sh(f"set -e\n{steps}")
    assert done.returncode == 0, done.stderr
    written = (place.folder / "priorities.yaml").read_text()
    assert yaml.safe_load(written) == yaml.safe_load(blocks(SERVERS, "yaml")[0])

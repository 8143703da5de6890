"""The recipes of docs/recipes.md that run a night, a week, an upgrade and a removal."""

import os
import re
import subprocess
from datetime import UTC, datetime

import pytest
import yaml
from deltalake import DeltaTable, Field
from deltalake.schema import PrimitiveType

from pipelines import __version__
from tests.support.captures import write_capture
from tests.support.factories import NOON, at
from tests.support.processes import PATIENCE, ROOT
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


def test_the_scripts_are_for_any_shell() -> None:
    scripts = [*blocks("", "sh", ""), *(text for path, text in files().items() if path.endswith(".sh"))]
    assert len(scripts) == 15
    for script in scripts:
        done = subprocess.run(["sh", "-n"], input=script, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), script


@pytest.mark.long
def test_nights_of_several_servers_an_upgrade_the_way_back_a_week_and_a_rebuild(place: Place) -> None:
    """Of four servers, two have one name, and one does not answer any more."""
    captures = place.folder / "captures"
    old = ["SQL1-first.jsonl", "SQL1-second.jsonl"]
    write_capture(captures / old[0], lines_of("SQL1", at(day=-25), 1))
    write_capture(captures / old[1], lines_of("SQL1", at(day=-20)))
    lock = captures / ".recorder-SQL1"
    lock.touch()
    for name in (*old, lock.name):
        os.utime(captures / name, (0, 0))
    assert place.night() == 1, "no server answers"
    _, settings = blocks(SERVERS, "yaml")
    (place.folder / "priorities.yaml").write_text(settings)
    place.serve("SQL2", lines_of("SQL2", NOON, 2))
    place.serve("london.example.com", lines_of("SQL1", NOON, 3))
    place.serve("paris.example.com", lines_of("SQL1", NOON, 4))
    (capture,) = blocks(SERVERS, "sh")
    assert place.sh(capture).returncode == 0
    assert place.night() == 1, place.log
    received = [(NOON, "LONDON", "03"), (NOON, "PARIS", "04"), (NOON, "SQL2", "02")]
    assert place.receive() == received

    place.install("venv/bin/pip", CALLED.format(name="pip", folder=place.folder))
    (place.folder / "warehouse.before" / "of_the_last_upgrade").mkdir(parents=True)
    upgrade, back = blocks("Upgrade", "sh")
    done = place.sh(f"set -e\n{upgrade}")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (place.folder / "warehouse.before").glob("of_the*")] == []

    # A later version has added a column, so the earlier one refuses the warehouse.
    column = Field("of_a_later_version", PrimitiveType("string"))
    DeltaTable(str(place.folder / "warehouse" / "endpoints")).alter.add_columns([column])
    assert place.night() == 1
    assert "column of_a_later_version was added" in place.log
    done = place.sh(f"set -e\n{back}")
    # It ends with a night, in which one server does not answer.
    assert (done.returncode, place.receive()) == (1, received), done.stderr
    extras = "conversation-priorities[embedded,capture]"
    assert [line for line in place.called if line.startswith("pip ")] == [
        f"pip install --upgrade --find-links wheels {extras}",
        f"pip install --find-links wheels {extras}=={__version__}",
    ]

    # The week prunes old days and moves their captures away; a rebuild takes them.
    _, (_, week) = cron_lines()
    place.install("weekly.sh", place.here(files()[f"{FOLDER}/weekly.sh"]).replace("days 100", "days 10"))
    place.sh(week)
    log = (place.folder / "log" / "weekly.log").read_text()
    assert place.mails == [], log
    assert "queue_events: delete 1 closed day, 2026-10-31 to 2026-10-31" in log
    kept = {path.name for path in captures.iterdir()}
    assert kept.isdisjoint(old)
    assert sorted(path.name for path in (place.folder / "archive" / "captures").iterdir()) == old
    assert lock.exists(), "a recorder holds it"
    (rebuild,) = blocks("Limit disk use", "sh")
    place.sh(rebuild)
    assert {path.name for path in captures.iterdir()} == kept | {*old}
    assert place.receive() == received
    assert (place.folder / "warehouse.old" / "runs").exists()


@pytest.mark.slow
def test_the_figures_of_a_recorder_that_has_ended_say_how_old_its_data_is(place: Place) -> None:
    (place.folder / "metrics").mkdir()
    write_capture(place.folder / "captures" / "2026-11-21" / "SQL1.jsonl", lines_of("SQL1", NOON, 1))
    done = place.sh(f"{FOLDER}/watch.sh")
    assert done.returncode == 0, done.stderr
    figures = (place.folder / "metrics" / "service_broker.prom").read_text()
    [age] = re.findall(
        r'^service_broker_data_age_seconds\{instance="SQL1",database="B"\} (\d+)$', figures, re.M
    )
    assert int(age) > (datetime.now(UTC) - NOON).total_seconds() - PATIENCE


def test_a_password_comes_from_the_file_login(place: Place) -> None:
    place.install("venv/bin/priorities", '#!/bin/sh\necho "$1 $PRIORITIES_CONNECTION" >>called\n')
    (line,) = re.findall(r"`export\s+(PRIORITIES_CONNECTION=\S+)`", PAGE)
    (place.folder / "login").write_text(f"export {line}\n")
    assert place.night() == 0, place.log
    secret = "UID=capture;PWD=..."
    assert place.called == [f"capture {secret}"] * 2 + [f"nightly {secret}"]


def test_the_extras_are_those_of_the_package() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for extras in re.findall(r"conversation-priorities\[([\w,]+)\]", PAGE):
        assert all(re.search(rf"^{extra} = \[", text, re.MULTILINE) for extra in extras.split(","))


def test_removal(place: Place) -> None:
    first, with_systemd = blocks("Removal", "sh")
    table = "\n".join(["5 4 * * * /usr/bin/true", *(f"{when} {what}" for when, what in cron_lines())])
    (place.folder.parent / "table").write_text(place.here(table) + "\n")
    crontab = '#!/bin/sh\nif [ "$1" = -l ]; then cat "TABLE"; else cat >"TABLE.new"; fi\n'
    place.install("bin/crontab", crontab.replace("TABLE", str(place.folder.parent / "table")))
    place.stand_in("systemctl")
    written = place.write_units()
    target = str(place.folder / "units")
    done = place.sh("set -e\n" + with_systemd.replace("/etc/systemd/system", target))
    assert (done.returncode, done.stderr) == (0, "")
    assert [path for path in written if path.exists()] == []
    assert [line.split()[1] for line in place.called] == ["disable", "disable", "daemon-reload"]

    done = place.sh(f"set -e\ncd /\n{first}")
    assert (done.returncode, done.stderr) == (0, "")
    assert not place.folder.exists()
    assert (place.folder.parent / "table.new").read_text() == "5 4 * * * /usr/bin/true\n"


def test_the_first_steps_make_settings(place: Place) -> None:
    as_root, steps = blocks("", "sh")[0], blocks("", "")[0]
    place.stand_in("apt-get", "useradd", "chown", "python3")
    place.install("venv/bin/pip", CALLED.format(name="pip", folder=place.folder))
    for name in SCRIPTS:
        (place.folder / name).unlink()
    done = place.sh(f"set -e\ncd {ROOT}\n{as_root}")
    assert done.returncode == 0, done.stderr
    assert all((place.folder / name).is_file() for name in SCRIPTS)
    assert f"pip wheel --no-deps --wheel-dir {place.folder}/wheels ." in place.called
    (place.folder / "priorities.yaml").unlink()
    (place.folder / "captures").rmdir()
    (place.folder / "log").rmdir()
    place.serve("SQL1", lines_of("SQL1", NOON, 1))
    done = place.sh(f"set -e\n{steps}")
    assert done.returncode == 0, done.stderr
    written = (place.folder / "priorities.yaml").read_text()
    assert yaml.safe_load(written) == yaml.safe_load(blocks(SERVERS, "yaml")[0])

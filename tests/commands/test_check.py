"""`priorities check`: a line for each thing, and the exit code of the job that would meet it first."""

import json
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from pipelines import cli
from pipelines.commands.options import VARIABLE
from pipelines.engine import environment
from tests.support.factories import endpoint_event
from tests.support.processes import ROOT, ended

HEADER = "event_id,event_time\n"
GIVEN = "  endpoint_events: {path: events/endpoint_events, format: json}"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder as `priorities init` leaves it, and the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    assert cli.run(["init"]) == 0
    capsys.readouterr()
    return tmp_path


def check(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, list[str]]]:
    """The exit code, and the lines by what they are about."""
    code = cli.run(["check"])
    lines: dict[str, list[str]] = {}
    for line in capsys.readouterr().out.splitlines():
        subject, found = line.split(maxsplit=1)
        lines.setdefault(subject, []).append(found)
    assert [*lines] == ["settings", "catalog", "rules", "engine", "inputs", "java", "memory", "disk"]
    return code, lines


def test_what_init_writes_passes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = check(capsys)
    assert code == 0
    assert lines["settings"] == ["ok    priorities.yaml"]
    assert lines["catalog"] == ["ok    catalog.yaml: 1 instance, 1 database, 2 queues, 2 services"]
    assert [line.split(" (")[0] for line in lines["inputs"]] == [
        "ok    endpoint_events: no file yet",
        "ok    message_events: no file yet",
    ]
    assert not list(project.glob("warehouse"))


def test_settings_that_are_wrong(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "priorities.yaml").write_text("warehous: w\n")
    code, lines = check(capsys)
    assert code == 2
    assert "ERROR priorities.yaml:1:1: warehous: unknown key; did you mean 'warehouse'?" in lines["settings"]
    assert lines["inputs"] == lines["disk"] == ["-     not looked at, because of the above"]


def test_no_settings_at_all(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "priorities.yaml").unlink()
    code, lines = check(capsys)
    assert code == 2
    assert lines["settings"][0].startswith("ERROR settings: none found; name the file with --config or ")


@pytest.mark.parametrize(
    ("format", "name", "text", "says"),
    [
        ("json", "a", '{"event_id": "1"\n', ":1: is no JSON object; write one object a line"),
        ("json", "a", '\n{"event_id": 1}\n', ":2: field event_id is 1; it must be string"),
        ("json", "a", f'{{"logged_priority": {2**63}}}\n', f"logged_priority is {2**63}; it must be int"),
        ("json", "a", '{"event_id": "1"}\n', "a: field instance is in none of the first 20 lines"),
        ("csv", "a", HEADER, "the header has only event_id and event_time of the 13 columns"),
        ("parquet", "a", "no file of that", "not a readable Parquet file"),
        ("json", "a.gz", '{"event_id": "1"}\n', "it is not compressed, although its name ends .gz"),
        ("csv", "a.bz2", HEADER, "it is not compressed, although its name ends .bz2"),
    ],
)
def test_columns_that_break_the_contract(
    project: Path, capsys: pytest.CaptureFixture[str], format: str, name: str, text: str, says: str
) -> None:
    settings = project / "priorities.yaml"
    assert GIVEN in settings.read_text()
    settings.write_text(settings.read_text().replace(GIVEN, GIVEN.replace("json", format)))
    (project / "events" / "endpoint_events" / name).write_text(text)
    code, lines = check(capsys)
    assert code == 3
    assert any(line.startswith("ERROR") and says in line for line in lines["inputs"]), lines["inputs"]


def test_lines_that_a_run_rejects_are_no_error(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    event = json.dumps(endpoint_event(), default=str)
    lines = [event, '{"event_id": "2"', "[]", '{"event_id": "3"}']
    (project / "events" / "endpoint_events" / "a").write_text("\n".join(lines) + "\n")
    code, found = check(capsys)
    assert code == 0
    assert found["inputs"][0].startswith("ok    endpoint_events: 1 file with the columns of the contract")


def check_expectations(capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """The exit code, and the lines about expectations."""
    code = cli.run(["check"])
    lines = capsys.readouterr().out.splitlines()
    return code, [line.removeprefix("expect    ") for line in lines if line.startswith("expect ")]


def test_names_of_expectations_that_nothing_has_are_warnings(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = "instance: SERVER1, database: Sales, effective_from: 2026-01-01"
    criteria = "create: {name: R, contract: Orders, remote_service: Far}"
    (project / "rules.yaml").write_text(f"- {{{rule}, {criteria}}}\n")
    with (project / "priorities.yaml").open("a") as settings:
        settings.write(
            "expect:\n"
            "  - {contract: Orders, service: OrderService, remote_service: Far, oldest_wait: 1 h}\n"
            "  - {contract: Order, oldest_wait: 1 h}\n"
            "  - {service: Elsewhere, remote_service: Late, oldest_wait: 2 h}\n"
        )
    assert check_expectations(capsys) == (
        0,
        [
            "ok    3 expectations",
            "warn  expect[1].contract: catalog, rules and endpoints have no 'Order'; did you mean 'Orders'?",
            "warn  expect[2].service: catalog, rules and endpoints have no 'Elsewhere'",
            "warn  expect[2].remote_service: catalog, rules and endpoints have no 'Late'",
        ],
    )
    endpoints = {
        "contract": ["Order", "x"],
        "local_service": ["Late", "x"],
        "remote_service": ["x", "Elsewhere"],
    }
    write_deltalake(project / "warehouse" / "endpoints", pa.table(endpoints))
    assert check_expectations(capsys) == (0, ["ok    3 expectations"])


def test_a_folder_that_is_missing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "events" / "message_events").rmdir()
    code, lines = check(capsys)
    assert code == 3
    assert lines["inputs"][1].endswith("message_events is not there; make that folder, or name another")


def test_memory_that_is_no_size(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ENGINE_MEMORY", "much")
    code, lines = check(capsys)
    assert code == 2
    assert lines["memory"] == ["ERROR ENGINE_MEMORY: 'much' is no size; write one such as 4g or 512m"]


@pytest.mark.parametrize("clients", [None, ["pyspark", "pyspark_client"]])
def test_no_engine_and_two_are_one_line(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    clients: list[str] | None,
) -> None:
    monkeypatch.setattr(environment, "installed_clients", lambda: clients)
    code, lines = check(capsys)
    assert code == 2
    (line,) = lines["engine"]
    assert line.startswith("ERROR engine: ")
    assert "conversation-priorities[embedded]" in line


def test_it_needs_no_engine(project: Path) -> None:
    ask = (
        "import os, sys; os.chdir(sys.argv.pop()); sys.modules['pyspark'] = None\n"
        "from pipelines import cli; cli.main(['check'])"
    )
    done = ended([sys.executable, "-c", ask, project], {"PYTHONPATH": str(ROOT)})
    assert (done.returncode, done.stderr) == (2, "")
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [
        *(["settings", "ok"], ["catalog", "ok"], ["rules", "ok"], ["engine", "ERROR"]),
        *(["inputs", "-"], ["java", "ok"], ["memory", "ok"], ["disk", "-"]),
    ]


@pytest.mark.parametrize("name", ["local", "capture"])
def test_the_samples_pass_but_for_files_that_are_made(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VARIABLE, str(ROOT / "conf" / f"{name}.yaml"))
    _, lines = check(capsys)
    wrong = [line for found in lines.values() for line in found if line.startswith("ERROR")]
    assert [line for line in wrong if "samples/generated" not in line] == []

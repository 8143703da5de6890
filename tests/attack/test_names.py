"""Names that want to be something else: SQL, paths, HTML, patterns, steering signs, and very long ones."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.cli import find_command
from pipelines.commands import explain, nightly, report
from tests.support.factories import (
    Events,
    Row,
    at,
    by_source,
    create_rule,
    database,
    endpoint_event,
    message_event,
    queue_event,
)
from tests.support.harness import SOURCES, Project
from tests.support.scene import FIRST

HOSTILE = {
    "quotes": "a'b\"c`d]e[f",
    "newline": "a\nb\r\nc\td",
    "steering": "a\x1b[2Jb\x07c\u202ed",
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u00e9 e\u0301 \ufb01",
    "long": "x" * 110,
    "SQL": "'; DROP TABLE endpoints; --",
    "path": "../../etc/passwd",
    "URL": "a%2Fb%00c?d#e&f=g",
    "HTML": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "pattern": "*?{a,b}[c]$1\\1",
    "blank": " ",
    "comma": "a,b;c|d=e",
    "null": "null",
    "nothing": "\\N",
    "hive": "__HIVE_DEFAULT_PARTITION__",
}


def texts_in(value: Any) -> set[str]:
    """Every text in a value of JSON."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return {text for each in value for text in texts_in(each)}
    return {value} if isinstance(value, str) else set()


def place_of(name: str) -> Row:
    """An instance that has all its names made of this."""
    databases = [
        database(f"{name} {side}", service, f"{name} queue {side}")
        for side, service in zip("AB", services_of(name), strict=True)
    ]
    return {"name": name, "databases": databases}


def services_of(name: str) -> tuple[str, str]:
    """The services of the initiator and of the target."""
    return f"{name} initiator", f"{name} target"


def events_of(name: str) -> Events:
    """A conversation with a message that is ready and one that waits to be sent."""
    initiator, target = services_of(name)
    ids = {"instance": name, "conversation_id": f"{name} c"}
    group = {"conversation_group_id": f"{name} g", "contract": f"{name} contract"}
    begun = {**ids, **group, "local_service": initiator, "remote_service": target}
    created = {**ids, **group, "local_service": target, "remote_service": initiator}
    message = {**ids, "message_id": f"{name} m", "message_type": f"{name} type"}
    waits = {**message, "message_id": f"{name} waits"}
    here, there = {"database": f"{name} A"}, {"database": f"{name} B"}
    return by_source(
        endpoint_event(**begun, **here, event_id=f"{name} 1"),
        endpoint_event("DIALOG_CREATED", **created, **there, event_id=f"{name} 2", event_time=at(1)),
        message_event(**message, **here, event_id=f"{name} 3"),
        message_event("DELIVERED", **message, **there, event_id=f"{name} 4", event_time=at(2)),
        message_event(**waits, **here, event_id=f"{name} 5"),
        queue_event(
            "QUEUE_ALTERED", f"{name} 6", instance=name, **there, queue=f"{name} queue B", queue_status="ON"
        ),
    )


def rule_of(name: str) -> Row:
    where = {"instance": name, "database": f"{name} A"}
    remote = services_of(name)[1]
    return create_rule(f"{name} rule", 9, **where, contract=f"{name} contract", remote_service=remote)


@pytest.fixture(scope="module")
def named(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A night with all of these names, each in every column that holds names."""
    names = list(HOSTILE.values())
    catalog = {"instances": list(map(place_of, names))}
    folder = tmp_path_factory.mktemp("named") / "inside"
    made = Project(folder, catalog=catalog, rules=list(map(rule_of, names)))
    events = [events_of(name) for name in names]
    made.add({source: [row for each in events for row in each[source]] for source in events[0]})
    assert nightly.main(["--config", made.config, "--as-of", FIRST.isoformat()]) == 0
    return made


def steers(capsys: pytest.CaptureFixture[str]) -> set[str]:
    """Characters that were printed and that do something to a terminal."""
    shown = capsys.readouterr()
    return set(shown.out + shown.err) & set("\x1b\x07\u202e\r\x00")


def test_names_in_tables(named: Project) -> None:
    """They come out as they went in."""
    columns = ["instance", "queue", "message_id", "message_type", "priority"]
    received = sorted(tuple(row.values()) for row in named.table("receive_schedule", columns))
    assert received == sorted(
        (name, f"{name} queue B", f"{name} m", f"{name} type", 5) for name in HOSTILE.values()
    )
    endpoints = named.table("endpoints", ["instance", "is_initiator", "rule_name", "priority"])
    assert {tuple(row.values()) for row in endpoints} == {
        row for name in HOSTILE.values() for row in ((name, False, None, 5), (name, True, f"{name} rule", 9))
    }


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_question_about_a_name(named: Project, capsys: pytest.CaptureFixture[str], name: str) -> None:
    config = ["--config", named.config]
    assert explain.main([*config, "--conversation", f"{name} c"]) == 0
    assert not steers(capsys)
    assert find_command("next")([*config, "--queue", f"{name} queue B", "--format", "json"]) == 0
    assert f"{name} m" in texts_in(json.loads(capsys.readouterr().out))


@pytest.mark.parametrize(("job", "codes"), [("coverage", {0}), ("lint", {0, 4}), ("waiting", {0})])
def test_names_in_a_list(
    named: Project, capsys: pytest.CaptureFixture[str], job: str, codes: set[int]
) -> None:
    assert find_command(job)(["--config", named.config]) in codes
    assert not steers(capsys)


def test_names_in_the_page_lead_nowhere(named: Project, tmp_path: Path) -> None:
    """No file was written beside the project, or in it but where it has its tables."""
    out = tmp_path / "page.html"
    assert report.main(["--config", named.config, "--out", str(out)]) == 0
    page = out.read_text()
    assert "<script>alert(1)</script>" not in page
    assert "<img src=x" not in page
    assert {path.name for path in named.folder.parent.iterdir()} == {"inside"}
    kept = {"settings.yaml", "catalog.yaml", "rules.yaml", *SOURCES}
    assert {path.name for path in named.folder.iterdir()} == {"warehouse", *kept}

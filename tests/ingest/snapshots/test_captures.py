"""Nights on captures: the tables are those of the same views as CSV, whichever tool wrote the file."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.capture_project import CaptureProject, require_equal
from tests.support.capture_tools import FORMS
from tests.support.captures import HOSTILE_NAMES, Captured, capture_lines, to_line, write_captures
from tests.support.factories import NOON, Row, at
from tests.support.harness import one_log
from tests.support.model.rules import rule_history
from tests.support.random_logs import random_logs
from tests.support.read_captures import small_lines
from tests.support.server import Place, Views, server_views, snapshots, state_of
from tests.support.snapshot_views import handle, ready, shown, views
from tests.support.strategies import Log

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("session")]
MONITORS: Views = {"dm_broker_queue_monitors": [], "dm_broker_activated_tasks": []}
ANY_CONVERSATION = "ABCDEF00"
"""How ids of conversations begin."""


def guid_log(count: int, number: int) -> Log:
    """Random logs of several servers as one, whose ids are in upper case as a server has them."""
    log = one_log(random_logs(count, number))

    def upper(rows: list[Row]) -> list[Row]:
        ids = ("conversation_id", "conversation_group_id")
        return [
            {**row, **{name: row[name].encode().hex().upper() for name in ids if row.get(name)}}
            for row in rows
        ]

    events = {"endpoint_events": upper(log.endpoint_events), "message_events": upper(log.message_events)}
    return replace(log, **events, queue_events=None)


def server_at(log: Log, moment: datetime) -> dict[Place, Views]:
    """What the servers show at a moment."""
    rules = [
        each
        for each in rule_history(log.rules)
        if each.valid_from <= moment and (each.valid_to is None or moment < each.valid_to)
    ]
    found = server_views(state_of(log.events, log.catalog, log.rules, moment), rules)
    return {place: {**each, **MONITORS} for place, each in found.items()}


def test_captures_give_the_tables_of_csv(tmp_path: Path) -> None:
    """Two moments of random servers; all views are complete, so what has gone has ended."""
    log = guid_log(2, 14)
    moments = [log.as_of - timedelta(hours=1), log.as_of]
    captures, files = CaptureProject(tmp_path / "captures"), CaptureProject(tmp_path / "files")
    declared: list[Row] = []
    for moment in moments:
        found = server_at(log, moment)
        write_captures(captures.captures, found, moment)
        declared += snapshots(files.folder, found, moment, "csv", complete=lambda view: True)
    settings = {"warehouse": "warehouse", "snapshots": declared}
    (files.folder / "settings.yaml").write_text(yaml.safe_dump(settings))
    for project in (captures, files):
        project.run(log.as_of)
    tables = captures.comparable()
    assert tables["endpoints"]
    assert tables["receive_schedule"]
    assert tables["transmission_schedule"]
    require_equal(tables, files.comparable())


def respelled(number: int, change: Callable[[str, Row], Row]) -> list[str]:
    """A capture of a server of its own, whose rows are spelled otherwise."""
    lines = []
    for line in small_lines(server=f"SQL{number:02}", id=f"{number:08}"):
        each = json.loads(line.replace(ANY_CONVERSATION, f"ABCDEF{number:02}"))
        if "row" in each:
            each["row"] = change(each["view"], each["row"])
        lines.append(to_line(each))
    return lines


def as_it_is(view: str, row: Row) -> Row:
    return row


def _each_value(change: Callable[[str, Any], Any]) -> Callable[[str, Row], Row]:
    return lambda view, row: {name: change(name, value) for name, value in row.items()}


BITS = {"is_initiator", "is_receive_enabled", "is_enqueue_enabled", "is_honor_broker_priority_on"}
SPELLINGS = {
    "bits as numbers": _each_value(lambda name, value: int(bool(value)) if name in BITS else value),
    "bits as true and false": _each_value(lambda name, value: bool(value) if name in BITS else value),
    "bits as text": _each_value(lambda name, value: str(bool(value)) if name in BITS else value),
    "bits as digits": _each_value(lambda name, value: str(int(bool(value))) if name in BITS else value),
    "GUIDs in small letters": _each_value(
        lambda name, value: value.lower() if isinstance(value, str) and value.count("-") == 4 else value
    ),
    "GUIDs in braces": _each_value(
        lambda name, value: f"{{{value}}}" if isinstance(value, str) and value.count("-") == 4 else value
    ),
    "numbers as text": _each_value(
        lambda name, value: str(value) if isinstance(value, int) and name not in BITS else value
    ),
    "keys in capitals": lambda view, row: {name.upper(): value for name, value in row.items()},
    "a blank for T": _each_value(
        lambda name, value: value.replace("T", " ") if name in ("lifetime", "message_enqueue_time") else value
    ),
    "no zone": _each_value(
        lambda name, value: value.removesuffix("Z") if name in ("lifetime", "message_enqueue_time") else value
    ),
    "absent keys": lambda view, row: {name: value for name, value in row.items() if value is not None},
    "unknown keys": lambda view, row: {"new": {"a.b": [1]}, **row, "Largest": 2**70},
    "blanks behind the state": _each_value(lambda name, value: "CO  " if name == "state" else value),
}


def test_other_spellings_of_values_are_read(tmp_path: Path) -> None:
    """One night on a server for each spelling, and on one whose capture is spelled as the script does it.

    The last one is in a tool's form and has another name. How forms are read: see
    tests/config/captures/test_forms.py.
    """
    changes = {"the script's": as_it_is, **SPELLINGS, "in a tool's form": as_it_is}
    *others, last = enumerate(changes.values())
    renamed = {"path": "form", "instance": f"SQL{last[0]:02}"}
    project = CaptureProject(tmp_path / "p", snapshots=[{"path": "captures"}, renamed])
    for number, change in others:
        project.add(respelled(number, change), f"{number}.jsonl")
    lines = [line.replace(renamed["instance"], "NODE") for line in respelled(*last)]
    form = FORMS["SSMS, text"]
    (project.folder / "form").mkdir()
    (project.folder / "form" / form.name).write_bytes(form.write(lines))
    outcome = project.run()
    assert "warning" not in outcome.err.lower()
    tables = project.comparable()
    for name in ("endpoints", "receive_schedule", "priority_rules", "message_events"):
        assert tables[name], name
    for name, rows in tables.items():
        found = {number: sorted(map(_as_of_one_server(number), rows)) for number in range(len(changes))}
        by_name = {
            spelling: [each for each in found[number] if "SQL00" in each]
            for number, spelling in enumerate(changes)
        }
        for spelling, lines in by_name.items():
            assert lines == by_name["the script's"], (name, spelling)


def _as_of_one_server(number: int) -> Callable[[Row], str]:
    """A row as text, those of one server as if they were of the first one."""

    def text(row: Row) -> str:
        line = repr(sorted(row.items(), key=str))
        if f"SQL{number:02}" not in line:
            return ""
        return line.replace(f"SQL{number:02}", "SQL00").replace(f"ABCDEF{number:02}", ANY_CONVERSATION)

    return text


def test_a_night_on_hostile_names(tmp_path: Path) -> None:
    """Each of a database, its queue, service, contract, message type and rule; the server has six in its own.

    Another server has queues of one name in two schemas: that of dbo keeps its name, in the services'
    bindings too.
    """
    project = CaptureProject(tmp_path / "p")
    queue = {"is_receive_enabled": True, "is_enqueue_enabled": True, "name": "TargetQueue"}
    two_schemas = views(
        conversation_endpoints=[shown(51, False, service_id=2), shown(52, False, service_id=3)],
        services=[
            {"service_id": 2, "name": "Two", "service_queue_id": 12},
            {"service_id": 3, "name": "Three", "service_queue_id": 13},
        ],
        service_queues=[
            {"object_id": 12, "schema_name": "dbo", **queue},
            {"object_id": 13, "schema_name": "sales", **queue},
        ],
        **{"dbo.TargetQueue": [ready(51, False, 0)], "sales.TargetQueue": [ready(52, False, 0)]},
    )
    project.add(capture_lines({"B": two_schemas}))
    databases = {}
    for number, name in enumerate(HOSTILE_NAMES):
        here: Row = {"service_contract_id": 7, "service_id": 2, "far_service": name}
        shows: dict[Any, list[Row]] = {
            **views(
                conversation_endpoints=[shown(number, False, **here)],
                services=[{"service_id": 2, "name": name, "service_queue_id": 12}],
                service_contracts=[{"service_contract_id": 7, "name": name}],
                service_queues=[
                    {"object_id": 12, "name": name, "is_receive_enabled": True, "is_enqueue_enabled": True}
                ],
                conversation_priorities=[
                    {"name": name, "service_contract_id": 7, "remote_service_name": name, "priority": 9}
                ],
            ),
            ("dbo", name): [ready(number, False, 0, message_type_name=name)],
        }
        del shows["dbo.TargetQueue"]
        databases[name] = shows
    server = "".join(HOSTILE_NAMES[:6])
    project.add(capture_lines(databases, server=server, id="1" * 8), "hostile.jsonl")
    project.run()

    def found(table: str, *columns: str) -> set[tuple[Any, ...]]:
        return {tuple(row.values()) for row in project.table(table, columns)}

    assert found("receive_schedule", "instance", "database", "queue", "conversation_handle") == {
        *((server, name, name, handle(number, False)) for number, name in enumerate(HOSTILE_NAMES)),
        ("SQL1", "B", "TargetQueue", handle(51, False)),
        ("SQL1", "B", "sales.TargetQueue", handle(52, False)),
    }
    columns = ("instance", "database", "contract", "local_service", "remote_service", "queue")
    assert found("endpoints", *columns) == {
        *((server, name, name, name, name, name) for name in HOSTILE_NAMES),
        ("SQL1", "B", "Contract", "Two", "InitiatorService", "TargetQueue"),
        ("SQL1", "B", "Contract", "Three", "InitiatorService", "sales.TargetQueue"),
    }
    assert found("priority_rules", "instance", "database", "name", "level") == {
        (server, name, name, 9) for name in HOSTILE_NAMES
    }


def test_what_a_later_capture_does_not_show(tmp_path: Path) -> None:
    """It has ended where the view is complete.

    That is no view of a database that was not read, without VIEW DEFINITION, that failed or that was cut.
    """

    def messages(*numbers: int) -> dict[str, list[Row]]:
        return views(
            conversation_endpoints=[shown(number, False) for number in numbers],
            dbo_TargetQueue=[ready(number, False, 0, queuing_order=number) for number in numbers],
        )

    project = CaptureProject(tmp_path / "p")
    first = {"Offline": messages(1), "Complete": messages(2), "Partly": messages(3, 4, 5)}
    project.add(capture_lines(first, taken_at=at(-10), id="1" * 8), "a.jsonl")
    partly = Captured(
        {**views(), "dbo.TargetQueue": messages(3, 4, 5)["dbo.TargetQueue"]},
        view_definition=False,
        errors={"dm_broker_queue_monitors": "300 denied"},
        locked_groups=(3, 0),
    )
    second = {"Offline": Captured(reason="OFFLINE"), "Complete": views(), "Partly": partly}
    project.add(capture_lines(second, taken_at=NOON, most_rows=2), "b.jsonl")
    # Beside a snapshot in the old form.
    [old] = snapshots(
        project.folder, {("SQL2", "B"): views(dbo_TargetQueue=[ready(9, False, 0)])}, NOON, "csv"
    )
    settings = {"warehouse": "warehouse", "snapshots": [{"path": "captures"}, old]}
    (project.folder / "settings.yaml").write_text(yaml.safe_dump(settings))
    outcome = project.run()
    still_there = Counter(row["database"] for row in project.table("receive_schedule"))
    assert still_there == {"Offline": 1, "Partly": 3}
    ended = {row["database"]: row["ended_at"] is not None for row in project.table("endpoints")}
    assert ended == {"Offline": False, "Complete": True, "Partly": False}
    assert [row["reason"] for row in project.table("unresolved")] == ["handle_unknown"]
    for words in (
        "database Offline was not read: OFFLINE", "VIEW DEFINITION", "300 denied", "cut at 2 rows",
        "3 conversation groups were locked",
    ):  # fmt: skip
        assert outcome.err.count(words) == 1, (words, outcome.err)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_an_endpoint_is_not_older_than_a_complete_view_without_it(
    tmp_path: Path, order: tuple[int, ...]
) -> None:
    """Its lifetime says that it was begun an hour before the first capture, which lacks it."""
    project = CaptureProject(tmp_path)
    lifetime = at(-60) + timedelta(seconds=2_147_483_647)
    before, later = (
        views(conversation_endpoints=[shown(number, False, lifetime=lifetime) for number in range(1, most)])
        for most in (2, 3)
    )
    captures = [(before, NOON), (later, NOON + timedelta(hours=1))]
    for number in order:
        shows, moment = captures[number]
        write_captures(project.captures, {("SQL1", "B"): shows}, moment)
        project.run(NOON + timedelta(hours=1))
    found = project.table("endpoints", ["conversation_id", "created_at", "created_by"])
    assert sorted((row["created_at"], row["created_by"]) for row in found) == [
        (at(-60), "lifetime"),
        (NOON, "snapshot"),
    ]


def test_equal_rows_of_an_endpoint_count_once(tmp_path: Path) -> None:
    """A scan at READ UNCOMMITTED gives a row again; rows that differ are rejected as before."""
    project = CaptureProject(tmp_path, quality={"max_rejected_share": 1.0})
    endpoints = [shown(1, False), shown(1, False), shown(1, False), shown(2, False)]
    endpoints += [shown(3, False), shown(3, False, state="DO")]
    given = views(conversation_endpoints=endpoints, dbo_TargetQueue=[ready(1, False, 0)])
    project.add(capture_lines({"B": given}))
    project.run()
    assert {row["conversation_id"][-2:] for row in project.table("endpoints")} == {"01", "02"}
    assert len(project.table("receive_schedule")) == 1
    [batch] = project.table("batches")
    # Two queues, a message and six endpoints.
    counts = [batch[name] for name in ("events", "accepted", "duplicates", "rejected")]
    assert counts == [9, 5, 2, 2]
    refused = project.table("rejected_events")
    assert {json.loads(row["payload"])["conversation_id"][-2:] for row in refused} == {"03"}

"""Nights on captures: values in other spellings, hostile names, and what a later capture does not show."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.capture_project import CaptureProject
from tests.support.capture_tools import FORMS
from tests.support.captures import HOSTILE_NAMES, Captured, capture_lines, to_line
from tests.support.factories import NOON, Row, at
from tests.support.read_captures import small_lines
from tests.support.server import snapshots
from tests.support.snapshot_views import handle, ready, shown, views, waiting

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("session")]
ANY_CONVERSATION = "ABCDEF00"
"""How ids of conversations begin."""
BITS = {"is_initiator", "is_receive_enabled", "is_enqueue_enabled", "is_honor_broker_priority_on"}
TIMES = {"lifetime", "message_enqueue_time"}


def with_bits(spell: Callable[[bool], Any]) -> Callable[[Row], Row]:
    return lambda row: {name: spell(bool(value)) if name in BITS else value for name, value in row.items()}


def as_other_tools_write(row: Row) -> Row:
    """Keys in capitals, too few and too many; GUIDs in braces; times without T and zone; blanks."""
    found: Row = {"new": {"a.b": [1]}}
    for name, value in row.items():
        if name in TIMES and value:
            value = value.replace("T", " ").removesuffix("Z")
        elif isinstance(value, str) and value.count("-") == 4:
            value = f"{{{value.lower()}}}"
        elif isinstance(value, int) and name not in BITS:
            value = str(value)
        if value is not None:
            found[name.upper()] = "CO  " if name == "state" else value
    return {**found, "Largest": 2**70}


SPELLINGS: dict[str, Callable[[Row], Row]] = {
    "the script's": lambda row: row,
    "other tools'": as_other_tools_write,
    "bits as numbers": with_bits(int),
    "bits as true and false": with_bits(bool),
    "bits as text": with_bits(str),
    "bits as digits": with_bits(lambda bit: str(int(bit))),
    "in a tool's form": lambda row: row,
}


def respelled(number: int, change: Callable[[Row], Row]) -> list[str]:
    """A capture of a server of its own, whose rows are spelled otherwise."""
    lines = []
    for line in small_lines(server=f"SQL{number:02}", id=f"{number:08}"):
        each = json.loads(line.replace(ANY_CONVERSATION, f"ABCDEF{number:02}"))
        if "row" in each:
            each["row"] = change(each["row"])
        lines.append(to_line(each))
    return lines


def rows_of_server(rows: list[Row], number: int) -> list[str]:
    """The rows of one server as text, as if they were of the first one."""
    lines = [repr(sorted(row.items(), key=str)) for row in rows]
    return sorted(
        line.replace(f"SQL{number:02}", "SQL00").replace(f"ABCDEF{number:02}", ANY_CONVERSATION)
        for line in lines
        if f"SQL{number:02}" in line
    )


def test_other_spellings_of_values_are_read(tmp_path: Path) -> None:
    """One night on a server for each spelling; the last one is in a tool's form and has another name."""
    *others, last = enumerate(SPELLINGS.values())
    renamed = {"path": "form", "instance": f"SQL{last[0]:02}"}
    project = CaptureProject(tmp_path / "p", snapshots=[{"path": "captures"}, renamed])
    for number, change in others:
        project.add(respelled(number, change), f"{number}.jsonl")
    lines = [line.replace(renamed["instance"], "NODE") for line in respelled(*last)]
    form = FORMS["SSMS, text"]
    (project.folder / "form").mkdir()
    (project.folder / "form" / form.name).write_bytes(form.write(lines))
    outcome = project.schedule(NOON.isoformat())
    assert "warning" not in outcome.err.lower()
    tables = project.comparable()
    for name in ("endpoints", "receive_schedule", "priority_rules", "message_events"):
        assert tables[name], name
    for name, rows in tables.items():
        for number, spelling in enumerate(SPELLINGS):
            assert rows_of_server(rows, number) == rows_of_server(rows, 0), (name, spelling)


def test_a_night_on_hostile_names(tmp_path: Path) -> None:
    """Each of a database, its queue, service, contract, message type and rule; the server has six in its own.

    Another server has queues of one name in two schemas: that of dbo keeps its name, in the services'
    bindings too.
    """
    project = CaptureProject(tmp_path / "p")
    on = {"is_receive_enabled": True, "is_enqueue_enabled": True}
    two_schemas = views(
        conversation_endpoints=[shown(51, False, service_id=2), shown(52, False, service_id=3)],
        services=[
            {"service_id": 2, "name": "Two", "service_queue_id": 12},
            {"service_id": 3, "name": "Three", "service_queue_id": 13},
        ],
        service_queues=[
            {"object_id": 12, "schema_name": "dbo", "name": "TargetQueue", **on},
            {"object_id": 13, "schema_name": "sales", "name": "TargetQueue", **on},
        ],
        **{"dbo.TargetQueue": [ready(51, False, 0)], "sales.TargetQueue": [ready(52, False, 0)]},
    )
    project.add(capture_lines({"B": two_schemas}))
    databases = {}
    for number, name in enumerate(HOSTILE_NAMES):
        rule = {"name": name, "service_contract_id": 7, "remote_service_name": name, "priority": 9}
        shows: dict[Any, list[Row]] = {
            **views(
                conversation_endpoints=[shown(number, False, far_service=name)],
                services=[{"service_id": 2, "name": name, "service_queue_id": 12}],
                service_contracts=[{"service_contract_id": 7, "name": name}],
                service_queues=[{"object_id": 12, "name": name, **on}],
                conversation_priorities=[rule],
            ),
            ("dbo", name): [ready(number, False, 0, message_type_name=name)],
        }
        del shows["dbo.TargetQueue"]
        databases[name] = shows
    server = "".join(HOSTILE_NAMES[:6])
    project.add(capture_lines(databases, server=server, id="1" * 8), "hostile.jsonl")
    project.schedule(NOON.isoformat())

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
    outcome = project.schedule(NOON.isoformat())
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


def test_what_is_shown_again_was_never_gone(tmp_path: Path) -> None:
    """A message whose endpoint no capture shows, and in another database an endpoint that has not ended."""
    project = CaptureProject(tmp_path)
    found = []
    for hour, (numbers, state) in enumerate([((1,), "CO"), ((), "DO"), ((1,), "CO")]):
        shows = {
            "B": views(dbo_TargetQueue=[ready(number, False, 0) for number in numbers]),
            "C": views(conversation_endpoints=[shown(2, False, state=state)]),
        }
        project.add(capture_lines(shows, taken_at=at(60 * hour), id=f"{hour}" * 8), f"{hour}.jsonl")
        if hour:
            project.schedule(at(60).isoformat())
            rows = project.table("unresolved")
            [endpoint] = project.table("endpoints")
            reasons = [row["reason"] for row in rows if row["as_of"] == at(60)]
            found.append((reasons, endpoint["ended_at"] is None))
    assert found == [([], False), (["handle_unknown"], True)]


def test_a_capture_that_comes_after_a_later_one(tmp_path: Path) -> None:
    """Until the later one, a message waits for what it says.

    All captures of one server come in the first night; that of the other comes late in the second.
    """
    reasons = {0: "refused", 30: "timeout", 60: "refused"}
    project = CaptureProject(tmp_path)
    for night in ([(0, 0), (0, 30), (0, 60), (1, 0), (1, 60)], [(1, 30)]):
        for number, minute in night:
            sent = waiting(1, transmission_status=reasons[minute])
            view = views(conversation_endpoints=[shown(1, True)], transmission_queue=[sent])
            server = {"server": f"SQL{number:02}", "id": f"{number}{minute:02}" * 4}
            lines = capture_lines({"B": view}, taken_at=at(minute), **server)
            of_server = [line.replace(ANY_CONVERSATION, f"ABCDEF{number:02}") for line in lines]
            project.add(of_server, f"{number}-{minute}.jsonl")
        project.schedule(at(40).isoformat())
    left = project.table("transmission_schedule", ["instance", "why_still_here"])
    assert {tuple(row.values()) for row in left} == {("SQL00", "timeout"), ("SQL01", "timeout")}
    for name, rows in project.comparable().items():
        assert rows_of_server(rows, 1) == rows_of_server(rows, 0), name


def test_a_late_capture_without_what_a_later_one_lacks(tmp_path: Path) -> None:
    """It was gone by then: a message and its endpoint, one that waits, and one that the far end drops later.

    All captures of a server come in the first night; that of 12:30 of another one comes in the second. Of two
    further servers it is a light one.
    """
    project = CaptureProject(tmp_path)
    shows = {
        0: views(
            conversation_endpoints=[shown(1, False), shown(2, True), shown(3, True)],
            dbo_TargetQueue=[ready(1, False, 0)],
            transmission_queue=[waiting(2), waiting(3)],
        ),
        60: views(conversation_endpoints=[shown(2, True), shown(3, True, state="DI")]),
    }
    nights = {number: {0: (0, 30, 60, 120), 1: ()} for number in (0, 2)}
    nights |= {number: {0: (0, 60, 120), 1: (30,)} for number in (1, 3)}
    for night in range(2):
        for number, minute in [(each, minute) for each in nights for minute in nights[each][night]]:
            server = {"server": f"SQL{number:02}", "id": f"{number}{minute:03}" * 4}
            given, is_light = {"B": shows.get(minute, views())}, number > 1 and minute == 30
            lines = capture_lines(given, taken_at=at(minute), is_light=is_light, **server)
            of_server = [line.replace(ANY_CONVERSATION, f"ABCDEF{number:02}") for line in lines]
            project.add(of_server, f"{number}-{minute}.jsonl")
        project.schedule(at(120).isoformat())
    project.schedule(at(40).isoformat())
    assert project.table("receive_schedule") + project.table("transmission_schedule") == []
    for name, rows in project.comparable().items():
        for number in (0, 2):
            assert rows_of_server(rows, number + 1) == rows_of_server(rows, number), (name, number)


def test_an_endpoint_is_not_older_than_a_complete_view_without_it(tmp_path: Path) -> None:
    """Its lifetime says that it was begun an hour before the first capture, which lacks it.

    The captures of one server come in order, those of the other in the other order.
    """
    project = CaptureProject(tmp_path)
    lifetime = at(-60) + timedelta(seconds=2_147_483_647)
    for night, minutes in enumerate([(0, 60), (60, 0)]):
        for server, minute in enumerate(minutes, start=1):
            numbers = (1, 2) if minute else (1,)
            endpoints = [shown(10 * server + number, False, lifetime=lifetime) for number in numbers]
            shows = {"B": views(conversation_endpoints=endpoints)}
            lines = capture_lines(
                shows, server=f"SQL{server}", taken_at=at(minute), id=f"{server}{night}" * 4
            )
            project.add(lines, f"{server}-{night}.jsonl")
        project.fold()
    found = project.table("endpoints", ["conversation_handle", "created_at", "created_by"])
    assert {row["conversation_handle"]: (row["created_at"], row["created_by"]) for row in found} == {
        handle(11, False): (at(-60), "lifetime"),
        handle(12, False): (NOON, "snapshot"),
        handle(21, False): (at(-60), "lifetime"),
        handle(22, False): (NOON, "snapshot"),
    }

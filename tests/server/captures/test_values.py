"""Values and names of a capture's rows: the script's spelling, other spellings, and hostile names."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipelines.config.model import Captures
from pipelines.server.captures.capture import read_capture
from pipelines.server.captures.databases import snapshots_of
from pipelines.server.captures.folder import read_captures
from tests.support.capture_tools import FORMS
from tests.support.captures import (
    HOSTILE_NAMES,
    ID,
    Captured,
    capture_lines,
    change_line,
    find_lines,
    spell_time,
    to_line,
    write_capture,
)
from tests.support.factories import NOON, Row, at
from tests.support.read_captures import read_file, read_lines, rows_of, small_lines
from tests.support.snapshot_views import conversation, handle, ready, shown, views

LINES = small_lines()
OTHER_ID = "6F0C7B52-3C1D-4E0A-9C64-2A5D0D7B11F4"
Change = Callable[[Row], Row]


def change_rows(lines: Sequence[str], view: str, change: Change) -> list[str]:
    """The lines with the rows of a view changed."""
    objects = [json.loads(line) for line in lines]
    return [
        to_line({**each, "row": change(each["row"])}) if each.get("view") == view and "row" in each else line
        for each, line in zip(objects, lines, strict=True)
    ]


def as_text(value: Any) -> Any:
    """What is read, with the texts that other spellings leave as they are."""
    if isinstance(value, dict):
        return {key: as_text(each) for key, each in value.items()}
    if isinstance(value, list):
        return sorted((as_text(each) for each in value), key=repr)
    if isinstance(value, bool):
        return str(int(value))
    return spell_time(value) if isinstance(value, datetime) else str(value)


def test_the_rows_of_a_capture(tmp_path: Path) -> None:
    content = read_lines(tmp_path, LINES)
    assert content["header"] == (ID, "SQL1", "16.0.4135.4", NOON)
    assert rows_of(content, "queue dbo.TargetQueue")[0] == ready(1, False, 0)
    ends = [
        (row["conversation_id"], row["is_initiator"]) for row in rows_of(content, "conversation_endpoints")
    ]
    assert sorted(ends) == [(conversation(number), side) for number in (1, 2, 3) for side in (False, True)]
    [rule] = rows_of(content, "conversation_priorities")
    assert (rule["name"], rule["remote_service_name"], rule["priority"]) == ("Gold", None, 9)
    assert read_lines(tmp_path, capture_lines({}))["databases"] == {}


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ("2026-11-20T11:30:00.1234567Z", datetime(2026, 11, 20, 11, 30, 0, 123456, UTC)),
        ("2026-11-20T11:30:00.9999999Z", datetime(2026, 11, 20, 11, 30, 0, 999999, UTC)),
        ("2026-11-20T11:30:00.5Z", datetime(2026, 11, 20, 11, 30, 0, 500000, UTC)),
        ("2026-11-20T11:30:00Z", datetime(2026, 11, 20, 11, 30, 0, 0, UTC)),
        ("1753-01-01T00:00:00Z", datetime(1753, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59.9970000Z", datetime(9999, 12, 31, 23, 59, 59, 997000, UTC)),
        (None, None),
    ],
)
def test_times_in_the_scripts_spelling(tmp_path: Path, stored: str | None, read: datetime | None) -> None:
    """Digits beyond microseconds are cut off, not rounded."""
    lines = change_rows(LINES, "queue", lambda row: {**row, "message_enqueue_time": stored})
    rows = rows_of(read_lines(tmp_path, lines), "queue dbo.TargetQueue")
    assert {row["message_enqueue_time"] for row in rows} in ({read}, {stored})


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names(tmp_path: Path, name: str) -> None:
    """Of the server, a database, a queue and its schema, a service, a contract, a message type."""
    found = views(
        services=[{"service_id": 1, "name": name, "service_queue_id": 11}],
        service_contracts=[{"service_contract_id": 7, "name": name}],
        conversation_endpoints=[shown(1, False, far_service=name)],
    )
    queue = {(name, name): [ready(1, False, 0, message_type_name=name)]}
    lines = capture_lines({name: {**dict[Any, list[Row]](found), **queue}}, server=name, taken_at=NOON)
    named = {
        f"queue {name}.{name}": "message_type_name",
        "conversation_endpoints": "far_service",
        "services": "name",
    }
    for form in ("driver", "sqlcmd -u", "Data Studio, JSON", "PowerShell 5.1, Export-Csv"):
        path = tmp_path / FORMS[form].name
        path.write_bytes(FORMS[form].write(lines))
        content = read_file(path)
        assert content["header"][1] == name
        for view, column in named.items():
            assert [row[column] for row in rows_of(content, view, name)] == [name]


def test_surrogates_without_a_partner_are_no_fault(tmp_path: Path) -> None:
    """A server's names may have them: they are units, not characters."""
    lines = [line.replace('"Order"', '"\\uD83COrder"') for line in LINES]
    assert len(rows_of(read_lines(tmp_path, lines), "queue dbo.TargetQueue")) == 3


def test_queues_of_two_schemas_stay_apart(tmp_path: Path) -> None:
    given = views(**{"sales.TargetQueue": [ready(2, False, 0)], "dbo.TargetQueue": [ready(1, False, 0)]})
    content = read_lines(tmp_path, capture_lines({"B": given}))
    for schema, number in (("dbo", 1), ("sales", 2)):
        [row] = rows_of(content, f"queue {schema}.TargetQueue")
        assert row["conversation_handle"] == handle(number, False)


def test_what_a_capture_says_of_databases_and_views(tmp_path: Path) -> None:
    lines = capture_lines(
        {
            "A": Captured(reason="OFFLINE"),
            "B": Captured(views(), view_definition=False, errors={"services": "229 denied"}),
            "C": Captured(views(), locked_groups=(3, 1)),
        },
        server_state=False,
        most_rows=1,
    )
    content = read_lines(tmp_path, lines)["databases"]
    said = [(each["is_read"], each["reason"], each["view_definition"]) for each in content.values()]
    assert said == [(False, "OFFLINE", None), (True, None, False), (True, None, True)]
    b, c = content["B"]["views"], content["C"]["views"]
    assert (b["services of B"]["complete"], b["services of B"]["error"]) == (False, "229 denied")
    assert b["transmission_queue of B"]["complete"] is False
    assert b["queue dbo.TargetQueue of B"]["complete"] is True
    assert c["transmission_queue of C"]["complete"] is True
    assert "VIEW SERVER STATE" in c["dm_broker_queue_monitors of C"]["error"]


def test_rows_of_a_queue_that_do_not_wait_are_counted(tmp_path: Path) -> None:
    """Version 2 of the script counts them, and shows none."""
    given = [ready(1, False, 0), *({**ready(2, False, 0), "status": status} for status in (0, 0, 2))]
    lines = capture_lines({"B": views(dbo_TargetQueue=given)})
    path = write_capture(tmp_path / "c.jsonl", lines)
    [snapshot], _ = snapshots_of(read_capture(str(path)), "SQL1")
    assert snapshot.statuses == {"dbo.TargetQueue": {0: 2, 1: 1, 2: 1}}
    [place] = find_lines(lines, view="conversation_endpoints", count=0)
    lines = change_line(lines, place, lambda line: {**line, "system_rows": 1204})
    [_], notes = snapshots_of(read_capture(str(write_capture(path, lines))), "SQL1")
    assert notes == ["database B: 1,204 endpoints of the system are left out"]


def test_a_queue_that_the_script_cut_is_not_complete(tmp_path: Path) -> None:
    view = read_lines(tmp_path, small_lines(most_rows=2))["databases"]["B"]["views"]
    queue = view["queue dbo.TargetQueue of B"]
    assert (queue["count"], queue["complete"], queue["error"]) == (2, False, "cut at 2 rows")
    assert len(queue["rows"]) == 2


def test_keys_in_any_order_and_blanks_between_them(tmp_path: Path) -> None:
    plain = as_text(read_lines(tmp_path, LINES))
    turned = [to_line(dict(reversed(json.loads(line).items()))) for line in LINES]
    assert as_text(read_lines(tmp_path, turned)) == plain
    spread = [json.dumps(json.loads(line), separators=(" , ", " : ")) for line in LINES]
    assert as_text(read_lines(tmp_path, spread)) == plain


def test_the_rows_of_all_captures_stand_in_one_file_a_view(tmp_path: Path) -> None:
    """Rows of another spelling stand in one of text; each row says of which snapshot it is."""
    folder = tmp_path / "captures"
    two = {"B": views(dbo_TargetQueue=[ready(1, False, 0)]), "C": views(dbo_TargetQueue=[ready(2, False, 0)])}
    first = capture_lines(two, taken_at=NOON)
    odd = change_rows(
        capture_lines(two, taken_at=at(30), id=OTHER_ID), "queue", lambda row: {**row, "priority": "5"}
    )
    write_capture(folder / "1.jsonl", first)
    write_capture(folder / "2.jsonl", odd)
    write_capture(folder / "3.jsonl", capture_lines(two, taken_at=at(60), id=OTHER_ID.replace("6F", "7F")))
    read = read_captures([Captures(path=str(folder))], [], tmp_path / "rows", are_new_read=True)
    files = {view: [Path(file.path).name for file in files] for view, files in read.rows.items()}
    assert files["queue"] == ["queue.parquet", "queue-text.parquet"]
    assert files["service_queues"] == ["service_queues-text.parquet"]
    numbers = {(each.declared.database, each.taken_at): each.number for each in read.snapshots}
    assert len(set(numbers.values())) == 6
    rows = [pq.read_table(file.path).to_pylist() for file in read.rows["queue"]]
    found = [{(row["snapshot"], row["conversation_handle"]) for row in each} for each in rows]
    handles = {"B": handle(1, False), "C": handle(2, False)}
    for file, moments in zip(found, ([NOON, at(60)], [at(30)]), strict=True):
        assert file == {(numbers[name, moment], handles[name]) for name in "BC" for moment in moments}

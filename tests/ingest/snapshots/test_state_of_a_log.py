"""Snapshots of the state that a log gives: their schedules are its own, but for what no view can show."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.field.running import Case
from tests.support.captures import write_captures
from tests.support.harness import difference, one_log
from tests.support.model import simulate
from tests.support.model.messages import read_messages
from tests.support.random_logs import random_logs
from tests.support.server import message_id, server_views, snapshots, state_of, with_guids
from tests.support.strategies import Log

pytestmark = pytest.mark.long

SCHEDULES = ("group_priorities", "receive_schedule", "transmission_schedule")


def as_the_server_names_it(log: Log) -> Log:
    """The log without what no view shows, its ids in upper case, its messages named as snapshots do."""
    endpoint_events, message_events = map(with_guids, (log.endpoint_events, log.message_events))
    kept = [row for row in message_events if "FORWARD" not in row["event_type"]]
    messages = read_messages(kept)
    new = {message.message_id: message_id(message, log.as_of) for message in messages}
    once = {old for old, name in new.items() if list(new.values()).count(name) == 1}
    named = [{**row, "message_id": new[row["message_id"]]} for row in kept if row["message_id"] in once]
    return replace(log, endpoint_events=endpoint_events, message_events=named, queue_events=None)


@pytest.mark.slow
@pytest.mark.usefixtures("session")
def test_snapshots_alone_give_the_schedules_of_the_log(tmp_path: Path) -> None:
    """Views in different formats, one a database; and captures of the servers of every other log."""
    log = as_the_server_names_it(one_log(random_logs(5, 11)))
    # The embedded engine opens no Delta table whose folder has a blank in its name.
    log = replace(log, catalog=json.loads(json.dumps(log.catalog).replace('"Queue "', '"Queue_"')))
    expected = simulate(log.events, **log.settings)
    shown = server_views(state_of(log.events, log.catalog, log.rules, log.as_of))
    captured = {place: found for place, found in shown.items() if int(place[0][:2]) % 2}
    in_files = {place: found for place, found in shown.items() if place not in captured}
    assert captured
    write_captures(tmp_path / "captures", captured, log.as_of)
    case = Case(tmp_path)
    case.configure(
        snapshots=[
            {"path": "captures"},
            *snapshots(tmp_path, in_files, log.as_of, "csv", "parquet", "delta"),
        ],
        receive={"top": log.top},
        transmission={"starvation": log.starvation, "blocks": log.blocks},
    )
    case.schedule(log.as_of.isoformat())
    found = {name: case.table(name) for name in (*SCHEDULES, "unresolved", "endpoints")}
    for table in SCHEDULES:
        # The server has a handle where the log has none.
        columns = expected[table][0].keys() - {"conversation_handle"}
        both = [[{name: row[name] for name in columns} for row in rows[table]] for rows in (found, expected)]
        differs = difference(*both)
        assert differs == [], "\n".join([table, *differs])
    assert found["unresolved"] == []
    assert {row["level_source"] for row in found["endpoints"]} == {"server"}
    assert {row["created_by"] for row in found["endpoints"]} == {"lifetime", "snapshot"}

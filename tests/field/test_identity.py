"""Ids that are GUIDs are one id whatever their spelling; names that are printed paste back."""

import json

import pytest

from pipelines.console.wording import format_queue
from schemas.keys import QUEUE
from tests.field.running import EVENTS, Case, OpenCase, instance_of

pytestmark = pytest.mark.slow

AS_OF = "2026-11-20T10:00:08Z"
GUIDS = "field-19-guid-spelling"
NAMES = ("Q", "my.queue", "x]y", "sales.Q")
PLACES = [("srv.dom", database, name) for database in ("My Db", "B") for name in NAMES]
"""Two databases have the same queues; names of instance and database need brackets, too."""


@pytest.fixture(scope="module")
def case(open_case: OpenCase) -> Case:
    """Messages with ids in lower case, and a message in each of the queues."""
    case = open_case(GUIDS)
    events = {
        source: [json.loads(line) for line in (case.folder / "log" / source / "a.jsonl").open()]
        for source in EVENTS
    }
    for number, (instance, database, queue) in enumerate(PLACES):
        common = {"event_time": "2026-11-20T09:00:00Z", "instance": instance, "database": database}
        common |= {"conversation_id": f"C{number}"}
        names = {"contract": "C", "local_service": f"to {queue}", "remote_service": "far"}
        group = {"is_initiator": False, "conversation_group_id": f"G{number}"}
        events["endpoint_events"].append({**common, **names, **group, "event_type": "DIALOG_CREATED"})
        what = {"message_id": f"M{number}", "message_sequence_number": 0, "message_type": "T"}
        sent = {"sent_by_initiator": True, "event_type": "DELIVERED"}
        events["message_events"].append({**common, **what, **sent})
    case.set_log(events)
    of_database = {
        "queues": [{"name": name, "activation": {"procedure": "p"}} for name in NAMES],
        "services": [{"name": f"to {name}", "queue": name} for name in NAMES],
    }
    databases = [{"name": name, **of_database} for name in ("My Db", "B")]
    case.set_catalog(instance_of(GUIDS, "MILL1"), {"name": "srv.dom", "databases": databases})
    case.publish(AS_OF)
    return case


def test_ids_are_taken_in_any_spelling_and_a_queue_in_any_form(case: Case) -> None:
    """Messages with ids in lower case are of their conversations."""
    assert case.table("unresolved") == []
    columns = ("position", "message_id", "conversation_id", "conversation_handle", "conversation_group_id")
    rows = [
        {name: row[name] for name in columns}
        for row in case.table("receive_schedule")
        if row["instance"] == "MILL1"
    ]
    assert [tuple(row.values()) for row in rows] == [
        (number - 2, name, *(f"{kind}000000-0000-4000-8000-{number:012}" for kind in ("CC", "BB", "E2")))
        for number, name in ((3, "m-Report"), (4, "m-Grant"))
    ]
    conversation = "CC000000-0000-4000-8000-000000000003"
    for name in (conversation.lower(), f"{{{conversation}}}", "bb000000-0000-4000-8000-000000000003"):
        assert case.ask("explain", "--conversation", name)["conversation_id"] == conversation
    for name in ("dbo.EtlQueue", "[MILL1].[EtlDB].[dbo].[EtlQueue]"):
        found = case.ask("next", "--queue", name)
        assert [row["message_id"] for row in found["next"]] == ["m-Report", "m-Grant"]
    unknown = case.job("next", "--queue", "EtlDB.EtlQeue")
    assert (unknown.code, unknown.out) == (2, "")
    assert unknown.err.endswith("there is no such queue; did you mean MILL1.EtlDB.EtlQueue?\n")


def test_printed_names_paste_back_into_every_option(case: Case) -> None:
    printed = [format_queue(dict(zip(QUEUE, place, strict=True))) for place in PLACES]
    assert printed[:2] == ["[srv.dom].[My Db].Q", "[srv.dom].[My Db].[my.queue]"]
    for number in (1, 2, len(PLACES) - 1):
        columns = dict(zip(QUEUE, PLACES[number], strict=True))
        found = case.ask("next", "--queue", printed[number])
        assert (columns.items() <= found.items(), found["next"][0]["message_id"]) == (True, f"M{number}")
    assert case.ask("activation", "--as-of", AS_OF, "--queue", printed[2])["queue"] == "x]y"
    period = ("--from", "2026-11-20T09:00:00Z", "--to", "2026-11-20T09:30:00Z")
    several = case.ask("replay", *period, "--queue", *printed[1:3], "--queue", printed[-1])
    assert [row["queue"] for row in several["queues"]] == ["sales.Q", "my.queue", "x]y"]

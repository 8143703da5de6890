"""Catalogs of captures that a warehouse has taken."""

from dataclasses import replace
from datetime import datetime, timedelta

from pipelines.server.captures.known import (
    KnownCapture,
    KnownDatabase,
    find_moments_of_partners,
    snapshots_of_known,
)
from tests.support.factories import NOON, Row, at
from tests.support.view_rows import queue

DATABASE = {"name": "B", "is_honor_broker_priority_on": True}


def _known(*, taken_at: datetime = NOON, **small: list[Row]) -> KnownCapture:
    """A capture of database B with these rows."""
    return KnownCapture(
        id=f"C{taken_at}",
        path="captures/c1.jsonl",
        length=1,
        modified_at=NOON,
        sha256="",
        server="SQL1",
        instance="SQL1",
        taken_at=taken_at,
        first_seen=NOON,
        databases=(KnownDatabase("B", f"{small}", ()),),
        catalogs={f"{small}": small},
    )


def test_a_column_that_an_older_version_did_not_read_is_null() -> None:
    shown = queue(1, "Q")
    [snapshot] = snapshots_of_known([_known(service_queues=[shown])])
    [row] = snapshot.small["service_queues"]
    assert row.items() >= {**shown, "max_readers": None, "activation_procedure": None}.items()
    database = snapshot.database()
    assert database is not None
    assert [(each.name, each.activation) for each in database.queues] == [("Q", None)]


def test_the_broker_of_a_database_and_whether_nobody_can_write() -> None:
    guid = "ab12c0de-0000-4000-8000-00000000000b"
    newer = {**DATABASE, "service_broker_guid": f"{{{guid}}}"}
    for row, id, is_read_only in [
        (DATABASE, None, None),
        ({**newer, "updateability": "READ_WRITE"}, guid.upper(), False),
        ({**newer, "updateability": "READ_ONLY"}, guid.upper(), True),
    ]:
        [snapshot] = snapshots_of_known([_known(databases=[row])])
        assert (snapshot.service_broker_guid, snapshot.is_read_only) == (id, is_read_only)


def test_of_captures_with_one_catalog_the_first_and_the_last_are_left() -> None:
    hours = [NOON + timedelta(hours=hour) for hour in range(6)]
    captures = [
        _known(taken_at=hour, databases=[{**DATABASE, "is_honor_broker_priority_on": is_on}])
        for hour, is_on in zip(hours, [True, True, True, False, False, False], strict=True)
    ]
    assert [each.taken_at for each in snapshots_of_known(captures)] == [hours[at] for at in (0, 2, 3, 5)]


def test_captures_of_failover_partners_at_once_are_all_left() -> None:
    """Others of the same catalog are not needed; nor are they if the servers have no alias."""
    moments: dict[str, list[float]] = {"M1": [0, 60, 120, 180, 240], "M2": [0.5, 61, 120.5, 179.5]}
    captures = [
        replace(_known(taken_at=at(minute), databases=[DATABASE]), id=f"{server}{minute}", instance=server)
        for server, minutes in moments.items()
        for minute in minutes
    ]
    ends = {("M1", 0), ("M1", 240), ("M2", 0.5), ("M2", 179.5)}
    partners = {("M1", "B"): ("AG", "B"), ("M2", "B"): ("AG", "B")}
    for aliases, others in (
        (partners, {("M1", 120), ("M1", 180), ("M2", 120.5)}),
        ({("M1", "B"): ("AG", "B")}, set()),
        ({}, set()),
    ):
        needed = find_moments_of_partners(captures, aliases)
        found = {(each.own_key[0], each.taken_at) for each in snapshots_of_known(captures, needed)}
        assert found == {(server, at(minute)) for server, minute in ends | others}


def test_a_capture_in_two_files_has_its_catalog_once() -> None:
    """Whichever file comes first by name, the one that has the catalog or the other."""
    first = _known(databases=[DATABASE])
    for path in ("captures/a.txt", "captures/z.txt"):
        [snapshot] = snapshots_of_known([first, replace(first, path=path, catalogs={})])
        assert snapshot.small["databases"][0].items() >= DATABASE.items()

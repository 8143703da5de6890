"""Catalogs of captures that a warehouse has taken."""

from pipelines.config.captures.known import KnownCapture, KnownDatabase, snapshots_of_known
from tests.support.factories import NOON


def test_a_column_that_an_older_version_did_not_read_is_null() -> None:
    queue = {"object_id": 1, "name": "Q", "is_receive_enabled": True, "is_enqueue_enabled": True}
    known = KnownCapture(
        id="C1",
        path="captures/c1.jsonl",
        length=1,
        modified_at=NOON,
        sha256="",
        server="SQL1",
        instance="SQL1",
        taken_at=NOON,
        first_seen=NOON,
        databases=(KnownDatabase("B", "hash", ()),),
        catalogs={"hash": {"service_queues": [queue]}},
    )
    [snapshot] = snapshots_of_known([known])
    [row] = snapshot.small["service_queues"]
    assert row.items() >= {**queue, "max_readers": None, "activation_procedure": None}.items()
    database = snapshot.database()
    assert database is not None
    assert [(each.name, each.activation) for each in database.queues] == [("Q", None)]

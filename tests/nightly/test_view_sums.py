"""A night ends with 1 unless the rows of each queue in its newest complete view are its open messages."""

from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from pipelines.schedules import write
from pipelines.schedules.orders import queued
from tests.support.capture_project import CaptureProject
from tests.support.captures import write_captures
from tests.support.factories import NOON
from tests.support.snapshot_views import ready, shown, views, waiting

pytestmark = pytest.mark.slow

PLACE = ("SQL1", "B")
LATER = NOON + timedelta(hours=1)
NO_ENDPOINT = [
    waiting(conversation_handle=f"99999999-0000-0000-0000-0000000000{number:02}") for number in (1, 2)
]
"""Rows of the transmission queue whose endpoints no view shows."""


@pytest.fixture(scope="module")
def project(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> CaptureProject:
    """Six rows that wait: one twice, one rejected, one of an endpoint that has ended, one of none."""
    project = CaptureProject(tmp_path_factory.mktemp("sums") / "p", quality={"max_rejected_share": 1.0})
    rows = [ready(1, False, 0), ready(2, False, 0), ready(2, False, 0), ready(3, False, 0)]
    rows += [ready(4, False, 0), ready(5, False, 0, message_type_name=None), ready(6, False, 0, status=0)]
    endpoints = [shown(number, False, state="CD" if number == 3 else "CO") for number in (1, 2, 3, 5, 6)]
    names = {"from_service_name": "Orders", "to_service_name": "Stock", "service_contract_name": "Gold"}
    given = views(
        conversation_endpoints=endpoints,
        dbo_TargetQueue=rows,
        transmission_queue=[NO_ENDPOINT[0] | names, NO_ENDPOINT[1]],
    )
    write_captures(project.captures, {PLACE: given}, NOON)
    project.run()
    return project


def test_a_night_counts_the_rows_of_views(project: CaptureProject) -> None:
    counted = {
        row["view"]: tuple(row[name] for name in ("rows", "repeated_rows", "rejected_rows"))
        for row in project.table("snapshots")
    }
    assert counted["dbo.TargetQueue"] == (6, 1, 1)
    assert counted["transmission_queue"] == (2, 0, 0)
    assert counted["conversation_endpoints"] == (5, 0, 0)
    assert counted["services"] == (2, 0, 0)


def test_a_message_without_endpoint_stands_where_the_view_shows_it(project: CaptureProject) -> None:
    columns = ["kind", "reason", "instance", "database", "queue"]
    found = sorted(tuple(row.values()) for row in project.table("unresolved", columns))
    assert found == [
        ("receive", "handle_unknown", "SQL1", "B", "TargetQueue"),
        *[("transmission", "handle_unknown", "SQL1", "B", None)] * 2,
    ]
    assert sorted(row["message_id"] for row in project.table("receive_schedule")) == [
        f"ABCDEF00-0000-0000-0000-0000000000{number:02}/initiator/0" for number in (1, 2)
    ]


def test_a_row_names_the_services_of_an_endpoint_that_is_gone(project: CaptureProject) -> None:
    [place] = [each for each in project.ask("why")["places"] if each["kind"] == "unresolved"]
    names = ("contract", "local_service", "remote_service", "messages")
    assert {"contract": "Gold", "local_service": "Orders", "remote_service": "Stock", "messages": 1} in [
        {name: each[name] for name in names} for each in place["situation"]["kinds"]
    ]


def test_a_lost_row_ends_the_night(project: CaptureProject, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(write, "queued", lambda waiting: queued(waiting).where("not message_id like '%02/%'"))
        night = project.nightly((NOON + timedelta(seconds=1)).isoformat())
    assert night.code == 1
    assert (
        "SQL1.B.TargetQueue: 4 rows of the snapshot of 2026-11-20T12:00:00Z - 1 that later facts took + 0 "
        "that they brought is not 2; please report this as a fault"
    ) in night.err
    assert sorted(row["status"] for row in project.table("runs")) == ["failed", "succeeded"]


def test_a_message_without_endpoint_goes_when_a_later_view_lacks_it(project: CaptureProject) -> None:
    later = views(conversation_endpoints=[shown(1, False)], transmission_queue=NO_ENDPOINT[1:])
    write_captures(project.captures, {PLACE: later}, LATER)
    project.schedule(LATER.isoformat())
    left = [row["id"] for row in project.table("unresolved") if row["as_of"] == LATER]
    assert left == ["99999999-0000-0000-0000-000000000002/unknown/0"]
    assert LATER not in {row["as_of"] for row in project.table("receive_schedule")}

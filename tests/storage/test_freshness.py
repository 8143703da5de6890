"""How far the data goes, and how old it is at an as_of."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.storage.batches import CompletedBatches
from pipelines.storage.freshness import describe_age, find_first_data, find_newest_data, latest_as_of
from pipelines.storage.warehouse import Warehouse
from tests.support import written
from tests.support.factories import Row, at, endpoint_event, message_event, queue_event
from tests.support.written import warehouse_of

MOMENT = timedelta(microseconds=1)


def batch(source: str, newest_data: datetime | None, **changes: Any) -> Row:
    """A row of `batches` with one accepted event."""
    accepted = {"events": 1, "accepted": 1, "newest": at(500), "newest_data": newest_data}
    return written.batch(source=source, **{**accepted, **changes})


def view(taken_at: datetime, **changes: Any) -> Row:
    place = {"instance": "SQL1", "database": "B", "view": "transmission_queue", "complete": True}
    return {"batch": 1, **place, "taken_at": taken_at, **changes}


@pytest.fixture(scope="module")
def warehouse(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Events at 12:00, 12:50, 13:00 and 17:00, snapshots at 14:00 and 16:00."""
    snapshot_rows = [
        message_event(event_time=at(-500), event_id="seen", seen_at=at(120)),
        message_event(event_time=at(240) - MOMENT, event_id="too", seen_at=at(240)),
    ]
    rows = {
        "endpoint_events": [endpoint_event(event_time=at(0))],
        "message_events": [message_event(event_time=at(50)), *snapshot_rows],
        "queue_events": [
            queue_event("COMMIT", event_time=at(60)),
            queue_event("ROLLBACK", event_time=at(300)),
            queue_event("RECEIVE", event_time=at(-900), batch=2, fold=2),
        ],
        "snapshots": [view(at(120)), view(at(240)), view(at(-600), batch=2)],
    }
    return warehouse_of(session, tmp_path_factory.mktemp("freshness"), rows)


COMPLETED = CompletedBatches(
    [batch("queue_events", at(300)), batch("message_events", at(50)), batch("snapshots", at(240))]
)


@pytest.mark.parametrize(
    ("as_of", "newest"),
    [
        pytest.param(datetime(1, 1, 1, tzinfo=UTC), None, id="the beginning of time has no hour before"),
        pytest.param(at(-200), None, id="what a snapshot says about earlier times is no earlier data"),
        pytest.param(at(0), None, id="an event counts before as_of"),
        pytest.param(at(0) + MOMENT, at(0), id="the first event"),
        pytest.param(at(55), at(50), id="the last hour"),
        pytest.param(at(119), at(60), id="a snapshot counts up to as_of"),
        pytest.param(at(120), at(120), id="at its moment"),
        pytest.param(at(239), at(120), id="between two snapshots"),
        pytest.param(at(300), at(240), id="before the last event"),
        pytest.param(at(301), at(300), id="after all"),
    ],
)
def test_the_newest_data(warehouse: Warehouse, as_of: datetime, newest: datetime | None) -> None:
    assert find_newest_data(warehouse, COMPLETED, as_of) == newest


def test_events_of_hours_ago_and_the_first_data_are_those_of_completed_batches(warehouse: Warehouse) -> None:
    events_only = CompletedBatches([batch("queue_events", at(300))])
    assert find_newest_data(warehouse, events_only, at(290)) == at(60)
    assert find_first_data(warehouse, COMPLETED) == at(0)


def test_nothing_is_read_for_an_as_of_after_all_data(session: SparkSession, tmp_path: Path) -> None:
    empty = Warehouse(session, str(tmp_path))
    assert find_newest_data(empty, COMPLETED, at(300) + MOMENT) == at(300)
    assert find_newest_data(empty, CompletedBatches([]), at(0)) is None
    assert find_first_data(empty, CompletedBatches([])) is None


@pytest.mark.parametrize(
    ("batches", "latest"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param([batch("message_events", None, accepted=0)], None, id="only rejected rows"),
        pytest.param([batch("message_events", at(9))], at(9) + MOMENT, id="an event"),
        pytest.param([batch("snapshots", at(9), events=0, accepted=0)], at(9), id="an empty snapshot"),
        pytest.param(
            [batch("snapshots", at(9)), batch("queue_events", at(9))], at(9) + MOMENT, id="both at once"
        ),
        pytest.param([batch("snapshots", at(9)), batch("queue_events", at(8))], at(9), id="a snapshot last"),
        pytest.param(
            [batch("queue_events", at(9)), batch("queue_events", at(8), batch=2)],
            at(9) + MOMENT,
            id="an earlier batch goes further",
        ),
        pytest.param(
            [batch("message_events", None), batch("message_events", None, accepted=0, newest=at(600))],
            at(500) + MOMENT,
            id="batches of an older version",
        ),
        pytest.param(
            [batch("snapshots", None, newest=at(9) - MOMENT)], at(9), id="snapshots of an older version"
        ),
    ],
)
def test_the_latest_as_of(
    session: SparkSession, tmp_path: Path, batches: list[Row], latest: datetime | None
) -> None:
    assert latest_as_of(Warehouse(session, str(tmp_path)), CompletedBatches(batches)) == latest


def test_data_is_old_after_an_hour() -> None:
    assert describe_age(None, at(60)) is None
    assert describe_age(at(0), at(60)) is None
    assert describe_age(at(60) - timedelta(hours=16), at(60)) == (
        "the newest data is 16 h older than as_of: it is of 2026-11-19T21:00:00Z, "
        "as_of is 2026-11-20T13:00:00Z"
    )
    assert (describe_age(at(0) - MOMENT, at(60)) or "").startswith("the newest data is 60 min older")

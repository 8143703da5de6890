"""Why a row is rejected: each rule by itself, and rules together."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.ingest.reasons import REASONS, with_reasons
from schemas import CONTRACTS
from schemas.events import CREATIONS, MOVE
from tests.support.factories import FACTORIES, Row, endpoint_event, message_event, queue_event

pytestmark = pytest.mark.spark

ALWAYS = {
    "endpoint_events": (
        "event_id", "event_time", "instance", "database", "event_type", "conversation_id", "is_initiator",
    ),
    "message_events": (
        "event_id", "event_time", "instance", "database", "event_type", "message_id", "conversation_id",
        "sent_by_initiator", "message_type",
    ),
    "queue_events": ("event_id", "event_time", "instance", "database", "queue", "event_type"),
}  # fmt: skip
ON_CREATIONS = ("conversation_group_id", "contract", "local_service", "remote_service")


def reasons(session: SparkSession, source: str, *rows: Row) -> list[list[str]]:
    """The reasons of each row, in their order and in the rows' order; a row is as it was read."""
    contract = CONTRACTS[source]
    columns = [f"`{column.name}` {column.type}" for column in contract.columns]
    schema = ", ".join([*columns, "broken boolean", "unreadable string", "number int"])
    read = [{"broken": False, "unreadable": None, **row, "number": number} for number, row in enumerate(rows)]
    found = with_reasons(session.createDataFrame(read, schema), contract)
    assert {"broken", "unreadable"}.isdisjoint(found.columns)
    return [
        [] if row.reasons is None else row.reasons.split(",")
        for row in found.orderBy("number").select("reasons").collect()
    ]


@pytest.mark.parametrize("source", CONTRACTS)
def test_events_have_no_reasons(session: SparkSession, source: str) -> None:
    rows = [FACTORIES[source](event_type) for event_type in CONTRACTS[source].event_types]
    assert reasons(session, source, *rows) == [[]] * len(rows)


@pytest.mark.parametrize("source", CONTRACTS)
def test_only_columns_that_are_never_null_may_not_be_null(session: SparkSession, source: str) -> None:
    # An END_CONVERSATION and the first type of the others ask for no more than every event does.
    event = endpoint_event("END_CONVERSATION") if source == "endpoint_events" else FACTORIES[source]()
    names = CONTRACTS[source].names
    found = reasons(session, source, *[event | {name: None} for name in names])
    expected = [[f"missing_{name}"] if name in ALWAYS[source] else [] for name in names]
    assert dict(zip(names, found, strict=True)) == dict(zip(names, expected, strict=True))


def test_creations_and_moves_ask_for_more(session: SparkSession) -> None:
    required = {**dict.fromkeys(CREATIONS, ON_CREATIONS), MOVE: ("conversation_group_id",)}
    cases, rows = [], []
    for event_type in CONTRACTS["endpoint_events"].event_types:
        for name in ON_CREATIONS:
            cases.append((event_type, name))
            rows.append(endpoint_event(event_type, **{name: None}))
    found = dict(zip(cases, reasons(session, "endpoint_events", *rows), strict=True))
    expected = {
        (event_type, name): [f"missing_{name}"] if name in required.get(event_type, ()) else []
        for event_type, name in cases
    }
    assert found == expected


def test_event_types_are_compared_exactly(session: SparkSession) -> None:
    types = ["sent", "SENT ", "", "BEGIN_DIALOG"]
    found = reasons(session, "message_events", *[message_event(event_type=name) for name in types])
    assert dict(zip(types, found, strict=True)) == {name: ["unknown_event_type"] for name in types}


def test_creations_say_which_endpoint_they_create(session: SparkSession) -> None:
    cases = [(event_type, flag) for event_type in (*CREATIONS, MOVE) for flag in (True, False)]
    rows = [endpoint_event(event_type, is_initiator=flag) for event_type, flag in cases]
    contradiction = ["is_initiator_contradicts_event_type"]
    assert dict(zip(cases, reasons(session, "endpoint_events", *rows), strict=True)) == {
        ("BEGIN_DIALOG", True): [],
        ("BEGIN_DIALOG", False): contradiction,
        ("DIALOG_CREATED", True): contradiction,
        ("DIALOG_CREATED", False): [],
        (MOVE, True): [],
        (MOVE, False): [],
    }


def test_all_reasons_of_a_row_are_given(session: SparkSession) -> None:
    creation = endpoint_event(is_initiator=False, event_id=None, contract=None)
    event = queue_event(event_type="OTHER", queue=None)
    assert reasons(session, "endpoint_events", creation) == [
        ["missing_event_id", "missing_contract", "is_initiator_contradicts_event_type"]
    ]
    assert reasons(session, "queue_events", event) == [["missing_queue", "unknown_event_type"]]


def test_broken_rows_and_unreadable_values(session: SparkSession) -> None:
    nothing: Row = dict.fromkeys(CONTRACTS["message_events"].names)
    unreadable: dict[str, Any] = {"size_bytes": None, "event_time": None}
    found = reasons(
        session,
        "message_events",
        nothing | {"broken": True},
        message_event(**unreadable, unreadable=",".join(unreadable)),
        message_event(event_id=None, event_time=None, unreadable="event_time"),
    )
    assert found == [
        ["broken_row"],
        ["unreadable_size_bytes", "unreadable_event_time"],
        ["unreadable_event_time", "missing_event_id"],
    ]


def test_times_far_from_now_are_no_events(session: SparkSession) -> None:
    first, last = datetime(1900, 1, 1, tzinfo=UTC), datetime(9998, 12, 31, 23, 59, 59, 999999, UTC)
    tick = timedelta(microseconds=1)
    times = [first, last, first - tick, last + tick, datetime(1, 1, 1, tzinfo=UTC)]
    found = reasons(session, "message_events", *[message_event(event_time=time) for time in times])
    assert found == [[], [], *[["event_time_out_of_range"]] * 3]


def test_every_reason_is_explained() -> None:
    given = {"broken_row", "unreadable_<column>", "missing_<column>", "unknown_event_type", "line_too_long"}
    given |= {"is_initiator_contradicts_event_type", "event_time_out_of_range"}
    assert set(REASONS) == given | {"conflicting_duplicate", "day_pruned"}
    assert all(text and "\n" not in text for text in REASONS.values())

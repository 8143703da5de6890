"""Why a row is rejected: each rule by itself, and rules together."""

from datetime import date

from pipelines.ingest.reasons import REASONS, explain_reason, with_reasons
from schemas.events import CONTRACTS, CREATIONS, MOVE, EventContract
from schemas.table import optional, required
from tests.support.drawn import Draw
from tests.support.frames import assert_same

THINGS = EventContract(
    source="things",
    columns=(
        required("event_id", "string", ""),
        required("event_time", "timestamp", ""),
        required("event_type", "string", ""),
        optional("is_initiator", "boolean", ""),
        optional("contract", "string", ""),
        optional("size", "bigint", ""),
    ),
    event_types=("BEGIN_DIALOG", "DIALOG_CREATED", "MOVE", "END"),
    required_for={"BEGIN_DIALOG": ("contract",), "MOVE": ("contract", "size")},
)
ROWS = """
    event_id | event_time timestamp       | event_type     | is_initiator boolean | contract | size bigint | broken boolean | unreadable | reasons
    e01      | 12:00                      | BEGIN_DIALOG   | true                 | Gold     | -           | false          | -          | -
    e02      | 12:00                      | END            | -                    | -        | -           | false          | -          | -
    e03      | 12:00                      | DIALOG_CREATED | false                | -        | 7           | false          | -          | -
    -        | 12:00                      | END            | -                    | -        | -           | false          | -          | missing_event_id
    e04      | -                          | END            | -                    | -        | -           | false          | -          | missing_event_time
    e05      | 12:00                      | -              | -                    | -        | -           | false          | -          | missing_event_type
    e06      | 12:00                      | BEGIN_DIALOG   | true                 | -        | -           | false          | -          | missing_contract
    e07      | 12:00                      | MOVE           | -                    | -        | -           | false          | -          | missing_contract,missing_size
    e08      | 12:00                      | end            | -                    | -        | -           | false          | -          | unknown_event_type
    e09      | 12:00                      | END            | true                 | -        | -           | false          | -          | -
    e11      | 12:00                      | BEGIN_DIALOG   | false                | Gold     | -           | false          | -          | is_initiator_contradicts_event_type
    e12      | 12:00                      | DIALOG_CREATED | true                 | -        | -           | false          | -          | is_initiator_contradicts_event_type
    -        | 12:00                      | BEGIN_DIALOG   | false                | -        | -           | false          | -          | missing_event_id,missing_contract,is_initiator_contradicts_event_type
    -        | -                          | -              | -                    | -        | -           | true           | -          | broken_row
    e13      | -                          | END            | -                    | -        | -           | false          | size,event_time | unreadable_size,unreadable_event_time
    -        | -                          | END            | -                    | -        | -           | false          | event_time | unreadable_event_time,missing_event_id
    e14      | 1900-01-01 00:00           | END            | -                    | -        | -           | false          | -          | -
    e15      | 1899-12-31 23:59:59.999999 | END            | -                    | -        | -           | false          | -          | event_time_out_of_range
    e16      | 9998-12-31 23:59:59.999999 | END            | -                    | -        | -           | false          | -          | -
    e17      | 9999-01-01 00:00           | END            | -                    | -        | -           | false          | -          | event_time_out_of_range
    e18      | 0001-01-01 00:00           | BEGIN_DIALOG   | true                 | -        | -           | false          | -          | missing_contract,event_time_out_of_range
"""  # noqa: E501
PRUNED = """
    event_id | event_time timestamp  | event_type | reasons
    before   | 11-19 23:59:59.999999 | END        | day_pruned
    on it    | 11-20 00:00           | END        | -
    never    | 1899-12-31 12:00      | END        | event_time_out_of_range
"""


def test_what_can_not_be_an_event(draw: Draw) -> None:
    rows = draw(ROWS)
    found = with_reasons(rows.drop("reasons"), THINGS)
    assert_same(found, rows.drop("broken", "unreadable"))


def test_events_of_pruned_days(draw: Draw) -> None:
    others = draw(ROWS).where("event_id = 'e02'").drop("event_id", "event_time", "event_type", "reasons")
    rows = draw(PRUNED).crossJoin(others)
    found = with_reasons(rows.drop("reasons"), THINGS, first_day=date(2026, 11, 20))
    assert_same(found.select("event_id", "reasons"), rows.select("event_id", "reasons"))


def test_what_the_inputs_require() -> None:
    where = ["event_id", "event_time", "instance", "database"]
    always = {
        source: [column.name for column in contract.columns if not column.nullable]
        for source, contract in CONTRACTS.items()
    }
    of_message = ["message_id", "conversation_id", "sent_by_initiator", "message_type"]
    assert always == {
        "endpoint_events": [*where, "event_type", "conversation_id", "is_initiator"],
        "message_events": [*where, "event_type", *of_message],
        "queue_events": [*where, "queue", "event_type"],
    }
    created = ("conversation_group_id", "contract", "local_service", "remote_service")
    assert CONTRACTS["endpoint_events"].required_for == {
        **dict.fromkeys(CREATIONS, created),
        MOVE: ("conversation_group_id",),
    }
    assert not CONTRACTS["message_events"].required_for
    assert not CONTRACTS["queue_events"].required_for


def test_every_reason_is_explained_in_a_line() -> None:
    assert all(text and "\n" not in text for text in REASONS.values())


def test_a_reason_is_explained_in_plain_text() -> None:
    assert explain_reason("line_too_long") == "more bytes than quality.max_line_bytes"
    assert explain_reason("handle_unknown") == "no endpoint has had the row's handle for 31 days"
    assert explain_reason("missing_message_id") == "null where the event type needs a value"
    assert explain_reason("unknown_queue") == "the snapshot's own view of queues lacks the id"
    assert explain_reason("of_an_older_version") is None

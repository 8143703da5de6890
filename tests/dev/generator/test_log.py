"""What a made-up log looks like: its columns, its events, and the story they tell."""

import pyarrow as pa
import pytest
from pyarrow import parquet

from schemas.events import CONTRACTS
from tests.dev.generator.conftest import BACKLOG

ARROW_TYPES = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}


@pytest.mark.parametrize("source", list(CONTRACTS))
def test_rows_keep_the_contract(log, source):
    """Columns and their types, what is required, every type of event, and ids of their own."""
    contract, rows = CONTRACTS[source], log[source]
    expected = [(column.name, ARROW_TYPES[column.type]) for column in contract.columns]
    for file in (log.folder / source).iterdir():
        assert [(field.name, field.type) for field in parquet.read_schema(file)] == expected
    for column in contract.columns:
        assert column.nullable or rows[column.name].notna().all(), column.name
    for event_type, columns in contract.required_for.items():
        of_type = rows[rows.event_type == event_type]
        assert of_type[list(columns)].notna().all().all(), event_type
    assert set(rows.event_type) == set(contract.event_types)
    assert rows.event_id.is_unique


def test_the_two_ends_mirror_each_other(log):
    events = log["endpoint_events"]
    begun = events[events.event_type == "BEGIN_DIALOG"]
    created = events[events.event_type == "DIALOG_CREATED"]
    assert begun.is_initiator.all()
    assert not created.is_initiator.any()
    both = begun.merge(created, on="conversation_id", suffixes=("", "_of_target"))
    assert len(both) > 500
    assert (both.contract == both.contract_of_target).all()
    assert (both.local_service == both.remote_service_of_target).all()
    assert (both.remote_service == both.local_service_of_target).all()
    assert (both.conversation_group_id != both.conversation_group_id_of_target).all()


def test_messages_are_numbered_and_their_moments_follow_each_other_up_to_the_clocks(log):
    turns = log["message_events"].dropna(subset="message_sequence_number").drop_duplicates("message_id")
    # Of 4,000 that were asked for; a few conversations are cut off by the end of the log.
    assert 3_800 <= len(turns) <= 4_000
    directions = turns.groupby(["conversation_id", "sent_by_initiator"]).message_sequence_number
    assert (directions.min() == 0).all()
    assert (directions.max() + 1 == directions.count()).all()
    moments = log["message_events"].pivot_table(
        index="message_id", columns="event_type", values="event_time", aggfunc="min"
    )
    early = (moments.SENT - moments.DELIVERED).dt.total_seconds()
    assert 0 < (early > 0).sum() < 0.1 * len(moments)
    assert early.max() < 1
    assert not (moments.RECEIVED < moments.DELIVERED).any()


def test_a_transaction_has_one_end_or_is_open_at_the_end(log, make_log):
    events = log["queue_events"]
    ends = events[events.event_type.isin(["COMMIT", "ROLLBACK"])]
    assert ends.transaction_id.is_unique
    # All that is received is received by a statement that the queue events know.
    taken = log["message_events"].query("event_type == 'RECEIVED'").transaction_id.dropna()
    assert set(taken) <= set(events[events.event_type == "RECEIVE"].transaction_id)
    waiting = make_log(*BACKLOG)
    taken = set(waiting["message_events"].query("event_type == 'RECEIVED'").transaction_id.dropna())
    asked = set(waiting["queue_events"].query("event_type == 'GET_CONVERSATION_GROUP'").transaction_id)
    ended = set(waiting["queue_events"].query("event_type in ('COMMIT', 'ROLLBACK')").transaction_id)
    assert taken - ended, "messages in flight"
    assert asked - taken - ended, "groups that are locked and nothing more"


def test_replies_levels_and_groups(log):
    first = log["message_events"].query("message_sequence_number == 0")
    request = first[first.sent_by_initiator & (first.event_type == "RECEIVED")]
    reply = first[~first.sent_by_initiator & (first.event_type == "SENT")]
    taken = request.groupby("conversation_id").event_time.max()
    waited = (reply.groupby("conversation_id").event_time.min() - taken).dropna()
    # The stream's only reply, its EndDialog, need not wait for the last request.
    assert (waited.dt.total_seconds() > 0).mean() > 0.95
    levels = log["endpoint_events"].logged_priority.dropna()
    assert 1 <= levels.min() < levels.max() <= 10
    # Conversations share groups, of one service each.
    sharing = log["endpoint_events"].query("event_type == 'BEGIN_DIALOG'").groupby("conversation_group_id")
    assert sharing.conversation_id.nunique().max() > 1
    assert (sharing.local_service.nunique() == 1).all()

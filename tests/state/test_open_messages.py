"""Messages that have a state at a moment."""

from dataclasses import replace
from datetime import datetime

import pytest

from pipelines.state.ledger import Ledger
from pipelines.state.open_messages import StateOfMessages, open_messages, state_of_messages
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS
from schemas.ledger import ENDPOINTS
from tests.support.drawn import Draw
from tests.support.factories import at
from tests.support.frames import assert_same

ENDED = (
    "conversation_id string, is_initiator boolean, ended_at timestamp, error_at timestamp, "
    "cleanup_at timestamp"
)
UNDECIDED = "sent boolean, arrived boolean, taken_at timestamp, shown_at timestamp"
FLAGGED = (
    "message_id string, size_bytes bigint, in_flight boolean, in_queue boolean, waits boolean, "
    "is_forwarded boolean"
)


def test_each_state_of_a_message(draw: Draw) -> None:
    """The target of `t ended` has ended, the initiator of `i error` with an error."""
    drawn = draw.columns(f"{FLAGGED}, sent_by_initiator boolean, {UNDECIDED}")("""
        message_id | conversation_id | sent_by_initiator | message_type         | sent  | arrived | taken_at | shown_at | in_flight | in_queue | waits | is_forwarded
        waits      | open            | true              | Order                | true  | false   | -        | -        | false     | false    | true  | true
        queued     | open            | true              | Order                | false | true    | -        | -        | false     | true     | false | false
        again      | open            | true              | Order                | true  | true    | -        | -        | false     | true     | true  | false
        in flight  | t ended         | true              | Order                | false | true    | 12:00    | -        | true      | false    | false | false
        to nobody  | t ended         | true              | Order                | false | true    | -        | -        | -         | -        | -     | -
        lost       | t ended         | true              | Order                | true  | false   | -        | 12:30    | -         | -        | -     | -
        shown      | t ended         | true              | Order                | true  | false   | -        | 12:31    | false     | false    | true  | false
        back       | t ended         | false             | Order                | true  | false   | -        | -        | false     | false    | true  | false
        dropped    | i error         | true              | Order                | true  | false   | -        | -        | -         | -        | -     | -
        error      | i error         | true              | /ServiceBroker/Error | true  | false   | -        | -        | false     | false    | true  | false
        arrived    | i error         | true              | Order                | false | true    | -        | -        | false     | true     | false | false
        left       | open            | true              | Order                | false | false   | -        | -        | -         | -        | -     | -
        forwarded  | t ended         | true              | Order                | -     | -       | -        | -        | false     | false    | false | true
    """)  # noqa: E501
    messages = drawn.select("message_id", "conversation_id", "sent_by_initiator", "message_type")
    undecided = drawn.where("sent is not null").select(
        "message_id", "sent", "arrived", "taken_at", "shown_at"
    )
    forwarding = draw("message_id | instance\n forwarded | Hub\n forwarded | Next\n waits | Hub")
    ended = draw.columns(ENDED)("""
        conversation_id | is_initiator | ended_at | error_at | cleanup_at
        t ended         | false        | 12:30    | -        | -
        i error         | true         | 12:30    | 12:30    | -
    """)
    expected = drawn.where("waits is not null").drop("sent", "arrived", "shown_at")
    found = open_messages(messages, undecided, forwarding, ended)
    assert {*found.columns} == {*expected.columns}
    assert_same(found.select(*expected.columns), expected)


def test_the_state_at_a_moment_is_what_events_before_it_left(draw: Draw) -> None:
    """What a message is comes from all its events; what happens at as_of has not happened."""
    messages = draw.rows(MESSAGES, instance="SQL1", event_id="e", sent_by_initiator=True)("""
        message_id | conversation_id | event_type       | event_time | transaction_id | size_bytes
        sent       | c1              | SENT             | 12:00      | -              | -
        sent       | c1              | DELIVERED        | 13:00      | -              | 70
        queued     | c1              | DELIVERED        | 12:01      | -              | 10
        queued     | c1              | RECEIVED         | 13:00      | -              | 10
        in flight  | c1              | RECEIVED         | 12:02      | open           | 10
        received   | c1              | RECEIVED         | 12:02      | committed      | 10
        passing    | c1              | FORWARD_ACCEPTED | 12:03      | -              | 10
        to nobody  | c2              | DELIVERED        | 12:01      | -              | 10
        to come    | c1              | SENT             | 13:00      | -              | 10
    """)
    queues = draw.rows(QUEUE_FACTS, instance="SQL1")("""
        event_type | transaction_id | event_time
        COMMIT     | committed      | 12:03
        COMMIT     | open           | 13:00
    """)
    ends = draw.rows(ENDPOINT_FACTS, event_type="END_CONVERSATION", is_initiator=False)("""
        conversation_id | event_time
        c1              | 13:00
        c2              | 12:59
    """)
    endpoints = draw.rows(ENDPOINTS)("fold\n 1")
    ledger = Ledger(messages, ends, queues, endpoints, has_queue_events=True)
    found = state_of_messages(ledger, as_of=at(60), materialize=draw.keep)
    draw.require(found.messages, FLAGGED)("""
        message_id | size_bytes | in_flight | in_queue | waits | is_forwarded
        in flight  | 10         | true      | false    | false | false
        sent       | 70         | false     | false    | true  | false
        queued     | 10         | false     | true     | false | false
        passing    | 10         | false     | false    | false | true
    """)
    open_ones = draw("instance | transaction_id | is_open boolean\n SQL1 | open | true")
    assert_same(found.uncommitted, open_ones)
    assert_same(found.forwarding.select("message_id"), draw("message_id\n passing"))
    assert found.as_of == at(60)
    # Without queue events no transaction is known.
    unknown = state_of_messages(replace(ledger, has_queue_events=False), as_of=at(60), materialize=draw.keep)
    draw.require(unknown.messages)("message_id\n sent\n queued\n passing")
    assert unknown.uncommitted.isEmpty()


@pytest.mark.parametrize(
    ("as_of", "all_counts_from", "complete_from", "holds"),
    [
        pytest.param(at(60), None, None, True, id="its own moment"),
        pytest.param(at(61), None, None, False, id="another, and nobody knows when events happen"),
        pytest.param(at(61), at(60), None, True, id="nothing happens between both"),
        pytest.param(at(61), at(60.5), None, False, id="something happens between both"),
        pytest.param(at(59), at(59), None, True, id="nothing happens from the earlier one on"),
        pytest.param(at(59), at(59.5), None, False, id="something happens after the earlier one"),
        pytest.param(at(60), None, at(60), True, id="rows are there from then on"),
        pytest.param(at(60), None, at(60.5), False, id="rows of then are not there"),
    ],
)
def test_a_state_holds_at_other_moments_if_nothing_happens_between(
    draw: Draw, as_of: datetime, all_counts_from: datetime | None, complete_from: datetime | None, holds: bool
) -> None:
    rows = draw("message_id\n m")
    assert StateOfMessages(at(60), rows, rows, rows, complete_from).holds_at(as_of, all_counts_from) is holds

"""The transmission schedule: where messages go, since when, at which level, and in which order."""

import pytest
from pyspark.sql import DataFrame

from pipelines.config.model import Starvation
from pipelines.schedules.transmission import (
    forwarded_elsewhere,
    sendable,
    transmission_order,
    with_transmit_priority,
)
from schemas.outputs import TRANSMISSION_SCHEDULE
from tests.support.drawn import Draw
from tests.support.factories import at
from tests.support.frames import assert_same

MESSAGES = (
    "message_id string, conversation_id string, sent_by_initiator boolean, message_sequence_number bigint, "
    "message_type string, size_bytes bigint, why_still_here string, sent_at timestamp, waits boolean, "
    "home_instance string, sender_exists boolean, sender_instance string, sender_database string, "
    "sender_local_service string, sender_remote_service string, sender_contract string, sender_priority int, "
    "receiver_exists boolean, receiver_instance string, receiver_database string, receiver_queue string, "
    "receiver_local_service string, receiver_remote_service string, receiver_contract string"
)
SENT = {
    "conversation_id": "c1",
    "sent_by_initiator": True,
    "message_type": "Order",
    "sent_at": at(0),
    "waits": True,
    "home_instance": "SQL1",
    "sender_exists": True,
    "sender_instance": "SQL1",
    "sender_database": "A",
    "sender_local_service": "Orders",
    "sender_remote_service": "Stock",
    "sender_contract": "Gold",
    "sender_priority": 9,
    "receiver_exists": False,
}
"""A message that waits in SQL1.A for the service Stock, whose endpoint is not known."""
BINDINGS = "instance string, database string, service string, queue string"
FORWARDING = "message_id string, instance string, database string, accepted_at timestamp"
OFF = "instance string, database string, queue string"


@pytest.fixture
def nothing_forwarded(draw: Draw) -> DataFrame:
    return draw.rows(FORWARDING)("message_id\n none").limit(0)


def test_a_destination_is_that_of_the_endpoint_else_the_nearest_service(
    draw: Draw, nothing_forwarded: DataFrame
) -> None:
    messages = draw.rows(MESSAGES, **{**SENT, "receiver_database": "Z"})("""
        message_id | sender_exists | sender_instance | sender_database | receiver_exists | receiver_instance
        endpoint   | true          | SQL1            | A               | true            | SQL9
        database   | true          | SQL1            | B               | false           | SQL9
        instance   | true          | SQL1            | A               | false           | -
        anywhere   | true          | SQL3            | A               | false           | -
        no sender  | false         | SQL1            | A               | false           | -
    """)
    bindings = draw.columns(BINDINGS)("""
        instance | database | service | queue
        SQL1     | D        | Stock   | Q
        SQL1     | C        | Stock   | Q
        SQL1     | B        | Stock   | Q
        SQL0     | F        | Stock   | Q
        SQL0     | E        | stock   | Q
    """)
    expected = draw("""
        message_id | instance | database | destination_instance | destination_database
        endpoint   | SQL1     | A        | SQL9                 | Z
        database   | SQL1     | B        | SQL1                 | B
        instance   | SQL1     | A        | SQL1                 | B
        anywhere   | SQL3     | A        | SQL0                 | F
    """)
    found = sendable(messages, nothing_forwarded, bindings, draw.rows(OFF)("queue\n -"))
    assert_same(found.select(*expected.columns), expected)


def test_a_queue_of_the_same_instance_that_is_off_holds_messages_in_its_database(
    draw: Draw, nothing_forwarded: DataFrame
) -> None:
    messages = draw.rows(MESSAGES, **{**SENT, "receiver_exists": True})("""
        message_id | receiver_instance | receiver_database | receiver_queue
        here       | SQL1              | B                 | Off
        on         | SQL1              | B                 | On
        there      | SQL2              | B                 | Off
    """)
    off = draw.columns(OFF)("instance | database | queue\n SQL1 | B | Off\n SQL2 | B | Off")
    expected = draw("""
        message_id | instance | database | destination_instance | destination_database
        here       | SQL1     | B        | SQL1                 | B
        on         | SQL1     | A        | SQL1                 | B
        there      | SQL1     | A        | SQL2                 | B
    """)
    found = sendable(messages, nothing_forwarded, draw.rows(BINDINGS)("queue\n -"), off)
    assert_same(found.select(*expected.columns), expected)


def test_a_message_is_sent_no_earlier_than_those_before_it_in_its_conversation(
    draw: Draw, nothing_forwarded: DataFrame
) -> None:
    """Conversation priorities (the vendor's page): a conversation keeps its order, whatever clocks say."""
    messages = draw.rows(MESSAGES, **SENT)("""
        message_id | conversation_id | sent_by_initiator | message_sequence_number | sent_at | waits
        m0         | c1              | true              | 0                       | 12:05   | true
        m1         | c1              | true              | 1                       | 12:01   | true
        m2         | c1              | true              | 2                       | 12:07   | true
        back       | c1              | false             | 1                       | 12:02   | true
        a          | c2              | true              | -                       | 12:04   | true
        b          | c2              | true              | -                       | 12:03   | true
        first      | c2              | true              | 7                       | 12:02   | true
        arrived    | c2              | true              | 0                       | 12:09   | false
    """)
    expected = draw("""
        message_id | sendable_at timestamp
        m0         | 12:05
        m1         | 12:05
        m2         | 12:07
        back       | 12:02
        first      | 12:02
        a          | 12:04
        b          | 12:04
    """)
    nowhere, nothing_off = draw.rows(BINDINGS)("queue\n -"), draw.rows(OFF)("queue\n -")
    found = sendable(messages, nothing_forwarded, nowhere, nothing_off)
    assert_same(found.select(*expected.columns), expected)


def test_what_a_hub_passes_on_is_described_by_the_endpoints_that_are_known(draw: Draw) -> None:
    receiver = {
        "receiver_instance": "SQL2",
        "receiver_local_service": "Stock",
        "receiver_remote_service": "Shop",
        "receiver_contract": "Silver",
    }
    messages = draw.rows(MESSAGES, **SENT | receiver)("""
        message_id | waits | sender_exists | sender_instance | sender_priority | receiver_exists
        both       | true  | true          | SQL1            | 9               | true
        receiver   | false | false         | -               | -               | true
        nobody     | false | false         | -               | -               | false
    """)
    forwarding = draw.rows(FORWARDING, database="H", instance="Hub")("""
        message_id | accepted_at
        both       | 12:03
        receiver   | 12:02
        nobody     | 12:01
    """)
    nowhere, nothing_off = draw.rows(BINDINGS)("queue\n -"), draw.rows(OFF)("queue\n -")
    found = sendable(messages, forwarding, nowhere, nothing_off)
    expected = draw.lines("""
        message_id string           | both   | both   | receiver | nobody
        forwarded boolean           | false  | true   | true     | true
        instance string             | SQL1   | Hub    | Hub      | Hub
        database string             | A      | H      | H        | H
        from_service string         | Orders | Orders | Shop     | -
        to_service string           | Stock  | Stock  | Stock    | -
        contract string             | Gold   | Gold   | Silver   | -
        priority int                | 9      | 9      | -        | -
        destination_instance string | SQL2   | SQL2   | SQL2     | -
        sendable_at timestamp       | 12:00  | 12:03  | 12:03    | 12:03
    """)
    assert_same(found.select(*expected.columns), expected)
    described = {column.name for column in TRANSMISSION_SCHEDULE.columns} - {
        *("as_of", "as_of_key", "position", "block", "transmit_priority", "elevated")
    }
    assert {*found.columns} == described


def test_an_instance_forwards_nothing_of_its_own(draw: Draw) -> None:
    """Its endpoint can be created after as_of, by a clock that is ahead; it is known before."""
    messages = draw("message_id | home_instance\n own | SQL1\n passing | SQL1\n unknown | -")
    forwarding = draw.rows(FORWARDING, database="H", accepted_at=at(1))("""
        message_id | instance
        own        | SQL1
        passing    | Hub
        passing    | SQL1
        unknown    | Hub
        no message | Hub
    """)
    expected = draw("""
        message_id | home_instance | instance | forward_database | accepted_at timestamp
        passing    | SQL1          | Hub      | H                | 12:01
        unknown    | -             | Hub      | H                | 12:01
    """)
    assert_same(forwarded_elsewhere(messages, forwarding), expected)


LEVELS = "database string, forwarded boolean, priority int, sendable_at timestamp"


def test_level_5_counts_where_levels_are_not_honored(draw: Draw) -> None:
    """Managing conversation priorities (the vendor's page), on HONOR_BROKER_PRIORITY."""
    honoring = draw("instance | database\n SQL1 | Honoring")
    expected = draw.rows(f"instance string, {LEVELS}", instance="SQL1", sendable_at=at(0))("""
        instance | database | forwarded | priority | transmit_priority int | elevated boolean
        SQL1     | Honoring | false     | 10       | 10                    | false
        SQL1     | Honoring | false     | 1        | 1                     | false
        SQL1     | Honoring | true      | 10       | 5                     | false
        SQL1     | Other    | false     | 10       | 5                     | false
        SQL2     | Honoring | false     | 10       | 5                     | false
        SQL1     | Other    | true      | -        | 5                     | false
    """)
    rows = expected.drop("transmit_priority", "elevated")
    found = with_transmit_priority(rows, honoring, as_of=at(60), starvation=None)
    assert_same(found.select(*expected.columns), expected)


def test_starvation_raises_a_level_for_every_full_period(draw: Draw) -> None:
    """By 2 every 10 minutes, up to 10; what is forwarded is not raised."""
    honoring = draw("instance | database\n SQL1 | A")
    expected = draw.rows(f"instance string, {LEVELS}", instance="SQL1")("""
        database | forwarded | priority | sendable_at     | transmit_priority int | elevated boolean
        A        | false     | 1        | 12:50           | 3                     | true
        A        | false     | 1        | 12:50:00.000001 | 1                     | false
        A        | false     | 1        | 12:30           | 7                     | true
        A        | false     | 8        | 12:00           | 10                    | true
        A        | false     | 10       | 12:00           | 10                    | false
        B        | false     | 1        | 12:50           | 7                     | true
        A        | true      | 1        | 12:00           | 5                     | false
    """)
    rows = expected.drop("transmit_priority", "elevated")
    found = with_transmit_priority(
        rows, honoring, as_of=at(60), starvation=Starvation(after_seconds=600.0, raise_by=2)
    )
    assert_same(found.select(*expected.columns), expected)


@pytest.mark.parametrize("are_many", [False, True])
def test_an_instance_sends_the_highest_level_of_all_its_databases_first(draw: Draw, are_many: bool) -> None:
    expected = draw.columns(TRANSMISSION_SCHEDULE)("""
        instance | database | transmit_priority | sendable_at | message_id | position
        SQL1     | B        | 10                | 12:02       | m3         | 1
        SQL1     | A        | 9                 | 12:00       | m4         | 2
        SQL1     | B        | 9                 | 12:01       | m2         | 3
        SQL1     | A        | 1                 | 12:00       | m1         | 4
        SQL2     | A        | 1                 | 12:03       | m0         | 1
    """)
    more = "conversation_id string, sent_by_initiator boolean, message_sequence_number bigint"
    others = draw.rows(more)("message_sequence_number\n 0")
    found = transmission_order(expected.drop("position").crossJoin(others), are_many=are_many)
    assert_same(found.select(*expected.columns), expected)


def test_messages_of_one_level_and_time(draw: Draw) -> None:
    """By conversation, the initiator's first, by number (none comes last), by id."""
    expected = draw.rows(TRANSMISSION_SCHEDULE, instance="SQL1", transmit_priority=5, sendable_at=at(0))("""
        conversation_id | sent_by_initiator | message_sequence_number | message_id | position
        c1              | true              | 1                       | m7         | 1
        c1              | true              | 2                       | m6         | 2
        c1              | true              | -                       | m4         | 3
        c1              | true              | -                       | m5         | 4
        c1              | false             | 0                       | m3         | 5
        c2              | true              | 0                       | m2         | 6
    """)
    found = transmission_order(expected.drop("position").repartition(3), are_many=False)
    assert_same(found.select(*expected.columns), expected)

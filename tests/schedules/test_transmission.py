"""The transmission schedule: where messages go, since when, at which level, and in which order."""

import pytest
from pyspark.sql import DataFrame, functions as F

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

ENDPOINT = (
    *("instance string", "database string", "queue string", "exists boolean", "contract string"),
    *("local_service string", "remote_service string", "priority int"),
)
MESSAGES = ", ".join(
    [
        "message_id string, conversation_id string, sent_by_initiator boolean, message_type string",
        "message_sequence_number bigint, size_bytes bigint, why_still_here string, shown_database string",
        "sent_at timestamp, waits boolean, home_instance string",
        *(f"{side}_{column}" for side in ("sender", "receiver") for column in ENDPOINT),
    ]
)
SENT = {
    **{"conversation_id": "c1", "sent_by_initiator": True, "message_type": "Order", "sent_at": at(0)},
    **{"waits": True, "home_instance": "SQL1", "sender_exists": True, "sender_instance": "SQL1"},
    **{"sender_database": "A", "sender_local_service": "Orders", "sender_remote_service": "Stock"},
    **{"sender_contract": "Gold", "sender_priority": 9, "receiver_exists": False},
}
"""A message that waits in SQL1.A for the service Stock, whose endpoint is not known."""
BINDINGS = "instance string, database string, service string, queue string"
FORWARDING = "message_id string, instance string, database string, accepted_at timestamp"
OFF = "instance string, database string, queue string, name string, off_since timestamp, off_source string"


def sent(
    draw: Draw, messages: DataFrame, *, bindings: str = "queue\n -", off: str = "queue\n -"
) -> DataFrame:
    """The messages that can be sent; nothing is forwarded."""
    nothing = draw.rows(FORWARDING)("message_id\n none")
    return sendable(messages, nothing, draw.rows(BINDINGS)(bindings), draw.rows(OFF)(off))


def test_a_destination_is_that_of_the_endpoint_else_the_nearest_service(draw: Draw) -> None:
    """A queue of the same instance that is off holds messages in its own database."""
    messages = draw.rows(MESSAGES, **SENT | {"receiver_instance": "SQL9", "receiver_database": "Z"})("""
        message_id | sender_instance | sender_database | sender_exists | receiver_exists
        endpoint   | SQL1            | A               | true          | true
        database   | SQL1            | B               | true          | false
        instance   | SQL1            | A               | true          | false
        several    | SQL4            | A               | true          | false
        anywhere   | SQL3            | A               | true          | false
        no sender  | SQL1            | A               | false         | false
    """)
    catalog = """
        instance | database | service | queue
        SQL1     | B        | Stock   | Q
        SQL4     | D        | Stock   | Q
        SQL4     | B        | Stock   | Q
        SQL0     | E        | stock   | Q
    """
    found = draw.keep(sent(draw, messages, bindings=catalog))
    draw.require(found)("""
        message_id | instance | database | destination_instance | destination_database
        endpoint   | SQL1     | A        | SQL9                 | Z
        database   | SQL1     | B        | SQL1                 | B
        instance   | SQL1     | A        | SQL1                 | B
        several    | SQL4     | A        | -                    | -
        anywhere   | SQL3     | A        | -                    | -
    """)
    one = "instance | database | service | queue\n SQL0 | F | Stock | Q\n SQL0 | E | stock | Q"
    draw.require(sent(draw, messages, bindings=one))("""
        message_id | instance | database | destination_instance | destination_database
        endpoint   | SQL1     | A        | SQL9                 | Z
        database   | SQL1     | B        | SQL0                 | F
        instance   | SQL1     | A        | SQL0                 | F
        several    | SQL4     | A        | SQL0                 | F
        anywhere   | SQL3     | A        | SQL0                 | F
    """)
    off = """
        instance | database | queue | name     | off_since | off_source
        SQL1     | B        | Q     | SQL1.B.Q | 11:00     | log
        SQL4     | B        | Q     | SQL4.B.Q | 11:00     | log
    """
    draw.require(sent(draw, messages, bindings=catalog, off=off), TRANSMISSION_SCHEDULE)("""
        message_id | instance | database | destination_database | waits_for | waits_since | waits_source
        endpoint   | SQL1     | A        | Z                    | -         | -           | -
        database   | SQL1     | B        | B                    | SQL1.B.Q  | 11:00       | log
        instance   | SQL1     | B        | B                    | SQL1.B.Q  | 11:00       | log
        several    | SQL4     | A        | -                    | -         | -           | -
        anywhere   | SQL3     | A        | -                    | -         | -           | -
    """)
    off = "instance | database | queue | name | off_source\n SQL1 | B | Q | [SQL1].B.Q | catalog"
    of_endpoint = {"receiver_exists": True, "receiver_instance": "SQL1", "receiver_database": "B"}
    messages = draw.rows(MESSAGES, **SENT | of_endpoint)("""
        message_id | receiver_queue | shown_database
        known      | Q              | -
        another    | P              | -
        nowhere    | -              | -
        shown      | Q              | A
    """)
    draw.require(sent(draw, messages, bindings=catalog, off=off), TRANSMISSION_SCHEDULE)("""
        message_id | database | waits_for  | waits_since | waits_source
        known      | B        | [SQL1].B.Q | -           | catalog
        another    | A        | -          | -           | -
        nowhere    | A        | -          | -           | -
        shown      | A        | [SQL1].B.Q | -           | catalog
    """)


def test_a_message_is_sent_no_earlier_than_those_before_it_in_its_conversation(draw: Draw) -> None:
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
    draw.require(sent(draw, messages))("""
        message_id | sendable_at timestamp
        m0         | 12:05
        m1         | 12:05
        m2         | 12:07
        back       | 12:02
        first      | 12:02
        a          | 12:04
        b          | 12:04
    """)


def test_what_an_instance_passes_on(draw: Draw) -> None:
    """The endpoints that are known describe it; of its own messages an instance forwards none.

    A queue of its own that is off holds nothing back that it forwards.
    """
    other_side = {"receiver_local_service": "Stock", "receiver_remote_service": "Shop"}
    receiver = {"receiver_contract": "Silver", "receiver_database": "H", "receiver_queue": "Q", **other_side}
    messages = draw.rows(MESSAGES, **SENT | receiver)("""
        message_id | waits | sender_exists | home_instance | sender_priority | receiver_exists | receiver_instance
        both       | true  | true          | SQL1          | 9               | true            | SQL2
        receiver   | false | false         | -             | -               | true            | Hub
        nobody     | false | false         | -             | -               | false           | -
        to come    | false | false         | Hub           | -               | false           | -
    """)  # noqa: E501
    forwarding = draw.rows(FORWARDING, database="H")("""
        message_id | instance | accepted_at
        both       | Hub      | 12:03
        both       | SQL1     | 12:03
        receiver   | Hub      | 12:02
        nobody     | Hub      | 12:01
        to come    | Hub      | 12:01
        unknown    | Hub      | 12:01
    """)
    draw.require(forwarded_elsewhere(messages, forwarding), FORWARDING)("""
        message_id | instance | forward_database | accepted_at
        both       | Hub      | H                | 12:03
        receiver   | Hub      | H                | 12:02
        nobody     | Hub      | H                | 12:01
    """)
    off = draw.rows(OFF)("instance | database | queue | name | off_source\n Hub | H | Q | Hub.H.Q | catalog")
    found = sendable(messages, forwarding, draw.rows(BINDINGS)("queue\n -"), off)
    expected = draw.lines("""
        message_id string           | both   | both   | receiver | nobody
        forwarded boolean           | false  | true   | true     | true
        instance string             | SQL1   | Hub    | Hub      | Hub
        database string             | A      | H      | H        | H
        from_service string         | Orders | Orders | Shop     | -
        to_service string           | Stock  | Stock  | Stock    | -
        contract string             | Gold   | Gold   | Silver   | -
        priority int                | 9      | 9      | -        | -
        destination_instance string | SQL2   | SQL2   | Hub      | -
        sendable_at timestamp       | 12:00  | 12:03  | 12:03    | 12:03
        waits_for string            | -      | -      | -        | -
        waits_since timestamp       | -      | -      | -        | -
        waits_source string         | -      | -      | -        | -
    """)
    assert_same(found.select(*expected.columns), expected)
    later = {"as_of", "as_of_key", "position", "block", "transmit_priority", "elevated", "honored"}
    assert {*found.columns} == {*TRANSMISSION_SCHEDULE.names} - later


def test_the_level_that_counts_for_sending(draw: Draw) -> None:
    """It is 5 without HONOR_BROKER_PRIORITY and of what is forwarded; starvation adds 2 every 10 minutes.

    A database of which the flag is not known sends by priority.
    """
    honoring = draw("""
        instance | database | honors boolean
        SQL1     | Honors   | true
        SQL1     | Other    | false
        SQL1     | Silent   | -
    """)
    expected = draw.columns(TRANSMISSION_SCHEDULE)("""
        instance | database | forwarded | priority | sendable_at     | honored | transmit_priority | plain int
        SQL1     | Honors   | false     | 1        | 12:50           | true    | 3                 | 1
        SQL1     | Honors   | false     | 1        | 12:50:00.000001 | true    | 1                 | 1
        SQL1     | Honors   | false     | 1        | 12:30           | true    | 7                 | 1
        SQL1     | Honors   | false     | 8        | 12:00           | true    | 10                | 8
        SQL1     | Honors   | false     | 10       | 12:00           | true    | 10                | 10
        SQL1     | Other    | false     | 10       | 12:50           | false   | 7                 | 5
        SQL1     | Silent   | false     | 1        | 12:50           | -       | 3                 | 1
        SQL1     | Silent   | false     | -        | 13:00           | -       | 5                 | 5
        SQL2     | Honors   | false     | 1        | 13:00           | -       | 1                 | 1
        SQL1     | Honors   | true      | 10       | 12:00           | false   | 5                 | 5
        SQL1     | Other    | true      | -        | 12:00           | false   | 5                 | 5
    """)
    rows = expected.drop("transmit_priority", "honored")
    starvation = Starvation(after_seconds=600.0, raise_by=2)
    found = with_transmit_priority(rows, honoring, as_of=at(60), starvation=starvation)
    assert_same(found.select(*expected.columns), expected)
    raised = F.col("transmit_priority") > F.col("plain")
    assert_same(found.select("elevated"), found.select(raised.alias("elevated")))
    plain = with_transmit_priority(rows, honoring, as_of=at(60), starvation=None)
    assert plain.where("elevated or transmit_priority <> plain").isEmpty()


@pytest.mark.parametrize("are_many", [False, True])
def test_an_instance_sends_the_highest_level_of_all_its_databases_first(draw: Draw, are_many: bool) -> None:
    """Then by time, conversation, initiator first, number (null comes last) and id."""
    expected = draw.columns(TRANSMISSION_SCHEDULE)("""
        database | transmit_priority | sendable_at | conversation_id | sent_by_initiator | message_id
        B        | 10                | 12:02       | c9              | false             | m9
        A        | 9                 | 12:00       | c9              | true              | m8
        A        | 9                 | 12:01       | c1              | true              | m7
        A        | 9                 | 12:01       | c1              | true              | m6
        A        | 9                 | 12:01       | c1              | true              | m4
        A        | 9                 | 12:01       | c1              | true              | m5
        B        | 9                 | 12:01       | c1              | false             | m3
        A        | 9                 | 12:01       | c2              | true              | m2
        A        | 1                 | 12:00       | c1              | true              | m1
    """)
    numbers = draw("message_id | message_sequence_number bigint\n m7 | 1\n m6 | 2")
    rows = expected.join(numbers, "message_id", "left").withColumn("instance", F.lit("SQL1"))
    other = rows.where("message_id = 'm1'").withColumn("instance", F.lit("SQL2"))
    found = transmission_order(rows.unionByName(other).repartition(3), are_many=are_many)
    here = draw.keep(found.where("instance = 'SQL1'").orderBy("position"))
    assert_same(here.select(*expected.columns), expected, in_order=True)
    assert [row.position for row in here.collect()] == list(range(1, 10))
    draw.require(found.where("instance = 'SQL2'"))("position bigint\n 1")

"""Messages that overtook one of a higher level: on links, and in the sends that a trace shows."""

import pytest
from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.conformance.links import LinkRows, conformance_links, conformance_sends
from tests.support.frames import assert_same, frame, instant

ENDPOINTS = """
    conversation_id | initiator_at | target_at | initiator_level int | target_level int | created_at timestamp
    high            | SQL1.A       | SQL2.C    | 9                   | 5                | 08:00
    low             | SQL1.A       | SQL2.C    | 3                   | 5                | 08:00
    off             | SQL1.B       | SQL2.C    | 9                   | 5                | 08:00
    near            | SQL1.A       | SQL1.B    | 9                   | 5                | 08:00
    not yet         | SQL1.A       | SQL2.C    | 9                   | 5                | 12:00
"""
HIGH = "high 1 | high | true | 1 | 09:00 | 09:10 | 200"
"""Of level 9, sent at 09:00, there at 09:10."""


def overtaken(session: SparkSession, messages: list[str], **options: object) -> DataFrame:
    """The links of messages: id, conversation, direction, number, sent at, arrived at, bytes."""
    sides = []
    drawn = frame(session, ENDPOINTS)
    for side, is_initiator in (("initiator", True), ("target", False)):
        sides.append(
            drawn.select(
                "conversation_id",
                F.lit(is_initiator).alias("is_initiator"),
                F.substring_index(f"{side}_at", ".", 1).alias("instance"),
                F.substring_index(f"{side}_at", ".", -1).alias("database"),
                F.col(f"{side}_level").alias("priority"),
                "created_at",
            )
        )
    header = (
        "message_id | conversation_id | sent_by_initiator boolean | message_sequence_number bigint | "
        "sent_at timestamp | arrived_at timestamp | size_bytes bigint"
    )
    forwarded = """
        message_id    | event_type       | event_time timestamp | instance
        by another    | FORWARD_ACCEPTED | 09:05                | HUB
        by another    | FORWARD_ACCEPTED | 09:04                | SQL1
        by its own    | FORWARD_ACCEPTED | 09:05                | SQL1
        only later on | FORWARD_ACCEPTED | 12:00                | HUB
        only sent     | SENT             | 09:00                | HUB
    """
    honoring = "instance | database | honors boolean\nSQL1 | A | true\nSQL1 | B | false\nSQL2 | C | true"
    rows = LinkRows(
        frame(session, forwarded),
        frame(session, "\n".join([header, *messages])),
        sides[0].unionByName(sides[1]),
        frame(session, honoring),
    )
    given = {"since": None, "as_of": instant("12:00"), "fragment_bytes": None, **options}
    return conformance_links(rows, **given)


CASES = {
    "sent later, there first": ("m | low | true | 1 | 09:01 | 09:09 | 10", 1),
    "sent at once": ("m | low | true | 1 | 09:00 | 09:09 | 10", 1),
    "there at once": ("m | low | true | 1 | 09:01 | 09:10 | 10", 0),
    "sent earlier": ("m | low | true | 1 | 08:59:59.999999 | 09:09 | 10", 0),
    "there later": ("m | low | true | 1 | 09:01 | 09:11 | 10", 0),
    "of the same level": ("m | high | true | 2 | 09:01 | 09:09 | 10", 0),
    "not honored: level 5": ("m | off | true | 1 | 09:01 | 09:09 | 10", 1),
    "forwarded by its own instance": ("by its own | low | true | 1 | 09:01 | 09:09 | 10", 1),
    "forwarded after as_of": ("only later on | low | true | 1 | 09:01 | 09:09 | 10", 1),
    "of another event of a hub": ("only sent | low | true | 1 | 09:01 | 09:09 | 10", 1),
}
"""A message beside HIGH, and how many inversions that gives."""


@pytest.mark.parametrize("case", CASES)
def test_a_message_overtakes_one_of_a_higher_level(session: SparkSession, case: str) -> None:
    message, inversions = CASES[case]
    expected = f"""
        sending_instance | receiving_instance | messages bigint | with_inversion bigint | inversions bigint | inversions_fragmented bigint
        SQL1             | SQL2               | 2               | {inversions}          | {inversions}      | -
    """  # noqa: E501
    assert_same(overtaken(session, [HIGH, message]), frame(session, expected))


LEFT_OUT = [
    "by another | low | true | 2 | 09:01 | 09:09 | 10",
    "m1 | near | true | 1 | 09:01 | 09:09 | 10",
    "m2 | not yet | true | 1 | 09:01 | 09:09 | 10",
    "m3 | unknown | true | 1 | 09:01 | 09:09 | 10",
    "m4 | low | true | 3 | - | 09:09 | 10",
    "m5 | low | true | 4 | 09:01 | - | 10",
    "m6 | low | true | 5 | 09:01 | 12:00 | 10",
    "m7 | low | true | 6 | 12:00 | 09:09 | 10",
]


def test_messages_that_say_nothing_of_a_link(session: SparkSession) -> None:
    """Forwarded by a third instance, on one instance, without two endpoints, or not there before as_of."""
    [row] = overtaken(session, [HIGH, *LEFT_OUT]).collect()
    assert (row.messages, row.inversions) == (1, 0)


MANY = [
    HIGH,
    "high 0 | high | true | 0 | 09:20 | 09:30 | 10",
    "low 1 | low | true | 1 | 09:20 | 09:09 | 10",
    "low 2 | low | true | 2 | 09:30 | 09:25 | 10",
    "low 3 | low | true | - | 09:30 | 10:00 | 10",
    "reply 1 | high | false | 1 | 09:00 | 09:01 | 10",
    "early | low | true | 0 | 08:00 | 08:10 | 10",
]


def test_pairs_of_each_link(session: SparkSession) -> None:
    """high 1 can be sent at 09:20, after high 0: low 1 overtakes both of them, low 2 only high 0."""
    expected = """
        sending_instance | receiving_instance | messages bigint | with_inversion bigint | inversions bigint | inversions_fragmented bigint
        SQL1             | SQL2               | 6               | 2                     | 3                 | 1
        SQL2             | SQL1               | 1               | 0                     | 0                 | 0
    """  # noqa: E501
    assert_same(overtaken(session, MANY, fragment_bytes=199), frame(session, expected))
    assert {row.inversions_fragmented for row in overtaken(session, MANY, fragment_bytes=200).collect()} == {
        0
    }
    since = {row.messages for row in overtaken(session, MANY, since=instant("09:09")).collect()}
    assert since == {5}


SENT_MESSAGES = """
    message_id | conversation_id | sent_by_initiator boolean | message_sequence_number int | sent_at timestamp
    h0         | high            | true                      | 0                              | 09:00
    h1         | high            | true                      | 1                              | 09:01
    l0         | low             | true                      | 0                              | 09:00
    m0         | near            | true                      | 0                              | 09:00
"""
ENDPOINTS_OF_SENDS = """
    conversation_id | is_initiator boolean | instance
    high            | true                 | SQL1
    high            | false                | SQL2
    low             | true                 | SQL1
    near            | true                 | SQL1
    near            | false                | SQL1
"""
SENDS = (
    "instance | conversation_id | sent_by_initiator boolean | message_sequence_number bigint | "
    "fragment bigint | sent_at timestamp | level int | honor boolean | elevated boolean\n"
)
SEND_CASES = {
    "sent before a higher one that waits": (["high 1 09:05 9 true false", "low 0 09:04 3 true false"], 1),
    "a higher one comes at once": (["high 1 09:05 9 true false", "low 0 09:01 3 true false"], 0),
    "sent at once": (["high 1 09:04 9 true false", "low 0 09:04 3 true false"], 0),
    "sent after it": (["high 1 09:03 9 true false", "low 0 09:04 3 true false"], 0),
    "of one level": (["high 1 09:05 3 true false", "low 0 09:04 3 true false"], 0),
    "the higher one was elevated": (["high 1 09:05 9 true true", "low 0 09:04 3 true false"], 0),
    "not honored": (["high 1 09:05 9 false false", "low 0 09:04 5 true false"], 0),
    "nobody knows whether it is honored": (["high 1 09:05 9 - false", "low 0 09:04 3 true false"], 0),
    "two wait": (["high 0 09:06 9 true false", "high 1 09:05 9 true false", "low 0 09:04 3 true false"], 2),
}


@pytest.mark.parametrize("case", SEND_CASES)
def test_a_message_is_sent_before_one_of_a_higher_level(session: SparkSession, case: str) -> None:
    drawn, inversions = SEND_CASES[case]
    rows = []
    for each in drawn:
        conversation, number, at, level, honor, elevated = each.split()
        rows.append(f"SQL1 | {conversation} | true | {number} | 0 | {at} | {level} | {honor} | {elevated}")
    [row] = conformance_sends(
        frame(session, SENDS + "\n".join(rows)),
        frame(session, SENT_MESSAGES),
        frame(session, ENDPOINTS_OF_SENDS),
        since=None,
        as_of=instant("12:00"),
    ).collect()
    known = sum(" - " not in each for each in drawn)
    # The message to the own instance is sent to no other.
    assert (row.instance, row.messages, row.all_messages) == ("SQL1", known, 3)
    assert (row.inversions, row.with_inversion) == (inversions, min(inversions, 1))

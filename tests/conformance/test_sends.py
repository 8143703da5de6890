"""Messages that a trace shows to be sent before others of a higher level."""

import pytest
from pyspark.sql import SparkSession

from pipelines.conformance.sends import conformance_sends
from tests.support.frames import frame, instant

MESSAGES = """
    message_id | conversation_id | sent_by_initiator boolean | message_sequence_number int | sent_at timestamp
    h0         | high            | true                      | 0                              | 09:00
    h1         | high            | true                      | 1                              | 09:01
    l0         | low             | true                      | 0                              | 09:00
    m0         | near            | true                      | 0                              | 09:00
"""
ENDPOINTS = """
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
CASES = {
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


@pytest.mark.parametrize("case", CASES)
def test_a_message_is_sent_before_one_of_a_higher_level(session: SparkSession, case: str) -> None:
    drawn, inversions = CASES[case]
    rows = []
    for each in drawn:
        conversation, number, at, level, honor, elevated = each.split()
        rows.append(f"SQL1 | {conversation} | true | {number} | 0 | {at} | {level} | {honor} | {elevated}")
    [row] = conformance_sends(
        frame(session, SENDS + "\n".join(rows)),
        frame(session, MESSAGES),
        frame(session, ENDPOINTS),
        since=None,
        as_of=instant("12:00"),
    ).collect()
    known = sum(" - " not in each for each in drawn)
    # The message to the own instance is sent to no other.
    assert (row.instance, row.messages, row.all_messages) == ("SQL1", known, 3)
    assert (row.inversions, row.with_inversion) == (inversions, min(inversions, 1))

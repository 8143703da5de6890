"""Messages on their way, by their transmission_status."""

from pyspark.sql import SparkSession

from pipelines.questions.transmission_status import count_statuses
from tests.support.frames import assert_same, frame

SCHEDULE = """
instance | message_id | position bigint | sendable_at timestamp | why_still_here
B        | b/1        | 1               | 12:00                 | away
A        | a/2        | 1               | 12:00                 | away
A        | a/1        | 2               | 12:01                 | away
A        | a/3        | 3               | 12:05                 | -
"""


def test_the_example_has_waited_longest(session: SparkSession) -> None:
    """Positions are of an instance: of two that began to wait together it is the first by id."""
    expected = """
    messages bigint | why_still_here | oldest timestamp | example_message_id
    3               | away           | 12:00            | a/2
    1               | -              | 12:05            | a/3
    """
    assert_same(count_statuses(frame(session, SCHEDULE)), frame(session, expected))

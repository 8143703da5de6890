"""The receive schedule: the order in which one reader receives, a whole group or a few messages at a time."""

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame

from pipelines.schedules.orders import receive_order
from schemas.outputs import RECEIVE_SCHEDULE
from tests.support.drawn import Draw
from tests.support.frames import assert_same

Ready = Callable[[str], DataFrame]


def schedule(draw: Draw, ready: DataFrame, top: int | None) -> DataFrame:
    return receive_order(ready, top=top, materialize=draw.keep)[1]


def test_a_receive_returns_all_messages_of_its_group(draw: Draw, ready: Ready) -> None:
    """Troubleshooting conversation priorities (the vendor's page): low can come before others' high."""
    messages = ready("""
        queue | conversation_group_id | conversation_id | priority | message_id | arrived_at | state
        Q     | mixed                 | low             | 2        | m1         | 12:00      | ready
        Q     | mixed                 | high            | 10       | m2         | 12:09      | ready
        Q     | mixed                 | high            | 10       | m3         | 12:10      | ready
        Q     | single                | c               | 9        | m4         | 12:01      | ready
        Q     | locked                | c1              | 10       | m5         | 12:00      | group_locked
        Q     | locked                | c2              | 1        | m6         | 12:00      | group_locked
        Off   | off                   | c3              | 10       | m7         | 12:00      | queue_off
        P     | mixed                 | c4              | 1        | m8         | 12:00      | ready
    """)
    found = draw.keep(schedule(draw, messages, None))
    draw.require(found, RECEIVE_SCHEDULE)("""
        queue | message_id | position | receive_number | group_priority | priority
        Q     | m2         | 1        | 1              | 10             | 10
        Q     | m3         | 2        | 1              | 10             | 10
        Q     | m1         | 3        | 1              | 10             | 2
        Q     | m4         | 4        | 2              | 9              | 9
        Q     | m5         | -        | -              | 10             | 10
        Q     | m6         | -        | -              | 10             | 1
        Off   | m7         | -        | -              | 10             | 10
        P     | m8         | 1        | 1              | 1              | 1
    """)
    # The other columns are those of the messages.
    places = ("position", "receive_number", "group_priority")
    assert_same(found.drop(*places), messages.drop("arrival_order"))


@pytest.mark.parametrize("are_many", [False, True])
def test_with_top_a_group_comes_back_at_the_level_that_is_left(
    draw: Draw, ready: Ready, monkeypatch: pytest.MonkeyPatch, are_many: bool
) -> None:
    """TOP(2): after each RECEIVE the group's level and its oldest message are those of what is left."""
    # mixed  10: m1 (12:05) m2 (12:06) m3 (12:07)   5: m4 (12:00) m5 (12:08)
    # other  10: m6 (12:06)             5: m7 (12:04)
    if are_many:
        monkeypatch.setattr("pipelines.schedules.orders.are_many", lambda *_: True)
    messages = ready("""
        conversation_group_id | conversation_id | priority | message_id | message_sequence_number | arrived_at
        mixed                 | high            | 10       | m1         | 0                       | 12:05
        mixed                 | high            | 10       | m2         | 1                       | 12:06
        mixed                 | high            | 10       | m3         | 2                       | 12:07
        mixed                 | low             | 5        | m4         | 0                       | 12:00
        mixed                 | low             | 5        | m5         | 1                       | 12:08
        other                 | high too        | 10       | m6         | 0                       | 12:06
        other                 | low too         | 5        | m7         | 0                       | 12:04
    """)
    draw.require(schedule(draw, messages, 2), RECEIVE_SCHEDULE)("""
        message_id | position | receive_number | group_priority
        m1         | 1        | 1              | 10
        m2         | 2        | 1              | 10
        m6         | 3        | 2              | 10
        m7         | 4        | 2              | 10
        m3         | 5        | 3              | 10
        m4         | 6        | 3              | 10
        m5         | 7        | 4              | 5
    """)


def test_the_oldest_message_that_is_left_decides_between_groups_of_a_level(draw: Draw, ready: Ready) -> None:
    """TOP(1): the numbers of the conversation have another order than the arrivals."""
    # g1  m1 (12:05) then m2, m3, m4 (12:06) and m5 (12:00)
    # g2  m6 (12:02) then m7 (12:03)
    messages = ready("""
        conversation_group_id | conversation_id | message_id | message_sequence_number | arrived_at
        g1                    | c1              | m5         | 4                       | 12:00
        g1                    | c1              | m4         | 3                       | 12:06
        g1                    | c1              | m3         | 2                       | 12:06
        g1                    | c1              | m2         | 1                       | 12:06
        g1                    | c1              | m1         | 0                       | 12:05
        g2                    | c2              | m6         | 0                       | 12:02
        g2                    | c2              | m7         | 1                       | 12:03
    """)
    draw.require(schedule(draw, messages, 1), RECEIVE_SCHEDULE)("""
        message_id | position | receive_number
        m1         | 1        | 1
        m2         | 2        | 2
        m3         | 3        | 3
        m4         | 4        | 4
        m5         | 5        | 5
        m6         | 6        | 6
        m7         | 7        | 7
    """)

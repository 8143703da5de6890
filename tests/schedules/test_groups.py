"""Conversation groups: who decides their priority, and the order in which they are chosen."""

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame

from pipelines.schedules.groups import group_priorities, ordered_groups, ready_conversations, ready_groups
from schemas.outputs import GROUP_PRIORITIES
from tests.support.drawn import Draw
from tests.support.factories import at
from tests.support.frames import assert_same
from tests.support.harness import same

PLACE = {"instance": "SQL1", "database": "B", "queue": "Q", "state": "ready"}
CONVERSATIONS = (
    "instance string, database string, queue string, conversation_group_id string, conversation_id string, "
    "priority int, state string, messages bigint, oldest string, oldest_at timestamp, number int, "
    "is_alone boolean"
)
GROUPS = (
    "instance string, database string, queue string, conversation_group_id string, state string, "
    "priority int, oldest_at_priority string, oldest_at timestamp, messages bigint"
)


def test_conversations_with_messages_in_the_order_of_their_group(
    draw: Draw, ready: Callable[[str], DataFrame]
) -> None:
    """By priority, then by the oldest message, not by the order of their names or the number of messages."""
    messages = ready("""
        queue | conversation_group_id | conversation_id | priority | message_id | arrived_at
        Q     | single                | c1              | 2        | m1         | 12:05
        Q     | single                | c1              | 2        | m2         | 12:04
        Q     | several               | c2              | 5        | m3         | 12:03
        Q     | several               | c2              | 5        | m4         | 12:09
        Q     | several               | c3              | 5        | m5         | 12:02
        Q     | several               | c4              | 9        | m6         | 12:08
        Q     | several               | c4              | 9        | m7         | 12:08
        P     | several               | c5              | 10       | m8         | 12:01
    """)
    expected = draw.columns(f"before bigint, {CONVERSATIONS}")("""
        queue | conversation_id | messages | oldest_at | number | before | is_alone
        Q     | c1              | 2        | 12:04     | 1      | 0      | true
        Q     | c4              | 2        | 12:08     | 1      | 0      | false
        Q     | c3              | 1        | 12:02     | 2      | 2      | false
        Q     | c2              | 2        | 12:03     | 3      | 3      | false
        P     | c5              | 1        | 12:01     | 1      | 0      | true
    """)
    assert_same(ready_conversations(messages, same).select(*expected.columns), expected)


def test_a_group_has_the_highest_level_of_its_conversations_with_messages(draw: Draw) -> None:
    """Conversation priorities (the vendor's page): conversations without messages do not count."""
    conversations = draw.rows(CONVERSATIONS, **PLACE)("""
        conversation_group_id | conversation_id | priority | messages | oldest | oldest_at | number | is_alone
        single                | c1              | 2        | 2        | o1     | 12:04     | 1      | true
        several               | c4              | 9        | 2        | o4     | 12:08     | 1      | false
        several               | c3              | 5        | 1        | o3     | 12:02     | 2      | false
        several               | c2              | 5        | 3        | o2     | 12:03     | 3      | false
    """)
    expected = draw.columns(GROUPS)("""
        conversation_group_id | priority | deciding_conversation_id string | oldest_at_priority | oldest_at
        single                | 2        | c1                              | o1                 | 12:04
        several               | 9        | c4                              | o4                 | 12:08
    """)
    assert_same(ready_groups(conversations).select(*expected.columns), expected)
    counted = draw("""
        conversation_group_id | conversations bigint | messages bigint | oldest_arrival timestamp | state
        single                | 1                    | 2               | 12:04                    | ready
        several               | 3                    | 6               | 12:02                    | ready
    """)
    assert_same(ready_groups(conversations).select(*counted.columns), counted)


@pytest.mark.parametrize("are_many", [False, True])
def test_groups_are_chosen_by_priority_and_then_by_age(draw: Draw, are_many: bool) -> None:
    groups = draw.rows(GROUPS, **PLACE)("""
        queue | conversation_group_id | state        | priority | oldest_at_priority | oldest_at | messages
        Q     | low and old           | ready        | 1        | o1                 | 12:01     | 1
        Q     | old                   | ready        | 9        | o2                 | 12:02     | 10
        Q     | new                   | ready        | 9        | o4                 | 12:04     | 100
        Q     | not quite so new      | ready        | 9        | o3                 | 12:04     | 1000
        Q     | locked                | group_locked | 10       | o5                 | 12:01     | 10000
        P     | off                   | queue_off    | 10       | o6                 | 12:01     | 10000
        R     | other queue           | ready        | 3        | o7                 | 12:05     | 10000
    """)
    expected = draw("""
        queue | conversation_group_id | position bigint | before bigint
        Q     | old                   | 1               | 0
        Q     | not quite so new      | 2               | 10
        Q     | new                   | 3               | 1010
        Q     | low and old           | 4               | 1110
        Q     | locked                | -               | -
        P     | off                   | -               | -
        R     | other queue           | 1               | 0
    """)
    assert_same(ordered_groups(groups, are_many=are_many).select(*expected.columns), expected)


def test_the_table_of_groups(draw: Draw) -> None:
    rows = draw.rows(GROUP_PRIORITIES, conversations=1, messages=2, oldest_arrival=at(0), **PLACE)("""
        conversation_group_id | priority | deciding_conversation_id | position
        g1                    | 9        | c1                       | 1
    """).drop("as_of", "as_of_key")
    more = draw("oldest_at_priority | oldest_at timestamp | before bigint\n o1 | 12:00 | 0")
    assert_same(group_priorities(rows.crossJoin(more)), rows)

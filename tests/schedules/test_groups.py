"""Conversation groups: who decides their priority, and the order in which they are chosen."""

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame

from pipelines.schedules.groups import group_priorities, ordered_groups, ready_conversations, ready_groups
from schemas.outputs import GROUP_PRIORITIES
from tests.support.drawn import Draw
from tests.support.frames import assert_same

PLACE = {"instance": "SQL1", "database": "B", "queue": "Q", "state": "ready"}


def test_a_group_has_the_highest_level_of_its_conversations_with_messages(
    draw: Draw, ready: Callable[[str], DataFrame]
) -> None:
    """Conversation priorities (the vendor's page); by priority, then by the oldest message."""
    messages = ready("""
        queue | conversation_group_id | conversation_id | priority | message_id | arrived_at
        Q     | single                | c1              | 2        | m1         | 12:05
        Q     | single                | c1              | 2        | m2         | 12:04
        Q     | several               | c2              | 5        | m3         | 12:01
        Q     | several               | c2              | 5        | m4         | 12:09
        Q     | several               | c3              | 5        | m5         | 12:02
        Q     | several               | c4              | 9        | m6         | 12:08
        Q     | several               | c4              | 9        | m7         | 12:08
        P     | several               | c5              | 10       | m8         | 12:01
    """)
    conversations = draw.keep(ready_conversations(messages, draw.keep))
    draw.require(conversations)("""
        queue | conversation_id | messages bigint | oldest_at timestamp | number int | before bigint
        Q     | c1              | 2               | 12:04               | 1          | 0
        Q     | c4              | 2               | 12:08               | 1          | 0
        Q     | c2              | 2               | 12:01               | 2          | 2
        Q     | c3              | 1               | 12:02               | 3          | 4
        P     | c5              | 1               | 12:01               | 1          | 0
    """)
    draw.require(conversations.where("is_alone"))("conversation_id\n c1\n c5")
    found = draw.keep(ready_groups(conversations))
    draw.require(found, GROUP_PRIORITIES)("""
        queue | priority | deciding_conversation_id | conversations | messages | oldest_arrival
        Q     | 2        | c1                       | 1             | 2        | 12:04
        Q     | 9        | c4                       | 3             | 5        | 12:01
        P     | 10       | c5                       | 1             | 1        | 12:01
    """)
    # The deciding conversation has the oldest message at the group's priority.
    times = draw("queue | oldest_at timestamp\n Q | 12:04\n Q | 12:08\n P | 12:01")
    assert_same(found.select("queue", "oldest_at"), times)
    decided = conversations.where("number = 1").select("oldest")
    assert_same(found.select("oldest_at_priority"), decided.withColumnRenamed("oldest", "oldest_at_priority"))


GROUPS = (
    "instance string, database string, queue string, conversation_group_id string, state string, "
    "priority int, oldest_at_priority string, oldest_at timestamp, messages bigint, "
    "deciding_conversation_id string, conversations bigint, oldest_arrival timestamp"
)


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
    found = ordered_groups(groups, are_many=are_many)
    draw.require(found)("""
        queue | conversation_group_id | position bigint | before bigint
        Q     | old                   | 1               | 0
        Q     | not quite so new      | 2               | 10
        Q     | new                   | 3               | 1010
        Q     | low and old           | 4               | 1110
        Q     | locked                | -               | -
        P     | off                   | -               | -
        R     | other queue           | 1               | 0
    """)
    table = group_priorities(found)
    assert {*table.columns} == {*GROUP_PRIORITIES.names} - {"as_of", "as_of_key"}
    assert_same(table, found.select(*table.columns))

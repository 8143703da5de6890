"""Published schedules with both levels, and the positions of their messages before and after."""

from pyspark.sql import SparkSession, functions as F

from pipelines.config.model import Starvation
from pipelines.whatif.moves import (
    group_moves,
    published_owners,
    received_by_level,
    received_moves,
    sent_by_level,
    sent_moves,
)
from tests.support.frames import assert_same, frame, instant

LEVELS = """
    conversation_id | is_initiator boolean | contract | local_service | recorded int | proposed int
    c1              | true                 | Gold     | Initiator     | 3            | 8
    c1              | false                | Gold     | Target        | 4            | 9
"""


def test_owners_of_published_messages(session: SparkSession) -> None:
    """The receiver of a message that is ready, the sender of one that waits."""
    received = frame(session, "conversation_id | is_initiator boolean\nc1 | false\nc1 | false\nc2 | true")
    sent = frame(session, "conversation_id | sent_by_initiator boolean\nc1 | true\nc2 | true")
    expected = "conversation_id | is_initiator boolean\nc1 | false\nc1 | true\nc2 | true"
    assert_same(published_owners(received, sent), frame(session, expected))


def test_ready_messages_with_both_levels(session: SparkSession) -> None:
    """A message without a known owner keeps its published level; names are the owner's."""
    schedule = frame(
        session,
        """
        message_id | conversation_id | is_initiator boolean | priority int | contract
        m1         | c1              | false                | 5            | older
        m2         | c1              | true                 | 5            | older
        m3         | unknown         | false                | 7            | older
        """,
    )
    expected = """
        message_id | is_initiator boolean | level int | level_before int | level_after int | contract | local_service
        m1         | false                | 5         | 4                | 9               | Gold     | Target
        m2         | true                 | 5         | 3                | 8               | Gold     | Initiator
        m3         | false                | 7         | 7                | 7               | -        | -
    """  # noqa: E501
    found = received_by_level(schedule, frame(session, LEVELS))
    assert_same(found.select(*frame(session, expected).columns), frame(session, expected))


SENT = """
    message_id | database | conversation_id | sent_by_initiator boolean | priority int | transmit_priority int | elevated boolean | forwarded boolean | sendable_at timestamp
    honored    | A        | c1              | true                      | 3            | 4                     | false            | false             | 11:50
    old        | A        | c1              | true                      | 3            | 6                     | true             | false             | 11:00
    not before | B        | c1              | false                     | 4            | 4                     | false            | false             | 11:50
    forwarded  | A        | c1              | true                      | 3            | 4                     | false            | true              | 11:00
    unknown    | A        | c9              | true                      | 7            | 7                     | false            | false             | 11:50
"""  # noqa: E501
SENT_BY_LEVEL = """
    message_id | level int | level_before int | level_after int | contract | local_service
    honored    | 4         | 3                | 8               | Gold     | Initiator
    old        | 6         | 3                | 10              | Gold     | Initiator
    not before | 4         | 5                | 9               | Gold     | Target
    forwarded  | 4         | 5                | 5               | Gold     | Initiator
    unknown    | 7         | 7                | 7               | -        | -
"""


def test_messages_to_send_with_both_levels_that_count(session: SparkSession) -> None:
    """B honors priorities in the proposal only, which also raises what has waited for an hour."""
    schedule = frame(session, SENT).withColumn("instance", F.lit("SQL1"))
    honoring = {
        "before": frame(session, "instance | database | honors boolean\nSQL1 | A | true\nSQL1 | B | false"),
        "after": frame(session, "instance | database | honors boolean\nSQL1 | A | true\nSQL1 | B | true"),
    }
    starvation = {"before": None, "after": Starvation(after_seconds=3600, raise_by=3)}
    levels = frame(session, LEVELS)
    found = sent_by_level(schedule, levels, honoring, starvation, as_of=instant("12:00"))
    expected = frame(session, SENT_BY_LEVEL)
    assert_same(found.select(*expected.columns), expected)
    assert not {"elevated", "transmit_priority"} & {*found.columns}


def test_groups_before_and_after(session: SparkSession) -> None:
    """Where the new order has no such group, its own values stay."""
    place = {name: F.lit(value) for name, value in (("instance", "SQL1"), ("database", "B"), ("queue", "Q"))}
    published = frame(
        session,
        """
        conversation_group_id | priority int | position bigint | messages bigint | conversations bigint
        g1                    | 8            | 1               | 3               | 1
        g2                    | 5            | 2               | 1               | 1
        g3                    | 5            | -               | 2               | 1
        """,
    ).withColumns(place)
    reordered = frame(
        session,
        """
        conversation_group_id | priority int | position bigint | oldest_at_priority | oldest_at | before
        g1                    | 2            | 2               | -                  | -         | -
        g2                    | 9            | 1               | -                  | -         | -
        g9                    | 9            | 3               | -                  | -         | -
        """,
    ).withColumns(place)
    expected = """
        conversation_group_id | priority_before int | priority_after int | position_before bigint | position_after bigint | messages bigint
        g1                    | 8                   | 2                  | 1                      | 2                     | 3
        g2                    | 5                   | 9                  | 2                      | 1                     | 1
        g3                    | 5                   | 5                  | -                      | -                     | 2
    """  # noqa: E501
    found = group_moves(published, {"after": reordered})
    assert_same(found.drop("instance", "database", "queue"), frame(session, expected))
    assert found.columns[:4] == ["instance", "database", "queue", "conversation_group_id"]


RECEIVED = """
    message_id | queue | position bigint | receive_number bigint | level int | level_before int | level_after int | state
    m1         | Q     | 1               | 1                     | 8         | 8                | 2               | ready
    m2         | Q     | 2               | 2                     | 5         | 5                | 5               | ready
    m3         | Q     | -               | -                     | 5         | 5                | 5               | group_locked
    m1         | R     | 7               | 6                     | 5         | 5                | 5               | ready
"""  # noqa: E501
MOVES = """
    message_id | queue | position_before bigint | position_after bigint | moved bigint | receive_number_before bigint | receive_number_after bigint
    m1         | Q     | 1                      | 2                     | -1           | 1                            | 2
    m2         | Q     | 2                      | 1                     | 1            | 2                            | 1
    m3         | Q     | -                      | -                     | -            | -                            | -
    m1         | R     | 7                      | 7                     | 0            | 6                            | 6
"""  # noqa: E501


def test_ready_messages_before_and_after(session: SparkSession) -> None:
    """Queue R is not reordered: its messages keep their published positions."""
    names = {"instance": "SQL1", "database": "B", "contract": "Gold", "local_service": "Target"}
    constant = {name: F.lit(value) for name, value in names.items()}
    rows = frame(session, RECEIVED).withColumns(constant)
    after = """
        message_id | queue | position bigint | receive_number bigint
        m1         | Q     | 2               | 2
        m2         | Q     | 1               | 1
        m3         | Q     | -               | -
    """
    found = received_moves(rows, {"after": frame(session, after).withColumns(constant)})
    expected = frame(session, MOVES)
    assert_same(found.select(*expected.columns), expected)
    told = found.select("queue", "kind", "level_after", "reordered_before", "reordered_after", "state")
    states = """
        queue | kind    | level_after int | reordered_before boolean | reordered_after boolean | state
        Q     | receive | 2               | false                    | true                    | ready
        Q     | receive | 5               | false                    | true                    | ready
        Q     | receive | 5               | false                    | true                    | group_locked
        R     | receive | 5               | false                    | false                   | ready
    """
    assert_same(told, frame(session, states))


def test_messages_to_send_before_and_after(session: SparkSession) -> None:
    """Both orders are new here; what happens on a queue is null."""
    names = {"database": "A", "contract": "Gold", "local_service": "Initiator"}
    rows = frame(
        session,
        """
        message_id | instance | position bigint | level int | level_before int | level_after int
        m1         | SQL1     | 5               | 5         | 5                | 9
        m2         | SQL1     | 6               | 5         | 5                | 5
        """,
    ).withColumns({name: F.lit(value) for name, value in names.items()})
    orders = {
        "before": frame(session, "message_id | instance | position bigint\nm1 | SQL1 | 2\nm2 | SQL1 | 1"),
        "after": frame(session, "message_id | instance | position bigint\nm1 | SQL1 | 1\nm2 | SQL1 | 2"),
    }
    expected = """
        message_id | kind         | queue | position_before bigint | position_after bigint | moved bigint | receive_number_after bigint | state
        m1         | transmission | -     | 2                      | 1                     | 1            | -                           | -
        m2         | transmission | -     | 1                      | 2                     | -1           | -                           | -
    """  # noqa: E501
    found = sent_moves(rows, orders)
    assert_same(found.select(*frame(session, expected).columns), frame(session, expected))

"""What stays open because a later as_of can need it; everything else closes."""

from datetime import date

import pytest
from pyspark.sql import DataFrame, functions as F

from pipelines.ingest.retention import (
    CloseAt,
    select_closing_conversations,
    select_last_of_kind,
    select_open_conversations,
    select_open_messages,
    select_open_queue_events,
    select_open_transactions,
    select_redelivered,
)
from pipelines.state.ledger import Ledger
from pipelines.state.open_messages import StateOfMessages
from schemas.events import MESSAGES, QUEUE_FACTS
from tests.support.drawn import Draw
from tests.support.frames import DAY, assert_same, instant
from tests.support.harness import same

AT_NOON = CloseAt(closed_on=DAY, state_at=instant("12:00"), settled_before=instant("11:45"))


@pytest.mark.parametrize(
    ("as_of", "newest", "first_day", "closes"),
    [
        # Without an as_of, what is settled at the end of the log's newest day.
        (None, "11-20 12:00", None, (20, "11-21 00:00", "11-20 11:45")),
        # Midnight: the log goes on for four minutes.
        ("11-21 00:00", "11-21 00:04", None, (20, "11-21 00:00", "11-20 23:49")),
        # An older moment closes less: what has an event since stays open.
        ("11-20 06:00", "11-20 12:00", None, (20, "11-20 06:00", "11-20 06:00")),
        ("11-20 00:00", "11-20 12:00", None, (19, "11-20 00:00", "11-20 00:00")),
        # Far ahead of the log: rows get no day on which nothing happened.
        ("11-28 00:00", "11-20 12:00", None, (20, "11-21 00:00", "11-20 11:45")),
        # Rows of the day before were pruned.
        ("11-20 00:00", "11-20 12:00", DAY, (20, "11-20 00:00", "11-20 00:00")),
    ],
)
def test_the_moments_by_which_a_night_closes(
    as_of: str | None, newest: str, first_day: date | None, closes: tuple[int, str, str]
) -> None:
    found = CloseAt.at(instant(as_of) if as_of else None, instant(newest), first_day)
    day, state_at, settled_before = closes
    assert found == CloseAt(date(2026, 11, day), instant(state_at), instant(settled_before))


SIDES = """
    conversation_id  | known array<string> | i_ended timestamp | t_ended timestamp | arrived timestamp | last timestamp  | stays boolean
    both live        | [i, t]              | -                 | -                 | -                 | 08:00           | true
    target lives     | [i, t]              | 10:00             | -                 | -                 | 10:00           | true
    initiator lives  | [i, t]              | -                 | 10:00             | -                 | 10:00           | true
    both over        | [i, t]              | 10:00             | 10:00             | 09:00             | 10:00           | false
    over by a moment | [i, t]              | 11:59:59.999999   | 10:00             | -                 | 10:00           | false
    ends at as_of    | [i, t]              | 12:00             | 10:00             | -                 | 10:00           | true
    target at as_of  | [i, t]              | 10:00             | 12:00             | -                 | 10:00           | true
    alone            | [i]                 | -                 | -                 | -                 | 08:00           | true
    alone, over      | [i]                 | 10:00             | -                 | -                 | 10:00           | false
    inferred target  | [i]                 | 10:00             | -                 | 09:00             | 10:00           | true
    inferred, over   | [i]                 | 10:00             | 10:00             | 09:00             | 10:00           | false
    target alone     | [t]                 | -                 | -                 | 09:00             | 08:00           | true
    target over      | [t]                 | -                 | 10:00             | 09:00             | 10:00           | false
    an arrival       | []                  | -                 | -                 | 09:00             | -               | false
    an end           | []                  | 10:00             | -                 | -                 | 10:00           | false
    an end, recently | []                  | 10:00             | -                 | -                 | 11:45           | true
    almost recently  | []                  | 10:00             | -                 | -                 | 11:44:59.999999 | false
    open message     | [i, t]              | 10:00             | 10:00             | 09:00             | 10:00           | true
"""  # noqa: E501


def test_conversations_that_stay_open_and_those_that_close(draw: Draw) -> None:
    """A known endpoint lives, a message is open, or an event is recent; in whichever way they are named."""
    drawn = draw(SIDES)
    sides = drawn.select(
        "conversation_id",
        F.array_contains("known", "i").alias("initiator_known"),
        F.array_contains("known", "t").alias("target_known"),
        F.col("i_ended").alias("initiator_ended_at"),
        F.col("t_ended").alias("target_ended_at"),
        F.col("arrived").alias("first_arrived_at"),
        F.col("last").alias("last_event_at"),
    )
    messages = draw("conversation_id\nopen message\nopen message\nboth live\nof no side")
    no_side = draw("conversation_id\nof no side")
    open_ones = drawn.where("stays").select("conversation_id").unionByName(no_side)
    assert_same(select_open_conversations(sides, messages, AT_NOON), open_ones)
    closing = drawn.where("not stays").select("conversation_id")
    assert_same(select_closing_conversations(sides, messages, AT_NOON), closing)


def test_messages_that_stay_open(draw: Draw) -> None:
    """With a state, recent, or given back; each with the conversations that its events name, one first."""
    events = draw("""
        message_id | conversation_id | event_time timestamp
        with state | c1              | 08:00
        with state | c1              | 11:50
        with state | c2              | 11:50
        recent     | c2              | 11:45
        recent     | c1              | 12:30
        recent     | c0              | 08:00
        settled    | c1              | 11:44:59.999999
        given back | c1              | 11:50
    """)
    with_state = draw("message_id | conversation_id\nwith state | c1\nold | c9")
    redelivered = draw("message_id | conversation_id\ngiven back | c1\nbefore | c3")
    of_state_and_recent = """
        message_id | conversation_id | is_first boolean
        with state | c1              | true
        with state | c2              | false
        old        | c9              | true
        recent     | c1              | true
        recent     | c2              | false
        given back | c1              | true
    """
    found = select_open_messages(events, with_state, redelivered, AT_NOON)
    assert_same(found, draw(of_state_and_recent + "before | c3 | true"))
    found = select_open_messages(events, with_state, None, AT_NOON)
    assert_same(found, draw(of_state_and_recent))


def ledger(messages: DataFrame, queues: DataFrame) -> Ledger:
    return Ledger(messages, messages, queues, messages, has_queue_events=True)


def test_transactions_that_stay_open(draw: Draw) -> None:
    """They are open, received a message that stays open, or have a recent event."""
    messages = draw("""
        event_type | message_id | instance | transaction_id
        RECEIVED   | open       | SQL1     | needed
        RECEIVED   | open       | SQL2     | needed
        RECEIVED   | open       | SQL1     | -
        DELIVERED  | open       | SQL1     | delivers
        RECEIVED   | closed     | SQL1     | over
    """)
    queues = draw("""
        event_type | instance | transaction_id | event_time timestamp
        COMMIT     | SQL1     | recent         | 11:45
        COMMIT     | SQL1     | needed         | 11:50
        COMMIT     | SQL1     | over           | 11:44:59.999999
        RECEIVE    | SQL1     | -              | 11:50
    """)
    uncommitted = draw(
        "instance | transaction_id | is_open boolean\n SQL1 | open | true\n SQL1 | back | false"
    )
    open_messages = draw("message_id | conversation_id\n open | c1\n open | c2")
    found = select_open_transactions(ledger(messages, queues), uncommitted, open_messages, AT_NOON)
    expected = "instance | transaction_id\n SQL1 | needed\n SQL2 | needed\n SQL1 | recent\n SQL1 | open"
    assert_same(found, draw(expected))


def test_queue_events_that_no_later_one_supersedes(draw: Draw) -> None:
    """The last WAIT_* and TASK_* of a session, the last ON or OFF and the last empty result of a queue.

    The first event since a queue was on that says that it is off, logged and shown, stays as well.
    """
    drawn = draw.rows(QUEUE_FACTS, instance="SQL1", database="B")("""
        event_id   | event_time | event_type             | session_id | queue_status | row_count | has_where | queue | seen_at | last boolean
        off        | 08:00      | QUEUE_ALTERED          | -          | OFF          | -         | -         | Q     | -       | false
        on         | 09:00      | QUEUE_ALTERED          | -          | ON           | -         | -         | Q     | -       | true
        other      | 10:00      | QUEUE_ALTERED          | -          | -            | -         | -         | Q     | -       | false
        later      | 12:00      | QUEUE_ALTERED          | -          | OFF          | -         | -         | Q     | -       | false
        on there   | 08:00      | QUEUE_ALTERED          | -          | ON           | -         | -         | R     | -       | false
        shown      | 08:01      | QUEUE_ALTERED          | -          | OFF          | -         | -         | R     | 08:02   | true
        shown then | 08:03      | QUEUE_ALTERED          | -          | OFF          | -         | -         | R     | 08:04   | false
        logged     | 08:05      | QUEUE_ALTERED          | -          | OFF          | -         | -         | R     | -       | true
        logged too | 08:06      | QUEUE_ALTERED          | -          | OFF          | -         | -         | R     | -       | false
        newest     | 08:07      | QUEUE_ALTERED          | -          | OFF          | -         | -         | R     | 08:08   | true
        task       | 08:00      | TASK_STARTED           | 51         | -            | -         | -         | Q     | -       | false
        task over  | 09:00      | TASK_EXITED            | 51         | -            | -         | -         | Q     | -       | true
        task too   | 08:00      | TASK_STARTED           | 52         | -            | -         | -         | Q     | -       | true
        of nobody  | 08:00      | TASK_STARTED           | -          | -            | -         | -         | Q     | -       | true
        there      | 07:00      | TASK_STARTED           | 51         | -            | -         | -         | R     | -       | true
        waits      | 08:00      | WAIT_STARTED           | 51         | -            | -         | -         | Q     | -       | false
        waits b    | 09:00      | WAIT_ENDED             | 51         | -            | -         | -         | Q     | -       | true
        waits a    | 09:00      | WAIT_STARTED           | 51         | -            | -         | -         | Q     | -       | false
        empty      | 08:00      | RECEIVE                | -          | -            | 0         | -         | Q     | -       | false
        empty too  | 08:30      | GET_CONVERSATION_GROUP | 51         | -            | 0         | false     | Q     | -       | true
        with where | 09:00      | RECEIVE                | -          | -            | 0         | true      | Q     | -       | false
        rows       | 09:00      | RECEIVE                | -          | -            | 1         | -         | Q     | -       | false
        commit     | 09:00      | COMMIT                 | -          | -            | 0         | -         | Q     | -       | false
    """)  # noqa: E501
    expected = drawn.where("last").select("event_time", "event_id")
    assert_same(select_last_of_kind(drawn.drop("last"), AT_NOON), expected)


def test_queue_events_that_stay_open(draw: Draw) -> None:
    events = draw("""
        event_id | event_time timestamp | instance | transaction_id | stays boolean
        open     | 08:00                | SQL1     | t1             | true
        other    | 08:00                | SQL2     | t1             | false
        nobody   | 08:00                | SQL1     | -              | false
        last     | 08:00                | SQL1     | -              | true
        recent   | 11:45                | SQL1     | t1             | true
        settled  | 11:44:59.999999      | SQL1     | t2             | false
    """)
    last = events.where("event_id in ('last', 'recent')").select("event_time", "event_id")
    transactions = draw("instance | transaction_id\n SQL1 | t1")
    found = select_open_queue_events(events.drop("stays"), transactions, last, AT_NOON)
    assert_same(found, events.where("stays").select("event_time", "event_id"))


TAKES = """
    message_id       | event_type | event_time      | transaction_id | sent_by_initiator | instance | given_back boolean
    never given back | RECEIVED   | 08:00           | open           | true              | SQL1     | true
    never given back | RECEIVED   | 09:00           | -              | true              | SQL1     | true
    back in between  | RECEIVED   | 08:00           | back at 08:30  | true              | SQL1     | false
    back in between  | RECEIVED   | 09:00           | -              | true              | SQL1     | false
    back at the last | RECEIVED   | 08:00           | back at 08:30  | true              | SQL1     | true
    back at the last | RECEIVED   | 08:30           | -              | true              | SQL1     | true
    back afterwards  | RECEIVED   | 08:00           | back at 08:30  | true              | SQL1     | true
    back afterwards  | RECEIVED   | 08:20           | -              | true              | SQL1     | true
    back before      | RECEIVED   | 08:30:00.000001 | back at 08:30  | true              | SQL1     | true
    back before      | DELIVERED  | 10:00           | -              | true              | SQL1     | true
    takes back twice | RECEIVED   | 08:25           | back twice     | true              | SQL1     | true
    takes back twice | RECEIVED   | 08:50           | -              | true              | SQL1     | true
    of an instance   | RECEIVED   | 08:00           | over           | true              | SQL2     | false
    only delivered   | DELIVERED  | 08:00           | open           | true              | SQL1     | false
    has a state      | RECEIVED   | 08:00           | open           | true              | SQL1     | false
    target over      | RECEIVED   | 08:00           | open           | true              | SQL1     | false
    to the initiator | RECEIVED   | 08:00           | open           | false             | SQL1     | true
    ends at as_of    | RECEIVED   | 08:00           | open           | true              | SQL1     | true
"""  # noqa: E501
SIDES_OF_TAKES = """
    conversation_id     | initiator_ended_at timestamp | target_ended_at timestamp
    of target over      | -                            | 10:00
    of to the initiator | -                            | 10:00
    of ends at as_of    | 10:00                        | 12:00
"""
OUTCOMES = """
    event_type | event_time | transaction_id
    ROLLBACK   | 08:30      | back at 08:30
    RECEIVE    | 10:00      | back at 08:30
    ROLLBACK   | 08:40      | back twice
    ROLLBACK   | 08:50      | back twice
    COMMIT     | 12:30      | open
    ROLLBACK   | 08:30      | -
"""


def test_messages_that_a_rollback_gives_back(draw: Draw) -> None:
    """The transaction that held it last has no COMMIT, and no ROLLBACK before the last RECEIVED."""
    of_message = {"event_id": F.col("message_id"), "conversation_id": F.concat(F.lit("of "), "message_id")}
    drawn = draw(TAKES, MESSAGES).withColumns(of_message)
    taken = drawn.drop("given_back")
    outcomes = draw.rows(QUEUE_FACTS, instance="SQL1")(OUTCOMES)
    uncommitted = draw("instance | transaction_id\n SQL1 | open\n SQL1 | back at 08:30\n SQL1 | back twice")
    state = StateOfMessages(AT_NOON.state_at, draw("message_id\n has a state"), taken, uncommitted)
    found = select_redelivered(ledger(taken, outcomes), state, draw(SIDES_OF_TAKES), materialize=same)
    assert_same(found, drawn.where("given_back").select("message_id", "conversation_id").distinct())

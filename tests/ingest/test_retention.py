"""What stays open because a later as_of can need it; everything else closes."""

from datetime import UTC, date, datetime

import pytest
from pyspark.sql import Column, DataFrame, SparkSession, functions as F

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
from tests.support.frames import DAY, assert_same, frame, instant
from tests.support.harness import same

AT_NOON = CloseAt(closed_on=DAY, state_at=instant("12:00"), settled_before=instant("11:45"))


@pytest.mark.parametrize(
    ("as_of", "newest", "first_day", "closes"),
    [
        # Without an as_of, what is settled at the end of the log's newest day.
        (None, "20 12:00", None, ("20", "21 00:00", "20 11:45")),
        # Midnight: the log goes on for four minutes.
        ("21 00:00", "21 00:04", None, ("20", "21 00:00", "20 23:49")),
        # An older moment closes less: what has an event since stays open.
        ("20 06:00", "20 12:00", None, ("20", "20 06:00", "20 06:00")),
        ("20 00:00", "20 12:00", None, ("19", "20 00:00", "20 00:00")),
        # Far ahead of the log: rows get no day on which nothing happened.
        ("28 00:00", "20 12:00", None, ("20", "21 00:00", "20 11:45")),
        # Rows of the day before were pruned.
        ("20 00:00", "20 12:00", "20", ("20", "20 00:00", "20 00:00")),
    ],
)
def test_the_moments_by_which_a_night_closes(
    as_of: str | None, newest: str, first_day: str | None, closes: tuple[str, str, str]
) -> None:
    def moment(text: str) -> datetime:
        return datetime.strptime(f"2026-11-{text}", "%Y-%m-%d %H:%M").replace(tzinfo=UTC)

    found = CloseAt.at(
        as_of and moment(as_of), moment(newest), date(2026, 11, int(first_day)) if first_day else None
    )
    day, state_at, settled_before = closes
    assert found == CloseAt(date(2026, 11, int(day)), moment(state_at), moment(settled_before))


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


def test_conversations_that_stay_open_and_those_that_close(session: SparkSession) -> None:
    """A known endpoint lives, a message is open, or an event is recent; in whichever way they are named."""
    drawn = frame(session, SIDES)
    sides = drawn.select(
        "conversation_id",
        F.array_contains("known", "i").alias("initiator_known"),
        F.array_contains("known", "t").alias("target_known"),
        F.col("i_ended").alias("initiator_ended_at"),
        F.col("t_ended").alias("target_ended_at"),
        F.col("arrived").alias("first_arrived_at"),
        F.col("last").alias("last_event_at"),
    )
    messages = frame(session, "conversation_id\nopen message\nopen message\nboth live\nof no side")
    no_side = frame(session, "conversation_id\nof no side")
    open_ones = drawn.where("stays").select("conversation_id").unionByName(no_side)
    assert_same(select_open_conversations(sides, messages, AT_NOON), open_ones)
    closing = drawn.where("not stays").select("conversation_id")
    assert_same(select_closing_conversations(sides, messages, AT_NOON), closing)


def test_messages_that_stay_open(session: SparkSession) -> None:
    """With a state, recent, or given back; each with the conversations that its events name, one first."""
    events = frame(
        session,
        """
        message_id   | conversation_id | event_time timestamp
        with state   | c1              | 08:00
        with state   | c1              | 11:50
        with state   | c2              | 11:50
        recent       | c2              | 11:45
        recent       | c1              | 12:30
        recent       | c0              | 08:00
        settled      | c1              | 11:44:59.999999
        given back   | c1              | 11:50
        """,
    )
    with_state = frame(session, "message_id | conversation_id\nwith state | c1\nold | c9")
    redelivered = frame(session, "message_id | conversation_id\ngiven back | c1\nbefore | c3")
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
    assert_same(found, frame(session, of_state_and_recent + "before | c3 | true"))
    found = select_open_messages(events, with_state, None, AT_NOON)
    assert_same(found, frame(session, of_state_and_recent))


def ledger(messages: DataFrame, queues: DataFrame) -> Ledger:
    return Ledger(messages, messages, queues, messages, has_queue_events=True)


def test_transactions_that_stay_open(session: SparkSession) -> None:
    """They are open, received a message that stays open, or have a recent event."""
    messages = frame(
        session,
        """
        event_type | message_id | instance | transaction_id
        RECEIVED   | open       | SQL1     | needed
        RECEIVED   | open       | SQL2     | needed
        RECEIVED   | open       | SQL1     | -
        DELIVERED  | open       | SQL1     | delivers
        RECEIVED   | closed     | SQL1     | over
        """,
    )
    queues = frame(
        session,
        """
        event_type | instance | transaction_id | event_time timestamp
        COMMIT     | SQL1     | recent         | 11:45
        COMMIT     | SQL1     | needed         | 11:50
        COMMIT     | SQL1     | over           | 11:44:59.999999
        RECEIVE    | SQL1     | -              | 11:50
        """,
    )
    uncommitted = frame(
        session, "instance | transaction_id | is_open boolean\nSQL1 | open | true\nSQL1 | rolled back | false"
    )
    open_messages = frame(session, "message_id | conversation_id\nopen | c1\nopen | c2")
    found = select_open_transactions(ledger(messages, queues), uncommitted, open_messages, AT_NOON)
    expected = "instance | transaction_id\nSQL1 | needed\nSQL2 | needed\nSQL1 | recent\nSQL1 | open"
    assert_same(found, frame(session, expected))


QUEUE_EVENTS = """
    event_id   | event_time timestamp | event_type             | session_id bigint | queue_status | row_count bigint | has_where boolean | queue | last boolean
    off        | 08:00                | QUEUE_ALTERED          | -                 | OFF          | -                | -                 | Q     | false
    on         | 09:00                | QUEUE_ALTERED          | -                 | ON           | -                | -                 | Q     | true
    other      | 10:00                | QUEUE_ALTERED          | -                 | -            | -                | -                 | Q     | false
    later      | 12:00                | QUEUE_ALTERED          | -                 | OFF          | -                | -                 | Q     | false
    off there  | 08:00                | QUEUE_ALTERED          | -                 | OFF          | -                | -                 | R     | true
    task       | 08:00                | TASK_STARTED           | 51                | -            | -                | -                 | Q     | false
    task over  | 09:00                | TASK_EXITED            | 51                | -            | -                | -                 | Q     | true
    task too   | 08:00                | TASK_STARTED           | 52                | -            | -                | -                 | Q     | true
    of nobody  | 08:00                | TASK_STARTED           | -                 | -            | -                | -                 | Q     | true
    there      | 07:00                | TASK_STARTED           | 51                | -            | -                | -                 | R     | true
    waits      | 08:00                | WAIT_STARTED           | 51                | -            | -                | -                 | Q     | false
    waits b    | 09:00                | WAIT_ENDED             | 51                | -            | -                | -                 | Q     | true
    waits a    | 09:00                | WAIT_STARTED           | 51                | -            | -                | -                 | Q     | false
    empty      | 08:00                | RECEIVE                | -                 | -            | 0                | -                 | Q     | false
    empty too  | 08:30                | GET_CONVERSATION_GROUP | 51                | -            | 0                | false             | Q     | true
    with where | 09:00                | RECEIVE                | -                 | -            | 0                | true              | Q     | false
    rows       | 09:00                | RECEIVE                | -                 | -            | 1                | -                 | Q     | false
    commit     | 09:00                | COMMIT                 | -                 | -            | 0                | -                 | Q     | false
"""  # noqa: E501


def of_queues(**nulls: str) -> dict[str, Column]:
    """The database, and columns without values."""
    place = {"instance": F.lit("SQL1"), "database": F.lit("B")}
    return place | {name: F.lit(None).cast(type) for name, type in nulls.items()}


def test_queue_events_that_no_later_one_supersedes(session: SparkSession) -> None:
    """The last WAIT_* and TASK_* of a session, the last ON or OFF and the last empty result of a queue."""
    drawn = frame(session, QUEUE_EVENTS).withColumns(of_queues(seen_at="timestamp"))
    expected = drawn.where("last").select("event_time", "event_id")
    assert_same(select_last_of_kind(drawn.drop("last"), AT_NOON), expected)


def test_since_when_a_queue_is_off_stays_known(session: SparkSession) -> None:
    """The first event since it was on that says so, logged and shown, stays beside the last one."""
    drawn = frame(
        session,
        """
        event_id   | event_time timestamp | queue | queue_status | seen_at timestamp | last boolean
        before     | 07:00                | Q     | OFF          | -                 | false
        on         | 08:00                | Q     | ON           | -                 | false
        shown      | 08:01                | Q     | OFF          | 08:02             | true
        shown then | 08:03                | Q     | OFF          | 08:04             | false
        logged     | 08:05                | Q     | OFF          | -                 | true
        logged too | 08:06                | Q     | OFF          | -                 | false
        newest     | 08:07                | Q     | OFF          | 08:08             | true
        off        | 07:00                | R     | OFF          | -                 | false
        on again   | 08:00                | R     | ON           | -                 | true
        later      | 12:00                | R     | OFF          | -                 | false
        """,
    )
    others = of_queues(session_id="bigint", row_count="bigint", has_where="boolean")
    events = drawn.drop("last").withColumns({**others, "event_type": F.lit("QUEUE_ALTERED")})
    expected = drawn.where("last").select("event_time", "event_id")
    assert_same(select_last_of_kind(events, AT_NOON), expected)


def test_queue_events_that_stay_open(session: SparkSession) -> None:
    events = frame(
        session,
        """
        event_id | event_time timestamp | instance | transaction_id
        open     | 08:00                | SQL1     | t1
        other    | 08:00                | SQL2     | t1
        nobody   | 08:00                | SQL1     | -
        last     | 08:00                | SQL1     | -
        recent   | 11:45                | SQL1     | t1
        settled  | 11:44:59.999999      | SQL1     | t2
        """,
    )
    transactions = frame(session, "instance | transaction_id\nSQL1 | t1")
    last = events.where("event_id in ('last', 'recent')").select("event_time", "event_id")
    found = select_open_queue_events(events, transactions, last, AT_NOON)
    expected = "event_time timestamp | event_id\n08:00 | open\n08:00 | last\n11:45 | recent"
    assert_same(found, frame(session, expected))


TAKES = """
    message_id       | event_type | event_time timestamp | transaction_id | by_initiator boolean
    never given back | RECEIVED   | 08:00                | open           | true
    never given back | RECEIVED   | 09:00                | -              | true
    back in between  | RECEIVED   | 08:00                | back at 08:30  | true
    back in between  | RECEIVED   | 09:00                | -              | true
    back at the last | RECEIVED   | 08:00                | back at 08:30  | true
    back at the last | RECEIVED   | 08:30                | -              | true
    back afterwards  | RECEIVED   | 08:00                | back at 08:30  | true
    back afterwards  | RECEIVED   | 08:20                | -              | true
    back before      | RECEIVED   | 08:30:00.000001      | back at 08:30  | true
    back before      | DELIVERED  | 10:00                | -              | true
    takes back twice | RECEIVED   | 08:25                | back twice     | true
    takes back twice | RECEIVED   | 08:50                | -              | true
    of an instance   | RECEIVED   | 08:00                | over           | true
    only delivered   | DELIVERED  | 08:00                | open           | true
    has a state      | RECEIVED   | 08:00                | open           | true
    target over      | RECEIVED   | 08:00                | open           | true
    to the initiator | RECEIVED   | 08:00                | open           | false
    ends at as_of    | RECEIVED   | 08:00                | open           | true
"""
SIDES_OF_TAKES = """
    conversation_id     | initiator_ended_at timestamp | target_ended_at timestamp
    of target over      | -                            | 10:00
    of to the initiator | -                            | 10:00
    of ends at as_of    | 10:00                        | 12:00
"""


def test_messages_that_a_rollback_gives_back(session: SparkSession) -> None:
    """The transaction that held it last has no COMMIT, and no ROLLBACK before the last RECEIVED."""
    taken = frame(session, TAKES).withColumns(
        {
            "event_id": F.col("message_id"),
            "conversation_id": F.concat(F.lit("of "), "message_id"),
            "instance": F.when(F.col("message_id") == "of an instance", "SQL2").otherwise("SQL1"),
        }
    )
    outcomes = frame(
        session,
        """
        event_type | event_time timestamp | instance | transaction_id
        ROLLBACK   | 08:30                | SQL1     | back at 08:30
        RECEIVE    | 10:00                | SQL1     | back at 08:30
        ROLLBACK   | 08:40                | SQL1     | back twice
        ROLLBACK   | 08:50                | SQL1     | back twice
        COMMIT     | 12:30                | SQL1     | open
        ROLLBACK   | 08:30                | SQL1     | -
        """,
    )
    uncommitted = frame(
        session, "instance | transaction_id\nSQL1 | open\nSQL1 | back at 08:30\nSQL1 | back twice"
    )
    state = StateOfMessages(AT_NOON.state_at, frame(session, "message_id\nhas a state"), taken, uncommitted)
    messages = taken.withColumnRenamed("by_initiator", "sent_by_initiator")
    found = select_redelivered(
        ledger(messages, outcomes), state, frame(session, SIDES_OF_TAKES), materialize=same
    )
    names = [
        "never given back", "back at the last", "back afterwards", "back before", "takes back twice",
        "to the initiator", "ends at as_of",
    ]  # fmt: skip
    rows = [f"{name} | of {name}" for name in names]
    assert_same(found, frame(session, "\n".join(["message_id | conversation_id", *rows])))

"""Receiving transactions: outcomes, open ones, and the groups that they lock."""

from pipelines.state.transactions import first_outcomes, named_locks, uncommitted
from schemas.events import MESSAGES, QUEUE_FACTS
from tests.support.drawn import Draw
from tests.support.frames import assert_same


def test_first_outcomes(draw: Draw) -> None:
    events = draw.rows(QUEUE_FACTS)("""
        instance | transaction_id | event_type | event_time
        SQL1     | t1             | COMMIT     | 12:02
        SQL1     | t1             | COMMIT     | 12:01
        SQL1     | t1             | ROLLBACK   | 12:04
        SQL1     | t1             | ROLLBACK   | 12:03
        SQL2     | t1             | ROLLBACK   | 12:05
        SQL1     | t2             | RECEIVE    | 12:06
        SQL1     | -              | COMMIT     | 12:07
    """)
    expected = draw("""
        instance | transaction_id | committed_at timestamp | rolled_back_at timestamp
        SQL1     | t1             | 12:01                  | 12:03
        SQL2     | t1             | -                      | 12:05
    """)
    assert_same(first_outcomes(events), expected)


def test_open_transactions_lock_the_groups_that_they_name(draw: Draw) -> None:
    """A transaction that took something is open without a COMMIT or ROLLBACK; with both, COMMIT counts."""
    messages = draw.rows(MESSAGES, instance="SQL1")("""
        event_type | transaction_id
        RECEIVED   | received
        RECEIVED   | committed
        RECEIVED   | both
        RECEIVED   | -
        DELIVERED  | no receive
    """)
    queues = draw.rows(QUEUE_FACTS, database="B", queue="Q")("""
        instance | event_type             | transaction_id | conversation_group_id | event_time
        SQL1     | COMMIT                 | committed      | - | 12:00
        SQL1     | RECEIVE                | committed      | g1 | 12:00
        SQL1     | ROLLBACK               | both           | - | 12:00
        SQL1     | COMMIT                 | both           | - | 12:00
        SQL1     | RECEIVE                | open           | g2 | 12:03
        SQL1     | RECEIVE                | open           | g2 | 12:02
        SQL1     | RECEIVE                | open           | - | 12:01
        SQL1     | WAIT_STARTED           | open           | g3 | 12:00
        SQL1     | GET_CONVERSATION_GROUP | got a group    | g4 | 12:00
        SQL1     | GET_CONVERSATION_GROUP | rolled back    | g5 | 12:00
        SQL1     | ROLLBACK               | rolled back    | - | 12:00
        SQL1     | ROLLBACK               | took nothing   | - | 12:00
        SQL1     | WAIT_STARTED           | waits          | g6 | 12:00
        SQL1     | RECEIVE                | -              | g7 | 12:00
        SQL2     | RECEIVE                | committed      | g8 | 12:00
    """)
    transactions = uncommitted(messages, queues)
    expected = draw("""
        instance | transaction_id | is_open boolean
        SQL1     | received       | true
        SQL1     | open           | true
        SQL1     | got a group    | true
        SQL1     | rolled back    | false
        SQL2     | committed      | true
    """)
    assert_same(transactions, expected)
    locks = draw("""
        instance | database | queue | conversation_group_id | locked_since timestamp
        SQL1     | B        | Q     | g2                    | 12:02
        SQL1     | B        | Q     | g4                    | 12:00
        SQL2     | B        | Q     | g8                    | 12:00
    """)
    assert_same(named_locks(queues, transactions), locks)

"""Endpoints at a moment: existence, group, queue, and ends."""

from pipelines.state.endpoints import endpoints_at, ends, latest_moves, with_queue
from schemas.events import ENDPOINT_FACTS
from schemas.ledger import ENDPOINTS
from tests.support.drawn import Draw
from tests.support.factories import at
from tests.support.frames import assert_same

ENDED = (
    "conversation_id string, is_initiator boolean, ended_at timestamp, error_at timestamp, "
    "cleanup_at timestamp"
)
BINDINGS = "instance string, database string, service string, queue string"


def test_endpoints_at_a_moment(draw: Draw) -> None:
    """The catalog of today has the queue, a move at or after the creation the group."""
    # c created, 2 and 3 moves
    # moved           c     2     3
    # moved at once         c2
    # moved before          2c
    # to come                            c
    #               12:00 12:10 12:20  13:00 as_of
    endpoints = draw.rows(ENDPOINTS, instance="SQL1", database="A", queue="old queue", is_initiator=True)("""
        conversation_id | local_service | created_at      | first_group_id | conversation_group_id
        moved           | Orders        | 12:00           | g1             | g9
        moved at once   | Orders        | 12:10           | g1             | g9
        moved before    | Orders        | 12:10:00.000001 | g1             | g9
        never moved     | orders        | 12:59:59.999999 | g1             | g9
        to come         | Orders        | 13:00           | g1             | g9
    """)
    events = draw.rows(ENDPOINT_FACTS, event_type="MOVE_CONVERSATION", is_initiator=True, event_id="e")("""
        conversation_id | event_time | conversation_group_id
        moved           | 12:10      | g2
        moved           | 12:20      | g3
        moved at once   | 12:10      | g2
        moved before    | 12:10      | g2
    """)
    bindings = draw.rows(BINDINGS, instance="SQL1")("""
        database | service | queue
        A        | Orders  | OrderQueue
        B        | orders  | another database's
    """)
    draw.require(endpoints_at(endpoints, events, bindings, as_of=at(60)), ENDPOINTS)("""
        conversation_id | exists boolean | queue      | created_at      | conversation_group_id
        moved           | true           | OrderQueue | 12:00           | g3
        moved at once   | true           | OrderQueue | 12:10           | g2
        moved before    | true           | OrderQueue | 12:10:00.000001 | g1
        never moved     | true           | -          | 12:59:59.999999 | g1
        to come         | false          | OrderQueue | 13:00           | g1
    """)


def test_latest_moves_and_ends(draw: Draw) -> None:
    """Of moves at one moment the last event_id counts."""
    events = draw.rows(ENDPOINT_FACTS)("""
        conversation_id | is_initiator | event_type        | event_time | event_id | conversation_group_id
        c1              | true         | MOVE_CONVERSATION | 12:10      | b        | g2
        c1              | true         | MOVE_CONVERSATION | 12:10      | a        | g3
        c1              | true         | MOVE_CONVERSATION | 12:00      | c        | g4
        c1              | true         | BEGIN_DIALOG      | 12:30      | d        | g5
        c1              | false        | MOVE_CONVERSATION | 12:00      | e        | g6
        plain           | true         | END_CONVERSATION  | 12:30      | f        | -
        error           | true         | END_WITH_ERROR    | 12:30      | g        | -
        error           | true         | END_WITH_ERROR    | 12:20      | k        | -
        cleanup         | true         | END_CONVERSATION  | 12:10      | h        | -
        cleanup         | true         | END_WITH_CLEANUP  | 12:30      | i        | -
        cleanup         | false        | END_CONVERSATION  | 12:30      | j        | -
    """).replace(
        {name: name.replace("END_", "END_CONVERSATION_") for name in ("END_WITH_ERROR", "END_WITH_CLEANUP")}
    )
    moves = draw("""
        conversation_id | is_initiator boolean | moved_at timestamp | moved_to
        c1              | true                 | 12:10              | g2
        c1              | false                | 12:00              | g6
    """)
    assert_same(latest_moves(events), moves)
    ended = draw.columns(ENDED)("""
        conversation_id | is_initiator | ended_at | error_at | cleanup_at
        plain           | true         | 12:30    | -        | -
        error           | true         | 12:20    | 12:20    | -
        cleanup         | true         | 12:10    | -        | 12:30
        cleanup         | false        | 12:30    | -        | -
    """)
    assert_same(ends(events), ended)


def test_the_queue_of_a_local_service(draw: Draw) -> None:
    bindings = draw.columns(BINDINGS)("""
        instance | database | service | queue
        SQL1     | A        | Orders  | OrderQueue
        SQL1     | B        | Orders  | Other
    """)
    expected = draw("""
        instance | database | local_service | queue
        SQL1     | A        | Orders        | OrderQueue
        SQL1     | A        | Orders        | OrderQueue
        SQL1     | A        | orders        | -
        SQL2     | A        | Orders        | -
    """)
    assert_same(with_queue(expected.drop("queue"), bindings).select(*expected.columns), expected)

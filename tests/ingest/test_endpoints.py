"""The rows of `endpoints`: who an endpoint is, since when, and its priority for good."""

from pyspark.sql import DataFrame, functions as F

from pipelines.ingest.endpoints import find_created, find_first_arrivals, find_kinds, resolve_endpoints
from pipelines.ingest.sides import conversation_sides, without_target
from pipelines.state.endpoints import latest_moves
from schemas.events import ENDPOINT_FACTS, MESSAGES
from schemas.ledger import ENDPOINTS
from tests.support.drawn import Draw
from tests.support.frames import assert_same, instant

KIND = {
    "instance": "SQL1",
    "database": "B",
    "contract": "Gold",
    "local_service": "Target",
    "remote_service": "Initiator",
}
LEVELS = (
    "instance string, database string, contract string, local_service string, remote_service string, "
    "since timestamp, until timestamp, priority int, rule_name string, ladder_step int, is_undecided boolean"
)


def no_one_known(draw: Draw) -> DataFrame:
    return draw.rows(ENDPOINTS)("conversation_id\n none").where("false")


def test_the_first_arrival_of_a_conversation(draw: Draw) -> None:
    """By time, then a DELIVERED before a RECEIVED, then by event_id; an earlier batch may know it."""
    events = draw.rows(MESSAGES, sent_by_initiator=True, instance="SQL1")("""
        conversation_id | event_time | event_type | event_id | database
        by time         | 08:00      | RECEIVED   | e2       | B
        by time         | 08:01      | DELIVERED  | e1       | C
        by type         | 08:00      | RECEIVED   | e1       | B
        by type         | 08:00      | DELIVERED  | e2       | C
        by id           | 08:00      | DELIVERED  | e1       | B
        by id           | 08:00      | DELIVERED  | e2       | C
        before          | 08:00      | DELIVERED  | e1       | B
        not before      | 07:00      | DELIVERED  | e1       | B
        only sent       | 07:00      | SENT       | e1       | B
    """)
    known = draw.rows(ENDPOINTS, instance="SQL2", database="X", first_arrived_at=instant("07:30"))("""
        conversation_id | inferred | first_arrival_kind | first_arrival_id
        before          | true     | 2                  | e9
        not before      | true     | 1                  | e9
        logged          | false    | -                  | -
    """)
    expected = draw("""
        conversation_id | first_arrival_kind int | first_arrival_id | arrival_instance | arrival_database
        by time         | 2                      | e2               | SQL1             | B
        by type         | 1                      | e2               | SQL1             | C
        by id           | 1                      | e1               | SQL1             | B
        before          | 2                      | e9               | SQL2             | X
        not before      | 1                      | e1               | SQL1             | B
    """)
    assert_same(find_first_arrivals(events, known), expected)


EVENTS = """
    event_id | event_time      | event_type       | conversation_id | is_initiator | database | logged_priority | seen_at
    e01      | 08:00           | BEGIN_DIALOG     | both            | true         | A        | 3               | -
    e02      | 08:10           | DIALOG_CREATED   | both            | false        | B        | -               | -
    e03      | 09:00           | END_CONVERSATION | both            | true         | A        | -               | -
    e04      | 09:30           | END_CONVERSATION | both            | false        | B        | -               | -
    e05      | 08:00           | BEGIN_DIALOG     | inferred        | true         | A        | -               | -
    e06      | 09:00           | END_CONVERSATION | inferred        | false        | B        | -               | -
    e07      | 08:10           | DIALOG_CREATED   | early arrival   | false        | B        | -               | -
    e08      | 08:00           | END_CONVERSATION | an end alone    | false        | B        | -               | -
    e10      | 08:00           | BEGIN_DIALOG     | twice           | true         | A        | -               | -
    e09      | 08:00           | BEGIN_DIALOG     | twice           | true         | C        | 4               | -
    e11      | 08:05           | BEGIN_DIALOG     | twice           | true         | D        | -               | -
    e12      | 08:00           | DIALOG_CREATED   | lifetime        | false        | B        | 7               | 12:00
    e13      | 12:59:59.999999 | DIALOG_CREATED   | lifetime        | false        | B        | 7               | 13:00
    e14      | 11:59:59.999999 | DIALOG_CREATED   | snapshot        | false        | B        | 7               | 12:00
    e15      | 07:00           | DIALOG_CREATED   | log and seen    | false        | B        | 7               | 12:00
    e16      | 08:00           | DIALOG_CREATED   | log and seen    | false        | B        | -               | -
    e17      | 08:10           | DIALOG_CREATED   | seen, arrived   | false        | B        | 7               | 12:00
"""  # noqa: E501
ARRIVALS = """
    conversation_id | event_time | event_type | event_id | instance | database
    both            | 08:20      | DELIVERED  | m1       | SQL1     | B
    inferred        | 08:15      | DELIVERED  | m2       | SQL2     | X
    early arrival   | 08:05      | RECEIVED   | m3       | SQL1     | B
    seen, arrived   | 08:00      | RECEIVED   | m4       | SQL1     | B
"""
CREATED = """
    conversation_id | is_initiator | instance | database | conversation_handle | first_group_id | created_at      | created_by | level_source | logged_priority | inferred
    both            | true         | SQL1     | A        | H e01               | G e01          | 08:00           | log        | ladder       | 3               | false
    both            | false        | SQL1     | B        | H e02               | G e02          | 08:10           | log        | ladder       | -               | false
    inferred        | true         | SQL1     | A        | H e05               | G e05          | 08:00           | log        | ladder       | -               | false
    inferred        | false        | SQL2     | X        | -                   | inferred       | 08:15           | log        | ladder       | -               | true
    early arrival   | false        | SQL1     | B        | H e07               | G e07          | 08:05           | log        | ladder       | -               | false
    twice           | true         | SQL1     | C        | H e09               | G e09          | 08:00           | log        | ladder       | 4               | false
    lifetime        | false        | SQL1     | B        | H e12               | G e12          | 08:00           | lifetime   | server       | 7               | false
    snapshot        | false        | SQL1     | B        | H e14               | G e14          | 11:59:59.999999 | snapshot   | server       | 7               | false
    log and seen    | false        | SQL1     | B        | H e16               | G e16          | 08:00           | log        | ladder       | 7               | false
    seen, arrived   | false        | SQL1     | B        | H e17               | G e17          | 08:00           | log        | server       | 7               | false
"""  # noqa: E501
TIMES = """
    conversation_id | is_initiator | first_arrived_at | first_arrival_kind | first_arrival_id | ended_at | expires_at
    both            | true         | -                | -                  | -                | 09:00    | -
    both            | false        | 08:20            | -                  | -                | 09:30    | -
    inferred        | false        | 08:15            | 1                  | m2               | 09:00    | -
    early arrival   | false        | 08:05            | -                  | -                | -        | -
    lifetime        | false        | -                | -                  | -                | -        | 11-21 12:00
    snapshot        | false        | -                | -                  | -                | -        | 11-21 12:00
    log and seen    | false        | -                | -                  | -                | -        | 11-21 12:00
    seen, arrived   | false        | 08:00            | -                  | -                | -        | 11-21 12:00
"""  # noqa: E501


def test_endpoints_as_they_were_created(draw: Draw) -> None:
    """The first event says who, else the first snapshot; without one a target is inferred from an arrival."""
    is_initiator = F.col("is_initiator")
    own = F.when(is_initiator, "Initiator").otherwise("Target")
    far = F.when(is_initiator, "Target").otherwise("Initiator")
    events = draw.rows(ENDPOINT_FACTS, instance="SQL1")(EVENTS).withColumns(
        {
            "contract": F.concat(F.lit("of "), "conversation_id"),
            "local_service": own,
            "remote_service": far,
            "conversation_handle": F.concat(F.lit("H "), "event_id"),
            "conversation_group_id": F.concat(F.lit("G "), "event_id"),
            "expires_at": F.col("seen_at") + F.expr("INTERVAL 1 DAYS"),
        }
    )
    messages, none = draw.rows(MESSAGES, sent_by_initiator=True)(ARRIVALS), no_one_known(draw)
    sides = conversation_sides(events, messages, none)
    alone = messages.join(without_target(sides), "conversation_id", "left_semi")
    found = find_created(events, sides, find_first_arrivals(alone, none))
    draw.require(found, ENDPOINTS)(CREATED)
    has_times = "coalesce(first_arrived_at, ended_at, expires_at) is not null"
    draw.require(found.where(has_times), ENDPOINTS)(TIMES)
    names = found.select(F.replace("contract", F.lit("of "), F.lit("")), "local_service", "remote_service")
    expected = found.select(F.col("conversation_id"), own, far)
    assert_same(names.toDF("of", "own", "far"), expected.toDF("of", "own", "far"))


def test_the_kinds_of_endpoints(draw: Draw) -> None:
    """Those of creations, and of the targets that are inferred."""
    events = draw.rows(ENDPOINT_FACTS)("""
        conversation_id | event_type       | is_initiator | instance | database | contract | local_service | remote_service
        both            | BEGIN_DIALOG     | true         | SQL1     | A        | Gold     | Initiator     | Target
        both            | DIALOG_CREATED   | false        | SQL1     | B        | Gold     | Target        | Initiator
        both            | END_CONVERSATION | true         | SQL9     | A        | -        | -             | -
        the same        | DIALOG_CREATED   | false        | SQL1     | B        | Gold     | Target        | Initiator
        inferred        | BEGIN_DIALOG     | true         | SQL1     | A        | Lead     | Initiator     | Target
    """)  # noqa: E501
    arrivals = draw("""
        conversation_id | arrival_instance | arrival_database
        inferred        | SQL2             | X
        the same        | SQL2             | Y
    """)
    expected = draw("""
        instance | database | contract | local_service | remote_service
        SQL1     | A        | Gold     | Initiator     | Target
        SQL1     | B        | Gold     | Target        | Initiator
        SQL1     | A        | Lead     | Initiator     | Target
        SQL2     | X        | Lead     | Target        | Initiator
    """)
    assert_same(find_kinds(events, arrivals), expected)


CREATIONS = """
    conversation_id  | event_time      | event_type        | conversation_group_id | seen_at | logged_priority
    new              | 08:00           | DIALOG_CREATED    | first                 | -       | -
    moved            | 08:00           | DIALOG_CREATED    | first                 | -       | -
    moved            | 08:30           | MOVE_CONVERSATION | last                  | -       | -
    moved            | 08:20           | MOVE_CONVERSATION | second                | -       | -
    moved before     | 08:00           | DIALOG_CREATED    | first                 | -       | -
    moved before     | 07:59           | MOVE_CONVERSATION | before                | -       | -
    at another level | 11:59:59.999999 | DIALOG_CREATED    | first                 | 12:00   | 7
    at the same      | 11:59:59.999999 | DIALOG_CREATED    | first                 | 12:00   | 8
    stored           | 08:00           | DIALOG_CREATED    | first                 | -       | -
    shown since      | 08:00           | DIALOG_CREATED    | first                 | -       | -
    later            | 08:00           | DIALOG_CREATED    | first                 | -       | -
    other instance   | 08:00           | DIALOG_CREATED    | first                 | -       | -
    other database   | 08:00           | DIALOG_CREATED    | first                 | -       | -
    other contract   | 08:00           | DIALOG_CREATED    | first                 | -       | -
    other service    | 08:00           | DIALOG_CREATED    | first                 | -       | -
    other far one    | 08:00           | DIALOG_CREATED    | first                 | -       | -
    of the server    | 08:00           | DIALOG_CREATED    | first                 | -       | -
    server, other    | 11:59:59.999999 | DIALOG_CREATED    | first                 | 12:00   | 7
    server, stored   | 11:59:59.999999 | DIALOG_CREATED    | first                 | 12:00   | 7
"""
STORED = """
    conversation_id | created_at      | instance | database | contract | local_service | remote_service | level_source | logged_priority
    stored          | 08:00           | SQL1     | B        | Gold     | Target        | Initiator      | ladder       | -
    shown since     | 08:00           | SQL1     | B        | Gold     | Target        | Initiator      | ladder       | 9
    later           | 08:01           | SQL1     | B        | Gold     | Target        | Initiator      | ladder       | -
    other instance  | 08:00           | SQL2     | B        | Gold     | Target        | Initiator      | ladder       | -
    other database  | 08:00           | SQL1     | C        | Gold     | Target        | Initiator      | ladder       | -
    other contract  | 08:00           | SQL1     | B        | Lead     | Target        | Initiator      | ladder       | -
    other service   | 08:00           | SQL1     | B        | Gold     | Other         | Initiator      | ladder       | -
    other far one   | 08:00           | SQL1     | B        | Gold     | Target        | Other          | ladder       | -
    of the server   | 08:00           | SQL1     | B        | Gold     | Target        | Initiator      | server       | -
    server, other   | 11:59:59.999999 | SQL1     | B        | Gold     | Target        | Initiator      | server       | 6
    server, stored  | 11:59:59.999999 | SQL1     | B        | Gold     | Target        | Initiator      | server       | 7
"""  # noqa: E501
RESOLVED = """
    conversation_id  | conversation_group_id | priority | rule_name | ladder_step | queue
    new              | first                 | 8        | New       | 4           | Q
    moved            | last                  | 8        | New       | 4           | Q
    moved before     | first                 | 8        | New       | 4           | Q
    at another level | first                 | 7        | -         | -           | Q
    at the same      | first                 | 8        | New       | 4           | Q
    stored           | first                 | 2        | Old       | 8           | Q
    shown since      | first                 | 2        | Old       | 8           | Q
    later            | first                 | 8        | New       | 4           | Q
    other instance   | first                 | 8        | New       | 4           | Q
    other database   | first                 | 8        | New       | 4           | Q
    other contract   | first                 | 8        | New       | 4           | Q
    other service    | first                 | 8        | New       | 4           | Q
    other far one    | first                 | 8        | New       | 4           | Q
    of the server    | first                 | 8        | New       | 4           | Q
    server, other    | first                 | 7        | -         | -           | Q
    server, stored   | first                 | 7        | -         | -           | Q
"""


def test_a_priority_stays_until_what_decided_it_changes(draw: Draw) -> None:
    """Rules that changed since do not change it, and beside the log no level of a later snapshot does.

    A level of the server's stays, and the rules that the first snapshot of its endpoint shows explain it.
    """
    events = draw.rows(ENDPOINT_FACTS, event_id="e", is_initiator=False, **KIND)(CREATIONS)
    decided = {"priority": 2, "rule_name": "Old", "ladder_step": 8}
    known = draw.rows(ENDPOINTS, is_initiator=False, **decided)(STORED)
    levels = draw.rows(LEVELS, is_undecided=False, **KIND)("""
        priority | rule_name | ladder_step | queue
        8        | New       | 4           | Q
    """)
    messages, none = draw.rows(MESSAGES)("message_id\n none").where("false"), no_one_known(draw)
    sides = conversation_sides(events, messages, none)
    arrivals = find_first_arrivals(messages, none)
    found = resolve_endpoints(events, sides, latest_moves(events), arrivals, known, levels)
    draw.require(found, ENDPOINTS)(RESOLVED)
    assert {*found.columns} == {*ENDPOINTS.names} - {"closed_on", "fold"}

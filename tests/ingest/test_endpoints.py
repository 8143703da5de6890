"""The rows of `endpoints`: who an endpoint is, since when, and its priority for good."""

from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.ingest.endpoints import find_created, find_first_arrivals, find_kinds, resolve_endpoints
from pipelines.ingest.sides import conversation_sides, without_target
from pipelines.state.endpoints import latest_moves
from schemas.ledger import ENDPOINTS
from tests.support.frames import assert_same, frame

NO_ONE_KNOWN = """
    conversation_id | inferred boolean | first_arrived_at timestamp | first_arrival_kind int | first_arrival_id | instance | database
"""  # noqa: E501


def message_events(session: SparkSession, drawing: str) -> DataFrame:
    """Logged messages of the initiator."""
    rows = frame(session, drawing)
    return rows.withColumns({"sent_by_initiator": F.lit(True), "seen_at": F.lit(None).cast("timestamp")})


def test_the_first_arrival_of_a_conversation(session: SparkSession) -> None:
    """By time, then a DELIVERED before a RECEIVED, then by event_id; an earlier batch may know it."""
    events = message_events(
        session,
        """
        conversation_id | event_time timestamp | event_type | event_id | instance | database
        by time         | 08:00                | RECEIVED   | e2       | SQL1     | B
        by time         | 08:01                | DELIVERED  | e1       | SQL1     | C
        by type         | 08:00                | RECEIVED   | e1       | SQL1     | B
        by type         | 08:00                | DELIVERED  | e2       | SQL1     | C
        by id           | 08:00                | DELIVERED  | e1       | SQL1     | B
        by id           | 08:00                | DELIVERED  | e2       | SQL1     | C
        before          | 08:00                | DELIVERED  | e1       | SQL1     | B
        not before      | 07:00                | DELIVERED  | e1       | SQL1     | B
        only sent       | 07:00                | SENT       | e1       | SQL1     | B
        """,
    )
    known = frame(
        session,
        NO_ONE_KNOWN
        + """
        before          | true             | 07:30                      | 2                      | e9               | SQL2     | X
        not before      | true             | 07:30                      | 1                      | e9               | SQL2     | X
        logged          | false            | 07:30                      | -                      | -                | SQL2     | X
        """,  # noqa: E501
    )
    expected = """
        conversation_id | first_arrival_kind int | first_arrival_id | arrival_instance | arrival_database
        by time         | 2                      | e2               | SQL1             | B
        by type         | 1                      | e2               | SQL1             | C
        by id           | 1                      | e1               | SQL1             | B
        before          | 2                      | e9               | SQL2             | X
        not before      | 1                      | e1               | SQL1             | B
    """
    assert_same(find_first_arrivals(events, known), frame(session, expected))


EVENTS = """
    event_id | event_time timestamp | event_type        | conversation_id | is_initiator boolean | database | logged_priority int | seen_at timestamp
    e01      | 08:00                | BEGIN_DIALOG      | both            | true                 | A        | 3                   | -
    e02      | 08:10                | DIALOG_CREATED    | both            | false                | B        | -                   | -
    e03      | 09:00                | END_CONVERSATION  | both            | true                 | A        | -                   | -
    e04      | 09:30                | END_CONVERSATION  | both            | false                | B        | -                   | -
    e05      | 08:00                | BEGIN_DIALOG      | inferred        | true                 | A        | -                   | -
    e06      | 09:00                | END_CONVERSATION  | inferred        | false                | B        | -                   | -
    e07      | 08:10                | DIALOG_CREATED    | early arrival   | false                | B        | -                   | -
    e08      | 08:00                | END_CONVERSATION  | an end alone    | false                | B        | -                   | -
    e10      | 08:00                | BEGIN_DIALOG      | twice           | true                 | A        | -                   | -
    e09      | 08:00                | BEGIN_DIALOG      | twice           | true                 | C        | 4                   | -
    e11      | 08:05                | BEGIN_DIALOG      | twice           | true                 | D        | -                   | -
    e12      | 08:00                | DIALOG_CREATED    | lifetime        | false                | B        | 7                   | 12:00
    e13      | 12:59:59.999999      | DIALOG_CREATED    | lifetime        | false                | B        | 7                   | 13:00
    e14      | 11:59:59.999999      | DIALOG_CREATED    | snapshot        | false                | B        | 7                   | 12:00
    e15      | 07:00                | DIALOG_CREATED    | log and seen    | false                | B        | 7                   | 12:00
    e16      | 08:00                | DIALOG_CREATED    | log and seen    | false                | B        | -                   | -
    e17      | 08:10                | DIALOG_CREATED    | seen, arrived   | false                | B        | 7                   | 12:00
"""  # noqa: E501
ARRIVALS = """
    conversation_id | event_time timestamp | event_type | event_id | instance | database
    both            | 08:20                | DELIVERED  | m1       | SQL1     | B
    inferred        | 08:15                | DELIVERED  | m2       | SQL2     | X
    early arrival   | 08:05                | RECEIVED   | m3       | SQL1     | B
    seen, arrived   | 08:00                | RECEIVED   | m4       | SQL1     | B
"""


def endpoint_events(session: SparkSession, drawing: str = EVENTS) -> DataFrame:
    """Events of SQL1 with the names of their side."""
    own, far = F.lit("Initiator"), F.lit("Target")
    is_own = F.col("is_initiator")
    return frame(session, drawing).withColumns(
        {
            "instance": F.lit("SQL1"),
            "contract": F.concat(F.lit("of "), "conversation_id"),
            "local_service": F.when(is_own, own).otherwise(far),
            "remote_service": F.when(is_own, far).otherwise(own),
            "conversation_handle": F.concat(F.lit("H "), "event_id"),
            "conversation_group_id": F.concat(F.lit("G "), "event_id"),
            "expires_at": F.col("seen_at") + F.expr("INTERVAL 1 DAYS"),
        }
    )


def created_from(session: SparkSession) -> dict[str, DataFrame]:
    """The first arguments of `find_created`."""
    events, messages = endpoint_events(session), message_events(session, ARRIVALS)
    none = frame(session, NO_ONE_KNOWN)
    sides = conversation_sides(events, messages, none)
    alone = messages.join(without_target(sides), "conversation_id", "left_semi")
    return {
        "endpoint_events": events,
        "sides": sides,
        "arrivals_by_conversation": find_first_arrivals(alone, none),
    }


WHO = """
    conversation_id | is_initiator boolean | instance | database | local_service | conversation_handle | first_group_id | inferred boolean
    both            | true                 | SQL1     | A        | Initiator     | H e01               | G e01          | false
    both            | false                | SQL1     | B        | Target        | H e02               | G e02          | false
    inferred        | true                 | SQL1     | A        | Initiator     | H e05               | G e05          | false
    inferred        | false                | SQL2     | X        | Target        | -                   | inferred       | true
    early arrival   | false                | SQL1     | B        | Target        | H e07               | G e07          | false
    twice           | true                 | SQL1     | C        | Initiator     | H e09               | G e09          | false
    lifetime        | false                | SQL1     | B        | Target        | H e12               | G e12          | false
    snapshot        | false                | SQL1     | B        | Target        | H e14               | G e14          | false
    log and seen    | false                | SQL1     | B        | Target        | H e16               | G e16          | false
    seen, arrived   | false                | SQL1     | B        | Target        | H e17               | G e17          | false
"""  # noqa: E501
SINCE_WHEN = """
    conversation_id | is_initiator boolean | created_at timestamp | created_by | level_source | logged_priority int | first_arrived_at timestamp | first_arrival_kind int | first_arrival_id | ended_at timestamp | expires_at timestamp
    both            | true                 | 08:00                | log        | ladder       | 3                   | -                          | -                      | -                | 09:00                               | -
    both            | false                | 08:10                | log        | ladder       | -                   | 08:20                      | -                      | -                | 09:30                               | -
    inferred        | true                 | 08:00                | log        | ladder       | -                   | -                          | -                      | -                | -                                   | -
    inferred        | false                | 08:15                | log        | ladder       | -                   | 08:15                      | 1                      | m2               | 09:00                               | -
    early arrival   | false                | 08:05                | log        | ladder       | -                   | 08:05                      | -                      | -                | -                                   | -
    twice           | true                 | 08:00                | log        | ladder       | 4                   | -                          | -                      | -                | -                                   | -
    lifetime        | false                | 08:00                | lifetime   | server       | 7                   | -                          | -                      | -                | -                                   | 11-21 12:00
    snapshot        | false                | 11:59:59.999999      | snapshot   | server       | 7                   | -                          | -                      | -                | -                                   | 11-21 12:00
    log and seen    | false                | 08:00                | log        | ladder       | 7                   | -                          | -                      | -                | -                                   | 11-21 12:00
    seen, arrived   | false                | 08:00                | log        | server       | 7                   | 08:00                      | -                      | -                | -                                   | 11-21 12:00
"""  # noqa: E501


def test_endpoints_as_they_were_created(session: SparkSession) -> None:
    """The first event says who, else the first snapshot; without one a target is inferred from an arrival."""
    found = find_created(**created_from(session))
    who, since_when = frame(session, WHO), frame(session, SINCE_WHEN)
    assert_same(found.select(*who.columns), who)
    assert_same(found.select(*since_when.columns), since_when)
    far = found.select("contract", "remote_service", "local_service").distinct()
    assert {row.contract for row in far.collect()} == {f"of {row.conversation_id}" for row in who.collect()}
    assert {(row.local_service, row.remote_service) for row in far.collect()} == {
        ("Initiator", "Target"),
        ("Target", "Initiator"),
    }


def test_the_kinds_of_endpoints(session: SparkSession) -> None:
    """Those of creations, and of the targets that are inferred."""
    events = """
        conversation_id | event_type       | is_initiator boolean | instance | database | contract | local_service | remote_service
        both            | BEGIN_DIALOG     | true                 | SQL1     | A        | Gold     | Initiator     | Target
        both            | DIALOG_CREATED   | false                | SQL1     | B        | Gold     | Target        | Initiator
        both            | END_CONVERSATION | true                 | SQL9     | A        | -        | -             | -
        the same        | DIALOG_CREATED   | false                | SQL1     | B        | Gold     | Target        | Initiator
        inferred        | BEGIN_DIALOG     | true                 | SQL1     | A        | Lead     | Initiator     | Target
    """  # noqa: E501
    arrivals = """
        conversation_id | arrival_instance | arrival_database
        inferred        | SQL2             | X
        the same        | SQL2             | Y
    """
    expected = """
        instance | database | contract | local_service | remote_service
        SQL1     | A        | Gold     | Initiator     | Target
        SQL1     | B        | Gold     | Target        | Initiator
        SQL1     | A        | Lead     | Initiator     | Target
        SQL2     | X        | Lead     | Target        | Initiator
    """
    assert_same(find_kinds(frame(session, events), frame(session, arrivals)), frame(session, expected))


CREATIONS = """
    conversation_id  | event_time timestamp | event_type        | seen_at timestamp | logged_priority int
    new              | 08:00                | DIALOG_CREATED    | -                 | -
    moved            | 08:00                | DIALOG_CREATED    | -                 | -
    moved            | 08:30                | MOVE_CONVERSATION | -                 | -
    moved            | 08:20                | MOVE_CONVERSATION | -                 | -
    moved before     | 08:00                | DIALOG_CREATED    | -                 | -
    moved before     | 07:59                | MOVE_CONVERSATION | -                 | -
    at another level | 11:59:59.999999      | DIALOG_CREATED    | 12:00             | 7
    at the same      | 11:59:59.999999      | DIALOG_CREATED    | 12:00             | 8
    stored           | 08:00                | DIALOG_CREATED    | -                 | -
    shown since      | 08:00                | DIALOG_CREATED    | -                 | -
    later            | 08:00                | DIALOG_CREATED    | -                 | -
    other instance   | 08:00                | DIALOG_CREATED    | -                 | -
    other database   | 08:00                | DIALOG_CREATED    | -                 | -
    other contract   | 08:00                | DIALOG_CREATED    | -                 | -
    other service    | 08:00                | DIALOG_CREATED    | -                 | -
    other far one    | 08:00                | DIALOG_CREATED    | -                 | -
    of the server    | 08:00                | DIALOG_CREATED    | -                 | -
    server, other    | 11:59:59.999999      | DIALOG_CREATED    | 12:00             | 7
    server, stored   | 11:59:59.999999      | DIALOG_CREATED    | 12:00             | 7
"""
STORED = """
    conversation_id | created_at timestamp | instance | database | contract | local_service | remote_service | level_source | logged_priority int
    stored          | 08:00                | SQL1     | B        | Gold     | Target        | Initiator      | ladder       | -
    shown since     | 08:00                | SQL1     | B        | Gold     | Target        | Initiator      | ladder       | 9
    later           | 08:01                | SQL1     | B        | Gold     | Target        | Initiator      | ladder       | -
    other instance  | 08:00                | SQL2     | B        | Gold     | Target        | Initiator      | ladder       | -
    other database  | 08:00                | SQL1     | C        | Gold     | Target        | Initiator      | ladder       | -
    other contract  | 08:00                | SQL1     | B        | Lead     | Target        | Initiator      | ladder       | -
    other service   | 08:00                | SQL1     | B        | Gold     | Other         | Initiator      | ladder       | -
    other far one   | 08:00                | SQL1     | B        | Gold     | Target        | Other          | ladder       | -
    of the server   | 08:00                | SQL1     | B        | Gold     | Target        | Initiator      | server       | -
    server, other   | 11:59:59.999999      | SQL1     | B        | Gold     | Target        | Initiator      | server       | 6
    server, stored  | 11:59:59.999999      | SQL1     | B        | Gold     | Target        | Initiator      | server       | 7
"""  # noqa: E501
RESOLVED = """
    conversation_id  | conversation_group_id | priority int | rule_name | ladder_step int | queue
    new              | G                     | 8            | New       | 4               | Q
    moved            | G 08:30               | 8            | New       | 4               | Q
    moved before     | G                     | 8            | New       | 4               | Q
    at another level | G                     | 7            | -         | -               | Q
    at the same      | G                     | 8            | New       | 4               | Q
    stored           | G                     | 2            | Old       | 8               | Q
    shown since      | G                     | 2            | Old       | 8               | Q
    later            | G                     | 8            | New       | 4               | Q
    other instance   | G                     | 8            | New       | 4               | Q
    other database   | G                     | 8            | New       | 4               | Q
    other contract   | G                     | 8            | New       | 4               | Q
    other service    | G                     | 8            | New       | 4               | Q
    other far one    | G                     | 8            | New       | 4               | Q
    of the server    | G                     | 8            | New       | 4               | Q
    server, other    | G                     | 7            | -         | -               | Q
    server, stored   | G                     | 7            | -         | -               | Q
"""


def test_a_priority_stays_until_what_decided_it_changes(session: SparkSession) -> None:
    """Rules that changed since do not change it, and beside the log no level of a later snapshot does.

    A level of the server's stays, and the rules that the first snapshot of its endpoint shows explain it.
    """
    is_move = F.col("event_type") == "MOVE_CONVERSATION"
    group = F.when(is_move, F.concat(F.lit("G "), F.date_format("event_time", "HH:mm"))).otherwise("G")
    names = {"instance": "SQL1", "database": "B", "contract": "Gold", "local_service": "Target"}
    events = frame(session, CREATIONS).withColumns(
        {
            "event_id": F.col("conversation_id"),
            "is_initiator": F.lit(False),
            **{name: F.lit(value) for name, value in names.items()},
            "remote_service": F.lit("Initiator"),
            "conversation_handle": F.lit("H"),
            "conversation_group_id": group,
            "expires_at": F.lit(None).cast("timestamp"),
        }
    )
    before = {"is_initiator": F.lit(False), "priority": F.lit(2), "rule_name": F.lit("Old")}
    known = frame(session, STORED).withColumns(before | {"ladder_step": F.lit(8)})
    levels = frame(
        session,
        """
        instance | database | contract | local_service | remote_service | priority int | rule_name | ladder_step int | queue
        SQL1     | B        | Gold     | Target        | Initiator      | 8            | New       | 4               | Q
        """,  # noqa: E501
    ).withColumns(
        {
            **{name: F.lit(None).cast("timestamp") for name in ("since", "until")},
            "is_undecided": F.lit(False),
        }
    )
    none = frame(session, NO_ONE_KNOWN)
    messages = message_events(session, ARRIVALS).limit(0)
    sides = conversation_sides(events, messages, none)
    arrivals = find_first_arrivals(messages, none)
    found = resolve_endpoints(events, sides, latest_moves(events), arrivals, known, levels)
    expected = frame(session, RESOLVED)
    assert_same(found.select(*expected.columns), expected)
    assert {*found.columns} == {*ENDPOINTS.names} - {"closed_on", "fold"}

"""Rows of views that state no fact, names of ids, and what is known of queue monitors."""

from pyspark.sql import functions as F

from pipelines.ingest.snapshots.queues import monitors_of
from pipelines.ingest.snapshots.validation import (
    find_equal_rows,
    validate_endpoints,
    validate_queue_events,
)
from tests.support.drawn import Draw
from tests.support.frames import assert_same, instant

VIEW = """
    conversation_handle | snapshot | names | service_contract_id | service_contract_name | service_id | service_name | shown  | state_desc            | priority | broken    | contract | local_service | state | reasons
    good                | 3        | 0     | 7                   | -                     | 1          | -            | SO     | -                     | 1        | -         | Gold     | Initiator     | SO    | -
    good                | 4        | 1     | 7                   | -                     | 1          | -            | SO     | -                     | 1        | -         | Lead     | Initiator     | SO    | -
    by name             | 3        | 0     | -                   | Lead                  | -          | Own          | co     | -                     | 10       | -         | Lead     | Own           | CO    | -
    described           | 3        | 0     | 7                   | Lead                  | 1          | Own          | -      | started_inbound       | 5        | -         | Lead     | Own           | SI    | -
    in the state        | 3        | 0     | 7                   | -                     | 1          | -            | CLOSED | -                     | 5        | -         | Gold     | Initiator     | CD    | -
    conversing          | 3        | 0     | 7                   | -                     | 1          | -            | -      | CONVERSING            | 5        | -         | Gold     | Initiator     | CO    | -
    started             | 3        | 0     | 7                   | -                     | 1          | -            | -      | STARTED_OUTBOUND      | 5        | -         | Gold     | Initiator     | SO    | -
    their end           | 3        | 0     | 7                   | -                     | 1          | -            | -      | DISCONNECTED_INBOUND  | 5        | -         | Gold     | Initiator     | DI    | -
    own end             | 3        | 0     | 7                   | -                     | 1          | -            | -      | DISCONNECTED_OUTBOUND | 5        | -         | Gold     | Initiator     | DO    | -
    an error            | 3        | 0     | 7                   | -                     | 1          | -            | -      | ERROR                 | 5        | -         | Gold     | Initiator     | ER    | -
    twice               | 3        | 0     | 7                   | -                     | 1          | -            | CO     | -                     | 5        | -         | Gold     | Initiator     | CO    | repeated_handle
    twice               | 3        | 0     | 7                   | -                     | 1          | -            | CO     | -                     | 5        | -         | Gold     | Initiator     | CO    | repeated_handle
    twice               | 4        | 0     | 7                   | -                     | 1          | -            | CO     | -                     | 5        | -         | Gold     | Initiator     | CO    | -
    no contract         | 3        | 0     | 8                   | -                     | 1          | -            | CO     | -                     | 5        | -         | -        | Initiator     | CO    | unknown_contract
    all wrong           | 3        | 0     | 8                   | -                     | 9          | -            | ??     | -                     | 0        | -         | -        | -             | ??    | unknown_contract,unknown_service,unknown_state,priority_out_of_range
    level 11            | 3        | 0     | 7                   | -                     | 1          | -            | CO     | -                     | 11       | -         | Gold     | Initiator     | CO    | priority_out_of_range
    broken              | 3        | 0     | 8                   | -                     | 9          | -            | CO     | -                     | 5        | missing_x | -        | -             | CO    | missing_x
"""  # noqa: E501
"""Rows as they are shown, and what is found of them: contract, local_service, state and reasons."""
NUMBERS = ", ".join(
    f"{name} bigint" for name in ("snapshot", "names", "service_contract_id", "service_id", "priority")
)


def test_endpoints_of_a_view(draw: Draw) -> None:
    """Each snapshot has its own handles and names."""
    contracts = draw("names | service_contract_id | contract\n 0 | 7 | Gold\n 1 | 7 | Lead", NUMBERS)
    services = draw("names | service_id | local_service\n 0 | 1 | Initiator\n 1 | 1 | Initiator", NUMBERS)
    drawn = draw(VIEW, NUMBERS)
    expected = drawn.drop("shown", "broken")
    view = drawn.drop("contract", "local_service", "state", "reasons").withColumnsRenamed(
        {"shown": "state", "broken": "reasons"}
    )
    found = validate_endpoints(view, contracts, services)
    assert_same(found.select(*expected.columns), expected)
    assert {*found.columns} == {*view.columns} | {"contract", "local_service"}


def test_rows_of_an_endpoint_that_are_equal_count_once(draw: Draw) -> None:
    rows = draw("""
        instance | database | taken_at timestamp | conversation_handle | state | reasons
        SQL1     | B        | 12:00              | equal               | CO    | repeated_handle
        SQL1     | B        | 12:00              | equal               | CO    | repeated_handle
        SQL1     | B        | 12:00              | equal               | CO    | repeated_handle
        SQL1     | B        | 12:00              | differ              | CO    | repeated_handle
        SQL1     | B        | 12:00              | differ              | DO    | repeated_handle
        SQL1     | B        | 12:00              | once                | CO    | -
    """)
    draw.require(find_equal_rows(rows))("""
        instance | database | taken_at timestamp | conversation_handle | state | rows bigint | reasons
        SQL1     | B        | 12:00              | equal               | CO    | 3           | -
    """)


def test_rows_of_monitors_and_tasks(draw: Draw) -> None:
    """Of the snapshot's database, whose queues have names; a view may have the name itself."""
    view = draw("""
        row bigint | queue_id bigint | database_id bigint | queue_name | reasons
        1          | 11              | 5                  | -          | -
        2          | 12              | 5                  | -          | -
        3          | 12              | -                  | R          | -
        4          | 11              | 6                  | -          | -
        5          | 12              | 5                  | -          | missing_x
    """)
    queues = draw("names bigint | queue_id bigint | queue\n 0 | 11 | Q")
    of_five = {"names": F.lit(0), "own_id": F.lit(5)}
    of_unknown = of_five | {"own_id": F.lit(None).cast("bigint")}
    expected = draw("""
        row bigint | queue | reasons
        1          | Q     | -
        2          | -     | unknown_queue
        3          | R     | -
        5          | -     | missing_x
    """)
    found = validate_queue_events(view.withColumns(of_five), queues)
    assert_same(found.select(*expected.columns), expected)
    of_all = validate_queue_events(view.withColumns(of_unknown), queues).select(*expected.columns)
    assert_same(of_all, expected.unionByName(draw("row bigint | queue | reasons\n 4 | Q | -")))


def test_monitors_of_queues(draw: Draw) -> None:
    """The newest that is not DROPPED; times as they are written; tasks where that view was exported."""
    place = {"instance": F.lit("SQL1"), "taken_at": F.lit(instant("12:00"))}
    monitors = draw("""
        database | queue | state     | last_activated_time timestamp | last_empty_rowset_time timestamp | tasks_waiting bigint
        B        | Q     | inactive  | 10:00                         | 09:00                            | 1
        B        | Q     | notified  | 11:00                         | 12:00                            | 2
        B        | Q     | DROPPED   | -                             | -                                | 3
        B        | R     | -         | 1900-01-01 00:00              | -                                | -
        C        | Q     | NOTIFIED  | 1970-01-01 00:00              | 11:59:59.999999                  | 0
    """).withColumns(place)  # noqa: E501
    tasks = draw("database | queue\nB | Q\nB | Q\nC | Q").withColumns(place)
    noon, before = instant("12:00"), instant("11:59:59.999999")
    offsets = {("SQL1", "B", noon): 60}
    assert sorted(monitors_of(monitors, tasks, {("SQL1", "B", noon)}, offsets)) == [
        ("SQL1", "B", "Q", noon, "NOTIFIED", instant("11:00"), noon, 2, 2, 1, 60),
        ("SQL1", "B", "R", noon, None, None, None, None, 0, 0, 60),
        ("SQL1", "C", "Q", noon, "NOTIFIED", instant("1970-01-01 00:00"), before, 0, None, 0, None),
    ]
    assert {row[-3] for row in monitors_of(monitors, None, set(), {})} == {None}

"""Rows of views that state no fact, names of ids, and what is known of queue monitors."""

from pyspark.sql import SparkSession, functions as F

from pipelines.ingest.snapshots.monitors import monitors_of
from pipelines.ingest.snapshots.validation import validate_endpoints, validate_queue_events
from tests.support.frames import assert_same, frame, instant

VIEW = """
    conversation_handle | service_contract_id bigint | service_contract_name | service_id bigint | service_name | state | state_desc          | priority bigint | reasons
    good                | 7                          | -                     | 1                 | -            | SO    | -                   | 1               | -
    by name             | -                          | Lead                  | -                 | Own          | co    | -                   | 10              | -
    described           | 7                          | Lead                  | 1                 | Own          | -     | started_inbound     | 5               | -
    in the state        | 7                          | -                     | 1                 | -            | CLOSED | -                  | 5               | -
    conversing          | 7                          | -                     | 1                 | -            | -     | CONVERSING            | 5               | -
    started             | 7                          | -                     | 1                 | -            | -     | STARTED_OUTBOUND      | 5               | -
    their end           | 7                          | -                     | 1                 | -            | -     | DISCONNECTED_INBOUND  | 5               | -
    own end             | 7                          | -                     | 1                 | -            | -     | DISCONNECTED_OUTBOUND | 5               | -
    an error            | 7                          | -                     | 1                 | -            | -     |  ERROR                | 5               | -
    twice               | 7                          | -                     | 1                 | -            | CO    | -                   | 5               | -
    twice               | 7                          | -                     | 1                 | -            | CO    | -                   | 5               | -
    no contract         | 8                          | -                     | 1                 | -            | CO    | -                   | 5               | -
    all wrong           | 8                          | -                     | 9                 | -            | ??    | -                   | 0               | -
    level 11            | 7                          | -                     | 1                 | -            | CO    | -                   | 11              | -
    broken              | 8                          | -                     | 9                 | -            | CO    | -                   | 5               | missing_x
"""  # noqa: E501
VALIDATED = """
    conversation_handle | contract | local_service | state | reasons
    good                | Gold     | Initiator     | SO    | -
    by name             | Lead     | Own           | CO    | -
    described           | Lead     | Own           | SI    | -
    in the state        | Gold     | Initiator     | CD    | -
    conversing          | Gold     | Initiator     | CO    | -
    started             | Gold     | Initiator     | SO    | -
    their end           | Gold     | Initiator     | DI    | -
    own end             | Gold     | Initiator     | DO    | -
    an error            | Gold     | Initiator     | ER    | -
    twice               | Gold     | Initiator     | CO    | repeated_handle
    twice               | Gold     | Initiator     | CO    | repeated_handle
    no contract         | -        | Initiator     | CO    | unknown_contract
    all wrong           | -        | -             | ??    | unknown_contract,unknown_service,unknown_state,priority_out_of_range
    level 11            | Gold     | Initiator     | CO    | priority_out_of_range
    broken              | -        | -             | CO    | missing_x
"""  # noqa: E501


def test_endpoints_of_a_view(session: SparkSession) -> None:
    contracts = frame(session, "names bigint | service_contract_id bigint | contract\n0 | 7 | Gold")
    services = frame(session, "names bigint | service_id bigint | local_service\n0 | 1 | Initiator")
    view = frame(session, VIEW).withColumns({"snapshot": F.lit(3), "names": F.lit(0)})
    found = validate_endpoints(view, contracts, services)
    expected = frame(session, VALIDATED)
    assert_same(found.select(*expected.columns), expected)
    added = {"contract", "local_service"}
    assert {*found.columns} == {*view.columns} | added


def test_each_snapshot_has_its_own_handles_and_names(session: SparkSession) -> None:
    contracts = frame(
        session,
        """
        names bigint | service_contract_id bigint | contract
        0            | 7                          | Gold
        1            | 7                          | Lead
        """,
    )
    services = frame(session, "names bigint | service_id bigint | local_service\n0 | 1 | Own\n1 | 1 | Own")
    view = frame(
        session,
        """
        snapshot bigint | names bigint | conversation_handle | service_contract_id bigint | service_id bigint | priority bigint | state | service_contract_name | service_name | state_desc | reasons
        1               | 0            | one                 | 7                          | 1                 | 5               | CO    | -                     | -            | -          | -
        2               | 1            | one                 | 7                          | 1                 | 5               | CO    | -                     | -            | -          | -
        3               | 0            | one                 | 7                          | 1                 | 5               | CO    | -                     | -            | -          | -
        3               | 0            | one                 | 7                          | 1                 | 5               | CO    | -                     | -            | -          | -
        """,  # noqa: E501
    )
    expected = frame(
        session,
        """
        snapshot bigint | contract | reasons
        1               | Gold     | -
        2               | Lead     | -
        3               | Gold     | repeated_handle
        3               | Gold     | repeated_handle
        """,
    )
    assert_same(validate_endpoints(view, contracts, services).select(*expected.columns), expected)


def test_rows_of_monitors_and_tasks(session: SparkSession) -> None:
    """Of the snapshot's database, whose queues have names; a view may have the name itself."""
    view = frame(
        session,
        """
        row bigint | queue_id bigint | database_id bigint | queue_name | reasons
        1          | 11              | 5                  | -          | -
        2          | 12              | 5                  | -          | -
        3          | 12              | -                  | R          | -
        4          | 11              | 6                  | -          | -
        5          | 12              | 5                  | -          | missing_x
        """,
    )
    queues = frame(session, "names bigint | queue_id bigint | queue\n0 | 11 | Q")
    of_five = {"names": F.lit(0), "own_id": F.lit(5)}
    of_unknown = {"names": F.lit(0), "own_id": F.lit(None).cast("bigint")}
    expected = frame(
        session,
        """
        row bigint | queue | reasons
        1          | Q     | -
        2          | -     | unknown_queue
        3          | R     | -
        5          | -     | missing_x
        """,
    )
    found = validate_queue_events(view.withColumns(of_five), queues).select("row", "queue", "reasons")
    assert_same(found, expected)
    of_all = validate_queue_events(view.withColumns(of_unknown), queues)
    of_all = of_all.select("row", "queue", "reasons")
    assert_same(of_all, expected.unionByName(frame(session, "row bigint | queue | reasons\n4 | Q | -")))


def test_monitors_of_queues(session: SparkSession) -> None:
    """The newest that is not DROPPED; times as they are written; tasks where that view was exported."""
    place = {"instance": F.lit("SQL1"), "taken_at": F.lit(instant("12:00"))}
    monitors = frame(
        session,
        """
        database | queue | state     | last_activated_time timestamp | last_empty_rowset_time timestamp | tasks_waiting bigint
        B        | Q     | inactive  | 10:00                         | 09:00                            | 1
        B        | Q     | notified  | 11:00                         | 12:00                            | 2
        B        | Q     | DROPPED   | -                             | -                                | 3
        B        | R     | -         | 1900-01-01 00:00              | -                                | -
        C        | Q     | NOTIFIED  | 1970-01-01 00:00              | 11:59:59.999999                  | 0
        """,  # noqa: E501
    ).withColumns(place)
    tasks = frame(session, "database | queue\nB | Q\nB | Q\nC | Q").withColumns(place)
    noon, before = instant("12:00"), instant("11:59:59.999999")
    offsets = {("SQL1", "B", noon): 60}
    assert sorted(monitors_of(monitors, tasks, {("SQL1", "B", noon)}, offsets)) == [
        ("SQL1", "B", "Q", noon, "NOTIFIED", instant("11:00"), noon, 2, 2, 1, 60),
        ("SQL1", "B", "R", noon, None, None, None, None, 0, 0, 60),
        ("SQL1", "C", "Q", noon, "NOTIFIED", instant("1970-01-01 00:00"), before, 0, None, 0, None),
    ]
    assert {row[-3] for row in monitors_of(monitors, None, set(), {})} == {None}

"""What the views of a snapshot say, as events just before it."""

from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.config.snapshots.places import OWN
from pipelines.ingest.snapshots.view_events import (
    endpoint_events,
    queue_events,
    queued_message_events,
    session_events,
    task_events,
    waiting_message_events,
)
from tests.support.frames import assert_same, frame, instant

IN_FRONT = f"snapshot/{int(instant('12:00').timestamp())}000000/SQL1/B/the view/"


def of_view(session: SparkSession, drawing: str) -> DataFrame:
    """Rows of a view of SQL1.B at noon."""
    place = {"instance": F.lit("SQL1"), "database": F.lit("B"), "view": F.lit("the view")}
    own = {name: F.lit(None).cast("string") for name in OWN}
    return frame(session, drawing).withColumns(place | own | {"taken_at": F.lit(instant("12:00"))})


def require_events(found: DataFrame, expected: DataFrame) -> None:
    """The drawn columns, ids without what all of them begin with."""
    places = found.select("instance", "database", "seen_at").distinct()
    assert [tuple(row) for row in places.collect()] == [("SQL1", "B", instant("12:00").replace(tzinfo=None))]
    short = found.withColumn("event_id", F.replace("event_id", F.lit(IN_FRONT), F.lit("")))
    assert_same(short.select(*expected.columns), expected)


ENDPOINTS = """
    conversation_handle | conversation_id | is_initiator boolean | state | lifetime timestamp  | priority bigint
    H1                  | c1              | true                 | CO    | 2094-12-08 14:14:07 | 7
    H2                  | c1              | false                | CO    | -                   | 5
    H3                  | c3              | true                 | DI    | -                   | 5
    H4                  | c4              | true                 | DO    | -                   | 5
    H5                  | c5              | false                | CD    | -                   | 5
    H6                  | c6              | false                | ER    | -                   | 5
    H7                  | c7              | false                | SI    | 2094-12-08 15:14:07 | 5
    H8                  | c8              | false                | SI    | 2094-12-08 15:14:06 | 5
    H9                  | c9              | false                | SI    | 2084-12-07 15:14:06 | 5
    HA                  | cA              | false                | SI    | 2084-12-07 15:14:07 | 5
"""  # noqa: E501
CREATIONS = """
    event_id | event_time timestamp | event_type       | conversation_id | is_initiator boolean | conversation_handle | logged_priority int | remote_service | state | expires_at timestamp
    H1       | 11:00                | BEGIN_DIALOG     | c1              | true                 | H1                  | 7                   | far                | CO    | 2094-12-08 14:14:07
    H2       | 11:59:59.999999      | DIALOG_CREATED   | c1              | false                | H2                  | 5                   | far                | CO    | -
    H3       | 11:59:59.999999      | BEGIN_DIALOG     | c3              | true                 | H3                  | 5                   | far                | DI    | -
    H3/DI    | 11:59:59.999999      | END_CONVERSATION | c3              | false                | -                   | -                   | -                  | -     | -
    H4       | 11:59:59.999999      | BEGIN_DIALOG     | c4              | true                 | H4                  | 5                   | far                | DO    | -
    H4/DO    | 11:59:59.999999      | END_CONVERSATION | c4              | true                 | H4                  | -                   | -                  | -     | -
    H5       | 11:59:59.999999      | DIALOG_CREATED   | c5              | false                | H5                  | 5                   | far                | CD    | -
    H5/CD    | 11:59:59.999999      | END_CONVERSATION | c5              | false                | H5                  | -                   | -                  | -     | -
    H6/ER    | 11:59:59.999999      | DIALOG_CREATED   | c6              | false                | H6                  | 5                   | far                | ER    | -
    H7       | 11:59:59.999999      | DIALOG_CREATED   | c7              | false                | H7                  | 5                   | far                | SI    | 2094-12-08 15:14:07
    H8       | 11:59:59             | DIALOG_CREATED   | c8              | false                | H8                  | 5                   | far                | SI    | 2094-12-08 15:14:06
    H9       | 11:59:59.999999      | DIALOG_CREATED   | c9              | false                | H9                  | 5                   | far                | SI    | 2084-12-07 15:14:06
    HA       | 2016-11-19 12:00     | DIALOG_CREATED   | cA              | false                | HA                  | 5                   | far                | SI    | 2084-12-07 15:14:07
"""  # noqa: E501


def test_endpoints_that_a_view_shows(session: SparkSession) -> None:
    """Created when the default lifetime says, unless that is in the future or ten years ago."""
    more = {"conversation_group_id": "g", "contract": "C", "local_service": "own", "far_service": "far"}
    view = of_view(session, ENDPOINTS).withColumns({name: F.lit(value) for name, value in more.items()})
    require_events(endpoint_events(view), frame(session, CREATIONS))


def test_messages_that_are_ready(session: SparkSession) -> None:
    """A message that came while the views were read counts just before the snapshot."""
    view = of_view(
        session,
        """
        status int | conversation_handle | message_sequence_number bigint | message_type_name | queuing_order bigint | message_enqueue_time timestamp | size_bytes bigint | service_name | service_contract_name
        1          | H1                  | 0                              | Order             | 7                    | 11:30                          | 10 | Press        | Jobs
        1          | H2                  | -                              | -                 | 8                    | 12:30                          | - | -            | -
        1          | H3                  | -                              | Order             | -                    | -                              | 10 | -            | -
        2          | H3                  | 2                              | Order             | 9                    | 11:30                          | 10 | -            | -
        """,  # noqa: E501
    )
    expected = """
        event_id   | event_time timestamp | event_type | message_type | queuing_order bigint | message_id | conversation_id | sent_by_initiator boolean | size_bytes bigint | shown_to_service | shown_contract
        H1/Order/0 | 11:30                | DELIVERED  | Order        | 7                    | H1/unknown | H1/unknown      | true                      | 10 | Press            | Jobs
        H2//8      | 11:59:59.999999      | DELIVERED  | -            | 8                    | H2/unknown | H2/unknown      | true                      | - | -                | -
        H3/Order/  | 11:59:59.999999      | DELIVERED  | Order        | -                    | H3/unknown | H3/unknown      | true                      | 10 | -                | -
    """  # noqa: E501
    require_events(queued_message_events(view), frame(session, expected))


def test_messages_that_retention_keeps(session: SparkSession) -> None:
    """One number in both directions: what the endpoint received, and a copy of what it sent."""
    view = of_view(
        session,
        """
        status int | conversation_handle | message_sequence_number bigint | message_type_name | queuing_order bigint | message_enqueue_time timestamp | size_bytes bigint | service_name | service_contract_name
        0          | H1                  | 0                              | Order             | 7                    | 11:30                          | 10 | Press        | Jobs
        3          | H1                  | 0                              | Order             | 8                    | 11:30                          | 10 | Press        | Jobs
        """,  # noqa: E501
    )
    expected = """
        event_id            | event_time timestamp | event_type | message_type | queuing_order bigint | message_id | conversation_id | sent_by_initiator boolean | size_bytes bigint | shown_to_service | shown_contract | inferred boolean
        H1/Order/0/status 0 | 11:59:59.999999      | RECEIVED   | Order        | 7                    | H1/unknown | H1/unknown      | true                      | 10 | Press            | Jobs | true
        H1/Order/0/status 3 | 11:59:59.999999      | SENT       | Order        | 8                    | H1/unknown | H1/unknown      | true                      | 10 | -                | Jobs | true
    """  # noqa: E501
    require_events(queued_message_events(view), frame(session, expected))


def test_messages_that_wait_to_be_sent(session: SparkSession) -> None:
    """A type that the view does not name follows from its flags."""
    view = of_view(
        session,
        """
        conversation_handle | message_sequence_number bigint | message_type_name | is_conversation_error boolean | is_end_of_dialog boolean | enqueue_time timestamp | transmission_status | size_bytes bigint | from_service_name | to_service_name | service_contract_name
        H1                  | 0                              | Order             | true                          | true                     | 11:30                  | ''                  | 10 | Desk              | Press           | Jobs
        H2                  | 1                              | -                 | true                          | true                     | 12:30                  | no route            | 10 | -                 | -               | -
        H3                  | -                              | -                 | false                         | true                     | 11:30                  | -                   | 10 | -                 | -               | -
        H4                  | 3                              | -                 | false                         | -                        | 11:30                  | -                   | 10 | -                 | -               | -
        """,  # noqa: E501
    )
    expected = """
        event_id   | event_time timestamp | event_type | message_type     | message_sequence_number bigint | transmission_status | message_id | queuing_order bigint | shown_from_service | shown_to_service | shown_contract
        H1/Order/0 | 11:30                | SENT       | Order            | 0                              | -                   | H1/unknown | - | Desk               | Press            | Jobs
        H2//1      | 11:59:59.999999      | SENT       | system/Error     | 1                              | no route            | H2/unknown | - | -                  | -                | -
        H3//       | 11:30                | SENT       | system/EndDialog | -                              | -                   | H3/unknown | - | -                  | -                | -
        H4//3      | 11:30                | SENT       | DEFAULT          | 3                              | -                   | H4/unknown | - | -                  | -                | -
    """  # noqa: E501
    system = F.replace(
        "message_type", F.lit("http://schemas.microsoft.com/SQL/ServiceBroker/"), F.lit("system/")
    )
    found = waiting_message_events(view).withColumn("message_type", system)
    require_events(found, frame(session, expected))


def test_what_is_shown_of_queues(session: SparkSession) -> None:
    """Whether they are on, their tasks, and a session below zero for each that waits."""
    queues = of_view(
        session,
        """
        name | is_receive_enabled boolean | is_enqueue_enabled boolean
        on   | true                       | true
        off  | false                      | true
        half | true                       | false
        """,
    )
    expected = """
        event_id | event_time timestamp | queue | event_type    | session_id bigint | queue_status
        on       | 11:59:59.999999      | on    | QUEUE_ALTERED | -                 | ON
        off      | 11:59:59.999999      | off   | QUEUE_ALTERED | -                 | OFF
        half     | 11:59:59.999999      | half  | QUEUE_ALTERED | -                 | OFF
    """
    require_events(queue_events(queues), frame(session, expected))
    tasks = of_view(session, "queue | spid bigint\nQ | 51")
    expected = """
        event_id | event_time timestamp | queue | event_type   | session_id bigint | queue_status
        51       | 11:59:59.999999      | Q     | TASK_STARTED | 51                | -
    """
    require_events(task_events(tasks), frame(session, expected))
    waiting = of_view(session, "queue | tasks_waiting bigint\nQ | 2\nR | 0\nS | -")
    expected = """
        event_id | event_time timestamp | queue | event_type   | session_id bigint | queue_status
        Q/-1     | 11:59:59.999999      | Q     | WAIT_STARTED | -1                | -
        Q/-2     | 11:59:59.999999      | Q     | WAIT_STARTED | -2                | -
    """
    require_events(session_events(waiting), frame(session, expected))

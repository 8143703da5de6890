"""What the views of a snapshot say, as events just before it."""

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.ingest.snapshots.view_events import (
    endpoint_events,
    queue_events,
    queued_message_events,
    session_events,
    task_events,
    waiting_message_events,
)
from pipelines.server.snapshots.places import OWN
from pipelines.server.snapshots.views import (
    ENDPOINTS,
    MONITORS,
    QUEUE,
    QUEUES,
    TASKS,
    TRANSMISSION,
    columns_in_files,
)
from pipelines.storage.snapshots.views import TYPES
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS
from tests.support.drawn import Draw
from tests.support.frames import assert_same, instant

NOON = instant("12:00")
IN_FRONT = f"snapshot/{int(NOON.timestamp())}000000/SQL1/B/the view/"
PLACE = {"instance": "SQL1", "database": "B", "view": "the view", "taken_at": NOON}


def of_view(draw: Draw, view: str, more: str = "queue string", **others: Any) -> Callable[[str], DataFrame]:
    """Draw rows of a view of SQL1.B at noon, with what is known of them."""
    place = "instance string, database string, view string, taken_at timestamp"
    own = ", ".join(f"{name} string" for name in OWN)
    columns = ", ".join(f"{each.name} {TYPES[each.kind]}" for each in columns_in_files(view))
    return draw.rows(f"{columns}, {place}, {own}, {more}", **PLACE, **others)


def require_events(found: DataFrame, expected: DataFrame) -> None:
    """The drawn columns, ids without what all of them begin with."""
    places = found.select("instance", "database", "seen_at").distinct()
    assert [tuple(row) for row in places.collect()] == [("SQL1", "B", NOON.replace(tzinfo=None))]
    short = found.withColumn("event_id", F.replace("event_id", F.lit(IN_FRONT), F.lit("")))
    assert_same(short.select(*expected.columns), expected)


def test_endpoints_that_a_view_shows(draw: Draw) -> None:
    """Created when the default lifetime says, unless that is in the future or ten years ago."""
    names = {"contract": "C", "local_service": "own", "far_service": "far", "conversation_group_id": "g"}
    view = of_view(draw, ENDPOINTS, "contract string, local_service string", **names)("""
        conversation_handle | conversation_id | is_initiator | state | lifetime            | priority
        H1                  | c1              | true         | CO    | 2094-12-08 14:14:07 | 7
        H2                  | c1              | false        | CO    | -                   | 5
        H3                  | c3              | true         | DI    | -                   | 5
        H4                  | c4              | true         | DO    | -                   | 5
        H5                  | c5              | false        | CD    | -                   | 5
        H6                  | c6              | false        | ER    | -                   | 5
        H7                  | c7              | false        | SI    | 2094-12-08 15:14:07 | 5
        H8                  | c8              | false        | SI    | 2094-12-08 15:14:06 | 5
        H9                  | c9              | false        | SI    | 2084-12-07 15:14:06 | 5
        HA                  | cA              | false        | SI    | 2084-12-07 15:14:07 | 5
    """)
    expected = draw.columns(ENDPOINT_FACTS)("""
        event_id | event_time       | event_type       | conversation_id | is_initiator | conversation_handle | logged_priority | remote_service | state | expires_at
        H1       | 11:00            | BEGIN_DIALOG     | c1              | true         | H1                  | 7               | far            | CO    | 2094-12-08 14:14:07
        H2       | 11:59:59.999999  | DIALOG_CREATED   | c1              | false        | H2                  | 5               | far            | CO    | -
        H3       | 11:59:59.999999  | BEGIN_DIALOG     | c3              | true         | H3                  | 5               | far            | DI    | -
        H3/DI    | 11:59:59.999999  | END_CONVERSATION | c3              | false        | -                   | -               | -              | -     | -
        H4       | 11:59:59.999999  | BEGIN_DIALOG     | c4              | true         | H4                  | 5               | far            | DO    | -
        H4/DO    | 11:59:59.999999  | END_CONVERSATION | c4              | true         | H4                  | -               | -              | -     | -
        H5       | 11:59:59.999999  | DIALOG_CREATED   | c5              | false        | H5                  | 5               | far            | CD    | -
        H5/CD    | 11:59:59.999999  | END_CONVERSATION | c5              | false        | H5                  | -               | -              | -     | -
        H6/ER    | 11:59:59.999999  | DIALOG_CREATED   | c6              | false        | H6                  | 5               | far            | ER    | -
        H7       | 11:59:59.999999  | DIALOG_CREATED   | c7              | false        | H7                  | 5               | far            | SI    | 2094-12-08 15:14:07
        H8       | 11:59:59         | DIALOG_CREATED   | c8              | false        | H8                  | 5               | far            | SI    | 2094-12-08 15:14:06
        H9       | 11:59:59.999999  | DIALOG_CREATED   | c9              | false        | H9                  | 5               | far            | SI    | 2084-12-07 15:14:06
        HA       | 2016-11-19 12:00 | DIALOG_CREATED   | cA              | false        | HA                  | 5               | far            | SI    | 2084-12-07 15:14:07
    """)  # noqa: E501
    require_events(endpoint_events(view), expected)


def test_messages_of_a_queue(draw: Draw) -> None:
    """A message that came while the views were read counts just before the snapshot.

    RETENTION keeps what the endpoint received, and a copy of what it sent; both may have one number.
    """
    view = of_view(draw, QUEUE)("""
        status | conversation_handle | message_sequence_number | message_type_name | queuing_order | message_enqueue_time | size_bytes | service_name | service_contract_name
        1      | H1                  | 0                       | Order             | 7             | 11:30                | 10         | Press        | Jobs
        1      | H2                  | -                       | -                 | 8             | 12:30                | -          | -            | -
        1      | H3                  | -                       | Order             | -             | -                    | 10         | -            | -
        2      | H3                  | 2                       | Order             | 9             | 11:30                | 10         | -            | -
        0      | H4                  | 0                       | Order             | 7             | 11:30                | 10         | Press        | Jobs
        3      | H4                  | 0                       | Order             | 8             | 11:30                | 10         | Press        | Jobs
    """)  # noqa: E501
    expected = draw.columns(MESSAGES)("""
        event_id            | event_time      | event_type | message_type | queuing_order | message_id | conversation_id | sent_by_initiator | size_bytes | shown_to_service | shown_contract | inferred
        H1/Order/0          | 11:30           | DELIVERED  | Order        | 7             | H1/unknown | H1/unknown      | true              | 10         | Press            | Jobs           | -
        H2//8               | 11:59:59.999999 | DELIVERED  | -            | 8             | H2/unknown | H2/unknown      | true              | -          | -                | -              | -
        H3/Order/           | 11:59:59.999999 | DELIVERED  | Order        | -             | H3/unknown | H3/unknown      | true              | 10         | -                | -              | -
        H4/Order/0/status 0 | 11:59:59.999999 | RECEIVED   | Order        | 7             | H4/unknown | H4/unknown      | true              | 10         | Press            | Jobs           | true
        H4/Order/0/status 3 | 11:59:59.999999 | SENT       | Order        | 8             | H4/unknown | H4/unknown      | true              | 10         | -                | Jobs           | true
    """)  # noqa: E501
    require_events(queued_message_events(view), expected)


def test_messages_that_wait_to_be_sent(draw: Draw) -> None:
    """A type that the view does not name follows from its flags."""
    view = of_view(draw, TRANSMISSION, size_bytes=10)("""
        conversation_handle | message_sequence_number | message_type_name | is_conversation_error | is_end_of_dialog | enqueue_time | transmission_status | from_service_name | to_service_name | service_contract_name | priority
        H1                  | 0                       | Order             | true                  | true             | 11:30        | ''                  | Desk              | Press           | Jobs | 7
        H2                  | 1                       | -                 | true                  | true             | 12:30        | no route            | -                 | -               | - | -
        H3                  | -                       | -                 | false                 | true             | 11:30        | -                   | -                 | -               | - | -
        H4                  | 3                       | -                 | false                 | -                | 11:30        | -                   | -                 | -               | - | -
    """)  # noqa: E501
    expected = draw.columns(MESSAGES)("""
        event_id   | event_time      | event_type | message_type     | message_sequence_number | transmission_status | message_id | queuing_order | size_bytes | shown_from_service | shown_to_service | shown_contract | shown_priority
        H1/Order/0 | 11:30           | SENT       | Order            | 0                       | -                   | H1/unknown | -             | 10         | Desk               | Press            | Jobs | 7
        H2//1      | 11:59:59.999999 | SENT       | system/Error     | 1                       | no route            | H2/unknown | -             | 10         | -                  | -                | - | -
        H3//       | 11:30           | SENT       | system/EndDialog | -                       | -                   | H3/unknown | -             | 10         | -                  | -                | - | -
        H4//3      | 11:30           | SENT       | DEFAULT          | 3                       | -                   | H4/unknown | -             | 10         | -                  | -                | - | -
    """)  # noqa: E501
    system = F.lit("http://schemas.microsoft.com/SQL/ServiceBroker/")
    short = F.replace("message_type", system, F.lit("system/"))
    require_events(waiting_message_events(view).withColumn("message_type", short), expected)


def test_what_is_shown_of_queues(draw: Draw) -> None:
    """Whether they are on, their tasks, and a session below zero for each that waits."""
    queues = of_view(draw, QUEUES)("""
        name | is_receive_enabled | is_enqueue_enabled
        on   | true               | true
        off  | false              | true
        half | true               | false
    """)
    tasks = of_view(draw, TASKS)("queue | spid\n Q | 51")
    monitors = of_view(draw, MONITORS)("queue | tasks_waiting\n Q | 2\n R | 0\n S | -")
    found = queue_events(queues).unionByName(task_events(tasks)).unionByName(session_events(monitors))
    expected = draw.columns(QUEUE_FACTS)("""
        event_id | event_time      | queue | event_type    | session_id | queue_status
        on       | 11:59:59.999999 | on    | QUEUE_ALTERED | -          | ON
        off      | 11:59:59.999999 | off   | QUEUE_ALTERED | -          | OFF
        half     | 11:59:59.999999 | half  | QUEUE_ALTERED | -          | OFF
        51       | 11:59:59.999999 | Q     | TASK_STARTED  | 51         | -
        Q/-1     | 11:59:59.999999 | Q     | WAIT_STARTED  | -1         | -
        Q/-2     | 11:59:59.999999 | Q     | WAIT_STARTED  | -2         | -
    """)
    require_events(found, expected)

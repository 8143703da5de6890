"""Scenes about receives: what nobody receives, and what the queue's monitor last did."""

from typing import Any

from tests.support.factories import INITIATOR, TARGET, Row, at, catalog, database, message_event
from tests.support.model.snapshots import Snapshot

from .scene import FIRST, ONE, TARGET_QUEUE, Scene, on_queue, ready, received, talk

NOT_RECEIVED = ["first_in_line", "not_received"]


def details(reason: str | None, last: float | None, messages: int = 1) -> dict[str, list[Row]]:
    """The details of one row."""
    last_receive = None if last is None else at(last)
    row = {"reason": reason, "last_receive": last_receive, "messages": messages}
    return {"not_received": [{**TARGET_QUEUE, **row}]}


def monitored(**monitor: Any) -> Row:
    """The catalog, where the target queue has a monitor."""
    target = database("B", TARGET, "TargetQueue")
    target["queues"] = [{**queue, **monitor} for queue in target["queues"]]
    return catalog({"SQL1": [database("A", INITIATOR, "InitiatorQueue"), target]})


INTERNAL = monitored(activation={"procedure": "dbo.Read", "max_queue_readers": 1})
EXTERNAL = monitored(event_notification={"timeout_seconds": 30})
TASK = on_queue("TASK_STARTED", 0, session_id=51)
WAIT = on_queue("WAIT_STARTED", 0, session_id=51)

RECEIVES = [
    Scene("not_received: the log has no receives at all", ONE, {"c1/0": FIRST}),
    Scene(
        "not_received: the last RECEIVE was before the arrival",
        [*ONE, on_queue("RECEIVE", 0.25, row_count=0), on_queue("RECEIVE", 0.5, has_where=True)],
        {"c1/0": NOT_RECEIVED},
        details("no_monitor", 0.5),
    ),
    Scene(
        "not_received: a RECEIVE at the arrival's instant",
        [*ONE, on_queue("RECEIVE", 1, row_count=0)],
        {"c1/0": FIRST},
    ),
    Scene(
        "not_received: an empty RECEIVE with WHERE after the arrival",
        [*ONE, on_queue("RECEIVE", 30, row_count=0, has_where=True)],
        {"c1/0": FIRST},
    ),
    Scene(
        "not_received: a RECEIVE at as_of does not count",
        [*ONE, on_queue("RECEIVE", 60), on_queue("COMMIT", 2, transaction_id="t1")],
        {"c1/0": NOT_RECEIVED},
        details("no_monitor", None),
    ),
    Scene(
        "not_received: GET_CONVERSATION_GROUP is no receive",
        [*ONE, on_queue("GET_CONVERSATION_GROUP", 30)],
        {"c1/0": NOT_RECEIVED},
        details("no_monitor", None),
    ),
    Scene(
        "not_received: a RECEIVED of another message of the queue",
        [*ONE, *talk("c2"), received("c2/0", None, 30)],
        {"c1/0": FIRST},
    ),
    Scene(
        "not_received: a RECEIVED of another queue of the instance makes receives known",
        [
            *ONE,
            *talk("c2"),
            message_event("RECEIVED", "c2/0", event_time=at(30), sent_by_initiator=False),
        ],
        {"c1/0": NOT_RECEIVED},
        details("no_monitor", None),
    ),
    Scene(
        "not_received: a queue event of another instance makes nothing known",
        [*ONE, on_queue("RECEIVE", 0, instance="SQL2", database="C")],
        {"c1/0": FIRST},
    ),
    Scene(
        "not_received: each message by its own arrival",
        [*ONE, *talk("c2"), ready("c2/0", 30), on_queue("RECEIVE", 20, row_count=1)],
        {"c1/0": FIRST, "c2/0": ["older_first", "not_received"]},
        details("no_monitor", 20),
    ),
]

REASONS = [
    Scene(
        "not_received: activation is off",
        [*ONE, TASK],
        {"c1/0": NOT_RECEIVED},
        details("activation_off", None),
        catalog=monitored(activation={"status": "off", "max_queue_readers": 1}),
    ),
    Scene(
        "not_received: activation is off, which the catalog says without a table",
        [*ONE, TASK],
        {"c1/0": NOT_RECEIVED},
        details("activation_off", None),
        catalog=monitored(activation={"status": "off", "max_queue_readers": 1}),
        settings={"activation_settings": None},
    ),
    Scene(
        "not_received: all readers are busy",
        [*ONE, TASK],
        {"c1/0": NOT_RECEIVED},
        details("max_queue_readers", None),
        catalog=INTERNAL,
    ),
    Scene(
        "not_received: no reader started",
        [*ONE, on_queue("RECEIVE", 0, row_count=0)],
        {"c1/0": NOT_RECEIVED},
        details("no_reader_started", 0),
        catalog=INTERNAL,
    ),
    Scene(
        "not_received: the notification went out",
        [*ONE, on_queue("RECEIVE", 0, row_count=0)],
        {"c1/0": NOT_RECEIVED},
        details("notified", 0),
        catalog=EXTERNAL,
    ),
    Scene(
        "not_received: a session is waiting, so no check was due",
        [*ONE, TASK, WAIT],
        {"c1/0": NOT_RECEIVED},
        details("not_due", None),
        catalog=INTERNAL,
    ),
    Scene(
        "not_received: the last check was before the arrival",
        [*ONE, ready("c1/1", 2), WAIT],
        {"c1/0": NOT_RECEIVED, "c1/1": ["own_group_first", "first_in_line", "not_received"]},
        {
            "not_received": [
                {**TARGET_QUEUE, "reason": "no_reader_started", "last_receive": None, "messages": 1},
                {**TARGET_QUEUE, "reason": "not_due", "last_receive": None, "messages": 1},
            ]
        },
        catalog=INTERNAL,
    ),
    Scene(
        "not_received: activation is not computed",
        [*ONE, TASK],
        {"c1/0": NOT_RECEIVED},
        details(None, None),
        catalog=INTERNAL,
        settings={"activation_settings": None},
    ),
]


def shown(state: str, activated: float | None, taken_at: float = 50) -> list[Snapshot]:
    """A snapshot with the monitor of the target queue."""
    monitor = {
        "queue_name": "TargetQueue",
        "state": state,
        "tasks_waiting": 0,
        "last_activated_time": None if activated is None else at(activated),
        "last_empty_rowset_time": None,
    }
    return [Snapshot(at(taken_at), "SQL1", "B", {"dm_broker_queue_monitors": [monitor]})]


QUEUE_IS_ON = {
    "object_id": 12,
    "name": "TargetQueue",
    "is_receive_enabled": True,
    "is_enqueue_enabled": True,
}
TWO = [*talk(), ready("c1/0", 9.99), *talk("c2"), ready("c2/0", 10)]
OF_SNAPSHOTS = [
    Scene(
        "not_received: a monitor shown as NOTIFIED since the arrival",
        TWO,
        {"c1/0": FIRST, "c2/0": ["older_first", "not_received"]},
        details("notified", None),
        catalog=INTERNAL,
        snapshots=shown("NOTIFIED", 10),
    ),
    Scene(
        "not_received: a monitor in another state",
        TWO,
        {"c1/0": FIRST, "c2/0": ["older_first"]},
        catalog=INTERNAL,
        snapshots=shown("INACTIVE", 10),
    ),
    Scene(
        "not_received: a NOTIFIED monitor without a time",
        TWO,
        {"c1/0": FIRST, "c2/0": ["older_first"]},
        catalog=INTERNAL,
        snapshots=shown("NOTIFIED", None),
    ),
    Scene(
        "not_received: what a snapshot shows of queues does not make receives known",
        TWO,
        {"c1/0": FIRST, "c2/0": ["older_first"]},
        catalog=INTERNAL,
        snapshots=[Snapshot(at(50), "SQL1", "B", {"service_queues": [QUEUE_IS_ON]})],
    ),
    Scene(
        "not_received: the newest snapshot counts",
        TWO,
        {"c1/0": FIRST, "c2/0": ["older_first"]},
        catalog=INTERNAL,
        snapshots=[*shown("NOTIFIED", 10, 40), *shown("RECEIVES_OCCURRING", 10, 50)],
    ),
    Scene(
        "not_received: NOTIFIED whatever the kind of activation, the others by the log",
        [*TWO, TASK],
        {"c1/0": NOT_RECEIVED, "c2/0": ["older_first", "not_received"]},
        {
            "not_received": [
                {**TARGET_QUEUE, "reason": "max_queue_readers", "last_receive": None, "messages": 1},
                {**TARGET_QUEUE, "reason": "notified", "last_receive": None, "messages": 1},
            ]
        },
        catalog=INTERNAL,
        snapshots=shown("NOTIFIED", 10),
    ),
]
SCENES = [*RECEIVES, *REASONS, *OF_SNAPSHOTS]

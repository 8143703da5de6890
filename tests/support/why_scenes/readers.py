"""Scenes about receives: what nobody receives, and what the queue's monitor last did."""

from typing import Any

from tests.support.factories import INITIATOR, TARGET, Row, at, catalog, database
from tests.support.model.snapshots import Snapshot

from .scene import ONE, ONE_NOT_COMPUTED, TARGET_QUEUE, scene

FIRST, NOT_RECEIVED = "c1/0: first_in_line", "c1/0: first_in_line, not_received"


def details(*rows: tuple[str | None, float | None]) -> dict[str, list[Row]]:
    """The details of one message each: the reason, and the last receive."""
    return {
        "not_received": [
            {
                **TARGET_QUEUE,
                "reason": reason,
                "last_receive": None if last is None else at(last),
                "messages": 1,
            }
            for reason, last in rows
        ]
    }


def monitored(**monitor: Any) -> Row:
    """The catalog, where the target queue has a monitor."""
    target = database("B", TARGET, "TargetQueue")
    target["queues"] = [{**queue, **monitor} for queue in target["queues"]]
    return catalog({"SQL1": [database("A", INITIATOR, "InitiatorQueue"), target]})


INTERNAL = monitored(activation={"procedure": "dbo.Read", "max_queue_readers": 1})
EXTERNAL = monitored(event_notification={"timeout_seconds": 30})
SWITCHED_OFF = monitored(activation={"status": "off", "max_queue_readers": 1})
TASK, WAIT = "TASK_STARTED 0 session=51", "WAIT_STARTED 0 session=51"

RECEIVES = [
    scene("not_received: the log has no receives at all", ONE, FIRST),
    scene(
        "not_received: the last RECEIVE was before the arrival",
        f"{ONE}, RECEIVE 0.25 rows=0, RECEIVE 0.5 where=true",
        NOT_RECEIVED,
        details(("no_monitor", 0.5)),
    ),
    scene("not_received: a RECEIVE at the arrival's instant", f"{ONE}, RECEIVE 1 rows=0", FIRST),
    scene(
        "not_received: an empty RECEIVE with WHERE after the arrival",
        f"{ONE}, RECEIVE 30 rows=0 where=true",
        FIRST,
    ),
    scene(
        "not_received: a RECEIVE at as_of does not count",
        f"{ONE}, RECEIVE 60, COMMIT 2 transaction=t1",
        NOT_RECEIVED,
        details(("no_monitor", None)),
    ),
    scene(
        "not_received: GET_CONVERSATION_GROUP is no receive",
        f"{ONE}, GET_CONVERSATION_GROUP 30",
        NOT_RECEIVED,
        details(("no_monitor", None)),
    ),
    scene(
        "not_received: a RECEIVED of another message of the queue",
        f"{ONE}, talk c2, received c2/0 - 30",
        FIRST,
    ),
    scene(
        "not_received: a RECEIVED of another queue of the instance makes receives known",
        f"{ONE}, talk c2, received c2/0 - 30 sent_by_initiator=false",
        NOT_RECEIVED,
        details(("no_monitor", None)),
    ),
    scene(
        "not_received: a queue event of another instance makes nothing known",
        f"{ONE}, RECEIVE 0 instance=SQL2 database=C",
        FIRST,
    ),
    scene(
        "not_received: each message by its own arrival",
        f"{ONE}, talk c2, ready c2/0 30, RECEIVE 20 rows=1",
        f"{FIRST}; c2/0: older_first, not_received",
        details(("no_monitor", 20)),
    ),
]

REASONS = [
    scene(
        "not_received: activation is off",
        f"{ONE}, {TASK}",
        NOT_RECEIVED,
        details(("activation_off", None)),
        catalog=SWITCHED_OFF,
    ),
    scene(
        "not_received: activation is off, which the catalog says without a table",
        f"{ONE}, {TASK}",
        NOT_RECEIVED,
        details(("activation_off", None)),
        catalog=SWITCHED_OFF,
        settings=ONE_NOT_COMPUTED,
    ),
    scene(
        "not_received: all readers are busy",
        f"{ONE}, {TASK}",
        NOT_RECEIVED,
        details(("max_queue_readers", None)),
        catalog=INTERNAL,
    ),
    scene(
        "not_received: no reader started",
        f"{ONE}, RECEIVE 0 rows=0",
        NOT_RECEIVED,
        details(("no_reader_started", 0)),
        catalog=INTERNAL,
    ),
    scene(
        "not_received: the notification went out",
        f"{ONE}, RECEIVE 0 rows=0",
        NOT_RECEIVED,
        details(("notified", 0)),
        catalog=EXTERNAL,
    ),
    scene(
        "not_received: a session is waiting, so no check was due",
        f"{ONE}, {TASK}, {WAIT}",
        NOT_RECEIVED,
        details(("not_due", None)),
        catalog=INTERNAL,
    ),
    scene(
        "not_received: the last check was before the arrival",
        f"{ONE}, ready c1/1 2, {WAIT}",
        f"{NOT_RECEIVED}; c1/1: own_group_first, first_in_line, not_received",
        details(("no_reader_started", None), ("not_due", None)),
        catalog=INTERNAL,
    ),
    scene(
        "not_received: activation is not computed",
        f"{ONE}, {TASK}",
        NOT_RECEIVED,
        details((None, None)),
        catalog=INTERNAL,
        settings=ONE_NOT_COMPUTED,
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


QUEUE_IS_ON = {"object_id": 12, "name": "TargetQueue", "is_receive_enabled": True, "is_enqueue_enabled": True}
TWO = "talk c1, ready c1/0 9.99, talk c2, ready c2/0 10"
NOTHING_SAID = {
    "a monitor in another state": shown("INACTIVE", 10),
    "a NOTIFIED monitor without a time": shown("NOTIFIED", None),
    "what a snapshot shows of queues does not make receives known": [
        Snapshot(at(50), "SQL1", "B", {"service_queues": [QUEUE_IS_ON]})
    ],
    "the newest snapshot counts": [*shown("NOTIFIED", 10, 40), *shown("RECEIVES_OCCURRING", 10, 50)],
}
OF_SNAPSHOTS = [
    scene(
        "not_received: a monitor shown as NOTIFIED since the arrival",
        TWO,
        f"{FIRST}; c2/0: older_first, not_received",
        details(("notified", None)),
        catalog=INTERNAL,
        snapshots=shown("NOTIFIED", 10),
    ),
    *[
        scene(
            f"not_received: {name}", TWO, f"{FIRST}; c2/0: older_first", catalog=INTERNAL, snapshots=snapshots
        )
        for name, snapshots in NOTHING_SAID.items()
    ],
    scene(
        "not_received: NOTIFIED whatever the kind of activation, the others by the log",
        f"{TWO}, {TASK}",
        f"{NOT_RECEIVED}; c2/0: older_first, not_received",
        details(("max_queue_readers", None), ("notified", None)),
        catalog=INTERNAL,
        snapshots=shown("NOTIFIED", 10),
    ),
]


def with_tasks(*states: str, tasks: int) -> list[Snapshot]:
    """A snapshot with monitors of the target queue in these states, and activated tasks."""
    [snapshot] = shown("RECEIVES_OCCURRING", 10)
    [monitor] = snapshot.rows("dm_broker_queue_monitors")
    views = {
        "dm_broker_queue_monitors": [{**monitor, "state": state} for state in states],
        "dm_broker_activated_tasks": [{"queue_name": "TargetQueue", "spid": 60 + n} for n in range(tasks)],
    }
    return [Snapshot(at(50), "SQL1", "B", views)]


OF_QUEUE = {"instance": "SQL1", "database": "B", "queue": "TargetQueue", "seen_at": at(50), "messages": 2}
MONITORS = [
    scene(
        "monitor_dropped: the only monitor is DROPPED",
        TWO,
        "c1/0: first_in_line, monitor_dropped; c2/0: older_first, monitor_dropped",
        {"monitor_dropped": [OF_QUEUE]},
        catalog=INTERNAL,
        snapshots=with_tasks("DROPPED", tasks=1),
    ),
    scene(
        "too_many_tasks: two tasks of a queue with one reader at most, and a monitor that is DROPPED",
        TWO,
        "c1/0: first_in_line, too_many_tasks; c2/0: older_first, too_many_tasks",
        {"too_many_tasks": [{**OF_QUEUE, "tasks_running": 2, "max_readers": 1, "dropped_monitors": 1}]},
        catalog=INTERNAL,
        snapshots=with_tasks("DROPPED", "RECEIVES_OCCURRING", tasks=2),
    ),
    scene(
        "monitor_dropped: there is a newer one",
        TWO,
        f"{FIRST}; c2/0: older_first",
        catalog=INTERNAL,
        snapshots=with_tasks("DROPPED", "RECEIVES_OCCURRING", tasks=0),
    ),
    scene(
        "too_many_tasks: as many as there may be",
        TWO,
        f"{FIRST}; c2/0: older_first",
        catalog=INTERNAL,
        snapshots=with_tasks("RECEIVES_OCCURRING", tasks=1),
    ),
]


def broker(is_enabled: bool, taken_at: float = 50) -> Snapshot:
    """A snapshot that says whether Service Broker is on in the target's database."""
    row = {"name": "B", "is_honor_broker_priority_on": True, "is_broker_enabled": is_enabled}
    return Snapshot(at(taken_at), "SQL1", "B", {"databases": [row]})


BROKERS = [
    scene(
        "broker_disabled: nothing about order, readers or rules beside it",
        TWO,
        "c1/0: broker_disabled; c2/0: broker_disabled",
        {"broker_disabled": [{"instance": "SQL1", "database": "B", "seen_at": at(50), "messages": 2}]},
        snapshots=[broker(is_enabled=False)],
    ),
    scene(
        "broker_disabled: the newest snapshot counts",
        TWO,
        f"{FIRST}; c2/0: older_first",
        snapshots=[broker(is_enabled=False, taken_at=40), broker(is_enabled=True)],
    ),
]
SCENES = [*RECEIVES, *REASONS, *OF_SNAPSHOTS, *MONITORS, *BROKERS]

"""Scenes about receives: what nobody receives, and what the queue's monitor last did."""

from typing import Any

from tests.support.factories import INITIATOR, TARGET, Row, at, catalog, database
from tests.support.model.snapshots import Snapshot
from tests.support.view_rows import queue

from .scene import ONE, OTHER_SETTINGS, Scene, scenes

FIRST = "=> c1/0: first_in_line"
NOT_RECEIVED = f"{FIRST}, not_received"
TASK = "TASK_STARTED 0 session=51"
RECEIVES = scenes(
    "not_received",
    f"""
    the log has no receives at all
        {ONE} {FIRST}
    the last RECEIVE was before the arrival
        {ONE}, RECEIVE 0.25 rows=0, RECEIVE 0.5 where=true {NOT_RECEIVED}
        => not_received: queue=TargetQueue reason=no_monitor last_receive=0.5 messages=1
    a RECEIVE at the arrival's instant
        {ONE}, RECEIVE 1 rows=0 {FIRST}
    an empty RECEIVE with WHERE after the arrival
        {ONE}, RECEIVE 30 rows=0 where=true {FIRST}
    a RECEIVE at as_of does not count
        {ONE}, RECEIVE 60, COMMIT 2 transaction=t1 {NOT_RECEIVED}
        => not_received: reason=no_monitor last_receive=-
    GET_CONVERSATION_GROUP is no receive
        {ONE}, GET_CONVERSATION_GROUP 30 {NOT_RECEIVED}
        => not_received: reason=no_monitor last_receive=-
    a RECEIVED of another message of the queue
        {ONE}, talk c2, received c2/0 - 30 {FIRST}
    a RECEIVED of another queue of the instance makes receives known
        {ONE}, talk c2, received c2/0 - 30 sent_by_initiator=false {NOT_RECEIVED}
        => not_received: reason=no_monitor last_receive=-
    a queue event of another instance makes nothing known
        {ONE}, RECEIVE 0 instance=SQL2 database=C {FIRST}
    each message by its own arrival
        {ONE}, talk c2, ready c2/0 30, RECEIVE 20 rows=1 {FIRST}; c2/0: older_first, not_received
        => not_received: reason=no_monitor last_receive=20
    """,
)


def monitored(**monitor: Any) -> Row:
    """The catalog, where the target queue has a monitor."""
    target = database("B", TARGET, "TargetQueue")
    target["queues"] = [{**queue, **monitor} for queue in target["queues"]]
    return catalog({"SQL1": [database("A", INITIATOR, "InitiatorQueue"), target]})


INTERNAL = monitored(activation={"procedure": "dbo.Read", "max_queue_readers": 1})
EXTERNAL = monitored(event_notification={"timeout_seconds": 30})
SWITCHED_OFF = monitored(activation={"status": "off", "max_queue_readers": 1})


def reason(name: str, log: str, reason: str, catalog: Row, **more: Any) -> list[Scene]:
    """A scene whose message is not received for a reason."""
    drawing = f"{name}\n {log} {NOT_RECEIVED} => not_received: {reason}"
    return scenes("not_received", drawing, catalog=catalog, **more)


READY, NO_RECEIVE = f"{ONE}, {TASK}", f"{ONE}, RECEIVE 0 rows=0"
NOT_COMPUTED = {"settings": OTHER_SETTINGS}
REASONS = [
    *reason("activation is off", READY, "reason=activation_off last_receive=-", SWITCHED_OFF),
    *reason("activation is off by the catalog", READY, "reason=activation_off", SWITCHED_OFF, **NOT_COMPUTED),
    *reason("all readers are busy", READY, "reason=max_queue_readers", INTERNAL),
    *reason("activation is not computed", READY, "reason=-", INTERNAL, **NOT_COMPUTED),
    *reason("no reader started", NO_RECEIVE, "reason=no_reader_started last_receive=0", INTERNAL),
    *reason("the notification went out", NO_RECEIVE, "reason=notified last_receive=0", EXTERNAL),
    *scenes(
        "not_received",
        f"""
        a session is waiting, so no check was due
            {READY}, WAIT_STARTED 0 session=51 {NOT_RECEIVED}
            => not_received: reason=not_due last_receive=-
        the last check was before the arrival
            {ONE}, ready c1/1 2, WAIT_STARTED 0 session=51
            {NOT_RECEIVED}; c1/1: own_group_first, first_in_line, not_received
            => not_received: reason=no_reader_started messages=1, reason=not_due messages=1
        """,
        catalog=INTERNAL,
    ),
]


def with_monitors(
    *states: str, activated: float | None = 10, taken_at: float = 50, tasks: int | None = None
) -> Snapshot:
    """A snapshot with monitors of the target queue in these states, and activated tasks."""
    monitor = {
        "queue_name": "TargetQueue",
        "tasks_waiting": 0,
        "last_activated_time": None if activated is None else at(activated),
        "last_empty_rowset_time": None,
    }
    views = {"dm_broker_queue_monitors": [{**monitor, "state": state} for state in states]}
    if tasks is not None:
        found = [{"queue_name": "TargetQueue", "spid": 60 + number} for number in range(tasks)]
        views["dm_broker_activated_tasks"] = found
    return Snapshot(at(taken_at), "SQL1", "B", views)


RUNNING = "RECEIVES_OCCURRING"
TWO = "talk c1, ready c1/0 9.99, talk c2, ready c2/0 10"
NOTHING_SAID: dict[str, list[Snapshot]] = {
    "a monitor in another state": [with_monitors("INACTIVE")],
    "a NOTIFIED monitor without a time": [with_monitors("NOTIFIED", activated=None)],
    "what a snapshot shows of queues does not make receives known": [
        Snapshot(at(50), "SQL1", "B", {"service_queues": [queue(12, "TargetQueue")]})
    ],
    "the newest snapshot counts": [with_monitors("NOTIFIED", taken_at=40), with_monitors(RUNNING)],
}
OF_SNAPSHOTS = [
    *scenes(
        "not_received",
        f"""
        a monitor shown as NOTIFIED since the arrival
            {TWO} {FIRST}; c2/0: older_first, not_received
            => not_received: reason=notified last_receive=-
        NOTIFIED whatever the kind of activation, the others by the log
            {TWO}, {TASK} {NOT_RECEIVED}; c2/0: older_first, not_received
            => not_received: reason=max_queue_readers, reason=notified
        """,
        catalog=INTERNAL,
        snapshots=[with_monitors("NOTIFIED")],
    ),
    *[
        scene
        for name, snapshots in NOTHING_SAID.items()
        for scene in scenes(
            "not_received",
            f"{name}\n {TWO} {FIRST}; c2/0: older_first",
            catalog=INTERNAL,
            snapshots=snapshots,
        )
    ],
]


def of_monitors(
    code: str, name: str, details: str, snapshot: Snapshot, catalog: Row = INTERNAL
) -> list[Scene]:
    """A scene of two messages that both have the code, or with no details neither."""
    codes = (f", {code}" if details else "", f"=> {code}: {details}" if details else "")
    drawing = f"{name}\n {TWO} {FIRST}{codes[0]}; c2/0: older_first{codes[0]} {codes[1]}"
    return scenes(code, drawing, catalog=catalog, snapshots=[snapshot])


DROPPED, MANY = "monitor_dropped", "too_many_tasks"
SEEN = "queue=TargetQueue seen_at=50 messages=2"
MONITORS = [
    *of_monitors(DROPPED, "the only monitor is DROPPED", SEEN, with_monitors("DROPPED", tasks=1)),
    *of_monitors(DROPPED, "there is a newer one", "", with_monitors("DROPPED", RUNNING, tasks=0)),
    *of_monitors(DROPPED, "activation is off on purpose", "", with_monitors("DROPPED"), SWITCHED_OFF),
    *of_monitors(
        MANY,
        "two tasks of a queue with one reader at most, and a monitor that is DROPPED",
        f"{SEEN} tasks_running=2 max_readers=1 dropped_monitors=1",
        with_monitors("DROPPED", RUNNING, tasks=2),
    ),
    *of_monitors(MANY, "as many as there may be", "", with_monitors(RUNNING, tasks=1)),
]


def broker(is_enabled: bool, taken_at: float = 50) -> Snapshot:
    """A snapshot that says whether Service Broker is on in the target's database."""
    row = {"name": "B", "is_honor_broker_priority_on": True, "is_broker_enabled": is_enabled}
    return Snapshot(at(taken_at), "SQL1", "B", {"databases": [row]})


BROKERS = [
    *scenes(
        "broker_disabled",
        f"""
        nothing about order, readers or rules beside it
            {TWO} => c1/0: broker_disabled; c2/0: broker_disabled
            => broker_disabled: database=B seen_at=50 messages=2
        """,
        snapshots=[broker(is_enabled=False)],
    ),
    *scenes(
        "broker_disabled",
        f"""
        the newest snapshot counts
            {TWO} {FIRST}; c2/0: older_first
        """,
        snapshots=[broker(is_enabled=False, taken_at=40), broker(is_enabled=True)],
    ),
    *scenes(
        "broker_disabled",
        f"""
        what the first snapshot shows held before it
            {TWO} => c1/0: broker_disabled; c2/0: broker_disabled
            => broker_disabled: database=B seen_at=70 messages=2
        """,
        snapshots=[broker(is_enabled=False, taken_at=70), broker(is_enabled=True, taken_at=80)],
    ),
]
SCENES = [*RECEIVES, *REASONS, *OF_SNAPSHOTS, *MONITORS, *BROKERS]

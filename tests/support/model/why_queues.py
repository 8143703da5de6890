"""Why nothing happens to a message: its group, its queue, its readers, its database, or what is unknown."""

from datetime import datetime

from .messages import Message
from .moment import Moment, OpenMessage
from .rules import DEFAULT_LEVEL
from .transmission import queue_off
from .vocabulary import SEEN, QueueKey, Row, by_time, is_on, queue_of, queue_row, transaction_of, utf8

CODES = {
    "broker_disabled": "stopped", "broker_changed": "stopped", "conversations_gone": "stopped",
    "group_locked": "blocked", "monitor_dropped": "stopped", "monitor_missing": "stopped",
    "queue_off": "stopped", "not_received": "stopped", "rolled_back": "blocked", "too_many_tasks": "blocked",
    "honor_off": "misconfigured", "transmission_status": "stopped", "endpoint_unknown": "stopped",
    "service_not_in_catalog": "stopped", "handle_unknown": "stopped",
}  # fmt: skip
"""All other causes in their order, with how bad they are; not_received may only be of the order."""
MANY_ROLLBACKS = 5
"""Rollbacks of one message after which a server turns its queue off."""


def queue_causes(moment: Moment, message: OpenMessage) -> dict[str, Row]:
    """The details by code of all causes but those from rules and positions."""
    status = _status(moment, message)
    if message.state == "unresolved":
        found_status = {} if status is None else {"transmission_status": status}
        if message.row["reason"] == "handle_unknown" and status is not None:
            return found_status
        return {message.row["reason"]: _unplaced(message), **found_status}
    found: dict[str, Row | None] = {"transmission_status": status}
    if message.kind == "receive":
        found["group_locked"] = _lock(moment, message) if message.state == "group_locked" else None
        found["queue_off"] = off_details(moment, message.queue) if message.state == "queue_off" else None
        found["not_received"] = _not_received(moment, message)
        found["rolled_back"] = _rolled_back(moment, message)
        found |= _monitor_causes(moment, message)
    if message.state == "transmission":
        off = queue_off(moment.state, message.message)
        found["queue_off"] = off_details(moment, off) if off else None
        is_explained = found["queue_off"] is not None or found["transmission_status"] is not None
        found["honor_off"] = None if is_explained else _honor_off(moment, message)
    return {code: details for code, details in found.items() if details is not None}


def broker_off(moment: Moment, message: OpenMessage) -> Row | None:
    """The database whose newest snapshot shows Service Broker off, if the message is in it."""
    if message.state == "unresolved":
        return None
    place = (message.row["instance"], message.row["database"])
    seen_at = moment.brokers_off.get(place)
    return None if seen_at is None else {"instance": place[0], "database": place[1], "seen_at": seen_at}


# group_locked


def _lock(moment: Moment, message: OpenMessage) -> Row:
    group = message.row["conversation_group_id"]
    locks = moment.state.locks((message.queue, group))
    # Of one instant, a statement that names the group goes before what was received of it.
    first = min(
        locks,
        key=lambda event: (event["event_time"], event["event_type"] == "RECEIVED", utf8(event["event_id"])),
    )
    sessions = [
        event["session_id"]
        for event in moment.state.queue_events
        if transaction_of(event) == transaction_of(first) and event.get("session_id") is not None
    ]
    return {
        **queue_row(message.queue),
        "conversation_group_id": group,
        "transaction_id": first["transaction_id"],
        "session_id": sessions[0] if sessions else None,
        "since": first["event_time"],
    }


# queue_off


def off_details(moment: Moment, queue: QueueKey) -> Row:
    """Since when a queue is off, and the message behind it."""
    poison = [
        (last["event_time"], other.message_id)
        for other in moment.open_messages
        if other.place == queue and other.kind == "receive"
        for times, last in [_rollbacks(moment, other.message)]
        if times >= MANY_ROLLBACKS and last is not None
    ]
    latest = [message_id for time, message_id in poison if time == max(poison)[0]]
    return {
        **queue_row(queue),
        "since": moment.state.off_since(queue)[0],
        "poison_message_id": min(latest, key=utf8) if latest else None,
    }


# rolled_back


def _rollbacks(moment: Moment, message: Message) -> tuple[int, Row | None]:
    """How many transactions received it and were rolled back, and the last RECEIVED of these."""
    undone = [event for event in moment.state.receives(message) if moment.state.is_rolled_back(event)]
    last = max(undone, key=by_time, default=None)
    return len({transaction_of(event) for event in undone}), last


def _rolled_back(moment: Moment, message: OpenMessage) -> Row | None:
    times, last = _rollbacks(moment, message.message)
    if last is None:
        return None
    return {
        "message_id": message.message_id,
        "times": times,
        "last_transaction_id": last["transaction_id"],
    }


# not_received


def _not_received(moment: Moment, message: OpenMessage) -> Row | None:
    if message.state != "ready":
        return None
    receives = _receives(moment, message.queue)
    if any(message.since <= time < moment.as_of for time in receives):
        return None
    last = max(receives, default=None)
    monitor = moment.monitors.get(message.queue)
    if (
        monitor
        and monitor.state == "NOTIFIED"
        and monitor.last_activated_time is not None
        and message.since >= monitor.last_activated_time
    ):
        reason: str | None = "notified"
    elif _receives_are_known(moment, message.queue[0]):
        reason = _reason(moment, message)
    else:
        return None
    return {**queue_row(message.queue), "reason": reason, "last_receive": last}


def _monitor_causes(moment: Moment, message: OpenMessage) -> dict[str, Row | None]:
    """What the newest snapshot shows of the monitor and the tasks of the queue."""
    monitor = moment.monitors.get(message.queue)
    if monitor is None:
        return {}
    found: dict[str, Row | None] = {}
    seen = {"seen_at": monitor.taken_at}
    internal = moment.catalog.queue(message.queue).get("activation")
    is_active = internal is None or is_on(internal.get("status", True))
    if monitor.state == "DROPPED" and is_active:
        found["monitor_dropped"] = {**queue_row(message.queue), **seen}
    most = None
    if internal is not None and is_active:
        most = internal.get("max_queue_readers", 1)
    if monitor.tasks is not None and most is not None and monitor.tasks > most:
        counts = {"tasks_running": monitor.tasks, "max_readers": most, "dropped_monitors": monitor.dropped}
        found["too_many_tasks"] = {**queue_row(message.queue), **counts, **seen}
    return found


def _receives(moment: Moment, queue: QueueKey) -> list[datetime]:
    """When something was received from the queue, or tried to be."""
    found = [
        event
        for event in moment.state.queue_events
        if event["event_type"] == "RECEIVE" and queue_of(event) == queue
    ]
    for other in moment.state.messages:
        receiver = moment.state.endpoint(other.receiver)
        if receiver and receiver.queue == queue:
            found += moment.state.receives(other)
    return [event["event_time"] for event in found]


def _receives_are_known(moment: Moment, instance: str) -> bool:
    """Whether the log, not a snapshot, has a queue event or a RECEIVED of the instance."""
    events = [*(moment.events.get("queue_events") or []), *moment.events["message_events"]]
    return any(
        event["instance"] == instance
        and event["event_time"] < moment.as_of
        and not event.get(SEEN)
        and ("queue" in event or event["event_type"] == "RECEIVED")
        for event in events
    )


def _reason(moment: Moment, message: OpenMessage) -> str | None:
    queue = moment.catalog.queue(message.queue)
    internal, external = queue.get("activation"), queue.get("event_notification")
    if internal is None and external is None:
        return "no_monitor"
    if internal is not None and not is_on(internal.get("status", True)):
        return "activation_off"
    if moment.activation is None:
        return None
    rows = [row for row in moment.activation if queue_of(row) == message.queue]
    last = max(rows, key=lambda row: row["ordinal"], default=None)
    if last is None or last["last_check"] < message.since:
        return "not_due"
    if last["mode"] == "external":
        return "notified"
    return "no_reader_started" if last["occurs"] else "max_queue_readers"


# honor_off, transmission_status


def _honor_off(moment: Moment, message: OpenMessage) -> Row | None:
    where = (message.row["instance"], message.row["database"])
    if message.row["priority"] <= DEFAULT_LEVEL or moment.catalog.honors_priority(*where) is not False:
        return None
    return {"instance": where[0], "database": where[1]}


def _status(moment: Moment, message: OpenMessage) -> Row | None:
    text = moment.statuses.get(message.message_id)
    is_sent = "transmission" in (message.kind, message.row.get("kind"))
    return {"text": text} if is_sent and text is not None else None


# endpoint_unknown, service_not_in_catalog, handle_unknown


def _unplaced(message: OpenMessage) -> Row:
    receives = message.row["kind"] == "receive"
    if message.endpoint:
        where = (message.endpoint.instance, message.endpoint.database)
    else:
        event = (
            message.message.arrival
            if receives
            else next(each for each in message.message.events if each["event_type"] == "SENT")
        )
        assert event is not None
        where = (event["instance"], event["database"])
    contract, local_service, remote_service = message.names
    return {
        "schedule": message.row["kind"],
        "instance": where[0],
        "database": where[1],
        "contract": contract,
        "local_service": local_service,
        "remote_service": remote_service,
    }

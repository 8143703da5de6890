"""What the views of a server say, as further events, rules, statuses and monitors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from .endpoints import Endpoint
from .rules import Rule, resolve
from .vocabulary import CREATIONS, DIALOG_TIMER, MICROSECOND, SEEN, Events, QueueKey, Row, Side, side_of

NEVER = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Snapshot:
    """One database at one moment: rows by view, with the columns of docs/data-dictionary.md."""

    taken_at: datetime
    instance: str
    database: str
    views: dict[str, list[Row]]

    def rows(self, view: str) -> list[Row]:
        """The rows of a view; none where it is missing."""
        return self.views.get(view) or []

    def names(self, view: str, key: str) -> dict[int, str]:
        """Names by id."""
        return {row[key]: row["name"] for row in self.rows(view)}

    @property
    def queues(self) -> list[str]:
        """The views that are queues."""
        return [view for view in self.views if "." in view]

    def before(self, moment: datetime | None = None) -> datetime:
        """The time of a fact: before taken_at, whatever the server's clock says."""
        latest = self.taken_at - MICROSECOND
        return latest if moment is None else min(moment, latest)


@dataclass(frozen=True)
class Monitor:
    """A queue monitor as a snapshot shows it."""

    taken_at: datetime
    state: str
    last_activated_time: datetime | None
    tasks: int | None
    dropped: int


def events_with(events: Events, snapshots: Sequence[Snapshot]) -> Events:
    """The events, and those that the snapshots stand for."""
    known = {source: list(events.get(source) or []) for source in ("endpoint_events", "message_events")}
    endpoint_events, message_events = known["endpoint_events"], known["message_events"]
    queue_events = list(events.get("queue_events") or [])
    for snapshot in snapshots:
        created = {side_of(row) for row in endpoint_events if row["event_type"] in CREATIONS}
        endpoint_events += [row for row in _endpoint_events(snapshot) if side_of(row) not in created]
    for snapshot in snapshots:
        shown = _message_events(snapshot, endpoint_events)
        message_events += [_named(row, message_events) for row in shown]
        queue_events += _queue_events(snapshot)
    return {
        "endpoint_events": endpoint_events,
        "message_events": message_events,
        "queue_events": queue_events,
    }


def _endpoint_events(snapshot: Snapshot) -> list[Row]:
    """The creations of endpoints that are open and whose lifetime says nothing: no view here has others."""
    contracts = snapshot.names("service_contracts", "service_contract_id")
    services = snapshot.names("services", "service_id")
    return [
        {
            "event_id": f"snapshot {snapshot.taken_at} {row['conversation_handle']}",
            "event_time": snapshot.before(),
            "event_type": "BEGIN_DIALOG" if row["is_initiator"] else "DIALOG_CREATED",
            "instance": snapshot.instance,
            "database": snapshot.database,
            "conversation_id": row["conversation_id"],
            "is_initiator": row["is_initiator"],
            "conversation_handle": row["conversation_handle"],
            "conversation_group_id": row["conversation_group_id"],
            "contract": contracts[row["service_contract_id"]],
            "local_service": services[row["service_id"]],
            "remote_service": row["far_service"],
            "logged_priority": row["priority"],
            SEEN: snapshot.taken_at,
        }
        for row in snapshot.rows("conversation_endpoints")
    ]


def _message_events(snapshot: Snapshot, endpoint_events: list[Row]) -> list[Row]:
    found = []
    for view in snapshot.queues:
        for row in snapshot.rows(view):
            if row["status"] == 1:
                more = {"event_type": "DELIVERED", "queuing_order": row.get("queuing_order")}
                more["queue"] = view.partition(".")[2]
                time = snapshot.before(row.get("message_enqueue_time"))
                found.append(_message_event(snapshot, endpoint_events, row, {**more, "event_time": time}))
    for row in snapshot.rows("transmission_queue"):
        more = {"event_type": "SENT", "transmission_status": row.get("transmission_status") or None}
        time = snapshot.before(row["enqueue_time"])
        found.append(_message_event(snapshot, endpoint_events, row, {**more, "event_time": time}))
    return found


def _message_event(snapshot: Snapshot, endpoint_events: list[Row], row: Row, more: Row) -> Row:
    """The row of a view as an event; its handle says whose message it is."""
    handle = row["conversation_handle"]
    owners = [
        event
        for event in endpoint_events
        if event.get("conversation_handle") == handle and event["instance"] == snapshot.instance
    ]
    near = [event for event in owners if event["database"] == snapshot.database] or owners
    sent = more["event_type"] == "SENT"
    if near:
        conversation, by_initiator = near[0]["conversation_id"], near[0]["is_initiator"] == sent
    else:
        conversation, by_initiator = f"{handle}/unknown", True
    return {
        "event_id": f"snapshot {snapshot.taken_at} {handle} {row['message_sequence_number']}",
        "instance": snapshot.instance,
        "database": snapshot.database,
        "message_id": None,
        "conversation_id": conversation,
        "sent_by_initiator": by_initiator,
        "message_sequence_number": row["message_sequence_number"],
        "message_type": row["message_type_name"],
        "size_bytes": row.get("size_bytes"),
        "queuing_order": None,
        "transaction_id": None,
        "handle_unknown": not near,
        "shown_names": (
            row.get("service_contract_name"),
            row.get("from_service_name"),
            row.get("to_service_name", row.get("service_name")),
        ),
        SEEN: snapshot.taken_at,
        **more,
    }


def _named(row: Row, message_events: list[Row]) -> Row:
    """The row with the id that an event has for the same message, else with one of its own."""
    known = [
        event["message_id"]
        for event in message_events
        if _place(event) == _place(row)
        and event["conversation_id"] == row["conversation_id"]
        and event["sent_by_initiator"] == row["sent_by_initiator"]
    ]
    side = "" if row["handle_unknown"] else "/initiator" if row["sent_by_initiator"] else "/target"
    return {**row, "message_id": min(known, default=f"{row['conversation_id']}{side}/{_place(row)}")}


def _place(event: Row) -> str:
    """A message's place in its conversation and direction."""
    number, message_type = event.get("message_sequence_number"), event["message_type"]
    if number is not None and not message_type.endswith(DIALOG_TIMER):
        return str(number)
    order = event.get("queuing_order")
    return f"{message_type}/{'' if order is None else order}"


def _queue_events(snapshot: Snapshot) -> list[Row]:
    base = {
        "event_time": snapshot.before(),
        "instance": snapshot.instance,
        "database": snapshot.database,
        SEEN: snapshot.taken_at,
    }
    found = []
    for row in snapshot.rows("service_queues"):
        on = row["is_receive_enabled"] and row["is_enqueue_enabled"]
        altered = {"event_type": "QUEUE_ALTERED", "queue_status": "ON" if on else "OFF"}
        found.append({**base, **altered, "queue": row["name"]})
    for row in snapshot.rows("dm_broker_activated_tasks"):
        started = {"event_type": "TASK_STARTED", "session_id": row["spid"]}
        found.append({**base, **started, "queue": row["queue_name"]})
    return [{**row, "event_id": f"snapshot {snapshot.taken_at} {number}"} for number, row in enumerate(found)]


def rules_with(rules: list[Rule], snapshots: Sequence[Snapshot], stated: set[tuple[str, str]]) -> list[Rule]:
    """The history of the rules; views make it for databases without statements.

    A rule is valid from the first snapshot that shows it as it is to the first one that does not.

    Args:
        rules: the history that statements make.
        snapshots: the views.
        stated: the databases of statements, also of one whose rule never stood.
    """
    versions: list[Rule] = []
    for snapshot in sorted(snapshots, key=lambda each: each.taken_at):
        place = (snapshot.instance, snapshot.database)
        if place in stated or "conversation_priorities" not in snapshot.views:
            continue
        contracts = snapshot.names("service_contracts", "service_contract_id")
        services = snapshot.names("services", "service_id")
        shown = [
            Rule(
                *place,
                row["name"],
                contracts.get(row["service_contract_id"]),
                services.get(row["local_service_id"]),
                row["remote_service_name"],
                row["priority"],
                snapshot.taken_at,
                None,
            )
            for row in snapshot.rows("conversation_priorities")
        ]
        standing = [
            rule for rule in versions if (rule.instance, rule.database) == place and rule.valid_to is None
        ]
        for old in standing:
            if not any(_same(old, new) for new in shown):
                versions[versions.index(old)] = replace(old, valid_to=snapshot.taken_at)
        versions += [new for new in shown if not any(_same(old, new) for old in standing)]
    return rules + versions


def _same(one: Rule, other: Rule) -> bool:
    return (one.name, one.triple, one.level) == (other.name, other.triple, other.level)


def shown_names(message_events: Sequence[Row]) -> tuple[str | None, str | None, str | None]:
    """Contract, sender and receiver that rows of views have of a message; of several, the greatest."""
    shown = [event["shown_names"] for event in message_events if "shown_names" in event]
    columns = [max(filter(None, names), default=None) for names in zip(*shown, strict=True)]
    contract, sender, receiver = columns or [None] * 3
    return contract, sender, receiver


def statuses(message_events: list[Row]) -> dict[str, str]:
    """The text that the newest snapshot with the message has for it, by message_id."""
    newest: dict[str, Row] = {}
    for event in message_events:
        if event.get(SEEN) and event["event_type"] == "SENT":
            before = newest.get(event["message_id"])
            if before is None or before[SEEN] < event[SEEN]:
                newest[event["message_id"]] = event
    return {
        message_id: event["transmission_status"]
        for message_id, event in newest.items()
        if event["transmission_status"] is not None
    }


def brokers_off(snapshots: Sequence[Snapshot], as_of: datetime) -> dict[tuple[str, str], datetime]:
    """The databases with Service Broker off, by the newest snapshot up to as_of that says it, else the first.

    Each has the moment of the snapshot.
    """
    said: dict[tuple[str, str], list[tuple[datetime, bool]]] = {}
    for snapshot in sorted(snapshots, key=lambda each: each.taken_at):
        for row in snapshot.rows("databases"):
            if row["name"] == snapshot.database and row.get("is_broker_enabled") is not None:
                of_database = said.setdefault((snapshot.instance, snapshot.database), [])
                of_database.append((snapshot.taken_at, row["is_broker_enabled"]))
    decided = {
        place: max([each for each in of_place if each[0] <= as_of], default=of_place[0])
        for place, of_place in said.items()
    }
    return {place: taken_at for place, (taken_at, is_enabled) in decided.items() if not is_enabled}


def monitors(snapshots: Sequence[Snapshot]) -> dict[QueueKey, Monitor]:
    """The monitors as the newest snapshot with the view of monitors shows them, by database."""
    newest: dict[tuple[str, str], Snapshot] = {}
    for snapshot in sorted(snapshots, key=lambda each: each.taken_at):
        if "dm_broker_queue_monitors" in snapshot.views:
            newest[snapshot.instance, snapshot.database] = snapshot
    found: dict[QueueKey, Monitor] = {}
    for place, snapshot in newest.items():
        has_tasks = "dm_broker_activated_tasks" in snapshot.views
        tasks = [row["queue_name"] for row in snapshot.rows("dm_broker_activated_tasks")]
        by_queue: dict[str, list[Row]] = {}
        for row in snapshot.rows("dm_broker_queue_monitors"):
            by_queue.setdefault(row["queue_name"], []).append(row)
        for queue, rows in by_queue.items():
            dropped = [row for row in rows if row["state"] == "DROPPED"]
            alive = [row for row in rows if row not in dropped]
            row = max(alive or dropped, key=lambda each: each["last_activated_time"] or NEVER)
            found[*place, queue] = Monitor(
                snapshot.taken_at,
                row["state"],
                row["last_activated_time"],
                tasks.count(queue) if has_tasks else None,
                len(dropped),
            )
    return found


def server_levels(endpoint_events: list[Row]) -> dict[Side, int]:
    """The levels of endpoints whose creation only a snapshot shows."""
    return {
        side_of(event): event["logged_priority"]
        for event in reversed(endpoint_events)
        if event["event_type"] in CREATIONS and event.get(SEEN)
    }


def with_server_levels(
    endpoints: dict[Side, Endpoint], levels: dict[Side, int], rules: list[Rule], as_of: datetime
) -> dict[Side, Endpoint]:
    """The endpoints, those of the server's level with it; today's rule is named if it gives the same level.

    Args:
        endpoints: all of them, with the levels of the ladder.
        levels: the server's levels.
        rules: of which those count that stand after the last statement.
        as_of: the moment.
    """
    found = dict(endpoints)
    last = max([as_of, *(rule.valid_from for rule in rules)])
    for side, level in levels.items():
        endpoint = endpoints[side]
        today, rule, step = resolve(rules, endpoint.place, last, endpoint.names)
        known = (rule, step) if today == level else (None, None)
        found[side] = replace(endpoint, priority=level, rule_name=known[0], ladder_step=known[1])
    return found

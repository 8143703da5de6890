"""Scenes about messages without a place, and about what only a snapshot says: statuses, handles, levels."""

from tests.support import view_rows
from tests.support.factories import Row, at
from tests.support.model.snapshots import Snapshot
from tests.support.snapshot_views import ready, shown, views

from .scene import ONE, Scene, scenes

UNPLACED = [
    *scenes(
        "endpoint_unknown",
        """
        neither endpoint of an arrived message is known
            ready c1/0 => c1/0: endpoint_unknown
            => endpoint_unknown: schedule=receive database=B contract=- local_service=- messages=1
        the other endpoint is known, so its names are swapped
            create c1, reply c1/0 => c1/0: endpoint_unknown
            => endpoint_unknown: schedule=receive database=A contract=Contract local_service=InitiatorService
        the receiver is created at as_of
            begin c1 60, create c1, reply c1/0 => c1/0: endpoint_unknown
        the receiver is created before as_of
            begin c1 59.99, create c1, reply c1/0 => c1/0: first_in_line
        the sender of a message that was sent
            create c1, sent c1/0 => c1/0: endpoint_unknown
            => endpoint_unknown: schedule=transmission database=A local_service=InitiatorService
        """,
    ),
    *scenes(
        "service_not_in_catalog",
        """
        the receiver's service has no queue
            begin c1, create c1 local=Nowhere, ready c1/0 => c1/0: service_not_in_catalog
            => service_not_in_catalog: schedule=receive database=B local_service=Nowhere messages=1
        a sender needs no queue
            begin c1 local=Nowhere, sent c1/0 => c1/0: first_in_line
        """,
    ),
]
NAMES = {name: views()[name] for name in ("service_contracts", "services")}
HANDLE = "handle c1 True"
"""Of the initiator endpoint of c1, as its creation logs it."""


def waiting(status: str | None, handle: str = HANDLE, number: int = 0, **names: str) -> Row:
    """A row of transmission_queue."""
    own = {"enqueue_time": at(1), "conversation_handle": handle, "transmission_status": status}
    return view_rows.waiting(sequence=number, size_bytes=100, **own, **names)


def in_queue(handle: str) -> Row:
    """A row of the target queue."""
    return ready(9, False, 0, conversation_handle=handle, message_enqueue_time=at(1))


def shown_target(priority: int) -> Row:
    """The target endpoint of c9."""
    ids = {"conversation_id": "c9", "conversation_handle": "handle c9 False"}
    return shown(9, False, priority=priority, **ids)


def of_database(database: str, minute: float = 50, **views: list[Row]) -> Snapshot:
    """A snapshot of a database of SQL1; a view named dbo_Q is the queue dbo.Q."""
    given = {name.replace("dbo_", "dbo."): rows for name, rows in views.items()}
    return Snapshot(at(minute), "SQL1", database, given)


def sending(*rows: Row, minute: float = 50) -> Snapshot:
    """What database A has to send."""
    return of_database("A", minute, transmission_queue=[*rows])


def of_server(priority: int) -> Snapshot:
    """A target whose level the server shows, with a message in its queue."""
    message = in_queue("handle c9 False")
    return of_database(
        "B", **NAMES, conversation_endpoints=[shown_target(priority)], dbo_TargetQueue=[message]
    )


def shows(code: str, name: str, body: str, *snapshots: Snapshot) -> list[Scene]:
    """A scene beside snapshots."""
    return scenes(code, f"{name}\n {body}", snapshots=snapshots)


STATUS, SENT = "transmission_status", "talk c1, sent c1/0"
TEXT = "An error occurred while receiving data: '64(The specified network name is no longer available.)'."
STATUSES = [
    *shows(
        STATUS,
        "the server says why it waits",
        f'{SENT} => c1/0: transmission_status => transmission_status: text="{TEXT}" messages=1',
        sending(waiting(TEXT)),
    ),
    *shows(STATUS, "the server says nothing", f"{SENT} => c1/0: first_in_line", sending(waiting(""))),
    *shows(
        STATUS,
        "a snapshot after as_of does not count",
        f"{SENT} => c1/0: first_in_line",
        sending(waiting(TEXT), minute=61),
    ),
    *shows(
        STATUS,
        "the newest snapshot counts",
        f"""{SENT}, sent c1/1 2 => c1/0: transmission_status; c1/1: own_group_first, transmission_status
        => transmission_status: text=blue messages=1, text=red messages=1""",
        sending(waiting("green"), waiting("red", number=1), minute=40),
        sending(waiting("blue")),
    ),
]
UNKNOWN, NO_ENDPOINT = "handle_unknown", "=> H/unknown/0: handle_unknown => handle_unknown: schedule"
HANDLES = [
    *shows(
        UNKNOWN,
        "no endpoint has the handle of a message in a queue",
        f"{NO_ENDPOINT}=receive database=B contract=- local_service=- messages=1",
        of_database("B", dbo_TargetQueue=[in_queue("H")]),
    ),
    *shows(
        UNKNOWN,
        "no endpoint has the handle of a message to send",
        f"{NO_ENDPOINT}=transmission database=A contract=- local_service=-",
        sending(waiting(None, "H")),
    ),
    *shows(
        UNKNOWN,
        "the row says whose message it is",
        f"{NO_ENDPOINT}=transmission database=A contract=Contract local_service=InitiatorService",
        sending(
            waiting(
                None,
                "H",
                service_contract_name="Contract",
                from_service_name="InitiatorService",
                to_service_name="TargetService",
            )
        ),
    ),
    *shows(
        UNKNOWN,
        "the log has the handle",
        "talk c1 => c1/initiator/0: first_in_line",
        of_database("B", dbo_TargetQueue=[in_queue("handle c1 False")]),
    ),
]
PRIORITY = view_rows.priority("Gold", 9, service_contract_id=7)
CHANGED = """=> c9/initiator/0: rule_changed_since, first_in_line
    => rule_changed_since: rule=Gold level=9 was_rule=- was_level=6 since=-"""
GOLD, OTHER = "rule Gold 9 contract=Contract", "begin c9, rule Gold 9 in=A contract=Contract"
LEVELS = [
    *shows(
        "rule_newer_than_endpoint",
        "a rule that only a snapshot shows, first seen at its moment",
        f"""{ONE} => c1/0: rule_newer_than_endpoint, first_in_line
        => rule_newer_than_endpoint: rule=Gold level=9 was_rule=- was_level=5 since=50""",
        of_database("B", **NAMES, conversation_priorities=[PRIORITY]),
    ),
    *shows(
        "rule_changed_since",
        "the level is the server's, so no version decided",
        f"{GOLD} {CHANGED}",
        of_server(6),
    ),
    *shows(
        "rule_changed_since",
        "the level is the server's, whatever rule has gone since",
        f"{GOLD}, rule Special 2 contract=Contract local=TargetService, drop Special 55 {CHANGED}",
        of_server(6),
    ),
    *shows(
        "other_side_only",
        "the other side's level is the server's own",
        "begin c9, ready c9/0 1 sent_by_initiator=false => c9/0: first_in_line",
        of_database("B", **NAMES, conversation_endpoints=[shown_target(8)]),
    ),
    *shows(
        "other_side_only",
        "a server's own level is no lack of a rule",
        f"{OTHER} => c9/initiator/0: first_in_line",
        of_server(6),
    ),
    *shows(
        "other_side_only",
        "the server's level is the default",
        f"""{OTHER} => c9/initiator/0: other_side_only, first_in_line
        => other_side_only: local_service=TargetService other_database=A other_rule=Gold other_level=9""",
        of_server(5),
    ),
]
SCENES = [*UNPLACED, *STATUSES, *HANDLES, *LEVELS]

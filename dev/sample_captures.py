"""Write pipelines/capture/sample: python -m dev.sample_captures. A test compares the files.

DOC1 is the documentation's example: two databases with three conversations. SQL1 is an invented insurer on
two mornings. Its portal keeps a pool of forty gold dialogs, and its feed begins new dialogs each night. After
the first morning a rule gives gold claims level 9; the forty dialogs are older and stay at 5, behind the
feed's at 6.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.support.captures import Captured, capture_lines, write_capture
from tests.support.factories import Row
from tests.support.server import LIFETIME, Views

FOLDER = Path(__file__).parents[1] / "pipelines" / "capture" / "sample"
MONDAY = datetime(2026, 11, 23, 7, 30, tzinfo=UTC)
TUESDAY = MONDAY + timedelta(days=1)
CONTRACT, QUEUE = "SubmitClaim", "ClaimIntakeQueue"
INTAKE, GOLD, STANDARD, FEED = (
    f"//acme/{name}" for name in ("claims/Intake", "portal/Gold", "portal/Standard", "feed/Nightly")
)
MESSAGE = f"//acme/claims/{CONTRACT}"
POOL = 40
"""Gold dialogs, begun on the days before."""
SYSTEM = "http://schemas.microsoft.com/SQL/"
CONTRACTS = {
    "DEFAULT": 6,
    f"{SYSTEM}ServiceBroker/BrokerConfiguration": 3,
    f"{SYSTEM}Notifications/PostEventNotification": 4,
    f"{SYSTEM}Notifications/PostQueryNotification": 5,
    CONTRACT: 65536,
}
SYSTEM_QUEUES = {
    "QueryNotificationErrorsQueue": (1977058079, 1, f"{SYSTEM}Notifications/QueryNotificationService"),
    "EventNotificationErrorsQueue": (2009058193, 2, f"{SYSTEM}Notifications/EventNotificationService"),
    "ServiceBrokerQueue": (2041058307, 3, f"{SYSTEM}ServiceBroker/ServiceBroker"),
}
OWN_QUEUE = 565577053
"""object_id of the first queue of a database; the next ones follow in steps of sixteen."""


@dataclass(frozen=True)
class Dialog:
    """A conversation about claims, from a service of the portal or the feed to the intake.

    Attributes:
        name: makes its ids.
        sender: the initiator's service.
        begun: creation of the initiator's endpoint.
        level: of the target's endpoint.
    """

    name: str
    sender: str
    begun: datetime
    level: int

    def id(self, what: str) -> str:
        """A GUID of the conversation."""
        digits = hashlib.sha256(f"{self.name} {what}".encode()).hexdigest()[:32].upper()
        return "-".join(digits[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))

    def endpoint(self, *, is_initiator: bool) -> Row:
        """Its row of conversation_endpoints; the target's endpoint comes 10 ms later."""
        side = "initiator" if is_initiator else "target"
        begun = self.begun if is_initiator else self.begun + timedelta(milliseconds=10)
        return {
            "conversation_handle": self.id(side),
            "conversation_id": self.id("conversation"),
            "is_initiator": is_initiator,
            "service_contract_id": CONTRACTS[CONTRACT],
            "conversation_group_id": self.id(f"group of {side}"),
            "service_id": 65537 if self.sender == STANDARD and is_initiator else 65536,
            "lifetime": begun + LIFETIME,
            "state": "CO",
            "far_service": INTAKE if is_initiator else self.sender,
            "priority": 5 if is_initiator else self.level,
        }


def _pool() -> list[Dialog]:
    """The gold dialogs: ten on each of four days before the first morning."""
    first = datetime(2026, 11, 17, 8, 4, 11, 230_000, UTC)
    step = timedelta(minutes=37, seconds=13, milliseconds=170)
    days = [first + timedelta(days=number // 10) + number % 10 * step for number in range(POOL)]
    return [Dialog(f"gold {number}", GOLD, begun, 5) for number, begun in enumerate(days)]


def _of_morning(sender: str, count: int, first: datetime, step: timedelta, level: int) -> list[Dialog]:
    """Dialogs that were begun on one morning."""
    return [
        Dialog(f"{sender} {first:%d} {number}", sender, first + number * step, level)
        for number in range(count)
    ]


def _arrivals(
    dialogs: Sequence[Dialog], count: int, first: datetime, last: datetime, number: int
) -> Iterator[tuple[datetime, Dialog, int]]:
    """Messages of dialogs by turns, from one moment to another, with their numbers in the conversation."""
    for place in range(count):
        part = place / (count - 1)
        # They come closer to each other towards the end.
        came = first + (last - first) * (1 - (1 - part) ** 1.5)
        yield (
            came.replace(microsecond=came.microsecond // 10_000 * 10_000),
            dialogs[place % len(dialogs)],
            number + place // len(dialogs),
        )


def _ready(arrivals: Sequence[tuple[datetime, Dialog, int]], first_order: int) -> list[Row]:
    """The rows of the intake's queue, by arrival."""
    in_order = sorted(arrivals, key=lambda each: (each[0], each[1].name))
    return [
        {
            "status": 1,
            "priority": dialog.level,
            "queuing_order": order,
            "conversation_group_id": dialog.id("group of target"),
            "conversation_handle": dialog.id("target"),
            "message_sequence_number": number,
            "message_type_name": MESSAGE,
            "message_enqueue_time": came,
            "size_bytes": 900 + order * 7919 % 3800,
        }
        for order, (came, dialog, number) in enumerate(in_order, start=first_order)
    ]


def _catalog(database: str, services: dict[str, str], rules: list[Row], activation: Row) -> Views:
    """The views of names, rules and queues; `services` has the queue of each service."""
    on = {"is_receive_enabled": True, "is_enqueue_enabled": True, "is_activation_enabled": False}
    numbers = {queue: OWN_QUEUE + 16 * at for at, queue in enumerate(dict.fromkeys(services.values()))}
    queues = {name: number for name, (number, _, _) in SYSTEM_QUEUES.items()} | numbers
    return {
        "services": [
            *(
                {"service_id": id, "name": name, "service_queue_id": q}
                for q, id, name in SYSTEM_QUEUES.values()
            ),
            *(
                {"service_id": id, "name": name, "service_queue_id": numbers[queue]}
                for id, (name, queue) in enumerate(services.items(), start=65536)
            ),
        ],
        "service_contracts": [{"service_contract_id": id, "name": name} for name, id in CONTRACTS.items()],
        "service_queues": [
            {
                "object_id": id,
                "schema_name": "dbo",
                "name": name,
                **on,
                "activation_procedure": None,
                "max_readers": 0,
                **(activation if name == QUEUE else {}),
            }
            for name, id in queues.items()
        ],
        "conversation_priorities": rules,
        "databases": [_settings(database, 5 if database == "Claims" else 6)],
    }


def _settings(database: str, number: int) -> Row:
    """The row of `databases`."""
    return {
        "name": database,
        "is_honor_broker_priority_on": True,
        "is_broker_enabled": True,
        "service_broker_guid": Dialog(f"broker of {database}", "", MONDAY, 5).id("broker"),
        "database_id": number,
        "updateability": "READ_WRITE",
    }


def _rule(name: str, sender: str, level: int) -> Row:
    return {
        "name": name,
        "service_contract_id": CONTRACTS[CONTRACT],
        "local_service_id": 65536,
        "remote_service_name": sender,
        "priority": level,
    }


def _morning(taken_at: datetime) -> list[str]:
    """The insurer's server: on Monday without the gold rule, on Tuesday with it."""
    is_monday = taken_at == MONDAY
    day = taken_at - timedelta(hours=7, minutes=30)
    gold = _pool()
    feed = _of_morning(FEED, 30, day + timedelta(hours=5), timedelta(seconds=41, milliseconds=30), 6)
    standard = _of_morning(STANDARD, 20, day + timedelta(hours=6, minutes=2), timedelta(minutes=4), 5)
    last = taken_at - timedelta(seconds=9)
    came = [
        *_arrivals(
            gold,
            22 if is_monday else 64,
            day + timedelta(hours=6, minutes=48 if is_monday else 11),
            last,
            180 if is_monday else 212,
        ),
        *_arrivals(feed, 60 if is_monday else 90, day + timedelta(hours=6, minutes=40), last, 3),
        *_arrivals(standard, 6 if is_monday else 14, day + timedelta(hours=6, minutes=55), last, 0),
    ]
    rules = [_rule("NightlyFeed", FEED, 6)]
    if not is_monday:
        rules.insert(0, _rule("GoldClaims", GOLD, 9))
    activation = {
        "is_activation_enabled": True,
        "activation_procedure": "[dbo].[ProcessClaim]",
        "max_readers": 2,
    }
    monitor = {
        "queue_id": OWN_QUEUE,
        "state": "RECEIVES_OCCURRING",
        "tasks_waiting": 0,
        "last_activated_time": day + timedelta(hours=5, seconds=1, milliseconds=250),
        "last_empty_rowset_time": day + timedelta(hours=4, minutes=59, seconds=30),
    }
    claims = {
        **_catalog("Claims", {INTAKE: QUEUE}, rules, activation),
        "transmission_queue": [],
        f"dbo.{QUEUE}": _ready(came, 48_211 if is_monday else 52_904),
        "conversation_endpoints": [each.endpoint(is_initiator=False) for each in (*gold, *feed, *standard)],
        "dm_broker_queue_monitors": [monitor],
        "dm_broker_activated_tasks": [{"spid": spid, "queue_id": OWN_QUEUE} for spid in (31, 44)],
    }
    portal = {
        **_catalog("Portal", {GOLD: "GoldReplyQueue", STANDARD: "PortalReplyQueue"}, [], {}),
        "transmission_queue": [],
        "dbo.GoldReplyQueue": [],
        "dbo.PortalReplyQueue": [],
        "conversation_endpoints": [each.endpoint(is_initiator=True) for each in (*gold, *standard)],
    }
    id = Dialog(f"capture {taken_at}", "", taken_at, 5).id("capture")
    found = {"Claims": Captured(claims, locked_groups=(2, 0)), "Portal": Captured(portal)}
    return capture_lines(found, server="SQL1", taken_at=taken_at, id=id)


def _documentation() -> list[str]:
    """The documentation's example: three conversations between two databases, rule and messages in one."""
    midnight = datetime(2026, 11, 21, tzinfo=UTC)
    nine = datetime(2026, 11, 20, 9, tzinfo=UTC)
    begun = [nine, nine + timedelta(hours=1), nine + timedelta(hours=1, minutes=1)]
    later = timedelta(microseconds=101)
    queue = {"object_id": 100, "is_receive_enabled": True, "is_enqueue_enabled": True}
    idle = {"is_activation_enabled": False, "activation_procedure": None, "max_readers": 0}

    def guid(kind: str, number: int) -> str:
        return f"D0C0{kind}000-0000-0000-0000-{number:012}"

    def database(side: str, other: str, level: int, delay: timedelta, kinds: str) -> Views:
        return {
            "conversation_endpoints": [
                {
                    "conversation_handle": guid(kinds[0], number),
                    "conversation_id": guid("0", number),
                    "is_initiator": side == "Initiator",
                    "service_contract_id": 10,
                    "conversation_group_id": guid(kinds[1], number),
                    "service_id": 1,
                    "lifetime": moment + delay + LIFETIME,
                    "state": "CO",
                    "far_service": f"{other}Service",
                    "priority": level,
                }
                for number, moment in enumerate(begun, start=1)
            ],
            "transmission_queue": [],
            "services": [{"service_id": 1, "name": f"{side}Service", "service_queue_id": 100}],
            "service_contracts": [{"service_contract_id": 10, "name": "SimpleContract"}],
            "service_queues": [{**queue, "name": f"{side}Queue", **idle}],
            "conversation_priorities": [],
            "databases": [_settings(f"{side}DB", 5 if side == "Initiator" else 6)],
        }

    def ready(kinds: str, number: int, order: int, sequence: int, level: int, came: datetime) -> Row:
        is_reply = level == 5
        return {
            "status": 1,
            "priority": level,
            "queuing_order": order,
            "conversation_group_id": guid(kinds[1], number),
            "conversation_handle": guid(kinds[0], number),
            "message_sequence_number": sequence,
            "message_type_name": "ReplyMessage" if is_reply else "RequestMessage",
            "message_enqueue_time": came,
            "size_bytes": 80 if is_reply else 120,
        }

    rule = {"name": "TargetToInitiatorPriority", "service_contract_id": 10, "local_service_id": 1}
    initiator = {
        **database("Initiator", "Target", 5, timedelta(), "AC"),
        "dbo.InitiatorQueue": [ready("AC", 1, 0, 0, 5, nine + timedelta(seconds=5, microseconds=201))],
    }
    came = [(2, 2, 0, 60), (3, 3, 0, 61), (2, 4, 1, 62), (3, 5, 1, 64)]
    target = {
        **database("Target", "Initiator", 3, later, "BD"),
        "dbo.TargetQueue": [
            ready("BD", number, order, sequence, 3, nine + timedelta(minutes=minute) + later)
            for number, order, sequence, minute in came
        ],
        "conversation_priorities": [{**rule, "remote_service_name": "InitiatorService", "priority": 3}],
    }
    return capture_lines({"InitiatorDB": initiator, "TargetDB": target}, server="DOC1", taken_at=midnight)


def sample_captures() -> dict[str, list[str]]:
    """The lines of the samples by file name."""
    return {
        "DOC1-20261121T000000Z.jsonl": _documentation(),
        **{f"SQL1-{taken_at:%Y%m%dT%H%M%SZ}.jsonl": _morning(taken_at) for taken_at in (MONDAY, TUESDAY)},
    }


if __name__ == "__main__":
    for name, lines in sample_captures().items():
        write_capture(FOLDER / name, lines)

"""Snapshots of the naive server beside the log of a backlog: statuses, unknown handles, monitors, rules."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

from tests.support.harness import one_log
from tests.support.model.snapshots import Snapshot
from tests.support.server import Place, Views, server_views, state_of

from .backlog_rules import CONTRACTS, PLACES
from .backlogs import QUEUES, SERVICES, TICK, backlog_log
from .base import Row
from .logs import Log

STATUSES = (
    None,
    "",
    "The target service name could not be found.",
    "the target service name could not be found.",
    "Connection attempt failed with error: '10061'.\n",
    "Connection attempt failed with error: '10061'. ",
)
"""Texts that are alike; two of them say nothing."""


def backlog_snapshots(log: Log, number: int) -> list[Snapshot]:
    """One or two snapshots of each database of a `backlog_log`; the same for the same number.

    The last one is of as_of. The views add to the log and never contradict it: the messages to send, the
    monitors, and the rules. The handles are those of the log; a few rows have a handle that no endpoint has.
    """
    random = Random(number)
    moments = [log.as_of - random.choice((1, 3, 20)) * TICK, log.as_of]
    found = []
    for moment in moments[random.randrange(2) :]:
        views = server_views(state_of(log.events, log.catalog, log.rules, moment))
        found += [Snapshot(moment, *place, _views(random, number, place, views, moment)) for place in PLACES]
    return found


def _views(
    random: Random, number: int, place: Place, server: Mapping[Place, Views], moment: datetime
) -> Views:
    _, database = place
    waiting = [
        {**row, "transmission_status": random.choice(STATUSES)} for row in server[place]["transmission_queue"]
    ]
    if not random.randrange(6):
        waiting.append(_unknown(random, moment, f"H-unknown-{number}-{database}"))
    return {
        "transmission_queue": waiting,
        "dm_broker_queue_monitors": [_monitor(random, queue, moment) for queue in QUEUES[database]],
        "service_contracts": [
            {"service_contract_id": id, "name": name} for id, name in enumerate(sorted(set(CONTRACTS)), 10)
        ],
        "services": [
            {"service_id": id, "name": name, "service_queue_id": None}
            for id, (name, _) in enumerate(SERVICES[database], 1)
        ],
        "conversation_priorities": _rules(random),
    }


def _unknown(random: Random, moment: datetime, handle: str) -> Row:
    return {
        "enqueue_time": moment - random.choice((1, 9)) * TICK,
        "conversation_handle": handle,
        "message_sequence_number": random.randrange(3),
        "message_type_name": "Order",
        "is_conversation_error": False,
        "is_end_of_dialog": False,
        "transmission_status": None,
        "size_bytes": 10,
    }


def _monitor(random: Random, queue: str, moment: datetime) -> Row:
    activated = random.choice((None, 8, 15, 40))
    since = None if activated is None else moment - activated * TICK - timedelta(seconds=1)
    return {
        "queue_name": queue,
        "state": random.choice(("NOTIFIED", "NOTIFIED", "NOTIFIED", "INACTIVE")),
        "tasks_waiting": 0,
        "last_activated_time": since,
        "last_empty_rowset_time": None,
    }


def _rules(random: Random) -> list[Row]:
    """Rules, which count where no statement is about the database; no two have the same criteria."""
    contracts = random.sample(range(10, 10 + len(set(CONTRACTS))), 2)
    names: dict[str, Any] = {"local_service_id": None, "remote_service_name": None}
    return [
        {"name": name, "service_contract_id": contract, **names, "priority": random.choice((3, 7, 9))}
        for name, contract in zip(("Shown", "Seen"), contracts, strict=True)
    ]


def joined_backlogs(numbers: Sequence[int]) -> tuple[Log, list[Snapshot]]:
    """Many backlogs and their snapshots as one, for one run of the pipeline; see `one_log`."""
    found = [backlog_log(number) for number in numbers]
    snapshots = [
        replace(snapshot, instance=f"{place:02d}.{snapshot.instance}")
        for place, (log, number) in enumerate(zip(found, numbers, strict=True))
        for snapshot in backlog_snapshots(log, number)
    ]
    return one_log(found), snapshots

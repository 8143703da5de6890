"""What servers show beside a random log: statuses, handles that no endpoint has, monitors and rules."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from random import Random

from tests.support.model.snapshots import Snapshot
from tests.support.server import Views, server_views, state_of
from tests.support.view_rows import priority

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
MONITORS: tuple[Row, ...] = (
    {},
    {"activation": {"procedure": "dbo.Read", "max_queue_readers": 1}},
    {"activation": {"procedure": "dbo.Read", "max_queue_readers": 2, "status": "on"}},
    {"activation": {"procedure": "dbo.Read", "max_queue_readers": 1, "status": "off"}},
    {"event_notification": {"timeout_seconds": 600}},
)


def as_shown(log: Log, number: int) -> tuple[Log, list[Snapshot]]:
    """The log with monitors and with the handles of the naive server, and a snapshot of each database.

    The views add to the log and never contradict it. One database in four has the rules of its view alone.
    """
    random = Random(number)
    catalog = deepcopy(log.catalog)
    places = []
    for instance in catalog["instances"]:
        for database in instance["databases"]:
            places.append((instance["name"], database["name"]))
            for queue in database["queues"]:
                queue |= random.choice(MONITORS)
    without_rules = set(random.sample(places, len(places) // 4))
    log = replace(
        log,
        catalog=catalog,
        endpoint_events=[row | _handle(row) for row in log.endpoint_events],
        rules=[rule for rule in log.rules if (rule["instance"], rule["database"]) not in without_rules],
    )
    views = server_views(state_of(log.events, log.catalog, log.rules, log.as_of))
    snapshots = [
        Snapshot(log.as_of, *place, _shown(random, views[place], place in without_rules, log))
        for place in places
    ]
    return log, snapshots


def _handle(row: Row) -> Row:
    handle = f"H-{row['conversation_id']}-{int(row['is_initiator'])}"
    return {"conversation_handle": handle} if row["conversation_handle"] else {}


def _shown(random: Random, views: Mapping[str, list[Row]], has_rules: bool, log: Log) -> Views:
    waiting = [row | {"transmission_status": random.choice(STATUSES)} for row in views["transmission_queue"]]
    if waiting and not random.randrange(4):
        handle = f"H-unknown-{random.randrange(10**6)}"
        waiting.append({**waiting[0], "conversation_handle": handle})
    rules = [
        priority(name, level, service_contract_id=contract["service_contract_id"])
        for name, contract, level in zip(
            ("Shown", "Seen"), views["service_contracts"], random.sample((3, 7, 9), 2), strict=False
        )
    ]
    monitors = [
        {
            "queue_name": queue["name"],
            "state": random.choice(("NOTIFIED", "NOTIFIED", "INACTIVE")),
            "tasks_waiting": 0,
            "last_activated_time": log.as_of - timedelta(hours=random.choice((1, 4, 12))),
            "last_empty_rowset_time": None,
        }
        for queue in views["service_queues"]
    ]
    return {
        "transmission_queue": waiting,
        "dm_broker_queue_monitors": monitors,
        "service_contracts": views["service_contracts"],
        "services": [{**row, "service_queue_id": None} for row in views["services"]],
        "conversation_priorities": rules if has_rules else [],
    }

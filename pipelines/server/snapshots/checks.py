"""What of a snapshot contradicts itself or another one, or says nothing."""

import logging
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

from pydantic import ValidationError

from pipelines.config.errors import CopyError
from pipelines.config.queue_filter import queue_text
from pipelines.server.snapshots.files import drop_repeated_columns
from pipelines.server.snapshots.server import ServerSnapshot
from pipelines.server.snapshots.small_rows import read_texts
from pipelines.server.snapshots.views import (
    CATALOG_VIEWS,
    CONTRACTS,
    DATABASES,
    ENDPOINTS,
    PRIORITIES,
    QUEUES,
    SERVICES,
    is_queue,
    names_of,
    queue_of,
)

log = logging.getLogger(__name__)


def check_snapshot(server: ServerSnapshot, *, is_right: bool = True) -> tuple[ServerSnapshot, list[str]]:
    """Leave out what says nothing, and find what contradicts itself.

    Args:
        server: a snapshot as it was read.
        is_right: whether nothing is wrong with its files so far.

    Returns:
        The snapshot, and a line for each fault.
    """
    small, files = dict(server.small), dict(server.files)
    for view in _find_nameless(server):
        small.pop(view, None)
        files = {each: file for each, file in files.items() if each != view or view in CATALOG_VIEWS}
    server = replace(
        server, small=small, files=files, complete=server.complete & (files.keys() | small.keys())
    )
    try:
        problems = _find_repeated(server) + _find_unknown_ids(server) + _find_missing_database(server)
        if is_right and not problems:
            server = replace(server, services=_services_of_queues(server), files=drop_repeated_columns(files))
        server.database()
        if server.leaves_out_any:
            log.warning(
                "snapshots: %s is the listing of the vendor's page, whose inner joins leave out rules with "
                "ANY for the contract or the local service: whether there are any is not known; export the "
                "view itself",
                server.path_of(PRIORITIES),
            )
    except ValidationError as error:
        first = error.errors()[0]
        return server, [f"{server.declared.path}: {first['loc'][-1]}: {first['msg']}"]
    except ValueError as error:
        return server, [str(error)]
    return server, problems


def _find_nameless(server: ServerSnapshot) -> set[str]:
    """Return the views of endpoints and rules whose ids have no names at all; warn of each.

    A server has services and contracts of its own. If their view is there and has no rows, the exporting
    login lacks the right to see them.
    """
    found = set[str]()
    small, files = server.small, server.files
    rules = small.get(PRIORITIES, [])
    for of_ids in (ENDPOINTS, PRIORITIES):
        is_there = of_ids in files or of_ids in small
        for column, view in names_of(of_ids).items():
            has_ids = is_there and (of_ids not in files or column in files[of_ids].names)
            has_ids = has_ids and small.get(view) == []
            if of_ids == PRIORITIES:
                has_ids = has_ids and any(row[column] is not None for row in rules)
            if has_ids and of_ids not in found:
                found.add(of_ids)
                log.warning("snapshots: %s says nothing: %s has no names", server.path_of(of_ids), view)
    return found


def _services_of_queues(snapshot: ServerSnapshot) -> dict[str, list[str]]:
    """The services that rows of queues name, by queue, where no view of services or queues says it."""
    if snapshot.small.get(SERVICES) and snapshot.small.get(QUEUES):
        return {}
    return {
        queue_of(view): sorted(read_texts(file, "service_name"))
        for view, file in snapshot.files.items()
        if is_queue(view) and "service_name" in file.names
    }


def _find_missing_database(snapshot: ServerSnapshot) -> list[str]:
    """A view of databases that lacks this one: the settings, or the export, are of another database."""
    rows = snapshot.small.get(DATABASES, [])
    if not rows or snapshot._own_row():
        return []
    names = ", ".join(sorted(row["name"] for row in rows)[:5])
    return [
        f"{snapshot.path_of(DATABASES)}: has no row of {snapshot.declared.database}, only of {names}; "
        "name the database in the settings as the server does"
    ]


def _find_repeated(snapshot: ServerSnapshot) -> list[str]:
    """Names and ids that stand in a small view twice, and levels that are none."""
    problems = []
    keys = {
        SERVICES: ("service_id", "name"),
        CONTRACTS: ("service_contract_id",),
        QUEUES: ("object_id",),
        PRIORITIES: ("name",),
        DATABASES: ("name",),
    }
    for view, names in keys.items():
        for name in names:
            values = [row[name] for row in snapshot.small.get(view, [])]
            for value in dict.fromkeys(each for each in values if values.count(each) > 1):
                problems.append(f"{snapshot.path_of(view)}: {name} {value!r} stands there twice")
    for row in snapshot.small.get(PRIORITIES, []):
        if not 1 <= row["priority"] <= 10:
            path = snapshot.path_of(PRIORITIES)
            problems.append(f"{path}: the level of {row['name']!r} is {row['priority']}, not 1 to 10")
    return problems


def _find_unknown_ids(snapshot: ServerSnapshot) -> list[str]:
    """Ids of rules that their views lack: the rules would be for other conversations, or for none."""
    problems = []
    for view, column in ((CONTRACTS, "service_contract_id"), (SERVICES, "local_service_id")):
        known = snapshot.names(view)
        for row in snapshot.small.get(PRIORITIES, []) if view in snapshot.small else ():
            if row[column] is not None and row[column] not in known:
                problems.append(
                    f"{snapshot.path_of(PRIORITIES)}: {column} of {row['name']!r} is {row[column]}, which "
                    f"{view} lacks; ANY is an empty field"
                )
    return problems


NO_BROKER = "00000000-0000-0000-0000-000000000000"
"""The service_broker_guid of a database that never had a broker."""
Place = tuple[str, str]
"""Instance and database."""


def require_different_brokers(snapshots: Iterable[ServerSnapshot]) -> None:
    """Refuse two databases that snapshots show with one service_broker_guid, at any two moments.

    Raises:
        CopyError: there are such; one line a pair.
    """
    by_guid: dict[str, set[Place]] = {}
    for each in snapshots:
        guid = each.service_broker_guid
        if guid is not None and guid != NO_BROKER:
            by_guid.setdefault(guid, set()).add(each.database_key)
    pairs = {pair: guid for guid, places in by_guid.items() for pair in combinations(sorted(places), 2)}
    if pairs:
        raise CopyError(
            *(describe_copy(*pair, f"both with service_broker_guid {pairs[pair]}") for pair in sorted(pairs))
        )


def describe_copy(one: Place, other: Place, why: str) -> str:
    """The line about two databases, with what to do."""
    first, second = map(queue_text, (one, other))
    return (
        f"snapshots: {first} and {second} hold the same conversations ({why}); leave out the copy, "
        f"`leave_out: [{first}]` or `leave_out: [{second}]` at its entry of snapshots (views by hand: remove "
        "the entry); if they are failover partners, or one database that was renamed or moved, write "
        f"`aliases: {{NAME: [{first}, {second}]}}`, with its present name last"
    )

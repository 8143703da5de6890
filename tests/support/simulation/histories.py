"""What captures show over time: rules, catalogs, what is gone, and what has changed between two moments."""

from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from typing import Any

from tests.support.simulation.database import READY, Database, Row as QueuedRow
from tests.support.simulation.truth import ENDED, Place, Truth

Row = dict[str, Any]


def rules(truth: Truth) -> list[Row]:
    """Rows of priority_rules."""
    found = []
    for place, seen in truth.seen.items():
        for name in sorted({name for _, shown in seen for name in shown.database.rules}):
            values = [(moment, shown.database.rules.get(name)) for moment, shown in seen]
            for (criteria, level), since, until in _periods(values):
                period = {"valid_from": since, "valid_to": until}
                found.append({**_of(place), "name": name, **_criteria(criteria, level), **period})
    return found


def catalog(truth: Truth) -> list[Row]:
    """Rows of catalog_history."""
    found = []
    for place, seen in truth.seen.items():
        facts = [(moment, dict(_facts(shown.database))) for moment, shown in seen]
        for key in sorted({key for _, each in facts for key in each}):
            values = [(moment, each.get(key)) for moment, each in facts]
            for value, since, until in _periods(values):
                first = None if since == seen[0][0] else since
                period = {"valid_from": first, "valid_to": until}
                found.append({**_of(place), **_thing(key), "value": value, **period})
    return found


def gone(truth: Truth) -> list[Row]:
    """Messages of queues that captures showed and show no more, by the names of explain's gone_between.

    The fate is told by the first capture of all endpoints at or after the one that lacks the message. If the
    far database shows the end of the message's endpoint earlier, the message is gone by then.
    """
    found = []
    for place, seen in truth.seen.items():
        last: dict[str, tuple[datetime, QueuedRow]] = {}
        for moment, shown in seen:
            for row in shown.database.queued:
                if row.status == READY:
                    last[row.id] = (moment, row)
        for id, (moment, row) in last.items():
            after = [each for each, _ in seen if each > moment]
            if after:
                fate = _fate(truth, place, after[0], row.handle, row.queue)
                ended = truth.ended_at(row.conversation, not row.by_initiator)
                is_first = ended is not None and moment < ended < after[0]
                until = ended if is_first else after[0]
                found.append({**_of(place), "message_id": id, "from": moment, "to": until, "fate": fate})
    return found


def _fate(truth: Truth, place: Place, since: datetime, handle: str, queue: str) -> str:
    judging = [moment for moment in truth.full(place) if moment >= since]
    if not judging:
        return "received_or_dropped"
    database = truth.shown_at(place, judging[0])
    endpoint = database.endpoints.get(handle)
    if endpoint is None or endpoint.state in ENDED:
        return "received_or_dropped"
    by_then = truth.shown_at(place, since).services[endpoint.local]
    return "received" if by_then == queue else "moved"


def rule_changes(truth: Truth, since: datetime, as_of: datetime) -> list[Row]:
    """The rules of `changes`, without their moments."""
    found = []
    for place in truth.seen:
        then, now = (truth.shown_at(place, moment).rules for moment in (since, as_of))
        for name in sorted({*then, *now}):
            if then.get(name) != now.get(name):
                change = "dropped" if name not in now else "altered" if name in then else "created"
                old, new = (_criteria(*each[name]) if name in each else None for each in (then, now))
                found.append({"change": change, **_of(place), "name": name, "old": old, "new": new})
    return found


def catalog_changes(truth: Truth, since: datetime, as_of: datetime) -> list[Row]:
    """The catalog of `changes`, without its moments."""
    found = []
    for place in truth.seen:
        then, now = (dict(_facts(truth.shown_at(place, moment))) for moment in (since, as_of))
        for key in sorted({*then, *now}):
            if then.get(key) != now.get(key):
                found.append({**_of(place), **_thing(key), "old": then.get(key), "new": now.get(key)})
    return found


def _of(place: Place) -> Row:
    return dict(zip(("instance", "database"), place, strict=True))


def _thing(key: tuple[str, str, str]) -> Row:
    return dict(zip(("kind", "name", "attribute"), key, strict=True))


def _criteria(criteria: tuple[str | None, str | None, str | None], level: int) -> Row:
    names = dict(zip(("contract", "local_service", "remote_service"), criteria, strict=True))
    return {**names, "level": level}


def _periods(values: list[tuple[datetime, Any]]) -> Iterator[tuple[Any, datetime, datetime | None]]:
    """Runs of one value: the value, since when, and until when it was shown."""
    runs = [(value, [moment for moment, _ in rows]) for value, rows in groupby(values, lambda each: each[1])]
    for at, (value, moments) in enumerate(runs):
        if value is not None:
            yield value, moments[0], runs[at + 1][1][0] if at + 1 < len(runs) else None


def _facts(database: Database) -> Iterator[tuple[tuple[str, str, str], str]]:
    def switch(is_on: bool) -> str:
        return "on" if is_on else "off"

    yield ("database", database.name, "broker_enabled"), "on"
    yield ("database", database.name, "honor"), switch(database.honor)
    yield ("database", database.name, "broker_guid"), database.guid
    for name, queue in database.queues.items():
        yield ("queue", name, "on"), switch(queue.is_on)
        yield ("queue", name, "activation"), switch(queue.activation)
        if queue.procedure is not None:
            yield ("queue", name, "procedure"), queue.procedure
        yield ("queue", name, "max_readers"), str(queue.max_readers)
    for service, name in database.services.items():
        yield ("service", service, "queue"), name
    for contract in database.contracts:
        yield ("contract", contract, "exists"), "true"

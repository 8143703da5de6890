"""What other rules would change: two complete worlds, one by each set of rules, compared row by row.

Each part of the definition stands beside the code that plays it. Nothing is left out because it did not
change, and nothing is taken from published tables.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby, permutations
from statistics import median
from typing import Any

from .catalog import Catalog
from .endpoints import Endpoint, read_endpoints
from .groups import group_priorities
from .messages import read_messages
from .receive import receive_schedule
from .rules import Rule, resolve, rule_history
from .state import State
from .transmission import transmission_schedule
from .vocabulary import Events, Row, Side, queue_of

LONG_AGO = datetime(1900, 1, 1, tzinfo=UTC)
QUEUE = ("instance", "database", "queue")
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Settings:
    """One side of the comparison."""

    catalog: Row
    rules: list[Row]
    top: int | None = None
    starvation: Row | None = None
    blocks: Row | None = None


@dataclass(frozen=True)
class World:
    """A state with levels, and the settings that order it."""

    state: State
    settings: Settings

    def received(self) -> dict[Key, Row]:
        """The receive schedule, by queue and message."""
        rows = receive_schedule(self.state, top=self.settings.top)
        return {(*queue_of(row), row["message_id"]): row for row in rows}

    def sent(self) -> dict[Key, Row]:
        """The transmission schedule, by instance and message."""
        rows = transmission_schedule(
            self.state, starvation=self.settings.starvation, blocks=self.settings.blocks
        )
        return {(row["instance"], row["message_id"]): row for row in rows}

    def groups(self) -> dict[Key, Row]:
        """Groups with ready messages, by queue and group."""
        rows = group_priorities(self.state)
        return {(*queue_of(row), row["conversation_group_id"]): row for row in rows}


def changed(current: list[Row], changes: Iterable[Row]) -> list[Row]:
    """The current statements, and after them a change in its own order, whatever its dates."""
    last = max((statement["effective_from"] for statement in current), default=LONG_AGO)
    return [*current, *({**change, "effective_from": last + timedelta(days=1)} for change in changes)]


def what_if(
    events: Events,
    current: Settings,
    proposed: Settings,
    *,
    as_of: datetime,
    as_if: datetime | None,
    baseline: str = "recorded",
) -> dict[str, list[Row]]:
    """The five tables; as_if None applies the proposal as if it had always stood.

    With the baseline today, all endpoints had before the levels that the current rules give.
    """
    messages = read_messages(events.get("message_events") or [])
    places = Catalog(current.catalog)
    recorded = read_endpoints(
        events.get("endpoint_events") or [], messages, places, rule_history(current.rules)
    )
    # What current statements leave in the end, also those dated after as_of; --as-if says nothing of it.
    today = {side: _anew(endpoint, current) for side, endpoint in recorded.items()}
    # The proposed rules hold from an instant on, inclusive; endpoints created before keep their level.
    after = {
        side: _anew(endpoint, proposed) if as_if is None or as_if <= endpoint.created_at else endpoint
        for side, endpoint in recorded.items()
    }
    before = today if baseline == "today" else recorded
    worlds = (
        World(State(events, before, messages, places, as_of), current),
        World(State(events, after, messages, Catalog(proposed.catalog), as_of), proposed),
    )
    rows = _messages(*worlds)
    return {
        "whatif_endpoints": _endpoints(recorded, before, today, after, as_of, baseline),
        "whatif_groups": _groups(*worlds),
        "whatif_messages": [{name: row[name] for name in row if name != "owner"} for row in rows],
        "whatif_summary": _summary(rows),
        "whatif_pairs": _pairs(rows),
    }


def counts(tables: Mapping[str, list[Row]]) -> dict[str, dict[str, int]]:
    """Endpoints with another level by cause; messages that have a position, come earlier and come later."""
    moved = [row["moved"] for row in tables["whatif_messages"] if row["moved"] is not None]
    causes = [row["cause"] for row in tables["whatif_endpoints"]]
    return {
        "endpoints": {cause: causes.count(cause) for cause in ("proposal", "drift")},
        "messages": {
            "messages": len(moved),
            "gained": sum(positions > 0 for positions in moved),
            "lost": sum(positions < 0 for positions in moved),
        },
    }


def drift(events: Events, current: Settings, proposed: Settings, as_of: datetime) -> int:
    """Endpoints that have another level than today's rules give, which the proposal gives, too."""
    recorded = read_endpoints(
        events.get("endpoint_events") or [],
        read_messages(events.get("message_events") or []),
        Catalog(current.catalog),
        rule_history(current.rules),
    )
    return sum(
        endpoint.priority != _anew(endpoint, current).priority == _anew(endpoint, proposed).priority
        for endpoint in recorded.values()
        if endpoint.created_at < as_of
    )


def answers(
    events: Events, current: Settings, proposed: Settings, *, as_of: datetime
) -> dict[str, dict[str, dict[str, int]]]:
    """What changes when it is deployed, as existing endpoints keep their levels; and what if always."""
    return {
        name: counts(what_if(events, current, proposed, as_of=as_of, as_if=as_if))
        for name, as_if in (("deployment", as_of), ("always", None))
    }


def standing(statements: list[Row]) -> list[Rule]:
    """The set that stands after the last statement, even if that is still to come."""
    return [rule for rule in rule_history(statements) if rule.valid_to is None]


def decided(endpoint: Endpoint, rules: list[Rule]) -> Endpoint:
    """The endpoint with the level by rules that always stood."""
    always = [replace(rule, valid_from=LONG_AGO) for rule in rules]
    level, name, step = resolve(always, endpoint.place, endpoint.created_at, endpoint.names)
    return replace(endpoint, priority=level, rule_name=name, ladder_step=step)


def _anew(endpoint: Endpoint, settings: Settings) -> Endpoint:
    return decided(endpoint, standing(settings.rules))


def _endpoints(
    recorded: dict[Side, Endpoint],
    before: dict[Side, Endpoint],
    today: dict[Side, Endpoint],
    after: dict[Side, Endpoint],
    as_of: datetime,
    baseline: str,
) -> list[Row]:
    """Endpoints that exist at as_of and whose level before is not the proposed one."""
    return [
        {
            "conversation_id": conversation_id,
            "is_initiator": is_initiator,
            "instance": old.instance,
            "database": old.database,
            "queue": old.queue[2] if old.queue else None,
            "contract": old.contract,
            "local_service": old.local_service,
            "remote_service": old.remote_service,
            "recorded": recorded[conversation_id, is_initiator].priority,
            "today": today[conversation_id, is_initiator].priority,
            "proposed": new.priority,
            "rule_before": old.rule_name,
            "rule_after": new.rule_name,
            "step_before": old.ladder_step,
            "step_after": new.ladder_step,
            # Today's rules alone would have done it, too.
            "cause": "drift"
            if baseline == "recorded" and today[conversation_id, is_initiator].priority == new.priority
            else "proposal",
        }
        for (conversation_id, is_initiator), old in before.items()
        for new in [after[conversation_id, is_initiator]]
        if old.created_at < as_of and old.priority != new.priority
    ]


def _groups(before: World, after: World) -> list[Row]:
    """All groups with ready messages, also those that stay."""
    old, new = before.groups(), after.groups()
    assert old.keys() == new.keys()
    return [
        {
            **dict(zip((*QUEUE, "conversation_group_id"), key, strict=True)),
            "priority_before": old[key]["priority"],
            "priority_after": new[key]["priority"],
            "position_before": old[key]["position"],
            "position_after": new[key]["position"],
            "messages": old[key]["messages"],
        }
        for key in old
    ]


def _messages(before: World, after: World) -> list[Row]:
    """All rows of both schedules, each with the endpoint that owns it: the receiving one, or the sending one.

    An endpoint that does not exist at as_of is none, even if the ledger knows it.
    """
    rows = []
    for kind, level, side, old, new in (
        ("receive", "priority", "is_initiator", before.received(), after.received()),
        ("transmission", "transmit_priority", "sent_by_initiator", before.sent(), after.sent()),
    ):
        assert old.keys() == new.keys()
        for key, row in old.items():
            rows.append(
                {
                    **_positions(row, new[key]),
                    "kind": kind,
                    "queue": row.get("queue"),
                    "receive_number_before": row.get("receive_number"),
                    "receive_number_after": new[key].get("receive_number"),
                    "level_before": row[level],
                    "level_after": new[key][level],
                    "state": row.get("state"),
                    "owner": before.state.endpoint((row["conversation_id"], row[side])),
                }
            )
    return rows


def _positions(old: Row, new: Row) -> Row:
    known = old["position"] is not None
    assert known == (new["position"] is not None)
    return {
        "instance": old["instance"],
        "database": old["database"],
        "message_id": old["message_id"],
        "position_before": old["position"],
        "position_after": new["position"],
        "moved": old["position"] - new["position"] if known else None,
    }


def _summary(rows: list[Row]) -> list[Row]:
    """Of the messages with a position, by four dimensions."""
    parts: dict[Key, list[int]] = {}
    for row in rows:
        if row["moved"] is not None:
            for dimension, name in _names(row).items():
                parts.setdefault((row["kind"], dimension, name), []).append(row["moved"])
    summary = []
    for (kind, dimension, name), moves in parts.items():
        gains, losses = [move for move in moves if move > 0], [-move for move in moves if move < 0]
        summary.append(
            {
                "kind": kind,
                "dimension": dimension,
                "name": name,
                "messages": len(moves),
                "gained": len(gains),
                "lost": len(losses),
                "positions_gained": sum(gains),
                "positions_lost": sum(losses),
                "largest_gain": max(gains, default=0),
                "largest_loss": max(losses, default=0),
                "median_moved": float(median(moves)),
            }
        )
    return summary


def _names(row: Row) -> dict[str, str | None]:
    owner = row["owner"]
    names: dict[str, str | None] = {
        "contract": owner.contract if owner else None,
        "local_service": owner.local_service if owner else None,
        "level": str(row["level_before"]),
    }
    if row["kind"] == "receive":
        return names | {"queue": ".".join(_bracketed(row[name]) for name in QUEUE)}
    return names | {"instance": _bracketed(row["instance"])}


def _bracketed(name: str) -> str:
    return f"[{name.replace(']', ']]')}]"


def _pairs(rows: list[Row]) -> list[Row]:
    """Pairs of ready messages of a queue: the one was behind the other, and now stands before it."""
    found: dict[Key, int] = {}
    ready = [row for row in rows if row["kind"] == "receive" and row["moved"] is not None]
    for queue, there in groupby(sorted(ready, key=queue_of), key=queue_of):
        for passing, passed in permutations(there, 2):
            was_behind = passing["position_before"] > passed["position_before"]
            if was_behind and passing["position_after"] < passed["position_after"]:
                key = (*queue, passing["level_before"], passed["level_before"])
                found[key] = found.get(key, 0) + 1
    names = (*QUEUE, "passing_level", "passed_level")
    return [dict(zip(names, key, strict=True)) | {"pairs": pairs} for key, pairs in found.items()]

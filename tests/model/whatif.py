"""What other rules would change: both rule sets are played apart, and the outcomes compared row by row."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
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
from .vocabulary import Events, Row, Side


@dataclass(frozen=True)
class Settings:
    """One side of the comparison."""

    catalog: Row
    rules: list[Row]
    top: int | None = None
    starvation: Row | None = None
    blocks: Row | None = None


def what_if(
    events: Events, current: Settings, proposed: Settings, *, as_of: datetime, as_if: datetime | None
) -> dict[str, list[Row]]:
    """The five tables; as_if None applies the proposal as if it had always stood."""
    messages = read_messages(events.get("message_events") or [])
    places = Catalog(current.catalog)
    endpoints = read_endpoints(
        events.get("endpoint_events") or [], messages, places, rule_history(current.rules)
    )
    today = {side: decided(endpoint, standing(current.rules)) for side, endpoint in endpoints.items()}
    anew = {
        side: endpoint
        if as_if is not None and endpoint.created_at < as_if
        else decided(endpoint, standing(proposed.rules))
        for side, endpoint in endpoints.items()
    }
    before = State(events, endpoints, messages, places, as_of)
    after = State(events, anew, messages, Catalog(proposed.catalog), as_of)
    moved = _moved(before, after, current, proposed)
    return {
        "whatif_endpoints": _endpoints(endpoints, today, anew, as_of),
        "whatif_groups": _groups(before, after),
        "whatif_messages": [{name: row[name] for name in row if name != "endpoint"} for row in moved],
        "whatif_summary": _summary(moved),
        "whatif_pairs": _pairs(moved),
    }


def standing(statements: list[Row]) -> list[Rule]:
    """After the last statement, even if that is still to come."""
    return [rule for rule in rule_history(statements) if rule.valid_to is None]


def decided(endpoint: Endpoint, rules: list[Rule]) -> Endpoint:
    """The endpoint with the level by rules that always stood."""
    always = [
        replace(rule, valid_from=datetime.min.replace(tzinfo=endpoint.created_at.tzinfo)) for rule in rules
    ]
    names = (endpoint.contract, endpoint.local_service, endpoint.remote_service)
    level, name, step = resolve(always, (endpoint.instance, endpoint.database), endpoint.created_at, names)
    return replace(endpoint, priority=level, rule_name=name, ladder_step=step)


def _endpoints(
    recorded: dict[Side, Endpoint], today: dict[Side, Endpoint], anew: dict[Side, Endpoint], as_of: datetime
) -> list[Row]:
    rows = []
    for side, old in recorded.items():
        now, new = today[side], anew[side]
        if old.created_at >= as_of or old.priority == new.priority:
            continue
        rows.append(
            {
                "conversation_id": old.conversation_id,
                "is_initiator": old.is_initiator,
                "instance": old.instance,
                "database": old.database,
                "queue": old.queue[2] if old.queue else None,
                "contract": old.contract,
                "local_service": old.local_service,
                "remote_service": old.remote_service,
                "recorded": old.priority,
                "today": now.priority,
                "proposed": new.priority,
                "rule_before": old.rule_name,
                "rule_after": new.rule_name,
                "step_before": old.ladder_step,
                "step_after": new.ladder_step,
                "cause": "drift" if now.priority == new.priority else "proposal",
            }
        )
    return rows


def _groups(before: State, after: State) -> list[Row]:
    key = ("instance", "database", "queue", "conversation_group_id")
    new = {tuple(row[name] for name in key): row for row in group_priorities(after)}
    return [
        {
            **{name: row[name] for name in key},
            "priority_before": row["priority"],
            "priority_after": new[tuple(row[name] for name in key)]["priority"],
            "position_before": row["position"],
            "position_after": new[tuple(row[name] for name in key)]["position"],
            "messages": row["messages"],
        }
        for row in group_priorities(before)
    ]


def _moved(before: State, after: State, current: Settings, proposed: Settings) -> list[Row]:
    rows = []
    received = {
        (row["instance"], row["database"], row["queue"], row["message_id"]): row
        for row in receive_schedule(after, top=proposed.top)
    }
    for row in receive_schedule(before, top=current.top):
        new = received[row["instance"], row["database"], row["queue"], row["message_id"]]
        rows.append(
            _row("receive", row, new, "priority", before)
            | {
                "queue": row["queue"],
                "receive_number_before": row["receive_number"],
                "receive_number_after": new["receive_number"],
                "state": row["state"],
                "endpoint": before.endpoint((row["conversation_id"], row["is_initiator"])),
            }
        )
    sent = {
        (row["instance"], row["message_id"]): row
        for row in transmission_schedule(after, starvation=proposed.starvation, blocks=proposed.blocks)
    }
    for row in transmission_schedule(before, starvation=current.starvation, blocks=current.blocks):
        new = sent[row["instance"], row["message_id"]]
        rows.append(
            _row("transmission", row, new, "transmit_priority", before)
            | {"endpoint": before.endpoint((row["conversation_id"], row["sent_by_initiator"]))}
        )
    return rows


def _row(kind: str, old: Row, new: Row, level: str, state: State) -> Row:
    placed = old["position"] is not None
    return {
        "kind": kind,
        "instance": old["instance"],
        "database": old["database"],
        "queue": None,
        "message_id": old["message_id"],
        "position_before": old["position"],
        "position_after": new["position"],
        "moved": old["position"] - new["position"] if placed else None,
        "receive_number_before": None,
        "receive_number_after": None,
        "level_before": old[level],
        "level_after": new[level],
        "state": None,
    }


def _summary(moved: list[Row]) -> list[Row]:
    parts: dict[tuple[str, str, str | None], list[int]] = defaultdict(list)
    for row in moved:
        if row["moved"] is None:
            continue
        endpoint, kind = row["endpoint"], row["kind"]
        where = (
            [row["instance"]]
            if kind == "transmission"
            else [row[name] for name in ("instance", "database", "queue")]
        )
        names = {
            "queue" if kind == "receive" else "instance": ".".join(
                "[" + part.replace("]", "]]") + "]" for part in where
            ),
            "contract": endpoint.contract if endpoint else None,
            "local_service": endpoint.local_service if endpoint else None,
            "level": str(row["level_before"]),
        }
        for dimension, name in names.items():
            parts[kind, dimension, name].append(row["moved"])
    return [
        {
            "kind": kind,
            "dimension": dimension,
            "name": name,
            "messages": len(moves),
            "gained": sum(move > 0 for move in moves),
            "lost": sum(move < 0 for move in moves),
            "positions_gained": sum(move for move in moves if move > 0),
            "positions_lost": -sum(move for move in moves if move < 0),
            "largest_gain": max(0, *moves),
            "largest_loss": max(0, *(-move for move in moves)),
            "median_moved": float(median(moves)),
        }
        for (kind, dimension, name), moves in parts.items()
    ]


def _pairs(moved: list[Row]) -> list[Row]:
    queues: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in moved:
        if row["kind"] == "receive" and row["moved"] is not None:
            queues[row["instance"], row["database"], row["queue"]].append(row)
    found: dict[tuple[Any, ...], int] = defaultdict(int)
    for queue, rows in queues.items():
        for passing, passed in _all_pairs(rows):
            found[(*queue, passing["level_before"], passed["level_before"])] += 1
    names = ("instance", "database", "queue", "passing_level", "passed_level")
    return [{**dict(zip(names, key, strict=True)), "pairs": count} for key, count in found.items()]


def _all_pairs(rows: list[Row]) -> Iterable[tuple[Row, Row]]:
    for passing in rows:
        for passed in rows:
            if (
                passed["position_before"] < passing["position_before"]
                and passed["position_after"] > passing["position_after"]
            ):
                yield passing, passed

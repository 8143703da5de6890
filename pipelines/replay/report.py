"""The report of a replay: waits by level before and after, queues, calibration, and the curve."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from pyspark.sql import functions as F

from pipelines.replay.request import ReplayRequest
from pipelines.replay.tables import OFF, TOO_WIDE, UNKNOWN, ReplayTables, find_verdicts
from pipelines.storage.collect import collect_rows
from schemas.keys import QUEUE

STOPS_HELPING = 0.02
"""One more reader that shortens percentile 95 by less than this share does not help."""
_queue = itemgetter(*QUEUE)
FIGURES = ("served", "wait_p50", "wait_p95", "at_least")


def report_replay(
    tables: ReplayTables, request: ReplayRequest, *, has_queue_events: bool = True, limit: int
) -> dict[str, Any]:
    """Report a replay as plain values.

    Args:
        tables: the tables of the replay.
        request: the request of the replay.
        has_queue_events: without queue events the log does not show how long work takes.
        limit: rows of each part.
    """
    waits = collect_rows(tables.by_recorded_level)
    verdicts = {_queue(row): row["verdict"] for row in collect_rows(find_verdicts(tables.calibration))}
    [widest] = collect_rows(tables.calibration.agg(F.max("width").alias("width")))
    names = {_queue(row) for row in waits}
    rows = collect_rows(tables.queues.orderBy(*QUEUE, "scenario"))
    queues = [row for row in rows if _queue(row) in names]
    curve = collect_rows(tables.curve.orderBy("scenario", *QUEUE, "readers"))
    both = _scenarios_by_level(waits)
    for row in (*both, *queues, *curve):
        row["verdict"] = verdicts.get(_queue(row), UNKNOWN)
    actual = [row for row in waits if row["scenario"] == "actual"]
    moved = sorted((row for row in both if row["difference_p95"]), key=itemgetter("difference_p95"))
    return {
        "from": request.period.start,
        "to": request.period.end,
        "drained": request.drain,
        "calibration": {
            "queues": len(verdicts),
            **{name: list(verdicts.values()).count(name) for name in (OFF, UNKNOWN, TOO_WIDE)},
        },
        "widest_seconds": None if widest["width"] is None else widest["width"] / 1000,
        "has_queue_events": has_queue_events,
        "messages": sum(row["messages"] for row in actual),
        "estimated": sum(row["estimated"] for row in actual),
        "unknown_readers": sum(not row["readers"] for row in queues if row["scenario"] == "actual"),
        "proposes": request.proposal is not None,
        "unserved": sum(row["messages"] - row["actual"]["served"] for row in both),
        "gains_most": moved[0] if moved and moved[0]["difference_p95"] < 0 else None,
        "pays_most": moved[-1] if moved and moved[-1]["difference_p95"] > 0 else None,
        "waits": sorted(both, key=_most_moved_first)[:limit],
        "queues": queues[:limit],
        "curve": [row for row in curve if _queue(row) in _first_queues(curve, limit)],
        "enough": [_enough(rows) for rows in _by_queue(curve)][:limit],
    }


def _scenarios_by_level(waits: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row per queue and recorded level with both scenarios; the difference is proposed less actual."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in sorted(waits, key=itemgetter("scenario")):
        key = (*_queue(row), row["level"])
        both = rows.setdefault(key, {name: row[name] for name in (*QUEUE, "level", "messages", "calibrated")})
        both[row["scenario"]] = {name: row[name] for name in FIGURES}
    for both in rows.values():
        before, after = both.get("actual"), both.get("proposed")
        both["difference_p95"] = (
            after["wait_p95"] - before["wait_p95"]
            if before and after and None not in (before["wait_p95"], after["wait_p95"])
            else None
        )
    return list(rows.values())


def _most_moved_first(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return (-abs(row["difference_p95"] or 0), *_queue(row), -row["level"])


def _first_queues(rows: Sequence[Mapping[str, Any]], limit: int) -> set[tuple[str, ...]]:
    return set(sorted({_queue(row) for row in rows})[:limit])


def _by_queue(curve: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The rows of each scenario and queue, by their number of readers."""
    by_queue: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in curve:
        by_queue.setdefault((row["scenario"], *_queue(row)), []).append(row)
    return list(by_queue.values())


def _enough(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The number of readers from which on more do not help, and whether locked groups are the reason.

    Null if the last number of the range still helps.
    """
    last = rows[-1]["wait_p95"]
    enough = next(
        (
            row
            for row in rows[:-1]
            if last is not None
            and row["wait_p95"] is not None
            and row["wait_p95"] <= last * (1 + STOPS_HELPING)
        ),
        None,
    )
    return {
        "scenario": rows[0]["scenario"],
        **{name: rows[0][name] for name in QUEUE},
        "readers": enough and enough["readers"],
        "locked": bool(enough and rows[-1]["idle_locked_seconds"] > 0),
        "wait_p95": enough and enough["wait_p95"],
        "calibrated": rows[0]["calibrated"],
        "verdict": rows[0]["verdict"],
    }

"""What is told of a replay: waits by level before and after, queues, calibration, the curve."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from pipelines.replay.read import ReplayRequest
from pipelines.replay.tables import Answer
from pipelines.storage.collect import collect_rows
from schemas.keys import QUEUE

STOPS_HELPING = 0.02
"""One more reader that makes percentile 95 shorter by less than this share does not help. Our choice."""
CALIBRATED, OFF, UNKNOWN = "calibrated", "off", "unknown"
FIGURES = ("served", "wait_p50", "wait_p95", "at_least")


def report_replay(
    answer: Answer, asked: ReplayRequest, *, has_queue_events: bool = True, limit: int
) -> dict[str, Any]:
    """What is told of the answer.

    Args:
        answer: the tables.
        asked: what was asked.
        has_queue_events: without any the log does not say how long work takes.
        limit: rows of each part.
    """
    waits = collect_rows(answer.beside)
    verdicts = _verdicts(collect_rows(answer.calibration.select(*QUEUE, "verdict")))
    places = {_place(row) for row in waits}
    told_of = collect_rows(answer.queues.orderBy(*QUEUE, "scenario"))
    queues = [row for row in told_of if _place(row) in places]
    curve = collect_rows(answer.curve.orderBy("scenario", *QUEUE, "readers"))
    both = _beside(waits)
    for row in (*both, *queues, *curve):
        row["verdict"] = verdicts.get(_place(row), UNKNOWN)
    of_actual = [row for row in waits if row["scenario"] == "actual"]
    moved = sorted((row for row in both if row["difference_p95"]), key=itemgetter("difference_p95"))
    return {
        "from": asked.period.start,
        "to": asked.period.end,
        "drained": asked.drain,
        "calibration": {
            "queues": len(verdicts),
            **{name: list(verdicts.values()).count(name) for name in (OFF, UNKNOWN)},
        },
        "has_queue_events": has_queue_events,
        "messages": sum(row["messages"] for row in of_actual),
        "estimated": sum(row["estimated"] for row in of_actual),
        "unknown_readers": sum(not row["readers"] for row in queues if row["scenario"] == "actual"),
        "proposes": asked.proposal is not None,
        "unserved": sum(row["messages"] - row["actual"]["served"] for row in both),
        "gains_most": moved[0] if moved and moved[0]["difference_p95"] < 0 else None,
        "pays_most": moved[-1] if moved and moved[-1]["difference_p95"] > 0 else None,
        "waits": sorted(both, key=_most_moved_first)[:limit],
        "queues": queues[:limit],
        "curve": [row for row in curve if _place(row) in _first_places(curve, limit)],
        "enough": [_enough(rows) for rows in _by_queue(curve)][:limit],
    }


def _verdicts(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, ...], str]:
    """The verdict of each queue: off if one of its levels is, unknown if all are."""
    found: dict[tuple[str, ...], set[str]] = {}
    for row in rows:
        found.setdefault(_place(row), set()).add(row["verdict"])
    return {
        place: OFF if OFF in of_levels else UNKNOWN if of_levels == {UNKNOWN} else CALIBRATED
        for place, of_levels in found.items()
    }


def _beside(waits: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row per queue and recorded level with both scenarios; the difference is proposed less actual."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in waits:
        key = (*_place(row), row["level"])
        found = rows.setdefault(
            key, {name: row[name] for name in (*QUEUE, "level", "messages", "calibrated")}
        )
        found[row["scenario"]] = {name: row[name] for name in FIGURES}
    for found in rows.values():
        before, after = found.get("actual"), found.get("proposed")
        found["difference_p95"] = (
            after["wait_p95"] - before["wait_p95"]
            if before and after and None not in (before["wait_p95"], after["wait_p95"])
            else None
        )
    return list(rows.values())


def _most_moved_first(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return (-abs(row["difference_p95"] or 0), *_place(row), -row["level"])


def _place(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in QUEUE)


def _first_places(rows: Sequence[Mapping[str, Any]], limit: int) -> set[tuple[str, ...]]:
    return set(sorted({_place(row) for row in rows})[:limit])


def _by_queue(curve: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The rows of each scenario and queue, by their number of readers."""
    found: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in curve:
        found.setdefault((row["scenario"], *_place(row)), []).append(row)
    return list(found.values())


def _enough(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """From which number on more readers don't help, and whether locked groups are why.

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

"""Measures on random logs, against walking the rows of the tables in plain Python."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import product
from math import floor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.factories import Row
from tests.support.harness import Project, one_log
from tests.support.random_logs import project_of, random_logs

SECOND = timedelta(seconds=1)


def names_of(project: Project, row: Row, side: bool, as_of: datetime) -> Row:
    """Contract and services of the endpoint that holds a message."""
    endpoints = [
        each
        for each in project.table("endpoints")
        if each["conversation_id"] == row["conversation_id"] and each["created_at"] < as_of
    ]
    for each in endpoints:
        if each["is_initiator"] == side:
            return {
                "contract": each["contract"],
                "service": each["local_service"],
                "remote_service": each["remote_service"],
            }
    for each in endpoints:
        return {
            "contract": each["contract"],
            "service": each["remote_service"],
            "remote_service": each["local_service"],
        }
    return {"contract": None, "service": row["from_service"], "remote_service": row["to_service"]}


def percentile(waits: Sequence[int]) -> float:
    rank = 0.95 * (len(waits) - 1)
    low = floor(rank)
    ordered = [*sorted(waits), 0]
    return ordered[low] + (ordered[low + 1] - ordered[low]) * (rank - low)


def naive(entry: Row, received: Sequence[Row], sent: Sequence[Row]) -> tuple[float | None, int]:
    """The value and the messages of an entry."""
    filters = {
        key: value
        for key, value in entry.items()
        if key in ("queue", "contract", "service", "level", "instance")
    }
    rows = [
        row
        for row in (sent if "transmission_age" in entry else received)
        if all(row[key] == value for key, value in filters.items())
    ]
    waits = [row["wait"] for row in rows]
    if not rows:
        return None, 0
    if "p95_wait" in entry:
        return percentile(waits), len(rows)
    if "level_at_least" in entry:
        return sum(row["level"] >= entry["level_at_least"] for row in rows) / len(rows), len(rows)
    return max(waits), len(rows)


@pytest.mark.spark
def test_measures_equal_the_naive_ones(session: SparkSession, tmp_path: Path) -> None:
    log = one_log(random_logs(25, 77))
    project = project_of(tmp_path / "first", log)
    project.add(log.events)
    project.run(session, log.as_of)
    received = [
        {
            **row,
            **names_of(project, row, row["is_initiator"], log.as_of),
            "level": row["priority"],
            "wait": (log.as_of - row["arrived_at"]) // SECOND,
        }
        for row in project.table("receive_schedule")
    ]
    sent = [
        {
            **row,
            **names_of(project, row, row["sent_by_initiator"], log.as_of),
            "level": row["transmit_priority"],
            "wait": (log.as_of - row["sendable_at"]) // SECOND,
        }
        for row in project.table("transmission_schedule")
    ]
    measures: list[Row] = [{"oldest_wait": "1 h"}, {"p95_wait": "1 h"}, {"level_at_least": 6}]
    filters: list[Row] = [{}, *({"level": level} for level in (1, 5, 9))]
    for key in ("queue", "contract", "service", "instance"):
        values = sorted({row[key] for row in [*received, *sent] if row.get(key)})
        filters += [{key: value} for value in values[:4]]
    filters += [
        {"contract": row["contract"], "service": row["service"], "instance": row["instance"]}
        for row in [*received[:5], *sent[:5]]
        if row["contract"]
    ]
    entries = [
        {**measure, **each}
        for measure, each in product([*measures, {"transmission_age": "1 h"}], filters)
        if not ("level_at_least" in measure and "level" in each)
        and not ("transmission_age" in measure and "queue" in each)
    ]
    unique = {str(entry): entry for entry in entries}

    again = project_of(
        tmp_path / "first", log, expect=[{"name": name, **entry} for name, entry in unique.items()]
    )
    again.run(session, log.as_of)

    found = {row["name"]: (row["value"], row["messages"]) for row in again.table("expectations")}
    expected = {name: naive(entry, received, sent) for name, entry in unique.items()}
    assert found == {
        name: (value if value is None else pytest.approx(value), messages)
        for name, (value, messages) in expected.items()
    }
    assert sum(messages > 1 for _, messages in expected.values()) > len(expected) / 4
    assert any(value is None for value, _ in expected.values())

"""Levels that the server logged beside ours, against explanations found one by one."""

from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.conformance.levels import KIND
from pipelines.conformance.read import levels_at
from pipelines.conformance.report import report_levels
from pipelines.conformance.view import sentence, why
from pipelines.storage.collect import collect_rows
from schemas.conformance import CONFORMANCE_LEVELS
from tests.support.factories import Row, at, rule
from tests.support.harness import difference
from tests.support.written import endpoint, warehouse_of

NAMES = ("Gold", "gold", "Go ld", "Silver")
NONE_OF_SERVER = {"of_server": 0, "differing_today": 0}
COLUMNS = ("contract", "local_service", "remote_service")


def random_rules(random: Random) -> list[Row]:
    return [
        rule(
            f"Rule {number % 7}",
            random.choice((3, 5, 8)),
            database=random.choice("AB"),
            valid_from=at(number),
            valid_to=random.choice((None, at(number + 2))),
            **{name: random.choice((None, None, *NAMES)) for name in COLUMNS},
        )
        for number in range(14)
    ]


def random_endpoints(random: Random) -> list[Row]:
    return [
        endpoint(
            f"c{number}",
            database=random.choice("AB"),
            created_at=at(random.randrange(20), day=random.choice((0, 0, 0, -2))),
            priority=random.choice((3, 5, 8)),
            logged_priority=random.choice((None, 3, 5, 8)),
            **{name: random.choice(NAMES) for name in COLUMNS},
        )
        for number in range(400)
    ]


def explained(row: Row, endpoints: list[Row], rules: list[Row]) -> tuple[Any, ...]:
    """(explanation, rule, valid_from, seconds) of a kind whose levels differ, version by version."""
    exact, near = [], []
    for version in rules:
        if version["database"] != row["database"] or version["level"] != row["logged_priority"]:
            continue
        missed = [name for name in COLUMNS if version[name] is not None and version[name] != row[name]]
        alike = [
            name
            for name in missed
            if version[name].replace(" ", "").lower() == row[name].replace(" ", "").lower()
        ]
        if not missed:
            exact.append(version)
        elif len(missed) == 1 and alike:
            near.append(version)

    def nearest(versions: list[Row]) -> tuple[Any, ...]:
        def away(version: Row) -> float:
            offs = []
            for created_at in (each["created_at"] for each in endpoints):
                if created_at < version["valid_from"]:
                    offs.append((version["valid_from"] - created_at).total_seconds())
                elif version["valid_to"] is not None and created_at >= version["valid_to"]:
                    offs.append((created_at - version["valid_to"]).total_seconds())
                else:
                    offs.append(0.0)
            return min(offs)

        best = min(versions, key=lambda each: (away(each), each["valid_from"], each["name"]))
        return best["name"], best["valid_from"], away(best)

    nothing = (None, None, None)
    if exact:
        return "other_version", *nearest(exact)
    if row["logged_priority"] == 5:
        return "default_on_server", *nothing
    if near:
        return "near_miss", *nearest(near)
    return ("rule_unknown" if row["priority"] == 5 else "unexplained"), *nothing


@pytest.mark.slow
@pytest.mark.spark
def test_each_difference_has_the_first_explanation_that_holds(session: SparkSession, tmp_path: Path) -> None:
    random = Random(4)
    rules, endpoints = random_rules(random), random_endpoints(random)
    warehouse = warehouse_of(session, tmp_path, {"endpoints": endpoints, "priority_rules": rules})
    window = timedelta(hours=24)
    asked = [each for each in endpoints if at(60) - window <= each["created_at"] < at(60)]
    assert len(asked) < len(endpoints)
    expected = []
    for key in {tuple(each[name] for name in KIND) for each in asked}:
        row = dict(zip(KIND, key, strict=True))
        own = [each for each in asked if tuple(each[name] for name in KIND) == key]
        differs = row["logged_priority"] not in (None, row["priority"])
        found = explained(row, own, rules) if differs else (None,) * 4
        expected.append(
            row | {"endpoints": len(own)} | dict(zip(CONFORMANCE_LEVELS.names[-4:], found, strict=True))
        )
    levels = levels_at(warehouse, as_of=at(60), window=window)
    assert difference(collect_rows(levels), expected) == []
    kinds = {row["explanation"] for row in expected}
    assert kinds == {None, "other_version", "default_on_server", "near_miss", "rule_unknown", "unexplained"}
    report = report_levels(levels, NONE_OF_SERVER, limit=3)
    logged = [each for each in asked if each["logged_priority"] is not None]
    differing = sum(each["logged_priority"] != each["priority"] for each in logged)
    counts = {"endpoints": len(asked), "logged": len(logged), "differing": differing}
    assert report["endpoints"] == counts | NONE_OF_SERVER
    assert len(report["levels"]) == 3
    assert sentence(report) == (
        f"Of {len(logged)} endpoints whose level the server logged, {differing} have "
        "another level than we found."
    )


def test_a_rule_of_a_snapshot_is_first_seen(session: SparkSession, tmp_path: Path) -> None:
    """The rule began after the creation; where a snapshot shows it at its first moment, it may be older."""
    rows = {
        "endpoints": [endpoint(logged_priority=7, created_at=at(1))],
        "priority_rules": [rule("R", 7, valid_from=at(2))],
    }
    warehouse = warehouse_of(session, tmp_path, rows)
    levels = levels_at(warehouse, as_of=at(60), window=None)
    place = (rows["priority_rules"][0]["instance"], rows["priority_rules"][0]["database"])
    for shown, is_seen in (({place: [at(2)]}, True), ({place: [at(3)]}, False), (None, False)):
        [row] = report_levels(levels, NONE_OF_SERVER, limit=3, shown=shown)["levels"]
        assert (row["explaining_rule"], row["first_seen"]) == ("R", is_seen)
        said = why(row)
        assert ("first seen at 2026-11-20T12:02:00Z" in said) is is_seen
        assert ("was not valid" in said) is not is_seen


def test_without_logged_levels_there_is_nothing_to_compare(session: SparkSession, tmp_path: Path) -> None:
    warehouse = warehouse_of(session, tmp_path, {"endpoints": [endpoint()], "priority_rules": []})
    report = report_levels(levels_at(warehouse, as_of=at(60), window=None), NONE_OF_SERVER, limit=3)
    assert report["endpoints"] == {"endpoints": 1, "logged": 0, "differing": 0} | NONE_OF_SERVER
    assert sentence(report) == "The log has no level of the server's, so there is nothing to compare."

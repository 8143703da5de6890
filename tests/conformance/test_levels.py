"""Levels that the server logged beside ours, and what explains a difference."""

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession, functions as F

from pipelines.conformance.levels import conformance_levels
from pipelines.conformance.read import levels_at
from pipelines.conformance.report import report_levels
from pipelines.conformance.view import sentence, why
from pipelines.storage.histories import stored_versions
from tests.support.factories import at, rule
from tests.support.frames import assert_same, frame
from tests.support.written import endpoint, warehouse_of

NONE_OF_SERVER = {"of_server": 0, "differing_today": 0}
ENDPOINTS = """
    contract | local_service | priority int | logged_priority int | created_at timestamp
    Gold     | Target        | 9            | 9                   | 08:00
    Gold     | Target        | 9            | -                   | 08:00
    Gold     | Target        | 9            | 7                   | 08:00
    Gold     | Target        | 9            | 7                   | 08:30
    Gold     | Target        | 9            | 5                   | 08:00
    Gold     | Target        | 9            | 4                   | 08:00
    Gold     | Target        | 9            | 3                   | 08:00
    Gold     | Target        | 9            | 2                   | 08:00
    Lead     | Target        | 5            | 2                   | 08:00
    Lead     | Target        | 5            | 8                   | 08:00
    Lead     | Other         | 5            | 8                   | 08:00
"""
RULES = """
    name      | contract | local_service | level int | valid_from timestamp | valid_to timestamp | database
    later     | Gold     | -             | 7         | 08:31                | -                  | B
    nearer    | Gold     | Target        | 7         | 07:00                | 08:29              | B
    same      | -        | -             | 7         | 07:00                | 08:29              | B
    elsewhere | Gold     | -             | 7         | 07:00                | -                  | C
    default   | Gold     | -             | 6         | 07:00                | -                  | B
    in case   | go LD    | -             | 4         | 07:00                | -                  | B
    two       | GOLD     | target        | 3         | 07:00                | -                  | B
    one       | Gold     | tar get       | 3         | 07:00                | 07:30              | B
    both      | Lead     | TARGET        | 8         | 08:00                | -                  | B
    exact     | Lead     | Target        | 8         | 09:00                | -                  | B
"""
LEVELS = """
    contract | local_service | priority int | logged_priority int | endpoints bigint | explanation       | explaining_rule | explaining_valid_from timestamp | off_by_seconds double
    Gold     | Target        | 9            | 9                   | 1                | -                 | -               | -                               | -
    Gold     | Target        | 9            | -                   | 1                | -                 | -               | -                               | -
    Gold     | Target        | 9            | 7                   | 2                | other_version     | nearer          | 07:00                           | 0.0
    Gold     | Target        | 9            | 5                   | 1                | default_on_server | -               | -                               | -
    Gold     | Target        | 9            | 4                   | 1                | near_miss         | in case         | 07:00                           | 0.0
    Gold     | Target        | 9            | 3                   | 1                | near_miss         | one             | 07:00                           | 1800.0
    Gold     | Target        | 9            | 2                   | 1                | unexplained       | -               | -                               | -
    Lead     | Target        | 5            | 2                   | 1                | rule_unknown      | -               | -                               | -
    Lead     | Target        | 5            | 8                   | 1                | other_version     | exact           | 09:00                           | 3600.0
    Lead     | Other         | 5            | 8                   | 1                | rule_unknown      | -               | -                               | -
"""  # noqa: E501


def test_each_difference_has_the_first_explanation_that_holds(session: SparkSession) -> None:
    """Of several versions the nearest to a creation, then the earliest, then by name."""
    place = {"instance": F.lit("SQL1"), "remote_service": F.lit("Initiator")}
    endpoints = frame(session, ENDPOINTS).withColumns(place | {"database": F.lit("B")})
    rules = frame(session, RULES).withColumns(place | {"remote_service": F.lit(None).cast("string")})
    found = conformance_levels(endpoints, stored_versions(rules))
    expected = frame(session, LEVELS)
    assert_same(found.select(*expected.columns), expected)


def test_levels_of_a_window_are_told(session: SparkSession, tmp_path: Path) -> None:
    """Those created before as_of; with a window of an hour, since then."""
    made = {0: 7, 1: 5, 59: None, 60: 7}
    rows = [
        endpoint(f"c{minute}", created_at=at(minute), logged_priority=level) for minute, level in made.items()
    ]
    warehouse = warehouse_of(session, tmp_path, {"endpoints": rows, "priority_rules": []})
    always, lately = (
        report_levels(levels_at(warehouse, as_of=at(60), window=window), NONE_OF_SERVER, limit=0)
        for window in (None, timedelta(minutes=59))
    )
    assert always["endpoints"] == {"endpoints": 3, "logged": 2, "differing": 1} | NONE_OF_SERVER
    assert lately["endpoints"] == {"endpoints": 2, "logged": 1, "differing": 0} | NONE_OF_SERVER
    assert always["levels"] == []
    assert sentence(always) == (
        "Of 2 endpoints whose level the server logged, 1 have another level than we found."
    )
    assert sentence(lately) == "All 1 endpoints whose level the server logged have the level that we found."


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


@pytest.mark.parametrize(
    ("explanation", "said"),
    [
        ("near_miss", "'R' gives that level, but a name differs in case or blanks"),
        ("default_on_server", "the server found no rule"),
        ("rule_unknown", "we know no rule for it"),
        ("unexplained", "no rule that we know gives that level"),
    ],
)
def test_why_the_server_has_another_level(explanation: str, said: str) -> None:
    assert why({"explanation": explanation, "explaining_rule": "R"}).startswith(said)

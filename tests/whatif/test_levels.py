"""The endpoints that get another level: by the proposal, or by today's rules already."""

from datetime import datetime

import pytest
from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.rules.history import RuleVersion
from pipelines.storage.histories import rules_frame
from pipelines.whatif.levels import as_proposed, changed_endpoints, changed_kinds, with_cause
from tests.support.frames import assert_same, frame, instant

ENDPOINTS = """
    conversation_id | contract | created_at timestamp | priority int | rule_name | ladder_step int
    gold 1          | Gold     | 08:00                | 5            | -         | -
    gold 2          | Gold     | 10:00                | 5            | -         | -
    gold 3          | Gold     | 10:00                | 7            | Old       | 4
    gold 4          | Gold     | 10:00                | 9            | Gold      | 4
    lead            | Lead     | 10:00                | 5            | -         | -
    other           | Other    | 10:00                | 5            | -         | -
"""
CHANGED = """
    contract | recorded int | endpoints bigint | proposed int | rule_after | step_after int | today int | cause
    Gold     | 5            | 2                | 9            | Gold       | 4              | 8         | proposal
    Gold     | 7            | 1                | 9            | Gold       | 4              | 8         | proposal
    Lead     | 5            | 1                | 3            | Lead       | 4              | 3         | drift
"""  # noqa: E501
NAMES = {"instance": "SQL1", "database": "B", "local_service": "Target", "remote_service": "Initiator"}


def endpoints(session: SparkSession) -> DataFrame:
    return frame(session, ENDPOINTS).withColumns({name: F.lit(value) for name, value in NAMES.items()})


def rules(session: SparkSession, gold: int) -> DataFrame:
    """Rules that stand: of contract Gold with a level, and of contract Lead with level 3."""
    drawing = f"""
        name | contract | level int | valid_from timestamp
        Gold | Gold     | {gold}    | 11:00
        Lead | Lead     | 3         | 11:00
    """
    nothing = dict.fromkeys(("local_service", "remote_service"), F.lit(None).cast("string"))
    place = {"instance": F.lit("SQL1"), "database": F.lit("B"), "valid_to": F.lit(None).cast("timestamp")}
    return frame(session, drawing).withColumns(place | nothing)


def changed(session: SparkSession, as_if: datetime | None) -> DataFrame:
    kinds = changed_kinds(endpoints(session), rules(session, 9), as_if=as_if)
    return with_cause(kinds, rules(session, 8))


@pytest.mark.parametrize(("as_if", "golds"), [(None, 2), ("10:00", 1), ("10:00:00.000001", None)])
def test_kinds_of_endpoints_that_change(session: SparkSession, as_if: str | None, golds: int | None) -> None:
    """Gold endpoints get 9 in place of today's 8; Lead ones would get 3 today; the rest keeps its level."""
    expected = frame(session, CHANGED)
    if golds == 1:
        one = F.when(F.col("recorded") == 5, 1).otherwise(F.col("endpoints")).cast("bigint")
        expected = expected.withColumn("endpoints", one)
    if golds is None:
        expected = expected.limit(0)
    found = changed(session, as_if and instant(as_if))
    assert_same(found.select(*expected.columns), expected)


@pytest.mark.parametrize(("as_if", "first"), [(None, 9), ("10:00", 5)])
def test_endpoints_with_their_proposed_level(session: SparkSession, as_if: str | None, first: int) -> None:
    """Those that are older than the instant keep their level."""
    since = as_if and instant(as_if)
    found = as_proposed(endpoints(session), changed(session, since), as_if=since)
    assert found.columns == endpoints(session).columns
    expected = f"""
        conversation_id | priority int
        gold 1          | {first}
        gold 2          | 9
        gold 3          | 9
        gold 4          | 9
        lead            | 3
        other           | 5
    """
    assert_same(found.select("conversation_id", "priority"), frame(session, expected))


def test_endpoints_that_change(session: SparkSession) -> None:
    since = instant("10:00")
    expected = """
        conversation_id | recorded int | today int | proposed int | rule_before | rule_after | step_before int | step_after int | cause
        gold 2          | 5            | 8         | 9            | -           | Gold       | -               | 4              | proposal
        gold 3          | 7            | 8         | 9            | Old         | Gold       | 4               | 4              | proposal
        lead            | 5            | 3         | 3            | -           | Lead       | -               | 4              | drift
    """  # noqa: E501
    found = changed_endpoints(endpoints(session), changed(session, since), as_if=since)
    assert_same(found.select(*frame(session, expected).columns), frame(session, expected))


def test_rule_versions_as_rows(session: SparkSession) -> None:
    version = RuleVersion(
        instance="SQL1",
        database="B",
        name="Gold",
        contract="Gold",
        local_service=None,
        remote_service=None,
        level=9,
        valid_from=instant("11:00"),
        valid_to=None,
    )
    columns = rules_frame(session, [version]).columns
    assert_same(rules_frame(session, [version]), rules(session, 9).where("name = 'Gold'").select(*columns))

"""Which of several rows with one event_id stand, against the rule in plain Python."""

from collections import Counter
from datetime import UTC, date, datetime
from random import Random
from typing import Any

from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.ingest.duplicates import (
    accepted,
    hashed_twice,
    repeated,
    set_apart,
    suspects,
    with_hash_in,
    with_identity,
)
from schemas import CONTRACTS
from tests.factories import Row, at, queue_event

DAY = date(2026, 11, 20)
NAMED = "event_date date, event_id string, content_hash bigint"
Case = tuple[list[int], int | None]
"""The contents that came in one batch, and the content that was recorded before."""


def verdicts(contents: list[int], recorded: int | None) -> Counter[tuple[int, str]]:
    """(content, verdict) of each row; twins are what is recorded once."""
    if recorded is not None:
        return Counter((content, "duplicate" if content == recorded else "conflict") for content in contents)
    if len(set(contents)) > 1:
        return Counter((content, "conflict") for content in contents)
    return Counter((content, "twin" if len(contents) > 1 else "accepted") for content in contents)


def frames(spark: SparkSession, cases: dict[str, Case]) -> tuple[DataFrame, DataFrame]:
    came = [(DAY, event_id, content) for event_id, (contents, _) in cases.items() for content in contents]
    known = [(DAY, event_id, recorded) for event_id, (_, recorded) in cases.items() if recorded is not None]
    # What was recorded of another day is another event.
    known += [(date(2026, 11, 19), event_id, 0) for event_id in cases]
    return spark.createDataFrame(came, NAMED), spark.createDataFrame(known, NAMED)


def test_verdicts_follow_the_rule(spark: SparkSession) -> None:
    random = Random(1)
    cases: dict[str, Case] = {
        f"e{number}": (
            [random.randint(-1, 1) for _ in range(random.randint(1, 4))],
            random.choice([None, -1, 0, 1]),
        )
        for number in range(300)
    }
    events, recorded = frames(spark, cases)
    # A row that is no event has its own verdict, also where its id came more than once.
    broken = F.array(F.lit("broken_row"))
    invalid = events.withColumns({"content_hash": F.lit(7).cast("bigint"), "reasons": broken})
    rows = events.withColumn("reasons", F.array().cast("array<string>")).unionByName(invalid.limit(2))
    hashes = hashed_twice(rows, recorded).persist()
    few = suspects(rows, hashes).persist()
    repeats = repeated(few.where("size(reasons) = 0"), with_hash_in(recorded, hashes)).persist()
    apart = set_apart(few, repeats).persist()
    assert [(row.content_hash, row.verdict) for row in apart.where("size(reasons) > 0").collect()] == [
        (7, "invalid")
    ] * 2
    found: dict[str, Counter[tuple[int, str]]] = {event_id: Counter() for event_id in cases}
    for row in apart.where("size(reasons) = 0").collect():
        found[row.event_id][row.content_hash, row.verdict] += 1
    expected = {event_id: verdicts(*case) for event_id, case in cases.items()}
    more_than_once = {
        event_id: Counter({key: rows for key, rows in each.items() if key[1] != "accepted"})
        for event_id, each in expected.items()
    }
    assert found == more_than_once
    assert len({verdict for each in expected.values() for _, verdict in each}) == 4

    once = sorted(
        (row.event_id, row.content_hash)
        for row in accepted(rows.where("size(reasons) = 0"), repeats, apart).collect()
    )
    stand = {(event_id, content) for event_id, each in expected.items() for content, verdict in each
             if verdict in ("accepted", "twin")}  # fmt: skip
    assert once == sorted(stand)
    for frame in (apart, repeats, few, hashes):
        frame.unpersist()


def test_only_rows_that_may_have_come_twice_are_looked_at_closer(spark: SparkSession) -> None:
    cases: dict[str, Case] = {
        "once": ([0], None),
        "twice": ([0, 0], None),
        "known": ([0], 0),
        "broken": ([7], None),
        "gone": ([], 0),
    }
    events, recorded = frames(spark, cases)
    rows = events.withColumn(
        "reasons", F.when(F.col("event_id") == "broken", F.array(F.lit("broken_row"))).otherwise(F.array())
    )
    hashes = hashed_twice(rows, recorded)
    few = sorted(row.event_id for row in suspects(rows, hashes).collect())
    assert few == ["broken", "known", "twice", "twice"]
    assert [(row.event_id, row.event_date) for row in with_hash_in(recorded, hashes).collect()] == [
        ("known", DAY)
    ]


def hashes(spark: SparkSession, *rows: Row) -> list[Any]:
    contract = CONTRACTS["queue_events"]
    schema = ", ".join([*[f"`{column.name}` {column.type}" for column in contract.columns], "extra int"])
    frame = spark.createDataFrame([{"extra": number, **row} for number, row in enumerate(rows)], schema)
    return with_identity(frame, contract).orderBy("extra").collect()


def test_content_is_every_declared_column(spark: SparkSession) -> None:
    changes: list[Row] = [
        {},
        {"session_id": 1},
        {"row_count": 1},
        {"transaction_id": "x"},
        {"conversation_group_id": "x"},
        {"has_where": False},
        {"has_where": True},
        {"queue": "TargetQueue "},
        {"event_time": at(2).replace(microsecond=1)},
    ]
    found = hashes(spark, *[queue_event(event_id="e") | change for change in changes])
    assert len({row.content_hash for row in found}) == len(changes)
    same = hashes(spark, queue_event(event_id="e"), queue_event(event_id="e"))
    assert [row.content_hash for row in same] == [found[0].content_hash] * 2


def test_an_event_belongs_to_the_utc_day_of_its_time(spark: SparkSession) -> None:
    moments = [
        datetime(2026, 11, 20, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2026, 11, 21, tzinfo=UTC),
        datetime.fromisoformat("2026-11-21T00:30:00+01:00"),
    ]
    found = hashes(spark, *[queue_event(event_time=moment) for moment in moments])
    assert [row.event_date for row in found] == [DAY, date(2026, 11, 21), DAY]

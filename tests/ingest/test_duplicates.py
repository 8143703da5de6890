"""Which of several rows with one event_id stand, against the rule in plain Python."""

from collections import Counter
from datetime import UTC, date, datetime
from random import Random

import pytest
from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.ingest.duplicates import (
    decide_duplicates,
    find_repeated,
    find_repeated_hashes,
    narrow_rows,
    select_accepted,
    select_near_suspects,
    select_suspects,
    select_with_hashes,
)
from schemas import CONTRACTS
from tests.support.factories import Row, at, queue_event

CONTRACT = CONTRACTS["queue_events"]
COLUMNS = ", ".join(f"`{column.name}` {column.type}" for column in CONTRACT.columns)
DAY = at().date()
Case = tuple[list[int], int | None]
"""The contents that came in one batch, and the content that was recorded before."""


def verdicts(contents: list[int], recorded: int | None) -> Counter[tuple[int, str]]:
    """(content, verdict) of each row; twins are what is recorded once."""
    if recorded is not None:
        return Counter((content, "duplicate" if content == recorded else "conflict") for content in contents)
    if len(set(contents)) > 1:
        return Counter((content, "conflict") for content in contents)
    return Counter((content, "twin" if len(contents) > 1 else "accepted") for content in contents)


def event(event_id: str, content: int, **changes: object) -> Row:
    return queue_event(event_id=event_id, row_count=content, **changes)


def came(session: SparkSession, *rows: Row) -> DataFrame:
    """Rows as the reasons leave them: row_count 7 is no event."""
    reasons = F.when(F.col("row_count") == 7, "broken_row")
    return session.createDataFrame(list(rows), COLUMNS).withColumns(
        {"reasons": reasons, "mistyped": F.lit(None).cast("string"), "raw": F.lit(None).cast("string")}
    )


class Taken:
    """What becomes of a batch's rows, given what is recorded."""

    def __init__(self, session: SparkSession, rows: list[Row], recorded: list[Row], full: set[date]) -> None:
        batch, known = came(session, *rows), session.createDataFrame(recorded, COLUMNS)
        days = {row["event_time"].date() for row in rows}
        hashes = find_repeated_hashes(
            narrow_rows(batch, CONTRACT), known, full_days=full & days, other_days=days - full
        )
        beside = select_near_suspects(batch, narrow_rows(batch, CONTRACT), hashes)
        few = select_suspects(beside, hashes)
        repeats = find_repeated(few.where("reasons is null"), select_with_hashes(known, hashes), CONTRACT)
        apart = decide_duplicates(few, repeats, CONTRACT)
        self.verdicts = apart.collect()
        self.accepted = select_accepted(batch, beside, apart, CONTRACT, lambda rows: rows).collect()


@pytest.mark.spark
@pytest.mark.parametrize("full", [{DAY}, set()], ids=["many events of the day", "few"])
def test_verdicts_follow_the_rule(session: SparkSession, full: set[date]) -> None:
    random = Random(1)
    cases: dict[str, Case] = {
        f"e{number}": (
            [random.randint(-1, 1) for _ in range(random.randint(1, 4))],
            random.choice([None, -1, 0, 1]),
        )
        for number in range(300)
    }
    rows = [event(event_id, content) for event_id, (contents, _) in cases.items() for content in contents]
    # A row that is no event has its own verdict, also where its id came more than once.
    rows += [event("e0", 7), event("e1", 7)]
    recorded = [event(event_id, known) for event_id, (_, known) in cases.items() if known is not None]
    # What was recorded of another day is another event.
    recorded += [event(event_id, 0, event_time=at(2, day=-1)) for event_id in cases]
    taken = Taken(session, rows, recorded, full)

    assert [row.event_id for row in taken.verdicts if row.verdict == "invalid"] == ["e0", "e1"]
    found: dict[str, Counter[tuple[int, str]]] = {event_id: Counter() for event_id in cases}
    for row in taken.verdicts:
        if row.verdict != "invalid":
            found[row.event_id][row.row_count, row.verdict] += 1
    expected = {event_id: verdicts(*case) for event_id, case in cases.items()}
    more_than_once = {
        event_id: Counter({key: rows for key, rows in each.items() if key[1] != "accepted"})
        for event_id, each in expected.items()
    }
    assert found == more_than_once
    assert len({verdict for each in expected.values() for _, verdict in each}) == 4

    once = sorted((row.event_id, row.row_count) for row in taken.accepted)
    assert once == sorted(
        (event_id, content)
        for event_id, each in expected.items()
        for content, verdict in each
        if verdict in ("accepted", "twin")
    )


def test_only_rows_that_may_have_come_twice_are_looked_at_closer(session: SparkSession) -> None:
    batch = came(
        session, event("once", 0), event("twice", 0), event("twice", 0), event("known", 0), event("broken", 7)
    )
    recorded = session.createDataFrame([event("known", 0), event("gone", 0)], COLUMNS)
    hashes = find_repeated_hashes(narrow_rows(batch, CONTRACT), recorded, full_days={DAY}, other_days=set())
    few = sorted(
        row.event_id
        for row in select_suspects(
            select_near_suspects(batch, narrow_rows(batch, CONTRACT), hashes), hashes
        ).collect()
    )
    assert few == ["broken", "known", "twice", "twice"]
    assert [row.event_id for row in select_with_hashes(recorded, hashes).collect()] == ["known"]


def test_content_is_every_declared_column(session: SparkSession) -> None:
    """A repeat with any change is a conflict; without one, a duplicate."""
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
    rows = [queue_event(event_id=f"e{number}") | change for number, change in enumerate(changes)]
    recorded = [queue_event(event_id=f"e{number}") for number in range(len(changes))]
    found = {row.event_id: row.verdict for row in Taken(session, rows, recorded, {DAY}).verdicts}
    assert found == {f"e{number}": "conflict" if number else "duplicate" for number in range(len(changes))}


@pytest.mark.spark
def test_an_event_belongs_to_the_utc_day_of_its_time(session: SparkSession) -> None:
    """The last microsecond of a day, the first of the next, and one that is a day older in UTC."""
    moments = [
        datetime(2026, 11, 20, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2026, 11, 21, tzinfo=UTC),
        datetime.fromisoformat("2026-11-21T00:30:00+01:00").astimezone(UTC),
    ]
    found = Taken(session, [queue_event(event_id="e", event_time=moment) for moment in moments], [], {DAY})
    assert Counter(row.verdict for row in found.verdicts) == {"conflict": 2}
    assert [row.event_time.day for row in found.accepted] == [21]

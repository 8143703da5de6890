"""Which of several rows with one event_id stand."""

from datetime import date

import pytest
from pyspark.sql import functions as F

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
from schemas.events import EventContract
from schemas.table import optional, required
from tests.support.drawn import Draw
from tests.support.frames import assert_same
from tests.support.harness import same

THINGS = EventContract(
    source="things",
    columns=(
        required("event_id", "string", "unique per UTC day"),
        required("event_time", "timestamp", "time"),
        optional("message_id", "string", "content"),
        optional("size", "int", "content"),
    ),
    event_types=(),
    required_for={},
)
FRIDAY, SATURDAY = date(2026, 11, 20), date(2026, 11, 21)


NOTES = "event_time timestamp, size int, reasons string, mistyped string"
"""What rows have beside their content: all of them are events unless they have reasons."""


def test_few_bytes_of_a_row_find_its_repeats(draw: Draw) -> None:
    rows = draw.rows(NOTES)("""
        event_id | event_time | message_id                           | size | reasons       | mistyped
        once     | 12:00      | M1                                   | 1    | -             | -
        wrong    | 12:01      | m1                                   | 1    | missing_queue | -
        mistyped | 12:02      | M1                                   | -    | -             | size STRING
        no time  | -          | abcdef00-0000-4000-8000-00000000000a | 1    | missing_time  | -
    """)
    expected = draw("""
        event_time timestamp | is_event boolean | is_mistyped boolean | is_in_other_spelling boolean
        12:00                | true             | false               | false
        12:01                | false            | false               | false
        12:02                | true             | true                | false
        -                    | false            | false               | true
    """)
    assert_same(narrow_rows(rows, THINGS).drop("identity", "has_more_than_case"), expected)


BATCH = """
    event_id | event_time      | message_id | size
    once     | 12:00           | M          | 1
    twice    | 12:00           | M          | 1
    twice    | 23:59:59.999999 | M          | 1
    two days | 23:59:59.999999 | M          | 1
    two days | 11-21 00:00     | M          | 1
    known    | 12:30           | M          | 1
    tomorrow | 12:30           | M          | 1
"""
RECORDED = """
    event_id  | event_time  | message_id | size
    known     | 00:00       | X          | 9
    tomorrow  | 11-21 12:30 | M          | 1
    forgotten | 12:00       | M          | 1
"""


@pytest.mark.parametrize(
    ("full", "others", "known"),
    [
        pytest.param({FRIDAY, SATURDAY}, set(), ["known"], id="days with many events"),
        pytest.param(set(), {FRIDAY, SATURDAY}, ["known"], id="days with few"),
        pytest.param({FRIDAY}, {SATURDAY}, ["known"], id="both kinds of days"),
        pytest.param({SATURDAY}, set(), [], id="recorded events of other days are not looked at"),
    ],
)
def test_an_event_repeats_within_its_utc_day(
    draw: Draw, full: set[date], others: set[date], known: list[str]
) -> None:
    batch, recorded = draw.rows(NOTES)(BATCH), draw(RECORDED, NOTES)
    narrow = narrow_rows(batch, THINGS)
    hashes = find_repeated_hashes(narrow, recorded, full_days=full, other_days=others)
    near = select_near_suspects(batch, narrow, hashes)
    suspects = select_suspects(near, hashes).select("event_id", "event_date")
    day_of = [f"{name} | 2026-11-20" for name in ("twice", "twice", *known)]
    assert_same(suspects, draw("\n".join(["event_id | event_date date", *day_of])))
    before = select_with_hashes(recorded, hashes)
    assert before.columns == recorded.columns
    assert [row.event_id for row in before.collect()] == known
    # Beside the suspects stand the rows of their times, which are looked at no further.
    of_times = ["once", "twice", "twice", "two days"] + ["known", "tomorrow"] * bool(known)
    assert sorted(row.event_id for row in near.collect()) == sorted(of_times)


def test_rows_that_are_no_events_are_suspects_too(draw: Draw) -> None:
    batch = draw.rows(NOTES)("""
        event_id | event_time | message_id | size | reasons
        good     | 12:00      | M          | 1    | -
        beside   | 12:01      | M          | 1    | -
        bad      | 12:01      | M          | 1    | unknown_event_type
        no time  | -          | M          | 1    | missing_event_time
    """)
    narrow = narrow_rows(batch, THINGS)
    none = find_repeated_hashes(narrow, draw(RECORDED, NOTES), full_days={FRIDAY}, other_days=set())
    near = select_near_suspects(batch, narrow, none)
    assert_same(near, batch.where("event_id <> 'good'"))
    expected = batch.where("reasons is not null").withColumn("event_date", F.to_date("event_time"))
    assert_same(select_suspects(near, none), expected)


SUSPECTS = """
    event_id  | event_time      | message_id | size | reasons            | verdict
    alone     | 12:00           | M          | 1    | -                  | accepted
    twins     | 12:00           | M          | 1    | -                  | twin
    twins     | 12:00           | M          | 1    | -                  | twin
    differ    | 12:00           | M          | 1    | -                  | conflict
    differ    | 12:00           | M          | 2    | -                  | conflict
    moments   | 12:00           | M          | 1    | -                  | conflict
    moments   | 12:00:00.000001 | M          | 1    | -                  | conflict
    nulls     | 12:00           | M          | -    | -                  | conflict
    nulls     | 12:00           | -          | 1    | -                  | conflict
    repeated  | 12:00           | M          | 1    | -                  | duplicate
    repeated  | 12:00           | M          | 1    | -                  | duplicate
    corrected | 12:00           | M          | 1    | -                  | conflict
    one right | 12:00           | M          | 1    | -                  | conflict
    one right | 12:00           | M          | 2    | -                  | duplicate
    other day | 11-21 12:00     | M          | 1    | -                  | accepted
    twins     | 12:00           | M          | 1    | unknown_event_type | invalid
"""
KNOWN = """
    event_id  | event_time | message_id | size
    repeated  | 12:00      | M          | 1
    corrected | 12:00      | M          | 7
    one right | 12:00      | M          | 2
    other day | 12:00      | M          | 7
    not here  | 12:00      | M          | 1
"""


def test_what_was_recorded_stands_and_of_contradicting_rows_none(draw: Draw) -> None:
    """Of equal rows one is accepted, beside the others of the batch and those near suspects that are none."""
    expected = draw.rows(NOTES)(SUSPECTS)
    suspects = expected.drop("verdict")
    few = suspects.withColumn("event_date", F.to_date("event_time"))
    repeats = find_repeated(few.where("reasons is null"), draw(KNOWN, NOTES), THINGS)
    told = repeats.select("event_id", F.isnotnull("recorded_content").alias("was_recorded"), "conflicting")
    draw.require(told)("""
        event_id  | was_recorded boolean | conflicting boolean
        twins     | false                | false
        differ    | false                | true
        moments   | false                | true
        nulls     | false                | true
        repeated  | true                 | false
        corrected | true                 | false
        one right | true                 | true
    """)
    verdicts = decide_duplicates(few, repeats, THINGS)
    assert_same(verdicts.select(*expected.columns), expected)
    assert {*verdicts.columns} == {*THINGS.names, "reasons", "mistyped", "event_date", "verdict"}
    beside = draw.rows(NOTES)("""
        event_id  | event_time | message_id | size | reasons
        bystander | 12:00      | M          | 3    | -
        no time   | -          | M          | 1    | missing
    """)
    others = draw("event_id | event_time | message_id | size\n far off | 13:00 | M | 4", NOTES)
    near = suspects.unionByName(beside)
    rows = near.select(*others.columns).unionByName(others)
    expected = draw.columns(NOTES)("""
        event_id  | event_time  | message_id | size
        far off   | 13:00       | M          | 4
        bystander | 12:00       | M          | 3
        alone     | 12:00       | M          | 1
        twins     | 12:00       | M          | 1
        other day | 11-21 12:00 | M          | 1
    """)
    assert_same(select_accepted(rows, near, verdicts, THINGS, same), expected)

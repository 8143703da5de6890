"""Rows of a query as plain Python."""

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession, functions as F

from pipelines.engine.frames import small_frame
from pipelines.storage.collect import collect_first, collect_rows


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/St_Johns"])
def test_moments_are_in_utc_whatever_the_zone_of_the_machine(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    """Clocks in Berlin show 02:30 twice on 2026-10-25, and never on 2026-03-29."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        moments = [
            datetime(2026, 10, 25, 0, 30, tzinfo=UTC),
            datetime(2026, 10, 25, 1, 30, 0, 1, tzinfo=UTC),
            datetime(2026, 3, 29, 1, 0, tzinfo=UTC),
            datetime(1900, 1, 1, tzinfo=UTC),
            datetime(9998, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
            None,
        ]
        frame = small_frame(session, list(enumerate(moments)), "number int, moment timestamp")
        rows = collect_rows(frame.orderBy("number"))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert rows == [{"number": number, "moment": moment} for number, moment in enumerate(moments)]
    assert all(row["moment"].tzinfo is UTC for row in rows[:-1])


def test_counts_of_a_file_with_one_name_are_summed(session: SparkSession, tmp_path: Path) -> None:
    path = f"{tmp_path}/rows"
    small_frame(session, [("one",)], "name string").write.format("delta").save(path)
    counted = session.read.format("delta").load(path).groupBy("name").agg(F.count(F.lit(1)).alias("messages"))
    assert collect_first(counted, 1) == ([{"name": "one", "messages": 1}], {"rows": 1, "messages": 1})

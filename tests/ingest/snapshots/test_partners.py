"""Snapshots that do not count any more, as the one of the writable database has come."""

from pathlib import Path

import pytest
from pyspark.sql import functions as F

from pipelines.ingest.snapshots.partners import read_views_that_count, remove_replaced, without_replaced
from pipelines.server.snapshots.places import Places
from pipelines.storage.batches import read_completed_batches
from pipelines.storage.warehouse import Warehouse
from schemas.events import ENDPOINT_FACTS, MESSAGES
from schemas.outputs import BATCHES, SNAPSHOTS
from tests.support.drawn import Draw
from tests.support.frames import instant

PLACES = Places({("M1", "P"): ("AG", "P"), ("M2", "P"): ("AG", "P")})
REPLACED = [("M2", "P", instant(moment)) for moment in ("12:00", "12:15")]
VIEWS = """
    batch | instance | taken_at | view
    1     | M2       | 12:00    | dbo.Q
    1     | M2       | 12:00    | transmission_queue
    1     | M2       | 12:05    | dbo.Q
    1     | M2       | 12:10    | dbo.Q
    2     | M2       | 12:15    | dbo.Q
    3     | M1       | 12:00    | dbo.Q
    3     | M1       | 12:15    | dbo.Q
"""


@pytest.fixture
def warehouse(draw: Draw, tmp_path: Path) -> Warehouse:
    """With the views of two partners."""
    found = Warehouse(draw.session, str(tmp_path), PLACES)
    found.replace(SNAPSHOTS, draw.rows(SNAPSHOTS, database="P", complete=True)(VIEWS))
    return found


def test_a_row_begins_and_ends_with_a_snapshot_that_counts(draw: Draw, warehouse: Warehouse) -> None:
    """Of a partner's moments only its own are lost; a time that nothing gave follows the snapshot."""
    messages = draw.rows(MESSAGES, event_type="DELIVERED", instance="AG", database="P", own_database="P")(
        """
        message_id | own_instance | shown_queue | seen_at | shown_until | event_time
        alone      | M2           | Q           | 12:00   | -           | 11:30
        begins     | M2           | Q           | 12:00   | 12:10       | 11:30
        ends       | M2           | Q           | 12:05   | 12:15       | 11:30
        both       | M2           | Q           | 12:00   | 12:15       | 11:30
        of one     | M2           | Q           | 12:00   | 12:05       | 11:30
        between    | M2           | Q           | 12:05   | 12:10       | 11:30
        sent       | M2           | -           | 12:00   | -           | 11:30
        writable   | M1           | Q           | 12:00   | 12:15       | 11:30
        logged     | -            | -           | -       | -           | 12:00
        """
    )
    found = without_replaced(warehouse, MESSAGES, messages, REPLACED)
    assert found.columns == messages.columns
    draw.require(found, MESSAGES)(
        """
        message_id | own_instance | shown_queue | seen_at | shown_until | event_time
        begins     | M2           | Q           | 12:05   | 12:10       | 11:30
        ends       | M2           | Q           | 12:05   | 12:10       | 11:30
        both       | M2           | Q           | 12:05   | 12:10       | 11:30
        of one     | M2           | Q           | 12:05   | -           | 11:30
        between    | M2           | Q           | 12:05   | 12:10       | 11:30
        writable   | M1           | Q           | 12:00   | 12:15       | 11:30
        logged     | -            | -           | -       | -           | 12:00
        """
    )


def test_id_and_time_follow_the_snapshot(draw: Draw, warehouse: Warehouse) -> None:
    micros = {moment: int(instant(moment).timestamp() * 1_000_000) for moment in ("12:00", "12:05")}
    row = draw.rows(MESSAGES, event_type="SENT", instance="AG", database="P", own_database="P")(
        f"""
        event_id                                | own_instance | shown_queue | seen_at | shown_until
        snapshot/{micros["12:00"]}/AG/P/dbo.Q/h | M2           | Q           | 12:00   | 12:05
        """
    ).withColumn("event_time", F.timestamp_micros(F.unix_micros("seen_at") - F.lit(1)))
    [found] = without_replaced(warehouse, MESSAGES, row, REPLACED).collect()
    assert found["event_id"] == f"snapshot/{micros['12:05']}/AG/P/dbo.Q/h"
    assert int(found["event_time"].timestamp() * 1_000_000) == micros["12:05"] - 1


def test_rows_of_other_tables(draw: Draw, warehouse: Warehouse) -> None:
    """What an alias replaced says of which server a row is; a logged row is of no snapshot."""
    given = draw.rows(
        ENDPOINT_FACTS, event_type="BEGIN_DIALOG", instance="AG", database="P", own_database="P"
    )
    rows = given(
        """
        event_id  | own_instance | seen_at
        replaced  | M2           | 12:00
        writable  | M1           | 12:00
        later     | M2           | 12:05
        logged    | M2           | -
        """
    )
    found = without_replaced(warehouse, ENDPOINT_FACTS, rows, REPLACED)
    assert sorted(row["event_id"] for row in found.collect()) == ["later", "logged", "writable"]


def test_no_batch_names_newer_data_than_what_is_left(draw: Draw, warehouse: Warehouse) -> None:
    """The newest snapshot is replaced; of the batches that others wrote nothing changes."""
    batches = draw.rows(BATCHES, events=1, accepted=1, duplicates=0, rejected=0, bindings="b")
    warehouse.replace(
        BATCHES,
        batches(
            """
            batch | source    | newest_data
            1     | snapshots | 12:10
            2     | messages  | 12:20
            2     | snapshots | 12:15
            3     | snapshots | 12:00
            """
        ),
    )
    of_now = "batch | instance | taken_at | view\n 1 | M2 | 12:10 | dbo.Q\n 2 | M2 | 12:15 | dbo.Q"
    warehouse.replace(SNAPSHOTS, draw.rows(SNAPSHOTS, database="P", complete=True)(of_now))
    remove_replaced(warehouse, REPLACED)
    draw.require(warehouse.read(BATCHES), BATCHES)(
        """
        batch | source    | newest_data
        1     | snapshots | 12:10
        2     | messages  | 12:20
        2     | snapshots | 12:10
        3     | snapshots | 12:00
        """
    )
    assert read_completed_batches(warehouse).newest_snapshot == instant("12:10")


def test_views_that_count(draw: Draw, warehouse: Warehouse) -> None:
    """The same while a batch runs, and from the tables afterwards."""
    counting = """
        batch | instance | taken_at | view
        1     | AG       | 12:05    | dbo.Q
        1     | AG       | 12:10    | dbo.Q
        3     | AG       | 12:00    | dbo.Q
        3     | AG       | 12:15    | dbo.Q
    """
    draw.require(read_views_that_count(warehouse, REPLACED), SNAPSHOTS)(counting)
    remove_replaced(warehouse, REPLACED)
    draw.require(warehouse.read(SNAPSHOTS), SNAPSHOTS)(counting)
    draw.require(warehouse.read_with_own_names(SNAPSHOTS), SNAPSHOTS)(
        """
        batch | instance | taken_at | view
        1     | M2       | 12:05    | dbo.Q
        1     | M2       | 12:10    | dbo.Q
        3     | M1       | 12:00    | dbo.Q
        3     | M1       | 12:15    | dbo.Q
        """
    )

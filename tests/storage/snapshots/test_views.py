"""Views of a snapshot: which one a row is of, whatever the files are called and however they are written."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pipelines.config.model import Snapshot
from pipelines.server.snapshots.files import find_view_files
from pipelines.storage.snapshots.views import read_views
from tests.support.server import write_csv, write_views
from tests.support.snapshot_views import ready

MOMENT = "2026-11-20T12:00:00Z"
PLAIN = ("dbo.OrderQueue", "dbo.two.dots", "sales.OrderQueue")
ODD = ("dbo.with blank", "dbo.50%25", "dbo.100%", "dbo.a+b#c", "dbo.[q]{1}", "dbo.Übergabe", "dbo.what?")


def orders_by_view(session: SparkSession, folder: Path, format: str) -> set[tuple[str, int]]:
    snapshot = Snapshot(path=str(folder), instance="SQL1", database="B", taken_at=MOMENT, format=format)
    found = find_view_files(snapshot)
    assert found.problems == ()
    rows = read_views(session, list(found.files.values())).where("reasons is null").collect()
    return {(row["view"], row["queuing_order"]) for row in rows}


@pytest.mark.parametrize("format", ["csv", "parquet", "delta"])
def test_a_row_is_of_the_view_that_its_file_is_named_after(
    session: SparkSession, tmp_path: Path, format: str
) -> None:
    names = PLAIN if format == "delta" else PLAIN + ODD
    queues = {name: [ready(1, False, 0, queuing_order=number)] for number, name in enumerate(names)}
    write_views(tmp_path / "snap", queues, format)
    expected = {(name, number) for number, name in enumerate(names)}
    assert orders_by_view(session, tmp_path / "snap", format) == expected


def test_files_of_several_shapes_are_read_side_by_side(session: SparkSession, tmp_path: Path) -> None:
    """A folder of Parquet files, a column as text, and a column that is spelt and placed otherwise."""
    folder = tmp_path / "snap"
    write_views(folder, {"dbo.A": [ready(1, False, 0, queuing_order=1)]}, "parquet")
    plain = pq.read_table(folder / "dbo.A.parquet")
    place = plain.schema.get_field_index("queuing_order")

    def with_order(number: int, type: pa.DataType, name: str = "queuing_order") -> pa.Table:
        return plain.set_column(place, name, pa.array([number]).cast(type))

    shuffled = with_order(3, pa.int32(), "QUEUING_ORDER")
    (folder / "dbo.D.parquet").mkdir()
    for name, table in {
        "dbo.B.parquet": with_order(2, pa.string()),
        "dbo.C.parquet": shuffled.select(shuffled.column_names[::-1]),
        "dbo.D.parquet/4.parquet": with_order(4, pa.int64()),
        "dbo.D.parquet/5.parquet": with_order(5, pa.int64()),
    }.items():
        pq.write_table(table, folder / name)
    expected = {("dbo.A", 1), ("dbo.B", 2), ("dbo.C", 3), ("dbo.D", 4), ("dbo.D", 5)}
    assert orders_by_view(session, folder, "parquet") == expected


def test_csv_files_of_several_headers_are_read_side_by_side(session: SparkSession, tmp_path: Path) -> None:
    """One has its columns in another order, one is cut in its last line."""
    row = ready(1, False, 0)
    write_csv(tmp_path / "dbo.A.csv", [{**row, "queuing_order": 1}])
    write_csv(tmp_path / "dbo.B.csv", [dict(reversed({**row, "queuing_order": 2}.items()))])
    write_csv(tmp_path / "dbo.C.csv", [{**row, "queuing_order": number} for number in (3, 4)])
    cut = (tmp_path / "dbo.C.csv").read_bytes().rstrip(b"\r\n")
    (tmp_path / "dbo.C.csv").write_bytes(cut)
    assert orders_by_view(session, tmp_path, "csv") == {("dbo.A", 1), ("dbo.B", 2), ("dbo.C", 3)}


@pytest.mark.slow
def test_hundreds_of_queues_are_read(session: SparkSession, tmp_path: Path) -> None:
    """A chain of so many unions would end the embedded engine."""
    queues = {f"dbo.Q{number}": [ready(1, False, 0, queuing_order=number)] for number in range(400)}
    write_views(tmp_path / "snap", queues, "csv")
    found = orders_by_view(session, tmp_path / "snap", "csv")
    assert found == {(f"dbo.Q{number}", number) for number in range(400)}


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_times_beyond_the_ends_are_not_readable(session: SparkSession, tmp_path: Path, format: str) -> None:
    """Not every machine can show them."""
    years = [1000, 1899, 1900, 9998, 9999]
    rows = [
        ready(1, False, 0, queuing_order=year, message_enqueue_time=datetime(year, 1, 1, tzinfo=UTC))
        for year in years
    ]
    write_views(tmp_path / "snap", {"dbo.A": rows}, format)
    assert orders_by_view(session, tmp_path / "snap", format) == {("dbo.A", 1900), ("dbo.A", 9998)}

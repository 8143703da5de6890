"""Two sets of tables are equal if every row and every compared column is."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from benchmarks.equality import COMPARED, OF_AS_OF, UnequalError, require_equal
from schemas.reading import as_of_key

AS_OF = datetime(2026, 11, 21, tzinfo=UTC)


def table(name: str, rows: int = 2) -> pa.Table:
    return pa.table({column: [f"{column} {row}" for row in range(rows)] for column in COMPARED[name]})


def write(folder: Path, name: str, ours: pa.Table, theirs: pa.Table) -> None:
    partitions = None
    if name in OF_AS_OF:
        ours = ours.append_column("as_of_key", pa.array([as_of_key(AS_OF)] * len(ours)))
        partitions = ["as_of_key"]
    write_deltalake(folder / "warehouse" / name, ours, partition_by=partitions)
    pq.write_table(theirs, folder / "peer" / f"{name}.parquet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "peer").mkdir()
    for name in COMPARED:
        if name != "endpoints":
            write(tmp_path, name, table(name), table(name))
    return tmp_path


def check(folder: Path) -> dict[str, int]:
    return require_equal(folder / "warehouse", folder / "peer", AS_OF)


def test_equal_tables_in_any_order(folder: Path) -> None:
    rows = table("endpoints", 3)
    write(folder, "endpoints", rows, rows.take([2, 0, 1]))
    assert check(folder) == dict.fromkeys(COMPARED, 2) | {"endpoints": 3}


def test_one_other_value(folder: Path) -> None:
    rows = table("endpoints")
    changed = rows.set_column(1, rows.column_names[1], pa.array(["other", rows[1][1].as_py()]))
    write(folder, "endpoints", rows, changed)
    with pytest.raises(UnequalError, match=r"only the pipeline has 1 rows(.|\n)*only the peer has 1 rows"):
        check(folder)


def test_a_row_that_stands_twice(folder: Path) -> None:
    rows = table("endpoints")
    write(folder, "endpoints", pa.concat_tables([rows, rows.slice(0, 1)]), rows)
    with pytest.raises(UnequalError, match="only the pipeline has 1 rows"):
        check(folder)


def test_a_missing_table(folder: Path) -> None:
    pq.write_table(table("endpoints"), folder / "peer" / "endpoints.parquet")
    with pytest.raises(UnequalError, match="endpoints: missing"):
        check(folder)


def test_rows_of_another_as_of_do_not_count(folder: Path) -> None:
    write(folder, "endpoints", table("endpoints"), table("endpoints"))
    other = datetime(2026, 11, 21, 6, tzinfo=UTC)
    rows = table("unresolved", 5).append_column("as_of_key", pa.array([as_of_key(other)] * 5))
    write_deltalake(folder / "warehouse" / "unresolved", rows, mode="append", partition_by=["as_of_key"])
    assert check(folder)["unresolved"] == 2


def test_tables_in_parts(folder: Path) -> None:
    rows = table("endpoints", 40)
    write(folder, "endpoints", rows, rows.take(list(reversed(range(40)))))
    assert require_equal(folder / "warehouse", folder / "peer", AS_OF, at_once=7)["endpoints"] == 40
    pq.write_table(rows.slice(5), folder / "peer" / "endpoints.parquet")
    with pytest.raises(UnequalError, match="only the pipeline has 5 rows"):
        require_equal(folder / "warehouse", folder / "peer", AS_OF, at_once=7)

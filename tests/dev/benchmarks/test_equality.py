"""Two sets of tables are equal if every row and every compared column is."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from dev.benchmarks.equality import COMPARED, OF_AS_OF, UnequalError, require_equal
from schemas.reading import as_of_key

AS_OF = datetime(2026, 11, 21, tzinfo=UTC)


def table(name: str, rows: int = 2) -> pa.Table:
    return pa.table({column: [f"{column} {row}" for row in range(rows)] for column in COMPARED[name]})


def write(folder: Path, name: str, ours: pa.Table | None, theirs: pa.Table) -> None:
    if ours is not None and name in OF_AS_OF:
        ours = ours.append_column("as_of_key", pa.array([as_of_key(AS_OF)] * len(ours)))
    if ours is not None:
        partitions = ["as_of_key"] if name in OF_AS_OF else None
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


def test_equal_tables_in_any_order_and_rows_of_another_as_of(folder: Path) -> None:
    rows = table("endpoints", 3)
    write(folder, "endpoints", rows, rows.take([2, 0, 1]))
    other = as_of_key(datetime(2026, 11, 21, 6, tzinfo=UTC))
    more = table("unresolved", 5).append_column("as_of_key", pa.array([other] * 5))
    write_deltalake(folder / "warehouse" / "unresolved", more, mode="append", partition_by=["as_of_key"])
    assert check(folder) == dict.fromkeys(COMPARED, 2) | {"endpoints": 3}


ROWS = table("endpoints")
OTHER_VALUE = ROWS.set_column(1, ROWS.column_names[1], pa.array(["other", ROWS[1][1].as_py()]))


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        (ROWS, OTHER_VALUE, r"only the pipeline has 1 rows(.|\n)*only the peer has 1 rows"),
        (pa.concat_tables([ROWS, ROWS.slice(0, 1)]), ROWS, "only the pipeline has 1 rows"),
        (None, ROWS, "endpoints: missing"),
    ],
    ids=["another value", "a row twice", "no table"],
)
def test_tables_that_differ(folder: Path, ours: pa.Table | None, theirs: pa.Table, said: str) -> None:
    write(folder, "endpoints", ours, theirs)
    with pytest.raises(UnequalError, match=said):
        check(folder)


def test_tables_in_parts(folder: Path) -> None:
    rows = table("endpoints", 40)
    write(folder, "endpoints", rows, rows.take(list(reversed(range(40)))))
    assert require_equal(folder / "warehouse", folder / "peer", AS_OF, at_once=7)["endpoints"] == 40
    pq.write_table(rows.slice(5), folder / "peer" / "endpoints.parquet")
    with pytest.raises(UnequalError, match="only the pipeline has 5 rows"):
        require_equal(folder / "warehouse", folder / "peer", AS_OF, at_once=7)

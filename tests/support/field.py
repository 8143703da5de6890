"""What several modules of tests/field use."""

from pathlib import Path

import pyarrow.csv as pc
import pyarrow.parquet as pq
from deltalake import write_deltalake

from tests.field.running import Case, Row, table_of

CLEAN = "field-12-idle-server-crash"


TABLES = (
    "message_events",
    "endpoint_events",
    "queue_events",
    "endpoints",
    "receive_schedule",
    "transmission_schedule",
    "unresolved",
    "rejected_events",
)


def tables(case: Case, warehouse: str = "warehouse") -> dict[str, list[str]]:
    """All that a night made of a snapshot, without the moments of the run itself."""

    def comparable(row: Row) -> str:
        return repr(
            sorted((name, value) for name, value in row.items() if name not in ("run_id", "first_seen"))
        )

    root = case.folder / warehouse
    return {name: sorted(map(comparable, table_of(root, name))) for name in TABLES if (root / name).exists()}


def convert(path: Path, format: str) -> None:
    """Write a CSV file as another format, with texts only."""
    header = path.read_text(encoding="utf-8-sig").splitlines()[0].split(",")
    types = pc.ConvertOptions(column_types=dict.fromkeys(header, "string"), strings_can_be_null=True)
    table = pc.read_csv(path, convert_options=types)
    path.unlink()
    if format == "delta":
        write_deltalake(str(path.with_suffix(".delta")), table)
    else:
        pq.write_table(table, path.with_suffix(".parquet"))

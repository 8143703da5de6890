"""The floor: an engine reads the same inputs and writes the same tables, and does nothing in between.

./spark-submit.sh benchmarks/floor.py --config SETTINGS --finished WAREHOUSE --out FOLDER
.venv/bin/python -m benchmarks.floor --config SETTINGS --finished WAREHOUSE --out FOLDER

Inputs become the tables of accepted events, row by row and unchecked. Every other table of a finished
warehouse is read and written again, with its partitions. All as Delta.
"""

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, functions as F

from config.load import Settings, load_settings
from engine.session import open_session
from jobs.launch import Parser, launch
from schemas import ACCEPTED, CONTRACTS, TABLES
from schemas.table import Table


def run(spark: SparkSession, settings: Settings, finished: Path, out: Path) -> None:
    """Copy the inputs to the tables of accepted events, and the other tables of a finished warehouse.

    Args:
        spark: the session.
        settings: where the inputs are, in Parquet.
        finished: the warehouse of a run on the same inputs.
        out: the folder to write the tables to; none of them is there yet.
    """
    for source, place in settings.inputs.by_name().items():
        rows = spark.read.parquet(place.path).select(*CONTRACTS[source].names)
        _write(_as_accepted(rows, ACCEPTED[source]), ACCEPTED[source], out)
    for name, table in TABLES.items():
        if name not in ACCEPTED and (finished / name).exists():
            _write(spark.read.format("delta").load(str(finished / name)), table, out)


def _as_accepted(rows: DataFrame, table: Table) -> DataFrame:
    """The rows with constants where the table has more columns."""
    more = {column.name: column.type for column in table.columns if column.name not in rows.columns}
    constants = {
        name: F.to_date(F.lit("2026-11-20")) if type == "date" else F.lit(1).cast(type)
        for name, type in more.items()
    }
    return rows.withColumns(constants).select(*table.names)


def _write(rows: DataFrame, table: Table, out: Path) -> None:
    rows.write.format("delta").partitionBy(*table.partition_by).save(str(out / table.name))


def main(argv: Sequence[str]) -> int:
    """Parse the command line and run."""
    parser = Parser("Read the inputs and write the tables of a finished warehouse again.")
    parser.add_argument("--finished", required=True, type=Path, help="warehouse of a finished run")
    parser.add_argument("--out", required=True, type=Path, help="folder to write to")
    options = parser.parse_args(argv)
    settings = load_settings(options.config)
    run(open_session("floor", settings.warehouse), settings, options.finished, options.out)
    return 0


if __name__ == "__main__":
    launch(main)

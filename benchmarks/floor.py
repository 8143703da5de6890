"""The floor: an engine reads the same inputs and writes the same tables, and does nothing in between.

./spark-submit.sh benchmarks/floor.py --config SETTINGS --finished WAREHOUSE
.venv/bin/python -m benchmarks.floor --config SETTINGS --finished WAREHOUSE

Inputs become the tables of accepted events, row by row, but for rows that lack what a table requires. Every
other table of a finished warehouse is read and written again. They come into the warehouse of the settings,
and are of the same make: with their partitions, NOT NULLs, CHECKs and statistics.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame, functions as F

from pipelines.commands.launch import launch
from pipelines.commands.open import opened
from pipelines.commands.options import Parser
from pipelines.config.load import Settings
from pipelines.engine.small_jobs import set_for_small_jobs
from pipelines.storage.batches import read_completed_batches
from pipelines.storage.warehouse import Warehouse
from schemas import ACCEPTED, CONTRACTS, TABLES
from schemas.table import Table


def run(settings: Settings, finished: Warehouse, out: Warehouse) -> None:
    """Copy the inputs to the tables of accepted events, and the other tables of a finished warehouse.

    Args:
        settings: where the inputs are, in Parquet.
        finished: the warehouse of a run on the same inputs.
        out: the warehouse to write to; none of its tables is there yet.
    """
    # As a night of this size does.
    if read_completed_batches(finished).is_small:
        set_for_small_jobs(out.spark)
    for source, place in settings.inputs.by_name().items():
        rows = out.spark.read.parquet(place.path).select(*CONTRACTS[source].names)
        out.append(ACCEPTED[source], _as_accepted(rows, ACCEPTED[source]))
    for name, table in TABLES.items():
        if name not in ACCEPTED and finished.exists(table):
            out.append(table, finished.read(table))


def _as_accepted(rows: DataFrame, table: Table) -> DataFrame:
    """The rows with constants where the table has more columns."""
    more = {column.name: column.type for column in table.columns if column.name not in rows.columns}
    constants = {
        name: F.to_date(F.lit("2026-11-20")) if type == "date" else F.lit(1).cast(type)
        for name, type in more.items()
    }
    needed = [column.name for column in table.columns if not column.nullable]
    return rows.withColumns(constants).select(*table.names).dropna(subset=needed)


def main(argv: Sequence[str]) -> int:
    """Parse the command line and run."""
    parser = Parser("floor", "Read the inputs and write the tables of a finished warehouse again.")
    parser.add_argument("--finished", required=True, help="warehouse of a finished run")
    options = parser.parse_args(argv)
    settings, out = opened(options, "floor")
    run(settings, Warehouse(out.spark, options.finished), out)
    return 0


if __name__ == "__main__":
    launch(main)

"""The floor: Spark reads the same inputs and writes the same tables, and does nothing in between.

./spark-submit.sh benchmarks/floor.py --config SETTINGS --finished WAREHOUSE --out FOLDER

Inputs become the tables of accepted events, row by row and unchecked. Every other table of a finished
warehouse is read and written again, with its partitions. All as Delta. Its files are few and sorted by
nothing.
"""

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, functions as F

from jobs.launch import Parser, launch, session
from pipelines.settings.load import Settings, load_settings
from schemas import ACCEPTED, CONTRACTS
from schemas.table import Table


def run(spark: SparkSession, settings: Settings, finished: Path, out: Path) -> None:
    """Copy the inputs to `accepted_*` tables, and the other tables of a finished warehouse.

    Args:
        spark: the session.
        settings: where the inputs are, in Parquet.
        finished: the warehouse of a run on the same inputs.
        out: the folder to write the tables to; none of them is there yet.
    """
    accepted = {table.name for table in ACCEPTED.values()}
    for source, place in settings.inputs.by_name().items():
        rows = spark.read.parquet(place.path).select(*CONTRACTS[source].names)
        if (finished / ACCEPTED[source].name).exists():
            _as_accepted(rows, ACCEPTED[source], out)
        else:
            rows.write.format("noop").mode("overwrite").save()
    for folder in sorted(path.parent for path in finished.glob("*/_delta_log")):
        if folder.name in accepted:
            continue
        rows = spark.read.format("delta").load(str(folder))
        partitions = spark.sql(f"DESCRIBE DETAIL delta.`{folder}`").select("partitionColumns").first()
        assert partitions is not None
        rows.write.format("delta").partitionBy(*partitions[0]).save(str(out / folder.name))


def _as_accepted(rows: DataFrame, table: Table, out: Path) -> None:
    """Write the rows of an input as a table of accepted events, with constants where it has more columns."""
    more = {column.name: column.type for column in table.columns if column.name not in rows.columns}
    constants = {
        name: F.to_date("event_time") if type == "date" else F.lit(0).cast(type)
        for name, type in more.items()
    }
    laid_out = rows.withColumns(constants).select(*table.names)
    laid_out.write.format("delta").partitionBy(*table.partition_by).save(str(out / table.name))


def main(argv: Sequence[str]) -> int:
    """Parse the command line and run."""
    parser = Parser("Read the inputs and write the tables of a finished warehouse again.")
    parser.add_argument("--config", required=True, help="settings file")
    parser.add_argument("--finished", required=True, type=Path, help="warehouse of a finished run")
    parser.add_argument("--out", required=True, type=Path, help="folder to write to")
    options = parser.parse_args(argv)
    run(session("floor", None), load_settings(options.config), options.finished, options.out)
    return 0


if __name__ == "__main__":
    launch(main)

"""Check that the sums of an as_of add up, and publish it with a row in `runs`.

./spark-submit.sh jobs/publish.py --config conf/local.yaml --as-of 2026-11-21T00:00:00Z
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession, functions as F

from jobs import schedules
from jobs.ingest import require_good_input
from jobs.launch import Parser, instant, launch, session
from pipelines.publish.reconcile import reconcile
from pipelines.settings.load import Settings, load_settings
from pipelines.version import code_version
from schemas import TABLES
from schemas.outputs import INGEST_BATCHES, RUNS
from storage.small_frame import small_frame
from storage.warehouse import Warehouse

COUNTED = (
    "group_priorities",
    "receive_schedule",
    "transmission_schedule",
    "unresolved",
    "activation",
    "activation_summary",
)


KINDS = ("receive", "transmission")
"""The kinds of `unresolved`."""


@dataclass(frozen=True)
class Run:
    """One run: what the row in `runs` will say of it."""

    run_id: str
    as_of: datetime
    started_at: datetime

    @classmethod
    def begin(cls, as_of: datetime) -> "Run":
        """Start a run now."""
        return cls(str(uuid4()), as_of, datetime.now(UTC))


def run(
    spark: SparkSession, settings: Settings, this_run: Run, open_messages: Mapping[str, int]
) -> dict[str, int]:
    """Check the sums, then write the run's row: the last write, which tells readers that all is there.

    Args:
        spark: the session.
        settings: where the warehouse is.
        this_run: the run to publish.
        open_messages: the open messages as `schedules.count_open` counted them.

    Returns:
        The reconciliation: what was added up.

    Raises:
        InputError: too much was rejected; nothing is published.
        ReconciliationError: the sums do not add up; nothing is published.
    """
    warehouse = Warehouse(spark, settings.warehouse)
    require_good_input(warehouse, settings)
    counts = _row_counts(warehouse, this_run.as_of)
    ingested = (
        warehouse.read(INGEST_BATCHES)
        .agg(
            *[
                F.coalesce(F.sum(name), F.lit(0)).alias(name)
                for name in ("events", "accepted", "duplicates", "rejected")
            ],
            F.max("ingest_batch").alias("last_ingest_batch"),
        )
        .first()
    )
    assert ingested is not None
    events = {name: value for name, value in ingested.asDict().items() if name != "last_ingest_batch"}
    sums = reconcile(events, open_messages, counts)
    write_row(spark, settings, this_run, "succeeded", counts, sums, ingested.last_ingest_batch)
    return sums


def write_row(
    spark: SparkSession,
    settings: Settings,
    this_run: Run,
    status: str,
    counts: Mapping[str, int],
    sums: Mapping[str, int],
    last_ingest_batch: int | None,
    error: str | None = None,
) -> None:
    """Write the run's row in `runs`."""
    row = (
        this_run.run_id,
        this_run.as_of,
        this_run.started_at,
        datetime.now(UTC),
        status,
        code_version(),
        settings.describe(),
        dict(counts),
        dict(sums),
        last_ingest_batch,
        error,
    )
    Warehouse(spark, settings.warehouse).replace(
        RUNS, small_frame(spark, [row], RUNS.struct), where=f"run_id = '{this_run.run_id}'"
    )


def _row_counts(warehouse: Warehouse, as_of: datetime) -> dict[str, int]:
    """Rows of this as_of in each table, as a reader would count them now."""
    rows = {name: warehouse.read(TABLES[name]).where(F.col("as_of") == F.lit(as_of)) for name in COUNTED}
    counted = dict.fromkeys(COUNTED, F.lit(None).cast("string"))
    counted |= {"unresolved": F.col("kind"), "transmission_schedule": F.col("forwarded").cast("string")}
    # One query for all of them: a small night is bookkeeping for the most part.
    found = reduce(
        DataFrame.unionByName,
        [
            rows[name]
            .groupBy(F.lit(name).alias("table"), part.alias("part"))
            .agg(F.count(F.lit(1)).alias("rows"))
            for name, part in counted.items()
        ],
    )
    parts = {(row.table, row.part): row.rows for row in found.collect()}
    counts = {name: sum(n for (table, _), n in parts.items() if table == name) for name in COUNTED}
    del counts["unresolved"]
    counts |= {f"unresolved_{kind}": parts.get(("unresolved", kind), 0) for kind in KINDS}
    return counts | {"transmission_schedule_forwarded": parts.get(("transmission_schedule", "true"), 0)}


def main(argv: Sequence[str]) -> int:
    """Parse the command line and run."""
    parser = Parser("Check that the sums of an as_of add up, and publish it.")
    parser.add_argument("--config", required=True, help="settings file, e.g. conf/local.yaml")
    parser.add_argument(
        "--as-of", required=True, type=instant, help="the instant to publish, e.g. 2026-11-21T00:00:00Z"
    )
    options = parser.parse_args(argv)
    settings = load_settings(options.config)
    spark = session("publish", settings.warehouse)
    counted = schedules.count_open(schedules.open_messages(spark, settings, options.as_of))
    run(spark, settings, Run.begin(options.as_of), counted)
    return 0


if __name__ == "__main__":
    launch(main)

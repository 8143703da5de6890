"""Which as_of readers may rely on."""

from datetime import datetime

from pyspark.sql import functions as F

from pipelines.collected import collected
from pipelines.errors import PipelineError
from pipelines.settings.instants import format_instant
from pipelines.settings.load import Settings
from schemas.outputs import RUNS
from storage.warehouse import Warehouse

AS_OFS_SHOWN = 5


def published_as_of(warehouse: Warehouse, settings: Settings, as_of: datetime | None) -> datetime:
    """Find an as_of that was published: the one asked for, or that of the latest run.

    Raises:
        PipelineError: nothing was published, or not this as_of.
    """
    runs = warehouse.read(RUNS).where("status = 'succeeded'")
    latest = runs.groupBy("as_of").agg(F.max("started_at").alias("started_at"))
    if as_of is None:
        found = collected(latest.orderBy(F.desc("started_at"), F.desc("as_of")).limit(1))
        if not found:
            raise PipelineError(
                f"{settings.warehouse}: no run was published yet; "
                f"run jobs/nightly.py --config {settings.path} first"
            )
        published: datetime = found[0]["as_of"]
        return published
    if latest.where(F.col("as_of") == F.lit(as_of)).isEmpty():
        known = collected(latest.orderBy(F.desc("as_of")).limit(AS_OFS_SHOWN))
        there = ", ".join(format_instant(row["as_of"]) for row in known) or "none yet"
        raise PipelineError(
            f"--as-of {format_instant(as_of)} was not published; the latest are: {there}; take one of these, "
            f"or run jobs/nightly.py --config {settings.path} for it first"
        )
    return as_of

"""Read what is new in the inputs, reject what is no event, and record the rest.

./spark-submit.sh jobs/ingest.py --config conf/local.yaml
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import reduce
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession, functions as F

from jobs.launch import Parser, launch, session
from jobs.together import together
from pipelines.ingest.duplicates import (
    EVENT,
    accepted,
    hashed_twice,
    repeated,
    set_apart,
    suspects,
    with_hash_in,
    with_identity,
)
from pipelines.ingest.quality import require_quality
from pipelines.ingest.reasons import CONFLICTING_DUPLICATE, with_reasons
from pipelines.settings.load import Settings, load_settings
from schemas import ACCEPTED, CONTRACTS
from schemas.outputs import INGEST_BATCHES, REJECTED_EVENTS, RUNS
from storage.event_files import contract_problems, raise_together
from storage.new_events import each_new_batch
from storage.small_frame import small_frame
from storage.warehouse import Warehouse

TEXT_FORMATS = ("json", "csv")
SUMS = ("events", "accepted", "duplicates", "rejected")


def run(spark: SparkSession, settings: Settings, *, run_id: str, started_at: datetime) -> str:
    """Take in everything that is new, as one ingest batch; nothing happens where nothing is new.

    The row of `ingest_batches` comes last: a batch without it is done again from the same files,
    and replaces what the broken-off attempt left.

    Args:
        spark: the session.
        settings: where the inputs and the warehouse are.
        run_id: the run that rejected rows are reported by.
        started_at: its start, for `rejected_events.first_seen`.

    Returns:
        What came in, in words.

    Raises:
        InputError: an input is missing, unreadable or breaks its contract, or too much of what was not
            published yet was rejected. The latter stays so until more good rows come or more is allowed.
    """
    warehouse = Warehouse(spark, settings.warehouse)
    taken_in = Counter[str]()

    def take_in(rows_by_source: Mapping[str, DataFrame]) -> None:
        batch = _next_batch(warehouse)
        inputs = settings.inputs.by_name()
        sources = [
            _Source(warehouse, name, batch, rows, is_text=inputs[name].format in TEXT_FORMATS)
            for name, rows in rows_by_source.items()
        ]
        try:
            together(spark, *[source.look for source in sources])
            raise_together(source.problems for source in sources)
            record(batch, sources)
        finally:
            for source in sources:
                source.forget()

    def record(batch: int, sources: Sequence[_Source]) -> None:
        counts = together(spark, *[source.record for source in sources])
        if any(count["rejected"] for count in counts):
            rejected = [source.rejected for source in sources]
            found = reduce(DataFrame.unionByName, [rows for rows in rejected if rows is not None])
            report = found.withColumns({"run_id": F.lit(run_id), "first_seen": F.lit(started_at)})
            warehouse.insert_new(REJECTED_EVENTS, report.dropDuplicates(list(REJECTED_EVENTS.key)))
        totals = [[count[name] for name in INGEST_BATCHES.names] for count in counts]
        warehouse.replace(
            INGEST_BATCHES,
            small_frame(spark, totals, INGEST_BATCHES.struct),
            where=f"ingest_batch = {batch}",
        )
        for count in counts:
            taken_in.update({name: count[name] for name in SUMS})

    each_new_batch(spark, settings.inputs.by_name(), warehouse.checkpoints, take_in)
    require_good_input(warehouse, settings)
    return ", ".join(f"{taken_in[name]:,} {name}" for name in SUMS)


class _Source:
    """One input's part of a batch."""

    def __init__(
        self, warehouse: Warehouse, source: str, batch: int, rows: DataFrame, *, is_text: bool
    ) -> None:
        self._warehouse, self._source, self._batch = warehouse, source, batch
        self._contract, self._table = CONTRACTS[source], ACCEPTED[source]
        self._rows = with_reasons(with_identity(rows, self._contract), self._contract)
        self._kept: list[DataFrame] = []
        # Text is parsed once. Typed files are read again faster than they are kept.
        if is_text:
            self._keep(self._rows)
        self._repeats: DataFrame | None = None
        self._apart: DataFrame | None = None

    def look(self) -> None:
        """Count what came in, and say what breaks the contract. Of typed files this reads one column."""
        totals = self._rows.agg(
            F.count(F.lit(1)).alias("events"),
            F.collect_set("event_date").alias("days"),
            F.flatten(F.collect_set("mistyped")).alias("mistyped"),
        ).first()
        assert totals is not None
        self._totals = totals
        self.problems = contract_problems(self._contract, sorted(set(totals.mistyped)))

    @property
    def _events(self) -> DataFrame:
        return self._rows.where(F.size("reasons") == 0)

    def record(self) -> dict[str, object]:
        """Write the accepted events and say how the rows of the input add up."""
        rows, events = defaultdict[str, int](int), defaultdict[str, int](int)
        self._look_closer()
        # The few rows that are set apart are all that is looked at again.
        if self._apart is not None:
            counted = self._apart.groupBy("verdict").agg(
                F.count(F.lit(1)).alias("rows"), F.count_distinct(*EVENT).alias("events")
            )
            for row in counted.collect():
                rows[row.verdict], events[row.verdict] = row.rows, row.events
        new = self._events
        if self._repeats is not None and self._apart is not None:
            new = accepted(new, self._repeats, self._apart)
        new = new.withColumn("ingest_batch", F.lit(self._batch).cast("bigint"))
        own = f"ingest_batch = {self._batch}"
        self._warehouse.replace(self._table, new.select(*self._table.names), where=own)
        # Delta makes no commit where there is nothing to write, so the last one may be of another batch.
        recorded = self._warehouse.read(self._table).where(own).count()
        return {
            "ingest_batch": self._batch,
            "source": self._source,
            "events": self._totals.events,
            "accepted": recorded,
            "duplicates": rows["duplicate"] + rows["twin"] - events["twin"],
            "rejected": rows["invalid"] + rows["conflict"],
            "first_event_date": min(self._totals.days) if recorded else None,
        }

    def _look_closer(self) -> None:
        """Set apart what is no event or came twice; most batches have next to none of it."""
        recorded = self._warehouse.read_pinned(self._table).where(
            (F.col("ingest_batch") != self._batch) & F.col("event_date").isin(self._totals.days)
        )
        hashes = self._keep(hashed_twice(self._rows, recorded))
        # Counting fills the cache, and so tells the joins below how small it is.
        hashes.count()
        few = self._keep(suspects(self._rows, hashes))
        if not few.count():
            return
        events = few.where(F.size("reasons") == 0)
        self._repeats = self._keep(repeated(events, with_hash_in(recorded, hashes)))
        self._apart = self._keep(set_apart(few, self._repeats))

    def _keep(self, frame: DataFrame) -> DataFrame:
        self._kept.append(frame.persist())
        return frame

    @property
    def rejected(self) -> DataFrame | None:
        """The rejected rows that `record` found, one per row and reason; None without any."""
        if self._apart is None:
            return None
        conflict = F.array(F.lit(CONFLICTING_DUPLICATE))
        reasons = F.when(F.col("verdict") == "conflict", conflict).otherwise(F.col("reasons"))
        return self._apart.where("verdict in ('invalid', 'conflict')").select(
            F.lit(self._source).alias("source"),
            "event_id",
            F.explode(reasons).alias("reason"),
            F.coalesce("raw", F.to_json(F.struct(*self._contract.names))).alias("payload"),
        )

    def forget(self) -> None:
        """Give back the memory of the batch."""
        for frame in reversed(self._kept):
            frame.unpersist()


def require_good_input(warehouse: Warehouse, settings: Settings) -> None:
    """The quality gate over all that no successful run covers; see `require_quality`."""
    require_quality(_unpublished(warehouse), max_rejected_share=settings.quality.max_rejected_share)


def _unpublished(warehouse: Warehouse) -> dict[str, tuple[int, int]]:
    """Rows read and rejected by input, of the batches that no successful run covers."""
    covered = warehouse.read(RUNS).where("status = 'succeeded'").agg(F.max("last_ingest_batch")).first()
    after = (covered[0] or 0) if covered else 0
    counts = (
        warehouse.read(INGEST_BATCHES)
        .where(F.col("ingest_batch") > after)
        .groupBy("source")
        .agg(F.sum("events").alias("events"), F.sum("rejected").alias("rejected"))
    )
    return {row.source: (row.events, row.rejected) for row in counts.collect()}


def _next_batch(warehouse: Warehouse) -> int:
    last = warehouse.read(INGEST_BATCHES).agg(F.max("ingest_batch")).first()
    return (last[0] or 0) + 1 if last else 1


def main(argv: Sequence[str]) -> int:
    """Parse the command line and run."""
    parser = Parser("Read what is new in the inputs and record it as accepted events.")
    parser.add_argument("--config", required=True, help="settings file, e.g. conf/local.yaml")
    options = parser.parse_args(argv)
    settings = load_settings(options.config)
    run(session("ingest", settings.warehouse), settings, run_id=str(uuid4()), started_at=datetime.now(UTC))
    return 0


if __name__ == "__main__":
    launch(main)

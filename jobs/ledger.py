"""Fold accepted events into the ledger: transactions, messages, endpoints with their priorities.

./spark-submit.sh jobs/ledger.py --config conf/local.yaml
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from jobs.launch import Parser, launch, session
from jobs.together import together
from pipelines.ledger.closing import with_closed_on, with_ends
from pipelines.ledger.endpoints import fold_endpoints
from pipelines.ledger.messages import fold_messages
from pipelines.ledger.priorities import keep_or_resolve
from pipelines.ledger.queue_changes import queue_changes
from pipelines.ledger.queue_sessions import fold_queue_sessions, session_events
from pipelines.ledger.queues import with_queue
from pipelines.ledger.rollbacks import rollbacks
from pipelines.ledger.scope import MARGIN, Scope, everything, touched
from pipelines.ledger.transactions import fold_transactions
from pipelines.settings.catalog import BINDINGS
from pipelines.settings.load import Settings, load_settings
from schemas import ACCEPTED
from schemas.keys import QUEUE
from schemas.ledger import (
    EARLY_FACTS,
    ENDPOINTS,
    LEDGER_BATCHES,
    MESSAGES,
    QUEUE_CHANGES,
    QUEUE_SESSIONS,
    ROLLBACKS,
    TRANSACTIONS,
)
from schemas.outputs import INGEST_BATCHES, PRIORITY_RULES
from schemas.table import Table
from storage.small_frame import small_frame
from storage.warehouse import Warehouse


def run(spark: SparkSession, settings: Settings) -> str:
    """Fold what was accepted since the last fold; nothing is written where nothing is new.

    Every table is replaced in one commit, from what was read before it, and the row of
    `ledger_batches` comes last: a fold without it is done again, and as facts are minima and a fold's
    own partitions are replaced, the second attempt gives what the first would have.

    Args:
        spark: the session.
        settings: warehouse and catalog.

    Returns:
        What was folded, in words.
    """
    warehouse = Warehouse(spark, settings.warehouse)
    fold = _plan(warehouse, settings)
    if fold is None:
        return "nothing new"
    _Fold(spark, settings, warehouse, fold).write()
    return f"folded up to ingest batch {fold.last_ingest_batch}"


@dataclass(frozen=True)
class _Plan:
    """What a fold takes in."""

    ledger_batch: int
    after_ingest_batch: int
    last_ingest_batch: int
    first_event_date: date
    bindings: str
    has_queue_events: bool
    everything: bool


def _plan(warehouse: Warehouse, settings: Settings) -> _Plan | None:
    ingested, folded = warehouse.read(INGEST_BATCHES), warehouse.read(LEDGER_BATCHES)
    last = folded.orderBy(F.desc("ledger_batch")).first()
    after = last.last_ingest_batch if last else 0
    totals = ingested.agg(
        F.max("ingest_batch").alias("newest"),
        F.min(F.when(F.col("ingest_batch") > after, F.col("first_event_date"))).alias("first_event_date"),
        F.max(F.when(F.col("source") == "queue_events", F.col("accepted") > 0)).alias("has_queue_events"),
    ).first()
    assert totals is not None
    bindings = _fingerprint(settings)
    rebound = last is not None and last.bindings != bindings
    if (totals.newest or 0) <= after and not rebound:
        return None
    has_queue_events = bool(totals.has_queue_events)
    return _Plan(
        ledger_batch=(last.ledger_batch if last else 0) + 1,
        after_ingest_batch=after,
        last_ingest_batch=totals.newest or 0,
        first_event_date=totals.first_event_date or date.max,
        bindings=bindings,
        has_queue_events=has_queue_events,
        # Old rows mean something else once queues move, or receives stop counting as committed.
        everything=rebound or (last is not None and last.has_queue_events != has_queue_events),
    )


class _Fold:
    """One fold: its events, and the tables in the order in which they are written."""

    def __init__(self, spark: SparkSession, settings: Settings, warehouse: Warehouse, plan: _Plan) -> None:
        self._spark, self._settings, self._warehouse, self._plan = spark, settings, warehouse, plan
        self._since = plan.first_event_date - MARGIN if plan.first_event_date != date.max else date.max
        self._endpoint_events, self._message_events, self._queue_events = (
            warehouse.read(ACCEPTED[source]).where(
                (F.col("ingest_batch") > plan.after_ingest_batch)
                & (F.col("ingest_batch") <= plan.last_ingest_batch)
            )
            for source in ("endpoint_events", "message_events", "queue_events")
        )

    def write(self) -> None:
        """Write the tables, side by side where none reads what another writes."""
        together(
            self._spark,
            self._write_queue_changes,
            self._write_rollbacks,
            self._write_queue_sessions,
            self._write_conversations,
        )
        plan = self._plan
        row = (plan.ledger_batch, plan.last_ingest_batch, plan.bindings, plan.has_queue_events)
        self._warehouse.replace(
            LEDGER_BATCHES,
            small_frame(self._spark, [row], LEDGER_BATCHES.struct),
            where=f"ledger_batch = {plan.ledger_batch}",
        )

    def _write_conversations(self) -> None:
        """Each reads what those before it wrote."""
        self._write_transactions()
        self._write_messages()
        self._write_endpoints()

    def _write_queue_changes(self) -> None:
        rows = queue_changes(self._queue_events).withColumn("ledger_batch", self._ledger_batch())
        self._warehouse.replace(QUEUE_CHANGES, rows, where=f"ledger_batch = {self._plan.ledger_batch}")

    def _write_rollbacks(self) -> None:
        rows = rollbacks(self._queue_events).withColumn("ledger_batch", self._ledger_batch())
        self._warehouse.replace(ROLLBACKS, rows, where=f"ledger_batch = {self._plan.ledger_batch}")

    def _write_queue_sessions(self) -> None:
        scope = self._scope(QUEUE_SESSIONS, session_events(self._queue_events).select(*QUEUE))
        sessions = fold_queue_sessions(self._old(QUEUE_SESSIONS, scope), self._queue_events)
        self._replace(QUEUE_SESSIONS, scope, sessions)

    def _write_transactions(self) -> None:
        keys = self._queue_events.where("transaction_id is not null").select("instance", "transaction_id")
        scope = self._scope(TRANSACTIONS, keys)
        self._replace(
            TRANSACTIONS, scope, fold_transactions(self._old(TRANSACTIONS, scope), self._queue_events)
        )

    def _write_messages(self) -> None:
        outcomes = (
            self._warehouse.read(TRANSACTIONS)
            .where(self._near())
            .where("committed_at is not null or rolled_back_at is not null")
        )
        keys = self._message_events.select("message_id").unionByName(self._received_in_ended_transactions())
        scope = self._scope(MESSAGES, keys)
        old = with_ends(self._old(MESSAGES, scope), self._ends())
        folded = fold_messages(
            old,
            self._message_events,
            outcomes.select("instance", "transaction_id", "committed_at", "rolled_back_at"),
            every_receive_counts=not self._plan.has_queue_events,
        )
        self._replace(MESSAGES, scope, folded)

    def _received_in_ended_transactions(self) -> DataFrame:
        """Closed messages whose receiving transactions have got an outcome by these events."""
        ended = self._queue_events.where(
            F.col("event_type").isin("COMMIT", "ROLLBACK") & F.col("transaction_id").isNotNull()
        ).select("instance", "transaction_id")
        closed = self._warehouse.read(MESSAGES).where(F.col("closed_on") >= F.lit(self._since))
        receives = closed.select("message_id", F.inline("receives")).where("transaction_id is not null")
        return receives.join(ended, ["instance", "transaction_id"], "left_semi").select("message_id")

    def _ends(self) -> DataFrame:
        """The endpoints that are known to have ended, of conversations that the fold may read messages of."""
        columns = [
            "conversation_id",
            "is_initiator",
            "ended_at",
            "ended_with_error_at",
            "ended_with_cleanup_at",
        ]
        known = self._warehouse.read(ENDPOINTS).where(self._near()).select(*columns)
        early = self._warehouse.read(EARLY_FACTS).select(*columns)
        return known.unionByName(early).where("ended_at is not null")

    def _write_endpoints(self) -> None:
        keys = self._endpoint_events.select("conversation_id").unionByName(
            self._message_events.select("conversation_id")
        )
        scope = self._scope(ENDPOINTS, keys)
        folded = fold_endpoints(
            self._old(ENDPOINTS, scope),
            self._warehouse.read_pinned(EARLY_FACTS),
            self._endpoint_events,
            self._message_events,
        )
        # Of the closed messages only those count whose transactions ended on a later day than all events.
        messages = (
            self._warehouse.read(MESSAGES)
            .where(self._near())
            .where("closed_on is null or closed_on > last_fact_on")
            .groupBy(F.col("first_event.conversation_id").alias("conversation_id"))
            .agg(F.some(F.col("closed_on").isNull()).alias("is_open"), F.max("closed_on").alias("closed_on"))
        )
        # Joined before it is kept, while Spark still knows that its rows lie by conversation.
        closed = with_closed_on(folded, messages).persist()
        bindings = small_frame(self._spark, self._settings.catalog.service_bindings(), BINDINGS)
        known = with_queue(closed.where("created_at is not null"), bindings)
        # Each of the eight steps looks at the rules.
        rules = self._warehouse.read(PRIORITY_RULES).persist()
        self._replace(ENDPOINTS, scope, keep_or_resolve(known, rules))
        self._warehouse.replace(EARLY_FACTS, closed.where("created_at is null").select(*EARLY_FACTS.names))
        for frame in (rules, closed):
            frame.unpersist()

    def _scope(self, table: Table, keys: DataFrame) -> Scope:
        if self._plan.everything:
            return everything()
        return touched(
            self._warehouse.read(table), keys, ledger_batch=self._plan.ledger_batch, since=self._since
        )

    def _near(self) -> str:
        """Rows that are open, or closed so lately that the fold's own rows may need them."""
        if self._plan.everything:
            return "true"
        own = f"ledger_batch = {self._plan.ledger_batch}"
        return f"closed_on IS NULL OR {own} OR closed_on >= DATE'{self._since}'"

    def _old(self, table: Table, scope: Scope) -> DataFrame:
        return self._warehouse.read_pinned(table).where(scope.predicate)

    def _replace(self, table: Table, scope: Scope, rows: DataFrame) -> None:
        self._warehouse.replace(
            table, rows.withColumn("ledger_batch", self._ledger_batch()), where=scope.predicate
        )

    def _ledger_batch(self) -> Column:
        return F.lit(self._plan.ledger_batch).cast("bigint")


def _fingerprint(settings: Settings) -> str:
    bindings = json.dumps(sorted(settings.catalog.service_bindings()))
    return hashlib.sha256(bindings.encode()).hexdigest()


def main(argv: Sequence[str]) -> int:
    """Parse the command line and run."""
    parser = Parser("Fold accepted events into the ledger.")
    parser.add_argument("--config", required=True, help="settings file, e.g. conf/local.yaml")
    options = parser.parse_args(argv)
    settings = load_settings(options.config)
    run(session("ledger", settings.warehouse), settings)
    return 0


if __name__ == "__main__":
    launch(main)

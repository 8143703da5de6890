"""Replay the queue monitors of one as_of, or show what they found on one queue.

./spark-submit.sh jobs/activation.py --config conf/local.yaml --as-of 2026-11-21T00:00:00Z
./spark-submit.sh jobs/activation.py --config conf/local.yaml --as-of 2026-11-21T00:00:00Z --queue OrderQueue
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from pyspark.sql import DataFrame, SparkSession, functions as F

from jobs.activation_report import find_queue, show
from jobs.launch import Parser, instant, launch, session
from pipelines.activation.backlog import groups_at_most_ready
from pipelines.activation.facts import first_returnable_receive, monitored_messages
from pipelines.activation.ready import with_changes
from pipelines.activation.replay import Clock, Monitor
from pipelines.activation.runs import activation
from pipelines.activation.summary import of_unknown_queues, summary
from pipelines.activation.timeline import (
    of_messages,
    of_queue_changes,
    of_queue_events,
    of_sessions,
    timeline,
)
from pipelines.activation.workers import replayed
from pipelines.collected import EPOCH, instant_of
from pipelines.ledger.scope import MARGIN
from pipelines.settings.load import Settings, load_settings
from schemas import ACCEPTED
from schemas.keys import QUEUE
from schemas.ledger import (
    ENDPOINTS,
    LEDGER_BATCHES,
    MESSAGES,
    QUEUE_CHANGES,
    QUEUE_SESSIONS,
    ROLLBACKS,
    TRANSACTIONS,
)
from schemas.outputs import ACTIVATION, ACTIVATION_SUMMARY
from schemas.table import Table
from storage.small_frame import small_frame
from storage.warehouse import Warehouse

MICROSECOND = timedelta(microseconds=1)
MONITORS = (
    "queue_number int, instance string, database string, queue string, mode string, max_queue_readers int, "
    "timeout_seconds double, is_on boolean"
)
MonitorRow = tuple[int, str, str, str, str, int | None, float | None, bool]
"""The columns of MONITORS."""

SERVICES = "instance string, database string, local_service string, queue_number int"
QUEUES = "instance string, database string, queue string"


def run(spark: SparkSession, settings: Settings, as_of: datetime) -> None:
    """Replace the rows of this as_of in `activation` and `activation_summary`; other rows stay.

    Without a monitored queue in the catalog nothing is replayed.

    Args:
        spark: the session.
        settings: warehouse, catalog, and the activation settings.
        as_of: the end of the window.
    """
    _Replay(spark, settings, as_of).write()


class _Replay:
    """One window: what is read for it, and what is written."""

    def __init__(self, spark: SparkSession, settings: Settings, as_of: datetime) -> None:
        self._spark, self._settings, self._as_of = spark, settings, as_of
        self._warehouse = Warehouse(spark, settings.warehouse)
        self._start = as_of - settings.activation.window
        self._rows = _monitor_rows(settings)
        self._monitors = small_frame(spark, self._rows, MONITORS)
        # From the day on which a recent empty result may lie, the events themselves are read.
        self._first_day = _utc_day(self._start - settings.activation.empty)
        self._queue_events = self._warehouse.read(ACCEPTED["queue_events"]).where(
            (F.col("event_date") >= F.lit(self._first_day))
            & (F.col("event_date") <= F.lit(_utc_day(as_of)))
            & (F.col("event_time") < F.lit(as_of))
        )

    def write(self) -> None:
        in_window = self._queue_events.where(F.col("event_time") >= F.lit(self._start))
        queues = [row[:3] for row in self._settings.catalog.queue_rows()]
        known = small_frame(self._spark, queues, QUEUES)
        unknown = of_unknown_queues(in_window, known)
        if not self._rows:
            nothing = self._warehouse.read(ACTIVATION).where("false").drop("as_of")
            self._warehouse.replace_as_of(ACTIVATION, nothing, self._as_of)
            self._warehouse.replace_as_of(ACTIVATION_SUMMARY, unknown, self._as_of)
            return
        messages = self._messages().persist()
        changed = with_changes(messages, self._rollbacks(messages))
        played = replayed(self._timeline(changed), _monitors(self._rows), self._clock()).persist()
        self._warehouse.replace_as_of(ACTIVATION, activation(played, self._monitors), self._as_of)
        totals = played.where("ordinal = 0").select("queue_number", "totals.most_ready_at")
        negative = (
            self._numbered(in_window)
            .where("row_count < 0")
            .groupBy("queue_number")
            .agg(F.count(F.lit(1)).alias("negative_row_counts"))
        )
        groups = groups_at_most_ready(changed, self._locks(), totals)
        told = summary(self._monitors, played, groups, negative).unionByName(unknown)
        self._warehouse.replace_as_of(ACTIVATION_SUMMARY, told, self._as_of)
        for frame in (played, messages):
            frame.unpersist()

    def _clock(self) -> Clock:
        options = self._settings.activation
        return Clock(
            start=_micros(self._start),
            end=_micros(self._as_of),
            check=options.check // MICROSECOND,
            empty=options.empty // MICROSECOND,
        )

    def _messages(self) -> DataFrame:
        numbers = {row[1:4]: row[0] for row in self._rows}
        services = [
            (instance, database, service, numbers[instance, database, queue])
            for instance, database, service, queue in self._settings.catalog.service_bindings()
            if (instance, database, queue) in numbers
        ]
        last = self._warehouse.read(LEDGER_BATCHES).orderBy(F.desc("ledger_batch")).first()
        return monitored_messages(
            self._in_reach(MESSAGES),
            self._in_reach(ENDPOINTS),
            small_frame(self._spark, services, SERVICES),
            as_of=self._as_of,
            every_receive_counts=not (last and last.has_queue_events),
        )

    def _rollbacks(self, messages: DataFrame) -> DataFrame:
        """The ROLLBACK events that may give one of the messages back."""
        first = messages.agg(first_returnable_receive()).first()
        received_at = instant_of(first[0]) if first else None
        since = _utc_day(received_at) if received_at else date.max
        rollbacks = self._warehouse.read(ROLLBACKS).where(F.col("event_date") >= F.lit(since))
        return self._numbered(rollbacks.where(F.col("event_time") < F.lit(self._as_of))).select(
            "queue_number", "transaction_id", F.unix_micros("event_time").alias("event_time"), "event_id"
        )

    def _timeline(self, messages: DataFrame) -> DataFrame:
        before = datetime.combine(self._first_day, datetime.min.time(), UTC)
        sessions = self._warehouse.read(QUEUE_SESSIONS).where(
            f"closed_on IS NULL OR closed_on >= DATE'{self._first_day}'"
        )
        return timeline(
            of_messages(messages, start=_micros(self._start)),
            of_queue_events(self._numbered(self._queue_events)),
            of_sessions(self._numbered(sessions), day=self._first_day),
            of_queue_changes(self._numbered(self._warehouse.read(QUEUE_CHANGES)), before=before),
        )

    def _locks(self) -> DataFrame:
        """Groups that transactions named, with the time for which they held them."""
        locks = self._in_reach(TRANSACTIONS).select(
            "instance", F.least("committed_at", "rolled_back_at").alias("over_at"), F.inline("locks")
        )
        return self._numbered(locks).select("queue_number", "conversation_group_id", "locked_at", "over_at")

    def _in_reach(self, table: Table) -> DataFrame:
        """The rows that were open at the window's start or were closed after it."""
        since = _utc_day(self._start - MARGIN)
        return self._warehouse.read(table).where(f"closed_on IS NULL OR closed_on >= DATE'{since}'")

    def _numbered(self, rows: DataFrame) -> DataFrame:
        """The rows of monitored queues, with the queue's number for its name."""
        numbers = F.broadcast(self._monitors.select("queue_number", *QUEUE))
        return rows.join(numbers, QUEUE, "inner").drop(*QUEUE)


def _monitor_rows(
    settings: Settings,
) -> list[MonitorRow]:
    is_on = {row[:3]: row[3] for row in settings.catalog.queue_rows()}
    return [(number, *row, is_on[row[:3]]) for number, row in enumerate(settings.catalog.monitor_rows())]


def _monitors(
    rows: Sequence[MonitorRow],
) -> list[Monitor]:
    return [
        Monitor(
            number=number,
            max_queue_readers=readers,
            timeout=None if timeout is None else timedelta(seconds=timeout) // MICROSECOND,
            is_on=is_on,
        )
        for number, _, _, _, _, readers, timeout, is_on in rows
    ]


def _utc_day(moment: datetime) -> date:
    return moment.astimezone(UTC).date()


def _micros(moment: datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


def main(argv: Sequence[str]) -> int:
    """Parse the command line and run, or show a queue."""
    parser = Parser("Replay the queue monitors of one as_of, or show what they found on one queue.")
    parser.add_argument("--config", required=True, help="settings file, e.g. conf/local.yaml")
    parser.add_argument(
        "--as-of", required=True, type=instant, help="end of the window, e.g. 2026-11-21T00:00:00Z"
    )
    parser.add_argument("--queue", help="show this queue's timeline (QUEUE or INSTANCE.DATABASE.QUEUE)")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="of the timeline")
    options = parser.parse_args(argv)
    settings = load_settings(options.config)
    if options.queue is None:
        run(session("activation", settings.warehouse), settings, options.as_of)
        return 0
    queue = find_queue(settings, options.queue)
    show(session("activation", settings.warehouse), settings, options.as_of, queue, format=options.format)
    return 0


if __name__ == "__main__":
    launch(main)

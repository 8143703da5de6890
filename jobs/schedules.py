"""Derive group priorities and the receive and transmission schedules of one as_of from the ledger.

./spark-submit.sh jobs/schedules.py --config conf/local.yaml --as-of 2026-11-21T00:00:00Z
"""

from collections.abc import Sequence
from datetime import date, datetime

from pyspark.sql import DataFrame, SparkSession, functions as F

from jobs.launch import Parser, instant, launch, session
from jobs.together import together
from pipelines.ledger.scope import MARGIN
from pipelines.schedules.blocks import in_blocks, without_blocks
from pipelines.schedules.endpoint_state import conversations_at
from pipelines.schedules.groups import group_priorities, ready_conversations, ready_groups
from pipelines.schedules.message_state import messages_at
from pipelines.schedules.queue_state import groups_locked, queues_off
from pipelines.schedules.ready import ready_messages
from pipelines.schedules.receive import receive_schedule
from pipelines.schedules.transmission import transmission_order
from pipelines.schedules.unresolved import unresolved
from pipelines.settings.catalog import BINDINGS
from pipelines.settings.load import Settings, load_settings
from schemas.ledger import EARLY_FACTS, ENDPOINTS, LEDGER_BATCHES, MESSAGES, QUEUE_CHANGES, TRANSACTIONS
from schemas.outputs import GROUP_PRIORITIES, RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE, UNRESOLVED
from schemas.table import Table
from storage.small_frame import small_frame
from storage.warehouse import Warehouse

QUEUES = "instance string, database string, queue string, is_on boolean"
DATABASES = "instance string, database string, honors boolean"


def run(spark: SparkSession, settings: Settings, as_of: datetime) -> dict[str, int]:
    """Replace the rows of this as_of in the schedule tables; other rows stay.

    Args:
        spark: the session.
        settings: warehouse, catalog, and what the schedules depend on.
        as_of: the instant to describe.

    Returns:
        The open messages by what they wait for, as counted before any schedule was made:
        open_receive, open_transmission and open_forwarded.
    """
    warehouse = Warehouse(spark, settings.warehouse)
    messages = open_messages(spark, settings, as_of).persist()
    counts = count_open(messages)
    catalog = settings.catalog
    bindings = small_frame(spark, catalog.service_bindings(), BINDINGS)
    honoring = small_frame(spark, catalog.database_rows(), DATABASES).where("honors").drop("honors")
    off = queues_off(
        small_frame(spark, catalog.queue_rows(), QUEUES), warehouse.read(QUEUE_CHANGES), as_of=as_of
    ).persist()
    locked = groups_locked(_from(warehouse, TRANSACTIONS, as_of), messages, as_of=as_of)

    ready = ready_messages(messages, off, locked).persist()
    conversations = ready_conversations(ready).persist()
    groups = ready_groups(conversations).persist()
    order = transmission_order(
        messages, bindings, honoring, off, as_of=as_of, starvation=settings.transmission.starvation
    )
    blocks = settings.transmission.blocks
    if blocks is not None:
        order = order.persist()
    sent = without_blocks(order) if blocks is None else in_blocks(order, blocks)
    received = receive_schedule(ready, conversations, groups, top=settings.receive.top)
    together(
        spark,
        lambda: warehouse.replace_as_of(GROUP_PRIORITIES, group_priorities(groups), as_of),
        lambda: warehouse.replace_as_of(RECEIVE_SCHEDULE, received, as_of),
        lambda: warehouse.replace_as_of(TRANSMISSION_SCHEDULE, sent, as_of),
        lambda: warehouse.replace_as_of(UNRESOLVED, unresolved(messages), as_of),
    )
    for frame in (order, groups, conversations, ready, off, messages):
        frame.unpersist()
    return counts


def open_messages(spark: SparkSession, settings: Settings, as_of: datetime) -> DataFrame:
    """The open messages at as_of, read from the ledger's rows that may matter then; see `messages_at`."""
    warehouse = Warehouse(spark, settings.warehouse)
    last = warehouse.read(LEDGER_BATCHES).orderBy(F.desc("ledger_batch")).first()
    conversations = conversations_at(
        _from(warehouse, ENDPOINTS, as_of),
        warehouse.read(EARLY_FACTS),
        small_frame(spark, settings.catalog.service_bindings(), BINDINGS),
        as_of=as_of,
    )
    return messages_at(
        _from(warehouse, MESSAGES, as_of),
        conversations,
        as_of=as_of,
        every_receive_counts=not (last and last.has_queue_events),
    )


def count_open(messages: DataFrame) -> dict[str, int]:
    """Count the open messages of `open_messages` by what they wait for."""
    elsewhere = F.filter("forwards", lambda forward: ~forward.instance.eqNullSafe(F.col("sender.instance")))
    counted = messages.agg(
        F.count_if("in_queue").alias("open_receive"),
        F.count_if("waits").alias("open_transmission"),
        F.coalesce(F.sum(F.size(elsewhere)), F.lit(0)).alias("open_forwarded"),
    ).first()
    return counted.asDict() if counted else {}


def _from(warehouse: Warehouse, table: Table, as_of: datetime) -> DataFrame:
    """The rows that were open at as_of or were closed after it."""
    since: date = (as_of - MARGIN).date()
    return warehouse.read(table).where(f"closed_on IS NULL OR closed_on >= DATE'{since}'")


def main(argv: Sequence[str]) -> int:
    """Parse the command line and run."""
    parser = Parser("Derive group priorities and the two schedules of one as_of.")
    parser.add_argument("--config", required=True, help="settings file, e.g. conf/local.yaml")
    parser.add_argument(
        "--as-of", required=True, type=instant, help="the instant to describe, e.g. 2026-11-21T00:00:00Z"
    )
    options = parser.parse_args(argv)
    settings = load_settings(options.config)
    run(session("schedules", settings.warehouse), settings, options.as_of)
    return 0


if __name__ == "__main__":
    launch(main)

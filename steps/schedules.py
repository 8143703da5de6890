"""Write group priorities and the two schedules of one as_of."""

from contextlib import ExitStack
from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from config.catalog import BINDINGS
from config.load import Settings
from engine.differences import together
from pipelines.schedules.blocks import in_blocks, without_blocks
from pipelines.schedules.groups import group_priorities, ready_conversations, ready_groups
from pipelines.schedules.placed import placed_messages
from pipelines.schedules.queue_state import groups_locked, queues_off
from pipelines.schedules.ready import ready_messages
from pipelines.schedules.receive import receive_schedule
from pipelines.schedules.transmission import forwarded_elsewhere, transmission_order
from pipelines.schedules.unresolved import unresolved
from pipelines.state.endpoints import endpoints_at
from pipelines.state.happened import happened
from pipelines.state.of_messages import state_of_messages
from pipelines.state.transactions import named_locks
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS
from schemas.ledger import ENDPOINTS
from schemas.outputs import BATCHES, GROUP_PRIORITIES, RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE, UNRESOLVED
from storage.small_frame import small_frame
from storage.warehouse import Warehouse

QUEUES = "instance string, database string, queue string, is_on boolean"
DATABASES = "instance string, database string, honors boolean"


def write_schedules(warehouse: Warehouse, settings: Settings, as_of: datetime) -> dict[str, int]:
    """Replace the rows of this as_of in the schedule tables; other rows stay.

    Args:
        warehouse: the tables.
        settings: the catalog, and what the schedules depend on.
        as_of: the instant to describe.

    Returns:
        The open messages by what they wait for, as counted before any schedule was made:
        open_receive, open_transmission and open_forwarded.
    """
    spark, catalog = warehouse.spark, settings.catalog
    with ExitStack() as stack:

        def keep(rows: DataFrame) -> DataFrame:
            return stack.enter_context(warehouse.kept(rows))

        bindings = small_frame(spark, catalog.service_bindings(), BINDINGS)
        honoring = small_frame(spark, catalog.database_rows(), DATABASES).where("honors").drop("honors")
        queues = small_frame(spark, catalog.queue_rows(), QUEUES)
        message_events, endpoint_events, queue_events = (
            warehouse.read_open(table, as_of) for table in (MESSAGES, ENDPOINT_FACTS, QUEUE_FACTS)
        )
        state = state_of_messages(
            message_events,
            endpoint_events,
            queue_events,
            as_of=as_of,
            every_receive_counts=not has_queue_events(warehouse),
            keep=keep,
        )
        conversations = state.messages.select("conversation_id").distinct()
        endpoints = endpoints_at(
            warehouse.read_open(ENDPOINTS, as_of).join(conversations, "conversation_id", "left_semi"),
            happened(endpoint_events, as_of),
            bindings,
            as_of=as_of,
        )
        messages = keep(placed_messages(state.messages, endpoints))
        counts = _count_open(messages, state.forwarding)
        so_far = happened(queue_events, as_of)
        off = keep(queues_off(queues, so_far))
        locked = groups_locked(named_locks(so_far, state.uncommitted), messages)

        ready = keep(ready_messages(messages, off, locked))
        in_groups = keep(ready_conversations(ready))
        groups = keep(ready_groups(in_groups))
        order = keep(
            transmission_order(
                messages,
                state.forwarding,
                bindings,
                honoring,
                off,
                as_of=as_of,
                starvation=settings.transmission.starvation,
            )
        )
        blocks = settings.transmission.blocks
        sent = without_blocks(order) if blocks is None else in_blocks(order, blocks)
        received = receive_schedule(ready, in_groups, groups, top=settings.receive.top)
        together(
            spark,
            lambda: warehouse.replace_as_of(GROUP_PRIORITIES, group_priorities(groups), as_of),
            lambda: warehouse.replace_as_of(RECEIVE_SCHEDULE, received, as_of),
            lambda: warehouse.replace_as_of(TRANSMISSION_SCHEDULE, sent, as_of),
            lambda: warehouse.replace_as_of(UNRESOLVED, unresolved(messages), as_of),
        )
    return counts


def has_queue_events(warehouse: Warehouse) -> bool:
    """Whether any queue event was ever accepted; without any, every RECEIVED counts as committed."""
    accepted = warehouse.read(BATCHES).where("source = 'queue_events' and accepted > 0")
    return not accepted.isEmpty()


def _count_open(messages: DataFrame, forwarding: DataFrame) -> dict[str, int]:
    counted = messages.agg(
        F.count_if("in_queue").alias("open_receive"), F.count_if("waits").alias("open_transmission")
    ).first()
    counts = counted.asDict() if counted else {}
    return counts | {"open_forwarded": forwarded_elsewhere(messages, forwarding).count()}

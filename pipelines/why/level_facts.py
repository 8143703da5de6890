"""What is known of places and of their levels, which many messages share."""

from collections.abc import Iterable, Mapping
from dataclasses import astuple
from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.frames import small_frame
from pipelines.state.endpoints import SIDE
from pipelines.state.events_before import ever
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from pipelines.why.monitors import SHOWN, QueueName, ShownMonitor, monitor_values
from pipelines.why.open_rows import is_raised, read_schedules
from pipelines.why.order import LEVEL_ORDER, Level, LevelOrder
from pipelines.why.places import OF_PLACE, PLACE, Place, Row, place_of
from pipelines.why.receives import RECEIVES, Receives
from schemas.ledger import ENDPOINTS


def read_levels(warehouse: Warehouse, as_of: datetime) -> list[Row]:
    """One row per place and level that orders: PLACE, `counts_as`, and `is_ready`, whether a message is."""
    rows = read_schedules(warehouse, as_of, ("counts_as", "state"))
    is_ready = ever(F.col("state") == "ready").alias("is_ready")
    return collect_rows(rows.groupBy(*PLACE, "counts_as").agg(is_ready))


def levels_frame(
    warehouse: Warehouse,
    levels: Iterable[Row],
    order: Mapping[Level, LevelOrder],
    receives: Mapping[QueueName, Receives],
    monitors: Mapping[QueueName, ShownMonitor],
    as_of: datetime,
) -> DataFrame:
    """What is known of places and levels: one row each, as joins with all messages are what costs time.

    Returns:
        PLACE and `counts_as`; `has_raised`, whether an endpoint of the place has a higher level than the
        default by a rule; the columns of `LevelOrder`, RECEIVES and SHOWN, null where nothing is known.
    """
    raised = _find_raised_places(warehouse, as_of)
    unknown = (None,) * len(RECEIVES.split(","))
    rows = []
    for row in levels:
        place = place_of(row)
        # Of a place that is no queue the names are empty.
        queue = place[1:]
        in_order = astuple(order.get((place, row["counts_as"]), LevelOrder()))
        rows.append(
            (
                *place,
                row["counts_as"],
                place in raised,
                *in_order,
                *receives.get(queue, unknown),
                *monitor_values(monitors.get(queue)),
            )
        )
    columns = f"{OF_PLACE}, counts_as int, has_raised boolean, {LEVEL_ORDER}, {RECEIVES}, {SHOWN}"
    return small_frame(warehouse.spark, rows, columns)


def _find_raised_places(warehouse: Warehouse, as_of: datetime) -> set[Place]:
    """The places in which an endpoint that holds a message has a higher level than the default by a rule."""
    endpoints = warehouse.read_open(ENDPOINTS, as_of).where(F.col("created_at") < F.lit(as_of))
    rows = read_schedules(warehouse, as_of, (*SIDE, "state")).where("state <> 'forwarded'")
    raised = rows.join(endpoints.where(is_raised()).select(*SIDE), SIDE, "left_semi")
    return {place_of(row) for row in collect_rows(raised.select(*PLACE).distinct())}

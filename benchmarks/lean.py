"""The floor: an engine makes the tables of a standing backlog's first night in the fewest steps that we know.

./spark-submit.sh benchmarks/lean.py --config SETTINGS --as-of INSTANT
.venv/bin/python -m benchmarks.lean --config SETTINGS --as-of INSTANT

It writes endpoints, groups and both schedules, which are compared with the peer's, and the events of
endpoints and messages with the day on which they closed. It is only right for logs of `backlog_log.py`: there
are no moves, transactions, forwarding, repeated events or queues that are off, rules don't change, and no two
conversations of a group have their oldest messages at the same time. So it is no pipeline, but what one could
take.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

if not __package__:  # run as a file
    sys.path.append(f"{sys.path[0]}/..")

from pyspark.sql import Column, DataFrame, Window, functions as F

from benchmarks.lean_schedules import (
    group_priorities,
    ready_messages,
    receive_schedule,
    transmission_schedule,
)
from pipelines.commands.launch import launch
from pipelines.commands.open import opened
from pipelines.commands.options import Parser, instant
from pipelines.config.load import Settings
from pipelines.config.rules.limits import CRITERIA
from pipelines.engine.files import engine_path
from pipelines.engine.frames import small_frame
from pipelines.state.messages import ARRIVALS, OF_ANY_EVENT
from pipelines.storage.warehouse import Warehouse
from schemas.events import CREATIONS, ENDS
from schemas.keys import ENDPOINT_NAMES
from schemas.reading import as_of_key


def run(settings: Settings, out: Warehouse, as_of: datetime) -> None:
    """Write the tables.

    Args:
        settings: inputs in Parquet, catalog and rules.
        out: the warehouse to write to; none of its tables is there yet.
        as_of: the instant to describe.

    Raises:
        ValueError: the log has what this leaves out.
    """
    inputs = settings.inputs.by_name()
    spark = out.spark
    endpoint_events = spark.read.parquet(inputs["endpoint_events"].path)
    message_events = spark.read.parquet(inputs["message_events"].path)
    honors = small_frame(
        spark, settings.catalog.database_rows(), "instance string, database string, honors boolean"
    )
    services = small_frame(
        spark,
        settings.catalog.service_bindings(),
        "instance string, database string, local_service string, queue string",
    )
    with out.materializing() as materialize:
        with _step("repeats"):
            for events in (endpoint_events, message_events):
                _require_none(_repeated_ids(events), "events that came more than once")
        with _step("kinds"):
            kinds = materialize(_kinds(settings, endpoint_events, services))
        with _step("conversations"):
            conversations = materialize(_conversations(endpoint_events, message_events))
            _require_none(conversations.where("begun > 1 or created > 1"), "endpoints that began twice")
        with _step("endpoints"):
            endpoints = _write(_endpoints(endpoint_events, kinds, conversations), out, "endpoints")
        with _step("open_messages"):
            left = materialize(_open_messages(message_events, as_of))
            _require_none(left.where("differs"), "messages whose events contradict each other")
        with _step("message_events"):
            _write(_closed(left, message_events, "message_id", as_of), out, "message_events", "closed_on")
        with _step("endpoint_events"):
            over = conversations.where("initiator_ended_at is not null and target_ended_at is not null")
            open_ones = conversations.join(over, "conversation_id", "left_anti")
            closed = _closed(open_ones, endpoint_events, "conversation_id", as_of)
            _write(closed, out, "endpoint_events", "closed_on")
        with _step("ready_messages"):
            ids = left.select("conversation_id").distinct()
            open_endpoints = materialize(endpoints.join(ids, "conversation_id", "left_semi"))
            ready = materialize(ready_messages(left, open_endpoints))
        with _step("group_priorities"):
            conversations, groups = group_priorities(ready, materialize)
            _write_as_of(groups.drop("head_at", "head_id"), out, "group_priorities", as_of)
        with _step("receive_schedule"):
            _write_as_of(receive_schedule(ready, conversations, groups), out, "receive_schedule", as_of)
        with _step("transmission_schedule"):
            waiting = transmission_schedule(left, open_endpoints, honors, services)
            _write_as_of(waiting, out, "transmission_schedule", as_of)


def _repeated_ids(events: DataFrame) -> DataFrame:
    """Hashes of day and id that several events have."""
    hashed = events.select(F.xxhash64(F.to_date("event_time"), "event_id").alias("id"))
    return hashed.groupBy("id").count().where("count > 1")


def _kinds(settings: Settings, endpoint_events: DataFrame, services: DataFrame) -> DataFrame:
    """Queue, level, rule and step of the ladder by kind of endpoint: a row each."""
    rules = small_frame(
        services.sparkSession,
        [
            (rule.instance, rule.database, *rule.triple, rule.name, rule.level)
            for rule in settings.rule_history
        ],
        "at_instance string, at_database string, if_contract string, if_local_service string, "
        "if_remote_service string, rule_name string, level int",
    )
    fits = (F.col("at_instance") == F.col("instance")) & (F.col("at_database") == F.col("database"))
    for name in CRITERIA:
        fits &= F.col(f"if_{name}").isNull() | (F.col(f"if_{name}") == F.col(name))
    weights = zip((4, 2, 1), CRITERIA, strict=True)
    step = sum((F.col(f"if_{name}").isNull().cast("int") * weight for weight, name in weights), F.lit(1))
    found = (
        endpoint_events.where(_is_creation())
        .select(*ENDPOINT_NAMES)
        .distinct()
        .join(F.broadcast(rules), fits, "left")
        .withColumn("ladder_step", F.when(F.col("level").isNotNull(), step).cast("int"))
        .withColumn("choice", F.row_number().over(Window.partitionBy(*ENDPOINT_NAMES).orderBy("ladder_step")))
        .where("choice = 1")
    )
    return found.join(F.broadcast(services), ["instance", "database", "local_service"], "left").select(
        *ENDPOINT_NAMES, "queue", F.coalesce("level", F.lit(5)).alias("priority"), "rule_name", "ladder_step"
    )


def _conversations(endpoint_events: DataFrame, message_events: DataFrame) -> DataFrame:
    """By conversation when its sides ended and its target got something, and how often they were created."""
    told = endpoint_events.select("conversation_id", "event_type", "is_initiator", "event_time")
    arrivals = message_events.where(F.col("event_type").isin(*ARRIVALS) & F.col("sent_by_initiator"))
    came = arrivals.select(
        "conversation_id",
        F.lit("ARRIVAL").alias("event_type"),
        F.lit(False).alias("is_initiator"),
        "event_time",
    )
    is_end, is_initiator = F.col("event_type").isin(*ENDS), F.col("is_initiator")

    def first(condition: Column) -> Column:
        return F.min(F.when(condition, F.col("event_time")))

    return (
        told.unionByName(came)
        .groupBy("conversation_id")
        .agg(
            F.count(F.when(F.col("event_type") == CREATIONS[0], 1)).alias("begun"),
            F.count(F.when(F.col("event_type") == CREATIONS[1], 1)).alias("created"),
            first(is_end & is_initiator).alias("initiator_ended_at"),
            first(is_end & ~is_initiator).alias("target_ended_at"),
            first(F.col("event_type") == "ARRIVAL").alias("arrived_at"),
        )
    )


def _endpoints(endpoint_events: DataFrame, kinds: DataFrame, conversations: DataFrame) -> DataFrame:
    """The table of endpoints: one row per creation."""
    ends = conversations.select("conversation_id", "initiator_ended_at", "target_ended_at", "arrived_at")
    created = F.broadcast(kinds).join(endpoint_events.where(_is_creation()), list(ENDPOINT_NAMES), "right")
    side = F.col("is_initiator")
    return ends.join(created, "conversation_id", "right").select(
        "conversation_id",
        "is_initiator",
        *ENDPOINT_NAMES,
        "queue",
        "conversation_handle",
        "conversation_group_id",
        F.when(side, F.col("event_time")).otherwise(F.least("event_time", "arrived_at")).alias("created_at"),
        F.when(side, F.col("initiator_ended_at")).otherwise(F.col("target_ended_at")).alias("ended_at"),
        "priority",
        "rule_name",
        "ladder_step",
    )


def _open_messages(message_events: DataFrame, as_of: datetime) -> DataFrame:
    """The messages without a RECEIVED before as_of, one row each, with the attributes of their events."""
    type_, time_ = F.col("event_type"), F.col("event_time")
    least = [F.min(name).alias(name) for name in OF_ANY_EVENT]
    greatest = [F.max(name).alias(f"{name}_too") for name in OF_ANY_EVENT]
    differs = [~F.col(name).eqNullSafe(F.col(f"{name}_too")) for name in OF_ANY_EVENT]
    return (
        message_events.where(time_ < F.lit(as_of))
        .groupBy("message_id")
        .agg(
            F.max((type_ == "RECEIVED").cast("int")).alias("received"),
            F.min(F.when(type_ == "SENT", time_)).alias("sent_at"),
            F.min(F.when(type_.isin(*ARRIVALS), time_)).alias("arrived_at"),
            *least,
            *greatest,
        )
        .where("received = 0")
        .withColumn("differs", F.greatest(*[each.cast("int") for each in differs]) == 1)
        .drop("received", *[f"{name}_too" for name in OF_ANY_EVENT])
    )


def _closed(still_open: DataFrame, events: DataFrame, key: str, as_of: datetime) -> DataFrame:
    """Events with the day on which they closed, null for those of the keys that are still open."""
    day = F.lit((as_of - timedelta(microseconds=1)).date())
    # The embedded engine takes a literal for a constant behind the join. Then it leaves out the sort by
    # closed_on, and writes a file for each batch of rows.
    still = still_open.select(key, F.col(key).alias("open_key"))
    rows = still.join(events, key, "right").withColumn("closed_on", F.when(F.col("open_key").isNull(), day))
    return rows.drop("open_key").withColumns({"batch": F.lit(1), "fold": F.lit(1)})


def _is_creation() -> Column:
    return F.col("event_type").isin(*CREATIONS)


def _require_none(rows: DataFrame, what: str) -> None:
    if count := rows.count():
        raise ValueError(f"the log has {what} ({count}), which the floor leaves out")


def _write(rows: DataFrame, out: Warehouse, table: str, *partitions: str) -> DataFrame:
    """Write a table and return its rows."""
    path = engine_path(f"{out.root}/{table}")
    writer = rows.write.format("delta").mode("overwrite")
    (writer.partitionBy(*partitions) if partitions else writer).save(path)
    return out.spark.read.format("delta").load(path)


def _write_as_of(rows: DataFrame, out: Warehouse, table: str, as_of: datetime) -> None:
    _write(rows.withColumn("as_of_key", F.lit(as_of_key(as_of))), out, table, "as_of_key")


@contextmanager
def _step(name: str) -> Iterator[None]:
    """Say the seconds of a step, as the jobs do."""
    began = time.monotonic()
    yield
    print(f"{name} done in {time.monotonic() - began:.1f} s", file=sys.stderr)


def main(argv: Sequence[str]) -> int:
    """Parse the command line and run."""
    parser = Parser("lean", "Make the tables of a standing backlog in few steps.")
    parser.add_argument("--as-of", required=True, type=instant, help="the instant to describe")
    options = parser.parse_args(argv)
    settings, out = opened(options, "lean")
    run(settings, out, options.as_of)
    return 0


if __name__ == "__main__":
    launch(main)

"""Physical plans of Apache Spark: nothing that gets slow or runs out of memory as the log grows.

The tables' frames are empty here but of unknown size to Spark, so that the plans are those of big tables:
what is broadcast is broadcast on purpose.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import cached_property
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession, Window, functions as F
from pyspark.sql.types import StructType

from pipelines.config.catalog import BINDINGS
from pipelines.config.model import Blocks, Starvation
from pipelines.engine.frames import small_frame
from pipelines.ingest.duplicates import (
    decide_duplicates,
    find_repeated,
    find_repeated_hashes,
    narrow_rows,
    select_accepted,
    select_near_suspects,
    select_suspects,
)
from pipelines.ingest.endpoints import find_first_arrivals, find_kinds, resolve_endpoints
from pipelines.ingest.late_events import Lookback, select_closed_rows
from pipelines.ingest.retention import (
    CloseAt,
    select_closing_conversations,
    select_last_of_kind,
    select_open_conversations,
    select_open_messages,
    select_open_transactions,
    select_redelivered,
)
from pipelines.ingest.sides import conversation_sides
from pipelines.ladder.ladder import levels_of_kinds, with_priority
from pipelines.questions.coverage import DECIDED, count_rule_uses
from pipelines.schedules.blocks import in_blocks
from pipelines.schedules.groups import ordered_groups, ready_conversations, ready_groups
from pipelines.schedules.messages import unresolved
from pipelines.schedules.numbering import level_and_minute, number_rows
from pipelines.schedules.orders import Backlog, on_their_way, queued
from pipelines.schedules.ready import queues_off
from pipelines.schedules.receive import receive_schedule
from pipelines.schedules.transmission import sendable, transmission_order, with_transmit_priority
from pipelines.state.endpoints import endpoints_at, latest_moves, with_queue
from pipelines.state.ledger import Ledger
from pipelines.state.open_messages import StateOfMessages, state_of_messages
from pipelines.state.transactions import named_locks
from pipelines.storage.warehouse import Warehouse
from schemas import CONTRACTS, TABLES
from schemas.outputs import GROUP_PRIORITIES
from schemas.reading import as_of_key
from tests.engines.play import MUCH
from tests.support.factories import INITIATOR, TARGET, at, rule
from tests.support.opened import opened
from tests.support.plans import SINGLE, operators, settings

QUEUES = "instance string, database string, queue string, is_on boolean"
DATABASES = "instance string, database string"
FORBIDDEN = (SINGLE, "BroadcastNestedLoopJoin", "CartesianProduct")
AS_OF = at(60)
UNTIL = CloseAt.at(None, AS_OF)
DAY, DAY_BEFORE = date(2026, 11, 20), date(2026, 11, 19)


class Frames:
    """Frames of the tables, and the steps of fold and schedules over them."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def of_unknown_size(self, schema: StructType | str) -> DataFrame:
        empty: DataFrame = self.spark.createDataFrame(self.spark.sparkContext.emptyRDD(), schema)
        return empty

    def kept(self, rows: DataFrame) -> DataFrame:
        """Rows that the jobs keep: what reads them does not plan them again."""
        return self.of_unknown_size(rows.schema)

    def table(self, name: str) -> DataFrame:
        return self.of_unknown_size(TABLES[name].struct)

    @property
    def bindings(self) -> DataFrame:
        return self.of_unknown_size(BINDINGS)

    @property
    def ledger(self) -> Ledger:
        names = ("message_events", "endpoint_events", "queue_events", "endpoints")
        messages, conversations, queues, endpoints = map(self.table, names)
        return Ledger(messages, conversations, queues, endpoints, has_queue_events=True)

    @cached_property
    def state(self) -> StateOfMessages:
        return state_of_messages(self.ledger, as_of=AS_OF, materialize=lambda rows: rows)

    # The fold

    def verdicts(self) -> DataFrame:
        contract = CONTRACTS["message_events"]
        rows = self.table("message_events").selectExpr(
            "*", "event_id reasons", "event_id mistyped", "event_id raw"
        )
        recorded = self.table("message_events")
        hashes = find_repeated_hashes(
            narrow_rows(rows, contract), recorded, full_days={DAY}, other_days={DAY_BEFORE}
        )
        near_rows = self.kept(select_near_suspects(rows, self.kept(narrow_rows(rows, contract)), hashes))
        few = select_suspects(near_rows, hashes)
        verdicts = decide_duplicates(few, find_repeated(few, recorded, contract), contract)
        return select_accepted(rows, near_rows, verdicts, contract, self.kept)

    def late(self) -> DataFrame:
        reach = Lookback({DAY}, {DAY_BEFORE}, everywhere=False)
        return select_closed_rows(
            self.table("message_events"), self.table("message_events"), ["message_id"], reach
        )

    @cached_property
    def sides(self) -> DataFrame:
        return conversation_sides(*map(self.table, ("endpoint_events", "message_events", "endpoints")))

    @cached_property
    def redelivered(self) -> DataFrame:
        state = replace(
            self.state,
            as_of=UNTIL.state_at,
            uncommitted=self.kept(self.state.uncommitted),
            messages=self.kept(self.state.messages),
        )
        return select_redelivered(self.ledger, state, self.kept(self.sides), materialize=self.kept)

    @cached_property
    def open_messages(self) -> DataFrame:
        messages, redelivered = self.table("message_events"), self.kept(self.redelivered)
        return select_open_messages(messages, self.state.messages, redelivered, UNTIL)

    def open_transactions(self) -> DataFrame:
        return select_open_transactions(self.ledger, self.state.uncommitted, self.open_messages, UNTIL)

    def open_conversations(self) -> DataFrame:
        return select_open_conversations(self.kept(self.sides), self.open_messages, UNTIL)

    def closing_conversations(self) -> DataFrame:
        return select_closing_conversations(self.kept(self.sides), self.kept(self.open_messages), UNTIL)

    @cached_property
    def places(self) -> DataFrame:
        return find_first_arrivals(self.table("message_events"), self.table("endpoints"))

    def endpoints(self) -> DataFrame:
        known = self.table("endpoints")
        events = self.table("endpoint_events")
        looked_up = self.kept(self.sides), self.kept(latest_moves(events)), self.kept(self.places)
        return resolve_endpoints(events, *looked_up, known, self.kept(self.levels))

    @cached_property
    def levels(self) -> DataFrame:
        kinds = find_kinds(self.table("endpoint_events"), self.kept(self.places))
        return with_queue(levels_of_kinds(self.kept(kinds), self.table("priority_rules")), self.bindings)

    # The schedules

    @cached_property
    def off(self) -> DataFrame:
        return queues_off(self.of_unknown_size(QUEUES), self.table("queue_events"))

    @cached_property
    def backlog(self) -> Backlog:
        at_as_of = endpoints_at(
            self.table("endpoints"), self.table("endpoint_events"), self.bindings, as_of=AS_OF
        )
        return Backlog(
            self.kept(self.state.messages),
            self.kept(at_as_of),
            self.state.forwarding,
            named_locks(self.table("queue_events"), self.state.uncommitted),
            self.kept(self.off),
        )

    @cached_property
    def received(self) -> DataFrame:
        return queued(self.backlog)

    @cached_property
    def sent(self) -> DataFrame:
        return on_their_way(self.backlog)

    @cached_property
    def ready(self) -> DataFrame:
        return self.received.drop("receiver_exists", "unknown_handle")

    @cached_property
    def in_groups(self) -> DataFrame:
        return ready_conversations(self.kept(self.ready), self.kept)

    @cached_property
    def groups(self) -> DataFrame:
        return ready_groups(self.kept(self.in_groups))

    @cached_property
    def ordered(self) -> DataFrame:
        return ordered_groups(self.kept(self.groups), are_many=True)

    def receive(self, top: int | None) -> DataFrame:
        return receive_schedule(
            *map(self.kept, (self.ready, self.in_groups, self.ordered)), top=top, are_many=True
        )

    def transmission(self) -> DataFrame:
        rows = sendable(self.kept(self.sent), self.state.forwarding, self.bindings, self.kept(self.off))
        starvation = Starvation(after_seconds=60.0, raise_by=1)
        honoring = self.of_unknown_size(DATABASES).withColumn("honors", F.lit(True))
        with_levels = with_transmit_priority(rows, honoring, as_of=AS_OF, starvation=starvation)
        return transmission_order(self.kept(with_levels), are_many=True)


STEPS: dict[str, Callable[[Frames], DataFrame]] = {
    "accepted events": Frames.verdicts,
    "late events": Frames.late,
    "messages given back": lambda frames: frames.redelivered,
    "open messages": lambda frames: frames.open_messages,
    "open transactions": Frames.open_transactions,
    "open conversations": Frames.open_conversations,
    "closing conversations": Frames.closing_conversations,
    "last of a kind": lambda frames: select_last_of_kind(frames.table("queue_events"), UNTIL),
    "levels of kinds": lambda frames: frames.levels,
    "endpoints": Frames.endpoints,
    "messages in queues": lambda frames: frames.received,
    "messages on their way": lambda frames: frames.sent,
    "queues that are off": lambda frames: frames.off,
    "ready conversations": lambda frames: frames.in_groups,
    "ready groups": lambda frames: frames.groups,
    "ordered groups": lambda frames: frames.ordered,
    "receive schedule": lambda frames: frames.receive(None),
    "receive schedule with TOP": lambda frames: frames.receive(2),
    "transmission schedule": Frames.transmission,
    "transmission schedule in blocks": lambda frames: in_blocks(
        frames.kept(frames.transmission()), Blocks(fragment_bytes=1000, fragments=5), are_many=True
    ),
    "unresolved": lambda frames: unresolved(frames.kept(frames.received), frames.kept(frames.sent)),
}


def test_a_step_that_gathers_everything_is_seen(spark: SparkSession) -> None:
    counted = spark.range(3).groupBy("id").count()
    numbered = counted.withColumn("number", F.row_number().over(Window.orderBy("count")))
    assert operators(numbered)[SINGLE] == 1


@pytest.fixture(scope="module")
def frames(spark: SparkSession) -> Frames:
    """One for all steps: a frame that several need is analysed once."""
    return Frames(spark)


@pytest.mark.parametrize("step", STEPS)
def test_no_step_gathers_everything_or_compares_all_pairs(frames: Frames, step: str) -> None:
    plan = operators(STEPS[step](frames))
    assert {name: plan[name] for name in FORBIDDEN if plan[name]} == {}


@pytest.mark.parametrize("rules", [1, 10_000])
def test_the_ladder_is_eight_hash_joins_whatever_the_number_of_rules(spark: SparkSession, rules: int) -> None:
    columns = "instance string, database string, contract string, local_service string, remote_service string"
    names = [["SQL1", "A", "Contract", INITIATOR, TARGET, at(0)]]
    history = [rule(f"R{number}", contract=f"C{number}") for number in range(rules)]
    found = with_priority(
        spark.createDataFrame(names, f"{columns}, created_at timestamp"),
        spark.createDataFrame(
            history, f"name string, {columns}, level int, valid_from timestamp, valid_to timestamp"
        ),
    )
    assert operators(found) == {"BroadcastHashJoin": 8}


def test_coverage_joins_by_hash_and_has_no_step_of_one_task(frames: Frames) -> None:
    tables = ("endpoints", "message_events", "receive_schedule", "transmission_schedule", "priority_rules")
    given = [*map(frames.table, tables), frames.spark.createDataFrame([], DECIDED)]
    found = operators(count_rule_uses(*given, as_of=AS_OF))
    assert found["BroadcastHashJoin"] >= 1
    assert set(found) <= {"BroadcastHashJoin", "SortMergeJoin", "ShuffledHashJoin"}


def test_a_line_is_not_sorted_in_one_task(frames: Frames) -> None:
    found = number_rows(
        frames.of_unknown_size("id string, queue string, level int, time timestamp"),
        within=["queue"],
        buckets=level_and_minute(F.col("level"), F.col("time")),
        order=[F.desc("level"), F.asc("time"), F.asc("id")],
    )
    assert set(operators(found)) <= {"SortMergeJoin", "BroadcastHashJoin"}
    plan = found._jdf.queryExecution().optimizedPlan().toString()
    windows = [line for line in plan.splitlines() if line.lstrip(" +-:").startswith("Window ")]
    over_rows = [line for line in windows if "row_number" in line or "id#" in line]
    assert over_rows
    assert all("bucket_0" in line and "bucket_1" in line for line in over_rows)


def test_a_queue_is_in_one_file(spark: SparkSession, tmp_path: Path) -> None:
    """Rows stay together in a file, however many files a write makes."""
    rows = [
        (
            at(60), as_of_key(at(60)), f"SQL{queue % 3}", "A", f"Queue{queue // 2}", f"group {group}", 5, "c",
            1, 1, at(group), "ready" if group else "queue_off", group or None,
        )
        for group in range(12)
        for queue in range(12)
    ]  # fmt: skip
    warehouse = Warehouse(spark, str(tmp_path))
    with settings(spark, adaptive_enabled="false", shuffle_partitions="5"):
        warehouse.replace(GROUP_PRIORITIES, small_frame(spark, rows, GROUP_PRIORITIES.struct))
    with settings(spark, **MUCH):
        table = warehouse.read(GROUP_PRIORITIES)
    assert len(table.inputFiles()) == 5
    for queue in range(12):
        place = (F.col("instance") == f"SQL{queue % 3}") & (F.col("queue") == f"Queue{queue // 2}")
        with opened(spark) as files:
            assert table.where(place).count() == 12
        assert files == {"group_priorities": 1}

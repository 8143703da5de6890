"""The schedules' physical plans: nothing that gets slow or runs out of memory as the log grows.

The ledger's frames are empty here but of unknown size to Spark, so that the plans are those of big
tables: what is broadcast is broadcast on purpose.
"""

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.ledger.endpoints import fold_endpoints
from pipelines.ledger.messages import fold_messages
from pipelines.ledger.transactions import fold_transactions
from pipelines.schedules.blocks import in_blocks
from pipelines.schedules.endpoint_state import conversations_at
from pipelines.schedules.groups import group_priorities, ready_conversations, ready_groups
from pipelines.schedules.message_state import messages_at
from pipelines.schedules.queue_state import groups_locked, queues_off
from pipelines.schedules.ready import ready_messages
from pipelines.schedules.receive import receive_schedule
from pipelines.schedules.transmission import transmission_order
from pipelines.schedules.unresolved import unresolved
from pipelines.settings.catalog import BINDINGS
from pipelines.settings.model import Blocks, Starvation
from schemas import ACCEPTED, TABLES
from tests.factories import at
from tests.plans import SINGLE, operators

QUEUES = "instance string, database string, queue string, is_on boolean"
DATABASES = "instance string, database string"
FORBIDDEN = (SINGLE, "BroadcastNestedLoopJoin", "CartesianProduct")
AS_OF = at(60)


class Frames:
    """Frames of the ledger, and the steps of the schedules over them."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def of_unknown_size(self, schema: object) -> DataFrame:
        empty: DataFrame = self.spark.createDataFrame(self.spark.sparkContext.emptyRDD(), schema)
        return empty

    def table(self, name: str) -> DataFrame:
        return self.of_unknown_size((TABLES | ACCEPTED)[name].struct)

    @property
    def bindings(self) -> DataFrame:
        return self.of_unknown_size(BINDINGS)

    @property
    def off(self) -> DataFrame:
        return queues_off(self.of_unknown_size(QUEUES), self.table("queue_changes"), as_of=AS_OF)

    @property
    def messages(self) -> DataFrame:
        conversations = conversations_at(
            self.table("endpoints"), self.table("early_facts"), self.bindings, as_of=AS_OF
        )
        return messages_at(self.table("messages"), conversations, as_of=AS_OF, every_receive_counts=False)

    @property
    def ready(self) -> DataFrame:
        locked = groups_locked(self.table("transactions"), self.messages, as_of=AS_OF)
        return ready_messages(self.messages, self.off, locked)

    @property
    def groups(self) -> DataFrame:
        return ready_groups(ready_conversations(self.ready))

    def receive(self, top: int | None) -> DataFrame:
        return receive_schedule(self.ready, ready_conversations(self.ready), self.groups, top=top)

    def transmission(self) -> DataFrame:
        return transmission_order(
            self.messages,
            self.bindings,
            self.of_unknown_size(DATABASES),
            self.off,
            as_of=AS_OF,
            starvation=Starvation(after_seconds=60.0, raise_by=1),
        )

    def folded_messages(self) -> DataFrame:
        old = self.table("messages").selectExpr(
            "*", "cast(null as date) ended_on", "cast(null as date) dropped_on"
        )
        outcomes = self.table("transactions").drop("locks", "last_fact_on", "closed_on", "ledger_batch")
        return fold_messages(old, self.table("message_events"), outcomes, every_receive_counts=False)

    def folded_endpoints(self) -> DataFrame:
        return fold_endpoints(
            self.table("endpoints"),
            self.table("early_facts"),
            self.table("endpoint_events"),
            self.table("message_events"),
        )


STEPS: dict[str, Callable[[Frames], DataFrame]] = {
    "messages": lambda frames: frames.messages,
    "ready messages": lambda frames: frames.ready,
    "group priorities": lambda frames: group_priorities(frames.groups),
    "receive schedule": lambda frames: frames.receive(None),
    "receive schedule with TOP": lambda frames: frames.receive(2),
    "transmission schedule": Frames.transmission,
    "transmission schedule in blocks": lambda frames: in_blocks(
        frames.transmission(), Blocks(fragment_bytes=1000, fragments=5)
    ),
    "unresolved": lambda frames: unresolved(frames.messages),
    "fold of messages": Frames.folded_messages,
    "fold of endpoints": Frames.folded_endpoints,
    "fold of transactions": lambda frames: fold_transactions(
        frames.table("transactions"), frames.table("queue_events")
    ),
}


@pytest.mark.parametrize("step", STEPS)
def test_no_step_gathers_everything_or_compares_all_pairs(spark: SparkSession, step: str) -> None:
    plan = operators(STEPS[step](Frames(spark)))
    assert {name: plan[name] for name in FORBIDDEN if plan[name]} == {}

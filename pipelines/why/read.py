"""What causes read of a warehouse: its tables as they stand at a published as_of."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.activation.read import queues_off_at, rollbacks
from pipelines.engine.frames import small_frame
from pipelines.engine.materialize import Materialize
from pipelines.questions.names_in_use import drop_names_in_use
from pipelines.questions.open_messages import NAMES, SCHEDULES, read_open
from pipelines.questions.unresolved import locate_unresolved
from pipelines.rules.history import RuleVersion
from pipelines.rules.near_rules import NearRule
from pipelines.server.snapshots.views import ENDPOINTS as CONVERSATION_ENDPOINTS, MONITORS
from pipelines.state.endpoints import SIDE
from pipelines.state.events_before import events_before
from pipelines.storage.histories import stored_versions
from pipelines.storage.monitors import read_latest_monitors
from pipelines.storage.snapshots.newest import (
    NewestViews,
    read_complete_endpoints,
    read_complete_queues,
    read_newest_views,
)
from pipelines.storage.warehouse import Warehouse
from pipelines.why.places import Row
from schemas.keys import QUEUE
from schemas.ledger import ENDPOINTS
from schemas.outputs import ACTIVATION, PRIORITY_RULES, RECEIVE_SCHEDULE
from schemas.table import Table

OF_MESSAGE = (
    *("message_id", *SIDE, "unit", "conversation_group_id", "position", "receive_number", "counts_as"),
    *("level", "state", "since", "held_since", "held_by", "waits_for", "sent_level", "honored", "block"),
    "status",
)
"""Of `read_open`."""
Key = TypeVar("Key")


@dataclass(frozen=True)
class PublishedTables:
    """The tables of a warehouse at a published as_of.

    Attributes:
        warehouse: all tables.
        as_of: the as_of.
        materialize: computes a frame once.
    """

    warehouse: Warehouse
    as_of: datetime
    materialize: Materialize

    @property
    def spark(self) -> SparkSession:
        """The session of all frames."""
        return self.warehouse.spark

    def endpoints(self) -> DataFrame:
        """Rows of `endpoints` that are open at as_of, and were created before it."""
        return self.warehouse.read_open(ENDPOINTS, self.as_of).where(F.col("created_at") < F.lit(self.as_of))

    def left(self, table: Table, since: datetime | None) -> DataFrame:
        """Rows of a ledger table that may matter at a moment or later; without a moment all that are left."""
        return self.warehouse.read(table) if since is None else self.warehouse.read_left(table, since)

    def events(self, table: Table) -> DataFrame:
        """Events before as_of that may matter then."""
        return events_before(self.left(table, self.as_of), self.as_of)

    def logged(self, table: Table, since: datetime | None) -> DataFrame:
        """Events before as_of that a log has, from a moment on; without a moment all that are left."""
        later = F.lit(True) if since is None else F.col("event_time") >= F.lit(since)
        return events_before(self.left(table, since), self.as_of).where(F.col("seen_at").isNull() & later)

    def schedules(self, *columns: str) -> DataFrame:
        """One row per place and message of both schedules: PLACE, empty where it has no name, and columns."""
        frames = []
        for schedule in SCHEDULES:
            messages = read_open(self.warehouse, schedule, self.as_of)
            place = [(F.col(name) if name in schedule.within else F.lit("")).alias(name) for name in QUEUE]
            frames.append(messages.select("kind", *place, *columns))
        received, sent = frames
        return received.unionByName(sent)

    def open_messages(self) -> DataFrame:
        """The messages of `schedules`, with OF_MESSAGE, and NAMES of the message."""
        return self.schedules(*OF_MESSAGE, *NAMES)

    def positions(self) -> DataFrame:
        """The messages of `schedules` that have a position: PLACE, that, `counts_as`, `unit` and `block`."""
        return self.schedules("position", "counts_as", "unit", "block").where("position is not null")

    def unresolved(self) -> DataFrame:
        """The messages that can't be placed.

        Returns:
            One row per message, with columns of `open_messages` and `with_endpoints`: instance, database and
            queue are empty, and the holding endpoint has no more than its place; and `reason`, `schedule` and
            `is_whole`, whether the newest snapshot of its database shows all endpoints.
        """
        newest = self.newest_views(CONVERSATION_ENDPOINTS)
        whole = small_frame(
            self.spark,
            [(*place, True) for place, (_, is_complete) in newest.items() if is_complete],
            "instance string, database string, is_whole boolean",
        )
        rows = locate_unresolved(self.warehouse, self.as_of, are_later_known=False)
        rows = rows.join(F.broadcast(whole), ["instance", "database"], "left")
        return rows.select(
            F.lit("unresolved").alias("kind"),
            *[F.lit("").alias(name) for name in QUEUE],
            "message_id",
            *SIDE,
            F.lit("unresolved").alias("state"),
            "since",
            "status",
            *NAMES,
            "reason",
            F.col("kind").alias("schedule"),
            "is_whole",
            F.col("instance").alias("endpoint_instance"),
            F.col("database").alias("endpoint_database"),
        )

    def queues_off(self) -> list[Row]:
        """Queues that are off; see `queues_off_at`."""
        return queues_off_at(self.warehouse, self.as_of)

    def rollbacks(self) -> DataFrame:
        """How often the messages of `receive_schedule` were rolled back; see `rollbacks`."""
        received = self.warehouse.read_as_of(RECEIVE_SCHEDULE, self.as_of).select("message_id").distinct()
        return rollbacks(self.warehouse, received, self.as_of)

    def activation(self) -> DataFrame:
        """Rows of `activation`."""
        return self.warehouse.read_as_of(ACTIVATION, self.as_of)

    def rule_versions(self) -> list[RuleVersion]:
        """All versions of rules."""
        return stored_versions(self.warehouse.read(PRIORITY_RULES))

    def without_names_in_use(self, near: Mapping[Key, Sequence[NearRule]]) -> dict[Key, list[NearRule]]:
        """See `drop_names_in_use`."""
        return drop_names_in_use(self.warehouse, near, self.as_of)

    def monitors(self) -> tuple[NewestViews, list[Row]]:
        """The newest views of monitors, and the monitors that they show; see `read_latest_monitors`."""
        views = self.newest_views(MONITORS)
        return views, read_latest_monitors(self.warehouse, self.as_of, views) if views else []

    def newest_views(self, view: str) -> NewestViews:
        """See `read_newest_views`."""
        return read_newest_views(self.warehouse, view, self.as_of)

    def complete_views_of_queues(self) -> DataFrame:
        """See `read_complete_queues`."""
        return read_complete_queues(self.warehouse, self.as_of)

    def complete_views_of_endpoints(self) -> DataFrame:
        """See `read_complete_endpoints`."""
        return read_complete_endpoints(self.warehouse)


@contextmanager
def read_published(warehouse: Warehouse, as_of: datetime) -> Iterator[PublishedTables]:
    """The tables of a published as_of; frames that are materialized are deleted on exit."""
    with warehouse.materializing() as materialize:
        yield PublishedTables(warehouse, as_of, materialize)

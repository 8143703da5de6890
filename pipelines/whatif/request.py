"""The parts of a what-if, each read from the warehouse and computed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.load import Settings
from pipelines.config.proposal import Proposal, standing
from pipelines.engine.differences import Materialize
from pipelines.schedules.orders import receive_order, send_order
from pipelines.schedules.read import catalog_frames
from pipelines.schedules.ready import in_conversations
from pipelines.state.endpoints import SIDE, with_queue
from pipelines.storage.collect import collect_rows
from pipelines.storage.published import settings_of
from pipelines.storage.warehouse import Warehouse
from pipelines.whatif.levels import as_proposed, changed_endpoints, changed_kinds, rules_frame, with_cause
from pipelines.whatif.moves import (
    SIDES,
    groups_moved,
    published_owners,
    received_by_level,
    received_moved,
    sent_by_level,
    sent_moved,
)
from schemas.keys import ENDPOINT_NAMES, GROUP, QUEUE
from schemas.ledger import ENDPOINTS
from schemas.outputs import GROUP_PRIORITIES, RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE
from schemas.table import Table
from schemas.whatif import WHATIF_ENDPOINTS


def places_anew(rows: DataFrame, within: Sequence[str], everywhere: Mapping[str, bool]) -> DataFrame:
    """The places that are to be ordered anew.

    Args:
        rows: messages with `level`, `level_before` and `level_after`.
        within: the columns of a place.
        everywhere: for each of `SIDES`, whether a setting orders all places otherwise than the levels.

    Returns:
        One row per place with any: its columns and for each of `SIDES` whether it is to be ordered anew.
    """
    differs = {
        side: F.lit(True) if everywhere[side] else F.col(f"level_{side}") != F.col("level") for side in SIDES
    }
    return (
        rows.groupBy(*within)
        .agg(*[F.bool_or(differs[side]).alias(side) for side in SIDES])
        .where(" or ".join(SIDES))
    )


def sides_anew(places: DataFrame) -> list[str]:
    """The `SIDES` for which any place is to be ordered anew."""
    found = collect_rows(places.agg(*[F.bool_or(side).alias(side) for side in SIDES]))
    return [side for side in SIDES if found[0][side]]


def rows_of(rows: DataFrame, places: DataFrame, side: str) -> DataFrame:
    """The messages of the places that are to be ordered anew for a side.

    Args:
        rows: messages.
        places: `places_anew` of them, kept.
        side: one of `SIDES`.
    """
    names = [name for name in places.columns if name not in SIDES]
    return rows.join(F.broadcast(places.where(side).select(*names)), names, "left_semi")


IN_CONVERSATION = ("message_id", "message_sequence_number")
READY = (*GROUP, *SIDE, *IN_CONVERSATION, "message_type", "arrived_at", "queuing_order", "state")
"""What the order of receiving needs of a message besides its level."""
SENDABLE = (
    "instance",
    "conversation_id",
    "sent_by_initiator",
    *IN_CONVERSATION,
    "sendable_at",
    "destination_instance",
    "size_bytes",
)
"""What the order of sending needs of a message besides its level."""


@dataclass(frozen=True)
class WhatIfRequest:
    """A what-if; the arguments are those of `what_if`, and `materialize` computes a frame once."""

    warehouse: Warehouse
    settings: Settings
    proposal: Proposal
    as_of: datetime
    as_if: datetime | None
    materialize: Materialize

    @cached_property
    def made_by(self) -> dict[str, Any]:
        """The settings that the published orders were made by; see `settings_of`."""
        return settings_of(self.warehouse, self.as_of)

    @property
    def by(self) -> dict[str, Settings]:
        """The settings of each of `SIDES`."""
        return dict(zip(SIDES, (self.settings, self.proposal.settings), strict=True))

    def reordered_kinds(self) -> set[str]:
        """The kinds of schedules in which other settings put messages of equal levels in another order."""
        current, proposed = self.settings, self.proposal.settings
        differs = {
            "receive": current.receive != proposed.receive,
            "transmission": current.transmission.blocks != proposed.transmission.blocks,
        }
        return {kind for kind in differs if differs[kind]}

    def settings_move(self) -> bool:
        """Whether other settings can move messages of endpoints that keep their levels."""
        current, proposed = self.settings, self.proposal.settings
        honors = [set(settings.catalog.database_rows()) for settings in (current, proposed)]
        other_levels = current.transmission.starvation != proposed.transmission.starvation
        return bool(self.reordered_kinds()) or other_levels or honors[0] != honors[1]

    def kinds(self) -> DataFrame:
        """The kinds of endpoints that get another level: `with_cause`."""
        today, proposed = (
            self.materialize(rules_frame(self.warehouse.spark, standing(settings.rule_history)))
            for settings in self.by.values()
        )
        return self.materialize(with_cause(changed_kinds(self._there(), proposed, as_if=self.as_if), today))

    def endpoints(self, kinds: DataFrame) -> DataFrame:
        """The table `whatif_endpoints`."""
        changed = changed_endpoints(self._there(), kinds, as_if=self.as_if)
        bindings = catalog_frames(self.warehouse, self.settings).bindings
        return with_queue(changed, bindings).select(*WHATIF_ENDPOINTS.names)

    def _there(self) -> DataFrame:
        return self.warehouse.read(ENDPOINTS).where(self._exist()).drop("queue")

    def _exist(self) -> Column:
        return F.col("created_at") < F.lit(self.as_of)

    def levels(self, kinds: DataFrame) -> DataFrame:
        """The endpoints of published messages that exist at as_of, with `recorded` and `proposed` levels."""
        owners = published_owners(self._published(RECEIVE_SCHEDULE), self._published(TRANSMISSION_SCHEDULE))
        # A message can be forwarded before the ledger knows its endpoints, or before they are created.
        endpoints = self.warehouse.read_open(ENDPOINTS, self.as_of).where(self._exist())
        # The few stand on the left: the embedded engine holds that side in memory.
        there = owners.join(endpoints, SIDE)
        recorded = there.select(
            *SIDE, *ENDPOINT_NAMES, "created_at", "priority", F.col("priority").alias("recorded")
        )
        proposed = as_proposed(recorded, kinds, as_if=self.as_if).withColumnRenamed("priority", "proposed")
        return self.materialize(proposed.select(*SIDE, "contract", "local_service", "recorded", "proposed"))

    def _published(self, table: Table) -> DataFrame:
        return self.warehouse.read_as_of(table, self.as_of)

    def received(self, levels: DataFrame) -> tuple[DataFrame, DataFrame]:
        """`received_moved` and the table `whatif_groups`."""
        rows = self.materialize(received_by_level(self._published(RECEIVE_SCHEDULE), levels))
        tops = {side: settings.receive.top for side, settings in self.by.items()}
        made = {
            side: receive_order(in_conversations(there), top=tops[side], materialize=self.materialize)
            for side, there in self._anew(rows, QUEUE, "receive", READY, "priority").items()
        }
        groups = self._published(GROUP_PRIORITIES)
        return (
            received_moved(rows, {side: order for side, (_, order) in made.items()}),
            groups_moved(groups, {side: of_side for side, (of_side, _) in made.items()}),
        )

    def sent(self, levels: DataFrame) -> DataFrame:
        """`sent_moved`."""
        published = self._published(TRANSMISSION_SCHEDULE)
        honoring = {side: catalog_frames(self.warehouse, by).honoring for side, by in self.by.items()}
        starvation = {side: settings.transmission.starvation for side, settings in self.by.items()}
        rows = self.materialize(sent_by_level(published, levels, honoring, starvation, as_of=self.as_of))
        blocks = {side: settings.transmission.blocks for side, settings in self.by.items()}
        there = self._anew(rows, ["instance"], "transmission", SENDABLE, "transmit_priority")
        return sent_moved(
            rows,
            {
                side: send_order(there[side], blocks=blocks[side], materialize=self.materialize)
                for side in there
            },
        )

    def _anew(
        self, rows: DataFrame, within: Sequence[str], part: str, names: Sequence[str], level: str
    ) -> dict[str, DataFrame]:
        """The messages of places that are to be ordered anew, for those of `SIDES` that have any.

        Args:
            rows: messages by level, kept.
            within: the columns of a place.
            part: the part of the settings that orders places.
            names: the columns that the order needs.
            level: what it calls the level.
        """
        made_by = self.made_by.get(part)
        everywhere = {side: getattr(by, part).model_dump() != made_by for side, by in self.by.items()}
        places = self.materialize(places_anew(rows, within, everywhere))
        return {
            side: rows_of(rows, places, side).select(*names, F.col(f"level_{side}").alias(level))
            for side in sides_anew(places)
        }

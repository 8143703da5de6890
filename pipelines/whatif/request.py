"""The parts of a what-if, each read from the warehouse and computed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.materialize import Materialize
from pipelines.schedules.orders import receive_order, send_order
from pipelines.schedules.read import catalog_frames
from pipelines.schedules.ready import with_arrival_order
from pipelines.settings.load import Settings
from pipelines.settings.proposal import Proposal, keep_standing_rules
from pipelines.state.endpoints import SIDE, with_queue
from pipelines.storage.collect import collect_rows
from pipelines.storage.histories import rules_frame
from pipelines.storage.published import settings_of
from pipelines.storage.warehouse import Warehouse
from pipelines.whatif.levels import as_proposed, by_today, changed_endpoints, changed_kinds, with_cause
from pipelines.whatif.moves import (
    SCENARIOS,
    group_moves,
    published_owners,
    received_by_level,
    received_moves,
    sent_by_level,
    sent_moves,
)
from schemas.keys import ENDPOINT_NAMES, GROUP, QUEUE
from schemas.ledger import ENDPOINTS
from schemas.outputs import GROUP_PRIORITIES, RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE
from schemas.table import Table
from schemas.whatif import WHATIF_ENDPOINTS

TODAY, RECORDED = BASELINES = ("today", "recorded")
"""What a proposal is compared with: the levels by today's rules, or those that endpoints have."""


def reordered_scopes(rows: DataFrame, within: Sequence[str], everywhere: Mapping[str, bool]) -> DataFrame:
    """Find the queues or instances whose published order is not that of a scenario.

    Args:
        rows: messages with `level`, `level_before` and `level_after`.
        within: the columns of a scope: a queue or an instance.
        everywhere: for each of `SCENARIOS`, whether other settings reorder all scopes.

    Returns:
        One row per scope that is reordered: its columns, and for each of `SCENARIOS` whether it is reordered.
    """
    differs = {
        scenario: F.lit(True) if everywhere[scenario] else F.col(f"level_{scenario}") != F.col("level")
        for scenario in SCENARIOS
    }
    return (
        rows.groupBy(*within)
        .agg(*[F.bool_or(differs[scenario]).alias(scenario) for scenario in SCENARIOS])
        .where(" or ".join(SCENARIOS))
    )


def reordered_scenarios(scopes: DataFrame) -> list[str]:
    """The `SCENARIOS` in which any scope is reordered."""
    [is_reordered] = collect_rows(
        scopes.agg(*[F.bool_or(scenario).alias(scenario) for scenario in SCENARIOS])
    )
    return [scenario for scenario in SCENARIOS if is_reordered[scenario]]


def rows_of_scopes(rows: DataFrame, scopes: DataFrame, scenario: str) -> DataFrame:
    """The messages of the scopes that are reordered in a scenario.

    Args:
        rows: messages.
        scopes: `reordered_scopes` of them, materialized.
        scenario: one of `SCENARIOS`.
    """
    names = [name for name in scopes.columns if name not in SCENARIOS]
    return rows.join(F.broadcast(scopes.where(scenario).select(*names)), names, "left_semi")


IN_CONVERSATION = ("message_id", "message_sequence_number")
READY = (*GROUP, *SIDE, *IN_CONVERSATION, "message_type", "arrived_at", "queuing_order", "state")
"""The columns that the receive order needs besides the level."""
SENDABLE = (
    "instance",
    "conversation_id",
    "sent_by_initiator",
    *IN_CONVERSATION,
    "sendable_at",
    "destination_instance",
    "size_bytes",
)
"""The columns that the transmission order needs besides the level."""


@dataclass(frozen=True)
class WhatIfRequest:
    """A what-if; the fields are the arguments of `what_if`, and `materialize` computes a frame once.

    With the baseline TODAY, `recorded` in names of frames is the level by today's rules.
    """

    warehouse: Warehouse
    settings: Settings
    proposal: Proposal
    as_of: datetime
    as_if: datetime | None
    materialize: Materialize
    baseline: str = RECORDED

    @cached_property
    def published_settings(self) -> dict[str, Any]:
        """The settings of the published schedules; see `settings_of`."""
        return settings_of(self.warehouse, self.as_of)

    @property
    def both_settings(self) -> dict[str, Settings]:
        """The settings of each of `SCENARIOS`."""
        return dict(zip(SCENARIOS, (self.settings, self.proposal.settings), strict=True))

    def reordered_kinds(self) -> set[str]:
        """The kinds of schedules whose messages of equal levels the proposed settings reorder."""
        current, proposed = self.settings, self.proposal.settings
        differs = {
            "receive": current.receive != proposed.receive,
            "transmission": current.transmission.blocks != proposed.transmission.blocks,
        }
        return {kind for kind in differs if differs[kind]}

    def settings_move(self) -> bool:
        """Whether the proposed settings can move messages of endpoints that keep their levels."""
        current, proposed = self.settings, self.proposal.settings
        honors = [set(settings.catalog.database_rows()) for settings in (current, proposed)]
        other_levels = current.transmission.starvation != proposed.transmission.starvation
        return bool(self.reordered_kinds()) or other_levels or honors[0] != honors[1]

    def kinds(self) -> DataFrame:
        """The kinds of endpoints that get another level: `with_cause`."""
        today, proposed = self._standing
        return self.materialize(
            with_cause(changed_kinds(self._endpoints(), proposed, as_if=self.as_if), today)
        )

    @cached_property
    def _standing(self) -> tuple[DataFrame, DataFrame]:
        """The rules that stand after the last current, and after the last proposed statement."""
        today, proposed = (
            self.materialize(rules_frame(self.warehouse.spark, keep_standing_rules(settings.rule_history)))
            for settings in self.both_settings.values()
        )
        return today, proposed

    def drift(self, kinds: DataFrame) -> int | None:
        """How many endpoints have another level than today's rules give, which the proposal gives, too.

        None with the baseline RECORDED: then the kinds have it.

        Args:
            kinds: those that the proposal changes, from the levels of today.
        """
        if self.baseline == RECORDED:
            return None
        kept = self._endpoints().where("ledger_priority <> priority")
        changed = F.broadcast(kinds.select(*ENDPOINT_NAMES))
        return kept.join(changed, list(ENDPOINT_NAMES), "left_anti").count()

    def endpoints(self, kinds: DataFrame) -> DataFrame:
        """The table `whatif_endpoints`."""
        changed = changed_endpoints(self._endpoints(), kinds, as_if=self.as_if)
        if self.baseline == TODAY:
            changed = changed.withColumn("recorded", F.col("ledger_priority"))
        bindings = catalog_frames(self.warehouse, self.settings).bindings
        return with_queue(changed, bindings).select(*WHATIF_ENDPOINTS.names)

    def _endpoints(self) -> DataFrame:
        return self._before(self.warehouse.read(ENDPOINTS).where(self._is_created()).drop("queue"))

    def _before(self, endpoints: DataFrame) -> DataFrame:
        """The endpoints with the levels that the proposal is compared with."""
        return by_today(endpoints, self._standing[0]) if self.baseline == TODAY else endpoints

    def _is_created(self) -> Column:
        return F.col("created_at") < F.lit(self.as_of)

    def levels(self, kinds: DataFrame) -> DataFrame:
        """The endpoints of published messages that exist at as_of, with `recorded` and `proposed` levels."""
        owners = published_owners(self._published(RECEIVE_SCHEDULE), self._published(TRANSMISSION_SCHEDULE))
        # A message can be forwarded before its endpoints are in the ledger, or before they are created.
        endpoints = self.warehouse.read_open(ENDPOINTS, self.as_of).where(self._is_created())
        existing = self._before(owners.join(endpoints, SIDE))
        recorded = existing.select(
            *SIDE, *ENDPOINT_NAMES, "created_at", "priority", F.col("priority").alias("recorded")
        )
        proposed = as_proposed(recorded, kinds, as_if=self.as_if).withColumnRenamed("priority", "proposed")
        return self.materialize(proposed.select(*SIDE, "contract", "local_service", "recorded", "proposed"))

    def _published(self, table: Table) -> DataFrame:
        return self.warehouse.read_as_of(table, self.as_of)

    def compare_received(self, levels: DataFrame) -> tuple[DataFrame, DataFrame]:
        """`received_moves` and the table `whatif_groups`."""
        rows = self.materialize(received_by_level(self._published(RECEIVE_SCHEDULE), levels))
        tops = {scenario: settings.receive.top for scenario, settings in self.both_settings.items()}
        made = {
            scenario: receive_order(
                self.materialize(with_arrival_order(ready)), top=tops[scenario], materialize=self.materialize
            )
            for scenario, ready in self._reordered(rows, QUEUE, "receive", READY, "priority").items()
        }
        groups = self._published(GROUP_PRIORITIES)
        return (
            received_moves(rows, {scenario: order for scenario, (_, order) in made.items()}),
            group_moves(groups, {scenario: of_side for scenario, (of_side, _) in made.items()}),
        )

    def compare_sent(self, levels: DataFrame) -> DataFrame:
        """`sent_moves`."""
        published = self._published(TRANSMISSION_SCHEDULE)
        honoring = {
            scenario: catalog_frames(self.warehouse, settings).honoring
            for scenario, settings in self.both_settings.items()
        }
        starvation = {
            scenario: settings.transmission.starvation for scenario, settings in self.both_settings.items()
        }
        rows = self.materialize(sent_by_level(published, levels, honoring, starvation, as_of=self.as_of))
        blocks = {scenario: settings.transmission.blocks for scenario, settings in self.both_settings.items()}
        waiting = self._reordered(rows, ["instance"], "transmission", SENDABLE, "transmit_priority")
        return sent_moves(
            rows,
            {
                scenario: send_order(waiting[scenario], blocks=blocks[scenario], materialize=self.materialize)
                for scenario in waiting
            },
        )

    def _reordered(
        self, rows: DataFrame, within: Sequence[str], part: str, names: Sequence[str], level: str
    ) -> dict[str, DataFrame]:
        """The messages of reordered scopes, for those of `SCENARIOS` that have any.

        Args:
            rows: messages by level, materialized.
            within: the columns of a scope.
            part: the part of the settings that decides the order.
            names: the columns that the order needs.
            level: the name of the level column in the order.
        """
        published = self.published_settings.get(part)
        everywhere = {
            scenario: getattr(by, part).model_dump() != published
            for scenario, by in self.both_settings.items()
        }
        scopes = self.materialize(reordered_scopes(rows, within, everywhere))
        return {
            scenario: rows_of_scopes(rows, scopes, scenario).select(
                *names, F.col(f"level_{scenario}").alias(level)
            )
            for scenario in reordered_scenarios(scopes)
        }

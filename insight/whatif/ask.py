"""What if other rules had stood: the tables of the answer, and what of them is told."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, functions as F

from config.errors import ReconciliationError
from config.load import Settings
from config.proposal import Proposal, standing
from engine.differences import together
from insight.backlog import catalog_frames, read_backlog
from insight.whatif.levels import as_proposed, changed_endpoints, changed_kinds, rules_frame
from insight.whatif.moves import groups_moved, messages_moved
from insight.whatif.pairs import pairs
from insight.whatif.places import Anew, changed_places, messages_of
from insight.whatif.summary import summary
from pipelines.ledger.queues import with_queue
from pipelines.schedules.orders import Backlog, Keep, Orders, orders, placed
from pipelines.schedules.placed import placed_messages
from schemas.ledger import ENDPOINTS
from schemas.whatif import WHATIF_ENDPOINTS, WHATIF_MESSAGES
from storage.collected import collected
from storage.warehouse import Warehouse

MOST_MOVED = 10
PLACES = ("queue", "instance")
"""The dimensions of the summary that say where a message stands."""


@dataclass(frozen=True)
class WhatIf:
    """The tables of a what-if; each is a frame with the columns of `schemas.whatif`."""

    endpoints: DataFrame
    groups: DataFrame
    messages: DataFrame
    summary: DataFrame
    pairs: DataFrame

    def by_name(self) -> dict[str, DataFrame]:
        """The frames by the names of their tables."""
        return {f"whatif_{name}": frame for name, frame in vars(self).items()}


@contextmanager
def what_if(
    warehouse: Warehouse, settings: Settings, proposal: Proposal, *, as_of: datetime, as_if: datetime | None
) -> Iterator[WhatIf]:
    """Answer what the proposal changes; the frames may be read inside the block.

    Args:
        warehouse: what to read; nothing is written into it.
        settings: the current settings.
        proposal: the proposed ones.
        as_of: an as_of that was published.
        as_if: None applies the proposal as if it had always stood, an instant from then on.

    Raises:
        ReconciliationError: a message is in one of the orders only, or what is gained is not what is lost.

    Before is the order by the recorded levels and the current settings, after the one by the proposal.
    Which messages wait, and what holds them back, is the same. Unless a setting of the orders differs, only
    queues and instances with an endpoint that has open messages and another level are ordered anew.
    """
    with ExitStack() as stack:

        def keep(rows: DataFrame) -> DataFrame:
            return stack.enter_context(warehouse.kept(rows))

        asked = _Asked(warehouse, settings, proposal, as_of, as_if, keep)
        (changed, endpoints), waiting = together(warehouse.spark, asked.levels, asked.backlog)
        before, after = together(
            warehouse.spark, lambda: asked.before(waiting), lambda: asked.after(waiting, changed)
        )
        merged = before if after is None else after.over(before)
        moved = keep(messages_moved(before, merged))
        _require_sums(moved)
        messages = moved.select(*WHATIF_MESSAGES.names)
        yield WhatIf(
            endpoints=endpoints,
            groups=groups_moved(before, merged),
            messages=messages,
            summary=keep(summary(moved, waiting.endpoints)),
            pairs=keep(pairs(messages)),
        )


@dataclass(frozen=True)
class _Asked:
    """A what-if and its parts; the arguments are those of `what_if`."""

    warehouse: Warehouse
    settings: Settings
    proposal: Proposal
    as_of: datetime
    as_if: datetime | None
    keep: Keep

    def levels(self) -> tuple[DataFrame, DataFrame]:
        """The kinds of endpoints that get another level, and the table `whatif_endpoints`."""
        today, proposed = (
            rules_frame(self.warehouse.spark, standing(by.rule_history))
            for by in (self.settings, self.proposal.settings)
        )
        there = self.warehouse.read(ENDPOINTS).where(F.col("created_at") < F.lit(self.as_of)).drop("queue")
        kinds = self.keep(changed_kinds(there, proposed, as_if=self.as_if))
        changed = changed_endpoints(there, kinds, today, as_if=self.as_if)
        placed = with_queue(changed, catalog_frames(self.warehouse, self.settings).bindings)
        return kinds, self.keep(placed.select(*WHATIF_ENDPOINTS.names))

    def backlog(self) -> Backlog:
        """What waits, by the recorded levels."""
        catalog = catalog_frames(self.warehouse, self.settings)
        waiting = read_backlog(self.warehouse, catalog, self.as_of, self.keep)
        return replace(waiting, endpoints=self.keep(waiting.endpoints))

    def before(self, waiting: Backlog) -> Orders:
        """The orders by the recorded levels and the current settings."""
        return self._ordered(placed(waiting), waiting, self.settings)

    def after(self, waiting: Backlog, kinds: DataFrame) -> Anew | None:
        """The orders by the proposal, of the places where they may differ; None if nowhere."""
        by, levels = (
            self.proposal.settings,
            self.keep(as_proposed(waiting.endpoints, kinds, as_if=self.as_if)),
        )
        messages = placed_messages(waiting.messages, levels)
        if _orders_change(self.settings, by):
            return Anew(self._ordered(messages, waiting, by), None)
        places = self.keep(changed_places(waiting.endpoints, levels))
        if places.isEmpty():
            return None
        return Anew(self._ordered(messages_of(messages, waiting.forwarding, places), waiting, by), places)

    def _ordered(self, messages: DataFrame, waiting: Backlog, by: Settings) -> Orders:
        made = orders(
            self.keep(messages),
            waiting,
            catalog_frames(self.warehouse, by),
            as_of=self.as_of,
            receive=by.receive,
            transmission=by.transmission,
            keep=self.keep,
        )
        return Orders(made.groups, self.keep(made.received), self.keep(made.sent))


def told(answer: WhatIf, *, limit: int) -> dict[str, Any]:
    """What is told of the answer: counts, the places that change most, the largest moves, the pairs.

    Args:
        answer: the tables.
        limit: rows of each part, of `largest_moves` at most 10.
    """
    causes = {row["cause"]: row["endpoints"] for row in collected(_count_causes(answer.endpoints))}
    rows = collected(answer.summary)
    totals = [row for row in rows if row["dimension"] in PLACES]
    moves = answer.messages.where("moved <> 0").orderBy(
        F.desc(F.abs("moved")), "kind", "instance", "database", "queue", "message_id"
    )
    return {
        "endpoints": {cause: causes.get(cause, 0) for cause in ("proposal", "drift")},
        "messages": {name: sum(row[name] for row in totals) for name in ("messages", "gained", "lost")},
        "summary": sorted(rows, key=_most_moved_first)[:limit],
        "largest_moves": collected(moves.limit(min(limit, MOST_MOVED))),
        "pairs": collected(
            answer.pairs.orderBy(
                F.desc("pairs"), "instance", "database", "queue", "passing_level", "passed_level"
            ).limit(limit)
        ),
    }


def _count_causes(endpoints: DataFrame) -> DataFrame:
    return endpoints.groupBy("cause").agg(F.count(F.lit(1)).alias("endpoints"))


def _most_moved_first(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        -(row["positions_gained"] + row["positions_lost"]),
        row["kind"],
        row["dimension"],
        row["name"] or "",
    )


def _orders_change(current: Settings, proposed: Settings) -> bool:
    """Whether something but levels orders otherwise."""
    return (
        current.receive != proposed.receive
        or current.transmission != proposed.transmission
        or sorted(current.catalog.database_rows()) != sorted(proposed.catalog.database_rows())
    )


def _require_sums(moved: DataFrame) -> None:
    """The same messages before and after, and in each queue and instance somebody pays for what is gained."""
    in_one = F.col("level_before").isNull() | F.col("level_after").isNull()
    held = F.col("position_before").isNull() != F.col("position_after").isNull()
    by_place = moved.groupBy(
        "kind", "instance", F.when(F.col("kind") == "receive", F.col("database")).alias("of"), "queue"
    )
    wrong = collected(
        by_place.agg(
            F.count(F.when(in_one | held, 1)).alias("unmatched"), F.sum("moved").alias("moved")
        ).where("unmatched > 0 or moved <> 0")
    )
    if wrong:
        [first, *more] = wrong
        raise ReconciliationError(
            f"sums do not add up: {first['kind']} of {first['instance']} {first['queue'] or ''}: "
            f"{first['unmatched']} messages are in one order only, positions moved come to {first['moved']}"
            f"{f'; and {len(more)} more places' if more else ''}; keep the warehouse and report it"
        )

"""What if other rules had stood: the tables of the answer, and what of them is told."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, reduce
from typing import Any

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.errors import ReconciliationError
from pipelines.config.load import Settings
from pipelines.config.proposal import Proposal
from pipelines.engine.differences import run_concurrently
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from pipelines.whatif.answers import Counts, answers, counts, moved_by
from pipelines.whatif.moves import SIDES
from pipelines.whatif.request import WhatIfRequest
from pipelines.whatif.summary import pairs, summary
from schemas.whatif import WHATIF_MESSAGES

MOST_MOVED = 10
TABLES = ("endpoints", "groups", "messages", "summary", "pairs")
PLACES = ("queue", "instance")
"""The dimensions of the summary that say where a message stands."""


@dataclass(frozen=True)
class WhatIf:
    """The tables of a what-if, each a frame with the columns of `schemas.whatif`.

    `asked`, `kinds` (`WhatIfRequest.kinds`) and `moved` (`moved_by`) are what they are made of.
    """

    endpoints: DataFrame
    groups: DataFrame
    messages: DataFrame
    summary: DataFrame
    pairs: DataFrame
    asked: WhatIfRequest
    kinds: DataFrame
    moved: DataFrame

    def by_name(self) -> dict[str, DataFrame]:
        """The frames by the names of their tables."""
        return {f"whatif_{name}": getattr(self, name) for name in TABLES}

    @cached_property
    def counts(self) -> Counts:
        """What changes."""
        return counts(self.kinds, self.moved)

    @cached_property
    def answers(self) -> dict[str, Counts]:
        """The answers that a what-if begins with, computed when they are asked for."""
        return answers(self.asked, self.counts)


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
    What waits, and what holds it back, is what was published. So is its order, but where levels or settings
    are others than those it was made by: only such queues and instances are ordered anew.
    """
    with warehouse.materializing() as materialize:
        asked = WhatIfRequest(warehouse, settings, proposal, as_of, as_if, materialize)
        kinds = asked.kinds()
        groups, moved = moved_by(asked, kinds)
        messages = moved.select(*WHATIF_MESSAGES.names)
        summed, counted = run_concurrently(
            warehouse.spark, lambda: materialize(summary(moved)), lambda: materialize(pairs(messages))
        )
        require_sums(moved, asked.reordered_kinds())
        yield WhatIf(
            endpoints=asked.endpoints(kinds),
            groups=groups,
            messages=messages,
            summary=summed,
            pairs=counted,
            asked=asked,
            kinds=kinds,
            moved=moved,
        )


def report_whatif(answer: WhatIf, *, limit: int) -> dict[str, Any]:
    """What is told of the answer: counts, the places that change most, the largest moves, the pairs.

    Args:
        answer: the tables.
        limit: rows of each part, of `largest_moves` at most 10.
    """
    rows = collect_rows(answer.summary)
    moves = answer.messages.where("moved <> 0").orderBy(*largest_first())
    return {
        **answer.counts,
        "answers": answer.answers,
        "summary": sorted(rows, key=_most_moved_first)[:limit],
        "largest_moves": collect_rows(moves.limit(min(limit, MOST_MOVED))),
        "pairs": collect_rows(
            answer.pairs.orderBy(
                F.desc("pairs"), "instance", "database", "queue", "passing_level", "passed_level"
            ).limit(limit)
        ),
    }


def largest_first() -> list[Column]:
    """The order of moves: those over most positions first."""
    return [F.desc(F.abs("moved")), *map(F.col, WHATIF_MESSAGES.key)]


def _most_moved_first(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        -(row["positions_gained"] + row["positions_lost"]),
        row["kind"],
        row["dimension"],
        row["name"] or "",
    )


def require_sums(moved: DataFrame, reordered: Iterable[str]) -> None:
    """The same messages before and after; in each queue and instance what is gained is lost by others.

    Without another level nothing moves, but in the kinds that settings have `reordered`.

    Args:
        moved: `moved_by`.
        reordered: `WhatIfRequest.reordered_kinds`.

    Raises:
        ReconciliationError: a place breaks one of these.
    """
    held = F.col("position_before").isNull() != F.col("position_after").isNull()
    lost = [~F.col(f"anew_{side}") & (F.col(f"level_{side}") != F.col("level")) for side in SIDES]
    unmatched = reduce(Column.__or__, lost, held)
    orders = {f"anew_{side}": F.count_if(f"anew_{side}") for side in SIDES}
    by_place = moved.groupBy(
        "kind", "instance", F.when(F.col("kind") == "receive", F.col("database")).alias("of"), "queue"
    )
    stays = ~F.col("kind").isin(*reordered) & ~F.col("other_levels")
    partly = " or ".join(f"{name} not in (0, messages)" for name in orders)
    wrong = collect_rows(
        by_place.agg(
            F.count(F.lit(1)).alias("messages"),
            *[count.alias(name) for name, count in orders.items()],
            F.count_if(unmatched).alias("unmatched"),
            F.sum("moved").alias("moved"),
            F.count_if(F.col("moved") != 0).alias("moving"),
            F.bool_or(F.col("level_before") != F.col("level_after")).alias("other_levels"),
        ).where(F.expr(f"unmatched > 0 or moved <> 0 or {partly}") | (stays & (F.col("moving") > 0)))
    )
    if wrong:
        [first, *more] = wrong
        raise ReconciliationError(
            f"sums do not add up: {first['kind']} of {first['instance']} {first['queue'] or ''}: "
            f"{first['unmatched']} messages are in one order only, positions moved come to {first['moved']}, "
            f"{first['moving']} messages move"
            f"{f'; and {len(more)} more places' if more else ''}; keep the warehouse and report it"
        )

"""Answer a what-if: read the published schedules, and compare their order with the proposal's."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, reduce

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.errors import ReconciliationError
from pipelines.config.instants import format_instant
from pipelines.engine.concurrency import run_concurrently
from pipelines.settings.load import Settings
from pipelines.settings.proposal import Proposal
from pipelines.storage.collect import collect_rows
from pipelines.storage.pruned_days import require_left, warn_of_pruned
from pipelines.storage.warehouse import Warehouse
from pipelines.whatif.answers import Counts, answers, compare_orders, counts
from pipelines.whatif.moves import SCENARIOS
from pipelines.whatif.request import RECORDED, WhatIfRequest
from pipelines.whatif.summary import pairs, summary
from schemas.whatif import WHATIF_MESSAGES

TABLES = ("endpoints", "groups", "messages", "summary", "pairs")


@dataclass(frozen=True)
class WhatIf:
    """The tables of a what-if, each a frame with the columns of `schemas.whatif`.

    They are made from `request`, `kinds` (`WhatIfRequest.kinds`) and `moves` (`compare_orders`).
    """

    endpoints: DataFrame
    groups: DataFrame
    messages: DataFrame
    summary: DataFrame
    pairs: DataFrame
    request: WhatIfRequest
    kinds: DataFrame
    moves: DataFrame

    def by_name(self) -> dict[str, DataFrame]:
        """The frames by the names of their tables."""
        return {f"whatif_{name}": getattr(self, name) for name in TABLES}

    @cached_property
    def counts(self) -> Counts:
        """The counts of changes."""
        return counts(self.kinds, self.moves, self.request.drift(self.kinds))

    @cached_property
    def answers(self) -> dict[str, Counts]:
        """The answers that a what-if begins with, computed at the first use."""
        return answers(self.request, self.counts)


@contextmanager
def what_if(
    warehouse: Warehouse,
    settings: Settings,
    proposal: Proposal,
    *,
    as_of: datetime,
    as_if: datetime | None,
    baseline: str = RECORDED,
) -> Iterator[WhatIf]:
    """Answer what the proposal changes; the frames can be read inside the block.

    Args:
        warehouse: the tables; nothing is written.
        settings: the current settings.
        proposal: the proposed ones.
        as_of: an as_of that was published.
        as_if: None applies the proposal as if it had always been valid; an instant, from then on.
        baseline: one of BASELINES; TODAY only without an instant.

    Raises:
        ConfigError: the day of as_of was pruned.
        ReconciliationError: a message is in one order only, or gained and lost positions differ.

    Before is the order by the levels of the baseline and the current settings, after is the order by the
    proposal.
    The messages and their states are those of the published schedules. The published order is used too,
    except for queues and instances whose levels or settings differ from those of the publication: these are
    reordered.
    """
    subject = f"command line: --as-of {format_instant(as_of)}"
    require_left(warehouse.first_day, as_of, subject=subject, moment=as_of)
    warn_of_pruned(warehouse.first_day, "the counts of endpoints")
    with warehouse.materializing() as materialize:
        request = WhatIfRequest(
            warehouse, settings.at(as_of), proposal.at(as_of), as_of, as_if, materialize, baseline
        )
        kinds = request.kinds()
        groups, moves = compare_orders(request, kinds)
        messages = moves.select(*WHATIF_MESSAGES.names)
        summed, counted = run_concurrently(
            warehouse.spark, lambda: materialize(summary(moves)), lambda: materialize(pairs(messages))
        )
        require_sums(moves, request.reordered_kinds())
        yield WhatIf(
            endpoints=request.endpoints(kinds),
            groups=groups,
            messages=messages,
            summary=summed,
            pairs=counted,
            request=request,
            kinds=kinds,
            moves=moves,
        )


def require_sums(moves: DataFrame, reordered: Iterable[str]) -> None:
    """Require the same messages before and after, and equal gains and losses in each queue and instance.

    Without another level nothing moves, except in the kinds of schedules that settings have `reordered`.

    Args:
        moves: the messages of `compare_orders`.
        reordered: `WhatIfRequest.reordered_kinds`.

    Raises:
        ReconciliationError: a queue or an instance breaks one of these.
    """
    held = F.col("position_before").isNull() != F.col("position_after").isNull()
    lost = [
        ~F.col(f"reordered_{scenario}") & (F.col(f"level_{scenario}") != F.col("level"))
        for scenario in SCENARIOS
    ]
    unmatched = reduce(Column.__or__, lost, held)
    orders = {f"reordered_{scenario}": F.count_if(f"reordered_{scenario}") for scenario in SCENARIOS}
    by_scope = moves.groupBy(
        "kind", "instance", F.when(F.col("kind") == "receive", F.col("database")).alias("of"), "queue"
    )
    stays = ~F.col("kind").isin(*reordered) & ~F.col("other_levels")
    partly = " or ".join(f"{name} not in (0, messages)" for name in orders)
    wrong = collect_rows(
        by_scope.agg(
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

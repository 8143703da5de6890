"""The report of a what-if as plain values."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, functions as F

from pipelines.storage.collect import collect_first, collect_rows
from pipelines.whatif.read import WhatIf
from schemas.whatif import WHATIF_MESSAGES

MOST_MOVED = 10
SCOPES = ("queue", "instance")
"""The dimensions of the summary that name a queue or an instance."""


def report_whatif(answer: WhatIf, *, limit: int) -> dict[str, Any]:
    """Report a what-if as plain values: counts, the queues that change most, the largest moves, the pairs.

    Args:
        answer: the tables of the what-if.
        limit: rows of each part, of `largest_moves` at most 10.

    Returns:
        Beside each part the number of rows without a limit, as `..._in_all`; `moved_in_all` counts the rows
        of the summary that move, by dimension.
    """
    rows = collect_rows(answer.summary)
    moves = answer.messages.where("moved <> 0").orderBy(*largest_first())
    largest, largest_in_all = collect_first(moves, min(limit, MOST_MOVED), None)
    order = ("instance", "database", "queue", "passing_level", "passed_level")
    pairs, pairs_in_all = collect_first(answer.pairs.orderBy(F.desc("pairs"), *order), limit, "pairs")
    moved = Counter(row["dimension"] for row in rows if row["gained"] or row["lost"])
    return {
        **answer.counts,
        "answers": answer.answers,
        "summary": sorted(rows, key=_most_moved_first)[:limit],
        "summary_in_all": {"rows": len(rows)},
        "moved_in_all": dict(sorted(moved.items())),
        "largest_moves": largest,
        "largest_moves_in_all": largest_in_all,
        "pairs": pairs,
        "pairs_in_all": pairs_in_all,
    }


def largest_first() -> list[Column]:
    """The order of moves: the largest first."""
    return [F.desc(F.abs("moved")), *map(F.col, WHATIF_MESSAGES.key)]


def _most_moved_first(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        -(row["positions_gained"] + row["positions_lost"]),
        row["kind"],
        row["dimension"],
        row["name"] or "",
    )

"""The quality gate: the share of rejected rows up to which a night is published."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pipelines.config.errors import InputError
from pipelines.config.load import Settings
from pipelines.console.invocation import command_line
from pipelines.nightly.rejections import name_most_frequent
from pipelines.storage.batches import CompletedBatches
from pipelines.storage.warehouse import Warehouse


def require_good_input(
    warehouse: Warehouse,
    settings: Settings,
    completed: CompletedBatches,
    published: Sequence[Mapping[str, Any]],
) -> None:
    """Check the rows of all batches that no published run covers; see `require_quality`."""
    after = max((run["last_batch"] or 0 for run in published), default=0)
    counts: dict[str, tuple[int, int]] = {}
    for row in completed.batches:
        if row["batch"] > after:
            events, rejected = counts.get(row["source"], (0, 0))
            counts[row["source"]] = (
                events + row["events"] - (row["pending"] or 0),
                rejected + row["rejected"],
            )
    last = max((run["finished_at"] for run in published), default=None)
    require_quality(
        counts,
        max_rejected_share=settings.quality.max_rejected_share,
        most_frequent=partial(name_most_frequent, warehouse, settings, since=last, after_batch=after),
    )


def require_quality(
    counts: Mapping[str, tuple[int, int]], *, max_rejected_share: float, most_frequent: Callable[[], str]
) -> None:
    """Refuse to publish if too many rows were rejected.

    Args:
        counts: (rows read, rows rejected) by input.
        max_rejected_share: the greatest share that passes, 0 to 1 (`quality.max_rejected_share`).
        most_frequent: names the most frequent reason, with one row; empty if unknown.

    Raises:
        InputError: the share over all inputs is greater.
    """
    events, rejected = (sum(count[index] for count in counts.values()) for index in (0, 1))
    if rejected <= max_rejected_share * events:
        return
    each = ", ".join(f"{source} {bad} of {all}" for source, (all, bad) in sorted(counts.items()) if bad)
    example = most_frequent()
    often = f"; most often {example}" if example else ""
    raise InputError(
        f"{rejected} of {events} rows were rejected ({each}), more than quality.max_rejected_share = "
        f"{max_rejected_share} allows{often}. Correct the rows and add "
        f"them in new files, or allow more; {command_line('rejected')} lists all reasons"
    )

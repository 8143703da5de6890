"""The quality gate: how much may be rejected before a night is not worth publishing."""

from collections.abc import Callable, Mapping

from pipelines.config.errors import InputError
from pipelines.console.invocation import name_command


def require_quality(
    counts: Mapping[str, tuple[int, int]], *, max_rejected_share: float, most_frequent: Callable[[], str]
) -> None:
    """Stop where too many rows were rejected.

    Args:
        counts: (rows read, rows rejected) by input, over all that was not published yet.
        max_rejected_share: the greatest share that passes, 0 to 1 (`quality.max_rejected_share`).
        most_frequent: names the most frequent reason, with one row; empty if it is not known. Asked if the
            share is greater.

    Raises:
        InputError: the share over all inputs is greater.
    """
    events, rejected = (sum(count[place] for count in counts.values()) for place in (0, 1))
    if rejected <= max_rejected_share * events:
        return
    each = ", ".join(f"{source} {bad} of {all}" for source, (all, bad) in sorted(counts.items()) if bad)
    example = most_frequent()
    often = f"; most often {example}" if example else ""
    raise InputError(
        f"{rejected} of {events} rows were rejected ({each}), more than quality.max_rejected_share = "
        f"{max_rejected_share} allows{often}. Correct the rows and add "
        f"them in new files, or allow more; {name_command('rejected')} lists all reasons"
    )

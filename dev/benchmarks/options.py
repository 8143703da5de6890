"""What a call of the bench asks for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dev.benchmarks.processes import PROJECT

LAST_MIDNIGHT = datetime(2026, 11, 21, tzinfo=UTC)
"""The end of the first day of every log, which is the as_of of logs of one day."""


@dataclass(frozen=True)
class Options:
    """The options of one call.

    Attributes:
        folder: where logs and runs are kept.
        engines: those that the pipeline runs on.
        messages: of the large nights.
        memory: of each engine and of DuckDB, such as 8g.
        rounds: how often each case runs.
        nights: how many nights the history has.
        keep: whether the tables of finished runs stay on disk.
        project: the checkout whose pipeline is measured; peer and logs are of this one.
    """

    folder: Path
    engines: Sequence[str]
    messages: int
    memory: str = "8g"
    rounds: int = 1
    nights: int = 30
    keep: bool = False
    project: Path = PROJECT

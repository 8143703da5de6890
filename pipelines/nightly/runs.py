"""The row of a run in the table `runs`."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import uuid4

from pipelines import __version__
from pipelines.config.errors import CopyError, WarehouseError
from pipelines.config.instants import AsOf
from pipelines.engine.errors import fault_of
from pipelines.settings.load import Settings
from pipelines.storage.ages import Ages
from pipelines.storage.batches import CompletedBatches
from pipelines.storage.table_log import KnownRows
from pipelines.storage.warehouse import Warehouse
from pipelines.why.report import Findings
from schemas.outputs import RUNS

log = logging.getLogger(__name__)

NOT_ENDED = "in progress or interrupted"
"""The error of a run that has been announced and has not ended."""


@dataclass
class Run:
    """One run.

    Attributes:
        run_id: its id.
        started_at: its start.
        moment: its as_of; null while it is not known: of `latest`, until the input is ingested.
        newest_data: the newest data at as_of; null if there is none, or while it is not known.
        ages: the newest facts of databases at as_of; null while they are not known.
        announced: the figures of its row in `runs` while it has not ended; null: it has no row yet.
        findings: what its open messages say; null until they are written.
    """

    run_id: str
    started_at: datetime
    moment: datetime | None
    newest_data: datetime | None = None
    ages: Ages | None = None
    announced: "RunFigures | None" = None
    findings: Findings | None = None

    @classmethod
    def begin(cls, as_of: AsOf) -> "Run":
        """Start a run now."""
        return cls(str(uuid4()), datetime.now(UTC), as_of if isinstance(as_of, datetime) else None)

    @property
    def as_of(self) -> datetime:
        """The instant that is described; only once it is known."""
        assert self.moment is not None
        return self.moment


@dataclass(frozen=True)
class RunFigures:
    """The figures in a run's row; a failed run has its last batch at most."""

    row_counts: dict[str, int] = field(default_factory=dict)
    sums: dict[str, int] = field(default_factory=dict)
    last_batch: int | None = None
    versions: dict[str, int] | None = None


def announce(warehouse: Warehouse, settings: Settings, run: Run, completed: CompletedBatches) -> None:
    """Mark a published as_of as incomplete, before the first of its tables changes.

    A run that is killed among its writes leaves this row, which counts as that of a failed run. An as_of
    that was not published needs none: no row says that its tables are complete.
    """
    # Set first: a write that raises may have been committed. The next row then replaces the announced one.
    run.announced = RunFigures(last_batch=completed.batch or None)
    warehouse.append(RUNS, _row(warehouse, settings, run, "failed", run.announced, NOT_ENDED))


@contextmanager
def record_failure(warehouse: Warehouse, settings: Settings, run: Run) -> Iterator[None]:
    """Write the row of a failed run if the block raises; the block's error is raised again.

    A run whose as_of is not known has no row: it touched no table of an as_of.
    """
    try:
        yield
    except (CopyError, WarehouseError):
        # Nothing is written beside a copy, and a warehouse that is to be restored gets no further commit.
        raise
    except Exception as error:
        try:
            if run.moment is not None:
                figures = run.announced or RunFigures()
                write_run(warehouse, settings, run, "failed", figures, error=fault_of(error))
        except Exception as further:
            log.warning(
                "run %s failed, and its row in runs could not be written: %s",
                run.run_id,
                fault_of(further),
                exc_info=log.isEnabledFor(logging.INFO),
            )
        raise


def write_run(
    warehouse: Warehouse,
    settings: Settings,
    run: Run,
    status: str,
    figures: RunFigures,
    error: str | None = None,
) -> None:
    """Write the run's row in `runs`, in place of the announced one."""
    rows = _row(warehouse, settings, run, status, figures, error)
    if run.announced:
        warehouse.replace(RUNS, rows, where=f"run_id = '{run.run_id}'")
    else:
        warehouse.append(RUNS, rows)


def _row(
    warehouse: Warehouse, settings: Settings, run: Run, status: str, figures: RunFigures, error: str | None
) -> KnownRows:
    row = (
        run.run_id,
        run.as_of,
        run.started_at,
        datetime.now(UTC),
        status,
        __version__,
        settings.describe(),
        figures.row_counts,
        figures.sums,
        figures.last_batch,
        figures.versions,
        error,
        run.newest_data,
        *((None, None) if run.ages is None else run.ages.values()),
    )
    return [row]

"""Write what the open messages of an as_of say: its findings, and how long they wait."""

from datetime import datetime, timedelta

from pyspark.sql import DataFrame

from pipelines.questions.waiting import summarize_waits
from pipelines.settings.load import Settings
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from pipelines.why.explained import explained_rows
from pipelines.why.places import PLACE, Row, place_of
from pipelines.why.read import read_published
from pipelines.why.report import Findings, find_findings, place_row
from schemas.outputs import FINDINGS, WAITS

SECOND = timedelta(seconds=1)
NOT_HELD = {"ready": "state in ('ready', 'transmission', 'forwarded')"}
"""Messages that no queue that is off and no locked group holds back."""


def write_findings(
    warehouse: Warehouse, settings: Settings, as_of: datetime, *, is_all_told: bool = False
) -> Findings:
    """Replace the rows of this as_of in `findings` and `waits`; other rows stay.

    Args:
        warehouse: the tables; all others of this as_of but `expectations` and `runs` are written.
        settings: bindings, honor flags, monitors, snapshots, and where rules are written.
        as_of: the instant.
        is_all_told: as in `find_findings`.
    """
    with read_published(warehouse, as_of) as tables:
        found = explained_rows(tables, settings)
        findings = find_findings(settings, found, as_of, is_all_told=is_all_told)
        waits = measure_waits(found.rows, as_of)
    warehouse.replace_rows_of(FINDINGS, findings.counted, as_of)
    warehouse.replace_rows_of(WAITS, waits, as_of)
    return findings


def measure_waits(rows: DataFrame, as_of: datetime) -> list[Row]:
    """The messages of each place and level, and how long they wait.

    Args:
        rows: `explained_rows`.
        as_of: their as_of.

    Returns:
        One row a place and level, without messages that can't be placed: PLACE (null where the place has
        none), `level`, `ready`, `held`, `oldest_seconds` and `p95_seconds`, both of ready and held ones.
    """
    placed = rows.where("kind <> 'unresolved'")
    counted = summarize_waits(placed, within=(*PLACE, "level"), as_of=as_of, conditions=NOT_HELD)
    return [
        {
            **place_row(place_of(row)),
            "level": row["level"],
            "ready": row["ready"],
            "held": row["messages"] - row["ready"],
            "oldest_seconds": (as_of - row["oldest"]) // SECOND,
            "p95_seconds": row["p95_seconds"],
        }
        for row in collect_rows(counted)
    ]

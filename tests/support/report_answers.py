"""Answers that the report page includes."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pipelines.engine.frames import small_frame
from pipelines.storage.warehouse import Warehouse
from schemas.table import Table
from schemas.whatif import WHATIF_AS_OF, WHATIF_TABLES
from tests.support.factories import Row
from tests.support.report_warehouse import NASTY

QUEUE = {"instance": "SQL1", "database": "A", "queue": NASTY}


def moved(number: int, before: int, after: int, level: int, **others: Any) -> Row:
    return {
        **QUEUE,
        "kind": "receive",
        "message_id": f"m{number}",
        "position_before": before,
        "position_after": after,
        "moved": before - after,
        "level_before": level,
        "level_after": level,
        "state": "ready",
        **others,
    }


def counted(dimension: str, name: str, **others: Any) -> Row:
    return {
        "kind": "receive",
        "dimension": dimension,
        "name": name,
        "messages": 3,
        "gained": 1,
        "lost": 1,
        "positions_gained": 1,
        "positions_lost": 1,
        "largest_gain": 1,
        "largest_loss": 1,
        "median_moved": 0.0,
        **others,
    }


ANSWER: dict[str, list[Row]] = {
    "whatif_endpoints": [],
    "whatif_groups": [],
    "whatif_messages": [
        moved(1, 1, 2, 9, message_id=NASTY),
        moved(2, 2, 1, 7, level_after=8),
        moved(3, 3, 3, 5),
    ],
    "whatif_summary": [counted("queue", f"[SQL1].[A].[{NASTY}]"), counted("contract", NASTY)],
    "whatif_pairs": [{**QUEUE, "passing_level": 7, "passed_level": 9, "pairs": 1}],
}


def answers_of(
    session: SparkSession, folder: Path, tables: Sequence[Table], answer: dict[str, list[Row]]
) -> Warehouse:
    """A folder with the tables of an answer."""
    answers = Warehouse(session, str(folder))
    for each in tables:
        rows = [[row.get(name) for name in each.names] for row in answer[each.name]]
        answers.replace(each, small_frame(session, rows, each.struct))
    return answers


def answers_at(session: SparkSession, folder: Path, *as_of: datetime, **others: list[Row]) -> Warehouse:
    """A folder with the tables of a what-if of this as_of; `others` take the place of some of them."""
    rows = [{"as_of": moment} for moment in as_of]
    return answers_of(
        session, folder, (*WHATIF_TABLES, WHATIF_AS_OF), {**ANSWER, WHATIF_AS_OF.name: rows, **others}
    )

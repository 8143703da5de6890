"""Count what each rule version decides, up to one as_of."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.commands.question import Asked, Question
from pipelines.config.instants import format_instant
from pipelines.console.tables import print_rows
from pipelines.console.terminal import open_console
from pipelines.questions.coverage import COLUMNS, FIRST_SEEN, report_coverage


def _show(rows: Sequence[Mapping[str, Any]], asked: Asked) -> None:
    """Print the rows, with the dates that are valid_from and those that are first seen apart."""
    dated = [
        {
            **row,
            "valid_from": None if row[FIRST_SEEN] else row["valid_from"],
            "first_seen_at": row["valid_from"] if row[FIRST_SEEN] else None,
        }
        for row in rows
    ]
    dates = [name for name in ("valid_from", "first_seen_at") if any(row[name] for row in dated)]
    place = COLUMNS.index("valid_from")
    rest = [name for name in COLUMNS[place:] if name not in ("valid_from", FIRST_SEEN)]
    title = f"What each rule version decides, {format_instant(asked.as_of)}"
    print_rows(open_console(), title, dated, [*COLUMNS[:place], *dates, *rest])


main = Question(
    "coverage",
    "Count what each rule version decides: endpoints, conversations, messages.",
    example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    answer=lambda asked: report_coverage(asked.warehouse, asked.as_of),
    plain=lambda rows, asked: {"as_of": asked.as_of, "coverage": rows},
    show=_show,
)

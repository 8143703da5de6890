"""Count what each rule version decides, up to one as_of."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.commands.question import Asked, Question
from pipelines.config.instants import format_instant
from pipelines.console.tables import print_rows
from pipelines.console.terminal import open_console
from pipelines.questions.coverage import CANDIDATES, COLUMNS, FIRST_SEEN, report_coverage

OF_THE_SERVER = "(level of the server)"
"""In place of a rule: which one gave these levels is not known."""


def _show(rows: Sequence[Mapping[str, Any]], asked: Asked) -> None:
    """Print the rows, with the dates that are valid_from and those that are first seen apart."""
    dated = [
        {
            **row,
            "valid_from": None if row[FIRST_SEEN] else row["valid_from"],
            "first_seen_at": row["valid_from"] if row[FIRST_SEEN] else None,
            "rule_name": OF_THE_SERVER if row["level"] is row["rule_name"] is None else row["rule_name"],
            CANDIDATES: ", ".join(f"{each['level']}: {each['rule_name']}" for each in row[CANDIDATES]),
        }
        for row in rows
    ]
    dates = [name for name in ("valid_from", "first_seen_at") if any(row[name] for row in dated)]
    place = COLUMNS.index("valid_from")
    left_out = ("valid_from", FIRST_SEEN, *([] if any(row[CANDIDATES] for row in rows) else [CANDIDATES]))
    rest = [name for name in COLUMNS[place:] if name not in left_out]
    title = f"What each rule version decides, {format_instant(asked.as_of)}"
    console = open_console()
    print_rows(console, title, dated, [*COLUMNS[:place], *dates, *rest])
    if CANDIDATES in rest:
        console.print("Candidates gave these levels if they were there when the endpoints were created.")


main = Question(
    "coverage",
    "Count what each rule version decides: endpoints, conversations, messages.",
    example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    answer=lambda asked: report_coverage(asked.warehouse, asked.as_of),
    plain=lambda rows, asked: {"as_of": asked.as_of, "coverage": rows},
    show=_show,
)

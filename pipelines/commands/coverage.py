"""Count what each rule version decides, up to one as_of."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.commands.open import opened
from pipelines.commands.options import Parser
from pipelines.config.instants import format_instant
from pipelines.console.tables import print_rows
from pipelines.console.terminal import open_console, to_json
from pipelines.questions.coverage import COLUMNS, FIRST_SEEN, report_coverage
from pipelines.storage.published import published_as_of


def main(argv: Sequence[str]) -> int:
    """Parse the command line, count and print; nothing is written."""
    parser = Parser(
        "coverage",
        "Count what each rule version decides: endpoints, conversations, messages.",
        example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    )
    parser.add_as_of()
    parser.add_format()
    options = parser.parse_args(argv)
    settings, warehouse = opened(options, "coverage")
    as_of = published_as_of(warehouse, settings, options.as_of)
    rows = report_coverage(warehouse, as_of)
    if options.format == "json":
        print(to_json({"as_of": as_of, "coverage": rows}))
    else:
        title = f"What each rule version decides, {format_instant(as_of)}"
        print_rows(open_console(), title, *_with_dates(rows))
    return 0


def _with_dates(rows: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows and their columns, with the dates that are valid_from and those that are first seen apart."""
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
    return dated, [*COLUMNS[:place], *dates, *rest]

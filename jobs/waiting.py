"""Say who waits how long, and who is overtaken most: the starvation report of one as_of."""

import sys

if not __package__:  # run as a file
    sys.path.append(f"{sys.path[0]}/..")

from collections.abc import Sequence

from jobs.launch import Parser, launch, opened, whole_number
from pipelines.console.terminal import as_json
from pipelines.questions.waiting import print_waiting, waiting_messages
from pipelines.storage.published import published_as_of

SHOWN = 50
"""Lines of each table, the most pressing first, where nothing else is asked for."""


def main(argv: Sequence[str]) -> int:
    """Parse the command line, and print the report."""
    parser = Parser(
        "Say who waits how long, and who is overtaken most.",
        example=".venv/bin/python -m jobs.waiting --config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    )
    parser.add_as_of("an as_of that was run; the latest run's by default")
    parser.add_argument(
        "--limit", type=whole_number(1), default=SHOWN, help=f"rows of each part (default {SHOWN})"
    )
    parser.add_format()
    options = parser.parse_args(argv)
    settings, warehouse = opened(options, "waiting")
    as_of = published_as_of(warehouse, settings, options.as_of)
    report = waiting_messages(warehouse, as_of=as_of, limit=options.limit, catalog=settings.catalog)
    if options.format == "json":
        print(as_json(report))
    else:
        print_waiting(report, settings.catalog, settings.catalog_path)
    return 0


if __name__ == "__main__":
    launch(main)

"""List why rows of the inputs were rejected, the most frequent reason first, with some rows of each."""

import sys

if not __package__:  # run as a file
    sys.path.append(f"{sys.path[0]}/..")

from collections.abc import Sequence

from jobs.launch import Parser, launch, opened, whole_number
from pipelines.console.terminal import as_json
from pipelines.questions.rejected import print_rejected, rejected_rows
from pipelines.storage.published import checked_runs

SAMPLES = 3


def main(argv: Sequence[str]) -> int:
    """Parse the command line, and print the reasons; nothing is written, and nothing need be published."""
    parser = Parser(
        "List why rows of the inputs were rejected, the most frequent reason first.",
        example=".venv/bin/python -m jobs.rejected --config conf/local.yaml --limit 3",
    )
    parser.add_argument(
        "--limit", type=whole_number(1), default=SAMPLES, help=f"rows of each reason (default {SAMPLES})"
    )
    parser.add_format()
    options = parser.parse_args(argv)
    _, warehouse = opened(options, "rejected")
    checked_runs(warehouse)
    found = rejected_rows(warehouse, limit=options.limit)
    if options.format == "json":
        print(as_json(found))
    else:
        print_rejected(found)
    return 0


if __name__ == "__main__":
    launch(main)

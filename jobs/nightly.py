"""The nightly run: rules, fold, schedules and activation, publish.

./spark-submit.sh jobs/nightly.py --config conf/local.yaml --as-of 2026-11-21T00:00:00Z
.venv/bin/python -m jobs.nightly --config conf/local.yaml --as-of 2026-11-21T00:00:00Z
"""

import sys

if not __package__:  # run as a file
    sys.path.append(f"{sys.path[0]}/..")

from collections.abc import Sequence

from insight.summary import show_summary
from jobs.launch import Parser, launch, opened
from steps.night import night
from storage.only_writer import only_writer


def main(argv: Sequence[str]) -> int:
    """Parse the command line, run, and show what came out."""
    parser = Parser(
        "Assign priorities to conversations and schedule what is queued at an instant.",
        example="./spark-submit.sh jobs/nightly.py --config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    )
    parser.add_as_of("the instant to describe", required=True)
    parser.add_argument("--quiet", action="store_true", help="do not show the tables at the end")
    options = parser.parse_args(argv)
    settings, warehouse = opened(options, "nightly")
    with only_writer(warehouse.root, "nightly"):
        run = night(warehouse, settings, options.as_of)
    if not options.quiet:
        show_summary(warehouse, settings, run.as_of)
    return 0


if __name__ == "__main__":
    launch(main)

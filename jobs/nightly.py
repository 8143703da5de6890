"""The nightly run: rules, fold, schedules and activation, publish.

With `--fail-on unresolved` it ends with exit code 6 if it published open messages that can't be placed.

./spark-submit.sh jobs/nightly.py --config conf/local.yaml --as-of 2026-11-21T00:00:00Z
.venv/bin/python -m jobs.nightly --config conf/local.yaml --as-of 2026-11-21T00:00:00Z
"""

import sys

if not __package__:  # run as a file
    sys.path.append(f"{sys.path[0]}/..")

from collections.abc import Sequence

from jobs.launch import Parser, launch, opened
from pipelines.config.instants import format_instant
from pipelines.console.wording import counted
from pipelines.nightly.night import night
from pipelines.nightly.summary import print_summary
from pipelines.storage.lock import only_writer
from schemas.outputs import UNRESOLVED

NOT_MET = 6
"""Exit code: published, but a condition that the command line sets is not met."""


def main(argv: Sequence[str]) -> int:
    """Parse the command line, run, and show what came out."""
    parser = Parser(
        "Assign priorities to conversations and schedule what is queued at an instant.",
        example="./spark-submit.sh jobs/nightly.py --config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    )
    parser.add_as_of("the instant to describe", required=True)
    parser.add_argument("--quiet", action="store_true", help="do not show the tables at the end")
    parser.add_argument(
        "--fail-on",
        choices=("unresolved",),
        help=f"publish, then end with exit code {NOT_MET} if open messages can't be placed",
    )
    options = parser.parse_args(argv)
    settings, warehouse = opened(options, "nightly")
    with only_writer(warehouse.root, "nightly"):
        run = night(warehouse, settings, options.as_of)
    if not options.quiet:
        print_summary(warehouse, settings, run.as_of)
    unresolved = warehouse.read_as_of(UNRESOLVED, run.as_of).count() if options.fail_on else 0
    if unresolved:
        print(
            f"error: --fail-on unresolved: published, but {counted(unresolved, 'open message')} can't be "
            f"placed at {format_instant(run.as_of)}; jobs/waiting.py --config {settings.path} says why",
            file=sys.stderr,
        )
        return NOT_MET
    return 0


if __name__ == "__main__":
    launch(main)

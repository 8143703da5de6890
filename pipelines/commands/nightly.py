"""The nightly run: rules, ingest, schedules and activation, publish.

It ends with exit code 6 if an expectation of the settings is not met, but with `--no-expect`. With
`--fail-on unresolved` it also does so if it published open messages that are not matched to a queue.

priorities nightly --config conf/local.yaml --as-of 2026-11-21T00:00:00Z
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from pipelines.commands.open import read_new_captures, warehouse_of
from pipelines.commands.options import Parser
from pipelines.commands.out import plain_file, require_not_read, write_whole
from pipelines.config.errors import NOT_MET, one_line
from pipelines.config.instants import format_instant
from pipelines.console.invocation import command_line
from pipelines.console.terminal import to_json
from pipelines.console.wording import count_unmatched
from pipelines.expectations.read import not_met, read_expectations
from pipelines.expectations.view import describe_not_met
from pipelines.metrics.read import read_metrics
from pipelines.nightly.night import night
from pipelines.nightly.report import report_night
from pipelines.nightly.summary import print_summary
from pipelines.settings.load import load_settings
from pipelines.storage.lock import only_writer
from schemas.outputs import UNRESOLVED


def main(argv: Sequence[str]) -> int:
    """Parse the command line, run, and show what came out."""
    parser = Parser(
        "nightly",
        "Assign priorities to conversations and schedule what is queued at an instant.",
        example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    )
    parser.add_required_as_of()
    parser.add_argument("--quiet", action="store_true", help="do not show the tables at the end")
    parser.add_argument(
        "--fail-on",
        choices=("unresolved",),
        help=f"publish, then end with exit code {NOT_MET} if open messages are not matched to a queue",
    )
    parser.add_argument(
        "--no-expect",
        action="store_true",
        help=f"do not end with exit code {NOT_MET} if an expectation of the settings is not met",
    )
    parser.add_argument(
        "--metrics", type=Path, metavar="FILE", help="write the metrics of the as_of whole, as its last step"
    )
    parser.add_format()
    parser.add_wide()
    options = parser.parse_args(argv)
    metrics = options.metrics and plain_file(options.metrics, "--metrics")
    settings = load_settings(options.config, read_new_captures())
    is_json = options.format == "json"
    if metrics:
        require_not_read(metrics, settings, option="--metrics")
    warehouse = warehouse_of(settings, "nightly")
    with only_writer(warehouse.root, "nightly"):
        run = night(warehouse, settings, options.as_of, is_all_told=is_json)
    if metrics:
        write_whole(read_metrics(warehouse, settings.at(run.as_of), run.as_of), metrics, "--metrics")
    assert run.findings is not None
    assert run.ages is not None
    described = (warehouse, settings.at(run.as_of), run.as_of, run.findings, run.ages)
    if is_json:
        print(to_json(report_night(*described)))
    elif not options.quiet:
        print_summary(*described, wide=options.wide, verbose=options.verbose)
    missed = not_met(read_expectations(warehouse, settings, run.as_of)) if settings.expect else []
    word = "warning" if options.no_expect else "error"
    for row in missed:
        print(one_line(f"{word}: published, but not met: {describe_not_met(row)}"), file=sys.stderr)
    unresolved = warehouse.read_as_of(UNRESOLVED, run.as_of).count() if options.fail_on else 0
    if unresolved:
        at = format_instant(run.as_of)
        print(
            "error: --fail-on unresolved: published, but "
            f"{count_unmatched(unresolved, 'open message')} at {at}; "
            f"{command_line('waiting', '--as-of', at, config=settings.path)} says why",
            file=sys.stderr,
        )
    is_failed = unresolved or (missed and not options.no_expect)
    return NOT_MET if is_failed else 0

"""Decide the endpoints of an interval again, under the rules as they are now."""

from collections.abc import Sequence
from contextlib import nullcontext

from pipelines.commands.open import opened
from pipelines.commands.options import Parser, instant
from pipelines.config.errors import ConfigError
from pipelines.config.instants import format_instant
from pipelines.console.tables import Sheet, print_table
from pipelines.console.terminal import open_console
from pipelines.ladder.reassign import Reassignment, reassign
from pipelines.storage.lock import only_writer


def main(argv: Sequence[str]) -> int:
    """Parse the command line and run; without --apply nothing is written."""
    parser = Parser(
        "reassign",
        "Decide the endpoints of an interval again, under the rules as they are now.",
        example="--config conf/local.yaml --from 2026-11-20 --to 2026-11-21 --apply",
    )
    parser.add_argument(
        "--from", dest="since", required=True, type=instant, help="first moment of creation, e.g. 2026-11-20"
    )
    parser.add_argument(
        "--to", dest="until", required=True, type=instant, help="moment of creation to stop before"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--apply", action="store_true", help="write what changes")
    what.add_argument("--dry-run", action="store_true", help="only say what would change (the default)")
    options = parser.parse_args(argv)
    if options.since >= options.until:
        raise ConfigError("command line: --from is not before --to; the interval is empty")
    settings, warehouse = opened(options, "reassign")
    with only_writer(warehouse.root, "reassign") if options.apply else nullcontext():
        outcome = reassign(warehouse, settings, options.since, options.until, apply=options.apply)
    print(
        f"{outcome.endpoints:,} endpoints were created from {format_instant(options.since)} up to "
        f"{format_instant(options.until)}; {outcome.changing:,} of them change, "
        f"{outcome.changing_level:,} their level"
    )
    if outcome.kinds:
        _show_kinds(outcome)
        print(
            "Written. Schedules keep what they were made from: run again the as_ofs that should show it."
            if options.apply
            else "Nothing was written. Add --apply to write it."
        )
    return 0


def _show_kinds(outcome: Reassignment) -> None:
    columns = ("instance", "database", "level was", "by rule", "becomes", "by rule", "endpoints")
    rows = [["no rule" if value is None else value for value in kind] for kind in outcome.kinds]
    console = open_console()
    print_table(console, "", Sheet(columns, rows))
    if outcome.all_kinds > len(outcome.kinds):
        console.print(f"... and {outcome.all_kinds - len(outcome.kinds):,} more kinds of change")

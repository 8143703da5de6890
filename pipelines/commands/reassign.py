"""Decide the endpoints of an interval again, under the rules as they are now."""

from collections.abc import Sequence
from contextlib import nullcontext

from pipelines.blocks.tables import Column, Table, column, place_column
from pipelines.commands.open import opened
from pipelines.commands.options import Parser, instant
from pipelines.config.errors import ConfigError
from pipelines.config.instants import format_instant
from pipelines.console.tables import print_answer
from pipelines.console.terminal import open_console
from pipelines.ladder.reassign import Reassignment, reassign
from pipelines.storage.lock import only_writer

KIND_KEYS = ("instance", "database", "old_level", "old_rule", "new_level", "new_rule", "endpoints")
"""The values of a kind of change, in order."""


def _rule(key: str) -> Column:
    return Column("By rule", "name", lambda row: row[key] or "no rule", (key,))


KINDS = Table(
    "reassigned",
    "",
    [
        place_column("Database", ("instance", "database")),
        column("Level was", "level", "old_level"),
        _rule("old_rule"),
        column("Becomes", "level", "new_level"),
        _rule("new_rule"),
        column("Endpoints", "count", "endpoints"),
    ],
)


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
    console = open_console()
    print_answer(console, KINDS, [dict(zip(KIND_KEYS, kind, strict=True)) for kind in outcome.kinds])
    if outcome.all_kinds > len(outcome.kinds):
        console.print(f"... and {outcome.all_kinds - len(outcome.kinds):,} more kinds of change")

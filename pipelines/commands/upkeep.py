"""Commands that look after a warehouse: `maintain` removes and joins, `reassign` decides endpoints again."""

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial

from pipelines.blocks.tables import Column, Table, column, place_column
from pipelines.commands.launch import suspect
from pipelines.commands.open import opened
from pipelines.commands.options import CENTURY_DAYS, Parser, instant, whole_number
from pipelines.config.errors import ConfigError
from pipelines.config.instants import format_instant
from pipelines.console.tables import print_answer
from pipelines.console.terminal import open_console
from pipelines.engine.session import open_session, require_engine_of, takes_embedded
from pipelines.ladder.reassign import Reassignment, reassign
from pipelines.settings.load import KNOWN_ONLY, load_settings
from pipelines.storage.lock import only_writer
from pipelines.storage.maintain import maintain
from pipelines.storage.upkeep import SAFE_HOURS
from pipelines.storage.warehouse import Warehouse


def run_maintain(argv: Sequence[str]) -> int:
    """Parse the command line, run, and say what was done or would be."""
    parser = Parser(
        "maintain",
        "Remove old as_ofs and closed days of events, join small files and delete unused ones.",
        example="--config conf/local.yaml --keep-days 90 --dry-run",
    )
    parser.add_argument(
        "--keep-days",
        type=whole_number(0),
        help="remove as_ofs older than the newest by more than this; default: none",
    )
    parser.add_argument(
        "--keep-event-days",
        type=whole_number(0),
        help="delete events and endpoints that closed more than this before the log's newest day; no as_of "
        "of a deleted day can be made again; default: none",
    )
    parser.add_argument(
        "--keep-hours",
        type=whole_number(0, 24 * CENTURY_DAYS),
        default=SAFE_HOURS,
        help=f"keep unused files for so long (default {SAFE_HOURS}); less only if no program reads",
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what there is to do")
    options = parser.parse_args(argv)
    place = load_settings(options.config, KNOWN_ONLY).warehouse
    require_engine_of(place)
    # Without Apache Spark delta-rs does the work, and no engine starts.
    spark = None if takes_embedded() else open_session("maintain", place)
    if isinstance(place, str):
        root = place
    else:
        assert spark is not None
        # Only Spark's catalog knows where a schema's tables lie.
        root = Warehouse(spark, place).root
    suspect(root)
    with nullcontext() if options.dry_run else only_writer(root, "maintain"):
        lines = maintain(
            root,
            keep_days=options.keep_days,
            keep_event_days=options.keep_event_days,
            keep_hours=options.keep_hours,
            dry_run=options.dry_run,
            spark=spark,
            tell=partial(print, flush=True),
        )
    if not lines:
        print("nothing to do")
    return 0


KIND_KEYS = ("instance", "database", "old_level", "old_rule", "new_level", "new_rule", "endpoints")
"""The values of a kind of change, in order."""


def _rule_column(key: str) -> Column:
    return Column("By rule", "name", lambda row: row[key] or "no rule", (key,))


KINDS = Table(
    "reassigned",
    "",
    [
        place_column("Database", ("instance", "database")),
        column("Level was", "level", "old_level"),
        _rule_column("old_rule"),
        column("Becomes", "level", "new_level"),
        _rule_column("new_rule"),
        column("Endpoints", "count", "endpoints"),
    ],
)


def run_reassign(argv: Sequence[str]) -> int:
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


COMMANDS = {"maintain": run_maintain, "reassign": run_reassign}
"""The commands of this module by their names."""

"""The steps of a night as commands, and `reassign`, which decides endpoints again."""

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from uuid import uuid4

from pipelines.activation.report import activation_of_queue, find_queue
from pipelines.activation.view import print_activation
from pipelines.activation.write import require_as_of_left, write_activation
from pipelines.blocks.tables import Column, Table, column, place_column
from pipelines.commands.open import opened, read_new_captures, warehouse_of
from pipelines.commands.options import Parser, instant
from pipelines.config.errors import ConfigError
from pipelines.config.instants import AsOf, format_instant
from pipelines.config.load import CHECKED, KNOWN_ONLY, Settings, load_settings
from pipelines.config.nearest import suggest_nearest
from pipelines.config.queue_filter import FORMS
from pipelines.config.rules.tsql_script import format_script
from pipelines.console.tables import print_answer
from pipelines.console.terminal import open_console, step, to_json
from pipelines.ladder.reassign import Reassignment, reassign
from pipelines.ladder.write import stored_history, warn_of_unread, write_rules
from pipelines.nightly.night import describe, ingest_new_input
from pipelines.storage.batches import read_completed_batches
from pipelines.storage.lock import only_writer
from pipelines.storage.published import checked_runs, published_as_of, require_whole, warn_of_age
from pipelines.storage.warehouse import Warehouse

CLOSES_AT = "the instant that will be described; without it, or with latest, the end of the log's newest day"


def run_ingest(argv: Sequence[str]) -> int:
    """Write new input into the ledger: the steps `rules` and `ingest` of a night."""
    parser = Parser(
        "ingest",
        "Take in what is new in the inputs and write it into the ledger.",
        example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    )
    parser.add_as_of(CLOSES_AT)
    options = parser.parse_args(argv)
    settings, warehouse = opened(options, "fold", read_new_captures())
    with only_writer(warehouse.root, "fold"), warehouse.materializing() as materialize:
        ingest_new_input(
            warehouse,
            settings,
            run_id=str(uuid4()),
            started_at=datetime.now(UTC),
            as_of=options.as_of if isinstance(options.as_of, datetime) else None,
            materialize_state=materialize,
        )
    return 0


def run_rules(argv: Sequence[str]) -> int:
    """Write the rule history to `priority_rules`, or print it as T-SQL."""
    parser = Parser(
        "rules",
        "Write the rule history of the settings' rule sources.",
        example="--config conf/local.yaml --print-sql SHOP1",
    )
    parser.add_argument(
        "--print-sql",
        metavar="INSTANCE",
        help="write nothing, and print the rules of this instance as a T-SQL script with their history",
    )
    options = parser.parse_args(argv)
    if options.print_sql is not None:
        settings = load_settings(options.config)
        warn_of_unread(settings)
        print(_write_script(settings, options.print_sql), end="")
        return 0
    settings, warehouse = opened(options, "rules", CHECKED)
    with only_writer(warehouse.root, "rules"):
        require_whole(warehouse)
        with step("rules") as print_details:
            print_details(write_rules(warehouse, settings, stored_history(warehouse)))
    return 0


def _write_script(settings: Settings, instance: str) -> str:
    known = {version.instance for version in settings.rule_history}
    if instance not in known:
        hint = suggest_nearest(instance, sorted(known))
        raise ConfigError(f"{settings.path}: rules: none is of the instance {instance!r}; {hint}")
    return format_script(settings.rule_history, instance)


def run_schedules(argv: Sequence[str]) -> int:
    """Publish one as_of from the ledger as it is: a night without `rules` and `ingest`."""
    parser = Parser(
        "schedules",
        "Derive group priorities, both schedules and activation of one as_of, and publish them.",
        example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    )
    parser.add_required_as_of()
    options = parser.parse_args(argv)
    settings, warehouse = opened(options, "schedules")
    with only_writer(warehouse.root, "schedules"):
        describe(warehouse, settings, options.as_of)
    return 0


def run_activation(argv: Sequence[str]) -> int:
    """Parse the command line and replay, or show a queue."""
    parser = Parser(
        "activation",
        "Replay the queue monitors of one as_of, or show what they found on one queue.",
        example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z --queue OrderQueue",
    )
    parser.add_as_of(
        "end of the window, or latest: the newest as_of that was published (default latest with --queue)"
    )
    parser.add_argument("--queue", help=f"show this queue's timeline: {FORMS}")
    parser.add_format()
    options = parser.parse_args(argv)
    if options.format == "json" and options.queue is None:
        parser.error("--format json shows a queue; add --queue NAME")
    if options.as_of is None and options.queue is None:
        parser.error("give --as-of, the end of the window to replay, or --queue NAME to show what was found")
    settings = load_settings(options.config, KNOWN_ONLY)
    if settings.activation is None:
        raise ConfigError(f"{settings.path}: activation is null, which leaves it out; give it a value")
    warehouse = warehouse_of(settings, "activation")
    if options.queue is None:
        with only_writer(warehouse.root, "activation"):
            require_whole(warehouse)
            as_of = _find_window_end(warehouse, settings, options.as_of)
            require_as_of_left(warehouse, settings, as_of)
            write_activation(warehouse, settings.at(as_of), as_of, read_completed_batches(warehouse))
        return 0
    as_of = _find_window_end(warehouse, settings, options.as_of)
    queue = find_queue(settings.at(as_of), warehouse, as_of, options.queue)
    report = activation_of_queue(warehouse, as_of, queue, settings.at(as_of).catalog)
    if options.format == "json":
        print(to_json(report))
    else:
        print_activation(report, as_of - settings.activation.window, as_of)
    return 0


def _find_window_end(warehouse: Warehouse, settings: Settings, as_of: AsOf | None) -> datetime:
    """The end of the window: a moment that is named need not be published."""
    if not isinstance(as_of, datetime):
        return published_as_of(warehouse, settings, as_of)
    warn_of_age(checked_runs(warehouse), as_of)
    return as_of


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


COMMANDS = {
    "ingest": run_ingest,
    "rules": run_rules,
    "schedules": run_schedules,
    "activation": run_activation,
    "reassign": run_reassign,
}
"""The commands of this module by their names."""

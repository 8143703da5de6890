"""The steps of a night as commands."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

from pipelines.activation.report import activation_of_queue, find_queue
from pipelines.activation.view import print_activation
from pipelines.activation.write import require_as_of_left, write_activation
from pipelines.commands.open import opened, read_new_captures, warehouse_of
from pipelines.commands.options import Parser
from pipelines.config.errors import ConfigError
from pipelines.config.instants import AsOf
from pipelines.config.nearest import suggest_nearest
from pipelines.config.queue_filter import FORMS
from pipelines.console.terminal import step, to_json
from pipelines.ladder.write import stored_history, warn_of_unread, write_rules
from pipelines.nightly.night import describe, ingest_new_input
from pipelines.rules.tsql_script import format_script
from pipelines.settings.load import CHECKED, KNOWN_ONLY, Settings, load_settings
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


COMMANDS = {
    "ingest": run_ingest,
    "rules": run_rules,
    "schedules": run_schedules,
    "activation": run_activation,
}
"""The commands of this module by their names."""

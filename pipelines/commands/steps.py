"""The steps of a night as commands: rules, ingest, schedules."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

from pipelines.commands.open import opened, read_new_captures
from pipelines.commands.options import Parser
from pipelines.config.errors import ConfigError
from pipelines.config.load import CHECKED, Settings, load_settings
from pipelines.config.nearest import suggest_nearest
from pipelines.config.rules.tsql_script import format_script
from pipelines.console.terminal import step
from pipelines.ladder.write import stored_history, warn_of_unread, write_rules
from pipelines.nightly.night import describe, ingest_new_input
from pipelines.storage.lock import only_writer
from pipelines.storage.published import require_whole

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


COMMANDS = {"ingest": run_ingest, "rules": run_rules, "schedules": run_schedules}
"""The commands of this module by their names."""

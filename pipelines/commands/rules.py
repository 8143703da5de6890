"""Write the rule history of the settings' rule sources to `priority_rules`, or print it as T-SQL."""

from collections.abc import Sequence

from pipelines.commands.open import opened
from pipelines.commands.options import Parser
from pipelines.config.errors import ConfigError
from pipelines.config.load import CHECKED, Settings, load_settings
from pipelines.config.nearest import suggest_nearest
from pipelines.config.rules.tsql_script import format_script
from pipelines.console.progress import step
from pipelines.ladder.write import stored_history, warn_of_unread, write_rules
from pipelines.storage.lock import only_writer
from pipelines.storage.published import require_whole


def main(argv: Sequence[str]) -> int:
    """Parse the command line and run."""
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
        print(_script(settings, options.print_sql), end="")
        return 0
    settings, warehouse = opened(options, "rules", CHECKED)
    with only_writer(warehouse.root, "rules"):
        require_whole(warehouse)
        with step("rules") as print_details:
            print_details(write_rules(warehouse, settings, stored_history(warehouse)))
    return 0


def _script(settings: Settings, instance: str) -> str:
    known = {version.instance for version in settings.rule_history}
    if instance not in known:
        hint = suggest_nearest(instance, sorted(known))
        raise ConfigError(f"{settings.path}: rules: none is of the instance {instance!r}; {hint}")
    return format_script(settings.rule_history, instance)

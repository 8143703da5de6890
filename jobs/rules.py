"""Write the rule history of the settings' rule sources to `priority_rules`.

./spark-submit.sh jobs/rules.py --config conf/local.yaml
"""

from collections.abc import Sequence
from dataclasses import astuple

from pyspark.sql import SparkSession

from jobs.launch import Parser, launch, session
from pipelines.settings.load import Settings, load_settings
from schemas.outputs import PRIORITY_RULES
from storage.small_frame import small_frame
from storage.warehouse import Warehouse

RULE = (
    "instance string, database string, name string, contract string, local_service string, "
    "remote_service string, level int, valid_from timestamp, valid_to timestamp"
)


def run(spark: SparkSession, settings: Settings) -> int:
    """Replace `priority_rules` by the rule history, if it differs.

    Endpoints that have a priority keep it, whatever becomes of the rules.

    Args:
        spark: the session.
        settings: the rule history, folded from all sources before Spark started.

    Returns:
        How many rule versions there are.
    """
    warehouse = Warehouse(spark, settings.warehouse)
    rules = small_frame(spark, map(astuple, settings.rule_history), RULE)
    rules = rules.select(*PRIORITY_RULES.names)
    # Rules are few and known here already: comparing them takes no job of its own.
    stored = {tuple(row) for row in warehouse.read(PRIORITY_RULES).collect()}
    if not warehouse.exists(PRIORITY_RULES) or stored != {tuple(row) for row in rules.collect()}:
        warehouse.replace(PRIORITY_RULES, rules)
    return len(settings.rule_history)


def main(argv: Sequence[str]) -> int:
    """Parse the command line and run."""
    parser = Parser("Write the rule history of the settings' rule sources.")
    parser.add_argument("--config", required=True, help="settings file, e.g. conf/local.yaml")
    settings = load_settings(parser.parse_args(argv).config)
    run(session("rules"), settings)
    return 0


if __name__ == "__main__":
    launch(main)

"""Explain the priority of a conversation, the place of a message, or the level of a group.

./spark-submit.sh jobs/explain.py --config conf/local.yaml --conversation ID
./spark-submit.sh jobs/explain.py --config conf/local.yaml --message ID --as-of 2026-11-21T00:00:00Z
./spark-submit.sh jobs/explain.py --config conf/local.yaml --group ID --format json
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

from pyspark.sql import SparkSession

from jobs.display import as_json
from jobs.explain_view import show
from jobs.launch import Parser, instant, launch, session
from jobs.published import published_as_of
from pipelines.insight.explain import (
    Conversation,
    Message,
    Tables,
    explain_conversation,
    explain_group,
    explain_message,
)
from pipelines.insight.explain_queue import Group
from pipelines.settings.load import Settings, load_settings
from schemas import TABLES
from storage.warehouse import Warehouse

READ = (
    "endpoints",
    "messages",
    "priority_rules",
    "group_priorities",
    "receive_schedule",
    "transmission_schedule",
    "unresolved",
)


def tables(spark: SparkSession, settings: Settings, as_of: datetime | None = None) -> Tables:
    """Open what explanations read, at an as_of that was published: by default the one of the latest run.

    Raises:
        PipelineError: nothing was published, or not this as_of.
    """
    warehouse = Warehouse(spark, settings.warehouse)
    as_of = published_as_of(warehouse, settings, as_of)
    return Tables(as_of, **{name: warehouse.read(TABLES[name]) for name in READ})


def honors(settings: Settings) -> Mapping[tuple[str, str], bool]:
    """honor_broker_priority by (instance, database), as the catalog says."""
    return {(instance, database): on for instance, database, on in settings.catalog.database_rows()}


def run(
    spark: SparkSession, settings: Settings, kind: str, key: str, as_of: datetime | None, *, form: str
) -> None:
    """Explain one thing on standard output.

    Args:
        spark: the session.
        settings: the warehouse, and the catalog for HONOR_BROKER_PRIORITY.
        kind: conversation, message or group.
        key: its id.
        as_of: an as_of that was published; the latest run's by default.
        form: table, or json for `as_json`.

    Raises:
        PipelineError: there is nothing with this id, or no such as_of.
    """
    read = tables(spark, settings, as_of)
    found: Conversation | Message | tuple[Group, ...]
    if kind == "conversation":
        found = explain_conversation(read, key)
    elif kind == "message":
        found = explain_message(read, key, honors(settings))
    else:
        found = explain_group(read, key)
    if form == "json":
        print(as_json([asdict(one) for one in found] if isinstance(found, tuple) else asdict(found)))
    else:
        show(found, read.as_of)


def main(argv: Sequence[str]) -> int:
    """Parse the command line and run."""
    parser = Parser(
        "Explain the priority of a conversation, the place of a message, or the level of a group."
    )
    parser.add_argument("--config", required=True, help="settings file, e.g. conf/local.yaml")
    what = parser.add_mutually_exclusive_group(required=True)
    for kind in ("conversation", "message", "group"):
        what.add_argument(f"--{kind}", metavar="ID", help=f"the {kind} to explain")
    parser.add_argument("--as-of", type=instant, help="an as_of that was run; the latest run's by default")
    parser.add_argument("--format", choices=["table", "json"], default="table", help="default table")
    options = parser.parse_args(argv)
    kind = next(name for name in ("conversation", "message", "group") if getattr(options, name) is not None)
    settings = load_settings(options.config)
    run(
        session("explain", settings.warehouse),
        settings,
        kind,
        getattr(options, kind),
        options.as_of,
        form=options.format,
    )
    return 0


if __name__ == "__main__":
    launch(main)

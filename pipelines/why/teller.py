"""What a teller knows of the settings."""

from datetime import datetime, timedelta

from pipelines.config.instants import format_instant
from pipelines.console.invocation import command_line
from pipelines.server.snapshots.server import queue_schemas
from pipelines.settings.load import Settings
from pipelines.why.causes.cause import Teller


def teller_of(settings: Settings, as_of: datetime) -> Teller:
    """The teller of a run: its commands can be pasted, and its rules have the places where they stand."""
    shown = {each.database_key for each in settings.snapshots} - settings.databases_of_rule_files
    places = {
        (statement.instance, statement.database, statement.name): str(statement.location)
        for file in settings.rule_files
        for statement in file.statements
    }
    honors = settings.catalog.honors()
    procedures = {
        name: queue.activation.procedure
        for name, queue in settings.catalog.queues().items()
        if queue.activation is not None
    }
    schemas = queue_schemas(settings.snapshots)

    def command(name: str, *options: str) -> str:
        return command_line(name, *options, "--as-of", format_instant(as_of), config=settings.path)

    return Teller(
        command,
        as_of - timedelta(seconds=settings.why.stopped_after),
        frozenset(shown),
        lambda instance, database, rule: places.get((instance, database, rule)),
        lambda instance, database: honors.get((instance, database)),
        lambda instance, database, queue: procedures.get((instance, database, queue)),
        lambda instance, database, queue: schemas.get((instance, database, queue)),
    )

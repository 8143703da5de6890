"""Replay the queue monitors of one as_of, or show what they found on one queue."""

from collections.abc import Sequence
from datetime import datetime

from pipelines.activation.report import activation_of_queue, find_queue
from pipelines.activation.view import print_activation
from pipelines.activation.write import require_as_of_left, write_activation
from pipelines.commands.open import warehouse_of
from pipelines.commands.options import Parser
from pipelines.config.errors import ConfigError
from pipelines.config.instants import AsOf
from pipelines.config.load import KNOWN_ONLY, Settings, load_settings
from pipelines.config.queue_filter import FORMS
from pipelines.console.terminal import to_json
from pipelines.storage.batches import read_completed_batches
from pipelines.storage.lock import only_writer
from pipelines.storage.published import checked_runs, published_as_of, require_whole, warn_of_age
from pipelines.storage.warehouse import Warehouse


def main(argv: Sequence[str]) -> int:
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
            as_of = _find_as_of(warehouse, settings, options.as_of)
            require_as_of_left(warehouse, settings, as_of)
            write_activation(warehouse, settings.at(as_of), as_of, read_completed_batches(warehouse))
        return 0
    as_of = _find_as_of(warehouse, settings, options.as_of)
    queue = find_queue(settings.at(as_of), warehouse, as_of, options.queue)
    report = activation_of_queue(warehouse, as_of, queue, settings.at(as_of).catalog)
    if options.format == "json":
        print(to_json(report))
    else:
        print_activation(report, as_of - settings.activation.window, as_of)
    return 0


def _find_as_of(warehouse: Warehouse, settings: Settings, as_of: AsOf | None) -> datetime:
    """The end of the window: a moment that is named need not be published."""
    if not isinstance(as_of, datetime):
        return published_as_of(warehouse, settings, as_of)
    warn_of_age(checked_runs(warehouse), as_of)
    return as_of

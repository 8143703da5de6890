"""Replay the queue monitors of one as_of, or show what they found on one queue."""

from collections.abc import Sequence

from pipelines.activation.report import activation_of_queue, find_queue
from pipelines.activation.view import print_activation
from pipelines.activation.write import require_as_of_left, write_activation
from pipelines.commands.open import warehouse_of
from pipelines.commands.options import Parser
from pipelines.config.errors import ConfigError
from pipelines.config.load import load_settings
from pipelines.config.queue_filter import FORMS
from pipelines.console.terminal import to_json
from pipelines.storage.batches import read_completed_batches
from pipelines.storage.lock import only_writer
from pipelines.storage.published import checked_runs, published_as_of, require_whole


def main(argv: Sequence[str]) -> int:
    """Parse the command line and replay, or show a queue."""
    parser = Parser(
        "activation",
        "Replay the queue monitors of one as_of, or show what they found on one queue.",
        example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z --queue OrderQueue",
    )
    parser.add_as_of("end of the window (default with --queue: the newest as_of that was published)")
    parser.add_argument("--queue", help=f"show this queue's timeline: {FORMS}")
    parser.add_format()
    options = parser.parse_args(argv)
    if options.format == "json" and options.queue is None:
        parser.error("--format json shows a queue; add --queue NAME")
    if options.as_of is None and options.queue is None:
        parser.error("give --as-of, the end of the window to replay, or --queue NAME to show what was found")
    settings = load_settings(options.config)
    if settings.activation is None:
        raise ConfigError(f"{settings.path}: activation is null, which leaves it out; give it a value")
    warehouse = warehouse_of(settings, "activation")
    if options.queue is None:
        with only_writer(warehouse.root, "activation"):
            require_as_of_left(warehouse, settings, options.as_of)
            require_whole(warehouse)
            write_activation(warehouse, settings, options.as_of, read_completed_batches(warehouse))
        return 0
    if options.as_of is None:
        as_of = published_as_of(warehouse, settings, None)
    else:
        checked_runs(warehouse)
        as_of = options.as_of
    queue = find_queue(settings, warehouse, as_of, options.queue)
    report = activation_of_queue(warehouse, as_of, queue, settings.catalog)
    if options.format == "json":
        print(to_json(report))
    else:
        print_activation(report, as_of - settings.activation.window, as_of)
    return 0

"""Say which messages come next in a queue, or out of an instance, and why."""

from collections.abc import Sequence

from pipelines.commands.open import opened
from pipelines.commands.options import Parser
from pipelines.config.errors import ConfigError
from pipelines.config.queue_filter import FORMS, QueueFilter
from pipelines.console.terminal import to_json
from pipelines.questions.next import report_next
from pipelines.questions.view import print_next
from pipelines.storage.published import published_as_of

LIMIT = 20


def main(argv: Sequence[str]) -> int:
    """Parse the command line, and print what comes next."""
    parser = Parser(
        "next",
        "Say which messages come next in a queue, or out of an instance, and why.",
        example="--config conf/local.yaml --queue TargetQueue --limit 20",
    )
    parser.add_argument("--queue", help=f"the queue to receive from: {FORMS}")
    parser.add_argument("--instance", help="its instance; with --transmission, the instance that sends")
    parser.add_argument("--database", help="its database")
    parser.add_argument("--transmission", action="store_true", help="what the instance sends next")
    parser.add_limit(LIMIT, "messages")
    parser.add_as_of()
    parser.add_format()
    parser.add_wide()
    options = parser.parse_args(argv)
    if options.transmission == (options.queue is not None):
        raise ConfigError("command line: give either --queue Q, or --instance I --transmission")
    if options.transmission and (options.instance is None or options.database is not None):
        raise ConfigError(
            "command line: --transmission needs --instance, and no --database: an instance sends in one "
            "order over all its databases"
        )
    place = QueueFilter(options.queue, options.instance, options.database)
    settings, warehouse = opened(options, "next")
    as_of = published_as_of(warehouse, settings, options.as_of)
    found = report_next(warehouse, place, as_of=as_of, limit=options.limit, catalog=settings.catalog)
    if options.format == "json":
        print(to_json(found))
    else:
        print_next(found, wide=options.wide)
    return 0

"""Say why open messages wait: the causes of each place, with what to do."""

from collections.abc import Sequence

from pipelines.commands.open import opened
from pipelines.commands.options import Parser
from pipelines.config.errors import ConfigError
from pipelines.config.queue_filter import FORMS
from pipelines.console.terminal import to_json
from pipelines.storage.published import published_as_of
from pipelines.why.filters import Filters
from pipelines.why.report import report_why
from pipelines.why.teller import teller_of
from pipelines.why.view import print_why

SHOWN = 10
"""Rows of kinds and details where nothing else is asked for."""


def main(argv: Sequence[str]) -> int:
    """Parse the command line, and print the answer."""
    parser = Parser(
        "why",
        "Say why open messages wait, how long, behind what, and what to do.",
        example="--queue ClaimIntakeQueue --remote-service //acme/portal/Gold",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--queue", metavar="QUEUE", help=f"messages in this queue: {FORMS}")
    where.add_argument("--transmission", action="store_true", help="messages that wait to be sent")
    parser.add_argument("--instance", metavar="NAME", help="messages of this instance")
    parser.add_argument("--database", metavar="NAME", help="messages in queues of this database")
    parser.add_argument("--contract", metavar="NAME", help="contract of the endpoint that holds the message")
    parser.add_argument("--service", metavar="NAME", help="that endpoint's own service")
    parser.add_argument("--remote-service", metavar="NAME", help="that endpoint's remote service")
    parser.add_argument("--conversation", metavar="ID", help="messages of this conversation")
    parser.add_as_of()
    parser.add_limit(SHOWN, "rows of kinds and details")
    parser.add_format()
    parser.add_wide()
    options = parser.parse_args(argv)
    if options.transmission and options.database is not None:
        raise ConfigError("command line: --database is of queues; leave it out, or --transmission")
    settings, warehouse = opened(options, "why")
    as_of = published_as_of(warehouse, settings, options.as_of)
    answer = report_why(
        warehouse,
        settings.catalog,
        Filters(
            queue=options.queue,
            is_transmission=options.transmission,
            instance=options.instance,
            database=options.database,
            contract=options.contract,
            service=options.service,
            remote_service=options.remote_service,
            conversation=options.conversation,
        ),
        teller_of(settings, as_of),
        as_of=as_of,
        limit=options.limit,
        is_activation_computed=settings.activation is not None,
    )
    if options.format == "json":
        print(to_json(answer))
    else:
        print_why(answer, wide=options.wide)
    return 0

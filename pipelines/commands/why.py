"""Say why open messages wait: the causes of each place, with what to do."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.commands.options import Parser
from pipelines.commands.question import ANYWHERE, Asked, Question
from pipelines.config.errors import ConfigError
from pipelines.config.queue_filter import FORMS
from pipelines.why.filters import Filters
from pipelines.why.report import report_why
from pipelines.why.view import print_why


def _options(parser: Parser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--queue", metavar="QUEUE", help=f"messages in this queue: {FORMS}")
    where.add_argument("--transmission", action="store_true", help="messages that wait to be sent")
    parser.add_argument("--instance", metavar="NAME", help="messages of this instance")
    parser.add_argument("--database", metavar="NAME", help="messages in queues of this database")
    parser.add_argument("--contract", metavar="NAME", help="contract of the endpoint that holds the message")
    parser.add_argument("--service", metavar="NAME", help="that endpoint's own service")
    parser.add_argument("--remote-service", metavar="NAME", help="that endpoint's remote service")
    parser.add_argument(
        "--conversation", metavar="ID", help="messages of this conversation: its conversation_id, or a handle"
    )


def _check(options: Namespace) -> None:
    if options.transmission and options.database is not None:
        raise ConfigError("command line: --database is of queues; leave it out, or --transmission")


def _places(answer: Any, asked: Asked) -> Sequence[Mapping[str, Any]]:
    """The databases that the answer is about: those of its places and findings, else those asked for."""
    options = asked.options
    if _filters(options) == Filters():
        return ANYWHERE
    about = {"instance": options.instance, "database": options.database}
    return [*answer["places"], *answer["findings"]] or [about]


def _answer(asked: Asked) -> Any:
    options, settings = asked.options, asked.settings
    return report_why(
        asked.warehouse,
        settings,
        _filters(options),
        as_of=asked.as_of,
        limit=options.limit,
    )


def _filters(options: Namespace) -> Filters:
    """The filters of a command line."""
    return Filters(
        queue=options.queue,
        is_transmission=options.transmission,
        instance=options.instance,
        database=options.database,
        contract=options.contract,
        service=options.service,
        remote_service=options.remote_service,
        conversation=options.conversation,
    )


main = Question(
    "why",
    "Say why open messages wait, how long, behind what, and what to do.",
    example="--queue ClaimIntakeQueue --remote-service //acme/portal/Gold",
    options=_options,
    check=_check,
    limit=(10, "rows of kinds and details"),
    answer=_answer,
    show=lambda answer, asked: print_why(answer),
    tells_age=True,
    places=_places,
)

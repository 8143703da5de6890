"""Say which messages come next in a queue, or out of an instance, and why."""

from argparse import Namespace
from typing import Any

from pipelines.commands.options import Parser
from pipelines.commands.question import Asked, Question
from pipelines.config.errors import ConfigError
from pipelines.config.queue_filter import FORMS, QueueFilter
from pipelines.questions.next import report_next
from pipelines.questions.view import print_next


def _options(parser: Parser) -> None:
    parser.add_argument("--queue", help=f"the queue to receive from: {FORMS}")
    parser.add_argument(
        "--instance", help="its instance; with --transmission, the instance that sends (default the only one)"
    )
    parser.add_argument("--database", help="its database")
    parser.add_argument("--transmission", action="store_true", help="what the instance sends next")


def _check(options: Namespace) -> None:
    if options.transmission == (options.queue is not None):
        raise ConfigError("command line: give either --queue Q, or --transmission, with --instance I")
    if options.transmission and options.database is not None:
        raise ConfigError(
            "command line: --transmission takes no --database: an instance sends in one order over all its "
            "databases"
        )


def _answer(asked: Asked) -> Any:
    options = asked.options
    return report_next(
        asked.warehouse,
        QueueFilter(options.queue, options.instance, options.database),
        as_of=asked.as_of,
        limit=options.limit,
        catalog=asked.settings.catalog,
    )


main = Question(
    "next",
    "Say which messages come next in a queue, or out of an instance, and why.",
    example="--config conf/local.yaml --queue TargetQueue --limit 20",
    options=_options,
    check=_check,
    limit=(20, "messages"),
    has_wide=True,
    answer=_answer,
    show=lambda found, asked: print_next(found, wide=asked.options.wide),
    tells_age=True,
)

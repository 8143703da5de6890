"""Say who waits how long, and who is overtaken most: the starvation report of one as_of."""

from itertools import chain
from typing import Any

from pipelines.commands.options import Parser, list_of
from pipelines.commands.question import Asked, Question
from pipelines.questions.view import print_waiting
from pipelines.questions.waiting import BY, report_waits


def _options(parser: Parser) -> None:
    parser.add_argument(
        "--by",
        action="append",
        type=list_of(BY),
        default=[],
        metavar="COLUMN,...",
        help=f"one row for each combination of these: {', '.join(BY)} (default the queue and its levels)",
    )


def _answer(asked: Asked) -> Any:
    # Each column once, in the order of the command line.
    by = list(dict.fromkeys(chain(*asked.options.by)))
    return report_waits(asked.warehouse, as_of=asked.as_of, limit=asked.options.limit, by=by)


def _show(answer: Any, asked: Asked) -> None:
    settings = asked.settings
    print_waiting(answer, settings.catalog, settings.catalog_path, wide=asked.options.wide)


main = Question(
    "waiting",
    "Say who waits how long, and who is overtaken most.",
    example="--config conf/local.yaml --by contract,local_service,level",
    options=_options,
    limit=(50, "rows of each part"),
    has_wide=True,
    answer=_answer,
    show=_show,
    tells_age=True,
)

"""Say which conversations are never ended, by contract and service, the oldest first."""

from pipelines.commands.options import CENTURY_DAYS, Parser, whole_number
from pipelines.commands.question import Question
from pipelines.questions.leaks import DAYS, report_leaks
from pipelines.questions.view import print_leaks


def _options(parser: Parser) -> None:
    parser.add_argument(
        "--days",
        type=whole_number(1, CENTURY_DAYS),
        default=DAYS,
        help=f"days without traffic (default {DAYS})",
    )


main = Question(
    "leaks",
    "Say which conversations are never ended: the far side has ended, or nothing came for days.",
    example="--config conf/local.yaml --days 30 --as-of 2026-11-21T00:00:00Z",
    options=_options,
    limit=(20, "rows of each part"),
    has_wide=True,
    answer=lambda asked: report_leaks(
        asked.warehouse, as_of=asked.as_of, days=asked.options.days, limit=asked.options.limit
    ),
    show=lambda answer, asked: print_leaks(answer, wide=asked.options.wide),
)

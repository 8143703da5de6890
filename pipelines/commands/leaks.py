"""Say which conversations are never ended, by contract and service, the oldest first."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from pipelines.commands.options import CENTURY_DAYS, Parser, duration, whole_number
from pipelines.commands.out import plain_file, require_not_read, write_whole
from pipelines.commands.question import Asked, Question
from pipelines.config.snapshots.server import queue_schemas
from pipelines.questions.leak_script import script_lines
from pipelines.questions.leaks import DAYS, GRACE, read_known_leaks, report_leaks
from pipelines.questions.view import print_leaks


def _options(parser: Parser) -> None:
    parser.add_argument(
        "--days",
        type=whole_number(1, CENTURY_DAYS),
        default=DAYS,
        help=f"days without traffic (default {DAYS})",
    )
    parser.add_argument(
        "--grace",
        type=duration(0),
        default=GRACE.total_seconds(),
        help="how long an application may take to end its side, such as '30 min' (default 1 h)",
    )
    parser.add_argument(
        "--script",
        type=Path,
        metavar="FILE",
        help="also write T-SQL that ends them; each statement checks again when it runs",
    )


def _answer(asked: Asked) -> dict[str, Any]:
    options = asked.options
    since = {"as_of": asked.as_of, "days": options.days, "grace": timedelta(seconds=options.grace)}
    if options.script is not None:
        file = plain_file(options.script)
        require_not_read(file, asked.settings)
        rows = read_known_leaks(asked.warehouse, **since)
        write_whole("".join(script_lines(rows, queue_schemas(asked.settings.snapshots))), file)
    return report_leaks(asked.warehouse, **since, limit=options.limit)


main = Question(
    "leaks",
    "Say which conversations are never ended: the far side has ended, or nothing came for days.",
    example="--config conf/local.yaml --days 30 --as-of 2026-11-21T00:00:00Z",
    options=_options,
    limit=(20, "rows of each part"),
    has_wide=True,
    answer=_answer,
    show=lambda answer, asked: print_leaks(answer, wide=asked.options.wide),
    tells_age=True,
)

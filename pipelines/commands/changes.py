"""Say what changed from one published as_of to a later one."""

from typing import Any

from pipelines.changes.read import find_since, read_changes
from pipelines.changes.view import print_changes
from pipelines.commands.options import Parser, instant
from pipelines.commands.question import Asked, Question
from pipelines.storage.published import require_findings


def _options(parser: Parser) -> None:
    parser.add_argument(
        "--since",
        type=instant,
        metavar="T",
        help="the earlier as_of: the greatest that was published up to this moment (default: up to --as-of)",
    )


def _answer(asked: Asked) -> Any:
    require_findings(asked.warehouse, asked.settings, asked.as_of)
    since = find_since(asked.warehouse, asked.settings, asked.options.since, asked.as_of)
    return read_changes(asked.warehouse, asked.settings, since, asked.as_of)


main = Question(
    "changes",
    "Say what changed since an earlier as_of: rules, catalog, conversations, waits and findings.",
    example="--config conf/local.yaml --as-of 2026-11-24T07:30:00Z",
    options=_options,
    answer=_answer,
    show=lambda answer, asked: print_changes(answer),
)

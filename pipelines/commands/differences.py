"""Say how snapshots of a server differ from rules, catalog and ledger."""

from typing import Any

from pipelines.commands.question import Asked, Question
from pipelines.questions.differences import report_differences, require_snapshots
from pipelines.questions.view import print_differences


def _answer(asked: Asked) -> Any:
    require_snapshots(asked.settings)
    return report_differences(asked.warehouse, asked.settings, as_of=asked.as_of, limit=asked.options.limit)


main = Question(
    "differences",
    "Say how snapshots of a server differ from rules, catalog and ledger.",
    example="--config conf/capture.yaml",
    limit=(50, "rows of changes, and of levels"),
    answer=_answer,
    show=lambda answer, asked: print_differences(answer),
)

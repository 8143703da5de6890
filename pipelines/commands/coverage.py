"""Count what each rule version decides, up to one as_of."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.commands.question import Asked, Question
from pipelines.config.instants import format_instant
from pipelines.console.tables import print_answer
from pipelines.console.terminal import open_console
from pipelines.questions.coverage import report_coverage
from pipelines.questions.tables import RULES


def _show(rows: Sequence[Mapping[str, Any]], asked: Asked) -> None:
    console = open_console()
    print_answer(console, RULES.with_title(f"{RULES.title}, {format_instant(asked.as_of)}"), rows)
    if any(row["candidates"] for row in rows):
        console.print("Candidates gave these levels if they were there when the endpoints were created.")


main = Question(
    "coverage",
    "Count what each rule version decides: endpoints, conversations, messages.",
    example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    answer=lambda asked: report_coverage(asked.warehouse, asked.as_of),
    plain=lambda rows, asked: {"as_of": asked.as_of, "coverage": rows},
    show=_show,
)

"""Say whether the server gave endpoints the levels that its rules say, and why not."""

from collections.abc import Sequence
from datetime import timedelta

from insight.conformance.ask import levels_at, told
from insight.conformance.view import sentence, show
from insight.terminal import as_json
from jobs.launch import Parser, launch, opened, whole_number
from schemas.conformance import CONFORMANCE_LEVELS
from storage.answers import answers_in, write_answers
from storage.published import published_as_of

LIMIT = 20


def main(argv: Sequence[str]) -> int:
    """Parse the command line, and print what differs; the warehouse stays as it is."""
    parser = Parser(
        "Say whether the server gave endpoints the levels that its rules say, and why not.",
        example="python -m jobs.conformance --config conf/local.yaml --window-hours 24",
    )
    parser.add_as_of("an as_of that was run; the latest run's by default")
    parser.add_argument(
        "--window-hours",
        type=whole_number(1),
        help="only endpoints created so long before as_of (default all)",
    )
    parser.add_argument("--out", metavar="DIR", help="a folder for the table of the answer")
    parser.add_argument(
        "--limit", type=whole_number(1), default=LIMIT, help=f"kinds of endpoints (default {LIMIT})"
    )
    parser.add_format()
    options = parser.parse_args(argv)
    settings, warehouse = opened(options, "conformance")
    answers = answers_in(warehouse, options.out) if options.out else None
    as_of = published_as_of(warehouse, settings, options.as_of)
    window = None if options.window_hours is None else timedelta(hours=options.window_hours)
    with warehouse.kept(levels_at(warehouse, as_of=as_of, window=window)) as levels:
        if answers:
            write_answers(answers, [CONFORMANCE_LEVELS], {CONFORMANCE_LEVELS.name: levels})
        report = {"as_of": as_of, **told(levels, limit=options.limit)}
    if options.format == "json":
        print(as_json({"sentence": sentence(report), **report}))
    else:
        show(report)
    return 0


if __name__ == "__main__":
    launch(main)

"""Say whether the server did what its rules say: its levels, its receives, its links."""

from argparse import ArgumentTypeError
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from functools import partial

from pipelines.commands.open import warehouse_of
from pipelines.commands.options import Parser, whole_number
from pipelines.commands.out import require_own_folder
from pipelines.conformance.read import (
    count_levels_of_server,
    has_receives,
    levels_at,
    overtaken_at,
    request_at,
    require_window_left,
    silent_queues,
)
from pipelines.conformance.receives import receives_at
from pipelines.conformance.report import report_levels, report_overtaken, report_receives
from pipelines.conformance.view import print_conformance, receives_sentence, sentence
from pipelines.console.terminal import to_json
from pipelines.settings.load import KNOWN_ONLY, load_settings
from pipelines.state.messages import describe_messages
from pipelines.storage.answers import answers_in, write_answers
from pipelines.storage.histories import read_rule_snapshots
from pipelines.storage.published import published_as_of
from schemas.conformance import CONFORMANCE_TABLES
from schemas.events import MESSAGES

LIMIT = 20
HOUR = 3_600_000_000
"""In microseconds."""
MOST_HOURS = 1_000_000
TOLERANCE_MS = 10


def main(argv: Sequence[str]) -> int:
    """Parse the command line, and print what differs; the warehouse stays as it is."""
    parser = Parser(
        "conformance",
        "Say whether the server did what its rules say: its levels, its receives, its links.",
        example="--config conf/local.yaml --window-hours 24",
    )
    parser.add_as_of()
    parser.add_argument(
        "--window-hours",
        type=_hours,
        help="only creations, receives and arrivals so long before as_of, e.g. 24 or 0.5 (default all)",
    )
    parser.add_argument(
        "--tolerance-ms",
        type=whole_number(0),
        default=TOLERANCE_MS,
        help=f"treat events closer than this as simultaneous (default {TOLERANCE_MS})",
    )
    parser.add_out()
    parser.add_limit(LIMIT, "rows of each part")
    parser.add_format()
    parser.add_wide()
    options = parser.parse_args(argv)
    settings = load_settings(options.config, KNOWN_ONLY)
    require_own_folder(options.out, settings)
    warehouse = warehouse_of(settings, "conformance")
    answers = answers_in(warehouse, options.out) if options.out else None
    as_of = published_as_of(warehouse, settings, options.as_of)
    settings = settings.at(as_of)
    window = options.window_hours
    tolerance = timedelta(milliseconds=options.tolerance_ms)
    require_window_left(warehouse, as_of=as_of, window=window, tolerance=tolerance)
    with warehouse.materializing() as materialize:
        request = request_at(
            warehouse, settings, as_of=as_of, window=window, tolerance=tolerance, materialize=materialize
        )
        receives, hours, deviations = receives_at(request, tolerance=tolerance, materialize=materialize)
        # A message that was sent before the window can hold up messages in it.
        messages = (
            request.messages if window is None else describe_messages(warehouse.read(MESSAGES), materialize)
        )
        links, sends = overtaken_at(warehouse, settings, as_of=as_of, window=window, messages=messages)
        frames = [
            materialize(levels_at(warehouse, as_of=as_of, window=window)),
            materialize(receives),
            materialize(hours),
            materialize(deviations),
            materialize(links),
        ]
        if answers:
            named = {table.name: frame for table, frame in zip(CONFORMANCE_TABLES, frames, strict=True)}
            write_answers(answers, CONFORMANCE_TABLES, named)
        levels, receives, _, deviations, links = frames
        of_server = count_levels_of_server(warehouse, settings, as_of=as_of, window=window)
        report = {
            "as_of": as_of,
            **report_levels(levels, of_server, limit=options.limit, shown=read_rule_snapshots(warehouse)),
            **report_receives(
                receives,
                deviations,
                has_queue_events=request.has_queue_events,
                find_receives=partial(has_receives, warehouse),
                silent=silent_queues(warehouse, receives),
                limit=options.limit,
            ),
            **report_overtaken(links, sends, limit=options.limit),
        }
    if options.format == "json":
        print(to_json({"sentence": f"{sentence(report)} {receives_sentence(report)}", **report}))
    else:
        print_conformance(report, wide=options.wide)
    return 0


def _hours(text: str) -> timedelta:
    """Read a number of hours, decimals allowed."""
    try:
        hours = Decimal(text)
    except InvalidOperation:
        hours = Decimal(0)
    if not hours.is_finite() or not 0 < hours <= MOST_HOURS:
        raise ArgumentTypeError(f"{text!r} is not a number of hours above 0, {MOST_HOURS:,} at most")
    window = timedelta(microseconds=round(hours * HOUR))
    if not window:
        raise ArgumentTypeError(f"{text!r} hours are less than a microsecond")
    return window

"""Play a period of the log again, with other rules or readers, and report the waits of messages.

priorities replay --config conf/local.yaml --from 2026-11-20T08:00:00Z --to 2026-11-20T12:00:00Z
"""

import argparse
from collections.abc import Sequence

from pipelines.commands.open import warehouse_of
from pipelines.commands.options import Parser, instant, whole_number
from pipelines.commands.out import require_own_folder
from pipelines.commands.proposal_options import add_proposal_options, as_if_of, read_proposal, warn_of_unread
from pipelines.config.errors import ConfigError
from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import FORMS
from pipelines.console.terminal import to_json
from pipelines.replay.read import open_replay, require_known
from pipelines.replay.report import report_replay
from pipelines.replay.request import Period, ReplayRequest, find_queues
from pipelines.replay.view import print_replay, sentence
from pipelines.settings.load import KNOWN_ONLY, load_settings
from pipelines.storage.answers import answers_in, write_answers
from pipelines.storage.batches import read_completed_batches
from schemas.replay import REPLAY_CURVE, REPLAY_TABLES

LOGGED = "logged"
MOST_READERS = 32
LIMIT = 20


def main(argv: Sequence[str]) -> int:
    """Parse the command line, play, and write the tables where --out says; the warehouse stays as it is."""
    parser = Parser(
        "replay",
        "Play a stretch of the log again, with other rules or readers. Arrivals and work are the log's.",
        example="--config conf/local.yaml --from 2026-11-20T08:00:00Z "
        "--to 2026-11-20T15:00:00Z --queue PackingQueue --readers 1..4",
    )
    parser.add_argument("--from", dest="start", required=True, type=instant, help="start of the period")
    parser.add_argument("--to", dest="end", required=True, type=instant, help="its end, not part of it")
    add_proposal_options(parser, required=False)
    parser.add_argument(
        "--readers",
        type=_readers,
        default=(None, ()),
        metavar="logged|N|A..B",
        help="as many as the log has (default), N in each queue, or beside the log's a curve from A to B",
    )
    parser.add_argument(
        "--top", type=whole_number(1), help="TOP(n) of the RECEIVE statements (default receive.top)"
    )
    parser.add_argument(
        "--queue",
        action="extend",
        nargs="+",
        default=[],
        metavar="Q",
        help=f"queues: {FORMS}; may be given again (default all)",
    )
    parser.add_argument(
        "--drain", action="store_true", help="go on after --to, without arrivals, until all is served"
    )
    parser.add_out()
    parser.add_limit(LIMIT, "rows of each part")
    parser.add_format()
    options = parser.parse_args(argv)
    is_empty = options.start == options.end and not options.drain
    if options.start > options.end or is_empty:
        raise ConfigError(
            f"command line: --from {format_instant(options.start)} is not before "
            f"--to {format_instant(options.end)}; name an earlier --from or a later --to"
            + (", or add --drain" if is_empty else "")
        )
    # Errors in files and names end the command before an engine starts.
    settings = load_settings(options.config, KNOWN_ONLY)
    require_own_folder(options.out, settings)
    proposal = read_proposal(settings, options)
    if proposal:
        warn_of_unread(proposal)
    settings = settings.at(options.end)
    find_queues(settings, options.queue)
    warehouse = warehouse_of(settings, "replay")
    answers = answers_in(warehouse, options.out) if options.out else None
    readers, curve = options.readers
    request = ReplayRequest(
        period=Period(options.start, options.end),
        queues=options.queue,
        proposal=proposal,
        as_if=as_if_of(options),
        readers=readers,
        curve=curve,
        top=options.top,
        drain=options.drain,
    )
    require_known(warehouse, settings, request.period)
    with open_replay(warehouse, settings, request) as played:
        if answers:
            tables = (*REPLAY_TABLES, REPLAY_CURVE) if curve else REPLAY_TABLES
            write_answers(answers, tables, played.by_name())
        has_queue_events = read_completed_batches(warehouse).has_queue_events
        report = report_replay(played, request, has_queue_events=has_queue_events, limit=options.limit)
    if options.format == "json":
        print(to_json({"sentence": sentence(report), **report}))
    else:
        print_replay(report)
    return 0


def _readers(text: str) -> tuple[int | None, Sequence[int]]:
    """Read the number of readers, and the numbers of a curve."""
    if text == LOGGED:
        return None, ()
    first, dots, last = text.partition("..")
    if not dots:
        return whole_number(1)(text), ()
    least, most = whole_number(1)(first), whole_number(1)(last)
    if not least <= most < least + MOST_READERS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a range; write A..B with A no greater than B, {MOST_READERS} numbers at most"
        )
    return None, range(least, most + 1)

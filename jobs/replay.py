"""Play a stretch of the log again, with other rules or readers: how long do messages wait then?

.venv/bin/python -m jobs.replay --config conf/local.yaml --from 2026-11-20T08:00:00Z --to 2026-11-20T12:00:00Z
"""

import argparse
from collections.abc import Sequence
from datetime import datetime

from config.errors import ConfigError
from config.instants import format_instant
from config.load import Settings, load_settings
from config.proposal import Proposal, proposed_rules, proposed_settings
from insight.queue_filter import FORMS
from insight.replay.ask import Asked, find_queues, replayed, require_known
from insight.replay.told import told
from insight.replay.view import sentence, show
from insight.terminal import as_json
from jobs.launch import Parser, instant, launch, warehouse_of, whole_number
from pipelines.replay.period import Period
from schemas.replay import REPLAY_CURVE, REPLAY_TABLES
from storage.answers import answers_in, write_answers

ALWAYS = "always"
LOGGED = "logged"
MOST_READERS = 32
LIMIT = 20


def main(argv: Sequence[str]) -> int:
    """Parse the command line, play, and write the tables where --out says; the warehouse stays as it is."""
    parser = Parser(
        "Play a stretch of the log again, with other rules or readers. Arrivals and work are the log's.",
        example=".venv/bin/python -m jobs.replay --config conf/local.yaml --from 2026-11-20T08:00:00Z "
        "--to 2026-11-20T15:00:00Z --queue PackingQueue --readers 1..4",
    )
    parser.add_argument("--from", dest="start", required=True, type=instant, help="start of the period")
    parser.add_argument("--to", dest="end", required=True, type=instant, help="its end, not part of it")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--rules",
        nargs="+",
        metavar="[INSTANCE=]FILE",
        help="rule files in place of the settings'; a script is for INSTANCE, else for the only one",
    )
    what.add_argument("--proposed", metavar="SETTINGS", help="settings with other rules, honor flags, TOP")
    parser.add_argument(
        "--as-if",
        type=_moment,
        default=ALWAYS,
        metavar="always|INSTANT",
        help="since when the proposed rules stand (default always)",
    )
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
        action="append",
        default=[],
        metavar="Q",
        help=f"a queue: {FORMS}; may be given again (default all)",
    )
    parser.add_argument(
        "--drain", action="store_true", help="go on after --to, without arrivals, until all is served"
    )
    parser.add_argument("--out", metavar="DIR", help="a folder for the tables of the answer")
    parser.add_argument(
        "--limit", type=whole_number(1), default=LIMIT, help=f"rows of each part (default {LIMIT})"
    )
    parser.add_format()
    options = parser.parse_args(argv)
    if options.start >= options.end:
        raise ConfigError(
            f"command line: --from {format_instant(options.start)} is not before "
            f"--to {format_instant(options.end)}; name an earlier --from or a later --to"
        )
    if options.as_if != ALWAYS and not (options.rules or options.proposed):
        raise ConfigError("command line: --as-if says since when --rules or --proposed stand; name one")
    # What is wrong with files and names is said before an engine starts.
    settings = load_settings(options.config)
    proposal = _proposal(settings, options)
    find_queues(settings, options.queue)
    warehouse = warehouse_of(settings, "replay")
    answers = answers_in(warehouse, options.out) if options.out else None
    readers, curve = options.readers
    asked = Asked(
        period=Period(options.start, options.end),
        queues=options.queue,
        proposal=proposal,
        as_if=None if options.as_if == ALWAYS else options.as_if,
        readers=readers,
        curve=curve,
        top=options.top,
        drain=options.drain,
    )
    require_known(warehouse, settings, asked.period)
    with replayed(warehouse, settings, asked) as answer:
        if answers:
            tables = (*REPLAY_TABLES, REPLAY_CURVE) if curve else REPLAY_TABLES
            write_answers(answers, tables, answer.by_name())
        report = told(answer, asked, limit=options.limit)
    if options.format == "json":
        print(as_json({"sentence": sentence(report), **report}))
    else:
        show(report)
    return 0


def _proposal(settings: Settings, options: argparse.Namespace) -> Proposal | None:
    if options.rules:
        return proposed_rules(settings, options.rules)
    return proposed_settings(settings, options.proposed) if options.proposed else None


def _moment(text: str) -> str | datetime:
    return text if text == ALWAYS else instant(text)


def _readers(text: str) -> tuple[int | None, Sequence[int]]:
    """How many readers play, and the numbers of a curve beside them."""
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


if __name__ == "__main__":
    launch(main)

"""Write a page about one as_of: one HTML file that needs no network."""

from collections.abc import Sequence
from pathlib import Path

from pipelines.commands.open import warehouse_of
from pipelines.commands.options import Parser
from pipelines.commands.out import plain_file, require_not_read, write_whole
from pipelines.console.terminal import escape_line
from pipelines.report.conformance import read_conformance_tables
from pipelines.report.content import read_tables
from pipelines.report.findings import read_findings
from pipelines.report.page import render_page
from pipelines.report.replay import read_replay_tables
from pipelines.report.whatif import read_whatif_tables
from pipelines.settings.load import KNOWN_ONLY, load_settings
from pipelines.storage.answers import read_answers
from pipelines.storage.published import published_as_of
from schemas.conformance import CONFORMANCE_TABLES
from schemas.replay import REPLAY_TABLES
from schemas.whatif import WHATIF_TABLES

DEFAULT_OUT = "report.html"


def main(argv: Sequence[str]) -> int:
    """Parse the command line, write the page and say where it is."""
    parser = Parser(
        "report",
        "Write a page about one as_of: one HTML file that needs no network.",
        example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z --out report.html",
    )
    parser.add_as_of()
    parser.add_argument(
        "--out", type=Path, default=Path(DEFAULT_OUT), help=f"file to write (default {DEFAULT_OUT})"
    )
    parser.add_argument(
        "--whatif",
        metavar="DIR",
        help="show the what-if that whatif --out DIR wrote for the same as_of",
    )
    parser.add_argument(
        "--conformance",
        metavar="DIR",
        help="show the check that conformance --out DIR wrote for the same as_of",
    )
    parser.add_argument("--replay", metavar="DIR", help="show the replay that replay --out DIR wrote")
    options = parser.parse_args(argv)
    out = plain_file(options.out)
    settings = load_settings(options.config, KNOWN_ONLY)
    require_not_read(out, settings, (options.whatif, options.conformance, options.replay))
    warehouse = warehouse_of(settings, "report")
    as_of = published_as_of(warehouse, settings, options.as_of)
    shown = read_tables(warehouse, as_of) | read_findings(warehouse, settings.at(as_of), as_of)
    if options.whatif is not None:
        found = read_answers(warehouse, options.whatif, WHATIF_TABLES, option="--whatif")
        shown |= read_whatif_tables(found, as_of)
    if options.conformance is not None:
        found = read_answers(warehouse, options.conformance, CONFORMANCE_TABLES, option="--conformance")
        shown |= read_conformance_tables(found, as_of)
    if options.replay is not None:
        found = read_answers(warehouse, options.replay, REPLAY_TABLES, option="--replay")
        shown |= read_replay_tables(found)
    text = render_page(as_of, shown)
    write_whole(text, out)
    size = len(text.encode()) / 1e6
    print(escape_line(f"{options.out}: {size:.1f} MB; open it in a browser"))
    return 0

"""Write a page about one as_of: one HTML file that needs no network."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from config.errors import ConfigError
from insight.report.conformance import conformance_parts
from insight.report.content import parts
from insight.report.page import page
from insight.report.replay import replay_parts
from insight.report.whatif import whatif_parts
from jobs.launch import Parser, launch, opened
from schemas.conformance import CONFORMANCE_TABLES
from schemas.replay import REPLAY_TABLES
from schemas.whatif import WHATIF_TABLES
from storage.answers import read_answers
from storage.published import published_as_of

DEFAULT_OUT = "report.html"


def main(argv: Sequence[str]) -> int:
    """Parse the command line, write the page and say where it is."""
    parser = Parser(
        "Write a page about one as_of: one HTML file that needs no network.",
        example="./spark-submit.sh jobs/report.py --config conf/local.yaml --as-of 2026-11-21T00:00:00Z "
        "--out report.html",
    )
    parser.add_as_of("an as_of that was run; the latest run's by default")
    parser.add_argument(
        "--out", type=Path, default=Path(DEFAULT_OUT), help=f"file to write (default {DEFAULT_OUT})"
    )
    parser.add_argument(
        "--whatif",
        metavar="DIR",
        help="show the what-if that jobs/whatif.py --out DIR wrote for the same as_of",
    )
    parser.add_argument(
        "--conformance",
        metavar="DIR",
        help="show the check that jobs/conformance.py --out DIR wrote for the same as_of",
    )
    parser.add_argument("--replay", metavar="DIR", help="show the replay that jobs/replay.py --out DIR wrote")
    options = parser.parse_args(argv)
    out: Path = options.out
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise ConfigError(f"--out {out}: not a file in a folder that exists; name one, such as {DEFAULT_OUT}")
    settings, warehouse = opened(options, "report")
    as_of = published_as_of(warehouse, settings, options.as_of)
    shown = parts(warehouse, as_of, settings.catalog)
    if options.whatif is not None:
        found = read_answers(warehouse, options.whatif, WHATIF_TABLES, option="--whatif")
        shown |= whatif_parts(found, as_of)
    if options.conformance is not None:
        found = read_answers(warehouse, options.conformance, CONFORMANCE_TABLES, option="--conformance")
        shown |= conformance_parts(found, as_of)
    if options.replay is not None:
        found = read_answers(warehouse, options.replay, REPLAY_TABLES, option="--replay")
        shown |= replay_parts(found)
    text = page(as_of, shown)
    _write(text, out)
    print(f"{out}: {len(text.encode()) / 1e6:.1f} MB; open it in a browser")
    return 0


def _write(text: str, out: Path) -> None:
    """Write the file whole or not at all: whoever looks meanwhile sees the old page or the new one."""
    handle, partial = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(partial, 0o644)
        os.replace(partial, out)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


if __name__ == "__main__":
    launch(main)

"""Write a page about one as_of: one HTML file that needs no network.

./spark-submit.sh jobs/report.py --config conf/local.yaml
./spark-submit.sh jobs/report.py --config conf/local.yaml --as-of 2026-11-21T00:00:00Z --out report.html
"""

import os
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from pyspark.sql import SparkSession

from jobs.launch import Parser, instant, launch, session
from jobs.published import published_as_of
from jobs.report_content import parts
from pipelines.errors import ConfigError
from pipelines.report.page import page
from pipelines.settings.load import Settings, load_settings
from storage.warehouse import Warehouse

DEFAULT_OUT = "report.html"


def run(spark: SparkSession, settings: Settings, as_of: datetime | None) -> str:
    """Make the page; nothing is written.

    Args:
        spark: the session.
        settings: where the warehouse is.
        as_of: an as_of that was published; None takes that of the latest run.

    Returns:
        The HTML; the same for the same tables.

    Raises:
        PipelineError: nothing was published, or not this as_of.
    """
    warehouse = Warehouse(spark, settings.warehouse)
    moment = published_as_of(warehouse, settings, as_of)
    return page(moment, parts(spark, warehouse, moment))


def write(text: str, out: Path) -> None:
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


def main(argv: Sequence[str]) -> int:
    """Parse the command line, write the page and say where it is."""
    parser = Parser("Write a page about one as_of: one HTML file that needs no network.")
    parser.add_argument("--config", required=True, help="settings file, e.g. conf/local.yaml")
    parser.add_argument("--as-of", type=instant, help="an as_of that was run; the latest run's by default")
    parser.add_argument(
        "--out", type=Path, default=Path(DEFAULT_OUT), help=f"file to write (default {DEFAULT_OUT})"
    )
    options = parser.parse_args(argv)
    out: Path = options.out
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise ConfigError(f"--out {out}: not a file in a folder that exists; name one, such as {DEFAULT_OUT}")
    settings = load_settings(options.config)
    text = run(session("report", settings.warehouse), settings, options.as_of)
    write(text, out)
    print(f"{out}: {len(text.encode()) / 1e6:.1f} MB; open it in a browser")
    return 0


if __name__ == "__main__":
    launch(main)

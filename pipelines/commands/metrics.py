"""Print the figures of an as_of for monitoring tools, or write them into a file."""

import sys
from collections.abc import Sequence
from pathlib import Path

from pipelines.commands.open import warehouse_of
from pipelines.commands.options import Parser
from pipelines.commands.out import plain_file, require_not_read, write_whole
from pipelines.config.errors import ConfigError, UnpublishedError
from pipelines.metrics.read import read_metrics
from pipelines.settings.load import KNOWN_ONLY, load_settings
from pipelines.storage.published import published_as_of


def main(argv: Sequence[str]) -> int:
    """Parse the command line, read the metrics, and print or write them."""
    parser = Parser(
        "metrics",
        "Print the figures of an as_of for monitoring tools: OpenMetrics, and Prometheus' older text form.",
        example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    )
    parser.add_as_of()
    parser.add_argument("--out", type=Path, metavar="FILE", help="file to write whole (default: print)")
    options = parser.parse_args(argv)
    out = None if options.out is None else plain_file(options.out)
    settings = load_settings(options.config, KNOWN_ONLY)
    if out is not None:
        require_not_read(out, settings)
    warehouse = warehouse_of(settings, "metrics")
    try:
        as_of = published_as_of(warehouse, settings, options.as_of, says_age=False)
    except UnpublishedError as error:
        # A monitoring tool tells this from a fault.
        raise ConfigError(*error.problems) from error
    text = read_metrics(warehouse, settings.at(as_of), as_of)
    if out is None:
        sys.stdout.write(text)
    else:
        write_whole(text, out)
    return 0

"""Schedule and publish one as_of from the ledger as it is: a night without taking anything in.

priorities schedules --config conf/local.yaml --as-of 2026-11-21T00:00:00Z
"""

from collections.abc import Sequence

from pipelines.commands.open import opened
from pipelines.commands.options import Parser
from pipelines.nightly.night import describe
from pipelines.storage.lock import only_writer


def main(argv: Sequence[str]) -> int:
    """Parse the command line and run."""
    parser = Parser(
        "schedules",
        "Derive group priorities, both schedules and activation of one as_of, and publish them.",
        example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    )
    parser.add_required_as_of()
    options = parser.parse_args(argv)
    settings, warehouse = opened(options, "schedules")
    with only_writer(warehouse.root, "schedules"):
        describe(warehouse, settings, options.as_of)
    return 0

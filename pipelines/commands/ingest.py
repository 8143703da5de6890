"""Read new input and write it into the ledger: the first two steps of a night, `rules` and `ingest`.

priorities ingest --config conf/local.yaml --as-of 2026-11-21T00:00:00Z
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

from pipelines.commands.open import opened, read_new_captures
from pipelines.commands.options import Parser
from pipelines.nightly.night import ingest_new_input
from pipelines.storage.lock import only_writer

CLOSES_AT = "the instant that will be described; without it, or with latest, the end of the log's newest day"


def main(argv: Sequence[str]) -> int:
    """Parse the command line and run."""
    parser = Parser(
        "ingest",
        "Take in what is new in the inputs and write it into the ledger.",
        example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    )
    parser.add_as_of(CLOSES_AT)
    options = parser.parse_args(argv)
    settings, warehouse = opened(options, "fold", read_new_captures())
    with only_writer(warehouse.root, "fold"), warehouse.materializing() as materialize:
        ingest_new_input(
            warehouse,
            settings,
            run_id=str(uuid4()),
            started_at=datetime.now(UTC),
            as_of=options.as_of if isinstance(options.as_of, datetime) else None,
            materialize_state=materialize,
        )
    return 0

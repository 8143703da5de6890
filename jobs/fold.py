"""Take in what is new and write it into the ledger: the first two steps of a night, without an as_of.

./spark-submit.sh jobs/fold.py --config conf/local.yaml
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from uuid import uuid4

from jobs.launch import Parser, launch, opened
from steps.fold import fold
from steps.progress import step
from steps.publish import require_good_input
from steps.rules import write_rules


def main(argv: Sequence[str]) -> int:
    """Parse the command line and run."""
    parser = Parser(
        "Take in what is new in the inputs and write it into the ledger.",
        example="./spark-submit.sh jobs/fold.py --config conf/local.yaml",
    )
    options = parser.parse_args(argv)
    settings, warehouse = opened(options, "fold")
    step("rules", partial(write_rules, warehouse, settings))()
    step("fold", partial(fold, warehouse, settings, run_id=str(uuid4()), started_at=datetime.now(UTC)))()
    require_good_input(warehouse, settings)
    return 0


if __name__ == "__main__":
    launch(main)

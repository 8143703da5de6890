"""Two questions that people ask of the tables.

./spark-submit.sh dev/benchmarks/queries.py --config SETTINGS --as-of INSTANT
.venv/bin/python -m dev.benchmarks.queries --config SETTINGS --as-of INSTANT

Says the seconds of each on stderr. The queue is the one with the most ready messages, and the message the one
in its middle, so neither is found by chance at the edge of a file. Each is asked twice and the second counts:
the first one pays for what a session does once.
"""

import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime

from pyspark.sql import functions as F

from pipelines.commands.launch import launch
from pipelines.commands.open import opened
from pipelines.commands.options import Parser, instant
from pipelines.config.queue_filter import QueueFilter
from pipelines.explain.explanations import explain_message
from pipelines.questions.next import report_next
from pipelines.settings.load import Settings
from pipelines.storage.warehouse import Warehouse
from schemas.keys import QUEUE
from schemas.outputs import RECEIVE_SCHEDULE

NEXT_MESSAGES, EXPLAIN = "next_100_messages", "explain_message"


def run(warehouse: Warehouse, settings: Settings, as_of: datetime) -> dict[str, float]:
    """Ask both questions.

    Args:
        warehouse: what is asked.
        settings: its settings.
        as_of: the instant asked about; some message must be ready then.

    Returns:
        Seconds by question.
    """
    schedule = warehouse.read_as_of(RECEIVE_SCHEDULE, as_of)
    counted = schedule.where("state = 'ready'").groupBy(*QUEUE).count()
    longest = counted.orderBy(F.desc("count"), *QUEUE).first()
    assert longest is not None, "no message is ready"
    queue = QueueFilter(longest["queue"], longest["instance"], longest["database"])
    middle = queue.of(schedule).where(F.col("position") == (longest["count"] + 1) // 2).first()
    assert middle is not None

    def next_100_messages() -> None:
        found = report_next(warehouse, queue, as_of=as_of, limit=100)
        assert len(found["next"]) == min(100, longest["count"])

    def explain() -> None:
        explain_message(warehouse, middle["message_id"], as_of=as_of, honors=settings.catalog.honors())

    return {NEXT_MESSAGES: _seconds(next_100_messages), EXPLAIN: _seconds(explain)}


def _seconds(ask: Callable[[], None]) -> float:
    ask()
    began = time.monotonic()
    ask()
    return time.monotonic() - began


def main(argv: Sequence[str]) -> int:
    """Parse the command line, ask, and say the seconds as the jobs do."""
    parser = Parser("queries", "Ask two questions of the tables.")
    parser.add_argument("--as-of", type=instant, required=True, help="the instant asked about")
    options = parser.parse_args(argv)
    settings, warehouse = opened(options, "queries")
    for name, seconds in run(warehouse, settings, options.as_of).items():
        print(f"{name} done in {seconds:.2f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    launch(main)

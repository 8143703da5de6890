"""Two questions that people ask of the tables, each named in Spark's event log to have its files counted.

./spark-submit.sh benchmarks/queries.py --config SETTINGS --as-of INSTANT

Says the seconds of each on stderr. The queue is the one with the most ready messages, and the message the one
in its middle, so neither is found by chance at the edge of a file. Each is asked twice and the second counts:
the first one pays for what a session does once.
"""

import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime

from pyspark.sql import SparkSession, functions as F

from jobs import next as next_job
from jobs.explain import honors, tables
from jobs.launch import Parser, instant, launch, session
from pipelines.insight.explain import explain_message
from pipelines.settings.load import Settings, load_settings

PLACE = ("instance", "database", "queue")
NEXT_MESSAGES, EXPLAIN = "next_100_messages", "explain_message"


def run(spark: SparkSession, settings: Settings, as_of: datetime) -> dict[str, float]:
    """Ask both questions.

    Args:
        spark: the session.
        settings: where the tables are.
        as_of: the instant asked about; some message must be ready then.

    Returns:
        Seconds by question.
    """
    opened = tables(spark, settings, as_of)
    schedule = opened.at_as_of("receive_schedule")
    longest = (
        schedule.where("state = 'ready'").groupBy(*PLACE).count().orderBy(F.desc("count"), *PLACE).first()
    )
    assert longest is not None, "no message is ready"
    queue = next_job.Place(longest["queue"], longest["instance"], longest["database"])
    middle = queue.of(schedule).where(F.col("position") == (longest["count"] + 1) // 2).first()
    assert middle is not None

    def next_messages() -> None:
        found = next_job.run(spark, settings, queue, as_of, limit=100)
        assert len(found["next"]) == min(100, longest["count"])

    def explain() -> None:
        explain_message(tables(spark, settings, as_of), middle["message_id"], honors(settings))

    return {
        NEXT_MESSAGES: _seconds(spark, NEXT_MESSAGES, next_messages),
        EXPLAIN: _seconds(spark, EXPLAIN, explain),
    }


def _seconds(spark: SparkSession, name: str, ask: Callable[[], None]) -> float:
    ask()
    spark.sparkContext.setJobDescription(name)
    began = time.monotonic()
    ask()
    seconds = time.monotonic() - began
    spark.sparkContext.setJobDescription("")
    return seconds


def main(argv: Sequence[str]) -> int:
    """Parse the command line, ask, and say the seconds as the jobs do."""
    parser = Parser("Ask two questions of the tables.")
    parser.add_argument("--config", required=True, help="settings file")
    parser.add_argument("--as-of", required=True, type=instant, help="the instant asked about")
    options = parser.parse_args(argv)
    settings = load_settings(options.config)
    for name, seconds in run(session("queries", settings.warehouse), settings, options.as_of).items():
        print(f"{name} done in {seconds:.2f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    launch(main)

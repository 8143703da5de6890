"""The nightly run: rules and ingest, ledger, schedules, coverage and activation, publish.

./spark-submit.sh jobs/nightly.py --config conf/local.yaml --as-of 2026-11-21T00:00:00Z
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from pyspark.sql import SparkSession

from jobs import activation, coverage, ingest, ledger, publish, rules, schedules
from jobs.interruption import INTERRUPTION
from jobs.launch import Parser, instant, launch, session
from jobs.progress import step
from jobs.summary import show_summary
from jobs.together import together
from pipelines.settings.load import Settings, load_settings


def run(spark: SparkSession, settings: Settings, as_of: datetime) -> publish.Run:
    """Do everything for one as_of. A run that is broken off is simply run again.

    The order of side effects stands here: rules and events before the ledger, the ledger before the
    schedules and the activation, the schedules before the coverage, and the row in `runs` last, so that
    readers who go by it only ever see complete runs. What need not wait for each other runs side by
    side: starting a query takes one core.

    Args:
        spark: the session.
        settings: the settings, with catalog and rules.
        as_of: the instant to describe.

    Returns:
        The run that was published.

    Raises:
        InputError: the input breaks its contract, or too much was rejected.
        ReconciliationError: the sums do not add up.
    """
    this_run = publish.Run.begin(as_of)
    open_messages: dict[str, int] = {}

    def schedule() -> str:
        open_messages.update(schedules.run(spark, settings, as_of))
        return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in open_messages.items())

    def schedule_and_count() -> None:
        step("schedules", schedule)()
        step("coverage", partial(coverage.run, spark, settings, as_of))()

    def complete() -> None:
        publish.run(spark, settings, this_run, open_messages)

    take_in = partial(ingest.run, spark, settings, run_id=this_run.run_id, started_at=this_run.started_at)
    try:
        together(spark, step("rules", partial(rules.run, spark, settings)), step("ingest", take_in))
        step("ledger", partial(ledger.run, spark, settings))()
        replay = step("activation", partial(activation.run, spark, settings, as_of))
        together(spark, schedule_and_count, replay)
        step("publish", complete)()
    except Exception as error:
        message = str(error).strip().splitlines() or [type(error).__name__]
        status, reason = "failed", message[0]
        if received := INTERRUPTION.acknowledge():
            status, reason = "terminated", f"ended by {received.name}"
        publish.write_row(spark, settings, this_run, status, {}, {}, None, reason)
        raise
    return this_run


def main(argv: Sequence[str]) -> int:
    """Parse the command line, run, and show what came out."""
    parser = Parser("Assign priorities to conversations and schedule what is queued at an instant.")
    parser.add_argument("--config", required=True, help="settings file, e.g. conf/local.yaml")
    parser.add_argument(
        "--as-of", required=True, type=instant, help="the instant to describe, e.g. 2026-11-21T00:00:00Z"
    )
    parser.add_argument("--quiet", action="store_true", help="do not show the tables at the end")
    options = parser.parse_args(argv)
    settings = load_settings(options.config)
    spark = session("nightly", settings.warehouse)
    this_run = run(spark, settings, options.as_of)
    if not options.quiet:
        show_summary(spark, settings, this_run)
    return 0


if __name__ == "__main__":
    launch(main)

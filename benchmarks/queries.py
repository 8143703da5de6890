"""Two questions that people ask of the tables, with the files that the answers took.

./spark-submit.sh benchmarks/queries.py --config SETTINGS --as-of INSTANT

Prints a line of JSON per question. The queue is the one with the most ready messages, and the message the one
in its middle, so neither is found by chance at the edge of a file.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pyspark.sql import Column, DataFrame, Row, SparkSession, functions as F

from jobs.launch import Parser, instant, launch, session
from pipelines.settings.load import load_settings
from schemas import TABLES
from storage.warehouse import Warehouse

PLACE = ("instance", "database", "queue")
NEXT = 100


def run(spark: SparkSession, warehouse: Warehouse, as_of: datetime) -> dict[str, dict[str, Any]]:
    """Ask both questions twice, and measure the second time.

    Args:
        spark: the session.
        warehouse: the tables.
        as_of: the instant asked about; some message must be ready then.

    Returns:
        By question: rows, files (opened by all its queries) and seconds.
    """
    schedule = warehouse.read(TABLES["receive_schedule"]).where(F.col("as_of") == F.lit(as_of))
    ready = schedule.where("state = 'ready'")
    longest = ready.groupBy(*PLACE).count().orderBy(F.desc("count"), *PLACE).first()
    assert longest is not None, "no message is ready"
    in_queue = schedule.where(_equal({name: longest[name] for name in PLACE}))
    middle = in_queue.where(F.col("position") == (longest["count"] + 1) // 2).first()
    assert middle is not None
    found = {
        f"next {NEXT} of this queue": _measured(
            lambda: [in_queue.where(f"position <= {NEXT}").orderBy("position")]
        ),
        "explain this message": _measured(lambda: _explained(warehouse, schedule, middle)),
    }
    return found


def _explained(warehouse: Warehouse, schedule: DataFrame, message: Row) -> list[DataFrame]:
    """A message's place in its queue, its group's, its endpoint's priority, and the rules of its database."""
    where = {name: message[name] for name in PLACE}
    groups = warehouse.read(TABLES["group_priorities"]).where(F.col("as_of") == F.lit(message["as_of"]))
    endpoint = {name: message[name] for name in ("conversation_id", "is_initiator")}
    return [
        schedule.where(_equal({**where, "message_id": message["message_id"]})),
        groups.where(_equal({**where, "conversation_group_id": message["conversation_group_id"]})),
        warehouse.read(TABLES["endpoints"]).where(_equal(endpoint)),
        warehouse.read(TABLES["priority_rules"]).where(
            _equal({name: message[name] for name in ("instance", "database")})
        ),
    ]


def _equal(values: Mapping[str, Any]) -> Column:
    condition = F.lit(True)
    for name, value in values.items():
        condition = condition & (F.col(name) == F.lit(value))
    return condition


def _measured(ask: Callable[[], list[DataFrame]]) -> dict[str, Any]:
    for frame in ask():
        frame.collect()
    began = time.monotonic()
    frames = ask()
    rows = [len(frame.collect()) for frame in frames]
    seconds = time.monotonic() - began
    return {"rows": rows, "files": [_files(frame) for frame in frames], "seconds": round(seconds, 2)}


def _files(frame: DataFrame) -> int:
    """Files that the frame's own execution opened, as its scans counted them."""
    plan = frame._jdf.queryExecution().executedPlan()
    if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
        plan = plan.executedPlan()
    leaves = plan.collectLeaves()
    total = 0
    for number in range(leaves.size()):
        leaf = leaves.apply(number)
        if leaf.getClass().getSimpleName().endswith("QueryStageExec"):
            leaf = leaf.plan().collectLeaves().apply(0)
        metric = leaf.metrics().get("numFiles")
        total += metric.get().value() if metric.isDefined() else 0
    return total


def main(argv: Sequence[str]) -> int:
    """Parse the command line, ask, and print."""
    parser = Parser("Ask two questions of the tables and count the files that the answers took.")
    parser.add_argument("--config", required=True, help="settings file")
    parser.add_argument("--as-of", required=True, type=instant, help="the instant asked about")
    options = parser.parse_args(argv)
    spark = session("queries")
    found = run(spark, Warehouse(spark, load_settings(options.config).warehouse), options.as_of)
    for question, answer in found.items():
        print(json.dumps({"question": question, **answer}), file=sys.stderr)
    return 0


if __name__ == "__main__":
    launch(main)

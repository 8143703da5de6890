"""What was published, and what came in since."""

from pathlib import Path

from pyspark.sql import SparkSession

from pipelines.storage.published import batches_since
from tests.support.factories import at
from tests.support.written import ended_run, warehouse_of


def test_all_batches_came_after_a_run_before_the_first_one(session: SparkSession, tmp_path: Path) -> None:
    counted = dict.fromkeys(("events", "accepted", "duplicates", "rejected"), 0)
    batches = [{"batch": number, "source": "s", "bindings": "b", **counted} for number in (1, 2)]
    runs = [
        ended_run("empty", at(), last_batch=None),
        ended_run("later", at(day=1), last_batch=1),
    ]
    warehouse = warehouse_of(session, tmp_path, {"batches": batches, "runs": runs})
    assert [batches_since(warehouse, at(day=day)) for day in (0, 1)] == [2, 1]

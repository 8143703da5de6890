"""Rows that stay together in a file, however many files a write makes."""

from pathlib import Path

from pyspark.sql import SparkSession, functions as F

from pipelines.engine.frames import small_frame
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import GROUP_PRIORITIES
from schemas.reading import as_of_key
from tests.support.factories import at
from tests.support.opened import opened
from tests.support.plans import settings

QUEUES = 12
GROUPS = 12


def test_a_queue_is_in_one_file(spark: SparkSession, tmp_path: Path) -> None:
    rows = [
        (
            at(60), as_of_key(at(60)), f"SQL{queue % 3}", "A", f"Queue{queue // 2}", f"group {group}", 5, "c",
            1, 1, at(group), "ready" if group else "queue_off", group or None,
        )
        for group in range(GROUPS)
        for queue in range(QUEUES)
    ]  # fmt: skip
    warehouse = Warehouse(spark, str(tmp_path))
    with settings(spark, adaptive_enabled="false", shuffle_partitions="5"):
        warehouse.replace(GROUP_PRIORITIES, small_frame(spark, rows, GROUP_PRIORITIES.struct))
    table = warehouse.read(GROUP_PRIORITIES)
    assert len(table.inputFiles()) == 5
    for queue in range(QUEUES):
        place = (F.col("instance") == f"SQL{queue % 3}") & (F.col("queue") == f"Queue{queue // 2}")
        with opened(spark) as files:
            assert table.where(place).count() == GROUPS
        assert files == {"group_priorities": 1}

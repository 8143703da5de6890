"""Which files Spark's queries open."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from tests.support.plans import settings

# Delta's own log has an index of another name.
FOLDER = re.compile(r"Location: (?:InMemory|PreparedDelta)FileIndex\(\d+ paths\)\[\S*/(\w+)\]")


@contextmanager
def opened(spark: SparkSession) -> Iterator[Counter[str]]:
    """Count by folder the data files that the queries of a block open; the counts are there after it."""
    store = spark._jsparkSession.sharedState().statusStore()
    before = _executions(spark, store)
    found: Counter[str] = Counter()
    with settings(spark, maxMetadataStringLength="1000"):  # Shorter ones cut the folder.
        yield found
    for execution in _executions(spark, store) - before:
        values = store.executionMetrics(execution)
        for node in _items(store.planGraph(execution).allNodes()):
            folder = FOLDER.search(node.desc())
            for metric in _items(node.metrics()):
                value = values.get(metric.accumulatorId())
                if folder and metric.name() == "number of files read" and value.isDefined():
                    found[folder[1]] += int(value.get())


def _executions(spark: SparkSession, store: Any) -> set[int]:
    """The queries that Spark has heard of, once it has heard of all."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    return {execution.executionId() for execution in _items(store.executionsList())}


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(index) for index in range(sequence.size())]

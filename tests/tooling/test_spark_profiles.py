"""conf/spark: what makes small data quick stays on one machine, and results depend on neither profile."""

from pathlib import Path

PROFILES = Path(__file__).resolve().parents[2] / "conf" / "spark"
LOCAL_ONLY = {
    "spark.buffer.pageSize",
    "spark.delta.logStore.file.impl",
    "spark.driver.bindAddress",
    "spark.driver.defaultJavaOptions",
    "spark.driver.host",
    "spark.network.timeout",
    "spark.sql.icu.caseMappings.enabled",
    "spark.sql.shuffle.partitions",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism",
    "spark.sql.streaming.checkpointFileManagerClass",
    "spark.ui.enabled",
    "spark.ui.showConsoleProgress",
}
CLUSTER_ONLY = {"spark.executor.defaultJavaOptions", "spark.executorEnv.TZ"}
"""A local master has no executors, and its driver runs the tasks."""


def spark_profile(name: str) -> dict[str, str]:
    lines = (PROFILES / f"{name}.conf").read_text().splitlines()
    settings = [line.split(None, 1) for line in lines if line and not line.startswith("#")]
    return {name: value.strip() for name, value in settings}


def test_a_cluster_gets_nothing_of_what_is_tuned_for_small_data() -> None:
    local, cluster = spark_profile("local"), spark_profile("cluster")
    assert local.keys() - cluster.keys() == LOCAL_ONLY
    assert cluster.keys() - local.keys() == CLUSTER_ONLY
    assert [name for name in local.keys() & cluster.keys() if local[name] != cluster[name]] == []
    # It keeps its own Java options.
    assert [name for name in cluster if name.endswith("extraJavaOptions")] == []


def test_executors_compile_as_a_local_driver_does_for_a_large_night() -> None:
    of_executors = spark_profile("cluster")["spark.executor.defaultJavaOptions"].split()
    of_driver = spark_profile("local")["spark.driver.defaultJavaOptions"].split()
    assert set(of_driver) - set(of_executors) == {"-XX:+UseParallelGC", "-XX:TieredStopAtLevel=1"}
    assert set(of_executors) <= set(of_driver)

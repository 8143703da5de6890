"""conf/spark: what makes small data quick stays on one machine, and results depend on neither profile."""

from tests.harness import spark_profile

LOCAL_ONLY = {
    "spark.buffer.pageSize",
    "spark.driver.bindAddress",
    "spark.driver.extraJavaOptions",
    "spark.driver.host",
    "spark.sql.adaptive.enabled",
    "spark.sql.shuffle.partitions",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism",
    "spark.ui.enabled",
    "spark.ui.showConsoleProgress",
}
CLUSTER_ONLY = {
    "spark.driver.defaultJavaOptions",
    "spark.executor.defaultJavaOptions",
    "spark.executorEnv.TZ",
}
"""A local master has no executors, and its driver runs the tasks."""


def test_a_cluster_gets_nothing_of_what_is_tuned_for_small_data() -> None:
    assert spark_profile("local").keys() - spark_profile("cluster").keys() == LOCAL_ONLY
    assert spark_profile("cluster").keys() - spark_profile("local").keys() == CLUSTER_ONLY


def test_what_both_profiles_set_is_the_same() -> None:
    local, cluster = spark_profile("local"), spark_profile("cluster")

    for name in local.keys() & cluster.keys():
        assert local[name] == cluster[name], name


def test_executors_compile_as_a_local_driver_does() -> None:
    of_executors = spark_profile("cluster")["spark.executor.defaultJavaOptions"].split()
    of_driver = spark_profile("local")["spark.driver.extraJavaOptions"].split()
    of_memory = {
        "-XX:+UseParallelGC",
        "-XX:InitialRAMPercentage=100",
        "-XX:+UseTransparentHugePages",
    }
    assert set(of_driver) - set(of_executors) == of_memory
    assert set(of_executors) <= set(of_driver)


def test_a_cluster_keeps_its_own_java_options() -> None:
    assert not [name for name in spark_profile("cluster") if name.endswith("extraJavaOptions")]


def test_the_small_profile_changes_how_queries_run_and_nothing_else() -> None:
    assert spark_profile("small").keys() == {
        "spark.driver.extraJavaOptions",
        "spark.sql.codegen.factoryMode",
        "spark.sql.codegen.wholeStage",
    }

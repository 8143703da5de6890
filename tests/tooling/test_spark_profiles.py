"""conf/spark: what makes small data quick stays on one machine, and results depend on neither profile."""

from pathlib import Path

PROFILES = Path(__file__).resolve().parents[2] / "conf" / "spark"
LOCAL_ONLY = {
    "spark.databricks.delta.snapshotPartitions",
    "spark.driver.bindAddress",
    "spark.driver.extraJavaOptions",
    "spark.driver.host",
    "spark.sql.adaptive.enabled",
    "spark.sql.shuffle.partitions",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism",
    "spark.ui.enabled",
    "spark.ui.showConsoleProgress",
}
CLUSTER_ONLY = {"spark.executor.extraJavaOptions", "spark.executorEnv.TZ"}
"""A local master has no executors that these would be for."""


def settings(profile: str) -> dict[str, str]:
    lines = (PROFILES / f"{profile}.conf").read_text().splitlines()
    given = [line.split(maxsplit=1) for line in lines if line.strip() and not line.startswith("#")]
    return {name: value.strip() for name, value in given}


def test_a_cluster_gets_nothing_of_what_is_tuned_for_small_data() -> None:
    assert settings("local").keys() - settings("cluster").keys() == LOCAL_ONLY
    assert settings("cluster").keys() - settings("local").keys() == CLUSTER_ONLY


def test_what_both_profiles_set_is_the_same() -> None:
    local, cluster = settings("local"), settings("cluster")

    assert {name: local[name] for name in local.keys() & cluster.keys()} == {
        name: value for name, value in cluster.items() if name not in CLUSTER_ONLY
    }

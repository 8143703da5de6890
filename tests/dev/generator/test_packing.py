"""The story of the sample's packing station: what went wrong is found, and the replay follows the log."""

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.commands import conformance, replay
from tests.support.harness import Project
from tests.support.packing import BEGIN, CONF, END, Row, packing_night

pytestmark = pytest.mark.slow

FOUND = {
    "where_clause": 3,
    "own_group": 2,
    "logged_level": 3,
    "timing": 3,
    "other_lock": 3,
    "unexplained": 4,
}


@pytest.fixture(scope="module")
def night(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return packing_night(session, tmp_path_factory.mktemp("packing") / "project")


def rows_of(folder: Path, table: str) -> list[Row]:
    rows: list[Row] = DeltaTable(str(folder / table)).to_pyarrow_table().to_pylist()
    return [row for row in rows if row["queue"] == "PackingQueue"]


def test_each_class_that_is_injected_is_found(night: Project, tmp_path: Path) -> None:
    assert conformance.main(["--config", night.config, "--out", str(tmp_path / "out")]) == 0
    [figures] = rows_of(tmp_path / "out", "conformance")
    assert {name: figures[name] for name in FOUND} == FOUND
    assert figures["lock_skipped"] > 0
    assert figures["not_ready"] == 0
    assert 0.97 < figures["fitness"] < 0.98
    deviations = rows_of(tmp_path / "out", "conformance_deviations")
    assert len(deviations) == sum(FOUND.values())
    stray = sorted(row["at"] for row in deviations if row["class"] == "unexplained")
    assert (stray[-1] - stray[0]).total_seconds() < 180


def test_the_replay_follows_the_log_and_a_third_reader_helps(night: Project, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["--from", BEGIN.isoformat(), "--to", END.isoformat(), "--queue", "PackingQueue"]
    rules = [night.folder / "rules.yaml", f"ERP1={CONF.parent / 'samples' / 'proposal' / 'bulk-first.sql'}"]
    options += ["--rules", *map(str, rules), "--readers", "1..4", "--out", str(out)]
    assert replay.main(["--config", night.config, *options]) == 0
    calibrated = {row["level"]: row["calibrated"] for row in rows_of(out, "replay_calibration")}
    assert calibrated == {2: True, 4: True, 8: True}
    curve = [row for row in rows_of(out, "replay_curve") if row["scenario"] == "actual"]
    p95 = {row["readers"]: row["wait_p95"] for row in curve}
    assert p95[1] is None
    assert p95[2] > 20 * 60_000 > 60_000 > p95[3] > p95[4]
    waits = {(row["scenario"], row["level"]): row["wait_p95"] for row in rows_of(out, "replay_waits")}
    assert waits["proposed", 6] < waits["actual", 2] / 10
    assert waits["proposed", 4] > waits["actual", 4] * 5
    [busy] = [row for row in rows_of(out, "replay_queues") if row["scenario"] == "actual"]
    assert busy["utilisation"] > 0.6

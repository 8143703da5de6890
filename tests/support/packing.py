"""The packing station of the sample, alone: its events, and a night on them."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from pyspark.sql import SparkSession

from dev.generator import presets
from dev.generator.plan import Volume
from dev.generator.rush_log import rush_tables
from tests.support.harness import Project

CONF = Path(__file__).resolve().parents[2] / "conf"
BEGIN, END = datetime(2026, 11, 20, 10, tzinfo=UTC), datetime(2026, 11, 20, 15, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 21, tzinfo=UTC)
Row = dict[str, Any]


def packing_rows() -> dict[str, list[Row]]:
    """What the sample logs of the packing station, by input."""
    plan = presets.sample(Volume(messages=200, start=datetime(2026, 11, 20, tzinfo=UTC)))
    assert plan.world.rush is not None
    return {source: table.to_pylist() for source, table in rush_tables(plan.world.rush, plan=plan)}


def packing_night(session: SparkSession, folder: Path) -> Project:
    """A night on these events, with the catalog and the rules of conf/."""
    catalog, rules = (
        yaml.safe_load((CONF / name).read_text("utf-8")) for name in ("catalog.yaml", "rules/company.yaml")
    )
    project = Project(folder, catalog=catalog, rules=rules)
    project.add(packing_rows())
    project.run(session, MIDNIGHT)
    return project

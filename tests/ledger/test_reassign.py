"""Rules that are edited for the past: what is said, what is kept, and what is restated on purpose."""

import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from jobs import ingest, ledger, reassign, rules
from pipelines.errors import PipelineError
from pipelines.settings.load import Settings, load_settings
from tests.factories import (
    at,
    by_source,
    catalog,
    create_rule,
    endpoint_event,
    message_event,
    short_talk,
)
from tests.harness import Project

Row = dict[str, Any]
DAYS = 24 * 60


class Company:
    """A warehouse with four conversations, of which two are over, and rules that are edited."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.project = Project(folder, catalog=catalog(), rules=[create_rule("R", 7)])
        (folder / "others.sql").write_text("PRINT 'x'; PRINT 'y';")
        settings = Path(self.project.config)
        content = yaml.safe_load(settings.read_text())
        content["rules"].append({"path": "others.sql"})
        settings.write_text(yaml.safe_dump(content))
        for day, ends in enumerate([True, False, True, False]):
            self.project.add(short_talk(f"c{day}", day, ends=ends))
        self.load()
        self.fold()

    @property
    def settings(self) -> Settings:
        return load_settings(self.project.config)

    def edit(self, *statements: Row) -> None:
        self.project.set_rules(statements)

    def load(self) -> str:
        return rules.run(self.spark, self.settings)

    def fold(self) -> None:
        ingest.run(self.spark, self.settings, run_id="r", started_at=datetime(2026, 12, 1, tzinfo=UTC))
        ledger.run(self.spark, self.settings)

    def reassign(self, since: datetime, until: datetime, *, apply: bool) -> reassign.Reassignment:
        return reassign.run(self.spark, self.settings, since, until, apply=apply)

    def levels(self) -> dict[str, int]:
        """The level of the initiator endpoints, by conversation."""
        return {row["conversation_id"]: row["priority"] for row in self.endpoints() if row["is_initiator"]}

    def endpoints(self) -> list[Row]:
        rows = self.project.table("endpoints")
        return sorted(rows, key=lambda row: (row["conversation_id"], row["is_initiator"]))

    def version(self, table: str) -> int:
        return DeltaTable(str(self.project.folder / "warehouse" / table)).version()


@pytest.fixture(scope="module")
def company(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Company:
    return Company(spark, tmp_path_factory.mktemp("company"))


WAS = create_rule("R", 7)
RAISED = [WAS, {**WAS, "effective_from": at(DAYS - 30), "alter": {"name": "R", "level": 9}}]
RAISED[1].pop("create")


@pytest.mark.slow
def test_edits_of_the_past(company: Company, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    before = company.endpoints()
    assert company.levels() == {"c0": 7, "c1": 7, "c2": 7, "c3": 7}

    # The same sources again: nothing is written.
    version = company.version("priority_rules")
    others = company.project.folder / "others.sql"
    assert company.load() == f"1 rule versions; {others}: 2 other statements passed over"
    assert company.version("priority_rules") == version
    assert caplog.messages == []

    # An edit for moments that no endpoint was created in.
    company.edit(WAS, {**RAISED[1], "effective_from": at(9 * DAYS)})
    company.load()
    assert caplog.messages == []

    # The rule was raised from the second day on, says its source now.
    company.edit(*RAISED)
    with pytest.raises(PipelineError, match=r"run jobs/rules\.py --config .* first"):
        company.reassign(at(0), at(9 * DAYS), apply=True)
    company.load()
    [warning] = caplog.messages
    assert "('R' in SQL1.A from 2026-11-21T11:30:00Z); 3 endpoints keep what" in warning
    assert "--from 2026-11-21T12:00:00Z --to 2026-11-23T12:00:00.000001Z" in warning
    assert company.endpoints() == before

    # Asked for, it is only said.
    found = company.reassign(at(DAYS), at(3 * DAYS), apply=False)
    assert found == reassign.Reassignment(4, 2, 2, (("SQL1", "A", 7, "R", 9, "R", 2),), 1)
    assert company.endpoints() == before

    # Applied, the endpoints of the interval get it, open and closed, and nothing else changes.
    version = company.version("endpoints")
    company.reassign(at(DAYS), at(3 * DAYS), apply=True)
    assert company.version("endpoints") == version + 1
    assert company.levels() == {"c0": 7, "c1": 9, "c2": 9, "c3": 7}
    after = company.endpoints()
    assert [{**row, "priority": 0} for row in after] == [{**row, "priority": 0} for row in before]

    # Again, it changes nothing.
    again = company.reassign(at(DAYS), at(3 * DAYS), apply=True)
    assert (again.endpoints, again.changing, again.kinds) == (4, 0, ())
    assert company.version("endpoints") == version + 1

    # Later folds keep it, and the rules of then, whatever became of the sources since.
    company.edit(create_rule("Other", 1))
    caplog.clear()
    company.load()
    assert "4 endpoints keep what" in caplog.messages[0]
    company.project.add(by_source(message_event("SENT", "c1/1", event_time=at(4 * DAYS))))
    company.project.add(
        by_source(endpoint_event("END_CONVERSATION", "c2", event_time=at(4 * DAYS), event_id="once more"))
    )
    company.fold()
    assert company.levels() == {"c0": 7, "c1": 9, "c2": 9, "c3": 7}


@pytest.mark.slow
def test_the_command_line(company: Company, capsys: pytest.CaptureFixture[str]) -> None:
    company.edit(create_rule("Other", 1))
    company.load()
    command = ["--config", company.project.config, "--from", "2026-11-20", "--to", "2026-11-21T12:00:00Z"]
    assert reassign.main(command) == 0
    said = capsys.readouterr().out
    assert "2 endpoints were created from 2026-11-20T00:00:00Z up to 2026-11-21T12:00:00Z" in said
    assert "1 of them change, 1 their level" in said
    assert "Nothing was written. Add --apply to write it." in said

"""Rules that are edited for the past: what is said, what is kept, and what is restated on purpose."""

import logging
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.commands.steps import run_rules
from pipelines.commands.upkeep import run_reassign
from pipelines.config.errors import ConfigError, PipelineError
from pipelines.console.invocation import name_command
from pipelines.ladder.reassign import Reassignment, reassign
from pipelines.ladder.write import stored_history, write_rules
from pipelines.settings.load import Settings, load_settings
from pipelines.storage.warehouse import Warehouse
from schemas.ledger import ENDPOINTS
from schemas.outputs import RUNS
from tests.support.factories import at, catalog, create_rule
from tests.support.harness import Project
from tests.support.written import endpoint, write

Row = dict[str, Any]
DAYS = 24 * 60
SECOND, THIRD = date(2026, 11, 21), date(2026, 11, 22)

WAS = create_rule("R", 7)
RAISED = [
    WAS,
    {
        **{name: WAS[name] for name in ("instance", "database")},
        "effective_from": at(DAYS - 30),
        "alter": {"name": "R", "level": 9},
    },
]


class Company:
    """A warehouse with four conversations, of which two are over, and rules that are edited."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.project = Project(folder, catalog=catalog(), rules=[WAS])
        (folder / "others.sql").write_text("PRINT 'x'; PRINT 'y';")
        settings = Path(self.project.config)
        content = yaml.safe_load(settings.read_text())
        content["rules"].append({"path": "others.sql"})
        settings.write_text(yaml.safe_dump(content))
        self.warehouse = Warehouse(spark, self.settings.warehouse)
        self.warehouse.create_missing(RUNS)
        self.load()
        decided = {"priority": 7, "rule_name": "R", "ladder_step": 8}
        books = [(None, 3), (None, 3), (SECOND, 1), (THIRD, 2)]
        write(
            self.warehouse,
            ENDPOINTS,
            [
                endpoint(f"c{day}", side, created_at=at(day=day), closed_on=closed_on, fold=fold, **given)
                for (closed_on, fold), day in zip(books, (0, 3, 1, 2), strict=True)
                for side, given in ((True, decided), (False, {}))
            ],
        )

    @property
    def settings(self) -> Settings:
        return load_settings(self.project.config)

    def load(self) -> str:
        return write_rules(self.warehouse, self.settings, stored_history(self.warehouse))

    def edit(self, *statements: Row) -> None:
        self.project.set_rules(statements)

    def reassign(self, since: datetime, until: datetime, *, apply: bool) -> Reassignment:
        return reassign(self.warehouse, self.settings, since, until, apply=apply)

    def levels(self) -> dict[str, int]:
        """The level of the initiator endpoints, by conversation."""
        return {row["conversation_id"]: row["priority"] for row in self.endpoints() if row["is_initiator"]}

    def endpoints(self) -> list[Row]:
        rows = self.project.table("endpoints")
        return sorted(rows, key=lambda row: (row["conversation_id"], row["is_initiator"]))

    def version(self, table: str) -> int:
        return DeltaTable(str(self.project.folder / "warehouse" / table)).version()


@pytest.fixture
def company(session: SparkSession, tmp_path: Path) -> Company:
    return Company(session, tmp_path)


def of_edits(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The warnings about edits; the project's script without rules has one of its own."""
    return [message for message in caplog.messages if "the file has no rule statement" not in message]


@pytest.mark.slow
def test_edits_of_the_past(company: Company, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="pipelines.ladder.write")
    before = company.endpoints()

    # The same sources again: nothing is written.
    version = company.version("priority_rules")
    others = company.project.folder / "others.sql"
    assert company.load() == f"1 rule versions; {others}: 2 other statements passed over"
    assert company.version("priority_rules") == version
    assert of_edits(caplog) == []

    # An edit for moments that no endpoint was created in.
    company.edit(WAS, {**RAISED[1], "effective_from": at(9 * DAYS)})
    company.load()
    assert of_edits(caplog) == []

    # The rule was raised from the second day on, says its source now.
    company.edit(*RAISED)
    with pytest.raises(PipelineError, match=f"run {name_command('rules')} --config .* first"):
        company.reassign(at(0), at(9 * DAYS), apply=True)
    company.load()
    [warning] = of_edits(caplog)
    assert "('R' in SQL1.A from 2026-11-21T11:30:00Z); 3 endpoints keep what" in warning
    assert "--from 2026-11-21T12:00:00Z --to 2026-11-23T12:00:00.000001Z" in warning
    assert company.endpoints() == before

    # Asked for, it is only said.
    found = company.reassign(at(DAYS), at(3 * DAYS), apply=False)
    assert found == Reassignment(4, 2, 2, (("SQL1", "A", 7, "R", 9, "R", 2),), 1)
    assert company.endpoints() == before

    # Applied, the closed endpoints of the interval get it, in one commit, and nothing else changes.
    version = company.version("endpoints")
    company.reassign(at(DAYS), at(3 * DAYS), apply=True)
    assert company.version("endpoints") == version + 1
    assert company.levels() == {"c0": 7, "c1": 9, "c2": 9, "c3": 7}
    after = company.endpoints()
    assert [{**row, "priority": 0} for row in after] == [{**row, "priority": 0} for row in before]

    # The open ones as well; their partition holds others, which stay.
    company.reassign(at(3 * DAYS), at(4 * DAYS), apply=True)
    assert company.levels() == {"c0": 7, "c1": 9, "c2": 9, "c3": 9}
    assert len(company.endpoints()) == len(before)

    # Again, it changes nothing.
    version = company.version("endpoints")
    again = company.reassign(at(DAYS), at(4 * DAYS), apply=True)
    assert (again.endpoints, again.changing, again.kinds) == (6, 0, ())
    assert company.version("endpoints") == version

    # A rule by another, and one by none.
    company.edit(create_rule("Other", 1, contract="Contract"))
    caplog.clear()
    company.load()
    assert " and 1 more); 4 endpoints keep what" in of_edits(caplog)[0]
    company.reassign(at(3 * DAYS), at(4 * DAYS), apply=True)
    assert company.levels() == {"c0": 7, "c1": 9, "c2": 9, "c3": 1}
    found = company.reassign(at(0), at(4 * DAYS), apply=True)
    assert found.kinds == (("SQL1", "A", 9, "R", 1, "Other", 2), ("SQL1", "A", 7, "R", 1, "Other", 1))
    assert {(row["rule_name"], row["ladder_step"]) for row in company.endpoints()} == {
        ("Other", 4),
        (None, None),
    }


def test_the_command_line(
    embedded: SparkSession, company: Company, capsys: pytest.CaptureFixture[str]
) -> None:
    company.edit(create_rule("Other", 1))
    config = ["--config", company.project.config]
    assert run_rules(config) == 0
    assert run_reassign([*config, "--from", "2026-11-20", "--to", "2026-11-21T12:00:00Z"]) == 0
    said = capsys.readouterr().out
    assert "2 endpoints were created from 2026-11-20T00:00:00Z up to 2026-11-21T12:00:00Z" in said
    assert "1 of them change, 1 their level" in said
    assert "Nothing was written. Add --apply to write it." in said
    with pytest.raises(ConfigError, match="the interval is empty"):
        run_reassign([*config, "--from", "2026-11-21", "--to", "2026-11-21"])
    # The rules as a script.
    assert run_rules([*config, "--print-sql", "SQL1"]) == 0
    assert "CREATE BROKER PRIORITY [Other]" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="none is of the instance 'SQL2'"):
        run_rules([*config, "--print-sql", "SQL2"])

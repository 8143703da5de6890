"""A project whose only input is a folder of captures, and the jobs that are run on it."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from tests.field.running import Case, Outcome
from tests.support.captures import write_capture
from tests.support.factories import NOON, Row
from tests.support.harness import difference

TABLES = (
    "endpoints",
    "priority_rules",
    "group_priorities",
    "receive_schedule",
    "transmission_schedule",
    "unresolved",
    "message_events",
    "endpoint_events",
    "queue_events",
)
OF_THE_RUN = {"run_id", "batch", "fold", "first_seen", "source", "source_file", "source_line", "file", "line"}
"""Columns that say when and from where a row came."""


class CaptureProject(Case):
    """Settings, a folder `captures` and a warehouse."""

    def __init__(self, folder: Path, **sections: Any) -> None:
        """Write the settings; `sections` are further top-level sections of them."""
        super().__init__(folder)
        (folder / "captures").mkdir(parents=True)
        settings = {"warehouse": "warehouse", "snapshots": [{"path": "captures"}], **sections}
        (folder / self.settings).write_text(yaml.safe_dump(settings))

    @property
    def captures(self) -> Path:
        """The folder of captures."""
        return self.folder / "captures"

    def add(self, lines: Sequence[str], name: str = "c.jsonl") -> Path:
        """Write a capture into the folder."""
        return write_capture(self.captures / name, lines)

    def add_bytes(self, content: bytes, name: str) -> Path:
        """Write a file into the folder."""
        path = self.captures / name
        path.write_bytes(content)
        return path

    def run(self, as_of: datetime = NOON) -> Outcome:
        """Run a night that must end well, without its summary."""
        outcome = self.nightly(as_of.isoformat(), "--quiet")
        assert outcome.code == 0, outcome.err
        return outcome

    def refuse(self, as_of: datetime = NOON) -> list[str]:
        """The errors of a night that must end with 3, without the path of the project; nothing is written."""
        before = sorted(self.folder.rglob("warehouse/**/_delta_log/*"))
        outcome = self.nightly(as_of.isoformat(), "--quiet")
        assert outcome.code == 3, outcome.err
        assert sorted(self.folder.rglob("warehouse/**/_delta_log/*")) == before
        lines = outcome.err.splitlines()
        return [line.replace(f"{self.folder}/", "") for line in lines if line.startswith("error: ")]

    def comparable(self) -> dict[str, list[Row]]:
        """The tables without what depends on the run and its files."""
        return {
            name: without_run(self.table(name))
            for name in TABLES
            if (self.folder / "warehouse" / name).exists()
        }


def without_run(rows: Sequence[Row]) -> list[Row]:
    """Rows without the columns that depend on the run and its files."""
    return [{name: value for name, value in row.items() if name not in OF_THE_RUN} for row in rows]


def require_equal(found: dict[str, list[Row]], expected: dict[str, list[Row]]) -> None:
    """Require that tables have the same rows."""
    assert found.keys() == expected.keys()
    for table, rows in expected.items():
        differs = difference(found[table], rows)
        assert differs == [], "\n".join([table, *differs])

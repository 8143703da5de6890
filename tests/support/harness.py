"""Runs the real jobs on logs in plain Python, and reads the tables back as plain Python."""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from pipelines.config.instants import AsOf
from pipelines.nightly.night import ingest_new_input, night
from pipelines.schedules.write import write_schedules
from pipelines.settings.load import Settings, load_settings
from pipelines.storage.warehouse import Warehouse
from tests.support.strategies import Log
from tests.support.strategies.spellings import is_guid

Row = dict[str, Any]
SOURCES = ("endpoint_events", "message_events", "queue_events")


class Project:
    """Settings, inputs and a warehouse in a folder of their own."""

    def __init__(
        self,
        folder: Path,
        *,
        catalog: Row,
        rules: Sequence[Row] = (),
        queue_events: bool = True,
        format: str = "json",
        **sections: Any,
    ) -> None:
        """Write the settings; `sections` are further top-level sections of them, such as receive."""
        self.folder = folder
        self.nights = 0
        folder.mkdir(parents=True, exist_ok=True)
        sources = SOURCES if queue_events else SOURCES[:2]
        for source in sources:
            (folder / source).mkdir(exist_ok=True)
        self._write("catalog.yaml", catalog)
        self.set_rules(rules)
        self._write(
            "settings.yaml",
            {
                "warehouse": "warehouse",
                "inputs": {source: {"path": source, "format": format} for source in sources},
                "catalog": "catalog.yaml",
                "rules": [{"path": "rules.yaml"}],
                **sections,
            },
        )

    def copied(self, folder: Path) -> "Project":
        """A copy, for tests that ingest nothing: to its warehouse the input files are new."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        other = copy(self)
        other.folder = folder
        return other

    @property
    def config(self) -> str:
        """Path of the settings file."""
        return str(self.folder / "settings.yaml")

    def set_rules(self, statements: Sequence[Row]) -> None:
        """Write the rule file, in place of the one that was there."""
        self._write("rules.yaml", [_with_text_moment(statement) for statement in statements])

    def add(self, events: Mapping[str, Iterable[Row]]) -> None:
        """Add events as one more file of JSON lines per input."""
        self.nights += 1
        for source, rows in events.items():
            lines = "".join(json.dumps(row, default=_text, ensure_ascii=False) + "\n" for row in rows)
            (self.folder / source / f"{self.nights:03d}.jsonl").write_text(lines)

    def settings(self) -> Settings:
        """The settings as they are in the file."""
        return load_settings(self.config)

    def warehouse(self, session: SparkSession) -> Warehouse:
        """The tables."""
        settings = self.settings()
        return Warehouse(session, settings.warehouse, settings.places)

    def run(self, session: SparkSession, as_of: AsOf) -> None:
        """Run a night."""
        night(self.warehouse(session), self.settings(), as_of)

    def take_in(self, session: SparkSession) -> None:
        """Fold what is new: the first part of a night."""
        fold(self.warehouse(session), self.settings())

    def schedule(self, session: SparkSession, as_of: datetime) -> None:
        """Fold what is new and write the schedules of an as_of: two thirds of a night's work, and no run."""
        fold(self.warehouse(session), self.settings(), as_of)

    def table(self, name: str, columns: Iterable[str] | None = None) -> list[Row]:
        """The rows of a table, read without Spark; those of the given columns only."""
        rows = DeltaTable(str(self.folder / "warehouse" / name)).to_pyarrow_table().to_pylist()
        return rows if columns is None else [{column: row[column] for column in columns} for row in rows]

    def _write(self, name: str, content: Any) -> None:
        (self.folder / name).write_text(yaml.safe_dump(content, allow_unicode=True))


def _with_text_moment(rule: Row) -> Row:
    return {**rule, "effective_from": rule["effective_from"].isoformat()}


def _text(value: object) -> str:
    assert isinstance(value, datetime)
    return value.astimezone(UTC).isoformat()


def fold(warehouse: Warehouse, settings: Settings, as_of: datetime | None = None) -> None:
    """Fold what is new; with an as_of, as its night does, and write its schedules."""
    with warehouse.materializing() as materialize:
        found = ingest_new_input(
            warehouse,
            settings,
            run_id="r",
            started_at=datetime.now(UTC),
            as_of=as_of,
            materialize_state=materialize,
        )
        if as_of is not None:
            write_schedules(warehouse, settings.at(as_of), as_of, found.completed, found.state)


def same(rows: DataFrame) -> DataFrame:
    """Keep nothing: compute it again."""
    return rows


def one_log(logs: Sequence[Log]) -> Log:
    """Many small logs as one: instances and ids apart, everything else as it was.

    One run of the pipeline then tries many random logs. Settings are those of the first.
    """
    nothing: dict[str, Any] = {source: [] for source in SOURCES}
    joined = replace(logs[0], **nothing, catalog={"instances": []}, rules=[])
    for number, log in enumerate(logs):
        mark = f"{number:02d}."
        for source in SOURCES:
            getattr(joined, source).extend(marked(row, mark) for row in getattr(log, source) or ())
        for instance in log.catalog["instances"]:
            joined.catalog["instances"].append(_declared({**instance, "name": mark + instance["name"]}))
        joined.rules.extend({**rule, "instance": mark + rule["instance"]} for rule in log.rules)
    return replace(joined, queue_events=None) if logs[0].queue_events is None else joined


MARKED = ("event_id", "instance", "conversation_id", "conversation_group_id", "message_id")


def marked(row: Row, mark: str) -> Row:
    """The event with a mark before its ids and its instance; of a GUID, in place of its first digits."""
    return row | {name: _marked(row[name], mark) for name in MARKED if row.get(name) is not None}


def _marked(id: str, mark: str) -> str:
    brace, bare = ("{", id[1:]) if id.startswith("{") else ("", id)
    guid, rest = bare[:36], bare[36:].removeprefix("}") if brace else bare[36:]
    if not is_guid(guid.upper() + rest):
        return mark + id
    return brace + mark[:2] + bare[2:]


def _declared(instance: Row) -> Row:
    """The instance without services of undeclared queues, which the settings refuse."""
    databases = []
    for database in instance["databases"]:
        queues = {queue["name"] for queue in database["queues"]}
        services = [service for service in database["services"] if service["queue"] in queues]
        databases.append({**database, "services": services})
    return {**instance, "databases": databases}


def difference(found: Iterable[Row], expected: Iterable[Row]) -> list[str]:
    """Rows that are in one of the two only, as lines; rows may repeat."""
    left, right = sorted(map(_line, found)), sorted(map(_line, expected))
    missing, extra = list(right), []
    for line in left:
        if line in missing:
            missing.remove(line)
        else:
            extra.append(line)
    return [f"unexpected {line}" for line in extra] + [f"missing    {line}" for line in missing]


def _line(row: Row) -> str:
    return ", ".join(f"{name}={_shown(row[name])}" for name in sorted(row))


def _shown(value: object) -> str:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else repr(value)

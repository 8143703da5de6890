"""The log of a DDL trigger as the history of rules."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.config.captures.clocks import ShownClock
from pipelines.config.errors import ConfigError
from pipelines.config.load import load_settings
from pipelines.config.mapping import LocalTimes
from pipelines.config.rules.ddl_log import read_ddl_log
from pipelines.config.rules.history import apply_statements
from pipelines.config.rules.statements import RuleStatement, SourceLocation
from pipelines.config.snapshots.logged_rules import without_refused
from pipelines.config.snapshots.statements import make_statements

BERLIN = LocalTimes(zone="Europe/Berlin")
CREATE = "CREATE BROKER PRIORITY Gold FOR CONVERSATION SET (PRIORITY_LEVEL = 9)"
ALTER = "ALTER BROKER PRIORITY Gold FOR CONVERSATION\nSET (PRIORITY_LEVEL = 3)"
DROP = "DROP BROKER PRIORITY [Gold]"
ROWS: list[dict[str, Any]] = [
    {"PostTime": "2026-07-01T10:00:00.123", "DatabaseName": "Claims", "CommandText": CREATE},
    {"PostTime": "2026-11-20T10:00:00", "DatabaseName": "Claims", "CommandText": ALTER},
    {"PostTime": "2026-11-20T11:00:00", "DatabaseName": "Claims", "CommandText": "CREATE TABLE t (a int)"},
    {"PostTime": "2026-11-20T12:00:00", "DatabaseName": "Claims", "CommandText": "DROP BROKER PRIORITY"},
]
EVENT = (
    "<EVENT_INSTANCE><EventType>{type}</EventType><PostTime>{PostTime}</PostTime><ServerName>SQL9</ServerName>"
    '<DatabaseName>{DatabaseName}</DatabaseName><TSQLCommand><SetOptions ANSI_NULLS="ON"/>'
    "<CommandText>{CommandText}</CommandText></TSQLCommand></EVENT_INSTANCE>"
)


def write(folder: Path, form: str) -> Path:
    path = folder / f"log.{form.partition('-')[2] or form}"
    rows = ROWS
    if form.startswith("xml"):
        rows = [{"Id": number, "EventData": EVENT.format(type="X", **row)} for number, row in enumerate(ROWS)]
    if path.suffix == ".csv":
        lines = [",".join(rows[0])]
        lines += [
            ",".join('"' + str(value).replace('"', '""') + '"' for value in row.values()) for row in rows
        ]
        path.write_text("\n".join(lines) + "\n")
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    return path


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "xml-csv", "xml-jsonl", "xml-parquet"])
def test_every_form_gives_the_same_statements(tmp_path: Path, form: str) -> None:
    file = read_ddl_log(str(write(tmp_path, form)), BERLIN, instance="SQL1")
    instance = "SQL9" if form.startswith("xml") else "SQL1"
    assert [
        (each.kind.value, each.effective_from, each.instance, each.level) for each in file.statements
    ] == [
        ("CREATE", datetime(2026, 7, 1, 8, 0, 0, 123000, UTC), instance, 9),
        ("ALTER", datetime(2026, 11, 20, 9, tzinfo=UTC), instance, 3),
    ]
    assert (file.passed_over, [str(note.location.line) for note in file.notes]) == (
        2,
        {"csv": ["6"], "xml-csv": ["6"]}.get(form, ["4"]),
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"PostTime": "yesterday"}, "log.jsonl:1:1: PostTime is 'yesterday'; write it like"),
        ({"PostTime": None}, "log.jsonl:1:1: PostTime is ''; write it like"),
        ({"PostTime": "0001-01-01T00:00:00"}, "log.jsonl:1:1: PostTime is '0001-01-01T00:00:00'; write it"),
        ({"PostTime": "2026-03-29T02:30:00"}, "log.jsonl:1:1: PostTime 2026-03-29T02:30:00 does not exist"),
    ],
)
def test_a_row_that_can_not_be_placed_is_named(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(ROWS[0] | change) + "\n")
    with pytest.raises(ConfigError) as error:
        read_ddl_log(str(path), BERLIN, instance="SQL1")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("form", "line"), [("csv", "line 6 has 2 of 3 columns"), ("jsonl", "line 4 is cut or damaged")]
)
def test_a_last_row_that_is_half_written(tmp_path: Path, form: str, line: str) -> None:
    path = write(tmp_path, form)
    path.write_text(path.read_text().rpartition(',"' if form == "csv" else "DROP")[0])
    with pytest.raises(ConfigError, match=f"log.{form}: it is no whole DDL log .{line}.; export it again"):
        read_ddl_log(str(path), BERLIN, instance="SQL1")


@pytest.mark.parametrize(
    "post_time",
    ["2026-07-01T10:00:00.1234567-05:00", "2026-07-01T15:00:00.1234567Z", "2026-07-01T17:00:00.123456"],
)
def test_a_time_keeps_its_own_offset(tmp_path: Path, post_time: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(ROWS[0] | {"PostTime": post_time}) + "\n")
    [statement] = read_ddl_log(str(path), BERLIN, instance="SQL1").statements
    assert statement.effective_from == datetime(2026, 7, 1, 15, 0, 0, 123456, UTC)


def test_without_zone_the_captures_of_the_server_say_the_offset(tmp_path: Path) -> None:
    """Between the captures of July and of November clocks were changed, nobody knows when."""
    log = str(write(tmp_path, "jsonl"))
    july, november = (
        ShownClock(frozenset({"SQL1"}), datetime(2026, month, 1, tzinfo=UTC), minutes)
        for month, minutes in ((7, 120), (11, 60))
    )
    local = LocalTimes()
    file = read_ddl_log(log, local, instance="SQL1", clocks=[november])
    assert [each.effective_from.hour for each in file.statements] == [9, 9]
    with pytest.raises(ConfigError, match="1:1: PostTime is local, and the captures around it show diff"):
        read_ddl_log(log, local, instance="SQL1", clocks=[july, november])
    with pytest.raises(ConfigError, match="no capture shows the clock of SQL2; add zone: Europe/Berlin"):
        read_ddl_log(log, local, instance="SQL2", clocks=[november])


def test_a_column_that_is_missing_is_named_with_the_nearest(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"PostTimes": "", "DatabaseName": "", "CommandText": ""}) + "\n")
    with pytest.raises(ConfigError, match="column PostTime is missing; did you mean 'PostTimes'"):
        read_ddl_log(str(path), BERLIN, instance="SQL1")


@dataclass
class Shown:
    """A snapshot of rules."""

    taken_at: datetime
    rules: list[tuple[str, str | None, str | None, str | None, int]]
    database_key: tuple[str, str] = ("SQL1", "Claims")
    rule_lines: tuple[int, ...] = ()
    declared: None = None
    leaves_out_any: bool = False

    def priorities(self) -> list[tuple[str, str | None, str | None, str | None, int]]:
        return self.rules

    def rule_location(self, number: int) -> SourceLocation:
        return SourceLocation("capture", number + 1, 1)

    def path_of(self, view: str) -> str:
        return "capture"


def logged(tmp_path: Path, *rows: tuple[str, str]) -> list[RuleStatement]:
    path = tmp_path / "log.jsonl"
    texts = [
        {"PostTime": f"2026-11-20T{time}:00Z", "DatabaseName": "Claims", "CommandText": text}
        for time, text in rows
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in texts))
    return list(read_ddl_log(str(path), BERLIN, instance="SQL1").statements)


def history(snapshots: list[Any], log: list[RuleStatement]) -> tuple[list[tuple[Any, ...]], int]:
    shown = make_statements([], snapshots, log)
    kept, notes = without_refused(shown, log)
    versions = apply_statements([*shown, *kept]).versions
    told = [
        (each.name, each.level, each.valid_from.hour, each.valid_to and each.valid_to.hour)
        for each in versions
    ]
    return told, len(notes)


def at(hour: int) -> datetime:
    return datetime(2026, 11, 20, hour, tzinfo=UTC)


def test_a_log_is_laid_over_the_capture_before_it(tmp_path: Path) -> None:
    """The capture of 12:00 shows what the log left, and is no version of its own; that of 14:00 differs."""
    log = logged(tmp_path, ("10:00", ALTER), ("13:00", DROP))
    snapshots = [
        Shown(at(8), [("Gold", None, None, None, 9)]),
        Shown(at(12), [("Gold", None, None, None, 3)]),
        Shown(at(14), [("Silver", "C", None, None, 6)]),
    ]
    assert history(snapshots, log) == (
        [("Gold", 9, 8, 10), ("Gold", 3, 10, 13), ("Silver", 6, 14, None)],
        0,
    )


def test_a_change_of_a_rule_that_nothing_shows_is_a_warning(tmp_path: Path) -> None:
    log = logged(tmp_path, ("10:00", ALTER), ("11:00", CREATE.replace("Gold", "New")))
    assert history([], log) == ([("New", 9, 11, None)], 1)


def test_settings_take_a_log_as_a_source_of_rules(tmp_path: Path) -> None:
    write(tmp_path, "csv")
    (tmp_path / "catalog.yaml").write_text("instances: [{name: SQL1, databases: [{name: Claims}]}]\n")
    settings = """\
warehouse: w
catalog: catalog.yaml
inputs: {endpoint_events: {path: e, format: json}, message_events: {path: m, format: json}}
rules:
  - {path: log.csv, format: ddl-log, instance: SQL1, %s}
"""
    (tmp_path / "settings.yaml").write_text(settings % "zone: Europe/Berlin")
    loaded = load_settings(tmp_path / "settings.yaml")
    assert [(each.name, each.level) for each in loaded.rule_history] == [("Gold", 9), ("Gold", 3)]
    assert [note.location.line for note in loaded.rule_notes] == [6]
    for written, said in (
        ("zone: null", "PostTime is local, and no capture shows the clock of SQL1"),
        ("zone: UTC, effective_from: 2026-01-01T00:00:00Z", "is a DDL log, "),
    ):
        (tmp_path / "settings.yaml").write_text(settings % written)
        with pytest.raises(ConfigError, match=said):
            load_settings(tmp_path / "settings.yaml")

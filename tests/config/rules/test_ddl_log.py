"""The log of a DDL trigger as the history of rules."""

import csv
import json
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

BERLIN = LocalTimes(zone="Europe/Berlin")
CREATE = "CREATE BROKER PRIORITY Gold FOR CONVERSATION SET (PRIORITY_LEVEL = 9)"
ALTER = "ALTER BROKER PRIORITY Gold FOR CONVERSATION\nSET (PRIORITY_LEVEL = 3)"
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
        with path.open("w", newline="") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
            writer.writerows([rows[0], *(row.values() for row in rows)])
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def write_row(folder: Path, **changes: Any) -> str:
    """A log of one row."""
    (folder / "log.jsonl").write_text(json.dumps(ROWS[0] | changes) + "\n")
    return str(folder / "log.jsonl")


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "xml-csv", "xml-jsonl", "xml-parquet"])
def test_every_form_gives_the_same_statements(tmp_path: Path, form: str) -> None:
    file = read_ddl_log(str(write(tmp_path, form)), BERLIN, instance="SQL1")
    instance = "SQL9" if form.startswith("xml") else "SQL1"
    found = [(each.kind.value, each.effective_from, each.instance, each.level) for each in file.statements]
    assert found == [
        ("CREATE", datetime(2026, 7, 1, 8, 0, 0, 123000, UTC), instance, 9),
        ("ALTER", datetime(2026, 11, 20, 9, tzinfo=UTC), instance, 3),
    ]
    lines = [note.location.line for note in file.notes]
    assert (file.passed_over, lines) == (2, [6 if form.endswith("csv") else 4])


@pytest.mark.parametrize(
    ("post_time", "said"),
    [
        ("yesterday", "is 'yesterday'; write it like"),
        (None, "is ''; write it like"),
        ("0001-01-01T00:00:00", "is '0001-01-01T00:00:00'; write it"),
        ("2026-03-29T02:30:00", "2026-03-29T02:30:00 does not exist"),
    ],
)
def test_a_row_that_can_not_be_placed_is_named(tmp_path: Path, post_time: str | None, said: str) -> None:
    with pytest.raises(ConfigError, match=f"log.jsonl:1:1: PostTime {said}"):
        read_ddl_log(write_row(tmp_path, PostTime=post_time), BERLIN, instance="SQL1")


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
    [statement] = read_ddl_log(write_row(tmp_path, PostTime=post_time), BERLIN, instance="SQL1").statements
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
    path.write_text('{"PostTimes": "", "DatabaseName": "", "CommandText": ""}\n')
    with pytest.raises(ConfigError, match="column PostTime is missing; did you mean 'PostTimes'"):
        read_ddl_log(str(path), BERLIN, instance="SQL1")


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

"""The log of a DDL trigger as the history of rules."""

import json
import random
from dataclasses import astuple, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings, strategies as st

from pipelines.config.clocks import ShownClock
from pipelines.config.errors import ConfigError
from pipelines.config.mapping import LocalTimes
from pipelines.server.ddl_log import read_ddl_log
from pipelines.settings.load import load_settings
from tests.support.inputs import write_rows

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
    rows = ROWS
    if form.startswith("xml"):
        rows = [{"Id": number, "EventData": EVENT.format(type="X", **row)} for number, row in enumerate(ROWS)]
    return write_rows(folder / f"log.{form.partition('-')[2] or form}", rows)


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
    path.write_text(path.read_text().rpartition("," if form == "csv" else "DROP")[0])
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


SERVICES = ("//A", "//B", None)
LEVELS = range(1, 11)


@dataclass(frozen=True)
class Rule:
    """What a rule says; None is ANY."""

    contract: str | None
    local: str | None
    remote: str | None
    level: int


@dataclass
class Server:
    """The rules of two databases, changed at random, and the log that a trigger wrote of it."""

    draw: random.Random
    rules: dict[tuple[str, str], Rule] = field(default_factory=dict)
    began: dict[tuple[str, str], datetime] = field(default_factory=dict)
    versions: list[tuple[Any, ...]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)

    def change(self, moment: datetime) -> None:
        """Carry out a statement that the engine does not refuse, and log it."""
        database, name = self.draw.choice(["Claims", "Policy"]), self.draw.choice(["Gold", "Silver", "a]b"])
        key, quoted = (database, name), f"[{name.replace(']', ']]')}]"
        if key in self.rules and self.draw.random() < 0.3:
            text = f"DROP BROKER PRIORITY {quoted};"
            self.end(key, moment)
        else:
            verb = "ALTER" if key in self.rules else "CREATE"
            contract, local, remote = (self.draw.choice(SERVICES) for _ in range(3))
            rule = Rule(contract, local, remote, self.draw.choice(LEVELS))
            others = [each for place, each in self.rules.items() if place[0] == database and place != key]
            # The engine refuses criteria that another rule has; an ALTER without a change is no version.
            if rule == self.rules.get(key) or any(astuple(rule)[:3] == astuple(each)[:3] for each in others):
                return
            text = f"{verb} BROKER PRIORITY {quoted} FOR CONVERSATION\nSET ({', '.join(criteria(rule))})"
            if verb == "ALTER":
                self.end(key, moment)
            self.rules[key], self.began[key] = rule, moment
        self.log(moment, database, text)

    def end(self, key: tuple[str, str], moment: datetime | None) -> None:
        """Note the version of a rule that ends."""
        self.versions.append((*key, *astuple(self.rules.pop(key)), self.began.pop(key), moment))

    def log(self, moment: datetime, database: str, text: str) -> None:
        """Write a row, with the local time of the server."""
        local = moment.astimezone(ZoneInfo("Europe/Berlin")).replace(tzinfo=None)
        row = {"PostTime": local.isoformat(timespec="milliseconds"), "ServerName": "SQL1"}
        self.rows.append({**row, "DatabaseName": database, "CommandText": text})


def criteria(rule: Rule) -> list[str]:
    """What a statement sets: an ALTER leaves out nothing, as what it leaves out stays."""
    names = {"CONTRACT_NAME": rule.contract, "LOCAL_SERVICE_NAME": rule.local}
    found = [f"{name} = {'ANY' if value is None else f'[{value}]'}" for name, value in names.items()]
    remote = "ANY" if rule.remote is None else f"N'{rule.remote}'"
    return [*found, f"REMOTE_SERVICE_NAME = {remote}", f"PRIORITY_LEVEL = {rule.level}"]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 100_000), form=st.sampled_from(["csv", "jsonl", "parquet"]))
def test_the_history_is_that_of_the_server(seed: int, form: str) -> None:
    """Rows stand in two files in any order, some of them in both, beside statements about other things."""
    draw = random.Random(seed)
    server = Server(draw)
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    for _ in range(draw.randrange(25)):
        # A day and more apart, for a local time that is shown twice may change the order of two rows.
        moment += timedelta(milliseconds=draw.randrange(86_400_000, 30 * 86_400_000))
        if moment.astimezone(ZoneInfo("Europe/Berlin")).hour != 2:
            server.change(moment)
        if draw.random() < 0.2:
            server.log(moment, "Claims", "CREATE TABLE t (a int)")
    for key in list(server.rules):
        server.end(key, None)
    draw.shuffle(server.rows)
    middle = len(server.rows) // 2
    with TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "log").mkdir()
        for number, rows in enumerate((server.rows[: middle + 2], server.rows[middle:])):
            write_rows(folder / "log" / f"{number}.{form}", rows)
        (folder / "settings.yaml").write_text(
            "warehouse: w\ncatalog: catalog.yaml\n"
            "inputs: {endpoint_events: {path: e, format: json}, message_events: {path: m, format: json}}\n"
            "rules: [{path: log, format: ddl-log, zone: Europe/Berlin}]\n"
        )
        databases = "[{name: Claims}, {name: Policy}]"
        (folder / "catalog.yaml").write_text(f"instances: [{{name: SQL1, databases: {databases}}}]\n")
        found = load_settings(folder / "settings.yaml").rule_history
    assert sorted(map(repr, map(astuple, found))) == sorted(repr(("SQL1", *each)) for each in server.versions)

"""Rules written as YAML: what they say, what the settings fill in, and what is refused."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines.rules.statements import (
    ANY,
    UNSET,
    RuleDefaults,
    RuleStatement,
    SourceLocation,
    StatementType,
)
from pipelines.settings.rule_sources import read_rules
from tests.support.cases import cases, lines_of_error

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)

GOOD = """\
- effective_from: 2026-01-01T00:00:00Z
  instance: SQL1
  database: InitiatorDB
  create: {name: Gold, contract: SimpleContract, local_service: ANY, remote_service: ANY, level: 9}
- {effective_from: 2026-01-01, instance: SQL1, database: D, create: {name: Plain}}
- effective_from: "2026-02-01T01:00:00+02:00"
  instance: SQL1
  database: InitiatorDB
  alter: {name: Gold, remote_service: {name: ANY}, level: 10}
- {effective_from: 2026-03-01 00:00, instance: SQL1, database: InitiatorDB, drop: {name: Gold}}
"""


def read(tmp_path: Path, content: str, **defaults: object) -> list[RuleStatement]:
    path = tmp_path / "r.yaml"
    path.write_text(content, encoding="utf-8")
    return list(read_rules(str(path), RuleDefaults(**defaults)).statements)  # type: ignore[arg-type]


def rule(tmp_path: Path, body: str) -> RuleStatement:
    """The one statement of a file that says only what it does."""
    [statement] = read(tmp_path, f"- {{database: D, {body}}}\n", instance="I", effective_from=NEW_YEAR)
    return statement


def refusal(tmp_path: Path, content: str, **defaults: object) -> list[str]:
    """The lines of the error, without the path."""
    lines = lines_of_error(tmp_path, read, tmp_path, content, **defaults)
    return [line.removeprefix("r.yaml:") for line in lines]


def test_statements_in_the_order_of_the_file(tmp_path: Path) -> None:
    where, file = ("SQL1", "InitiatorDB", "Gold"), f"{tmp_path}/r.yaml"
    january, march = datetime(2026, 1, 31, 23, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)
    level_9, level_10 = ("SimpleContract", ANY, ANY, 9), {"remote_service": "ANY", "level": 10}
    assert read(tmp_path, GOOD) == [
        RuleStatement(StatementType.CREATE, NEW_YEAR, *where, SourceLocation(file, 1, 3), *level_9),
        RuleStatement(StatementType.CREATE, NEW_YEAR, "SQL1", "D", "Plain", SourceLocation(file, 5, 3)),
        RuleStatement(StatementType.ALTER, january, *where, SourceLocation(file, 6, 3), **level_10),
        RuleStatement(StatementType.DROP, march, *where, SourceLocation(file, 10, 3)),
    ]


@pytest.mark.parametrize(
    ("written", "criterion"),
    [
        ("ANY", ANY),
        ("'ANY'", ANY),
        ("{name: ANY}", "ANY"),
        ("{name: Orders}", "Orders"),
        # Names keep their case and their blanks.
        ("any", "any"),
        ("' ANY'", " ANY"),
        ("'5'", "5"),
        ("null", UNSET),
        ("'" + "x" * 256 + "'", "x" * 256),
    ],
)
def test_criteria(tmp_path: Path, written: str, criterion: object) -> None:
    for key in ("contract", "local_service", "remote_service"):
        assert getattr(rule(tmp_path, f"create: {{name: R, {key}: {written}}}"), key) == criterion


def test_the_settings_fill_in_what_is_left_out(tmp_path: Path) -> None:
    own = "instance: J, effective_from: 2025-05-05"
    content = f"- {{database: D, drop: {{name: R}}}}\n- {{database: D, {own}, drop: {{name: R}}}}\n"
    filled, said = read(tmp_path, content, instance="I", effective_from=NEW_YEAR)
    assert (filled.instance, filled.effective_from) == ("I", NEW_YEAR)
    assert (said.instance, said.effective_from) == ("J", datetime(2025, 5, 5, tzinfo=UTC))
    assert (read(tmp_path, "[]\n"), read(tmp_path, "# none yet\n")) == ([], [])


@pytest.mark.parametrize(
    ("body", "said"),
    cases(f"""
        create: {{name: ''}}
        => 1:32: [0].create.name: has 0 characters (error 33301); write 1 to 128
        create: {{name: {"😀" * 65}}}
        => 1:32: [0].create.name: has 130 characters (error 33301); write 1 to 128
        create: {{name: R, contract: ''}}
        => 1:45: [0].create.contract: has 0 characters (error 33301); write 1 to 256
        create: {{name: R, remote_service: {"x" * 257}}}
        => 1:51: [0].create.remote_service: has 257 characters (error 33301); write 1 to 256
    """)
    + cases("""
        create: {level: 5}   => 1:25: [0].create.name: is missing; add name: and its value
        create: {name: R, remote: S}
        => 1:35: [0].create.remote: unknown key; did you mean 'remote_service'?
        create: null         => 1:3: [0]: write one of create, alter and drop; here is none
        create: {name: R}, drop: {name: R}
        => 1:3: [0]: write one of create, alter and drop; here is create and drop
        crate: {name: R}     => 1:17: [0].crate: unknown key; did you mean 'create'?
        alter: {name: R, level: null}
        => 1:17: [0].alter: changes nothing; add what is to change (contract, local_service, remote_service,
           level)
        drop: R              => 1:23: [0].drop: is 'R'; write a mapping (key: value)
        drop: {name: R, level: 5}
        => 1:33: [0].drop.level: unknown key; write one of name
        effective_from: 2026-02-30, drop: {name: R}
        => 1:33: [0].effective_from: '2026-02-30' is not a moment in time; write it like 2026-01-01T00:00:00Z
    """),
)
def test_refused(tmp_path: Path, body: str, said: list[str]) -> None:
    content = f"- {{database: D, {body}}}\n"
    assert refusal(tmp_path, content, instance="I", effective_from=NEW_YEAR) == said


NO_NAME = "1:45: [0].create.contract: is not a name; write ANY, a name (in quotes if need be) or {name: ...}"
NO_NUMBER = "write a whole number without quotes"
NO_LEVEL = "is not a priority level (error 33302); write 1 (low) to 10 (high)"


def test_a_refused_value(tmp_path: Path) -> None:
    refused = dict.fromkeys(
        ("5", "on", "2026-01-01", "[A]", "{name: 5}", "{nam: A}", "{name: A, x: B}"), NO_NAME
    )
    said = {f"contract: {name}": line for name, line in refused.items()}
    said |= {f"level: {level}": f"1:42: [0].create.level: {level} {NO_LEVEL}" for level in ("0", "11", "-1")}
    said |= {
        f"level: {level}": f"1:42: [0].create.level: is {level}; {NO_NUMBER}" for level in ("5.0", "'5'")
    }
    for value, line in said.items():
        content = f"- {{database: D, create: {{name: R, {value}}}}}\n"
        assert refusal(tmp_path, content, instance="I", effective_from=NEW_YEAR) == [line]


def test_what_neither_the_entry_nor_the_settings_say(tmp_path: Path) -> None:
    hint = "is missing; add it here or to the file's entry under rules: in the settings"
    content = (
        "- {database: D, drop: {name: R}}\n- {instance: I, effective_from: 2026-01-01, drop: {name: R}}\n"
    )
    missing = [f"1:3: [0].instance: {hint}", f"1:3: [0].effective_from: {hint}", f"2:3: [1].database: {hint}"]
    assert refusal(tmp_path, content) == missing
    assert refusal(tmp_path, content, effective_from=NEW_YEAR) == [missing[0], missing[2]]


def test_a_file_that_is_no_list(tmp_path: Path) -> None:
    assert refusal(tmp_path, "create: {}\n") == ["1:1: is a mapping; write a list (- key: value)"]
    assert refusal(tmp_path, "- R\n") == ["1:3: [0]: is 'R'; write a mapping (key: value)"]

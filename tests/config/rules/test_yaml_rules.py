"""Rules written as YAML: what they say, what the settings fill in, and what is refused."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines.config.errors import ConfigError
from pipelines.config.rules.read import read_rules
from pipelines.config.rules.statements import ANY, UNSET, RuleStatement, SourceLocation, StatementType

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
    return list(read_rules(str(path), **defaults).statements)  # type: ignore[arg-type]


def rule(tmp_path: Path, body: str) -> RuleStatement:
    """The one statement of a file that says only what it does."""
    [statement] = read(tmp_path, f"- {{database: D, {body}}}\n", instance="I", effective_from=NEW_YEAR)
    return statement


def refusal(tmp_path: Path, content: str, **defaults: object) -> list[str]:
    """The lines of the error, without the folder."""
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, content, **defaults)
    return str(caught.value).replace(f"{tmp_path}/", "").split("\n")


def test_statements_in_the_order_of_the_file(tmp_path: Path) -> None:
    file = f"{tmp_path}/r.yaml"
    assert read(tmp_path, GOOD) == [
        RuleStatement(
            StatementType.CREATE,
            NEW_YEAR,
            "SQL1",
            "InitiatorDB",
            "Gold",
            SourceLocation(file, 1, 3),
            contract="SimpleContract",
            local_service=ANY,
            remote_service=ANY,
            level=9,
        ),
        RuleStatement(StatementType.CREATE, NEW_YEAR, "SQL1", "D", "Plain", SourceLocation(file, 5, 3)),
        RuleStatement(
            StatementType.ALTER,
            datetime(2026, 1, 31, 23, tzinfo=UTC),
            "SQL1",
            "InitiatorDB",
            "Gold",
            SourceLocation(file, 6, 3),
            remote_service="ANY",
            level=10,
        ),
        RuleStatement(
            StatementType.DROP,
            datetime(2026, 3, 1, tzinfo=UTC),
            "SQL1",
            "InitiatorDB",
            "Gold",
            SourceLocation(file, 10, 3),
        ),
    ]


@pytest.mark.parametrize(
    ("written", "criterion"),
    [
        pytest.param("ANY", ANY, id="wildcard"),
        pytest.param("'ANY'", ANY, id="wildcard, single quotes"),
        pytest.param('"ANY"', ANY, id="wildcard, double quotes"),
        pytest.param("{name: ANY}", "ANY", id="a name ANY"),
        pytest.param("{name: 'ANY'}", "ANY", id="a quoted name ANY"),
        pytest.param("{name: Orders}", "Orders", id="a name the long way"),
        pytest.param("any", "any", id="names keep their case"),
        pytest.param("' ANY'", " ANY", id="names keep their spaces"),
        pytest.param("//Adventure-Works.com/Orders", "//Adventure-Works.com/Orders", id="a URL"),
        pytest.param("'5'", "5", id="a quoted number"),
        pytest.param("null", UNSET, id="null says nothing"),
        pytest.param("'" + "x" * 256 + "'", "x" * 256, id="the longest name"),
    ],
)
def test_criteria(tmp_path: Path, written: str, criterion: object) -> None:
    for key in ("contract", "local_service", "remote_service"):
        assert getattr(rule(tmp_path, f"create: {{name: R, {key}: {written}}}"), key) == criterion


def test_a_rule_may_be_named_any(tmp_path: Path) -> None:
    assert rule(tmp_path, "drop: {name: ANY}").name == "ANY"


def test_the_settings_fill_in_what_is_left_out(tmp_path: Path) -> None:
    own = "instance: J, effective_from: 2025-05-05"
    content = f"- {{database: D, drop: {{name: R}}}}\n- {{database: D, {own}, drop: {{name: R}}}}\n"
    statements = read(tmp_path, content, instance="I", effective_from=NEW_YEAR)
    assert [(s.instance, s.effective_from) for s in statements] == [
        ("I", NEW_YEAR),
        ("J", datetime(2025, 5, 5, tzinfo=UTC)),
    ]


@pytest.mark.parametrize("content", ["", "[]\n", "# none yet\n"])
def test_a_file_may_have_no_rules(tmp_path: Path, content: str) -> None:
    assert read(tmp_path, content) == []


@pytest.mark.parametrize(
    ("body", "line"),
    [
        pytest.param(
            "create: {name: ''}",
            "1:32: [0].create.name: has 0 characters (error 33301); write 1 to 128",
            id="empty name",
        ),
        pytest.param(
            "create: {name: " + "x" * 129 + "}",
            "1:32: [0].create.name: has 129 characters (error 33301); write 1 to 128",
            id="long name",
        ),
        pytest.param(
            "create: {name: " + "😀" * 65 + "}",
            "1:32: [0].create.name: has 130 characters (error 33301); write 1 to 128",
            id="long name in UTF-16",
        ),
        pytest.param(
            "create: {name: R, contract: ''}",
            "1:45: [0].create.contract: has 0 characters (error 33301); write 1 to 256",
            id="empty contract",
        ),
        pytest.param(
            "create: {name: R, local_service: {name: ''}}",
            "1:50: [0].create.local_service: has 0 characters (error 33301); write 1 to 256",
            id="empty service the long way",
        ),
        pytest.param(
            "create: {name: R, remote_service: " + "x" * 257 + "}",
            "1:51: [0].create.remote_service: has 257 characters (error 33301); write 1 to 256",
            id="long service",
        ),
        *(
            pytest.param(
                f"create: {{name: R, contract: {written}}}",
                "1:45: [0].create.contract: is not a name; "
                "write ANY, a name (in quotes if need be) or {name: ...}",
                id=f"contract {written}",
            )
            for written in ("5", "on", "2026-01-01", "[A]", "{name: 5}", "{nam: A}", "{name: A, x: B}")
        ),
        *(
            pytest.param(
                f"create: {{name: R, level: {level}}}",
                f"1:42: [0].create.level: {level} is not a priority level (error 33302); "
                "write 1 (low) to 10 (high)",
                id=f"level {level}",
            )
            for level in (0, 11, -1, 255)
        ),
        *(
            pytest.param(
                f"create: {{name: R, level: {level}}}",
                f"1:42: [0].create.level: is {level}; write a whole number without quotes",
                id=f"level {level}",
            )
            for level in ("5.0", "'5'", "on", "'DEFAULT'")
        ),
        pytest.param(
            "create: {name: 5}",
            "1:32: [0].create.name: 5 is not text to YAML; write it in quotes: '5'",
            id="number as name",
        ),
        pytest.param(
            "create: {level: 5}", "1:25: [0].create.name: is missing; add name: and its value", id="no name"
        ),
        pytest.param(
            "create: {name: R, remote: S}",
            "1:35: [0].create.remote: unknown key; did you mean 'remote_service'?",
            id="unknown key",
        ),
        pytest.param(
            "drop: {name: R, level: 5}",
            "1:33: [0].drop.level: unknown key; write one of name",
            id="drop with level",
        ),
        pytest.param(
            "drop: R", "1:23: [0].drop: is 'R'; write a mapping (key: value)", id="drop of a bare name"
        ),
        pytest.param(
            "crate: {name: R}", "1:17: [0].crate: unknown key; did you mean 'create'?", id="unknown statement"
        ),
        pytest.param(
            "effective_from: 2026-02-30, drop: {name: R}",
            "1:33: [0].effective_from: '2026-02-30' is not a moment in time; "
            "write it like 2026-01-01T00:00:00Z",
            id="no such day",
        ),
        pytest.param(
            "instance: 7, drop: {name: R}",
            "1:27: [0].instance: 7 is not text to YAML; write it in quotes: '7'",
            id="number as instance",
        ),
        pytest.param(
            "create: null", "1:3: [0]: write one of create, alter and drop; here is none", id="nothing"
        ),
        pytest.param(
            "create: {name: R}, drop: {name: R}",
            "1:3: [0]: write one of create, alter and drop; here is create and drop",
            id="two at once",
        ),
        pytest.param(
            "alter: {name: R, level: null}",
            "1:17: [0].alter: changes nothing; "
            "add what is to change (contract, local_service, remote_service, level)",
            id="alter nothing",
        ),
    ],
)
def test_refused(tmp_path: Path, body: str, line: str) -> None:
    content = f"- {{database: D, {body}}}\n"
    assert refusal(tmp_path, content, instance="I", effective_from=NEW_YEAR) == [f"r.yaml:{line}"]


def test_what_neither_the_entry_nor_the_settings_say(tmp_path: Path) -> None:
    hint = "is missing; add it here or to the file's entry under rules: in the settings"
    content = "- {database: D, drop: {name: R}}\n- {instance: I, database: D, drop: {name: R}}\n"
    assert refusal(tmp_path, content) == [
        f"r.yaml:1:3: [0].instance: {hint}",
        f"r.yaml:1:3: [0].effective_from: {hint}",
        f"r.yaml:2:3: [1].effective_from: {hint}",
    ]
    assert refusal(tmp_path, content, effective_from=NEW_YEAR) == [f"r.yaml:1:3: [0].instance: {hint}"]


def test_no_database(tmp_path: Path) -> None:
    content = "- {instance: I, effective_from: 2026-01-01, drop: {name: R}}\n"
    assert refusal(tmp_path, content) == [
        "r.yaml:1:3: [0].database: is missing; add it here or to the file's entry under rules: in the "
        "settings"
    ]


def test_a_file_that_is_no_list(tmp_path: Path) -> None:
    assert refusal(tmp_path, "create: {}\n") == ["r.yaml:1:1: is a mapping; write a list (- item)"]
    assert refusal(tmp_path, "- R\n") == ["r.yaml:1:3: [0]: is 'R'; write a mapping (key: value)"]

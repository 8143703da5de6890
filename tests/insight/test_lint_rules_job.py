"""The lint_rules job: its options, exit codes and forms; and once against a warehouse."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from jobs.lint_rules import FOUND, main, run
from pipelines.errors import ConfigError
from pipelines.insight.findings import Code
from pipelines.settings.load import load_for_lint
from tests.factories import (
    INITIATOR,
    TARGET,
    at,
    by_source,
    catalog,
    create_rule,
    endpoint_event,
    message_event,
)
from tests.harness import Project

ROOT = Path(__file__).parent.parent.parent
BOTH_ENDS = [
    create_rule("Out", 7, contract="Contract", local_service=INITIATOR, remote_service=TARGET),
    create_rule("In", 7, contract="Contract", local_service=TARGET, remote_service=INITIATOR, database="B"),
]
SLIP = [
    {**BOTH_ENDS[0], "create": BOTH_ENDS[0]["create"] | {"local_service": "InitiatorSerivce"}},
    BOTH_ENDS[1],
]
AGAIN = {**BOTH_ENDS[0], "create": BOTH_ENDS[0]["create"] | {"name": "Again"}}


def linted(
    folder: Path, rules: list[dict[str, Any]], *options: str, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    project = Project(folder, catalog=catalog(), rules=rules)
    code = main(["--config", project.config, "--static", *options])
    return code, capsys.readouterr().out


def test_no_findings_exit_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert linted(tmp_path, BOTH_ENDS, capsys=capsys) == (0, "no findings\n")
    assert linted(tmp_path, BOTH_ENDS, "--format", "json", capsys=capsys) == (0, "[]\n")


@pytest.mark.parametrize(
    ("rules", "codes"),
    [
        pytest.param(
            [*BOTH_ENDS, AGAIN],
            {"error": 4, "warning": 4, "note": 4},
            id="an error",
        ),
        pytest.param(SLIP, {"error": 0, "warning": 4, "note": 4}, id="a warning"),
        pytest.param(
            [*BOTH_ENDS, *[create_rule(f"C{n}", n, contract=f"C{n}") for n in (1, 3, 9)]],
            {"error": 0, "warning": 0, "note": 4},
            id="a note",
        ),
    ],
)
def test_exit_4_from_the_severity_that_was_asked_for(
    rules: list[dict[str, Any]], codes: dict[str, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {level: linted(tmp_path, rules, "--fail-on", level, capsys=capsys)[0] for level in codes}
    assert found == codes
    assert linted(tmp_path, rules, capsys=capsys)[0] == codes["warning"]


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, text = linted(tmp_path / "conf", SLIP, "--format", "json", capsys=capsys)
    findings = json.loads(text)
    assert code == FOUND
    assert [(each["code"], each["rule"], each["severity"]) for each in findings] == [
        ("R301", "Out", "warning"),
        ("R203", "In", "warning"),
    ]
    assert {
        name: findings[0][name] for name in ("instance", "database", "file", "line", "column", "fix")
    } == {
        "instance": "SQL1",
        "database": "A",
        "file": "conf/rules.yaml",
        "line": 1,
        "column": 3,
        "fix": "write 'InitiatorService'",
    }


def test_sarif(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What the standard requires of a log, a run, a tool, a rule, a result and a place."""
    monkeypatch.chdir(tmp_path)
    log = json.loads(linted(tmp_path / "my conf", SLIP, "--format", "sarif", capsys=capsys)[1])
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("/sarif-schema-2.1.0.json")
    [only] = log["runs"]
    assert only["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    driver = only["tool"]["driver"]
    assert driver["name"]
    assert [rule["id"] for rule in driver["rules"]] == [code.id for code in Code]
    assert len({rule["id"] for rule in driver["rules"]}) == len(Code)
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("note", "warning", "error")
    assert [result["ruleId"] for result in only["results"]] == ["R301", "R203"]
    for result in only["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("note", "warning", "error")
        assert result["message"]["text"]
        [location] = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"] == {"uri": "my%20conf/rules.yaml", "uriBaseId": "%SRCROOT%"}
        assert place["region"]["startLine"] >= 1
        assert place["region"]["startColumn"] >= 1


def test_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, text = linted(tmp_path, SLIP, capsys=capsys)
    assert "it is probably 'InitiatorService'" in " ".join(text.replace("│", " ").split())
    assert text.endswith("0 errors, 2 warnings, 0 notes\n")


def test_conflicts_are_findings_but_what_can_not_be_read_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = [BOTH_ENDS[0], {**BOTH_ENDS[0], "create": BOTH_ENDS[0]["create"] | {"level": 9}}]
    code, text = linted(tmp_path, twice, "--format", "json", capsys=capsys)
    assert (code, json.loads(text)[0]["code"]) == (FOUND, "R103")
    config = str(tmp_path / "settings.yaml")
    (tmp_path / "rules.yaml").write_text("- create: {}\n")
    with pytest.raises(ConfigError):
        main(["--config", config, "--static"])
    for options in (["--format", "xml"], ["--fail-on", "never"], ["--as-of", "yesterday"]):
        with pytest.raises(ConfigError):
            main(["--config", config, "--static", *options])


def test_the_moment_says_which_rules_are_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = [*BOTH_ENDS, create_rule("Five", 5, contract="Contract", effective_from=at(5))]
    before = linted(tmp_path, rules, "--as-of", at(4).isoformat(), capsys=capsys)[0]
    after = linted(tmp_path, rules, "--as-of", at(5).isoformat(), capsys=capsys)[0]
    assert (before, after, linted(tmp_path, rules, capsys=capsys)[0]) == (0, FOUND, FOUND)


def test_the_shipped_rules_lint_without_a_session_and_without_java() -> None:
    """As a process of its own, whose environment has no Java; the slip of the documentation must be found."""
    found = subprocess.run(
        [
            sys.executable,
            "-m",
            "jobs.lint_rules",
            "--config",
            "conf/local.yaml",
            "--static",
            "--format",
            "json",
        ],
        cwd=ROOT,
        env={"PATH": os.path.dirname(sys.executable), "JAVA_HOME": "/nowhere"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert found.returncode == FOUND, found.stderr
    [slip] = [each for each in json.loads(found.stdout) if each["code"] == "R301"]
    assert slip["rule"] == "InitiatorToTargetPriority"
    assert slip["fix"] == "write 'InitiatorService'"
    assert slip["file"].startswith("conf/rules/documentation.")


def test_against_a_warehouse(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before the first night only the catalog is asked; afterwards the log as well."""
    rules = [
        *BOTH_ENDS,
        create_rule("Case", 6, contract="contract"),
        create_rule("Unused", 6, contract="DEFAULT"),
        create_rule("All", 4),
    ]
    project = Project(tmp_path, catalog=catalog(), rules=rules)

    def codes() -> list[tuple[str, str | None]]:
        settings, folded = load_for_lint(project.config)
        return sorted((each.code.id, each.rule) for each in run(spark, settings, folded, None))

    assert codes() == []
    assert "no endpoints in" in capsys.readouterr().err

    def alter(level: int, minute: int) -> dict[str, Any]:
        alter = {"name": "Out", "level": level}
        return {"effective_from": at(minute).isoformat(), "instance": "SQL1", "database": "A", "alter": alter}

    content = yaml.safe_load((tmp_path / "rules.yaml").read_text())
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump([*content, alter(8, 30)]))
    project.add(
        by_source(
            endpoint_event(conversation="old", event_time=at(0)),
            endpoint_event("DIALOG_CREATED", "old", event_time=at(1)),
            endpoint_event("DIALOG_CREATED", "odd", event_time=at(1), contract="Odd"),
            message_event("SENT", "old/0", event_time=at(1)),
            message_event("DELIVERED", "old/0", event_time=at(1)),
            message_event("SENT", "old/1", event_time=at(2)),
        )
    )
    project.run(spark, at(60))
    assert codes() == [
        ("R302", "Case"),
        ("R304", "Unused"),
        ("R305", "All"),
        ("R306", None),
        ("R307", "Out"),
    ]

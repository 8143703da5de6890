"""The lint_rules job: its options, exit codes and forms; and once against a warehouse."""

import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.commands.lint import FOUND, main
from pipelines.config.errors import ConfigError
from pipelines.lint.findings import FindingCode
from pipelines.lint.run import lint_warehouse
from pipelines.settings.load import load_for_lint
from pipelines.storage.warehouse import Warehouse
from schemas.ledger import ENDPOINTS
from schemas.outputs import RECEIVE_SCHEDULE, RUNS, TRANSMISSION_SCHEDULE
from tests.support.factories import INITIATOR, TARGET, at, catalog, create_rule
from tests.support.harness import Project
from tests.support.written import ended_run, endpoint, received, sent, write

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


FOUR_LEVELS = [*BOTH_ENDS, *[create_rule(f"C{n}", n, contract=f"C{n}") for n in (1, 3, 9)]]


@pytest.mark.parametrize(
    ("rules", "codes"),
    [
        pytest.param([*BOTH_ENDS, AGAIN], [4, 4, 4, 4], id="an error"),
        pytest.param(SLIP, [0, 4, 4, 4], id="a warning"),
        pytest.param(FOUR_LEVELS, [0, 0, 4, 0], id="a note"),
    ],
)
def test_exit_4_from_the_severity_that_was_asked_for(
    rules: list[dict[str, Any]], codes: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the option a warning is enough."""
    asked = [*(("--fail-on", level) for level in ("error", "warning", "note")), ()]
    assert [linted(tmp_path, rules, *options, capsys=capsys)[0] for options in asked] == codes


def test_table_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, text = linted(tmp_path, SLIP, capsys=capsys)
    assert "it is probably 'InitiatorService'" in " ".join(text.replace("│", " ").split())
    assert text.endswith("0 errors, 2 warnings, 0 notes\n")
    # A statement stands below the table, where it can be pasted.
    assert "\nUSE [A]; CREATE BROKER PRIORITY [Contract " in text
    code, text = linted(tmp_path / "conf", SLIP, "--format", "json", capsys=capsys)
    findings = json.loads(text)
    assert code == FOUND
    assert [(each["code"], each["rule"], each["severity"]) for each in findings] == [
        ("R301", "Out", "warning"),
        ("R203", "In", "warning"),
    ]
    shown = ("instance", "database", "file", "line", "column", "fix")
    place = ["SQL1", "A", "conf/rules.yaml", 1, 3]
    assert [findings[0][name] for name in shown] == [*place, "write 'InitiatorService'"]


def test_sarif(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What the standard requires of a log, a run, a tool, a rule, a result and a place."""
    monkeypatch.chdir(tmp_path)
    log = json.loads(linted(tmp_path / "my conf", SLIP, "--format", "sarif", capsys=capsys)[1])
    [run] = log["runs"]
    assert log == {"$schema": log["$schema"], "version": "2.1.0", "runs": [run]}
    assert log["$schema"].endswith("/sarif-schema-2.1.0.json")
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    tool, levels = run["tool"]["driver"], ("note", "warning", "error")
    assert tool["name"]
    assert [rule["id"] for rule in tool["rules"]] == [code.id for code in FindingCode]
    for rule in tool["rules"]:
        assert rule["shortDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in levels
    assert [result["ruleId"] for result in run["results"]] == ["R301", "R203"]
    for result in run["results"]:
        assert tool["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in levels
        assert result["message"]["text"]
        [place] = [location["physicalLocation"] for location in result["locations"]]
        assert place["artifactLocation"] == {"uri": "my%20conf/rules.yaml", "uriBaseId": "%SRCROOT%"}
        assert min(place["region"]["startLine"], place["region"]["startColumn"]) >= 1


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
    lint = [sys.executable, "-m", "jobs.lint_rules", "--config", "conf/local.yaml", "--static"]
    env = {"PATH": os.path.dirname(sys.executable), "JAVA_HOME": "/nowhere"}
    found = subprocess.run([*lint, "--format", "json"], cwd=ROOT, env=env, capture_output=True, timeout=60)
    assert found.returncode == FOUND, found.stderr
    [slip] = [each for each in json.loads(found.stdout) if each["code"] == "R301"]
    assert (slip["rule"], slip["fix"]) == ("InitiatorToTargetPriority", "write 'InitiatorService'")
    assert slip["file"].startswith("conf/rules/documentation.")


def test_against_a_warehouse(
    embedded: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before the first night only the catalog is asked; afterwards the log as well."""
    later = {"effective_from": at(30), "instance": "SQL1", "database": "A"}
    rules = [
        *BOTH_ENDS,
        create_rule("Case", 6, contract="contract"),
        create_rule("Unused", 6, contract="DEFAULT"),
        create_rule("All", 4),
        {**later, "alter": {"name": "Out", "level": 8}},
    ]
    project = Project(tmp_path, catalog=catalog(), rules=rules)
    settings, history = load_for_lint(project.config)
    warehouse = Warehouse(embedded, settings.warehouse)
    assert main(["--config", project.config]) == 0
    assert "the rules were not compared with a log" in capsys.readouterr().err

    def codes(moment: datetime | None = None) -> tuple[list[tuple[str, str | None]], list[str]]:
        findings, remarks = lint_warehouse(warehouse, settings, history, moment=moment)
        log = [each for each in findings if each.code.id >= "R3"]
        return sorted((each.code.id, each.rule) for each in log), [each.split(":")[0] for each in remarks]

    assert codes() == ([], [f"no endpoints in {settings.warehouse}"])
    with_rule = {"priority": 7, "rule_name": "Out", "ladder_step": 1}
    odd = endpoint("odd", False, contract="Odd", closed_on=at().date())
    write(warehouse, ENDPOINTS, [endpoint("old", **with_rule), endpoint("old", False, **with_rule), odd])
    of_log = [("R302", "Case"), ("R304", "Unused"), ("R305", "All"), ("R306", None)]
    assert codes() == (of_log, ["no run was published"])
    write(warehouse, RUNS, [ended_run("r", at(60))])
    write(warehouse, RECEIVE_SCHEDULE, [received("TargetQueue", 1, conversation_id="old")])
    write(warehouse, TRANSMISSION_SCHEDULE, [sent(1, conversation_id="old")])
    # The initiator's endpoint of the message to be sent is older than the last change in its database.
    assert codes() == ([*of_log, ("R307", "Out")], [])
    # Half an hour before, nobody had looked at the queues.
    [remark] = lint_warehouse(warehouse, settings, history, moment=at(30))[1]
    assert remark.startswith("no as_of up to 2026-11-20T12:30:00Z was published: ")
    assert codes(at(30))[0] == of_log

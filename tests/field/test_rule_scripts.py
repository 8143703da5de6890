"""Rule scripts as people and tools write them: what is read, what is told, what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.field.running import Case, Outcome, run
from tests.support.open_case import OpenCase

Lint = Callable[..., list[dict[str, Any]]]
RULE = ("name", "database", "contract", "local_service", "remote_service", "level")


def settings_of(case: Case, rules: str, extra: str = "") -> None:
    """Write settings with these sources of rules."""
    (case.folder / case.settings).write_text(
        "warehouse: warehouse\n"
        "inputs:\n"
        "  endpoint_events: {path: events/none, format: csv}\n"
        "  message_events: {path: events/none, format: csv}\n"
        f"catalog: catalog.yaml\nrules:\n{rules}{extra}"
    )


def static(case: Case, *options: str) -> Outcome:
    return case.job("lint_rules", "--static", "--format", "json", *options)


def unread(found: Outcome) -> list[tuple[int, str]]:
    """Line and sentence of what does not count."""
    return [(each["line"], each["sentence"]) for each in found.json if each["code"] >= "R4"]


def rules_of(case: Case) -> list[tuple[Any, ...]]:
    """The rules that `rules` stores, those that stand; it has to end well."""
    ended = case.job("rules")
    assert ended.code == 0
    assert "not read" not in ended.err
    assert "not count" not in ended.err
    rows = sorted(case.table("priority_rules"), key=lambda row: (row["name"], row["valid_from"]))
    return [tuple(row[column] for column in RULE) for row in rows if row["valid_to"] is None]


GOLD = ("GoldOrders", "MillDB", "OrderContract", "GoldService", "TargetService", 9)


def test_lint_sees_that_the_script_turns_honor_broker_priority_on(open_case: OpenCase) -> None:
    case = open_case("field-01-book-deployment")
    found = static(case)
    assert found.code == 4
    [finding] = found.json
    assert (finding["code"], finding["line"], finding["rule"]) == ("R205", 18, "LowPriority")
    assert "line 18 turns it on, the catalog says off" in finding["sentence"]
    assert rules_of(case) == [
        ("HighPriority", "PriorityDemo", "http://demo.example/c/High", None, None, 10),
        ("LowPriority", "PriorityDemo", "http://demo.example/c/Low", None, None, 1),
    ]


def test_a_name_without_its_brackets_is_shown_with_them(open_case: OpenCase) -> None:
    case = open_case("field-02-doc-unbracketed")
    ended = case.job("rules")
    assert ended.code == 2
    assert ended.err == (
        f"error: {case.folder}/doc-unbracketed.sql:6:31: expected ANY or a name, found "
        "//Mill.example/Claims/ClaimService; put the name in brackets: [//Mill.example/Claims/ClaimService]\n"
    )


@pytest.mark.parametrize("name", ["plain", "exists"])
def test_scripts_of_the_studio_are_read(open_case: OpenCase, name: str) -> None:
    case = open_case("field-03-smo-script", settings=f"settings-smo-{name}.yaml")
    assert rules_of(case) == [GOLD]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nobom", ": is UTF-16 (little-endian) without a byte order mark"),
        ("1252", ":3:43: is not UTF-8 (byte 61) and looks like code page 1252 ('[GoldAufträge]')"),
    ],
)
def test_other_encodings_are_named(open_case: OpenCase, name: str, message: str) -> None:
    case = open_case("field-03-smo-script", settings=f"settings-smo-{name}.yaml")
    ended = case.job("rules")
    assert ended.code == 2
    assert ended.err == (
        f"error: {case.folder}/smo-{name}.sql{message}; save it as UTF-8, or as UTF-16 with a byte order "
        "mark\n"
    )


def test_a_check_of_existence_is_decided(open_case: OpenCase) -> None:
    case = open_case("field-04-drop-create-guard", settings="settings-drop-create.yaml")
    assert rules_of(case) == [GOLD]


def test_a_check_of_existence_sees_the_files_before_it(open_case: OpenCase) -> None:
    case = open_case("field-04-drop-create-guard")
    (case.folder / "first.yaml").write_text("- create: {name: GoldOrders, contract: Old, level: 2}\n")
    source = "instance: MILL1, database: MillDB, effective_from: 2026-01-0"
    settings_of(case, f"  - {{path: drop-create.sql, {source}2}}\n  - {{path: first.yaml, {source}1}}\n")
    assert rules_of(case) == [GOLD]
    assert [row["level"] for row in case.table("priority_rules") if row["valid_to"]] == [2]


def test_drop_if_exists_is_no_statement_of_the_server(open_case: OpenCase) -> None:
    case = open_case("field-04-drop-create-guard", settings="settings-drop-if-exists.yaml")
    ended = case.job("rules")
    assert ended.code == 2
    assert "drop-if-exists.sql:3:22: expected a name, found IF EXISTS, which rules do not have" in ended.err


def test_a_script_without_use_needs_a_database(open_case: OpenCase) -> None:
    case = open_case("field-06-no-use")
    ended = case.job("rules")
    assert ended.code == 2
    assert ended.err.startswith(
        f"error: {case.folder}/ssdt-object.sql:1:1: no USE before it names the database"
    )
    assert "database: to the file's entry in rules:" in ended.err


def test_the_only_database_of_the_instance_needs_no_name(open_case: OpenCase) -> None:
    case = open_case("field-06-no-use")
    (case.folder / "catalog.yaml").write_text(
        "instances:\n"
        "  - {name: MILL1, databases: [{name: MillDB}]}\n"
        "  - {name: MILL2, databases: [{name: X}]}\n"
    )
    assert rules_of(case) == [
        ("SalesPriority", "MillDB", "SalesContract", "SalesService", "SalesRemoteService", 5)
    ]


@pytest.mark.parametrize("path", ["migrations", "migrations/V*.sql", "migr*/*"])
def test_migrations_are_taken_in_the_order_of_their_numbers(open_case: OpenCase, path: str) -> None:
    case = open_case("field-06-no-use")
    source = "instance: MILL1, database: MillDB, effective_from: 2026-01-01"
    settings_of(case, f"  - {{path: '{path}', {source}}}\n")
    for number in (3, 10):
        (case.folder / "migrations" / f"V{number}__more.sql").write_text(
            f"ALTER BROKER PRIORITY GoldOrders FOR CONVERSATION SET (PRIORITY_LEVEL = {number});"
        )
    assert rules_of(case) == [("GoldOrders", "MillDB", "OrderContract", None, None, 10)]


def test_use_in_the_file_wins_and_other_files_of_the_folder_are_named(open_case: OpenCase) -> None:
    case = open_case("field-06-no-use")
    settings_of(
        case, "  - {path: migrations, instance: MILL1, database: MillDB, effective_from: 2026-01-01}\n"
    )
    folder = case.folder / "migrations"
    (folder / "V3__other.sql").write_text(
        "USE PriorityDemo\nGO\nCREATE BROKER PRIORITY Demo FOR CONVERSATION"
    )
    (folder / "notes.txt").write_text("the rules of autumn")
    (folder / "U2__raise.sql").write_text("DROP BROKER PRIORITY GoldOrders")
    found = static(case)
    assert [
        (each["file"].split("/")[-1], each["sentence"]) for each in found.json if each["code"] == "R401"
    ] == [
        ("U2__raise.sql", "the file is not read: an undo script"),
        ("notes.txt", "the file is not read: rules stand in .sql and .yaml"),
    ]
    ended = case.job("rules")
    assert (ended.code, ended.err.count("the file is not read")) == (0, 2)
    assert {(row["name"], row["database"]) for row in case.table("priority_rules")} == {
        ("GoldOrders", "MillDB"),
        ("Demo", "PriorityDemo"),
    }


HIDDEN = [
    (3, "BROKER PRIORITY in a string: not read"),
    (6, "BROKER PRIORITY in a string: not read"),
    (8, "BROKER PRIORITY in a string: not read"),
    (18, "CREATE 'TranRule' does not count: the ROLLBACK of line 19 takes it back"),
    (22, "BROKER PRIORITY in a string: not read"),
]


def test_rules_that_are_not_read_are_told(open_case: OpenCase) -> None:
    case = open_case("field-07-rules-hidden", settings="settings-dynamic.yaml")
    found = static(case)
    assert found.code == 4
    assert unread(found) == HIDDEN
    assert {each["severity"] for each in found.json} == {"warning"}
    assert static(case, "--fail-on", "error").code == 0
    sarif = case.job("lint_rules", "--static", "--format", "sarif").json
    assert len(sarif["runs"][0]["results"]) == len(found.json)


@pytest.mark.spark
@pytest.mark.slow
def test_the_night_warns_of_rules_that_are_not_read(open_case: OpenCase) -> None:
    case = open_case("field-07-rules-hidden", settings="settings-dynamic.yaml")
    ended = case.nightly()
    assert ended.code == 0
    for line, sentence in HIDDEN:
        assert f"{case.folder}/dynamic.sql:{line}:" in ended.err
        assert sentence in ended.err
    assert [row["name"] for row in case.table("priority_rules")] == ["TryRule"]
    printed = case.job("rules", "--print-sql", "MILL1")
    assert printed.code == 0
    assert printed.err.count("BROKER PRIORITY in a string: not read") == 4


def test_included_files_are_told_or_missing(open_case: OpenCase) -> None:
    case = open_case("field-07-rules-hidden", settings="settings-include-only.yaml")
    ended = case.job("rules")
    assert ended.code == 2
    assert ended.err.split("\n")[:2] == [
        f"error: {case.folder}/include-only.sql:3:1: there is no file .\\priorities\\gold.sql to include; "
        "correct the path or create the file",
        f"{case.folder}/include-only.sql:5:1: the variable $(Dir) has no value; write :setvar Dir and the "
        "value above it, or variables: {Dir: ...} in the settings",
    ]
    (case.folder / "priorities").mkdir()
    (case.folder / "priorities" / "gold.sql").write_text("DROP BROKER PRIORITY Gold")
    (case.folder / "silver.sql").write_text("DROP BROKER PRIORITY Silver")
    source = "path: include-only.sql, instance: MILL1, effective_from: 2026-01-01"
    settings_of(case, f"  - {{{source}, variables: {{DIR: {case.folder}}}}}\n")
    found = static(case)
    assert found.code == 4
    assert unread(found) == [
        (1, "the file has no rule statement that counts"),
        (3, "the included file .\\priorities\\gold.sql: not read"),
        (5, f"the included file {case.folder}\\silver.sql: not read"),
    ]


def test_variables_of_the_file_win_over_those_of_the_source_and_of_all(open_case: OpenCase) -> None:
    case = open_case("field-06-no-use")
    (case.folder / "vars.sql").write_text(
        ':setvar Db "MillDB"\nUSE [$(DB)]\nGO\n'
        "CREATE BROKER PRIORITY $(prefix)Orders FOR CONVERSATION\n"
        "    SET (CONTRACT_NAME = [$(Contract)], REMOTE_SERVICE_NAME = N'$(PREFIX)/x',\n"
        "         PRIORITY_LEVEL = $(Level))\n"
    )
    settings_of(
        case,
        "  - {path: vars.sql, instance: MILL1, effective_from: 2026-01-01, variables: {db: X, LEVEL: 7}}\n",
        "variables: {Prefix: Gold, contract: Order Contract, level: 2}\n",
    )
    assert rules_of(case) == [("GoldOrders", "MillDB", "Order Contract", None, "Gold/x", 7)]


def test_lint_needs_no_settings(open_case: OpenCase) -> None:
    case = open_case("field-06-no-use")
    found = run("lint_rules", case.folder / "ssdt-object.sql", case.folder / "migrations", "--format", "json")
    assert [(each["rule"], each["code"]) for each in found.json] == [("SalesPriority", "R201")]
    (case.folder / "again.sql").write_text(
        "CREATE BROKER PRIORITY Again FOR CONVERSATION\n"
        "    SET (CONTRACT_NAME = [OrderContract], PRIORITY_LEVEL = 3)"
    )
    found = run("lint_rules", case.folder / "migrations", case.folder / "again.sql", "--format", "json")
    assert (found.code, [each["code"] for each in found.json]) == (4, ["R101"])
    assert "CREATE 'Again' in the database: the rule 'GoldOrders'" in found.json[0]["sentence"]
    neither, both = run("lint_rules"), case.job("lint_rules", case.folder / "again.sql")
    assert (neither.code, both.code) == (2, 2)
    assert "; or give rule files to look at without settings" in neither.err
    assert "give --config, or files to look at without settings" in both.err
    missing = run("lint_rules", case.folder / "none.sql")
    assert missing.code == 2
    assert f"there is no file {case.folder}/none.sql" in missing.err


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("name", ["settings.yaml", "catalog.yaml", "rules.yaml"])
def test_yaml_in_the_encodings_of_the_notepad(open_case: OpenCase, name: str, encoding: str) -> None:
    case = open_case("field-06-no-use")
    (case.folder / "rules.yaml").write_text("- {create: {name: R, contract: C, level: 7}}\n")
    settings_of(
        case, "  - {path: rules.yaml, instance: MILL1, database: MillDB, effective_from: 2026-01-01}\n"
    )
    path = case.folder / name
    path.write_bytes(("# für später\r\n" + path.read_text().replace("\n", "\r\n")).encode(encoding))
    found = static(case)
    if encoding == "cp1252":
        assert found.code == 2
        assert found.err.startswith(
            f"error: {path}:1:4: is not UTF-8 (byte 4) and looks like code page 1252 "
        )
    else:
        assert (found.code, found.json) == (0, [])


def test_nested_yaml_ends_with_exit_code_2(open_case: OpenCase) -> None:
    case = open_case("field-06-no-use")
    for name in ("rules.yaml", "catalog.yaml", "settings.yaml"):
        (case.folder / "rules.yaml").write_text("[]\n")
        settings_of(case, "  - {path: rules.yaml}\n")
        (case.folder / name).write_text("[" * 50_000)
        found = static(case)
        assert found.code == 2
        assert f"{name}:1:100: nested too deeply" in found.err


def test_sarif_of_files_alone_names_them(open_case: OpenCase, monkeypatch: pytest.MonkeyPatch) -> None:
    case = open_case("field-07-rules-hidden")
    monkeypatch.chdir(case.folder)
    found = run("lint_rules", "dynamic.sql", "--format", "sarif")
    assert found.code == 4
    places = [
        each["locations"][0]["physicalLocation"] for each in json.loads(found.out)["runs"][0]["results"]
    ]
    assert {place["artifactLocation"]["uri"] for place in places} == {"dynamic.sql"}
    assert Path("dynamic.sql").exists()


@pytest.mark.parametrize(
    ("source", "script", "place"),
    [
        ("instance: MILL1", "USE milldb\nGO\n", "MILL1.milldb"),
        ("instance: MILL1, database: MILLDB", "\n\n", "MILL1.MILLDB"),
        ("instance: Mill1, database: MillDB", "\n\n", "Mill1.MillDB"),
    ],
)
def test_rules_of_a_database_in_another_case_are_told(
    open_case: OpenCase, source: str, script: str, place: str
) -> None:
    case = open_case("field-06-no-use")
    (case.folder / "case.sql").write_text(f"{script}CREATE BROKER PRIORITY R FOR CONVERSATION")
    settings_of(case, f"  - {{path: case.sql, {source}, effective_from: 2026-01-01}}\n")
    sentence = f"the rules of {place} count for no endpoint of MILL1.MillDB, which catalog or snapshots have"
    assert unread(static(case)) == [(3, sentence)]
    ended = case.job("rules", "--print-sql", place.split(".")[0])
    assert ended.code == 0
    assert ended.err == (
        f"{case.folder}/case.sql:3:1: {sentence}; write instance and database in the same case\n"
    )


DEPLOYMENT = """\
/*
Deployment script for MillDB
*/
GO
SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON;
SET NUMERIC_ROUNDABORT OFF;
GO
:setvar DatabaseName "MillDB"
GO
:on error exit
GO
:setvar __IsSqlCmdEnabled "True"
GO
IF N'$(__IsSqlCmdEnabled)' NOT LIKE N'True'
    BEGIN
        PRINT N'SQLCMD mode must be enabled to successfully execute this script.';
        SET NOEXEC ON;
    END
GO
USE [$(DatabaseName)];
GO
IF EXISTS (SELECT 1 FROM [master].[dbo].[sysdatabases] WHERE [name] = N'$(DatabaseName)')
    BEGIN
        ALTER DATABASE [$(DatabaseName)]
            SET HONOR_BROKER_PRIORITY ON
            WITH ROLLBACK IMMEDIATE;
    END
GO
BEGIN TRANSACTION
GO
PRINT N'Creating Broker Priority [GoldOrders]...';
GO
CREATE BROKER PRIORITY [GoldOrders]
    FOR CONVERSATION
    SET (CONTRACT_NAME = [OrderContract], LOCAL_SERVICE_NAME = [GoldService], \
REMOTE_SERVICE_NAME = N'TargetService', PRIORITY_LEVEL = 9);
GO
IF @@ERROR <> 0 AND @@TRANCOUNT > 0 BEGIN ROLLBACK; END
IF @@TRANCOUNT = 0 BEGIN INSERT INTO #tmpErrors (Error) VALUES (1); BEGIN TRANSACTION; END
GO
IF EXISTS (SELECT * FROM #tmpErrors) ROLLBACK TRANSACTION
GO
IF @@TRANCOUNT>0 BEGIN
PRINT N'The transacted portion of the database update succeeded.'
COMMIT TRANSACTION
END
ELSE PRINT N'The transacted portion of the database update failed.'
GO
"""
COMPARISON = """\
SET NUMERIC_ROUNDABORT OFF
GO
SET XACT_ABORT ON
GO
BEGIN TRANSACTION
GO
IF @@ERROR <> 0 SET NOEXEC ON
GO
CREATE BROKER PRIORITY [GoldOrders] FOR CONVERSATION SET (CONTRACT_NAME = [OrderContract],
    LOCAL_SERVICE_NAME = [GoldService], REMOTE_SERVICE_NAME = N'TargetService', PRIORITY_LEVEL = 9)
GO
IF @@ERROR <> 0 SET NOEXEC ON
GO
COMMIT TRANSACTION
GO
IF @@ERROR <> 0 SET NOEXEC ON
GO
DECLARE @Success AS BIT
SET @Success = 1
SET NOEXEC OFF
IF (@Success = 1) PRINT 'The database update succeeded'
ELSE BEGIN
    IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION
    PRINT 'The database update failed'
END
GO
"""


@pytest.mark.parametrize("script", [DEPLOYMENT, COMPARISON], ids=["data-tier", "comparison"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_scripts_of_deployment_tools_are_read_without_a_finding(
    open_case: OpenCase, script: str, ends: str
) -> None:
    case = open_case("field-06-no-use")
    (case.folder / "deploy.sql").write_bytes(script.replace("\n", ends).encode("utf-8-sig"))
    source = "instance: MILL1, database: MillDB, effective_from: 2026-01-01"
    settings_of(case, f"  - {{path: deploy.sql, {source}}}\n")
    assert unread(static(case)) == []
    assert rules_of(case) == [GOLD]

"""Rule scripts as people and tools write them: what is read, what is told, what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.settings.load import load_settings
from tests.field.running import Case, OpenCase, Outcome, Row, run

OF_INSTANCE = {"instance": "MILL1", "effective_from": "2026-01-01"}
OF_DATABASE = {**OF_INSTANCE, "database": "MillDB"}
GOLD = ("GoldOrders", "MillDB", "OrderContract", "GoldService", "TargetService", 9)
CREATE = "CREATE BROKER PRIORITY {} FOR CONVERSATION"
Open = Callable[..., Case]


@pytest.fixture
def scripts(open_case: OpenCase) -> Open:
    """A function that copies the folder of scripts, with settings that name some of them."""

    def opened(
        *paths: str, entry: Row = OF_INSTANCE, files: dict[str, str] | None = None, **more: Any
    ) -> Case:
        case = open_case("rule-scripts")
        case.configure(rules=[{**entry, "path": path} for path in paths], **more)
        for name, text in (files or {}).items():
            (case.folder / name).write_text(text)
        return case

    return opened


def static(case: Case, *options: str) -> Outcome:
    return case.job("lint_rules", "--static", "--format", "json", *options)


def unread(found: Outcome) -> list[tuple[int, str]]:
    """Line and sentence of what does not count."""
    return [(each["line"], each["sentence"]) for each in found.json if each["code"] >= "R4"]


def rules_of(case: Case) -> list[tuple[Any, ...]]:
    """The rules that stand, of scripts that are read whole."""
    settings = load_settings(case.config)
    assert settings.rule_notes == ()
    return [
        (rule.name, rule.database, rule.contract, rule.local_service, rule.remote_service, rule.level)
        for rule in sorted(settings.rule_history, key=lambda rule: rule.name)
        if rule.valid_to is None
    ]


@pytest.mark.parametrize(
    ("script", "ends"),
    [
        *[(script, None) for script in ("smo-plain", "smo-exists", "drop-create")],
        *[(script, ends) for script in ("data-tier", "comparison") for ends in ("\n", "\r\n")],
    ],
)
def test_scripts_of_tools_are_read_without_a_finding(scripts: Open, script: str, ends: str | None) -> None:
    case = scripts(f"{script}.sql", entry=OF_DATABASE)
    if ends:
        path = case.folder / f"{script}.sql"
        path.write_bytes(path.read_text().replace("\n", ends).encode("utf-8-sig"))
    assert unread(static(case)) == []
    assert rules_of(case) == [GOLD]


def test_lint_sees_that_the_script_turns_honor_broker_priority_on(scripts: Open) -> None:
    case = scripts("book-style.sql")
    found = static(case)
    assert found.code == 4
    [finding] = found.json
    assert (finding["code"], finding["line"], finding["rule"]) == ("R205", 18, "LowPriority")
    assert "line 18 turns it on, the catalog says off" in finding["sentence"]
    assert rules_of(case) == [
        (f"{name}Priority", "PriorityDemo", f"http://demo.example/c/{name}", None, None, level)
        for name, level in (("High", 10), ("Low", 1))
    ]


ENCODING = "; save it as UTF-8, or as UTF-16 with a byte order mark\n"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (
            "doc-unbracketed.sql",
            "error: doc-unbracketed.sql:6:31: expected ANY or a name, found "
            "//Mill.example/Claims/ClaimService; put the name in brackets: "
            "[//Mill.example/Claims/ClaimService]\n",
        ),
        (
            "smo-nobom.sql",
            f"error: smo-nobom.sql: is UTF-16 (little-endian) without a byte order mark{ENCODING}",
        ),
        (
            "smo-1252.sql",
            "error: smo-1252.sql:3:43: is not UTF-8 (byte 61) and looks like code page 1252 "
            f"('[GoldAufträge]'){ENCODING}",
        ),
        (
            "drop-if-exists.sql",
            "error: drop-if-exists.sql:3:22: expected a name, found IF EXISTS, which rules do not have",
        ),
        ("ssdt-object.sql", "error: ssdt-object.sql:1:1: no USE before it names the database"),
        (
            "include-only.sql",
            "error: include-only.sql:3:1: there is no file .\\priorities\\gold.sql to include; correct the "
            "path or create the file\n"
            "include-only.sql:5:1: the variable $(Dir) has no value; write :setvar Dir and the value above "
            "it, or variables: {Dir: ...} in the settings",
        ),
    ],
)
def test_scripts_that_are_refused(scripts: Open, script: str, says: str) -> None:
    case = scripts(script)
    ended = case.job("rules")
    assert ended.code == 2
    said = ended.err.replace(f"{case.folder}/", "")
    assert said.startswith(says)
    assert ("database: to the file's entry in rules:" in said) is (script == "ssdt-object.sql")


def test_a_check_of_existence_sees_the_files_before_it(scripts: Open) -> None:
    case = scripts(files={"first.yaml": "- create: {name: GoldOrders, contract: Old, level: 2}\n"})
    days = {"drop-create.sql": "2026-01-02", "first.yaml": "2026-01-01"}
    case.configure(rules=[{**OF_DATABASE, "path": path, "effective_from": day} for path, day in days.items()])
    assert rules_of(case) == [GOLD]
    assert [rule.level for rule in load_settings(case.config).rule_history if rule.valid_to] == [2]


def test_the_only_database_of_the_instance_needs_no_name(scripts: Open) -> None:
    catalog = (
        "instances: [{name: MILL1, databases: [{name: MillDB}]}, {name: MILL2, databases: [{name: X}]}]\n"
    )
    case = scripts("ssdt-object.sql", files={"catalog.yaml": catalog})
    rule = ("SalesPriority", "MillDB", "SalesContract", "SalesService", "SalesRemoteService", 5)
    assert rules_of(case) == [rule]


def test_use_in_the_file_wins_and_other_files_of_the_folder_are_named(scripts: Open) -> None:
    files = {
        "migrations/V3__other.sql": f"USE PriorityDemo\nGO\n{CREATE.format('Demo')}",
        "migrations/notes.txt": "the rules of autumn",
        "migrations/U2__raise.sql": "DROP BROKER PRIORITY GoldOrders",
    }
    case = scripts("migrations", entry=OF_DATABASE, files=files)
    found = [each for each in static(case).json if each["code"] == "R401"]
    assert {each["file"].split("/")[-1]: each["sentence"] for each in found} == {
        "U2__raise.sql": "the file is not read: an undo script",
        "notes.txt": "the file is not read: rules stand in .sql and .yaml",
    }
    databases = {rule.name: rule.database for rule in load_settings(case.config).rule_history}
    assert databases == {"GoldOrders": "MillDB", "Demo": "PriorityDemo"}


IN_A_STRING = "BROKER PRIORITY in a string: not read"
HIDDEN = [
    *((line, IN_A_STRING) for line in (3, 6, 8)),
    (18, "CREATE 'TranRule' does not count: the ROLLBACK of line 19 takes it back"),
    (22, IN_A_STRING),
]


@pytest.mark.slow
def test_rules_that_are_not_read_are_told(scripts: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    case = scripts("dynamic.sql")
    found = static(case)
    assert found.code == 4
    assert unread(found) == HIDDEN
    assert {each["severity"] for each in found.json} == {"warning"}
    assert static(case, "--fail-on", "error").code == 0
    sarif = case.job("lint_rules", "--static", "--format", "sarif").json
    assert len(sarif["runs"][0]["results"]) == len(found.json)
    monkeypatch.chdir(case.folder)
    alone = run("lint_rules", "dynamic.sql", "--format", "sarif")
    assert alone.code == 4
    places = [each["locations"][0]["physicalLocation"] for each in alone.json["runs"][0]["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {"dynamic.sql"}
    assert Path("dynamic.sql").exists()
    ended = case.published()
    for line, sentence in HIDDEN:
        assert f"{case.folder}/dynamic.sql:{line}:" in ended.err
        assert sentence in ended.err
    assert [row["name"] for row in case.table("priority_rules")] == ["TryRule"]
    printed = case.job("rules", "--print-sql", "MILL1")
    assert printed.code == 0
    assert printed.err.count(IN_A_STRING) == 4


def test_included_files_are_told(scripts: Open) -> None:
    case = scripts(files={"silver.sql": "DROP BROKER PRIORITY Silver"})
    (case.folder / "priorities").mkdir()
    (case.folder / "priorities" / "gold.sql").write_text("DROP BROKER PRIORITY Gold")
    variables = {"DIR": str(case.folder)}
    case.configure(rules=[{**OF_INSTANCE, "path": "include-only.sql", "variables": variables}])
    found = static(case)
    assert found.code == 4
    assert unread(found) == [
        (1, "the file has no rule statement that counts"),
        (3, "the included file .\\priorities\\gold.sql: not read"),
        (5, f"the included file {case.folder}\\silver.sql: not read"),
    ]


def test_variables_of_the_file_win_over_those_of_the_source_and_of_all(scripts: Open) -> None:
    script = (
        ':setvar Db "MillDB"\nUSE [$(DB)]\nGO\n'
        "CREATE BROKER PRIORITY $(prefix)Orders FOR CONVERSATION\n"
        "    SET (CONTRACT_NAME = [$(Contract)], REMOTE_SERVICE_NAME = N'$(PREFIX)/x',\n"
        "         PRIORITY_LEVEL = $(Level))\n"
    )
    case = scripts(
        "vars.sql",
        entry={**OF_INSTANCE, "variables": {"db": "X", "LEVEL": 7}},
        files={"vars.sql": script},
        variables={"Prefix": "Gold", "contract": "Order Contract", "level": 2},
    )
    assert rules_of(case) == [("GoldOrders", "MillDB", "Order Contract", None, "Gold/x", 7)]


def test_lint_needs_no_settings(scripts: Open) -> None:
    again = f"{CREATE.format('Again')}\n    SET (CONTRACT_NAME = [OrderContract], PRIORITY_LEVEL = 3)"
    case = scripts(files={"again.sql": again})
    folder = case.folder
    found = run("lint_rules", folder / "ssdt-object.sql", folder / "migrations", "--format", "json")
    assert [(each["rule"], each["code"]) for each in found.json] == [("SalesPriority", "R201")]
    found = run("lint_rules", folder / "migrations", folder / "again.sql", "--format", "json")
    assert (found.code, [each["code"] for each in found.json]) == (4, ["R101"])
    assert "CREATE 'Again' in the database: the rule 'GoldOrders'" in found.json[0]["sentence"]
    for refused, says in (
        (run("lint_rules"), "; or give rule files to look at without settings"),
        (case.job("lint_rules", folder / "again.sql"), "give --config, or files to look at without settings"),
        (run("lint_rules", folder / "none.sql"), f"there is no file {folder}/none.sql"),
    ):
        assert refused.code == 2
        assert says in refused.err


@pytest.mark.parametrize(
    ("entry", "script", "place"),
    [
        ({"instance": "MILL1"}, "USE milldb\nGO\n", "MILL1.milldb"),
        ({"instance": "MILL1", "database": "MILLDB"}, "\n\n", "MILL1.MILLDB"),
        ({"instance": "Mill1", "database": "MillDB"}, "\n\n", "Mill1.MillDB"),
    ],
)
def test_rules_of_a_database_in_another_case_are_told(
    scripts: Open, entry: Row, script: str, place: str
) -> None:
    files = {"case.sql": f"{script}{CREATE.format('R')}"}
    case = scripts("case.sql", entry={**OF_INSTANCE, **entry}, files=files)
    sentence = f"the rules of {place} count for no endpoint of MILL1.MillDB, which catalog or snapshots have"
    assert unread(static(case)) == [(3, sentence)]
    ended = case.job("rules", "--print-sql", place.split(".")[0])
    assert ended.code == 0
    assert ended.err == (
        f"{case.folder}/case.sql:3:1: {sentence}; write instance and database in the same case\n"
    )

"""Rules written as T-SQL: what scripts say, what is passed over, and what is refused where."""

import codecs
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from pipelines.config.errors import ConfigError
from pipelines.config.rules.history import rule_history
from pipelines.config.rules.statements import (
    ANY,
    UNSET,
    RuleFile,
    RuleStatement,
    SourceLocation,
    StatementType,
)
from pipelines.config.rules.tsql_rules import read_tsql_rules

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
WAYS = {"instance": "I", "effective_from": NEW_YEAR}


def read_bytes(tmp_path: Path, content: bytes, **source: Any) -> RuleFile:
    path = tmp_path / "r.sql"
    path.write_bytes(content)
    return read_tsql_rules(str(path), **(source or WAYS))


def read(tmp_path: Path, script: str, **source: Any) -> list[RuleStatement]:
    return list(read_bytes(tmp_path, script.encode(), **source).statements)


def rule(tmp_path: Path, statement: str) -> RuleStatement:
    """The one statement of a script that is in database D."""
    [found] = read(tmp_path, f"USE D; {statement}")
    return found


def items(tmp_path: Path, text: str) -> tuple[object, ...]:
    """The criteria and the level of a SET."""
    found = rule(tmp_path, f"CREATE BROKER PRIORITY R FOR CONVERSATION SET ({text})")
    return found.contract, found.local_service, found.remote_service, found.level


def refusal(tmp_path: Path, script: str, **source: Any) -> list[str]:
    """The lines of the error, without the path; the script is in database D from its second line on."""
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, "USE D\n" + script, **source)
    return [line.removeprefix(f"{tmp_path}/r.sql:") for line in str(caught.value).split("\n")]


# --- What the vendor's documentation publishes ------------------------------------------------------------

INITIATOR = """
    USE InitiatorDB;
    GO
    CREATE BROKER PRIORITY InitiatorToTargetPriority
        FOR CONVERSATION
        SET (CONTRACT_NAME = SimpleContract,
             LOCAL_SERVICE_NAME = InitiatorSerivce,
             REMOTE_SERVICE_NAME = N'TargetService',
             PRIORITY_LEVEL = 3);
    GO
"""
TARGET = """
    USE TargetDB;
    GO
    CREATE BROKER PRIORITY TargetToInitiatorPriority
        FOR CONVERSATION
        SET (CONTRACT_NAME = SimpleContract,
             LOCAL_SERVICE_NAME = TargetService,
             REMOTE_SERVICE_NAME = N'InitiatorService',
             PRIORITY_LEVEL = 3);
    GO
"""


def published(name: str, contract: str, local: str, remote: str, level: int) -> str:
    return (
        f"CREATE BROKER PRIORITY {name}  \n    FOR CONVERSATION  \n    SET (CONTRACT_NAME = {contract},  \n"
        f"         LOCAL_SERVICE_NAME = {local},  \n         REMOTE_SERVICE_NAME = {remote},  \n"
        f"         PRIORITY_LEVEL = {level});  \n"
    )


def test_the_example_of_the_conversation_priorities_page_keeps_its_slip(tmp_path: Path) -> None:
    first, second = read(tmp_path, INITIATOR + TARGET)
    assert first == RuleStatement(
        StatementType.CREATE,
        NEW_YEAR,
        "I",
        "InitiatorDB",
        "InitiatorToTargetPriority",
        SourceLocation(f"{tmp_path}/r.sql", 4, 5),
        "SimpleContract",
        "InitiatorSerivce",
        "TargetService",
        3,
    )
    assert (second.database, second.local_service, second.remote_service, second.location.line) == (
        "TargetDB",
        "TargetService",
        "InitiatorService",
        14,
    )


EXAMPLE_A = published(
    "InitiatorAToTargetPriority", "SimpleContract", "InitiatorServiceA", "N'TargetService'", 3
) + published("TargetToInitiatorAPriority", "SimpleContract", "TargetService", "N'InitiatorServiceA'", 3)
EXAMPLE_B = published("SimpleContractDefaultPriority", "SimpleContract", "ANY", "ANY", 7)
EXAMPLE_D = "".join(
    published(
        f"{tier}InitToTargetPriority", "SimpleContract", f"{tier}InitiatorService", "N'TargetService'", level
    )
    + published(
        f"{tier}TargetToInitPriority", "SimpleContract", "TargetService", f"N'{tier}InitiatorService'", level
    )
    for tier, level in (("Gold", 6), ("Silver", 4), ("Bronze", 2))
)
EXAMPLE_E = "".join(
    published(f"{tier}Priority", f"{tier}Contract", "ANY", "ANY", level)
    for tier, level in (("Gold", 6), ("Silver", 4), ("Bronze", 2))
)


@pytest.mark.parametrize(
    ("script", "rules"),
    [
        pytest.param(
            EXAMPLE_A,
            [
                ("InitiatorAToTargetPriority", "SimpleContract", "InitiatorServiceA", "TargetService", 3),
                ("TargetToInitiatorAPriority", "SimpleContract", "TargetService", "InitiatorServiceA", 3),
            ],
            id="create A",
        ),
        pytest.param(
            EXAMPLE_B, [("SimpleContractDefaultPriority", "SimpleContract", None, None, 7)], id="create B"
        ),
        pytest.param(
            EXAMPLE_D,
            [
                (
                    "BronzeInitToTargetPriority",
                    "SimpleContract",
                    "BronzeInitiatorService",
                    "TargetService",
                    2,
                ),
                (
                    "BronzeTargetToInitPriority",
                    "SimpleContract",
                    "TargetService",
                    "BronzeInitiatorService",
                    2,
                ),
                ("GoldInitToTargetPriority", "SimpleContract", "GoldInitiatorService", "TargetService", 6),
                ("GoldTargetToInitPriority", "SimpleContract", "TargetService", "GoldInitiatorService", 6),
                (
                    "SilverInitToTargetPriority",
                    "SimpleContract",
                    "SilverInitiatorService",
                    "TargetService",
                    4,
                ),
                (
                    "SilverTargetToInitPriority",
                    "SimpleContract",
                    "TargetService",
                    "SilverInitiatorService",
                    4,
                ),
            ],
            id="create D",
        ),
        pytest.param(
            EXAMPLE_E,
            [
                ("BronzePriority", "BronzeContract", None, None, 2),
                ("GoldPriority", "GoldContract", None, None, 6),
                ("SilverPriority", "SilverContract", None, None, 4),
            ],
            id="create E",
        ),
        pytest.param(
            EXAMPLE_B
            + "ALTER BROKER PRIORITY SimpleContractDefaultPriority  \n    FOR CONVERSATION  \n"
            + "    SET (PRIORITY_LEVEL = 3);  \n",
            [("SimpleContractDefaultPriority", "SimpleContract", None, None, 3)],
            id="alter A",
        ),
        pytest.param(
            published("SimpleContractPriority", "SimpleContract", "ANY", "ANY", 5)
            + published(
                "SimpleContractPriority", "SimpleContractB", "TargetServiceB", "N'InitiatorServiceB'", 8
            ).replace("CREATE", "ALTER"),
            [("SimpleContractPriority", "SimpleContractB", "TargetServiceB", "InitiatorServiceB", 8)],
            id="alter B",
        ),
        pytest.param(
            EXAMPLE_A + "DROP BROKER PRIORITY InitiatorAToTargetPriority;  \n",
            [("TargetToInitiatorAPriority", "SimpleContract", "TargetService", "InitiatorServiceA", 3)],
            id="drop",
        ),
    ],
)
def test_published(tmp_path: Path, script: str, rules: list[tuple[object, ...]]) -> None:
    history = rule_history(read(tmp_path, "USE D\n" + script))
    assert [(version.name, *version.triple, version.level) for version in history] == rules


CLAIM = "//Adventure-Works.com/Expenses/ClaimService"
EXAMPLE_C = "".join(
    published(f"[//Adventure-Works.com/Expenses/{name}]", "ANY", local, "ANY", level)
    for name, local, level in (
        ("ClaimPriority", CLAIM, 9),
        ("ApprovalPriority", CLAIM, 6),
        ("BasePriority", "ANY", 3),
    )
)


def test_create_c_as_published_is_no_tsql(tmp_path: Path) -> None:
    assert refusal(tmp_path, EXAMPLE_C) == [
        "5:31: expected ANY or a name, found //Adventure-Works.com/Expenses/ClaimS...; "
        f"put the name in brackets: [{CLAIM}]",
        "11:31: expected ANY or a name, found //Adventure-Works.com/Expenses/ClaimS...; "
        f"put the name in brackets: [{CLAIM}]",
    ]


def test_create_c_in_brackets_has_the_same_criteria_twice(tmp_path: Path) -> None:
    statements = read(tmp_path, "USE D\n" + EXAMPLE_C.replace(CLAIM, f"[{CLAIM}]"))
    with pytest.raises(ConfigError) as caught:
        rule_history(statements)
    assert str(caught.value).replace(f"{tmp_path}/", "") == (
        "r.sql:8:1: CREATE '//Adventure-Works.com/Expenses/ApprovalPriority' in I.D: the rule "
        "'//Adventure-Works.com/Expenses/ClaimPriority', see r.sql:2:1, has the same contract ANY, local "
        f"service '{CLAIM}' and remote service ANY (error 33303); change or drop one of the two"
    )


# --- Statements -------------------------------------------------------------------------------------------


def test_without_set_nothing_is_said(tmp_path: Path) -> None:
    found = rule(tmp_path, "create broker priority R for conversation")
    assert (found.kind, found.contract, found.local_service, found.remote_service, found.level) == (
        StatementType.CREATE,
        UNSET,
        UNSET,
        UNSET,
        None,
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("CONTRACT_NAME = ANY", (ANY, UNSET, UNSET, None), id="ANY is the wildcard"),
        pytest.param("CONTRACT_NAME=any", (ANY, UNSET, UNSET, None), id="in any case"),
        pytest.param("CONTRACT_NAME = [ANY]", ("ANY", UNSET, UNSET, None), id="ANY in brackets is a name"),
        pytest.param('LOCAL_SERVICE_NAME = "ANY"', (UNSET, "ANY", UNSET, None), id="ANY in quotes is a name"),
        pytest.param(
            "REMOTE_SERVICE_NAME = 'ANY'", (UNSET, UNSET, "ANY", None), id="ANY as a string is a name"
        ),
        pytest.param("REMOTE_SERVICE_NAME = ANY", (UNSET, UNSET, ANY, None), id="remote ANY"),
        pytest.param("REMOTE_SERVICE_NAME = n'it''s'", (UNSET, UNSET, "it's", None), id="quotes are doubled"),
        pytest.param('REMOTE_SERVICE_NAME = "a""b"', (UNSET, UNSET, 'a"b', None), id="the other quotes"),
        pytest.param("CONTRACT_NAME = [a]]b ]", ("a]b ", UNSET, UNSET, None), id="brackets are doubled"),
        pytest.param("CONTRACT_NAME = [a.b[c]", ("a.b[c", UNSET, UNSET, None), id="anything in brackets"),
        pytest.param(
            "CONTRACT_NAME = [DEFAULT]", ("DEFAULT", UNSET, UNSET, None), id="the built-in contract"
        ),
        pytest.param("CONTRACT_NAME = Größe_1@$#", ("Größe_1@$#", UNSET, UNSET, None), id="a plain name"),
        pytest.param(
            "CONTRACT_NAME = Priority", ("Priority", UNSET, UNSET, None), id="words that aren't reserved"
        ),
        pytest.param("PRIORITY_LEVEL = DEFAULT", (UNSET, UNSET, UNSET, 5), id="the default level"),
        pytest.param("PRIORITY_LEVEL = 010", (UNSET, UNSET, UNSET, 10), id="zeros in front"),
        pytest.param(
            "PRIORITY_LEVEL=1 REMOTE_SERVICE_NAME=N'R'LOCAL_SERVICE_NAME=L, CONTRACT_NAME=C",
            ("C", "L", "R", 1),
            id="any order, commas optional",
        ),
        pytest.param(
            "/* a /* nested */ one */ CONTRACT_NAME -- it's\n = C", ("C", UNSET, UNSET, None), id="comments"
        ),
    ],
)
def test_items(tmp_path: Path, text: str, found: tuple[object, ...]) -> None:
    assert items(tmp_path, text) == found


def test_names_of_rules_and_databases_come_in_all_forms(tmp_path: Path) -> None:
    script = 'use [D ]]1]\nDROP BROKER PRIORITY [Any];USE "E""2"; DROP BROKER PRIORITY "x y"\n'
    script += "DROP BROKER PRIORITY z"
    assert [(s.database, s.name) for s in read(tmp_path, script)] == [
        ("D ]1", "Any"),
        ('E"2', "x y"),
        ('E"2', "z"),
    ]


@pytest.mark.parametrize("prefix", ["", "PRINT 'x'\n", "SELECT 1\n", "END CONVERSATION @h;"])
@pytest.mark.parametrize("suffix", ["", ";", "\nGO\n", " SELECT 1", "\nEXEC p", " -- the end"])
def test_statements_need_no_semicolon(tmp_path: Path, prefix: str, suffix: str) -> None:
    assert (
        rule(
            tmp_path, f"{prefix}ALTER BROKER PRIORITY R FOR CONVERSATION SET (PRIORITY_LEVEL = 2){suffix}"
        ).level
        == 2
    )


# --- What is passed over ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "count"),
    [
        pytest.param("", 0, id="nothing"),
        pytest.param(";;\nGO\nGO 1\n/* GO */ -- GO", 0, id="empty statements and batches"),
        pytest.param("SET NOCOUNT ON; PRINT 'DROP BROKER PRIORITY R';", 2, id="by semicolons"),
        pytest.param("PRINT 1\ngo\nPRINT 2\n  GO -- next\nPRINT 3", 3, id="by batches"),
        pytest.param(
            "CREATE CONTRACT C (M SENT BY ANY); CREATE QUEUE Q; DROP SERVICE S;", 3, id="of the broker"
        ),
        pytest.param("ALTER DATABASE D SET HONOR_BROKER_PRIORITY ON", 1, id="a database option"),
        pytest.param("SELECT 'GO\nDROP BROKER PRIORITY R' AS [GO\nUSE x]", 1, id="text is no statement"),
        pytest.param("SELECT * FROM t OPTION (USE PLAN N'x')", 1, id="a hint"),
        pytest.param(
            "CREATE PROCEDURE p AS\nBEGIN; DROP BROKER PRIORITY R; END\nDROP BROKER PRIORITY S\nGO\nPRINT 1",
            2,
            id="the body of a procedure",
        ),
        pytest.param(
            "CREATE OR ALTER TRIGGER t ON x AFTER INSERT AS DROP BROKER PRIORITY R", 1, id="a trigger"
        ),
    ],
)
def test_other_statements_are_counted(tmp_path: Path, script: str, count: int) -> None:
    found = read_bytes(tmp_path, script.encode())
    assert (found.statements, found.passed_over) == ((), count)


def test_rules_among_other_statements(tmp_path: Path) -> None:
    script = (
        "USE D PRINT 1 DROP TABLE IF EXISTS t CREATE BROKER PRIORITY A FOR CONVERSATION\n"
        "BEGIN TRAN DROP BROKER PRIORITY A COMMIT\n"
        "BEGIN TRY CREATE BROKER PRIORITY B FOR CONVERSATION END TRY BEGIN CATCH THROW END CATCH\n"
        "SELECT CASE WHEN 1 = 1 THEN 2 ELSE 3 END DROP BROKER PRIORITY B\n"
        "IF 1 = 1 BEGIN PRINT 2 END CREATE BROKER PRIORITY C FOR CONVERSATION"
    )
    found = read_bytes(tmp_path, script.encode())
    assert [(s.kind, s.name) for s in found.statements] == [
        (StatementType.CREATE, "A"),
        (StatementType.DROP, "A"),
        (StatementType.CREATE, "B"),
        (StatementType.DROP, "B"),
        (StatementType.CREATE, "C"),
    ]


# --- Moments, instances, databases ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("-- effective_from: 2026-02-03T04:05:06Z\n", id="a line"),
        pytest.param("--EFFECTIVE_FROM:2026-02-03 04:05:06\n\n-- why\n", id="before other comments"),
        pytest.param("/* effective_from: 2026-02-03T05:05:06+01:00 */ ", id="in the same line"),
        pytest.param("/*\n  effective_from: 2026-02-03T04:05:06Z\n*/\n", id="a block"),
        pytest.param("/**\n * effective_from: 2026-02-03T04:05:06Z\n **/\n", id="an adorned block"),
        pytest.param("---- effective_from: 2026-02-03T04:05:06Z ----\n", id="an adorned line"),
    ],
)
def test_a_comment_before_a_statement_gives_its_moment(tmp_path: Path, before: str) -> None:
    script = f"USE D\nDROP BROKER PRIORITY A;\n{before}DROP BROKER PRIORITY B;\nDROP BROKER PRIORITY C;"
    moments = [statement.effective_from for statement in read(tmp_path, script)]
    assert moments == [NEW_YEAR, datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC), NEW_YEAR]


def test_moments_may_all_be_in_the_script(tmp_path: Path) -> None:
    script = "USE D\n-- effective_from: 2026-02-03\nDROP BROKER PRIORITY A"
    [found] = read(tmp_path, script, instance="I")
    assert found.effective_from == datetime(2026, 2, 3, tzinfo=UTC)


PLACE = (
    "a comment with a moment of effect stands alone in its line, directly before the CREATE, ALTER or DROP "
    "BROKER PRIORITY that it is for; move it there"
)


@pytest.mark.parametrize(
    ("script", "lines"),
    [
        pytest.param("-- effective_from: 2026-01-01\n", [f"2:1: {PLACE}"], id="before nothing"),
        pytest.param(
            "/* Ticket 4711\n effective_from: 2026-01-01 */\nDROP BROKER PRIORITY A",
            [f"2:1: {PLACE}"],
            id="after other words",
        ),
        pytest.param(
            "/* effective_from: 2026-01-01 */ USE E\nDROP BROKER PRIORITY A",
            [f"2:1: {PLACE}"],
            id="before USE",
        ),
        pytest.param(
            "-- effective_from: 2026-01-01\nGO\nDROP BROKER PRIORITY A", [f"2:1: {PLACE}"], id="before GO"
        ),
        pytest.param(
            "DROP BROKER PRIORITY -- effective_from: 2026-01-01\nA",
            [f"2:22: {PLACE}"],
            id="inside the statement",
        ),
        pytest.param(
            "DROP BROKER PRIORITY A; -- effective_from: 2026-01-01\nDROP BROKER PRIORITY B",
            ["2:25: a comment with a moment of effect counts for the statement after it; put it there"],
            id="behind the statement",
        ),
        pytest.param(
            "-- effective_from: 2026-13-01\nDROP BROKER PRIORITY B",
            ["2:1: '2026-13-01' is not a moment in time; write it like 2026-01-01T00:00:00Z"],
            id="no moment",
        ),
        pytest.param(
            "-- effective_from is as agreed\nDROP BROKER PRIORITY B",
            ["2:1: a comment that begins with effective_from gives a moment; add a colon and it"],
            id="no colon",
        ),
        pytest.param(
            "-- effective_from: 2026-01-01\n-- effective_from: 2026-01-02\nDROP BROKER PRIORITY B",
            ["3:1: a second moment for one statement, see r.sql:2:1; keep one of the two"],
            id="two moments",
        ),
    ],
)
def test_misplaced_moments(tmp_path: Path, script: str, lines: list[str]) -> None:
    assert [line.replace(f"{tmp_path}/", "") for line in refusal(tmp_path, script)] == lines


def test_what_is_missing_is_said_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read(
            tmp_path,
            "DROP BROKER PRIORITY A; DROP BROKER PRIORITY B\nUSE D; DROP BROKER PRIORITY C",
            instance=None,
        )
    assert str(caught.value).replace(f"{tmp_path}/", "").split("\n") == [
        "r.sql:1:1: a script can't name its instance; add instance: to the file's entry in rules: "
        "(and for 2 more statements)",
        "r.sql:1:1: it has no moment of effect; write -- effective_from: 2026-01-01T00:00:00Z in the line "
        "before it, or add effective_from: to the file's entry in rules: (and for 2 more statements)",
        "r.sql:1:1: no USE before it names the database; write USE and its name above it, or add database: "
        "to the file's entry in rules: (and for 1 more statement)",
    ]


# --- Refused ----------------------------------------------------------------------------------------------

ITEM = "CONTRACT_NAME, LOCAL_SERVICE_NAME, PRIORITY_LEVEL or REMOTE_SERVICE_NAME"


def undefined(name: str) -> str:
    return (
        f"the variable $({name}) has no value; write :setvar {name} and the value above it, or "
        f"variables: {{{name}: ...}} in the settings"
    )


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        ("CREATE BROKER PRIORTY R FOR CONVERSATION", "2:15: expected PRIORITY, found PRIORTY"),
        (
            "CREATE OR ALTER BROKER PRIORITY R FOR CONVERSATION SET (PRIORITY_LEVEL = 1)",
            "2:8: expected BROKER, found OR",
        ),
        (
            "CREATE BROKER PRIORITY FOR CONVERSATION",
            "2:24: expected a name, found FOR, a reserved word (as a name: [FOR])",
        ),
        ("CREATE BROKER PRIORITY 'R' FOR CONVERSATION", "2:24: expected a name, found 'R'"),
        ("CREATE BROKER PRIORITY @r FOR CONVERSATION", "2:24: expected a name, found @r"),
        ("CREATE BROKER PRIORITY dbo.R FOR CONVERSATION", "2:27: expected FOR, found ."),
        ("CREATE BROKER PRIORITY R", "2:25: expected FOR, found the end of the file"),
        ("CREATE BROKER PRIORITY R;", "2:25: expected FOR, found ;"),
        ("CREATE BROKER PRIORITY R\nGO", "3:1: expected FOR, found GO"),
        (
            "CREATE BROKER PRIORITY R FOR CONVERSATION SETT (PRIORITY_LEVEL = 1)",
            "2:43: expected SET or the end of the statement, found SETT",
        ),
        (
            "CREATE BROKER PRIORITY R FOR CONVERSATION SET PRIORITY_LEVEL = 9",
            "2:47: expected (, found PRIORITY_LEVEL",
        ),
        (
            "CREATE BROKER PRIORITY R FOR CONVERSATION\nSET\nCONTRACT_NAME = C, PRIORITY_LEVEL = 9)",
            "4:1: expected (, found CONTRACT_NAME",
        ),
        (
            "BEGIN TRAN BROKER PRIORITY R",
            "2:12: a statement about a BROKER PRIORITY begins with CREATE, ALTER or DROP, found BROKER",
        ),
        ("CREATE BROKER PRIORITY R FOR CONVERSATION SET ()", f"2:48: expected {ITEM}, found )"),
        (
            "CREATE BROKER PRIORITY R FOR CONVERSATION SET (PRIORITY = 1)",
            f"2:48: expected {ITEM}, found PRIORITY",
        ),
        (
            "CREATE BROKER PRIORITY R FOR CONVERSATION SET (CONTRACT_NAME = C,)",
            f"2:66: expected {ITEM}, found )",
        ),
        (
            "CREATE BROKER PRIORITY R FOR CONVERSATION SET (CONTRACT_NAME = C",
            f"2:65: expected {ITEM.replace(' or ', ', ')}, a comma or ), found the end of the file",
        ),
        (
            "CREATE BROKER PRIORITY R FOR CONVERSATION SET (CONTRACT_NAME = 'C')",
            "2:64: expected ANY or a name, found 'C'",
        ),
        (
            "CREATE BROKER PRIORITY R FOR CONVERSATION SET (CONTRACT_NAME = DEFAULT)",
            "2:64: expected ANY or a name, found DEFAULT, a reserved word (as a name: [DEFAULT])",
        ),
        (
            "CREATE BROKER PRIORITY R FOR CONVERSATION SET (REMOTE_SERVICE_NAME = S)",
            "2:70: expected ANY or a string like N'TargetService', found S",
        ),
        (
            "CREATE BROKER PRIORITY R FOR CONVERSATION SET (PRIORITY_LEVEL = -1)",
            "2:65: expected DEFAULT or a level from 1 to 10, found -",
        ),
        (
            "CREATE BROKER PRIORITY R FOR CONVERSATION SET (PRIORITY_LEVEL = 2.5)",
            "2:65: expected a whole number from 1 to 10 or DEFAULT, found 2.5",
        ),
        (
            "CREATE BROKER PRIORITY R FOR CONVERSATION SET (PRIORITY_LEVEL = 11)",
            "2:65: 11 is not a priority level (error 33302); write 1 (low) to 10 (high)",
        ),
        (
            "CREATE BROKER PRIORITY R FOR CONVERSATION SET (PRIORITY_LEVEL = 0)",
            "2:65: 0 is not a priority level (error 33302); write 1 (low) to 10 (high)",
        ),
        (
            f"CREATE BROKER PRIORITY R FOR CONVERSATION SET (PRIORITY_LEVEL = {'9' * 5000})",
            f"2:65: {'9' * 18} is not a priority level (error 33302); write 1 (low) to 10 (high)",
        ),
        (
            "CREATE BROKER PRIORITY R FOR CONVERSATION SET (REMOTE_SERVICE_NAME = N'')",
            "2:70: the name has 0 characters (error 33301); write 1 to 256",
        ),
        (
            f"CREATE BROKER PRIORITY [{'r' * 129}] FOR CONVERSATION",
            "2:24: the name has 129 characters (error 33301); write 1 to 128",
        ),
        (
            "CREATE BROKER PRIORITY R FOR CONVERSATION SET (CONTRACT_NAME = C CONTRACT_NAME = C)",
            "2:66: CONTRACT_NAME stands twice; keep one of the two",
        ),
        ("ALTER BROKER PRIORITY R FOR CONVERSATION", "2:41: expected SET, found the end of the file"),
        (
            "DROP BROKER PRIORITY IF EXISTS R",
            "2:22: expected a name, found IF EXISTS, which rules do not have; take it away",
        ),
        ("DROP BROKER PRIORITY R FOR CONVERSATION", "2:24: expected the end of the statement, found FOR"),
        ("USE", "2:4: expected a name, found the end of the file"),
        ("USE [$(Db)]", f"2:5: {undefined('Db')}"),
        (
            "DROP BROKER PRIORITY [$(R)]",
            f"2:22: {undefined('R')}",
        ),
        (
            "CREATE BROKER PRIORITY R FOR CONVERSATION SET (REMOTE_SERVICE_NAME = N'a$(R)')",
            f"2:70: {undefined('R')}",
        ),
        (
            "CREATE BROKER PRIORITY R FOR CONVERSATION SET (CONTRACT_NAME = C) SET (PRIORITY_LEVEL = 9)",
            "2:67: expected the end of the statement, found SET",
        ),
        (
            "CREATE BROKER PRIORITY R FOR CONVERSATION WITH (PRIORITY_LEVEL = 9)",
            "2:43: expected SET or the end of the statement, found WITH",
        ),
        (
            "CREATE BROKER PRIORITY R FOR CONVERSATION;\nSET (PRIORITY_LEVEL = 9)",
            "3:1: SET ( belongs to the CREATE or ALTER BROKER PRIORITY before it; take away what parts them",
        ),
        (
            "; CREAT BROKER PRIORITY R FOR CONVERSATION",
            "2:3: a statement about a BROKER PRIORITY begins with CREATE, ALTER or DROP, found CREAT",
        ),
        ("DROP BROKER PRIORITY R\nGO;", "3:3: GO stands alone in its line; begin a new one"),
        (
            "DROP BROKER PRIORITY R\nGO 2 -- twice",
            "3:1: GO 2 repeats the rule statements of its batch; write GO",
        ),
        ("DROP BROKER PRIORITY R\nGO 0", "3:1: GO 0 repeats the rule statements of its batch; write GO"),
        ("PRINT 'x", "2:7: what begins with ' is never closed; add the closing '"),
        ("PRINT [x]]", "2:7: what begins with [ is never closed; add the closing ]"),
        ('PRINT "x', '2:7: what begins with " is never closed; add the closing "'),
        ("PRINT /* a /* b */", "2:7: this comment is never closed; add */ (comments nest)"),
    ],
)
def test_refused(tmp_path: Path, statement: str, line: str) -> None:
    assert refusal(tmp_path, statement) == [line]


@pytest.mark.parametrize(
    ("before", "after", "where"),
    [
        ("IF EXISTS (SELECT 1) ", "", "IF of line 2"),
        ("IF 1 = 1 BEGIN; PRINT 1; ", " END", "IF of line 2"),
        ("IF 1 = 1\n  PRINT 1;\nELSE ", "", "ELSE of line 4"),
        ("WHILE 1 = 1 BEGIN ", " END", "WHILE of line 2"),
        ("BEGIN TRY PRINT 1 END TRY BEGIN CATCH; ", " END CATCH", "BEGIN of line 2"),
    ],
)
def test_rules_under_a_condition_are_refused(tmp_path: Path, before: str, after: str, where: str) -> None:
    [line] = refusal(tmp_path, f"{before}DROP BROKER PRIORITY R{after}")
    assert f"stands under the {where}, so the script alone can't say whether it is carried out" in line


def test_all_problems_are_listed_in_order(tmp_path: Path) -> None:
    script = (
        "DROP BROKER R\nDROP BROKER PRIORITY [];\n-- effective_from: soon\nDROP BROKER PRIORITY A B\nUSE 'x'"
    )
    assert [line.split(":")[0] for line in refusal(tmp_path, script)] == ["2", "3", "5", "6"]


# --- Files ------------------------------------------------------------------------------------------------

SCRIPT = "USE D;\r\nDROP BROKER PRIORITY [Größe 😀];\r\n"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(SCRIPT.encode(), id="UTF-8"),
        pytest.param(codecs.BOM_UTF8 + SCRIPT.encode(), id="UTF-8 with BOM"),
        pytest.param(codecs.BOM_UTF16_LE + SCRIPT.encode("utf-16-le"), id="UTF-16 LE"),
        pytest.param(codecs.BOM_UTF16_BE + SCRIPT.encode("utf-16-be"), id="UTF-16 BE"),
    ],
)
def test_encodings(tmp_path: Path, content: bytes) -> None:
    [found] = read_bytes(tmp_path, content).statements
    assert (found.name, found.location.line, found.location.column) == ("Größe 😀", 2, 1)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (
            SCRIPT.encode("cp1252", "replace"),
            ":2:25: is not UTF-8 (byte 33) and looks like code page 1252 ('[Größe ?];')",
        ),
        (SCRIPT.encode("utf-16-le"), ": is UTF-16 (little-endian) without a byte order mark"),
        ("DROP".encode("utf-16-be"), ": is UTF-16 (big-endian) without a byte order mark"),
        (b"DROP\0", ":1:5: a NUL character, which no text has"),
        (b"DROP \x81\xff", ":1:6: is not UTF-8 (byte 6)"),
        (codecs.BOM_UTF16_LE + b"x", ":1:1: is not UTF-16-LE (byte 3)"),
        (codecs.BOM_UTF32_LE + SCRIPT.encode("utf-32-le"), ": is UTF-32"),
    ],
)
def test_other_encodings(tmp_path: Path, content: bytes, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_bytes(tmp_path, content)
    message = f"r.sql{line}; save it as UTF-8, or as UTF-16 with a byte order mark"
    assert str(caught.value).removeprefix(f"{tmp_path}/") == message


def test_a_folder_is_no_script(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be read"):
        read_tsql_rules(str(tmp_path))


WORDS = [
    "CREATE", "ALTER", "DROP", "BROKER", "PRIORITY", "FOR", "CONVERSATION", "SET", "CONTRACT_NAME",
    "LOCAL_SERVICE_NAME", "REMOTE_SERVICE_NAME", "PRIORITY_LEVEL", "ANY", "DEFAULT", "USE", "IF", "ELSE",
    "BEGIN", "END", "CASE", "TRY", "PROCEDURE", "R", "[R]", "'R'", '"R"', "7", "99", "(", ")", ",", "=",
    ";", "\nGO\n", "GO", "/*", "*/", "--", "\n", "-- effective_from: 2026-01-01\n", "'", "[",
    "CREATE BROKER PRIORITY", "FOR CONVERSATION SET (",
]  # fmt: skip


def attempt(path: Path, content: bytes, **source: Any) -> tuple[list[RuleStatement], list[str]]:
    """What a file says, or the lines that refuse it; anything but a ConfigError is a fault."""
    path.write_bytes(content)
    try:
        return list(read_tsql_rules(str(path), **source).statements), []
    except ConfigError as error:
        return [], str(error).split("\n")


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=40), st.booleans())
def test_any_script_is_read_or_refused(tmp_path_factory: Any, words: list[str], with_source: bool) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.sql"
    content = " ".join(words).encode("utf-8", "surrogatepass")
    statements, lines = attempt(path, content, **(WAYS if with_source else {}))
    assert all(line.startswith(str(path)) for line in lines)
    assert all(statement.database and statement.name for statement in statements)


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(tmp_path_factory: Any, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.sql"
    statements, lines = attempt(path, content)
    assert statements == []
    assert all(line.startswith(str(path)) for line in lines)

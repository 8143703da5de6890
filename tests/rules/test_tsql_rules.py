"""Rules written as T-SQL: what scripts say, what is passed over, and what is refused where."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from pipelines.config.errors import ConfigError
from pipelines.rules.statements import (
    ANY,
    UNSET,
    RuleDefaults,
    RuleStatement,
    SourceLocation,
    StatementType,
)
from pipelines.rules.tsql_rules import read_tsql_rules
from tests.support.cases import cases, lines_of_error
from tests.support.rule_scripts import read_script

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
WAYS = {"instance": "I", "effective_from": NEW_YEAR}


def read(tmp_path: Path, script: str, **source: Any) -> list[RuleStatement]:
    path = tmp_path / "r.sql"
    path.write_text(script, encoding="utf-8")
    return list(read_tsql_rules(str(path), RuleDefaults(**(source or WAYS))).statements)


def refusal(tmp_path: Path, script: str, **source: Any) -> list[str]:
    """The lines of the error, without the path; the script is in database D from its second line on."""
    lines = lines_of_error(tmp_path, read, tmp_path, f"USE D\n{script}", **source)
    return [line.removeprefix("r.sql:") for line in lines]


PUBLISHED = """
    USE TargetDB;
    GO
    CREATE BROKER PRIORITY TargetToInitiatorPriority
        FOR CONVERSATION
        SET (CONTRACT_NAME = SimpleContract,
             LOCAL_SERVICE_NAME = TargetService,
             REMOTE_SERVICE_NAME = N'InitiatorService',
             PRIORITY_LEVEL = 3);
    GO
    USE InitiatorDB;
    GO
    CREATE BROKER PRIORITY SimpleContractDefaultPriority
        FOR CONVERSATION
        SET (CONTRACT_NAME = SimpleContract,
             LOCAL_SERVICE_NAME = ANY,
             REMOTE_SERVICE_NAME = ANY,
             PRIORITY_LEVEL = 7);
    ALTER BROKER PRIORITY SimpleContractDefaultPriority
        FOR CONVERSATION
        SET (PRIORITY_LEVEL = 3);
    DROP BROKER PRIORITY SimpleContractDefaultPriority;
"""


def test_statements_as_the_vendor_publishes_them(tmp_path: Path) -> None:
    one, other = "TargetToInitiatorPriority", "SimpleContractDefaultPriority"
    path, names = f"{tmp_path}/r.sql", ("SimpleContract", "TargetService", "InitiatorService")
    expected = [
        ("CREATE", "TargetDB", one, 4, (*names, 3)),
        ("CREATE", "InitiatorDB", other, 13, ("SimpleContract", ANY, ANY, 7)),
        ("ALTER", "InitiatorDB", other, 19, (UNSET, UNSET, UNSET, 3)),
        ("DROP", "InitiatorDB", other, 22, ()),
    ]
    assert read(tmp_path, PUBLISHED) == [
        RuleStatement(
            StatementType(kind), NEW_YEAR, "I", database, name, SourceLocation(path, line, 5), *said
        )
        for kind, database, name, line, said in expected
    ]


ALL = ("C", "L", "R", 1)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", (UNSET, UNSET, UNSET, None)),
        (" SET (CONTRACT_NAME = ANY)", (ANY, UNSET, UNSET, None)),
        (" SET (CONTRACT_NAME=any)", (ANY, UNSET, UNSET, None)),
        # In brackets, in quotes and as a string it is a name.
        (" SET (CONTRACT_NAME = [ANY])", ("ANY", UNSET, UNSET, None)),
        (' SET (LOCAL_SERVICE_NAME = "ANY")', (UNSET, "ANY", UNSET, None)),
        (" SET (REMOTE_SERVICE_NAME = 'ANY')", (UNSET, UNSET, "ANY", None)),
        (" SET (REMOTE_SERVICE_NAME = ANY)", (UNSET, UNSET, ANY, None)),
        # Quotes and brackets that close are doubled; anything may stand in them.
        (" SET (REMOTE_SERVICE_NAME = n'it''s')", (UNSET, UNSET, "it's", None)),
        (' SET (REMOTE_SERVICE_NAME = "a""b")', (UNSET, UNSET, 'a"b', None)),
        (" SET (CONTRACT_NAME = [a]]b ])", ("a]b ", UNSET, UNSET, None)),
        (" SET (CONTRACT_NAME = [a.b[c])", ("a.b[c", UNSET, UNSET, None)),
        (" SET (CONTRACT_NAME = [DEFAULT])", ("DEFAULT", UNSET, UNSET, None)),
        (" SET (CONTRACT_NAME = Größe_1@$#)", ("Größe_1@$#", UNSET, UNSET, None)),
        # A word that is not reserved.
        (" SET (CONTRACT_NAME = Priority)", ("Priority", UNSET, UNSET, None)),
        (" SET (PRIORITY_LEVEL = DEFAULT)", (UNSET, UNSET, UNSET, 5)),
        (" SET (PRIORITY_LEVEL = 010)", (UNSET, UNSET, UNSET, 10)),
        # Any order, commas are optional.
        (" SET (PRIORITY_LEVEL=1 REMOTE_SERVICE_NAME=N'R'LOCAL_SERVICE_NAME=L, CONTRACT_NAME=C)", ALL),
        (" SET (/* a /* nested */ one */ CONTRACT_NAME -- it's\n = C)", ("C", UNSET, UNSET, None)),
    ],
)
def test_criteria_and_level(tmp_path: Path, text: str, found: tuple[object, ...]) -> None:
    [rule] = read(tmp_path, f"USE D; create broker priority R for conversation{text}")
    assert rule.kind is StatementType.CREATE
    assert (rule.contract, rule.local_service, rule.remote_service, rule.level) == found


def test_names_of_rules_and_databases_come_in_all_forms(tmp_path: Path) -> None:
    script = 'use [D ]]1]\nDROP BROKER PRIORITY [Any];USE "E""2"; DROP BROKER PRIORITY "x y"\n'
    found = read(tmp_path, script + "DROP BROKER PRIORITY z")
    assert [(s.database, s.name) for s in found] == [("D ]1", "Any"), ('E"2', "x y"), ('E"2', "z")]


@pytest.mark.parametrize("prefix", ["", "PRINT 'x'\n", "END CONVERSATION @h;"])
@pytest.mark.parametrize("suffix", ["", ";", "\nGO\n", " SELECT 1", " -- the end"])
def test_statements_need_no_semicolon(tmp_path: Path, prefix: str, suffix: str) -> None:
    statement = "ALTER BROKER PRIORITY R FOR CONVERSATION SET (PRIORITY_LEVEL = 2)"
    [rule] = read(tmp_path, f"USE D; {prefix}{statement}{suffix}")
    assert rule.level == 2


# --- What is passed over ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "count"),
    [
        ("", 0),
        (";;\nGO\nGO 1\n/* GO */ -- GO", 0),
        ("SET NOCOUNT ON; PRINT 'DROP BROKER PRIORITY R';", 2),
        ("PRINT 1\ngo\nPRINT 2\n  GO -- next\nPRINT 3", 3),
        ("CREATE CONTRACT C (M SENT BY ANY); CREATE QUEUE Q; DROP SERVICE S;", 3),
        ("SELECT 'GO\nDROP BROKER PRIORITY R' AS [GO\nUSE x]", 1),
        ("SELECT * FROM t OPTION (USE PLAN N'x')", 1),
        ("CREATE PROCEDURE p AS\nBEGIN; DROP BROKER PRIORITY R; END\nDROP BROKER PRIORITY S\nGO\nPRINT 1", 2),
        ("CREATE OR ALTER TRIGGER t ON x AFTER INSERT AS DROP BROKER PRIORITY R", 1),
    ],
)
def test_other_statements_are_counted(tmp_path: Path, script: str, count: int) -> None:
    found = read_script(tmp_path, script)
    assert (found.statements, found.passed_over) == ((), count)


def test_rules_among_other_statements(tmp_path: Path) -> None:
    script = (
        "USE D PRINT 1 DROP TABLE IF EXISTS t CREATE BROKER PRIORITY A FOR CONVERSATION\n"
        "BEGIN TRAN DROP BROKER PRIORITY A COMMIT\n"
        "BEGIN TRY CREATE BROKER PRIORITY B FOR CONVERSATION END TRY BEGIN CATCH THROW END CATCH\n"
        "SELECT CASE WHEN 1 = 1 THEN 2 ELSE 3 END DROP BROKER PRIORITY B\n"
        "IF 1 = 1 BEGIN PRINT 2 END CREATE BROKER PRIORITY C FOR CONVERSATION"
    )
    found = [f"{each.kind.name} {each.name}" for each in read(tmp_path, script)]
    assert found == ["CREATE A", "DROP A", "CREATE B", "DROP B", "CREATE C"]


# --- Moments, instances, databases ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "before",
    [
        "-- effective_from: 2026-02-03T04:05:06Z\n",
        "--EFFECTIVE_FROM:2026-02-03 04:05:06\n\n-- why\n",
        "/* effective_from: 2026-02-03T05:05:06+01:00 */ ",
        "/**\n * effective_from: 2026-02-03T04:05:06Z\n **/\n",
        "---- effective_from: 2026-02-03T04:05:06Z ----\n",
    ],
)
def test_a_comment_before_a_statement_gives_its_moment(tmp_path: Path, before: str) -> None:
    moment = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
    script = f"USE D\nDROP BROKER PRIORITY A;\n{before}DROP BROKER PRIORITY B;\nDROP BROKER PRIORITY C;"
    assert [each.effective_from for each in read(tmp_path, script)] == [NEW_YEAR, moment, NEW_YEAR]
    [alone] = read(tmp_path, f"USE D\n{before}DROP BROKER PRIORITY B", instance="I")
    assert alone.effective_from == moment


PLACE = (
    "a comment with a moment of effect stands alone in its line, directly before the CREATE, ALTER or DROP "
    "BROKER PRIORITY that it is for; move it there"
)


@pytest.mark.parametrize(
    ("script", "said"),
    cases("""
        /* Ticket 4711
         effective_from: 2026-01-01 */
        DROP BROKER PRIORITY A
        => 2:1: PLACE

        /* effective_from: 2026-01-01 */ USE E
        DROP BROKER PRIORITY A
        => 2:1: PLACE

        -- effective_from: 2026-01-01
        GO
        DROP BROKER PRIORITY A
        => 2:1: PLACE

        DROP BROKER PRIORITY -- effective_from: 2026-01-01
        A
        => 2:22: PLACE

        DROP BROKER PRIORITY A; -- effective_from: 2026-01-01
        DROP BROKER PRIORITY B
        => 2:25: a comment with a moment of effect counts for the statement after it; put it there

        -- effective_from: 2026-13-01
        DROP BROKER PRIORITY B
        => 2:1: '2026-13-01' is not a moment in time; write it like 2026-01-01T00:00:00Z

        -- effective_from is as agreed
        DROP BROKER PRIORITY B
        => 2:1: a comment that begins with effective_from gives a moment; add a colon and it

        -- effective_from: 2026-01-01
        -- effective_from: 2026-01-02
        DROP BROKER PRIORITY B
        => 3:1: a second moment for one statement, see r.sql:2:1; keep one of the two
    """),
)
def test_misplaced_moments(tmp_path: Path, script: str, said: list[str]) -> None:
    assert refusal(tmp_path, script) == [line.replace("PLACE", PLACE) for line in said]


def test_what_is_missing_is_said_once(tmp_path: Path) -> None:
    script = "DROP BROKER PRIORITY A; DROP BROKER PRIORITY B\nUSE D; DROP BROKER PRIORITY C"
    assert lines_of_error(tmp_path, read, tmp_path, script, instance=None) == [
        "r.sql:1:1: a script can't name its instance; add instance: to the file's entry in rules: "
        "(and for 2 more statements)",
        "r.sql:1:1: it has no moment of effect; write -- effective_from: 2026-01-01T00:00:00Z in the line "
        "before it, or add effective_from: to the file's entry in rules: (and for 2 more statements)",
        "r.sql:1:1: no USE before it names the database; write USE and its name above it, or add database: "
        "to the file's entry in rules: (and for 1 more statement)",
    ]


# --- Refused ----------------------------------------------------------------------------------------------

ITEM = "CONTRACT_NAME, LOCAL_SERVICE_NAME, PRIORITY_LEVEL or REMOTE_SERVICE_NAME"
UNCLEAR = (
    "so the script alone can't say whether it is carried out; write it without a condition, or ask for its "
    "name in sys.conversation_priorities alone"
)
LEVELS = "is not a priority level (error 33302); write 1 (low) to 10 (high)"


@pytest.mark.parametrize(
    ("script", "said"),
    cases("""
        CREATE BROKER PRIORTY R FOR CONVERSATION         => 2:15: expected PRIORITY, found PRIORTY
        CREATE OR ALTER BROKER PRIORITY R FOR CONVERSATION SET (PRIORITY_LEVEL = 1)
        => 2:8: expected BROKER, found OR
        CREATE BROKER PRIORITY FOR CONVERSATION
        => 2:24: expected a name, found FOR, a reserved word (as a name: [FOR])
        CREATE BROKER PRIORITY dbo.R FOR CONVERSATION    => 2:27: expected FOR, found .
        CREATE BROKER PRIORITY R                         => 2:25: expected FOR, found the end of the file
        CREATE BROKER PRIORITY R
        GO
        => 3:1: expected FOR, found GO
        BEGIN TRAN BROKER PRIORITY R
        => 2:12: a statement about a BROKER PRIORITY begins with CREATE, ALTER or DROP, found BROKER
        ; CREAT BROKER PRIORITY R FOR CONVERSATION
        => 2:3: a statement about a BROKER PRIORITY begins with CREATE, ALTER or DROP, found CREAT
        ALTER BROKER PRIORITY R FOR CONVERSATION         => 2:41: expected SET, found the end of the file
        DROP BROKER PRIORITY IF EXISTS R
        => 2:22: expected a name, found IF EXISTS, which rules do not have; take it away
        DROP BROKER PRIORITY R FOR CONVERSATION
        => 2:24: expected the end of the statement, found FOR

        CREATE BROKER PRIORITY R FOR CONVERSATION
        SET
        CONTRACT_NAME = C, PRIORITY_LEVEL = 9)
        => 4:1: expected (, found CONTRACT_NAME
        CREATE BROKER PRIORITY R FOR CONVERSATION;
        SET (PRIORITY_LEVEL = 9)
        => 3:1: SET ( belongs to the CREATE or ALTER BROKER PRIORITY before it; take away what parts them
        DROP BROKER PRIORITY R
        GO;
        => 3:3: GO stands alone in its line; begin a new one
        DROP BROKER PRIORITY R
        GO 2 -- twice
        => 3:1: GO 2 repeats the rule statements of its batch; write GO

        USE                   => 2:4: expected a name, found the end of the file
        PRINT 'x              => 2:7: what begins with ' is never closed; add the closing '
        PRINT [x]]            => 2:7: what begins with [ is never closed; add the closing ]
        PRINT "x              => 2:7: what begins with " is never closed; add the closing "
        PRINT /* a /* b */    => 2:7: this comment is never closed; add */ (comments nest)

        IF 1 = 1 BEGIN; PRINT 1; DROP BROKER PRIORITY R END
        => 2:26: stands under the IF of line 2, UNCLEAR
        IF 1 = 1
          PRINT 1;
        ELSE DROP BROKER PRIORITY R
        => 4:6: stands under the ELSE of line 4, UNCLEAR
        WHILE 1 = 1 BEGIN DROP BROKER PRIORITY R END
        => 2:19: stands under the WHILE of line 2, UNCLEAR
        BEGIN TRY PRINT 1 END TRY BEGIN CATCH; DROP BROKER PRIORITY R END CATCH
        => 2:40: stands under the BEGIN of line 2, UNCLEAR

        DROP BROKER R
        DROP BROKER PRIORITY [];
        -- effective_from: soon
        DROP BROKER PRIORITY A B
        USE 'x'
        => 2:13: expected PRIORITY, found R
        => 3:22: the name has 0 characters (error 33301); write 1 to 128
        => 5:24: expected the end of the statement, found B
        => 6:5: expected a name, found 'x'
    """),
)
def test_refused(tmp_path: Path, script: str, said: list[str]) -> None:
    assert refusal(tmp_path, script) == [line.replace("UNCLEAR", UNCLEAR) for line in said]


@pytest.mark.parametrize(
    ("text", "said"),
    cases("""
        SETT (PRIORITY_LEVEL = 1)    => 2:43: expected SET or the end of the statement, found SETT
        SET PRIORITY_LEVEL = 9       => 2:47: expected (, found PRIORITY_LEVEL
        SET ()                       => 2:48: expected ITEM, found )
        SET (CONTRACT_NAME = C,)     => 2:66: expected ITEM, found )
        SET (CONTRACT_NAME = C
        => 2:65: expected CONTRACT_NAME, LOCAL_SERVICE_NAME, PRIORITY_LEVEL, REMOTE_SERVICE_NAME, a comma
           or ), found the end of the file
        SET (CONTRACT_NAME = 'C')    => 2:64: expected ANY or a name, found 'C'
        SET (CONTRACT_NAME = DEFAULT)
        => 2:64: expected ANY or a name, found DEFAULT, a reserved word (as a name: [DEFAULT])
        SET (CONTRACT_NAME = C CONTRACT_NAME = C)
        => 2:66: CONTRACT_NAME stands twice; keep one of the two
        SET (CONTRACT_NAME = C) SET (PRIORITY_LEVEL = 9)
        => 2:67: expected the end of the statement, found SET
        SET (LOCAL_SERVICE_NAME = //Adventure-Works.com/Expenses/ClaimService)
        => 2:69: expected ANY or a name, found //Adventure-Works.com/Expenses/ClaimS...; put the name in
           brackets: [//Adventure-Works.com/Expenses/ClaimService]
        SET (REMOTE_SERVICE_NAME = S)    => 2:70: expected ANY or a string like N'TargetService', found S
        SET (REMOTE_SERVICE_NAME = N'')  => 2:70: the name has 0 characters (error 33301); write 1 to 256
        SET (PRIORITY_LEVEL = -1)        => 2:65: expected DEFAULT or a level from 1 to 10, found -
        SET (PRIORITY_LEVEL = 2.5)       => 2:65: expected a whole number from 1 to 10 or DEFAULT, found 2.5
        SET (PRIORITY_LEVEL = 11)        => 2:65: 11 LEVELS
        SET (PRIORITY_LEVEL = 0)         => 2:65: 0 LEVELS
    """),
)
def test_a_refused_set(tmp_path: Path, text: str, said: list[str]) -> None:
    lines = refusal(tmp_path, f"CREATE BROKER PRIORITY R FOR CONVERSATION {text}")
    assert lines == [line.replace("ITEM", ITEM).replace("LEVELS", LEVELS) for line in said]


def test_names_and_numbers_that_are_too_long(tmp_path: Path) -> None:
    assert refusal(tmp_path, f"CREATE BROKER PRIORITY [{'r' * 129}] FOR CONVERSATION") == [
        "2:24: the name has 129 characters (error 33301); write 1 to 128"
    ]
    level = "9" * 5000
    assert refusal(tmp_path, f"ALTER BROKER PRIORITY R FOR CONVERSATION SET (PRIORITY_LEVEL = {level})") == [
        f"2:64: {'9' * 18} {LEVELS}"
    ]


# --- Any bytes --------------------------------------------------------------------------------------------

WORDS = [
    "CREATE", "ALTER", "DROP", "BROKER", "PRIORITY", "FOR", "CONVERSATION", "SET", "CONTRACT_NAME",
    "LOCAL_SERVICE_NAME", "REMOTE_SERVICE_NAME", "PRIORITY_LEVEL", "ANY", "DEFAULT", "USE", "IF", "ELSE",
    "BEGIN", "END", "CASE", "TRY", "PROCEDURE", "R", "[R]", "'R'", '"R"', "7", "99", "(", ")", ",", "=",
    ";", "\nGO\n", "GO", "/*", "*/", "--", "\n", "-- effective_from: 2026-01-01\n", "'", "[",
    "CREATE BROKER PRIORITY", "FOR CONVERSATION SET (",
]  # fmt: skip


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=25).map(
        lambda words: " ".join(words).encode("utf-8", "surrogatepass")
    )
    | st.binary(max_size=60),
    st.sampled_from([WAYS, {}]),
)
def test_anything_is_read_or_refused(tmp_path_factory: Any, content: bytes, source: dict[str, Any]) -> None:
    """By an error of the configuration with a place, and by no other one."""
    path = tmp_path_factory.getbasetemp() / "fuzz.sql"
    path.write_bytes(content)
    lines: list[str] = []
    try:
        statements = read_tsql_rules(str(path), RuleDefaults(**source)).statements
        assert all(statement.database and statement.name for statement in statements)
    except ConfigError as error:
        lines = str(error).split("\n")
    assert all(line.startswith(str(path)) for line in lines)

"""Scripts with control flow: checks of existence, ways out, transactions, and what is not read."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from pipelines.config.errors import ConfigError
from pipelines.config.rules.history import Fault, apply_statements
from pipelines.config.rules.statements import RuleFile
from tests.support.cases import lines_of_error
from tests.support.rule_scripts import HAS_A, create

Read = Callable[[str], RuleFile]
A, B = create("A"), create("B")
DROP, ALTER = "DROP BROKER PRIORITY A", "ALTER BROKER PRIORITY A FOR CONVERSATION SET (PRIORITY_LEVEL = 2)"
HAS_B, HAS_SMALL_A = HAS_A.replace("N'A'", "N'B'"), HAS_A.replace("N'A'", "N'a'")


def standing(file: RuleFile) -> list[tuple[str, str | None, int]]:
    folded = apply_statements(file.statements)
    folded.require_accepted()
    return [(each.name, each.contract, each.level) for each in folded.versions if each.valid_to is None]


def notes(file: RuleFile) -> list[tuple[int, str]]:
    return [(note.location.line, note.message) for note in file.notes if note.kind.name != "NO_RULES"]


def refusal(read: Read, script: str) -> list[str]:
    return [line.split("r.sql:", 1)[1] for line in lines_of_error(Path(), read, script)]


# --- Checks of existence ----------------------------------------------------------------------------------

A9, A2 = ("A", "CA", 9), ("A", "CA", 2)
AX = create("A", "X")


@pytest.mark.parametrize(
    ("script", "rules"),
    [
        pytest.param(f"IF NOT {HAS_A} {A}", [A9], id="create"),
        pytest.param(f"{A}\nIF NOT {HAS_A} {A}", [A9], id="create what stands"),
        pytest.param(f"IF {HAS_A} {DROP}", [], id="drop nothing"),
        pytest.param(f"{A}\nIF {HAS_A} {DROP};", [], id="drop"),
        pytest.param(f"{A}\nIF {HAS_A} BEGIN {DROP}; END\nGO\n{A}", [A9], id="drop and create"),
        pytest.param(f"{A}\nIF {HAS_A} BEGIN {DROP}; {AX}; END", [("A", "X", 9)], id="once"),
        pytest.param(f"IF {HAS_A} {ALTER} ELSE {A}", [A9], id="else"),
        pytest.param(f"{A};IF {HAS_A} {ALTER}; ELSE {A}", [A2], id="then"),
        pytest.param(f"{A};IF NOT {HAS_A}\nBEGIN\n{A};\nEND\nELSE\nBEGIN\n{ALTER};\nEND", [A2], id="blocks"),
        pytest.param(f"IF {HAS_A} IF @x = 1 PRINT 1 ELSE PRINT 2 ELSE {A}", [A9], id="two of IF and ELSE"),
        pytest.param(f"IF {HAS_A} PRINT 1 ELSE IF NOT {HAS_A} BEGIN {A} END", [A9], id="else if"),
        pytest.param(f"IF NOT {HAS_A} PRINT 'none'\n{A}", [A9], id="the statement behind it"),
        pytest.param(f"IF @x = 1 PRINT 'none'\n{A}", [A9], id="behind an IF about something else"),
        pytest.param(f"IF {HAS_A} RETURN\n{A}\nGO\nIF {HAS_A} RETURN {A}", [A9], id="return"),
        pytest.param(f"BEGIN TRY IF NOT {HAS_A} {A} END TRY BEGIN CATCH PRINT 1 END CATCH", [A9], id="try"),
        pytest.param(f"IF NOT {HAS_A} AND NOT {HAS_A} {A}", [A9], id="and"),
        pytest.param(f"{B} IF {HAS_A} OR {HAS_B} {A}", [A9, ("B", "CB", 9)], id="or"),
        pytest.param(f"IF NOT ({HAS_A}) {A}", [A9], id="parentheses"),
    ],
)  # fmt: skip
def test_checks_are_decided_by_the_rules_that_stand(read: Read, script: str, rules: list[object]) -> None:
    assert standing(read(script)) == rules


SELECT_A = "SELECT priority_id, name FROM [D].[sys].[conversation_priorities]"


@pytest.mark.parametrize(
    "check",
    [
        "SELECT 1 FROM [sys].[conversation_priorities] WHERE [name] = 'A'",
        "select top 1 1 from sys.conversation_priorities as p with (nolock) where p.name = N'A'",
        "SELECT TOP (1) p.* FROM sys.conversation_priorities p WHERE p.[name] = N'A'",
        "SELECT name FROM D.sys.conversation_priorities WHERE (name = N'A')",
        f"{SELECT_A} cp (NOLOCK) WHERE N'A' = cp.name",
        "SELECT NULL FROM \"sys\".\"conversation_priorities\" WHERE name IN (N'A', N'Z')",
        "SELECT 'x' FROM sys.conversation_priorities WHERE name = N'Z' OR name = N'A'",
        "SELECT * FROM sys.conversation_priorities",
        "SELECT * /* all */ FROM sys.conversation_priorities -- of them\n WHERE name = N'A'",
    ],
)
def test_spellings_of_a_check(read: Read, check: str) -> None:
    assert standing(read(f"IF NOT EXISTS ({check}) {A}\nGO\nIF NOT EXISTS ({check}) {A}")) == [A9]


def test_a_check_may_ask_another_database(read: Read) -> None:
    check = "EXISTS (SELECT * FROM E.sys.conversation_priorities WHERE name = N'A')"
    assert standing(read(f"{B} USE E {A} USE D\nIF {check} DROP BROKER PRIORITY B")) == [A9]
    elsewhere = read(f"{B}\nIF {check} DROP BROKER PRIORITY B")
    assert standing(elsewhere) == [("B", "CB", 9)]


def test_a_check_in_another_case_is_refused(read: Read) -> None:
    file = read(f"{A}\nIF NOT {HAS_SMALL_A} {create('a')}")
    [refused] = apply_statements(file.statements).refusals
    assert refused.fault is Fault.UNCLEAR_CHECK
    assert "the check of line 2 asks for 'a', and 'A' stands" in refused.message


UNDER = (
    "stands under the IF of line 1, so the script alone can't say whether it is carried out; write it "
    "without a condition, or ask for its name in sys.conversation_priorities alone"
)


@pytest.mark.parametrize(
    "condition",
    [
        "EXISTS (SELECT * FROM sys.services WHERE name = N'A')",
        "EXISTS (SELECT * FROM sys.conversation_priorities WHERE priority = 5)",
        "EXISTS (SELECT COUNT(*) FROM sys.conversation_priorities WHERE name = N'A')",
        "EXISTS (SELECT TOP 0 * FROM sys.conversation_priorities WHERE name = N'A')",
        "EXISTS (SELECT * FROM dbo.conversation_priorities WHERE name = N'A')",
        "EXISTS (SELECT * FROM sys.conversation_priorities WHERE name = @name)",
        "EXISTS (SELECT * FROM sys.conversation_priorities WHERE name LIKE N'A')",
        f"{HAS_A} AND @x = 1",
        "(" * 5000 + HAS_A + ")" * 5000,
    ],
)
def test_other_conditions_are_refused(read: Read, condition: str) -> None:
    [line] = refusal(read, f"IF {condition}\n  {DROP}")
    assert line == f"2:3: {UNDER}"


def test_an_if_that_ends_with_a_semicolon_is_no_tsql(read: Read) -> None:
    [line] = refusal(read, f"IF {HAS_A};\n{DROP}")
    assert line.endswith("IF has no statement before this ;, so it is no T-SQL; take the ; away")
    [line] = refusal(read, f"IF 1 = 1;\n{DROP}")
    assert line == f"2:1: {UNDER}"


# --- Transactions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "names"),
    [
        pytest.param(f"BEGIN TRAN {A} COMMIT", "A", id="commit"),
        pytest.param(f"BEGIN TRANSACTION\nGO\n{A}\nGO\nROLLBACK\nGO\n{B}", "B", id="rollback across batches"),
        pytest.param(f"BEGIN TRAN BEGIN TRAN {A} COMMIT ROLLBACK {B}", "B", id="nested"),
        pytest.param(f"BEGIN TRAN BEGIN TRAN {A} COMMIT TRAN COMMIT TRAN", "A", id="nested commits"),
        pytest.param(f"BEGIN TRAN {A} SAVE TRAN s {B} ROLLBACK TRAN s COMMIT", "A", id="savepoint"),
        pytest.param(f"BEGIN TRAN t {A} SAVE TRAN s {B} ROLLBACK TRAN t", "", id="by its name"),
        pytest.param(f"BEGIN TRAN {A}", "", id="left open"),
        pytest.param(
            f"BEGIN TRY BEGIN TRAN {A} COMMIT END TRY\n"
            "BEGIN CATCH IF @@TRANCOUNT > 0 ROLLBACK; THROW END CATCH",
            "A",
            id="rollback in CATCH",
        ),
        pytest.param(f"BEGIN TRAN {A}\nIF @@ERROR <> 0 ROLLBACK TRAN ELSE COMMIT TRAN", "A", id="of errors"),
        pytest.param(
            f"BEGIN TRAN {A} IF @@ERROR <> 0 GOTO Failed\nCOMMIT\nRETURN\nFailed:\nROLLBACK", "A", id="label"
        ),
        pytest.param(
            f"BEGIN TRAN {A} ALTER DATABASE D SET SINGLE_USER WITH ROLLBACK IMMEDIATE COMMIT",
            "A",
            id="option",
        ),
        pytest.param(f"SET IMPLICIT_TRANSACTIONS ON {A} ROLLBACK {B} COMMIT", "B", id="implicit"),
        pytest.param(
            f"BEGIN TRANSACTION\nGO\n{A}\nGO\nIF @@ERROR <> 0 AND @@TRANCOUNT > 0 BEGIN ROLLBACK; END\n"
            "IF @@TRANCOUNT = 0 BEGIN INSERT INTO #tmpErrors (Error) VALUES (1); BEGIN TRANSACTION; END\nGO\n"
            "IF EXISTS (SELECT * FROM #tmpErrors) ROLLBACK TRANSACTION\nGO\n"
            "IF @@TRANCOUNT>0 BEGIN\nPRINT N'done'\nCOMMIT TRANSACTION\nEND\nELSE PRINT N'failed'",
            "A",
            id="as a data-tier project publishes",
        ),
    ],
)
def test_a_rolled_back_rule_does_not_count(read: Read, script: str, names: str) -> None:
    file = read(script)
    assert "".join(name for name, *_ in standing(file)) == names
    lost = [note.rule for note in file.notes if note.kind.name == "ROLLED_BACK"]
    assert sorted([*names, *lost]) == sorted(name for name in "AB" if f"PRIORITY {name} " in script)


# --- What is not read -------------------------------------------------------------------------------------

STRING = "BROKER PRIORITY in a string: not read"


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("EXEC sp_executesql\n @statement = N'CREATE BROKER\n  PRIORITY A FOR CONVERSATION'", [(2, STRING)]),
        ("EXEC('CREATE BROKER' + CHAR(10) +\n'PRIORITY ' + @name)", [(2, STRING)]),
        ("EXEC('DROP BROKER /* the */ -- old\n PRIORITY A')", [(1, STRING)]),
        ("SET @s = 'drop broker'\nSET @s += ' priority ' + @name\nEXEC (@s)", [(2, STRING)]),
        ('EXEC("DROP BROKER PRIORITY A")', [(1, STRING)]),
        (f"IF NOT {HAS_A}\nEXEC dbo.sp_executesql @statement = N'{A}'", [(2, STRING)]),
        ("PRINT 'BROKER PRIORITY A'; RAISERROR ('BROKER PRIORITY A', 0, 1) WITH NOWAIT", []),
        ("PRINT 'x' EXEC('DROP BROKER PRIORITY A')", [(1, STRING)]),
        ("SELECT 'BROKER', 'no priority' -- DROP BROKER PRIORITY A", []),
        (
            f"CREATE PROCEDURE p AS\n{DROP}\nEXEC('{DROP}')\nGO",
            [(2, "BROKER PRIORITY in the body of a procedure: not read"), (3, STRING)],
        ),
        (f"ALTER TRIGGER t ON x AS\n{DROP}", [(2, "BROKER PRIORITY in the body of a trigger: not read")]),
        (f"RETURN\n{A}", [(2, "stands behind the RETURN of line 1: not read")]),
        (f"SET NOEXEC ON\nGO\n{A}", [(3, "stands behind the NOEXEC of line 1: not read")]),
        (f":quit\n{A}", [(2, "stands behind the :quit of line 1: not read")]),
        (":connect I", []),
        (":connect SQL2", [(1, ":connect SQL2: not read, so what follows counts for the source's instance")]),
    ],
)  # fmt: skip
def test_text_about_rules_is_told(read: Read, script: str, found: list[tuple[int, str]]) -> None:
    file = read(script)
    assert (notes(file), file.statements) == (found, ())
    assert [note.location.line for note in file.notes if note.kind.name == "NO_RULES"] == [1]


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("ALTER DATABASE E SET HONOR_BROKER_PRIORITY ON", [("E", True)]),
        ("USE F ALTER DATABASE CURRENT SET TRUSTWORTHY ON, HONOR_BROKER_PRIORITY OFF", [("F", False)]),
        ("ALTER DATABASE [E] SET HONOR_BROKER_PRIORITY = ON WITH ROLLBACK IMMEDIATE;", [("E", True)]),
        ("ALTER DATABASE E SET TRUSTWORTHY ON SELECT HONOR_BROKER_PRIORITY, 1", []),
    ],
)
def test_honor_broker_priority(read: Read, statement: str, found: list[object]) -> None:
    assert [(each.database, each.is_on) for each in read(statement).honor_settings] == found


# --- Variables of sqlcmd ----------------------------------------------------------------------------------


NO_DB = "has no value; write :setvar Db and the value above it, or variables: {Db: ...} in the settings"


@pytest.mark.parametrize(
    ("script", "begins"),
    [
        # Places count in the file and not in the values; $(never) stands in a comment.
        (
            ":setvar X \"a long value\"\nPRINT '$(x)$(X)' DROP BROKER PRIORITY $(Db) -- $(never)",
            f"2:39: the variable $(Db) {NO_DB}",
        ),
        (
            "CREATE BROKER PRIORITY [$(p)A] FOR CONVERSATION\nDROP BROKER PRIORITY $(P)B;\n"
            f"IF EXISTS (SELECT * FROM sys.conversation_priorities WHERE name = N'$(P)') {DROP}",
            "1:24: the variable $(p) has no value (used 3 times); ",
        ),
        # A wrong USE is one problem.
        (f"USE 'D'\nGO\n{A}", "1:5: expected a name, found 'D'"),
        (f"USE $(Db)\nGO\n{A}", f"1:5: the variable $(Db) {NO_DB}"),
        (f"IF @x = 1 USE D\nGO\n{A}", "1:11: stands under the IF of line 1"),
    ],
)
def test_one_problem(read: Read, script: str, begins: str) -> None:
    [line] = refusal(read, script)
    assert line.startswith(begins)


def test_setvar_counts_from_its_line_on(read: Read) -> None:
    first, second = create("A", "$(C)"), create("B", "$(c)")
    script = f":setvar C one\n{first}\n:setvar c \"$(C)2\"\n{second}\n:setvar C\nPRINT '$(C)'"
    assert standing(read(script)) == [("A", "one", 9), ("B", "one2", 9)]


@pytest.mark.parametrize("value", ["D -- which", "D E", '"D" -- which'])
def test_setvar_takes_blanks_in_quotes_only(read: Read, value: str) -> None:
    [line] = refusal(read, f":setvar Db {value}\nUSE [$(Db)]\nGO\n{A}")
    assert line == (
        f"1:1: the value of Db, {value}, has blanks; write it in quotes, and a comment in a line of its own"
    )


@pytest.mark.parametrize("name", ["${env}A", "#{env}A", "{{ env }}A", "$env$A", "<name, sysname, A>"])
def test_placeholders_of_other_tools_are_refused(read: Read, name: str) -> None:
    [line] = refusal(read, create(f"[{name}]", "C"))
    assert f"{name.removesuffix('A')} is a placeholder of another tool" in line


def test_signs_of_placeholders_alone_belong_to_a_name(read: Read) -> None:
    [(name, *_)] = standing(read("CREATE BROKER PRIORITY [A$B$ #1 <x> {y}] FOR CONVERSATION"))
    assert name == "A$B$ #1 <x> {y}"


# --- Size -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("/*" + "\n" * 200_000 + "*/", id="blank lines in a comment"),
        pytest.param("/*" + "-" * 200_000 + "*/", id="dashes in a comment"),
        pytest.param("/*" + "\n  -- effective_from" * 10_000 + "*/", id="directives in a comment"),
        pytest.param("/*" * 40_000 + "*/" * 40_000, id="nested comments"),
        pytest.param("--\n" * 60_000, id="line comments"),
        pytest.param("PRINT '" + "a''" * 60_000 + "'", id="a long string"),
        pytest.param("\nGO" * 20_000, id="batches"),
        pytest.param("IF EXISTS (SELECT x " * 4_000, id="conditions that never end"),
        pytest.param("IF @x = 1 BEGIN BEGIN TRAN " * 10_000, id="conditions"),
        pytest.param("CASE " * 20_000, id="expressions"),
        pytest.param("EXEC('" + "BROKER /*" * 20_000 + "')", id="comments that never end"),
        pytest.param(f"IF {HAS_A} SET NOEXEC ON\nGO\n{DROP}\nGO\n" * 800, id="conditional ends"),
    ],
)
def test_time_is_in_proportion_to_the_length(read: Read, script: str) -> None:
    begin = time.process_time()
    with suppress(ConfigError):
        read(script)
    assert time.process_time() - begin < 2  # some 0.1 s; what is quadratic takes 5 s and more

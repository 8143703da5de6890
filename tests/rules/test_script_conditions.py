"""Scripts with control flow: checks of existence, ways out, transactions, variables, and what is not read."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from pipelines.config.errors import ConfigError
from pipelines.rules.history import Fault, RuleVersion, apply_statements
from pipelines.rules.statements import NoteReason, RuleFile
from tests.support.cases import cases, lines_of_error
from tests.support.rule_scripts import HAS_A, create, read_script

Read = Callable[[str], RuleFile]
WORDS = {
    "CREATE_AX": create("A", "X"),
    "CREATE_A": create("A"),
    "CREATE_B": create("B"),
    "CREATE_C": create("C"),
    "ALTER_A": "ALTER BROKER PRIORITY A FOR CONVERSATION SET (PRIORITY_LEVEL = 2)",
    "DROP_A": "DROP BROKER PRIORITY A",
    "HAS_A": HAS_A,
    "HAS_B": HAS_A.replace("N'A'", "N'B'"),
}
"""Short words for statements in the scripts of these tests; a slash between blanks begins a line."""


def write_out(drawing: str) -> str:
    for word, text in WORDS.items():
        drawing = drawing.replace(word, text)
    return drawing.replace(" / ", "\n")


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads a script."""
    return lambda drawing: read_script(tmp_path, write_out(drawing))


def standing(file: RuleFile) -> list[RuleVersion]:
    folded = apply_statements(file.statements)
    folded.require_accepted()
    return [each for each in folded.versions if each.valid_to is None]


def names(file: RuleFile) -> str:
    return "".join(rule.name for rule in standing(file)) or "none"


def notes(file: RuleFile, *kinds: NoteReason) -> list[str]:
    """Lines and texts of notes."""
    return [f"{note.location.line}: {note.message}" for note in file.notes if note.kind in kinds]


def refusal(read: Read, script: str) -> list[str]:
    return [line.split("r.sql:", 1)[1] for line in lines_of_error(Path(), read, script)]


# --- Checks of existence ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "said"),
    cases("""
        IF NOT HAS_A CREATE_A                                   => A CA 9
        CREATE_A / IF NOT HAS_A CREATE_A                        => A CA 9
        IF HAS_A DROP_A                                         => none
        CREATE_A / IF HAS_A DROP_A;                             => none
        CREATE_A / IF HAS_A BEGIN DROP_A; END / GO / CREATE_A   => A CA 9
        CREATE_A / IF HAS_A BEGIN DROP_A; CREATE_AX; END        => A X 9
        IF HAS_A ALTER_A ELSE CREATE_A                          => A CA 9
        CREATE_A;IF HAS_A ALTER_A; ELSE CREATE_A                => A CA 2
        CREATE_A;IF NOT HAS_A / BEGIN / CREATE_A; / END / ELSE / BEGIN / ALTER_A; / END    => A CA 2
        IF HAS_A IF @x = 1 PRINT 1 ELSE PRINT 2 ELSE CREATE_A   => A CA 9
        IF HAS_A PRINT 1 ELSE IF NOT HAS_A BEGIN CREATE_A END   => A CA 9
        IF NOT HAS_A PRINT 'none' / CREATE_A                    => A CA 9
        IF @x = 1 PRINT 'none' / CREATE_A                       => A CA 9
        IF HAS_A RETURN / CREATE_A / GO / IF HAS_A RETURN CREATE_A                         => A CA 9
        BEGIN TRY IF NOT HAS_A CREATE_A END TRY BEGIN CATCH PRINT 1 END CATCH              => A CA 9
        IF NOT HAS_A AND NOT HAS_A CREATE_A                     => A CA 9
        CREATE_B IF HAS_A OR HAS_B CREATE_A                     => A CA 9, B CB 9
        IF NOT (HAS_A) CREATE_A                                 => A CA 9

        CREATE_B USE E CREATE_A USE D
        IF EXISTS (SELECT * FROM E.sys.conversation_priorities WHERE name = N'A') DROP BROKER PRIORITY B
        => A CA 9
        CREATE_B
        IF EXISTS (SELECT * FROM E.sys.conversation_priorities WHERE name = N'A') DROP BROKER PRIORITY B
        => B CB 9
    """),
)
def test_checks_are_decided_by_the_rules_that_stand(read: Read, script: str, said: list[str]) -> None:
    rules = [f"{rule.name} {rule.contract} {rule.level}" for rule in standing(read(script))]
    assert [", ".join(rules) or "none"] == said


@pytest.mark.parametrize(
    "check",
    [
        "SELECT 1 FROM [sys].[conversation_priorities] WHERE [name] = 'A'",
        "select top 1 1 from sys.conversation_priorities as p with (nolock) where p.name = N'A'",
        "SELECT TOP (1) p.* FROM sys.conversation_priorities p WHERE p.[name] = N'A'",
        "SELECT name FROM D.sys.conversation_priorities WHERE (name = N'A')",
        "SELECT priority_id, name FROM [D].[sys].[conversation_priorities] c (NOLOCK) WHERE N'A' = c.name",
        "SELECT NULL FROM \"sys\".\"conversation_priorities\" WHERE name IN (N'A', N'Z')",
        "SELECT 'x' FROM sys.conversation_priorities WHERE name = N'Z' OR name = N'A'",
        "SELECT * /* all */ FROM sys.conversation_priorities -- of them / WHERE name = N'A'",
        "SELECT * FROM sys.conversation_priorities",
    ],
)
def test_spellings_of_a_check(read: Read, check: str) -> None:
    assert names(read(f"IF NOT EXISTS ({check}) CREATE_A / GO / IF NOT EXISTS ({check}) CREATE_A")) == "A"


def test_a_check_in_another_case_is_refused(read: Read) -> None:
    check = HAS_A.replace("N'A'", "N'a'")
    file = read(f"CREATE_A / IF NOT {check} {create('a')}")
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
        "EXISTS (SELECT * FROM sys.conversation_priorities WHERE name = N'A' AND priority = 5)",
        "EXISTS (SELECT COUNT(*) FROM sys.conversation_priorities WHERE name = N'A')",
        "EXISTS (SELECT TOP 0 * FROM sys.conversation_priorities WHERE name = N'A')",
        "EXISTS (SELECT * FROM dbo.conversation_priorities WHERE name = N'A')",
        "EXISTS (SELECT * FROM sys.conversation_priorities WHERE name = @name)",
        "EXISTS (SELECT * FROM sys.conversation_priorities WHERE name LIKE N'A')",
        "HAS_A AND @x = 1",
        "(" * 5000 + HAS_A + ")" * 5000,
    ],
)
def test_other_conditions_are_refused(read: Read, condition: str) -> None:
    assert refusal(read, f"IF {condition} /   DROP_A") == [f"2:3: {UNDER}"]


# --- Ways out ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "said"),
    cases("""
        IF HAS_A SET NOEXEC ON / GO / CREATE_A / GO / SET NOEXEC OFF / GO / CREATE_B              => AB
        CREATE_A / GO / IF HAS_A SET NOEXEC ON / GO / CREATE_B / GO / CREATE_C                    => A
        CREATE_A / GO / IF HAS_A SET NOEXEC ON / GO / CREATE_B / GO / SET NOEXEC OFF / CREATE_C   => AC
        CREATE_A / IF HAS_A BEGIN PRINT 1; SET PARSEONLY ON; END / GO / CREATE_B                  => A
        CREATE_A / IF HAS_A THROW 50000, 'x', 1 / CREATE_B / GO / CREATE_C                        => AC
        CREATE_A / IF HAS_A RAISERROR ('x', 20, 1) WITH LOG / GO / CREATE_B                       => A
        CREATE_A / IF HAS_A RAISERROR ('x', 19, 1) WITH LOG / GO / CREATE_B                       => AB
        CREATE_A / IF HAS_A RAISERROR (50001, 16, 127) / GO / CREATE_B                            => A
        CREATE_A / IF HAS_A GOTO done / CREATE_B / done: / PRINT 'done' / GO / CREATE_C           => AC
        THROW / CREATE_A / GO / CREATE_B                                                          => B
        RAISERROR (1, 25, 1) WITH LOG / GO / CREATE_A / GO / SET NOEXEC OFF / CREATE_B            => none
    """),
)
def test_what_stands_behind_an_end_does_not_count(read: Read, script: str, said: list[str]) -> None:
    assert [names(read(script))] == said


@pytest.mark.parametrize(
    ("ending", "word"),
    cases("""
        IF DB_NAME() <> 'D' RETURN                                                    => IF
        IF DB_NAME() <> 'D' THROW 50000, 'x', 1;                                      => IF
        IF DB_NAME() <> 'D' BEGIN / ;THROW 50000, 'x', 1 / END                        => IF
        IF DB_NAME() <> 'D' RAISERROR ('x', 20, 1) WITH LOG / GO                      => IF
        IF DB_NAME() <> 'D' RAISERROR ('x', 16, 127) / GO / PRINT 1 / GO              => IF
        IF DB_NAME() <> 'D' SET NOEXEC ON / GO / PRINT 1 / GO                         => IF
        IF N'$(Mode)' NOT LIKE N'True' SET NOEXEC ON / GO                             => IF
        BEGIN TRY IF 1 = 2 THROW 50000, 'x', 1 END TRY BEGIN CATCH PRINT 1 END CATCH  => IF
        BEGIN TRY THROW 50000, 'x', 1 END TRY BEGIN CATCH PRINT 1 END CATCH           => THROW
    """),
)
def test_an_end_that_no_rule_decides_is_told(read: Read, ending: str, word: list[str]) -> None:
    file = read(f"{ending} / CREATE_A")
    doubt = "may keep the rule 'A' from being carried out or take it back: read as if it does not"
    line = write_out(ending).count("\n") + 2
    told = [f"{line}: the {word[0]} of line 1 {doubt}"]
    assert (names(file), notes(file, NoteReason.ASSUMED)) == ("A", told)


@pytest.mark.parametrize(
    "before",
    [
        ":setvar On \"True\" / IF N'$(On)' NOT LIKE N'True' / BEGIN / PRINT N'x' / SET NOEXEC ON / END / GO",
        "IF @@ERROR <> 0 SET NOEXEC ON / GO",
        "IF @@ERROR <> 0 RETURN",
        "IF @@ERROR <> 0 THROW 50000, 'x', 1",
        "BEGIN TRY PRINT 1 END TRY BEGIN CATCH THROW END CATCH",
        "BEGIN TRY PRINT 1 END TRY BEGIN CATCH IF @x = 1 RAISERROR ('x', 20, 1) WITH LOG END CATCH",
        "IF @x = 1 SET NOEXEC ON / GO / SET NOEXEC OFF / GO",
        "IF @x = 1 RAISERROR ('x', 16, 1)",
    ],
)
def test_what_ends_no_script_is_not_told(read: Read, before: str) -> None:
    file = read(f"{before} / CREATE_A")
    assert (names(file), file.notes) == ("A", ())


@pytest.mark.parametrize(
    ("script", "rules", "lines"),
    [
        ("BEGIN TRAN / CREATE_A / IF @go = 1 COMMIT / ELSE ROLLBACK", "A", [2]),
        ("BEGIN TRAN / CREATE_A / IF @go = 1 ROLLBACK ELSE COMMIT", "A", [2]),
        ("BEGIN TRAN / CREATE_A / IF @own = 1 COMMIT", "A", []),
        ("BEGIN TRAN / CREATE_A / IF @@ERROR = 0 COMMIT ELSE ROLLBACK", "A", []),
        ("BEGIN TRAN / CREATE_A / IF HAS_A RETURN / COMMIT", "A", [2]),
        # What stands behind a way out may not be reached.
        ("CREATE_A / IF HAS_A RETURN / SET NOEXEC ON / GO / CREATE_B", "AB", [5]),
        ("RETURN / SET NOEXEC ON / GO / CREATE_A", "A", []),
    ],
)
def test_the_lines_of_rules_that_may_not_stand(read: Read, script: str, rules: str, lines: list[int]) -> None:
    file = read(script)
    told = [line.partition(": the IF of line ")[0] for line in notes(file, NoteReason.ASSUMED)]
    assert (names(file), told) == (rules, [f"{line}" for line in lines])


# --- Transactions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "said"),
    cases("""
        BEGIN TRAN CREATE_A COMMIT                                                             => A
        BEGIN TRANSACTION / GO / CREATE_A / GO / ROLLBACK / GO / CREATE_B                      => B
        BEGIN TRAN BEGIN TRAN CREATE_A COMMIT ROLLBACK CREATE_B                                => B
        BEGIN TRAN BEGIN TRAN CREATE_A COMMIT TRAN COMMIT TRAN                                 => A
        BEGIN TRAN CREATE_A SAVE TRAN s CREATE_B ROLLBACK TRAN s COMMIT                        => A
        BEGIN TRAN t CREATE_A SAVE TRAN s CREATE_B ROLLBACK TRAN t                             => none
        BEGIN TRAN CREATE_A                                                                    => none
        BEGIN TRY BEGIN TRAN CREATE_A COMMIT END TRY BEGIN CATCH IF @n > 0 ROLLBACK; THROW END CATCH    => A
        BEGIN TRAN CREATE_A / IF @@ERROR <> 0 ROLLBACK TRAN ELSE COMMIT TRAN                   => A
        BEGIN TRAN CREATE_A IF @@ERROR <> 0 GOTO Failed / COMMIT / RETURN / Failed: / ROLLBACK => A
        BEGIN TRAN CREATE_A ALTER DATABASE D SET SINGLE_USER WITH ROLLBACK IMMEDIATE COMMIT    => A
        SET IMPLICIT_TRANSACTIONS ON CREATE_A ROLLBACK CREATE_B COMMIT                         => B

        BEGIN TRANSACTION / GO / CREATE_A / GO
        IF @@ERROR <> 0 AND @@TRANCOUNT > 0 BEGIN ROLLBACK; END
        IF @@TRANCOUNT = 0 BEGIN INSERT INTO #tmpErrors (Error) VALUES (1); BEGIN TRANSACTION; END / GO
        IF EXISTS (SELECT * FROM #tmpErrors) ROLLBACK TRANSACTION / GO
        IF @@TRANCOUNT>0 BEGIN / PRINT N'done' / COMMIT TRANSACTION / END / ELSE PRINT N'failed'
        => A
    """),
)
def test_a_rolled_back_rule_does_not_count(read: Read, script: str, said: list[str]) -> None:
    """The last one is as a data-tier project publishes."""
    file = read(script)
    assert [names(file)] == said
    lost = {note.rule for note in file.notes if note.kind is NoteReason.ROLLED_BACK}
    assert lost == {name for name in "AB" if f"CREATE_{name}" in script and name not in said[0]}


# --- What is not read -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "said"),
    cases("""
        EXEC sp_executesql /  @statement = N'CREATE BROKER /   PRIORITY A FOR CONVERSATION'    => 2: STRING
        EXEC('CREATE BROKER' + CHAR(10) + / 'PRIORITY ' + @name)                => 2: STRING
        EXEC('DROP BROKER /* the */ -- old /  PRIORITY A')                      => 1: STRING
        SET @s = 'drop broker' / SET @s += ' priority ' + @name / EXEC (@s)     => 2: STRING
        EXEC("DROP BROKER PRIORITY A")                                          => 1: STRING
        IF NOT HAS_A / EXEC dbo.sp_executesql @statement = N'CREATE_A'          => 2: STRING
        PRINT 'BROKER PRIORITY A'; RAISERROR ('BROKER PRIORITY A', 0, 1)        => none
        PRINT 'x' EXEC('DROP BROKER PRIORITY A')                                => 1: STRING
        SELECT 'BROKER', 'no priority' -- DROP BROKER PRIORITY A                => none
        CREATE PROCEDURE p AS / DROP_A / EXEC('DROP_A') / GO
        => 2: BROKER PRIORITY in the body of a procedure: not read
        => 3: STRING
        ALTER TRIGGER t ON x AS / DROP_A    => 2: BROKER PRIORITY in the body of a trigger: not read
        RETURN / CREATE_A                   => 2: stands behind the RETURN of line 1: not read
        SET NOEXEC ON / GO / CREATE_A       => 3: stands behind the NOEXEC of line 1: not read
        :quit / CREATE_A                    => 2: stands behind the :quit of line 1: not read
        :connect I                          => none
        :connect SQL2
        => 1: :connect SQL2: not read, so what follows counts for the source's instance
    """),
)
def test_text_about_rules_is_told(read: Read, script: str, said: list[str]) -> None:
    file = read(script)
    others = [kind for kind in NoteReason if kind is not NoteReason.NO_RULES]
    in_string = "BROKER PRIORITY in a string: not read"
    assert (notes(file, *others) or ["none"]) == [line.replace("STRING", in_string) for line in said]
    assert file.statements == ()
    assert [note.location.line for note in file.notes if note.kind is NoteReason.NO_RULES] == [1]


@pytest.mark.parametrize(
    ("script", "said"),
    cases("""
        ALTER DATABASE E SET HONOR_BROKER_PRIORITY ON                                   => E True
        USE F ALTER DATABASE CURRENT SET TRUSTWORTHY ON, HONOR_BROKER_PRIORITY OFF      => F False
        ALTER DATABASE [E] SET HONOR_BROKER_PRIORITY = ON WITH ROLLBACK IMMEDIATE;      => E True
        ALTER DATABASE E SET TRUSTWORTHY ON SELECT HONOR_BROKER_PRIORITY, 1             => none
    """),
)
def test_honor_broker_priority(read: Read, script: str, said: list[str]) -> None:
    found = [f"{each.database} {each.is_on}" for each in read(script).honor_settings]
    assert (found or ["none"]) == said


# --- Refused, and variables of sqlcmd ---------------------------------------------------------------------

NO_DB = "has no value; write :setvar Db and the value above it, or variables: {Db: ...} in the settings"
BLANKS = "has blanks; write it in quotes, and a comment in a line of its own"


@pytest.mark.parametrize(
    ("script", "said"),
    cases("""
        CREATE_A / IF HAS_A GOTO done / CREATE_B / Done: / CREATE_C
        => 5:1: stands behind the GOTO of line 2; write it before, or without GOTO
        IF HAS_A; / DROP_A
        => 1:72: IF has no statement before this ;, so it is no T-SQL; take the ; away
        IF 1 = 1; / DROP_A                   => 2:1: UNDER

        :setvar X "a long value"
        PRINT '$(x)$(X)' DROP BROKER PRIORITY $(Db) -- $(never)
        => 2:39: the variable $(Db) NO_DB
        USE 'D' / GO / CREATE_A              => 1:5: expected a name, found 'D'
        USE $(Db) / GO / CREATE_A            => 1:5: the variable $(Db) NO_DB
        IF @x = 1 USE D / GO / CREATE_A
        => 1:11: stands under the IF of line 1, so the script alone can't say whether it is carried out;
           write it without a condition
        :setvar Db D -- which / USE [$(Db)]  => 1:1: the value of Db, D -- which, BLANKS
        :setvar Db D E / USE [$(Db)]         => 1:1: the value of Db, D E, BLANKS
        :setvar Db "D" -- which / USE [$(Db)] => 1:1: the value of Db, "D" -- which, BLANKS
    """),
)
def test_one_problem(read: Read, script: str, said: list[str]) -> None:
    """Places count in the file and not in the values; a variable in a comment has no value."""
    told = said[0].replace("UNDER", UNDER).replace("NO_DB", NO_DB).replace("BLANKS", BLANKS)
    assert refusal(read, script) == [told]


def test_a_variable_without_value_is_told_once(read: Read) -> None:
    check = "IF EXISTS (SELECT * FROM sys.conversation_priorities WHERE name = N'$(P)') DROP_A"
    [line] = refusal(
        read, f"CREATE BROKER PRIORITY [$(p)A] FOR CONVERSATION / DROP BROKER PRIORITY $(P)B; / {check}"
    )
    assert line.startswith("1:24: the variable $(p) has no value (used 3 times); ")


def test_setvar_counts_from_its_line_on(read: Read) -> None:
    first, second = create("A", "$(C)"), create("B", "$(c)")
    file = read(f":setvar C one / {first} / :setvar c \"$(C)2\" / {second} / :setvar C / PRINT '$(C)'")
    assert [(rule.name, rule.contract) for rule in standing(file)] == [("A", "one"), ("B", "one2")]


@pytest.mark.parametrize("name", ["${env}A", "#{env}A", "{{ env }}A", "$env$A", "<name, sysname, A>"])
def test_placeholders_of_other_tools_are_refused(read: Read, name: str) -> None:
    """Their signs alone belong to a name."""
    [line] = refusal(read, create(f"[{name}]", "C"))
    assert f"{name.removesuffix('A')} is a placeholder of another tool" in line
    assert names(read("CREATE BROKER PRIORITY [A$B$ #1 <x> {y}] FOR CONVERSATION")) == "A$B$ #1 <x> {y}"


# --- Size -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("/*" + "\n" * 200_000 + "*/", id="blank lines in a comment"),
        pytest.param("/*" + "\n  -- effective_from" * 10_000 + "*/", id="directives in a comment"),
        pytest.param("/*" * 40_000 + "*/" * 40_000, id="nested comments"),
        pytest.param("--\n" * 60_000, id="line comments"),
        pytest.param("PRINT '" + "a''" * 60_000 + "'", id="a long string"),
        pytest.param("\nGO" * 20_000, id="batches"),
        pytest.param("IF EXISTS (SELECT x " * 4_000, id="conditions that never end"),
        pytest.param("IF @x = 1 BEGIN BEGIN TRAN " * 4_000, id="conditions"),
        pytest.param("CASE " * 10_000, id="expressions"),
        pytest.param("EXEC('" + "BROKER /*" * 20_000 + "')", id="comments that never end"),
        pytest.param("IF HAS_A SET NOEXEC ON / GO / DROP_A / GO / " * 800, id="conditional ends"),
    ],
)
def test_time_is_in_proportion_to_the_length(read: Read, script: str) -> None:
    begin = time.process_time()
    with suppress(ConfigError):
        read(script)
    assert time.process_time() - begin < 2  # some 0.1 s; what is quadratic takes 5 s and more

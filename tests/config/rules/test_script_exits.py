"""Scripts that end before their last line: by THROW, RAISERROR, SET NOEXEC or GOTO, or in one branch."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.config.rules.history import apply_statements
from pipelines.config.rules.statements import NoteReason, RuleFile
from tests.support.cases import lines_of_error
from tests.support.rule_scripts import HAS_A, create

Read = Callable[[str], RuleFile]
A, B, C = create("A"), create("B"), create("C")


def names(file: RuleFile) -> str:
    folded = apply_statements(file.statements)
    folded.require_accepted()
    return "".join(each.name for each in folded.versions)


def noted(file: RuleFile, kind: NoteReason) -> list[tuple[int, str]]:
    return [(note.location.line, note.message) for note in file.notes if note.kind is kind]


@pytest.mark.parametrize(
    ("script", "rules"),
    [
        pytest.param(f"IF {HAS_A} SET NOEXEC ON\nGO\n{A}\nGO\nSET NOEXEC OFF\nGO\n{B}", "AB", id="not there"),
        pytest.param(f"{A}\nGO\nIF {HAS_A} SET NOEXEC ON\nGO\n{B}\nGO\n{C}", "A", id="for all batches"),
        pytest.param(f"{A}\nGO\nIF {HAS_A} SET NOEXEC ON\nGO\n{B}\nGO\nSET NOEXEC OFF\n{C}", "AC", id="off"),
        pytest.param(f"{A}\nIF {HAS_A} BEGIN PRINT 1; SET PARSEONLY ON; END\nGO\n{B}", "A", id="in a block"),
        pytest.param(f"{A}\nIF {HAS_A} THROW 50000, 'x', 1\n{B}\nGO\n{C}", "AC", id="throw ends the batch"),
        pytest.param(f"{A}\nIF {HAS_A} RAISERROR ('x', 20, 1) WITH LOG\nGO\n{B}", "A", id="session closed"),
        pytest.param(f"{A}\nIF {HAS_A} RAISERROR ('x', 19, 1) WITH LOG\nGO\n{B}", "AB", id="an error only"),
        pytest.param(f"{A}\nIF {HAS_A} RAISERROR (50001, 16, 127)\nGO\n{B}", "A", id="state 127"),
        pytest.param(f"{A}\nIF {HAS_A} GOTO done\n{B}\ndone:\nPRINT 'done'\nGO\n{C}", "AC", id="label"),
        pytest.param(f"THROW\n{A}\nGO\n{B}", "B", id="throw"),
        pytest.param(f"RAISERROR (1, 25, 1) WITH LOG\nGO\n{A}\nGO\nSET NOEXEC OFF\n{B}", "", id="closed"),
    ],
)  # fmt: skip
def test_what_stands_behind_an_end_does_not_count(read: Read, script: str, rules: str) -> None:
    assert names(read(script)) == rules


@pytest.mark.parametrize(
    ("ending", "word"),
    [
        ("IF DB_NAME() <> 'D' RETURN", "IF"),
        ("IF DB_NAME() <> 'D' THROW 50000, 'x', 1;", "IF"),
        ("IF DB_NAME() <> 'D' BEGIN\n;THROW 50000, 'x', 1\nEND", "IF"),
        ("IF DB_NAME() <> 'D' RAISERROR ('x', 20, 1) WITH LOG\nGO", "IF"),
        ("IF DB_NAME() <> 'D' RAISERROR ('x', 16, 127)\nGO\nPRINT 1\nGO", "IF"),
        ("IF DB_NAME() <> 'D' SET NOEXEC ON\nGO\nPRINT 1\nGO", "IF"),
        ("IF N'$(Mode)' NOT LIKE N'True' SET NOEXEC ON\nGO", "IF"),
        ("BEGIN TRY IF DB_NAME() <> 'D' THROW 50000, 'x', 1 END TRY BEGIN CATCH PRINT 1 END CATCH", "IF"),
        ("BEGIN TRY THROW 50000, 'x', 1 END TRY BEGIN CATCH PRINT 1 END CATCH", "THROW"),
    ],
)
def test_an_end_that_no_rule_decides_is_told(read: Read, ending: str, word: str) -> None:
    file = read(f"{ending}\n{A}")
    assert names(file) == "A"
    [(_, message)] = noted(file, NoteReason.ASSUMED)
    doubt = "may keep the rule 'A' from being carried out or take it back: read as if it does not"
    assert message == f"the {word} of line 1 {doubt}"


@pytest.mark.parametrize(
    "before",
    [
        ":setvar On \"True\"\nIF N'$(On)' NOT LIKE N'True'\nBEGIN\nPRINT N'x'\nSET NOEXEC ON\nEND\nGO",
        "IF @@ERROR <> 0 SET NOEXEC ON\nGO",
        "IF @@ERROR <> 0 RETURN",
        "IF @@ERROR <> 0 THROW 50000, 'x', 1",
        "BEGIN TRY PRINT 1 END TRY BEGIN CATCH THROW END CATCH",
        "BEGIN TRY PRINT 1 END TRY BEGIN CATCH IF @x = 1 RAISERROR ('x', 20, 1) WITH LOG END CATCH",
        "IF @x = 1 SET NOEXEC ON\nGO\nSET NOEXEC OFF\nGO",
        "IF @x = 1 RAISERROR ('x', 16, 1)",
    ],
)
def test_what_ends_no_script_is_not_told(read: Read, before: str) -> None:
    file = read(f"{before}\n{A}")
    assert (names(file), file.notes) == ("A", ())


def test_a_rule_behind_the_label_of_a_goto_is_refused(read: Read, tmp_path: Path) -> None:
    script = f"{A}\nIF {HAS_A} GOTO done\n{B}\nDone:\n{C}"
    assert lines_of_error(tmp_path, read, script) == [
        "r.sql:5:1: stands behind the GOTO of line 2; write it before, or without GOTO"
    ]


@pytest.mark.parametrize(
    ("script", "rules", "lines"),
    [
        (f"BEGIN TRAN\n{A}\nIF @go = 1 COMMIT\nELSE ROLLBACK", "A", [2]),
        (f"BEGIN TRAN\n{A}\nIF @own = 1 COMMIT", "A", []),
        (f"BEGIN TRAN\n{A}\nIF @@ERROR = 0 COMMIT ELSE ROLLBACK", "A", []),
        (f"BEGIN TRAN\n{A}\nIF {HAS_A} RETURN\nCOMMIT", "A", [2]),
        # What stands behind a way out may not be reached.
        (f"{A}\nIF {HAS_A} RETURN\nSET NOEXEC ON\nGO\n{B}", "AB", [5]),
        (f"RETURN\nSET NOEXEC ON\nGO\n{A}", "A", []),
    ],
)
def test_the_lines_of_rules_that_may_not_stand(read: Read, script: str, rules: str, lines: list[int]) -> None:
    file = read(script)
    told = noted(file, NoteReason.ASSUMED)
    assert (names(file), [line for line, _ in told]) == (rules, lines)
    assert all(message.startswith("the IF of line ") for _, message in told)

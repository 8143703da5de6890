"""The capture script taken apart: its code without comments, and the statements that it builds."""

import re

from pipelines.capture.script import capture_script

SCRIPT = capture_script()
_LITERAL = re.compile(r"N?'((?:[^']|'')*)'", re.DOTALL)
_PART = re.compile(r"\s*(?:N?'((?:[^']|'')*)'|(@\w+))\s*(\+|;|$)", re.DOTALL)
_ROW = re.compile(r"\((\d), ('\w+'),\s*(N'(?:[^']|'')*'),\s*(N'(?:[^']|'')*')\)", re.DOTALL)


def without_comments(script: str = SCRIPT) -> str:
    """The script without its comments; `--` in a literal stays."""
    tokens = re.findall(r"--[^\n]*|'(?:[^']|'')*'|[^'-]+|-", script)
    assert "".join(tokens) == script
    return "".join(token for token in tokens if not token.startswith("--"))


def views() -> dict[str, tuple[int, str, str]]:
    """Phase, select list and from clause of each view, as the script has them in #capture_views."""
    start = CODE.index("INSERT INTO #capture_views")
    rows = _ROW.findall(CODE[start : CODE.index("INSERT INTO #capture_work")])
    return {_text(view): (int(phase), _text(columns), _text(source)) for phase, view, columns, source in rows}


def statement_of(view: str) -> str:
    """The statement that reads a view, put together as the script does."""
    queue = "[dbo].[TargetQueue]"
    _, select_list, from_clause = views()[view]
    is_queue = view == "queue"
    counted = {"queue": "other_statuses", "conversation_endpoints": "system_rows"}.get(view)
    variables = {
        "@more": _value(f"SET @more = N'SET @{counted}", {"@place": queue}) if counted else "",
        "@ascii": _value("DECLARE @ascii nvarchar(max) = "),
        "@top": "TOP (@most) " if is_queue else "",
        "@keys": "@schema AS [schema], @queue AS [queue], " if is_queue else "",
        "@select_list": select_list,
        "@from_clause": (queue if is_queue else "") + from_clause,
    }
    return _value("SET @statement = ", variables)


def add_statement() -> str:
    """The statement that adds a line."""
    return _value("DECLARE @add nvarchar(max) = ", {"@ascii": _value("DECLARE @ascii nvarchar(max) = ")})


def database_statement() -> str:
    """The statement that looks at a database before its views are read."""
    literal = _LITERAL.match(CODE, CODE.index("EXEC @run N'") + len("EXEC @run "))
    assert literal is not None
    return _text(literal[0])


def _value(assignment: str, variables: dict[str, str] | None = None) -> str:
    """The value of an expression of literals and variables, joined by +, behind an assignment's sign."""
    assert CODE.count(assignment) == 1, assignment
    position, text = CODE.index("= ", CODE.index(assignment)) + len("= "), ""
    while part := _PART.match(CODE, position):
        text += part[1].replace("''", "'") if part[2] is None else (variables or {})[part[2]]
        position = part.end()
        if part[3] != "+":
            return text
    raise AssertionError(f"{assignment}: no literal or variable at {CODE[position : position + 40]!r}")


def _text(literal: str) -> str:
    return literal.removeprefix("N")[1:-1].replace("''", "'")


CODE = without_comments()

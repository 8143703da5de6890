"""Values of views that text or types give; and text that no view has, such as a date in local form."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from pipelines.server.snapshots.declaration import ValueType, ViewColumn
from pipelines.text.rows import TextRow

LOCAL_TIME = re.compile(
    r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b|\d{1,2}[ .-]+[^\W\d]{3,}\.?[ .,-]+\d{2,4}\b"
    r"|[^\W\d]{3,}\.? +\d{1,2},? +\d{4}\b|\d{4}[/.]\d{1,2}[/.]\d{1,2}\b"
    r"|\d{4}-\d\d-\d\d[ T][\d:.]+(?:,\d| *[AaPp][Mm]\b)"
)
"""`11/20/2026 8:00:00 AM`, `20.11.2026 08:00`, `20 nov. 2026`, `Nov 20 2026  8:00AM`, `2026/11/20`,
`2026-11-20 08:00:00,000`."""
OF_SPREADSHEET = {
    "time": re.compile(r"\d{1,2}:\d\d(?:[.,]\d+)?|\d{5}(?:[.,]\d+)?"),
    "int": re.compile(r"[+-]?\d+(?:[.,]\d+)?E[+-]?\d+", re.IGNORECASE),
}
"""What a spreadsheet makes of times (`00:00.0`, `46346.33`) and of long numbers (`1.23E+15`)."""
TRUE, FALSE = ("1", "t", "true", "y", "yes"), ("0", "f", "false", "n", "no")
"""Words for bits."""
ISO = "CONVERT(varchar(27), column, 121) in the query"


def value_of(value: Any, kind: ValueType) -> Any:
    """A value of its kind; None if it is none."""
    if value is None or kind in ("guid", "text", "code"):
        return value
    text = str(value).strip().lower()
    if kind == "bit":
        return True if text in TRUE else False if text in FALSE else None
    if kind == "int":
        return int(text.removesuffix(".0")) if re.fullmatch(r"[+-]?[0-9]{1,18}(?:\.0)?", text) else None
    return value if isinstance(value, date | datetime) else None


def foreign_value(
    rows: Iterable[TextRow], columns: Sequence[ViewColumn], places: Mapping[str, int]
) -> str | None:
    """The first value that a tool has written in local form, with its line and what to do; None without any.

    Args:
        rows: rows of a file.
        columns: the view's.
        places: where in a row the columns stand, by the view's names.
    """
    looked_at = [
        (places[column.name], column)
        for column in columns
        if column.name in places and column.kind in OF_SPREADSHEET
    ]
    for row in rows:
        fields = row.fields or []
        for place, column in looked_at:
            text = fields[place][0].strip() if place < len(fields) else ""
            if column.kind == "time" and LOCAL_TIME.match(text):
                return (
                    f"line {row.line}: {column.name} is {text!r}, a time in local form; write it as "
                    f"2026-11-20 08:00:00.000 ({ISO})"
                )
            if OF_SPREADSHEET[column.kind].fullmatch(text):
                return (
                    f"line {row.line}: {column.name} is {text!r}, which a spreadsheet has made of it; export "
                    "the view again, and do not save the file in a spreadsheet"
                )
    return None

"""What an input lacks of its contract, said all at once."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from pipelines.config.errors import InputError, one_line
from pipelines.config.nearest import nearest
from schemas import EventContract
from schemas.events import table_of

WIDENED = {"bigint": ("tinyint", "smallint", "int"), "int": ("tinyint", "smallint")}
"""Types of a file that hold in a declared type without loss."""
NOT_THERE = "of the mapping is not there"
"""The words about a column that a mapping names and a file lacks."""
WITHOUT_VALUES = ("null", "void")
"""What Parquet and Spark call the type of a column that has nulls only."""
TAKEN = re.compile(
    r"(?:string|boolean|tinyint|smallint|int|bigint|float|double|decimal\(.*|binary|date|timestamp|timestamp_ntz"
    r"|null|void)"
)
"""Types of columns that a mapping takes."""


def differences(contract: EventContract, found: Mapping[str, str]) -> list[str]:
    """Compare a typed source's columns with the contract.

    Args:
        contract: the input's contract.
        found: the source's types as Spark calls them, by column.
    """
    if contract.is_mapped:
        names = [name for name in dict.fromkeys(contract.called.values()) if name in found]
        return [said for said, _ in lacking_columns(contract, found)] + [
            f"column {name} is {found[name]}, {_how_to_write(found[name])}"
            for name in names
            if not TAKEN.fullmatch(found[name])
        ]
    problems = []
    for column in contract.columns:
        actual = found.get(column.name)
        if actual is None:
            problems.append(f"column {column.name} is missing; it must be {column.type}")
        elif actual in WITHOUT_VALUES:
            problems.append(
                f"column {column.name} has the type null, for it has no values; it must be {column.type}: "
                "write it with that type"
            )
        elif actual != column.type and actual not in WIDENED.get(column.type, ()):
            problems.append(f"column {column.name} is {actual}; it must be {column.type}")
    return problems


def _how_to_write(type: str) -> str:
    if type.startswith("timestamp[ns"):
        return "which no engine reads; write it as timestamp[us]"
    return "which a mapping can't take; write it as text"


def lacking_columns(contract: EventContract, there: Iterable[str]) -> list[tuple[str, str]]:
    """Say which columns that its mapping names a file lacks, each with the column."""
    known = list(there)
    return [
        (lacking_column(name, known), name)
        for name in dict.fromkeys(contract.called.values())
        if name not in known
    ]


def lacking_column(name: str, there: Iterable[str]) -> str:
    """Say that a file lacks a column that its mapping names."""
    close = nearest(name, there)
    return f"column {name} {NOT_THERE}" + (f"; did you mean {close!r}?" if close else "")


def contract_problems(contract: EventContract, problems: Sequence[str]) -> str:
    """Name the input and list its problems, one a line; nothing where there are none."""
    if not problems:
        return ""
    if any(NOT_THERE in each for each in problems):
        said = f"lacks what its mapping names; correct inputs.{table_of(contract.source)}:"
    elif contract.is_mapped:
        said = "has files that can't be read; write these again:"
    else:
        said = "breaks its contract; write these again:"
    return "\n".join([f"{contract.source} {said}", *(f"  {one_line(each)}" for each in problems)])


def raise_together(problems: Iterable[str]) -> None:
    """Raise the problems of several inputs as one error.

    Raises:
        InputError: any of them says something.
    """
    InputError.raise_any(line for problem in problems if problem for line in problem.split("\n"))


def problems_of_each(paths: Sequence[str], problems: Callable[[str], list[str]]) -> list[str]:
    """Ask for the problems of every file, several at a time, and give them in the order of the files."""
    with ThreadPoolExecutor(8) as pool:
        return [problem for found in pool.map(problems, paths) for problem in found]


def first_line(error: Exception) -> str:
    """The error's first line: what follows is of no use to who reads the message."""
    return str(error).strip().partition("\n")[0]

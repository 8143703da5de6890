"""The errors a run may end with, one exit code a kind.

A message says what is wrong, where (file, line, column or field) and what to do: one line, or one line
a problem where several were found at once.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

Given = TypeVar("Given")
Read = TypeVar("Read")
LINE_ENDS = str.maketrans({"\n": "\\u000a", "\r": "\\u000d"})

NOT_MET = 6
"""Exit code: published, but a condition that the user sets is not met."""


def one_line(text: str) -> str:
    """The text with its line ends written out: they are those of a name."""
    return text.translate(LINE_ENDS)


class PipelineError(Exception):
    """Anything that ends a run on purpose; its text is meant for people, without a traceback.

    A problem is one line: a line end in it is that of a name, and is written out. Several problems are
    several arguments.
    """

    exit_code = 1

    def __init__(self, *problems: str) -> None:
        """Take the problems, each a line of the message."""
        self.problems = tuple(map(one_line, problems))
        super().__init__("\n".join(self.problems))

    @classmethod
    def raise_any(cls, problems: Iterable[str]) -> None:
        """Raise the problems as one error, if there is any."""
        if found := [*problems]:
            raise cls(*found)


class ConfigError(PipelineError):
    """The command line, the settings, the catalog or the rules are wrong.

    It is raised before an engine starts, but where the tables show what is wrong: an as_of before all data, a
    name that no table has.
    """

    exit_code = 2


def read_each(read: Callable[[Given], Read], given: Iterable[Given]) -> list[Read]:
    """Read each of several.

    Raises:
        ConfigError: some are wrong; the problems of all come together.
    """
    found, problems = [], list[str]()
    for each in given:
        try:
            found.append(read(each))
        except ConfigError as error:
            problems += error.problems
    ConfigError.raise_any(problems)
    return found


class UnpublishedError(PipelineError):
    """An as_of was not published, or its rows were removed since."""


class InputError(PipelineError):
    """An input breaks its contract, or too many of its events were rejected."""

    exit_code = 3


class SeveralInputError(InputError):
    """Several of them, found at once: each line is an error of its own."""

    def __str__(self) -> str:
        """Return the lines, `error: ` between them; the command writes it before the first."""
        return "\nerror: ".join(self.problems)


class CopyError(SeveralInputError):
    """Databases hold the same conversations; nothing was written. One line a pair of them."""


class BusyError(PipelineError):
    """Another job is writing the warehouse; nothing was read or written."""

    exit_code = 5


REBUILD = "rebuild the warehouse (docs/operations.md, Rebuild a warehouse)"
"""What is left to do where nothing can be put back."""


class WarehouseError(PipelineError):
    """The tables of a warehouse don't fit together; nothing was written."""


def foreign_value(table: str, column: str, error: Exception) -> WarehouseError:
    """Of a table of a warehouse, by its path: a column has a text that no run wrote."""
    return WarehouseError(
        f"warehouse: {table}: column {column} has a text that no run wrote ({error}): the table is damaged. "
        f"Put it back as it was, or {REBUILD}"
    )


class OutputError(PipelineError):
    """Standard output, or a file that the user named, can't be written."""


class ServerError(PipelineError):
    """A SQL Server can't be reached, refuses a statement, or gives no whole answer; nothing was written."""


class EngineError(PipelineError):
    """The engine did not start."""


class ReconciliationError(PipelineError):
    """The sums of a run do not add up; nothing of it may be published."""


def place_behind(text: str) -> str:
    """Where the next character after a text stands, by line and column from 1: `2:25`."""
    return f"{text.count(chr(10)) + 1}:{len(text) - text.rfind(chr(10))}"

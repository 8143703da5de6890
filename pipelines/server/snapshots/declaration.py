"""What a declared view is: its columns, their types on the server, and who reads them."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

ValueType: TypeAlias = Literal["guid", "text", "code", "bit", "int", "time"]
"""guid is compared in upper case, code has blanks behind it that don't count."""


@dataclass(frozen=True)
class ServerType:
    """A type of columns on the server.

    Attributes:
        kind: what the values are.
        sql: T-SQL of a value `{}`, as the capture script writes it.
        length: the most UTF-16 code units of a text; 0 of other values.
    """

    kind: ValueType
    sql: str = "{}"
    length: int = 0


GUID = ServerType("guid", "CONVERT(char(36), {})", 36)
BIT = ServerType("bit")
FLAG = ServerType("bit", "CONVERT(int, {})")
"""A tinyint that is 1 or 0."""
INT = ServerType("int")
"""int or bigint."""
SMALL_INT = ServerType("int", "CONVERT(int, {})")
"""tinyint or smallint, which the documentation of FOR JSON does not list."""
TIME = ServerType("time", "CONVERT(varchar(27), {}, 126) + 'Z'")
LOCAL_TIME = ServerType("time", "CONVERT(varchar(27), {}, 126)")
"""A time whose zone is not documented: the script writes none."""
CODE = ServerType("code", "RTRIM({})", 2)


def text(length: int) -> ServerType:
    """The type nvarchar(length)."""
    return ServerType("text", length=length)


NAME = text(128)
"""The type sysname."""


@dataclass(frozen=True)
class ViewColumn:
    """A column of a view.

    Attributes:
        name: as the server names it; case does not count.
        type: what its values are.
        nullable: whether a row may lack a value.
        may_lack: whether the view may lack the column; all its values are null then.
        also: other names that it may have in files.
        instead: the column that says the same by name, where the view lacks this one.
        names: the view in which these ids have names.
        event: the column of the view's events that has the value, if it has another name than this one.
        of_endpoint: whether it says of a message's endpoint what a view of endpoints says, too.
        sql: T-SQL for the column of the capture, where it is not the view's own one.
        is_selected: whether the capture script reads it.
        in_captures: whether the reader of captures takes it, where a capture has it.
        in_files: whether the readers of files take it.
    """

    name: str
    type: ServerType
    nullable: bool = False
    may_lack: bool = False
    also: tuple[str, ...] = ()
    instead: str | None = None
    names: str | None = None
    event: str | None = None
    of_endpoint: bool = False
    sql: str | None = None
    is_selected: bool = True
    in_captures: bool = True
    in_files: bool = True

    @property
    def kind(self) -> ValueType:
        """What its values are."""
        return self.type.kind


@dataclass(frozen=True)
class View:
    """A view, or all queues.

    Attributes:
        name: as the server names it.
        columns: in the order in which the capture script selects them.
        id: the column of ids whose names the view has; empty for a view that has no names.
        events: the input whose events the rows become; empty for a view without facts. The events take the
            columns that they have, too.
        is_large: whether it may have millions of rows; those of other views are also read without an engine.
        is_catalog: whether it says what catalog and rules are.
    """

    name: str
    columns: tuple[ViewColumn, ...]
    id: str = ""
    events: str = ""
    is_large: bool = False
    is_catalog: bool = False

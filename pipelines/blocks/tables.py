"""Declare a table of an answer once, for console and page."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from pipelines.config.instants import parse_instant

Row = Mapping[str, Any]
Kind = Literal[
    "name", "place", "word", "text", "lines", "id", "level", "count", "share", "duration", "moment"
]
"""What a column has: `place` is a tuple of names, the widest first; `word` is a code of the tables, written
as words; `lines` is a tuple of texts; `share` is of 1; `duration` is in seconds."""
PLACE = ("instance", "database", "queue")


@dataclass(frozen=True)
class AtLeast:
    """A duration that had not ended when it was measured, in seconds."""

    seconds: float


@dataclass(frozen=True)
class Id:
    """An id in a column that has ids of several kinds: it is unique among those of its kind."""

    kind: str
    text: str

    def __str__(self) -> str:
        """The id as it is."""
        return self.text


def is_never(_: Row) -> bool:
    """Whether something holds for a row: for none."""
    return False


def has_no_remark(_: Row) -> str | None:
    """Return the remark on a value: there is none."""
    return None


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        head: its title.
        kind: how its values are written.
        value: the value of a row; null is an empty cell. A duration may be `AtLeast`, an id `Id`.
        keys: the columns of the rows that it reads.
        is_flagged: whether the value of a row asks for attention.
        remark: what stands behind the value of a row, in small print on the page.
        is_detail: whether only the page has room for it.
    """

    head: str
    kind: Kind
    value: Callable[[Row], Any]
    keys: Sequence[str] = ()
    is_flagged: Callable[[Row], bool] = is_never
    remark: Callable[[Row], str | None] = has_no_remark
    is_detail: bool = False


@dataclass(frozen=True)
class Table:
    """A table of an answer.

    Attributes:
        name: its name in the page; with underscores, the name of its rows there.
        title: its title.
        columns: its columns, in order.
        first: which rows are shown if there are more: "worst".
        empty: what follows the title where there are no rows.
        note: a sentence about its rows.
        is_tree: whether its rows are of several kinds, so that an empty cell says nothing.
        is_last: whether a line follows a row on the console.
    """

    name: str
    title: str
    columns: Sequence[Column]
    first: str = "first"
    empty: str = "none."
    note: str = ""
    is_tree: bool = False
    is_last: Callable[[Row], bool] = is_never

    def with_title(self, title: str) -> "Table":
        """Return the same table with another title."""
        return replace(self, title=title)

    @property
    def keys(self) -> list[str]:
        """The columns that its rows need."""
        return list(dict.fromkeys(key for each in self.columns for key in each.keys))

    def columns_of(self, rows: Iterable[Row]) -> list[Column]:
        """Return the columns for the console: no details, and a value in one of the rows."""
        shown = list(rows)
        return [
            each
            for each in self.columns
            if not each.is_detail and any(each.value(row) is not None for row in shown)
        ]


def column(head: str, kind: Kind, key: str, *, is_detail: bool = False) -> Column:
    """Make a column of one value of the rows."""
    return Column(head, kind, lambda row: row[key], (key,), is_detail=is_detail)


def second_column(head: str, key: str) -> Column:
    """Make a column of moments without fractions; the page has moments as text, and cuts them itself."""

    def value(row: Row) -> Any:
        moment = row[key]
        return moment.replace(microsecond=0) if isinstance(moment, datetime) else moment

    return Column(head, "moment", value, (key,))


def place_column(head: str, keys: Sequence[str] = PLACE) -> Column:
    """Make a column of a name with what it belongs to."""
    return Column(head, "place", lambda row: tuple(row[key] for key in keys), keys)


def age_column(head: str, key: str, as_of: datetime) -> Column:
    """Make a column of the time from a moment to as_of; the page has moments as text."""

    def value(row: Row) -> float | None:
        moment = row[key]
        if moment is None:
            return None
        since = parse_instant(moment) if isinstance(moment, str) else moment
        return round(float((as_of - since).total_seconds()), 3)

    return Column(head, "duration", value, (key,))


KIND_COLUMNS = (
    column("Contract", "name", "contract"),
    column("Local service", "name", "local_service"),
    column("Remote service", "name", "remote_service"),
)
"""The names of the endpoint that holds a message, or of a kind of endpoints."""
DATABASE = place_column("Database", ("instance", "database"))
FACT_COLUMNS = (
    DATABASE,
    column("Kind", "word", "kind"),
    column("Name", "name", "name"),
    column("Attribute", "word", "attribute"),
)
"""What a fact of the catalog is about."""

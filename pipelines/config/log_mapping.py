"""The mappings of logs that servers write: files of data in the package, for events of several tables."""

from functools import cache
from importlib import resources
from typing import Literal, get_args

from pydantic import Field

from pipelines.config.mapping import Condition, MappedColumns, Translations
from pipelines.config.shape import Shape, check
from pipelines.config.yaml_file import load_yaml

LogName = Literal["sql-trace"]
"""The built-in mappings of sources under `inputs.logs`."""
BUILT_IN: tuple[str, ...] = get_args(LogName)
LogTable = Literal["endpoint_events", "message_events", "queue_events"]
MADE = "@"
"""What the names of columns begin with that a file does not have: they are made of its ids."""
INSTANCE, DATABASE, QUEUE = "@instance", "@database", "@queue"


class LogIds(Shape):
    """The columns of a log that say where something happened.

    Attributes:
        instance: the server's name; the source's `instance` stands for an empty one.
        database: the server's number of the database.
        database_name: its name, which goes before the number.
        queue: the number of a queue as an object of its database.
    """

    instance: str | None = None
    database: str | None = None
    database_name: str | None = None
    queue: str | None = None


class LogRows(Shape):
    """Which rows become events of a table, and how their columns map to those of the contract.

    A column that the contract does not have is kept beside the event while it is read.
    """

    table: LogTable
    where: tuple[Condition, ...] = ()
    columns: MappedColumns


class LogMapping(Shape):
    """How the rows of a log become events.

    Attributes:
        times: whether its times are UTC, or those of the server's clock.
        needed: the columns without which a file says nothing; others are null where a file lacks them.
        also: what files call columns, too.
        texts: what the texts of a column stand for, whatever their case.
        ids: the columns that say where.
        class_of: the columns by which rows are counted that lack something.
        counted: rows that are counted, and are no events, by name.
        rows: which rows become events; they are tried for each table.
    """

    times: Literal["utc", "local"]
    needed: tuple[str, ...]
    also: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    texts: dict[str, Translations] = Field(default_factory=dict)
    ids: LogIds
    class_of: tuple[str, ...]
    counted: dict[str, tuple[Condition, ...]] = Field(default_factory=dict)
    rows: tuple[LogRows, ...]

    @property
    def read(self) -> tuple[str, ...]:
        """The columns of a file that are read, by their own names."""
        of_rows = [
            name
            for part in self.rows
            for name in (
                *(column.from_ for column in part.columns.values()),
                *(condition.from_ for condition in part.where),
            )
        ]
        of_counted = [condition.from_ for several in self.counted.values() for condition in several]
        of_ids = list(self.ids.model_dump().values())
        named = [*self.needed, *self.class_of, *of_ids, *of_rows, *of_counted]
        return tuple(dict.fromkeys(name for name in named if name and not name.startswith(MADE)))


def mapping_path(name: str) -> str:
    """The file of a built-in mapping."""
    return str(resources.files("pipelines.config") / "mappings" / f"{name}.yaml")


@cache
def built_in(name: str) -> LogMapping:
    """A built-in mapping of a log."""
    file = load_yaml(mapping_path(name))
    return check(LogMapping, file)

"""The mappings of logs that servers write: files of data in the package, for events of several tables."""

from functools import cache
from importlib import resources
from typing import Literal, get_args

from pydantic import Field

from pipelines.config.mapping import Condition, MappedColumns, Translations
from pipelines.config.shape import Shape, check
from pipelines.config.yaml_file import load_yaml

LogName = Literal["sql-trace", "xe-flat", "xe-xml"]
"""The built-in mappings of sources under `inputs.logs`."""
BUILT_IN: tuple[str, ...] = get_args(LogName)
LogTable = Literal["endpoint_events", "message_events", "queue_events", "sends"]
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
        are_needed: whether numbers without names are refused at once; else their rows lack a name.
    """

    instance: str | None = None
    database: str | None = None
    database_name: str | None = None
    queue: str | None = None
    are_needed: bool = True


class LogRows(Shape):
    """Which rows become events of a table, and how their columns map to those of the contract.

    A column that the contract does not have is kept beside the event while it is read.
    """

    table: LogTable
    where: tuple[Condition, ...] = ()
    columns: MappedColumns


class LogTransactions(Shape):
    """The rows that say how transactions ended; the kept column `transaction` of other rows names them.

    Attributes:
        id: the column with the transaction.
        sequence: the column with the order of rows.
        committed: the rows of those that were committed.
        rolled_back: the rows of those that were rolled back.
    """

    id: str
    sequence: str
    committed: tuple[Condition, ...]
    rolled_back: tuple[Condition, ...]


class LogSequences(Shape):
    """The rows that take numbers: each the next one of its endpoint, of what that sends or of what it gets.

    Attributes:
        conversation: the column with the conversation.
        role: the column with the side of the endpoint: initiator or target.
        begun: the rows of endpoints that begin, whose first number is 0.
        sent: the rows of messages that the endpoint sends, its ends among them.
        arrived: the rows of messages that it gets.
    """

    conversation: str
    role: str
    begun: tuple[Condition, ...]
    sent: tuple[Condition, ...]
    arrived: tuple[Condition, ...]


class LogMapping(Shape):
    """How the rows of a log become events.

    Attributes:
        time: the column with the time of a row.
        times: whether its times are UTC, or those of the server's clock.
        needed: the columns without which a file says nothing; others are null where a file lacks them.
        also: what files call columns, too.
        texts: what the texts of a column stand for, whatever their case.
        ids: the columns that say where.
        class_of: the columns by which rows are counted that lack something.
        counted: rows that are counted, and are no events, by name.
        transactions: which rows say how transactions ended; null if none does.
        sequences: which rows take numbers, in the order of `transactions.sequence`; null if none does.
        rows: which rows become events, or rows of `sends`.
        xml: the column of a file with the XML of a row, which has all others; None where the file has them.
    """

    time: str
    times: Literal["utc", "local"]
    needed: tuple[str, ...]
    also: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    texts: dict[str, Translations] = Field(default_factory=dict)
    ids: LogIds
    class_of: tuple[str, ...]
    counted: dict[str, tuple[Condition, ...]] = Field(default_factory=dict)
    transactions: LogTransactions | None = None
    sequences: LogSequences | None = None
    rows: tuple[LogRows, ...]
    xml: str | None = None

    @property
    def known(self) -> list[tuple[Condition, ...]]:
        """The conditions of rows that are known, each several that hold together."""
        ends = self.transactions
        of_ends = [] if ends is None else [ends.committed, ends.rolled_back]
        return [*(part.where for part in self.rows), *self.counted.values(), *of_ends]

    @property
    def numbers(self) -> frozenset[str]:
        """The columns with ids, classes and places in the log: whole numbers, or texts for them."""
        ends = self.transactions
        of_ends = () if ends is None else (ends.id, ends.sequence)
        named = (*self.class_of, self.ids.database, self.ids.queue, *of_ends)
        return frozenset(name for name in named if name is not None)

    @property
    def in_file(self) -> tuple[str, ...]:
        """The columns that a file has, by their own names."""
        return self.read if self.xml is None else (self.xml,)

    @property
    def read(self) -> tuple[str, ...]:
        """The columns of rows that are read, by their own names."""
        of_rows = [
            name
            for part in self.rows
            for name in (
                *(column.from_ for column in part.columns.values()),
                *(condition.from_ for condition in part.where),
            )
        ]
        conditions = [*self.counted.values()]
        of_ends = []
        if self.transactions is not None:
            of_ends = [self.transactions.id, self.transactions.sequence]
            conditions += [self.transactions.committed, self.transactions.rolled_back]
        if self.sequences is not None:
            of_ends += [self.sequences.conversation, self.sequences.role]
            conditions += [self.sequences.begun, self.sequences.sent, self.sequences.arrived]
        of_counted = [condition.from_ for several in conditions for condition in several]
        of_ids = list(self.ids.model_dump(exclude={"are_needed"}).values())
        named = [self.time, *self.needed, *self.class_of, *of_ids, *of_rows, *of_counted, *of_ends]
        return tuple(dict.fromkeys(name for name in named if name and not name.startswith(MADE)))


class LogOfXml(Shape):
    """A mapping of rows that are XML.

    Attributes:
        base: the mapping of what the XML has.
        xml: the column with the XML.
        also: what files call it, too.
    """

    base: str
    xml: str
    also: dict[str, tuple[str, ...]] = Field(default_factory=dict)


def mapping_path(name: str) -> str:
    """The file of a built-in mapping."""
    return str(resources.files("pipelines.config") / "mappings" / f"{name}.yaml")


@cache
def built_in(name: str) -> LogMapping:
    """A built-in mapping of a log."""
    file = load_yaml(mapping_path(name))
    if not (isinstance(file.data, dict) and "base" in file.data):
        return check(LogMapping, file)
    of_xml = check(LogOfXml, file)
    changed = {"xml": of_xml.xml, "needed": (of_xml.xml,), "also": of_xml.also}
    return built_in(of_xml.base).model_copy(update=changed)

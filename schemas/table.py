"""What a table is: one declaration that reader, writer, DDL, docs and tests derive from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

# The columns are known without an engine.
if TYPE_CHECKING:
    from pyspark.sql import types as T


@dataclass(frozen=True)
class Column:
    """One column: its name, its Spark type as DDL, whether it may be null, and what it means."""

    name: str
    type: str
    comment: str
    nullable: bool = True

    @property
    def field(self) -> "T.StructField":
        """The column as a Spark field that carries its comment."""
        from pyspark.sql import types as T

        return T.StructField(self.name, _spark_type(self.type), self.nullable, {"comment": self.comment})

    def ddl(self, *, comment: bool = True) -> str:
        """The column as a line of CREATE TABLE."""
        text = self.comment.replace("\\", "\\\\").replace("'", "\\'")
        told = f" COMMENT '{text}'" if comment else ""
        return f"`{self.name}` {self.type}{'' if self.nullable else ' NOT NULL'}{told}"


@dataclass(frozen=True)
class Table:
    """One table: grain, key, partitioning, CHECKs and columns.

    Attributes:
        name: the folder under the warehouse, and the name users open it by.
        comment: the grain in one sentence.
        columns: in the order in which they are stored.
        key: the columns that identify a row.
        partition_by: the partition columns, in order.
        checks: CHECK constraints by name, as SQL that must not be false.
        file_order: the columns by which the rows of a write are ranged over its files, so that a
            query on them opens one or two files; empty where no query asks for it.
        file_ranges: what they are ranged by in place of the whole order, as SQL: rows for which all of it
            is the same are never parted.
        statistics: the columns of which files carry the least and greatest value, so that a query on
            them passes over files: slow to write, and pointless where a table is only read by partition.
            None leaves it to Delta, which takes them all.
        public: whether users and their queries rely on it (design: "Outputs").
    """

    name: str
    comment: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    partition_by: tuple[str, ...] = ()
    checks: Mapping[str, str] = field(default_factory=dict)
    file_order: tuple[str, ...] = ()
    file_ranges: tuple[str, ...] = ()
    statistics: tuple[str, ...] | None = None
    public: bool = True

    @property
    def names(self) -> list[str]:
        """The column names, in order."""
        return [column.name for column in self.columns]

    def may_lack(self, column: Column) -> bool:
        """Whether a table of an older version is read without this column: as null, for it came later."""
        return column.nullable and column.name not in (*self.key, *self.partition_by)

    @property
    def struct(self) -> "T.StructType":
        """The columns as a Spark schema with comments."""
        from pyspark.sql import types as T

        return T.StructType([column.field for column in self.columns])


def required(name: str, type: str, comment: str) -> Column:
    """A column that is never null."""
    return Column(name, type, comment, nullable=False)


def optional(name: str, type: str, comment: str) -> Column:
    """A column that may be null; its comment says when."""
    return Column(name, type, comment)


@cache
def _spark_type(ddl: str) -> "T.DataType":
    """The type that a DDL string means; Spark is asked once for each, which takes milliseconds."""
    from pyspark.sql import types as T

    return T.DataType.fromDDL(ddl)

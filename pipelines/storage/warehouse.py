"""Delta tables under a warehouse folder, each as `schemas` declares it."""

import logging
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import UTC, date, datetime
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, functions as F, types as T

from pipelines.config.errors import ConfigError, WarehouseError
from pipelines.config.instants import format_instant
from pipelines.config.model import SparkSchema
from pipelines.config.paths import with_slashes
from pipelines.engine.errors import is_missing_table
from pipelines.engine.files import engine_path, unwritable_character
from pipelines.engine.frames import empty_frame, small_frame
from pipelines.engine.housekeeping import housekept_table
from pipelines.engine.materialize import Materialize, materialized
from pipelines.engine.session import is_classic
from pipelines.engine.small_jobs import read_in_one_task
from pipelines.engine.table_writes import (
    check_constraints_last,
    require_not_null,
    table_properties,
    with_nullable_values,
)
from pipelines.server.snapshots.places import OWN, Places
from pipelines.server.snapshots.queue_names import QueueSwitch
from pipelines.storage.id_spelling import is_marked, mark, other_ids, other_spelling
from pipelines.storage.inputs.delta_log import count_added_rows, current_version
from pipelines.storage.placed import placed, without_left_out
from pipelines.storage.pruned_days import PROPERTY, parse_first_day, require_left
from pipelines.storage.spark_schema import folder_of, register, table_names
from pipelines.storage.table_log import (
    KnownRows,
    WriteMode,
    create_table,
    read_small_table,
    stored_field,
    types_on_this_machine,
    write_known_rows,
)
from pipelines.storage.versions import other_columns
from schemas import TABLES
from schemas.events import ACCEPTED, LEDGER_PARTITIONS
from schemas.ledger import ENDPOINTS
from schemas.outputs import BATCHES, QUEUE_MONITORS, QUEUE_STATUSES, SNAPSHOTS
from schemas.reading import as_of_key, of_as_of, open_at, open_since
from schemas.table import Column, Table

log = logging.getLogger(__name__)

UNREADABLE = re.compile(r"[%\\\x00-\x1f\x7f]")
"""What delta-rs, which reads tables of both engines, takes for something else in a path."""
NO_PLACES = Places()
PLACED = {*ACCEPTED, ENDPOINTS.name, SNAPSHOTS.name, QUEUE_MONITORS.name, QUEUE_STATUSES.name}
"""Tables whose rows follow the settings' names of databases, and the databases that these leave out."""
SCRATCH = "_scratch"
"""The folder of materialized rows of a run on a cluster; files that a killed run left are no table."""


class Warehouse:
    """Opens, creates and writes the tables under one folder.

    A table that was never written reads as empty; the first write creates it with its comments,
    NOT NULLs and CHECKs. Every write is one atomic commit.

    The folder may be that of a schema. Its tables then have a name in Spark's catalog as well, from
    their first write or the first night on; rows are read by path nevertheless.
    """

    def __init__(
        self,
        spark: SparkSession,
        place: str | SparkSchema,
        places: Places = NO_PLACES,
        switches: Sequence[QueueSwitch] = (),
    ) -> None:
        """Name the folder, or the schema whose location it is; no table is read or written yet.

        Args:
            spark: the session.
            place: the folder or schema.
            places: names of databases in the rows of the ledger, and databases that are left out of them.
            switches: what DDL logs say of queues, which is in no table of events.

        Raises:
            ConfigError: the session's catalog has no such schema, or the engine can't write there.
        """
        self.spark = spark
        self.places = places
        self.switches = tuple(switches)
        self._schema = None if isinstance(place, str) else place
        self._columns: dict[str, Sequence[str]] = {}
        """The columns of each table that is there, as they are stored."""
        self._first_days: list[date | None] = []
        """The first day left, once it was read."""
        self.root = (with_slashes(place) if isinstance(place, str) else folder_of(spark, place)).rstrip("/")
        if found := UNREADABLE.search(self.root):
            raise ConfigError(
                f"warehouse: no tables can be kept under {self.root}, for the character {found[0]!r}; name a "
                "folder of letters, digits and ._-"
            )
        if character := unwritable_character(spark, self.root):
            raise ConfigError(
                f"warehouse: the embedded engine can't keep tables under {self.root}, for the character "
                f"{character!r}; name a folder of letters, digits and ._-, or run this with ./spark-submit.sh"
            )

    def require_this_shape(self) -> None:
        """Refuse the tables of an older version that can't go on: a column is missing, or ids are others.

        To an older version, two spellings of a GUID were different ids. Its warehouse can be read if all ids
        have the canonical spelling. All events are searched for others until the next batch marks `batches`.

        Raises:
            ConfigError: this is a warehouse of an older version.
            WarehouseError: a table has other columns than the declared ones.
        """
        # Refused at once, and not only when the first table is read that lacks a column.
        self.exists(ENDPOINTS)
        if not self.exists(BATCHES) or is_marked(self.spark, self.path(BATCHES)):
            return
        for table in ACCEPTED.values():
            if (id := other_spelling(self.read(table))) is not None:
                raise other_ids(self.root, table.name, id)

    def mark_ids(self) -> None:
        """Say in `batches`, which exists, that all ids have their canonical spelling."""
        if not is_marked(self.spark, self.path(BATCHES)):
            mark(self.spark, self.path(BATCHES))

    def path(self, table: Table) -> str:
        """The table's folder."""
        return f"{self.root}/{table.name}"

    def materialized(self, rows: DataFrame) -> AbstractContextManager[DataFrame]:
        """Compute the rows once for all queries inside the block; see `materialized`."""
        return materialized(rows, f"{self.root}/{SCRATCH}")

    @contextmanager
    def materializing(self) -> Iterator[Materialize]:
        """Yield a function that materializes frames; they are deleted on exit."""
        with ExitStack() as stack:
            yield lambda rows: stack.enter_context(self.materialized(rows))

    def exists(self, table: Table) -> bool:
        """Whether the table was ever written.

        Raises:
            WarehouseError: its columns are not the declared ones.
        """
        if table.name in self._columns:
            return True
        types = self._types(self.path(table))
        if not types:
            return False
        if problem := other_columns(self.path(table), table, types):
            raise WarehouseError(problem)
        self._columns[table.name] = list(types)
        return True

    @property
    def first_day(self) -> date | None:
        """The first UTC day whose closed rows are left; None if housekeeping has pruned none."""
        return self._first_days[-1] if self._first_days else self.read_first_day()

    def read_first_day(self) -> date | None:
        """`first_day`, read again: a program can keep a warehouse open while housekeeping prunes."""
        has_batches = self.exists(BATCHES)
        properties = table_properties(self.spark, self.path(BATCHES)) if has_batches else {}
        self._first_days = [parse_first_day(properties.get(PROPERTY))]
        return self._first_days[0]

    def is_pruned(self, moment: datetime) -> bool:
        """Whether the moment lies on a day that was pruned."""
        return self.first_day is not None and moment.astimezone(UTC).date() < self.first_day

    def read(self, table: Table) -> DataFrame:
        """All rows of the table that count; none if it was never written.

        Of a ledger table, rows of pruned days are left out: a housekeeping that was killed has not deleted
        them all. So are the rows of databases that the settings leave out; the others have the names of
        databases that the settings give.
        """
        rows = self.read_with_left_out(table)
        return without_left_out(rows, self.places) if table.name in PLACED else rows

    def read_with_left_out(self, table: Table) -> DataFrame:
        """`read`, with the rows of databases that are left out."""
        rows = self.read_with_own_names(table)
        if table.name not in PLACED:
            return rows
        return placed(rows, self.places, has_own=OWN[0] in table.names)

    def read_with_own_names(self, table: Table) -> DataFrame:
        """`read_with_left_out`, under the names that the rows have.

        In tables without `own_instance` these are the names that databases have on their servers.
        """
        if not self.exists(table):
            return empty_frame(self.spark, table.struct)
        rows = self._load(table)
        if table.partition_by == LEDGER_PARTITIONS and self.first_day is not None:
            rows = rows.where(open_since(self.first_day))
        return rows

    def read_open(self, table: Table, as_of: datetime) -> DataFrame:
        """The rows of a ledger table that may matter at as_of or later.

        Raises:
            ConfigError: the day of as_of was pruned.
        """
        require_left(self.first_day, as_of, subject=f"the state at {format_instant(as_of)}", moment=as_of)
        return self.read_left(table, as_of)

    def read_left(self, table: Table, as_of: datetime) -> DataFrame:
        """The rows of `read_open` that are left, if the day of as_of was pruned."""
        return self.read(table).where(open_at(as_of))

    def read_as_of(self, table: Table, as_of: datetime) -> DataFrame:
        """The rows of one as_of."""
        return self.read(table).where(of_as_of(table, as_of))

    def replace(self, table: Table, rows: DataFrame | KnownRows, *, where: str | None = None) -> None:
        """Replace the rows that match `where` (all rows if null) by these, atomically.

        The rows must match `where` themselves. Not every engine checks that, so the caller has to.
        """
        self._write(table, rows, "overwrite", where)

    def replace_as_of(self, table: Table, rows: DataFrame, as_of: datetime) -> None:
        """Replace the rows of one as_of by these, which come without as_of; other rows stay."""
        stamped = rows.withColumns({"as_of": F.lit(as_of), "as_of_key": F.lit(as_of_key(as_of))})
        self.replace(table, stamped, where=of_as_of(table, as_of))

    def replace_rows_of(self, table: Table, rows: Sequence[Mapping[str, Any]], as_of: datetime) -> None:
        """Replace the rows of one as_of by a few that the driver knows, as `replace_as_of` does.

        Where there are none, and were none, the table is created at most.
        """
        self.create_missing(table)
        if not rows and self.read_as_of(table, as_of).isEmpty():
            return
        stamp = {"as_of": as_of, "as_of_key": as_of_key(as_of)}
        values = [[({**row, **stamp})[name] for name in table.names] for row in rows]
        self.replace(table, values, where=of_as_of(table, as_of))

    def append(self, table: Table, rows: DataFrame | KnownRows) -> None:
        """Add rows, in one commit."""
        self._write(table, rows, "append", None)

    def _write(self, table: Table, rows: DataFrame | KnownRows, mode: WriteMode, where: str | None) -> None:
        self.create_missing(table)
        path, is_logged = self.path(table), log.isEnabledFor(logging.INFO)
        before = current_version(path) if is_logged else 0
        began = time.monotonic()
        if isinstance(rows, DataFrame):
            self._write_frame(table, rows, mode, where)
        elif not write_known_rows(self.spark, table, path, rows, mode=mode, where=where):
            struct = table.struct
            frame = small_frame(self.spark, rows, struct) if rows else empty_frame(self.spark, struct)
            self._write_frame(table, frame, mode, where)
        if is_logged:
            seconds, version = time.monotonic() - began, current_version(path)
            # Without rows there may be no commit.
            added = count_added_rows(path, version) if version > before else (0, 0)
            log.info("%s: %s rows in %s files, version %s, %.1f s", table.name, *added, version, seconds)

    def _write_frame(self, table: Table, rows: DataFrame, mode: str, where: str | None) -> None:
        writer = self._laid_out(table, rows).write.format("delta").mode(mode)
        if where is not None:
            writer = writer.option("replaceWhere", where)
        writer.save(engine_path(self.path(table)))

    def _load(self, table: Table) -> DataFrame:
        path, stored = self.path(table), self._columns[table.name]
        struct = T.StructType([column.field for column in table.columns if column.name in stored])
        by_files = read_small_table(self.spark, path, struct)
        rows = self.spark.read.format("delta").load(engine_path(path)) if by_files is None else by_files
        rows = read_in_one_task(rows)
        if lacking := self._lacking(table):
            rows = rows.withColumns({column.name: F.lit(None).cast(column.type) for column in lacking})
        # Columns that came later are stored last; by files, those of partitions are.
        return rows if by_files is None and stored == table.names else rows.select(*table.names)

    def _lacking(self, table: Table) -> list[Column]:
        """The columns that a table of an older version does not have yet."""
        return [column for column in table.columns if column.name not in self._columns[table.name]]

    def _types(self, path: str) -> dict[str, str]:
        """The types of the columns of the table at a path, by name; none if there is no table."""
        if (types := types_on_this_machine(self.spark, path)) is not None:
            return types
        try:
            # The table is opened when the schema is read.
            fields = self.spark.read.format("delta").load(engine_path(path)).schema.fields
        except AnalysisException as error:
            if not is_missing_table(error):
                raise
            return {}
        return {field.name: _shape(field.dataType) for field in fields}

    def create_missing(self, table: Table) -> None:
        """Create the table if it was never written, with all columns; see that the schema knows it."""
        if not self.exists(table):
            create_table(self.spark, table, self.path(table))
            self._columns[table.name] = table.names
        if lacking := self._lacking(table):
            self._add_columns(table, lacking)
        if self._schema is not None:
            register(self.spark, self._schema, table.name, self.path(table))

    def name_tables(self) -> None:
        """Name all tables of the folder in the schema, also those that were made without it."""
        if self._schema is None:
            return
        named = table_names(self.spark, self._schema)
        for table in TABLES.values():
            if table.name not in named and self.exists(table):
                register(self.spark, self._schema, table.name, self.path(table))

    def _add_columns(self, table: Table, columns: Sequence[Column]) -> None:
        found = housekept_table(self.path(table), self.spark)
        assert found is not None
        found.add_columns([stored_field(table, column) for column in columns])
        names = ", ".join(column.name for column in columns)
        log.info("%s: added %s, which an older version did not have", table.name, names)
        self._columns[table.name] = [*self._columns[table.name], *(column.name for column in columns)]

    def _laid_out(self, table: Table, rows: DataFrame) -> DataFrame:
        """The rows with exactly the declared columns, in files that follow the table's file order."""
        # The embedded engine would plan the rows once more to say their types, and Apache Spark knows them.
        if is_classic(self.spark):
            _require_declared(table, rows)
        required = {column.name: column.type for column in table.columns if not column.nullable}
        rows = require_not_null(with_nullable_values(rows.select(*table.names)), required)
        if not table.file_order:
            # NOT NULLs are tested by now.
            return check_constraints_last(rows) if table.checks else rows
        ranges = [F.expr(each) for each in table.file_ranges or table.file_order]
        return rows.repartitionByRange(*ranges).sortWithinPartitions(*table.file_order)


def _require_declared(table: Table, rows: DataFrame) -> None:
    found = {field.name: _shape(field.dataType) for field in rows.schema.fields}
    declared = {column.name: _shape(column.field.dataType) for column in table.columns}
    if found != declared:
        wrong = sorted(set(found.items()) ^ set(declared.items()))
        raise ValueError(f"table {table.name}: columns differ from its declaration: {wrong}")


def _shape(data_type: T.DataType) -> str:
    """A type without its nullability, which engines derive differently from plan to plan."""
    return data_type.simpleString()

"""Rows of the logs that servers write, before they are mapped: columns as texts, with the names of ids."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from pipelines.config.errors import InputError
from pipelines.config.log_mapping import DATABASE, INSTANCE, QUEUE, LogMapping, LogRows, built_in
from pipelines.config.mapping import Condition, MappedColumn
from pipelines.config.model import Format, LogSource
from pipelines.engine.frames import small_frame, union_all
from pipelines.settings.log_names import LogNames
from pipelines.storage.inputs.columns import column_names
from pipelines.storage.inputs.contract import (
    contract_problems,
    lacking_column,
    problems_of_each,
    raise_together,
)
from pipelines.storage.inputs.listing import InputFile
from pipelines.storage.inputs.mapped_rows import SourceMapping, holds, shortest_number
from pipelines.storage.inputs.paths import is_empty_folder, list_files
from pipelines.storage.inputs.read import by_version, read_input
from pipelines.storage.inputs.text import compute_once, given_text, parse_value
from pipelines.storage.inputs.xml_columns import with_xml_columns
from schemas import EventContract
from schemas.events import OF_LOGS
from schemas.table import optional

NUMBERED_TEXT = r"^\s*([0-9]+) - "
"""How Profiler shows a number with its text."""
NAMES = "name_instance string, name_id string, name string"
QUEUE_NAMES = "name_instance string, name_database string, name_id string, name string"


OFFSETS = "clock string, since timestamp, until timestamp, offset_seconds bigint"


@dataclass(frozen=True)
class LogReading:
    """How the files of a log are read.

    Attributes:
        source: the log's name, such as logs/trace.
        given: what the settings say of it.
        names: the names of ids.
    """

    source: str
    given: LogSource
    names: LogNames

    @property
    def mapping(self) -> LogMapping:
        """Its mapping."""
        return built_in(self.given.mapping)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of its rows, those that are made of ids last."""
        of_xml = () if self.mapping.xml is None else (self.mapping.xml,)
        return (*self.mapping.read, INSTANCE, DATABASE, QUEUE, *of_xml)

    def column(self, name: str) -> Column:
        """A column of its rows."""
        return F.col(self.alias(name))

    def alias(self, name: str) -> str:
        """What a column of its rows is called."""
        return f"from_{self.columns.index(name)}"

    def holds(self, conditions: Sequence[Condition]) -> Column:
        """Whether rows are those of conditions."""
        found = F.lit(True)
        for condition in conditions:
            found &= holds(condition, F.col(self.alias(condition.from_)))
        return found

    def parts(self, table: str) -> list[SourceMapping]:
        """How rows become events of a table."""
        return [self._part(each) for each in self.mapping.rows if each.table == table]

    def whole(self, table: str) -> SourceMapping:
        """What all rows of a table have."""
        parts = self.parts(table)
        columns = {name: column for part in parts for name, column in part.columns.items()}
        return replace(parts[0], columns=columns, where=())

    @property
    def tables(self) -> list[str]:
        """The tables that it may have events of."""
        return [table for table in OF_LOGS if any(each.table == table for each in self.mapping.rows)]

    @property
    def clock(self) -> SourceMapping:
        """How its rows say their time."""
        time = MappedColumn.model_validate({"from": self.mapping.time})
        return SourceMapping(
            source=self.source,
            columns={"event_time": time},
            zone=self.given.zone,
            offset=self.given.offset,
            beside=self.columns,
            has_offsets=self.has_offsets,
        )

    @property
    def has_offsets(self) -> bool:
        """Whether captures show the offset of its times."""
        return self.mapping.times == "local" and not (self.given.zone or self.given.offset)

    def _part(self, rows: LogRows) -> SourceMapping:
        known = OF_LOGS[rows.table].names
        of_table = [each for each in self.mapping.rows if each.table == rows.table]
        kept = dict.fromkeys(name for each in of_table for name in each.columns if name not in known)
        return replace(
            self.clock,
            columns=rows.columns,
            where=rows.where,
            table=rows.table,
            kept=tuple(optional(name, "string", "") for name in kept),
        )


def read_log(
    spark: SparkSession, log: LogReading, files: Sequence[InputFile], *, max_line_bytes: int
) -> DataFrame:
    """Read files of a log.

    Args:
        spark: the session.
        log: how they are read.
        files: some files or versions; at least one.
        max_line_bytes: a longer line of text is broken.

    Returns:
        The rows in the shape of `pipelines.storage.inputs.read`, with
        - a text for each of `LogReading.columns`, null where the file lacks it;
        - `file`, the number of the file or version;
        - `class`, by which rows are counted that lack something;
        - `offset_seconds` of their times, where captures show it; null where they do not say it.

    Raises:
        InputError: a file is broken, or lacks a column without which it says nothing.
    """
    parts = [part for file in files for part in by_version(file)]
    taken = [_contract(log, part) for part in parts]
    raise_together(contract_problems(contract, problems) for contract, problems in taken if problems)
    frames = [
        _with_all(
            read_input(spark, contract, log.given.format, [part], max_line_bytes=max_line_bytes), log
        ).withColumn("file", F.lit(number))
        for number, (part, (contract, _)) in enumerate(zip(parts, taken, strict=True))
    ]
    rows = _with_numbers(_without_blanks(union_all(frames), log), log)
    labels = [F.nullif(F.trim(log.column(name)), F.lit("")) for name in log.mapping.class_of]
    rows = _with_names(rows, log).withColumn("class", F.concat_ws("_", *labels))
    return _with_offsets(rows, log) if log.has_offsets else rows


def taken_contract(log: LogReading, there: Sequence[str], format: Format) -> EventContract:
    """What is read of a file with these columns; of JSON lines, which leave out nulls, all."""
    called = {log.alias(name): found for name in log.mapping.in_file if (found := _called(log, name, there))}
    if format == "json" or not there:
        called = {log.alias(name): name for name in log.mapping.in_file} | called
    return EventContract(
        source=log.source,
        columns=tuple(optional(alias, "string", "") for alias in called),
        event_types=(),
        required_for={},
        called=called,
        may_lack=True,
    )


def needed_problems(log: LogReading, path: str, there: Sequence[str]) -> list[str]:
    """Which columns a file lacks that it needs; a file without rows needs none."""
    if not there:
        return []
    lacking = [name for name in log.mapping.needed if _called(log, name, there) is None]
    return [f"{path}: {lacking_column(name, there)}" for name in lacking]


def columns_there(log: LogReading, path: str) -> list[str]:
    """The columns of a file of a log, or of a Delta table.

    Raises:
        InputError: it can't be read.
    """
    return [name.strip() for name in column_names(path, log.given.format, log.mapping.in_file)]


def compare_log(log: LogReading) -> tuple[int, list[str]]:
    """How many files a log has, and a line for each column that one of them lacks.

    Raises:
        FileNotFoundError: there is no such folder.
        PipelineError: it can't be listed.
    """
    path = log.given.path
    if log.given.format == "delta":
        paths = [] if is_empty_folder(path) else [path]
    else:
        paths = [file.path for file in list_files(path)]

    def problems(path: str) -> list[str]:
        try:
            return needed_problems(log, path, columns_there(log, path))
        except InputError as error:
            return list(error.problems)

    return len(paths), problems_of_each(paths, problems)


def _contract(log: LogReading, file: InputFile) -> tuple[EventContract, list[str]]:
    try:
        there = columns_there(log, file.path)
    except (InputError, FileNotFoundError):
        # The reader says what is wrong.
        there = []
    return taken_contract(log, there, log.given.format), needed_problems(log, file.path, there)


def _called(log: LogReading, name: str, there: Sequence[str]) -> str | None:
    """What a file calls a column: by its name, another, or in other case."""
    names = (name, *log.mapping.also.get(name, ()))
    by_case: dict[str, list[str]] = {}
    for each in there:
        by_case.setdefault(each.lower(), []).append(each)
    for each in names:
        if each in there:
            return each
        alike = by_case.get(each.lower(), [])
        if len(alike) == 1:
            return alike[0]
    # A file of XML alone has one column, whatever it is called.
    return there[0] if name == log.mapping.xml and len(there) == 1 else None


def _with_all(rows: DataFrame, log: LogReading) -> DataFrame:
    nothing, types = F.lit(None).cast("string"), dict(rows.dtypes)
    texts = {
        alias: given_text(F.col(alias), types[alias]) if alias in types else nothing
        for alias in map(log.alias, log.mapping.in_file)
    }
    found = rows.select(
        *[text.alias(alias) for alias, text in texts.items()], "broken", "unreadable", "mistyped", "raw"
    )
    if log.mapping.xml is None:
        return found
    return with_xml_columns(
        found, log.alias(log.mapping.xml), {log.alias(name): name for name in log.mapping.read}
    )


def _without_blanks(rows: DataFrame, log: LogReading) -> DataFrame:
    """The rows with null for blank texts, and with the shortest text of numbers that are ids or classes.

    Tools write empty texts for nulls, and whole numbers with a point where a column has nulls.
    """
    changed = {}
    for name in log.mapping.read:
        text = log.column(name)
        written = shortest_number(F.trim(text)) if name in log.mapping.numbers else text
        changed[log.alias(name)] = F.when(F.trim(text) != "", written)
    return compute_once(rows.withColumns(changed), rows.columns)


def _with_numbers(rows: DataFrame, log: LogReading) -> DataFrame:
    """The rows with numbers for texts that stand for them."""
    changed = {}
    for name, texts in log.mapping.texts.items():
        text = F.trim(log.column(name))
        number = F.regexp_extract(text, NUMBERED_TEXT, 1)
        found = F.when(number != "", number)
        for known, value in texts.items():
            found = found.when(F.lower(text) == known.lower(), F.lit(value))
        changed[log.alias(name)] = found.otherwise(text)
    return rows.withColumns(changed) if changed else rows


def _with_names(rows: DataFrame, log: LogReading) -> DataFrame:
    """The rows with the names of instance, database and queue; null where nothing has the name."""
    ids, nothing = log.mapping.ids, F.lit(None).cast("string")

    def text(name: str | None) -> Column:
        return nothing if name is None else F.nullif(F.trim(log.column(name)), F.lit(""))

    instance = F.coalesce(text(ids.instance), F.lit(log.given.instance).cast("string"))
    rows = rows.withColumn(log.alias(INSTANCE), instance)
    instances = small_frame(rows.sparkSession, log.names.instances.items(), "name_key string, name string")
    own = log.column(INSTANCE)
    rows = rows.join(F.broadcast(instances), F.lower(own) == F.col("name_key"), "left")
    rows = rows.withColumn(log.alias(INSTANCE), F.coalesce("name", own)).drop("name_key", "name")
    rows = rows.withColumns({"id_database": text(ids.database), "id_queue": text(ids.queue)})
    own = log.column(INSTANCE)
    for name, id, columns, found in (
        (DATABASE, "id_database", NAMES, log.names.databases),
        (QUEUE, "id_queue", QUEUE_NAMES, log.names.queues),
    ):
        names = small_frame(rows.sparkSession, found, columns)
        is_same = (F.col("name_id") == F.col(id)) & (own == F.col("name_instance"))
        if name == QUEUE:
            is_same &= F.col("name_database") == F.col("id_database")
        rows = rows.join(F.broadcast(names), is_same, "left")
        written = text(ids.database_name) if name == DATABASE else nothing
        rows = rows.withColumn(log.alias(name), F.coalesce(written, "name")).drop(*names.columns)
    for name, id, given in (
        (DATABASE, "id_database", log.given.databases),
        (QUEUE, "id_queue", log.given.queues),
    ):
        if given:
            names = small_frame(rows.sparkSession, given.items(), "name_id string, name string")
            rows = rows.join(F.broadcast(names), F.col("name_id") == F.col(id), "left")
            rows = rows.withColumn(log.alias(name), F.coalesce("name", log.column(name))).drop(*names.columns)
    return rows.drop("id_database", "id_queue")


def _with_offsets(rows: DataFrame, log: LogReading) -> DataFrame:
    """The rows with the offset of their instance's clock at their time."""
    periods = small_frame(rows.sparkSession, log.names.offsets, OFFSETS)
    local = parse_value(log.column(log.mapping.time), "timestamp")
    is_same = (log.column(INSTANCE) == F.col("clock")) & local.between(F.col("since"), F.col("until"))
    joined = rows.join(F.broadcast(periods), is_same, "left")
    return joined.drop("clock", "since", "until")


def rows_without_offset(raw: DataFrame, log: LogReading) -> list[str]:
    """What to say of a row whose offset captures do not show; nothing if there is none."""
    if not log.has_offsets:
        return []
    local = log.column(log.mapping.time)
    unknown = raw.where(~F.col("broken") & F.col("offset_seconds").isNull() & local.isNotNull())
    found = unknown.groupBy(log.column(INSTANCE).alias("instance")).agg(F.min(local).alias("first")).collect()
    return [
        f"inputs.{log.source}: captures do not show the offset of {row['instance'] or 'a server'} at "
        f"{row['first']}; add zone: Europe/Berlin, or offset: '+02:00'"
        for row in sorted(found, key=lambda row: row["instance"] or "")
    ]

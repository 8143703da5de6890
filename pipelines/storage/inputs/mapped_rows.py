"""Rows of tables that people have, as rows of a contract: by the source's mapping."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.config.log_mapping import MADE
from pipelines.config.mapping import HANDLE, Condition, MappedColumn, offset_seconds
from pipelines.config.model import EventSource
from pipelines.engine.frames import null_of
from pipelines.storage.inputs.contract import WIDENED
from pipelines.storage.inputs.payloads import describe_line
from pipelines.storage.inputs.text import byte_length, given_text, join_names, parse_value
from schemas import CONTRACTS, EventContract
from schemas.events import OF_LOGS, table_of
from schemas.ids import IDS, canonical_id
from schemas.table import Column as Declared, optional

WITH_OFFSET = r"(?:[Zz]|UTC|GMT|[0-9.] *[+-][0-9:]+) *$"
"""A time with an offset from UTC at its end."""
LOCAL_TIME = len("2026-01-01 00:00")
"""Characters of the shortest time, without an offset."""
DAY = 86_400_000_000
"""Microseconds."""
AMBIGUOUS, ZONE_IGNORED, NO_TIME = "ambiguous_time", "zone_ignored", "time_does_not_exist"
NOTES = (AMBIGUOUS, ZONE_IGNORED)
"""What is counted of local times. `NO_TIME` is a reason to reject the row."""
SHIFTED = (-62_167_219_200_000_000, 253_402_300_799_999_999)
"""The first and the last microsecond of the years 0 to 9999: only these times are shifted to UTC."""
DECIMAL = r"^-?[0-9]+\.[0-9]*$"


@dataclass(frozen=True)
class SourceMapping:
    """How a source's columns become those of its contract.

    Attributes:
        source: the source's name, such as message_events/audit.
        columns: where each column of the contract comes from, by its name; others are null.
        where: which rows count.
        zone: the zone of local times; None if they have none.
        offset: their offset; None if they have none.
        table: of a log, which has events of several tables: the table of the events that are read.
        beside: of a log, all columns that are read of it.
        kept: of a log, what its rows have beyond the contract.
        has_offsets: of a log, whether rows have `offset_seconds`, as captures show it.
    """

    source: str
    columns: Mapping[str, MappedColumn]
    where: Sequence[Condition] = ()
    zone: str | None = None
    offset: str | None = None
    table: str | None = None
    beside: Sequence[str] = ()
    kept: tuple[Declared, ...] = ()
    has_offsets: bool = False

    @property
    def contract(self) -> EventContract:
        """The contract of the mapped rows."""
        return CONTRACTS[table_of(self.source)] if self.table is None else OF_LOGS[self.table]

    @property
    def has_handles(self) -> bool:
        """Whether the handle of a row may say whose conversation and side it is."""
        return HANDLE in self.columns and "conversation_id" in self.contract.names

    @property
    def has_ids(self) -> bool:
        """Whether the source has ids of events."""
        return "event_id" in self.columns

    @property
    def mapped(self) -> tuple[Declared, ...]:
        """The columns of mapped rows: those of the contract, and in any case the handle."""
        columns = self.contract.columns
        is_needed = HANDLE not in self.contract.names and HANDLE in self.columns
        return (*columns, *((optional(HANDLE, "string", ""),) if is_needed else ()), *self.kept)

    @property
    def taken(self) -> EventContract:
        """What is read of the source, by names that are no columns of a file."""
        names = {key: alias for key, alias in self._names().items() if not key[0].startswith(MADE)}
        return EventContract(
            source=self.source,
            columns=tuple(optional(alias, "string", "") for alias in names.values()),
            event_types=(),
            required_for={},
            called={alias: name for (name, _), alias in names.items()},
            lengths=frozenset(alias for (_, is_length), alias in names.items() if is_length),
        )

    @property
    def made(self) -> list[str]:
        """The columns that are made of others, where the source lacks them."""
        of_handles = (
            ["conversation_id", "sent_by_initiator", "is_initiator"] if HANDLE in self.columns else []
        )
        return ["event_id", "message_id", *of_handles]

    def reads(self, name: str) -> bool:
        """Whether a column of the contract comes from a column of the file."""
        return name in self.columns and self.columns[name].from_ is not None

    def alias(self, name: str, *, is_length: bool = False) -> str:
        """The name by which a column of the file is read."""
        return self._names()[name, is_length]

    def _names(self) -> dict[tuple[str, bool], str]:
        of_columns = [
            (each.from_, each.length is not None) for each in self.columns.values() if each.from_ is not None
        ]
        of_log = [(name, False) for name in self.beside]
        asked = dict.fromkeys([*of_log, *of_columns, *((each.from_, False) for each in self.where)])
        return {key: f"from_{number}" for number, key in enumerate(asked)}


def mapping_of(name: str, source: EventSource) -> SourceMapping | None:
    """The mapping of a source; None if its columns are the contract's.

    With zone, offset or conditions alone, the columns go by their own names.
    """
    if not source.is_mapped:
        return None
    columns = source.columns
    if columns is None:
        own = CONTRACTS[table_of(name)].names
        columns = {each: MappedColumn.model_validate({"from": each}) for each in own}
    return SourceMapping(name, columns, source.where, source.zone, source.offset)


def map_rows(rows: DataFrame, mapping: SourceMapping) -> DataFrame:
    """Map the rows of a source.

    Args:
        rows: rows of `pipelines.storage.inputs.read` with the columns of `SourceMapping.taken`.
        mapping: the mapping.

    Returns:
        The rows that count, in the same shape with the columns of the contract and
        - the handle, where the mapping has it;
        - `time_note`: one of `NOTES` or `NO_TIME`; null where there is nothing to say of the time;
        - `payload`: what is stored of a row that can't be read whole; null of others;
        - `file` and `class`, where the rows have them.
        event_id is null where no column has it: see `with_event_ids`.
    """
    types = dict(rows.dtypes)
    for condition in mapping.where:
        alias = mapping.alias(condition.from_)
        rows = rows.where(F.col("broken") | holds(condition, given_text(F.col(alias), types[alias])))
    rows = with_instant(rows, mapping, types)
    found = {
        column.name: _found(mapping, mapping.columns[column.name], types)
        for column in mapping.mapped
        if column.name in mapping.columns
    }
    typed = {
        column.name: _typed(*found[column.name], column) if column.name in found else null_of(column.type)
        for column in mapping.mapped
    }
    time, note = F.col("instant"), F.col("time_note")
    unreadable = {
        column.name: found[column.name][0].isNotNull() & typed[column.name].isNull()
        for column in mapping.mapped
        if column.type not in ("string", "timestamp")
        and mapping.reads(column.name)
        and not _holds_without_loss(found[column.name][1], column)
    }
    if not found["event_time"][1].startswith("timestamp"):
        unreadable["event_time"] = found["event_time"][0].isNotNull() & time.isNull() & note.isNull()
    is_odd = reduce(or_, unreadable.values(), (note == NO_TIME).eqNullSafe(True))
    written = F.to_json(F.struct(*[given_text(*each).alias(name) for name, each in found.items()]))
    payload = F.when(F.col("broken") & F.col("raw").isNotNull(), describe_line("raw")).when(
        ~F.col("broken") & is_odd, written
    )
    return rows.select(
        *[value.alias(name) for name, value in {**typed, "event_time": time}.items()],
        "broken",
        join_names(unreadable).alias("unreadable"),
        null_of("string").alias("mistyped"),
        F.when(F.col("broken"), F.col("raw")).alias("raw"),
        "time_note",
        payload.alias("payload"),
        *[name for name in ("file", "class") if name in types],
    )


def with_event_ids(rows: DataFrame, mapping: SourceMapping) -> DataFrame:
    """Give rows ids of what they say: a hash of the input's name and the mapped values, in one spelling.

    Equal rows of one file get one id: `with_numbered_ids` tells them apart.

    Args:
        rows: `map_rows`.
        mapping: the mapping.
    """
    values = [
        canonical_id(F.col(column.name))
        if column.name in IDS
        else F.unix_micros(column.name).cast("string")
        if column.type == "timestamp"
        else F.col(column.name).cast("string")
        for column in mapping.mapped
        if column.name in mapping.columns
    ]
    parts = [F.coalesce(each, F.lit("\x00")) for each in [*values, F.col("payload")]]
    said = F.concat_ws("\x1f", F.lit(mapping.contract.source), *parts)
    return rows.withColumn("event_id", F.when(~F.col("broken"), F.sha2(said, 256)))


def with_numbered_ids(rows: DataFrame, materialize: Callable[[DataFrame], DataFrame]) -> DataFrame:
    """Give equal rows of one file different ids, by their number among these.

    Args:
        rows: materialized rows of `with_event_ids` with `file`.
        materialize: computes a frame once.
    """
    row = ["file", "event_id"]
    repeated = materialize(
        rows.where("event_id is not null")
        .groupBy(*row)
        .agg(F.count(F.lit(1)).alias("rows"))
        .where("rows > 1")
    ).select(*row)
    if repeated.isEmpty():
        return rows
    same = Window.partitionBy(*row).orderBy("event_time")
    several = rows.join(F.broadcast(repeated), row, "left_semi").withColumn(
        "number", F.row_number().over(same)
    )
    again = F.sha2(F.concat_ws("/", "event_id", "number"), 256)
    id = F.when(F.col("number") > 1, again).otherwise(F.col("event_id"))
    numbered = several.withColumn("event_id", id).select(*rows.columns)
    return materialize(rows.join(F.broadcast(repeated), row, "left_anti").unionByName(numbered))


def _typed(value: Column, type: str, column: Declared) -> Column:
    """A mapped value of a type as one of its column; times are `with_instant`."""
    if column.type == "timestamp":
        return value
    if _holds_without_loss(type, column):
        return value.cast(column.type)
    text = given_text(value, type)
    return parse_value(shortest_number(text) if column.type in ("int", "bigint") else text, column.type)


def _holds_without_loss(type: str, column: Declared) -> bool:
    return type == column.type or type in WIDENED.get(column.type, ())


def _found(mapping: SourceMapping, column: MappedColumn, types: Mapping[str, str]) -> tuple[Column, str]:
    """A column's value, translated, and its type; `types` by the name in the rows, of texts none."""
    if column.from_ is None:
        return F.lit(column.value), "string"
    alias = mapping.alias(column.from_, is_length=column.length is not None)
    found, type = F.col(alias), types.get(alias, "string")
    if column.length is not None and type == "string":
        return byte_length(found), "bigint"
    if column.values is None:
        return found, type
    asked = _compared(given_text(found, type), column.values)
    branches = [(asked == key, F.lit(value).cast("string")) for key, value in column.values.items()]
    if "" not in column.values:
        branches.append((asked == "", F.lit(None).cast("string")))
    chosen = F.when(*branches[0])
    for condition, value in branches[1:]:
        chosen = chosen.when(condition, value)
    return chosen.otherwise(F.lit(column.other).cast("string")), "string"


def holds(condition: Condition, text: Column) -> Column:
    """Whether the text of a column is one of a condition's."""
    choices = condition.is_ or condition.is_not_
    is_one = _compared(text, choices).isin(*choices)
    return is_one if condition.is_ else ~is_one


def _compared(text: Column, choices: Iterable[str]) -> Column:
    """A text as `pipelines.config.yaml_file.value_text` writes a value; null is empty."""
    found = F.coalesce(F.trim(text), F.lit(""))
    known = list(choices)
    if any(each in ("true", "false") for each in known):
        found = F.when(F.lower(found).isin("true", "false"), F.lower(found)).otherwise(found)
    return shortest_number(found) if any(each[-1:].isdigit() for each in known) else found


def shortest_number(text: Column) -> Column:
    """A number without zeros behind its point; another text as it is."""
    is_long = F.contains(text, F.lit(".")) & text.rlike(DECIMAL)
    return F.when(is_long, F.regexp_replace(text, r"\.?0*$", "")).otherwise(text)


def with_instant(
    rows: DataFrame, mapping: SourceMapping, types: Mapping[str, str] | None = None
) -> DataFrame:
    """Add `instant`, what a time means, and `time_note`; without `types`, all columns are texts."""
    column = mapping.columns["event_time"]
    zone, offset = column.zone or mapping.zone, column.offset or mapping.offset
    value, type = _found(mapping, column, types or {})
    if type.startswith("timestamp"):
        written, has_offset = value.cast("timestamp"), F.lit(type == "timestamp")
    else:
        text = given_text(value, type)
        written = parse_value(text, "timestamp")
        has_offset = (F.length(text) > LOCAL_TIME) & text.rlike(WITH_OFFSET)
    rows = rows.withColumn("read", written)
    read, instant = F.col("read"), F.col("instant")
    if zone is None and offset is None and not mapping.has_offsets:
        return rows.withColumns({"instant": read, "time_note": null_of("string")})
    rows = rows.withColumn("has_offset", read.isNotNull() & has_offset)
    ignored = F.when(F.col("has_offset"), F.lit(ZONE_IGNORED))
    local = F.when(F.unix_micros(read).between(*SHIFTED), read)
    stays = F.col("has_offset") | local.isNull()
    if zone is None:
        seconds = F.col("offset_seconds") if offset is None else F.lit(offset_seconds(offset))
        shifted = F.timestamp_micros(F.unix_micros(local) - seconds.cast("bigint") * 1_000_000)
        return rows.withColumns({"instant": F.when(stays, read).otherwise(shifted), "time_note": ignored})
    # Both engines take the earlier of two instants, and move a time that does not exist.
    rows = rows.withColumn("instant", F.to_utc_timestamp(local, zone))
    rows = rows.withColumns(
        {
            "shown": F.from_utc_timestamp(instant, zone),
            "next_day": F.from_utc_timestamp(_later(instant, F.lit(DAY)), zone),
        }
    )
    again = _later(instant, F.lit(DAY) + F.unix_micros("shown") - F.unix_micros("next_day"))
    is_twice = (again != instant) & (F.from_utc_timestamp(again, zone) == read)
    note = ignored.when(F.col("shown") != read, F.lit(NO_TIME)).when(is_twice, F.lit(AMBIGUOUS))
    meant = F.when(stays, read).when(F.col("shown") == read, instant)
    return rows.withColumns({"instant": meant, "time_note": note})


def _later(moment: Column, micros: Column) -> Column:
    return F.timestamp_micros(F.unix_micros(moment) + micros)

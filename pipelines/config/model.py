"""The settings file: what may stand in it and what counts where nothing does."""

import json
import os
import re
from datetime import timedelta
from typing import Annotated, Literal, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationInfo,
    model_validator,
)

from pipelines.config.expectations import Duration, ExpectEntry
from pipelines.config.log_mapping import LogName, built_in
from pipelines.config.mapping import LocalTimes, MappedSource, Translations
from pipelines.config.paths import local_path, table_path
from pipelines.config.queue_filter import name_parts
from pipelines.config.shape import Instant, Shape, problem
from schemas.events import CONTRACTS

_VARIABLE_NAME = re.compile(r"[\w-]+")
_NAME_IN_SPARK = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _name_in_spark(name: str) -> str:
    if not _NAME_IN_SPARK.fullmatch(name):
        raise problem(f"{name!r} is no name that Spark takes; write letters, digits and _, no digit first")
    return name


TablePath = Annotated[str, Field(min_length=1), AfterValidator(table_path)]
"""A path that Spark reads or writes: absolute, or a URI."""

LocalPath = Annotated[str, Field(min_length=1), AfterValidator(local_path)]
"""A path that is read before Spark starts: relative as the settings file's own path is, or absolute."""

Count = Annotated[int, Field(strict=True, ge=1)]
Seconds = Annotated[float, Field(strict=True, ge=1e-6, le=1e9)]
"""A duration; event times have microseconds, so nothing shorter makes sense."""


NameInSpark = Annotated[str, AfterValidator(_name_in_spark)]
"""The name of a catalog or schema of Spark, the same in every metastore: plain ASCII."""


class SparkSchema(Shape):
    """A schema of one of Spark's catalogs (nothing of Service Broker's): its tables are known by name."""

    catalog: NameInSpark = "spark_catalog"
    schema_name: Annotated[NameInSpark, Field(alias="schema")]

    def __str__(self) -> str:
        """Return the name as SQL writes it."""
        return f"{self.catalog}.{self.schema_name}"


def _warehouse_place(value: object, info: ValidationInfo) -> str | SparkSchema:
    # Not a union: what is wrong with a folder is nothing that a schema has to do with.
    kind: TypeAdapter[str | SparkSchema] = TypeAdapter(SparkSchema if isinstance(value, dict) else TablePath)
    place = kind.validate_python(value, context=info.context)
    if isinstance(place, str) and os.path.isfile(place):
        raise problem(f"{place} is a file; name a folder")
    return place


WarehousePlace = Annotated[
    str | SparkSchema, PlainValidator(_warehouse_place, json_schema_input_type=str | SparkSchema)
]
"""Where the tables are: a folder, or the schema whose location is that folder."""


LINE_BYTES = 16 << 20
"""How long a line may be where the settings say nothing."""
Format: TypeAlias = Literal["delta", "parquet", "json", "csv"]
"""How an input's files are written."""


_NAME = re.compile(r"[^/\x00-\x1f\x7f-\x9f\u2028\u2029]+")


S = TypeVar("S", bound="Source")


def _source_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise problem(f"{name!r} is no name of a source; write one without / and line ends")
    return name


class Source(LocalTimes):
    """Where the rows of a source stand, and how they are written."""

    path: TablePath
    format: Format
    name: Annotated[str, AfterValidator(_source_name)] | None = None

    def describe(self) -> dict[str, object]:
        """Return what the settings say of the source."""
        # A type behind a validator is checked twice, and the second check is wrong.
        return self.model_dump(mode="json", exclude_defaults=True, by_alias=True, warnings=False)

    def describe_mapping(self) -> str | None:
        """Return the mapping as JSON with sorted keys; null without one."""
        told = {key: value for key, value in self.describe().items() if key not in ("path", "format", "name")}
        return json.dumps(told, ensure_ascii=False, sort_keys=True) if told else None


class EventSource(Source, MappedSource):
    """Where the events of one input stand, how they are written, and how its columns map to the contract's.

    Without a mapping the columns go by their own names.
    """

    @property
    def is_mapped(self) -> bool:
        """Whether rows are anything else than those of the contract."""
        return any((self.columns is not None, self.where, self.zone, self.offset))


class LogSource(Source):
    """A log that a server wrote, with events of several tables; its mapping is a file of the package.

    Attributes:
        mapping: the name of the mapping.
        instance: of rows that name no server.
        databases: the names of databases by their numbers on the server.
        queues: the names of queues by their numbers as objects.
    """

    mapping: LogName
    instance: Annotated[str, Field(min_length=1)] | None = None
    databases: Translations = Field(default_factory=dict)
    queues: Translations = Field(default_factory=dict)

    @property
    def is_mapped(self) -> bool:
        """Whether rows are anything else than those of a contract."""
        return True

    @model_validator(mode="after")
    def _has_times(self) -> "LogSource":
        if built_in(self.mapping).times == "utc" and (self.zone or self.offset):
            raise problem(f"has zone or offset, but the times of {self.mapping} are UTC; remove it")
        return self


def _sources(value: object, info: ValidationInfo) -> tuple[EventSource, ...]:
    # Not a union: what is wrong with one source is nothing that a list has to do with.
    if not isinstance(value, list):
        return (TypeAdapter(EventSource).validate_python(value, context=info.context),)
    return _named(value, info, EventSource)


def _logs(value: object, info: ValidationInfo) -> tuple[LogSource, ...]:
    if not isinstance(value, list):
        raise problem("is no list; write a list of logs")
    return _named(value, info, LogSource)


def _named(value: list[object], info: ValidationInfo, kind: type[S]) -> tuple[S, ...]:
    """The sources of a list: one without a name is called by its number."""
    if not value:
        raise problem("is an empty list; write a source")
    shape: TypeAdapter[tuple[S, ...]] = TypeAdapter(tuple[kind, ...])  # type: ignore[valid-type]
    several = shape.validate_python(value, context=info.context)
    return tuple(
        each if each.name else each.model_copy(update={"name": str(number)})
        for number, each in enumerate(several, start=1)
    )


Sources = Annotated[
    EventSource | tuple[EventSource, ...],
    PlainValidator(_sources, json_schema_input_type=EventSource | list[EventSource]),
]
"""One source, or several with names: by default their numbers, from 1."""
Logs = Annotated[tuple[LogSource, ...], PlainValidator(_logs, json_schema_input_type=list[LogSource])]
"""Sources of several tables, with names as those of `Sources`."""
LOGS = "logs"
"""What the names of sources of several tables begin with."""


class FewInputs(Shape):
    """The three event inputs; without queue events nothing is locked and every receive is committed."""

    endpoint_events: Sources | None = None
    message_events: Sources | None = None
    queue_events: Sources | None = None
    logs: Logs | None = None

    def by_table(self) -> dict[str, tuple[EventSource, ...]]:
        """Return the sources that are given, by table."""
        named = {table: getattr(self, table) for table in CONTRACTS}
        return {table: sources for table, sources in named.items() if isinstance(sources, tuple)}

    def by_name(self) -> dict[str, EventSource | LogSource]:
        """Return the sources that are given, by the table's name, and behind a slash their own if any."""
        named: dict[str, tuple[EventSource, ...] | tuple[LogSource, ...]] = {**self.by_table()}
        named |= {LOGS: self.logs} if self.logs else {}
        return {
            f"{table}/{each.name}" if each.name else table: each
            for table, sources in named.items()
            for each in sources
        }

    def describe(self) -> dict[str, object]:
        """Return what the settings say of the inputs."""
        told = dict[str, object].fromkeys(CONTRACTS)
        for table, sources in self.by_table().items():
            said = [each.describe() for each in sources]
            told[table] = said if sources[0].name else said[0]
        if self.logs:
            told[LOGS] = [each.describe() for each in self.logs]
        return told


class Inputs(FewInputs):
    """The event inputs where no snapshot stands in for them."""

    endpoint_events: Sources
    message_events: Sources


class Snapshot(Shape):
    """A server's views at a moment: where their files stand, and which of them show all that there was."""

    path: TablePath
    instance: Annotated[str, Field(min_length=1)]
    database: Annotated[str, Field(min_length=1)]
    taken_at: Instant
    format: Literal["csv", "parquet", "delta"]
    complete: tuple[str, ...] = ()


def _database_name(value: str) -> str:
    if len(name_parts(value)) != 2:
        raise problem(
            f"{value!r} is no database; write INSTANCE.DATABASE, with a part in brackets that has a dot: "
            "[srv.dom].Orders"
        )
    return value


DatabaseName = Annotated[str, AfterValidator(_database_name)]
"""A database, written INSTANCE.DATABASE."""


class Captures(Shape):
    """A capture, or a folder of captures: each is one snapshot per database, but those left out."""

    path: TablePath
    instance: Annotated[str, Field(min_length=1)] | None = None
    leave_out: tuple[DatabaseName, ...] = ()


def _snapshot_entry(value: object, info: ValidationInfo) -> Snapshot | Captures:
    # Not a union: what is wrong with one form is nothing that the other has to do with.
    is_captures = isinstance(value, dict) and value.keys() <= Captures.model_fields.keys()
    kind: TypeAdapter[Snapshot | Captures] = TypeAdapter(Captures if is_captures else Snapshot)
    return kind.validate_python(value, context=info.context)


SnapshotEntry = Annotated[
    Snapshot | Captures, PlainValidator(_snapshot_entry, json_schema_input_type=Snapshot | Captures)
]
"""Captures, by their path, maybe with an instance or databases to leave out; any other key makes it the views
of one database."""


def _one_or_several(value: object) -> object:
    """A list of names is one database; of several, each has a list of its own."""
    if value in ([], None) or (isinstance(value, list) and [] in value):
        raise problem("names no database; write a list of INSTANCE.DATABASE")
    is_one = isinstance(value, list) and all(isinstance(each, str) for each in value)
    return [value] if is_one else value


Aliased = Annotated[
    tuple[tuple[DatabaseName, ...], ...],
    BeforeValidator(_one_or_several, json_schema_input_type=list[str] | list[list[str]]),
]
"""The databases that are one, or several such lists; the last name of each is its database's."""


def _values(given: object) -> dict[str, str]:
    if not isinstance(given, dict):
        raise problem("is no mapping; write the names of variables and their values: {Level: 9}")
    values: dict[str, str] = {}
    for name, value in given.items():
        if not _VARIABLE_NAME.fullmatch(name):
            raise problem(f"{name!r} is no name of a variable; write letters, digits, _ and -")
        if name.lower() in values:
            raise problem(f"the variable {name!r} stands here twice, whatever its case; remove one")
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise problem(f"the value of {name} is no text; write it in quotes")
        values[name.lower()] = str(value)
    return values


Variables = Annotated[dict[str, str], PlainValidator(_values, json_schema_input_type=dict[str, str | int])]
"""Values of the variables of sqlcmd in rule scripts, $(name), by name in small letters."""


class RuleSource(LocalTimes):
    """A rule file, a folder or a pattern, and what counts for statements that say nothing of their own.

    Or the log of a DDL trigger, with the zone or the offset of its times; else captures show the offset.
    """

    path: LocalPath
    format: Literal["ddl-log"] | None = None
    instance: Annotated[str, Field(min_length=1)] | None = None
    database: Annotated[str, Field(min_length=1)] | None = None
    effective_from: Instant | None = None
    variables: Variables = Field(default_factory=dict)

    @model_validator(mode="after")
    def _times_fit(self) -> "RuleSource":
        if self.format is None and (self.zone or self.offset):
            raise problem("has zone or offset, which only a DDL log has; add format: ddl-log, or remove it")
        if self.format is not None and (self.effective_from or self.variables):
            raise problem("is a DDL log, which has neither effective_from nor variables; remove them")
        return self


class Receive(Shape):
    """The RECEIVE statement: its TOP(n), or None for all ready messages of the group."""

    top: Count | None = None


class Starvation(Shape):
    """Every full after_seconds that a message has been sendable raise its level by raise_by."""

    after_seconds: Seconds
    raise_by: Annotated[int, Field(strict=True, ge=1, le=9)]


class Blocks(Shape):
    """Messages are cut into fragments, and fragments are sent in blocks."""

    fragment_bytes: Count
    fragments: Count


class Transmission(Shape):
    """Two of the live engine's habits, off unless given."""

    starvation: Starvation | None = None
    blocks: Blocks | None = None


class Activation(Shape):
    """How often monitors check, how long an empty result keeps them quiet, how far back a run looks."""

    check_seconds: Seconds = 5.0
    empty_seconds: Annotated[float, Field(strict=True, ge=0, le=1e9)] = 5.0
    window_hours: Annotated[float, Field(strict=True, gt=0, le=1e6)] = 24.0

    @property
    def check(self) -> timedelta:
        """The time between two timer checks."""
        return timedelta(seconds=self.check_seconds)

    @property
    def empty(self) -> timedelta:
        """The age at which an empty result no longer counts."""
        return timedelta(seconds=self.empty_seconds)

    @property
    def window(self) -> timedelta:
        """The length of the replay before as_of."""
        return timedelta(hours=self.window_hours)


class Replay(Shape):
    """How long the work on a message takes where the log says nothing of its queue."""

    default_service_ms: Annotated[int, Field(strict=True, ge=0, le=10**9)] = 100


class Why(Shape):
    """After which wait a queue from which nothing is received counts as stopped."""

    stopped_after: Duration = 600.0


class Quality(Shape):
    """How much may be wrong with the inputs.

    Attributes:
        max_rejected_share: the share of all inputs' rows that may be rejected before the run gives up.
        max_line_bytes: bytes of a line of a text file; a longer one is rejected.
    """

    max_rejected_share: Annotated[float, Field(strict=True, ge=0, le=1)] = 0.01
    max_line_bytes: Annotated[int, Field(strict=True, ge=1024, le=1 << 30)] = LINE_BYTES


class SettingsFile(Shape):
    """The settings file; a section that is missing or null has its defaults.

    Null leaves activation out.
    """

    warehouse: WarehousePlace
    inputs: Inputs
    catalog: LocalPath
    rules: tuple[RuleSource, ...] = ()
    variables: Variables = Field(default_factory=dict)
    receive: Receive = Receive()
    transmission: Transmission = Transmission()
    activation: Activation | None = Activation()
    replay: Replay = Replay()
    quality: Quality = Quality()
    why: Why = Why()
    expect: tuple[ExpectEntry, ...] = ()
    snapshots: tuple[SnapshotEntry, ...] = ()
    aliases: dict[Annotated[str, Field(min_length=1)], Aliased] = Field(default_factory=dict)


class SettingsWithLogs(SettingsFile):
    """The settings file with logs of servers, which may stand for the event inputs."""

    inputs: FewInputs  # type: ignore[assignment]


class SettingsWithSnapshots(SettingsFile):
    """The settings file of a server that is known by its views: events, catalog and rules may be missing."""

    inputs: FewInputs = FewInputs()  # type: ignore[assignment]
    catalog: LocalPath | None = None  # type: ignore[assignment]

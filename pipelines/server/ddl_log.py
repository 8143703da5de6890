"""The log of a DDL trigger: statements that take effect when they were carried out."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

from pipelines.config.clocks import OffsetPeriod, ShownClock, offset_at, offset_periods
from pipelines.config.errors import ConfigError
from pipelines.config.instants import END, FIRST
from pipelines.config.mapping import LocalTimes, offset_seconds
from pipelines.config.nearest import suggest_nearest
from pipelines.rules.statements import (
    CatalogChange,
    Note,
    NoteReason,
    RuleDefaults,
    RuleFile,
    RuleStatement,
    SourceLocation,
)
from pipelines.rules.tsql_rules import read_tsql_text
from pipelines.server.catalog_statements import is_about_catalog, read_catalog_change
from pipelines.text.form import ForeignFileError, detect_form
from pipelines.text.rows import text_rows

COLUMNS = ("PostTime", "DatabaseName", "CommandText")
"""What a log needs; ServerName is taken where it is there."""
EVENT = "<EVENT_INSTANCE>"
ENDINGS = (".csv", ".json", ".jsonl", ".ndjson", ".parquet")
STATEMENT = ("BROKER", "PRIORITY")
"""Words of every statement about rules."""


@dataclass(frozen=True)
class _Row:
    """A row of a log: the line that it stands on, and its values by the names of EVENTDATA()."""

    line: int
    values: Mapping[str, str]


def read_ddl_log(
    path: str,
    local: LocalTimes,
    *,
    instance: str | None = None,
    database: str | None = None,
    clocks: Iterable[ShownClock] = (),
) -> RuleFile:
    """Read the statements about rules, queues, services and contracts of a DDL log, by their times.

    Other statements, and texts that are no T-SQL, are counted and passed over. A row that is there twice
    counts once.

    Args:
        path: the file; its ending says its form.
        local: the zone or the offset of PostTime.
        instance: of rows without ServerName.
        database: of rows without DatabaseName.
        clocks: of captures, for a log with neither zone nor offset.

    Raises:
        ConfigError: the file is no such log, or a row's moment or instance is not known; names the line.
    """
    read = _Statements(path)
    moments = _Moments(local, clocks)
    for row in _rows(path):
        place, text = SourceLocation(path, row.line, 1), row.values.get("CommandText", "")
        if not (is_about_rules(text) or is_about_catalog(text)):
            read.passed_over += 1
            continue
        of = row.values.get("ServerName") or instance
        if not of:
            raise ConfigError(f"{place}: ServerName is empty; name the instance of the log: instance: SQL1")
        moment = moments.of(place, row.values.get("PostTime", ""), of)
        read.take(place, text, moment, of, row.values.get("DatabaseName") or database)
    return read.file()


def is_about_rules(text: str) -> bool:
    """Whether a text may be a statement about rules."""
    upper = text.upper()
    return all(word in upper for word in STATEMENT)


class _Statements:
    """The statements of a log, each once."""

    def __init__(self, path: str) -> None:
        """Name the file."""
        self.passed_over = 0
        self._path = path
        self._rules: dict[tuple[object, ...], list[RuleStatement]] = {}
        self._changes: dict[tuple[object, ...], CatalogChange] = {}
        self._notes: list[Note] = []

    def take(
        self, place: SourceLocation, text: str, moment: datetime, instance: str, database: str | None
    ) -> None:
        """Take a row; a text that is not read is counted and noted."""
        key = (moment, instance, database, text)
        try:
            change = read_catalog_change(place, text, moment=moment, instance=instance, database=database)
            if change is not None:
                self._changes.setdefault(key, change)
                return
            if not is_about_rules(text):
                self.passed_over += 1
                return
            read = read_tsql_text(self._path, text, RuleDefaults(instance, moment, database))
        except ConfigError as error:
            self.passed_over += 1
            reason = str(error).partition("\n")[0].removeprefix(f"{self._path}:")
            said = f"the statement is not read: {reason.partition(': ')[2] or reason}"
            note = Note(NoteReason.NOT_READ, place, said, "correct the row", instance, database or "")
            self._notes.append(note)
            return
        found = [replace(each, location=place) for each in read.statements]
        self.passed_over += not found
        self._rules.setdefault(key, found)

    def file(self) -> RuleFile:
        """All that was taken, by time."""
        rules = [each for several in self._rules.values() for each in several]
        return RuleFile(
            self._path,
            tuple(sorted(rules, key=lambda each: each.effective_from)),
            self.passed_over,
            tuple(self._notes),
            catalog_changes=tuple(sorted(self._changes.values(), key=lambda each: each.moment)),
            is_log=True,
        )


def log_paths(path: str) -> list[str]:
    """The files of a log: the file itself, or those of a folder with an ending of `ENDINGS`, by name."""
    if not os.path.isdir(path):
        return [path]
    return sorted(
        os.path.join(path, name)
        for name in os.listdir(path)
        if name.lower().endswith(ENDINGS) and not name.startswith((".", "_"))
    )


class _Moments:
    """The moments of local times."""

    def __init__(self, local: LocalTimes, clocks: Iterable[ShownClock]) -> None:
        """Take the zone or the offset of the log, or the clocks that captures show."""
        self._local = local
        self._clocks = tuple(clocks)
        self._periods: dict[str, tuple[OffsetPeriod, ...]] = {}

    def of(self, place: SourceLocation, text: str, instance: str) -> datetime:
        """The moment of a PostTime, UTC.

        Raises:
            ConfigError: it is no time, clocks never show it, or the offset is not known.
        """
        try:
            moment = self._in_utc(place, datetime.fromisoformat(text.strip()), instance)
            if not FIRST <= moment < END:
                raise ValueError
            return moment
        except (ValueError, OverflowError):
            raise ConfigError(
                f"{place}: PostTime is {text!r}; write it like 2026-11-20T10:00:00.123"
            ) from None

    def _in_utc(self, place: SourceLocation, moment: datetime, instance: str) -> datetime:
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
        if self._local.offset is not None:
            return (moment - timedelta(seconds=offset_seconds(self._local.offset))).replace(tzinfo=UTC)
        if self._local.zone is None:
            return (moment - timedelta(minutes=self._minutes(place, moment, instance))).replace(tzinfo=UTC)
        zone = ZoneInfo(self._local.zone)
        # Of two instants this is the earlier one.
        found = moment.replace(tzinfo=zone).astimezone(UTC)
        if found.astimezone(zone).replace(tzinfo=None) != moment:
            raise ConfigError(
                f"{place}: PostTime {moment.isoformat()} does not exist in {self._local.zone}; correct zone"
            )
        return found

    def _minutes(self, place: SourceLocation, moment: datetime, instance: str) -> int:
        periods = self._periods.setdefault(instance, offset_periods(self._clocks, instance))
        minutes = offset_at(periods, moment)
        if minutes is None:
            why = "the captures around it show different clocks" if periods else "no capture shows the clock"
            raise ConfigError(
                f"{place}: PostTime is local, and {why} of {instance}; add zone: Europe/Berlin, or offset: "
                "'+02:00', to the log's entry in rules:"
            )
        return minutes


def _rows(path: str) -> Iterator[_Row]:
    ending = os.path.splitext(path)[1].lower()
    if ending not in ENDINGS:
        raise ConfigError(f"{path}: a DDL log is read from {', '.join(ENDINGS)}; export it as one of them")
    try:
        if ending == ".parquet":
            rows = list(_of_parquet(path))
        elif ending == ".csv":
            rows = list(_of_csv(path))
        else:
            rows = list(_of_json(path))
    except (OSError, ValueError, ForeignFileError) as error:
        said = str(error).partition("\n")[0]
        raise ConfigError(f"{path}: it is no whole DDL log ({said}); export it again") from error
    for row in rows:
        xml = next((value for value in row.values.values() if value.lstrip().startswith(EVENT)), None)
        if xml is None:
            _require_columns(path, row.values)
            yield row
        else:
            yield _Row(row.line, _of_event(SourceLocation(path, row.line, 1), xml))


def _require_columns(path: str, there: Mapping[str, str]) -> None:
    lacking = [name for name in COLUMNS if name not in there]
    if lacking:
        raise ConfigError(
            *(f"{path}: column {name} is missing; {suggest_nearest(name, there)}" for name in lacking)
        )


def _of_event(place: SourceLocation, xml: str) -> dict[str, str]:
    try:
        event = ElementTree.fromstring(xml.strip())
    except ElementTree.ParseError as error:
        raise ConfigError(f"{place}: the XML of EVENTDATA() is cut or damaged ({error})") from None
    return {each.tag: (each.text or "").strip() for each in event.iter()}


def _named(line: int, values: Mapping[str, Any]) -> _Row:
    """A row with the names of EVENTDATA(), whatever their case."""
    known = {name.lower(): name for name in (*COLUMNS, "ServerName")}
    texts = {known.get(name.lower(), name): str(value) for name, value in values.items() if value is not None}
    return _Row(line, {**dict.fromkeys((known.get(name.lower(), name) for name in values), ""), **texts})


def _of_csv(path: str) -> Iterator[_Row]:
    with open(path, "rb") as stream:
        form = replace(detect_form(stream.read(), b"", (*COLUMNS, "EventData")), has_breaks=True)
        stream.seek(0)
        for row in text_rows(stream, form):
            values = row.values()
            if len(values) != len(form.header):
                raise ValueError(f"line {row.line} has {len(values)} of {len(form.header)} columns")
            yield _named(row.line, dict(zip(form.header, values, strict=True)))


def _of_json(path: str) -> Iterator[_Row]:
    with open(path, encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                try:
                    row = json.loads(line)
                except ValueError:
                    raise ValueError(f"line {number} is cut or damaged") from None
                if not isinstance(row, dict):
                    raise ValueError(f"line {number} is no JSON object")
                yield _named(number, row)


def _of_parquet(path: str) -> Iterator[_Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(path).to_pylist()
    except pa.ArrowException as error:
        raise ValueError(str(error)) from error
    for number, row in enumerate(rows, start=1):
        yield _named(number, row)

"""Rows of a log that are odd: in each format they are counted, rejected or refused in the same way."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.config.errors import InputError
from pipelines.config.model import LogSource
from pipelines.ingest.logs import count_classes, map_log
from pipelines.ingest.reasons import with_reasons
from pipelines.settings.log_names import LogNames
from pipelines.storage.inputs.listing import InputFile
from pipelines.storage.inputs.log_rows import LogReading, read_log
from pipelines.storage.inputs.text import compute_once
from tests.support.inputs import write_rows

FORMATS = ("csv", "json", "delta")
Values = dict[str, Any]
ENDED: Values = {
    "EventClass": 124,
    "EventSubClass": 2,
    "StartTime": "2026-11-20 10:00:00.123",
    "ServerName": "SQL1",
    "DatabaseID": 5,
    "ObjectName": "H1",
    "RoleName": "target",
    "GUID": "C1",
    "LineNumber": 7,
    "TransactionID": 900,
    "EventSequence": 12,
}
STARTED: Values = {
    **{name: ENDED[name] for name in ("StartTime", "ServerName", "DatabaseID")},
    "EventClass": 163,
    "EventSubClass": 1,
    "ObjectID": 77,
    "IntegerData": 3,
}


class Log:
    """A trace in a folder, in one format."""

    def __init__(self, spark: SparkSession, folder: Path, format: str) -> None:
        self.spark, self.folder, self.format = spark, folder, format
        given = {
            "path": str(folder),
            "format": format,
            "mapping": "sql-trace",
            "zone": "Europe/Berlin",
            "databases": {5: "Claims"},
            "queues": {77: "Intake"},
        }
        self.reading = LogReading("logs/trace", LogSource.model_validate(given), LogNames())

    @property
    def is_text(self) -> bool:
        return self.format in ("csv", "json")

    def write(self, *rows: Values) -> Path:
        """Write rows; a value that some row lacks is null."""
        return write_rows(self.folder / f"1.{self.format}", rows)

    def read(self) -> DataFrame:
        version = 0 if self.format == "delta" else None
        file = InputFile("logs/trace", str(self.folder / f"1.{self.format}"), version=version)
        return read_log(self.spark, self.reading, [file], max_line_bytes=1_000_000)

    def rows(self, table: str) -> list[Values]:
        """The mapped rows of a table with their reasons, by their time and what is broken."""
        raw = self.read()
        mapped = map_log(compute_once(raw, raw.columns), self.reading, table, has_broken=True)
        contract = self.reading.whole(table).contract
        found = with_reasons(mapped, contract, is_mapped=True).drop("event_time").collect()
        return sorted((row.asDict() for row in found), key=lambda row: (str(row["reasons"]), str(row)))


@pytest.fixture(params=FORMATS)
def log(session: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Log:
    return Log(session, tmp_path, request.param)


def values(row: Values, *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def test_numbers_with_a_point_and_blank_texts(log: Log) -> None:
    """Tools write whole numbers with a point where a column has nulls, and empty texts for nulls."""

    def exported(row: Values) -> Values:
        return {name: float(value) if isinstance(value, int) else value for name, value in row.items()}

    blank = {"MethodName": "", "FileName": " "}
    log.write(exported(ENDED | blank), exported(STARTED), exported(ENDED | {"TransactionID": None}))
    ended, alone = sorted(log.rows("endpoint_events"), key=lambda row: row["transaction"] is None)
    names = ("database", "conversation_group_id", "logged_priority", "transaction", "sequence", "reasons")
    assert values(ended, *names) == ("Claims", None, 7, "900", "12", None)
    assert alone["transaction"] is None
    [started] = log.rows("queue_events")
    of_queue = ("database", "queue", "running_tasks", "class", "reasons")
    assert values(started, *of_queue) == ("Claims", "Intake", 3, "163_1", None)


def test_classes_and_subclasses_that_no_event_has_are_counted(log: Log) -> None:
    unknown: list[Values] = [
        {"EventClass": 12},
        {"EventClass": 124, "EventSubClass": 99},
        {"EventClass": None},
    ]
    log.write(ENDED, *[ENDED | each for each in unknown], ENDED | {"EventClass": 140})
    counts = count_classes(log.read(), log.reading)
    assert counts == {"other_events": 3, "forwarding_dropped": 1}
    assert len(log.rows("endpoint_events")) == 1


OVERFLOWS = {
    "LineNumber": (3_000_000_000, "unreadable_logged_priority"),
    "StartTime": ("99999-01-01 00:00:00", "event_time_out_of_range"),
}


def test_values_that_are_too_large_are_unreadable(log: Log) -> None:
    log.write(*[ENDED | {name: value} for name, (value, _) in OVERFLOWS.items()])
    assert [row["reasons"] for row in log.rows("endpoint_events")] == sorted(
        reason for _, reason in OVERFLOWS.values()
    )
    log.folder = log.folder / "tasks"
    log.folder.mkdir()
    log.write(STARTED | {"IntegerData": "18446744073709551616"})
    assert [row["reasons"] for row in log.rows("queue_events")] == ["unreadable_running_tasks"]


def test_a_file_that_lacks_the_class_is_refused_with_the_nearest_name(log: Log) -> None:
    log.write({("EventClas" if name == "EventClass" else name): value for name, value in ENDED.items()})
    with pytest.raises(
        InputError, match="column EventClass of the mapping is not there; did you mean 'EventClas'"
    ):
        log.read()


def test_a_last_row_that_is_half_written(log: Log) -> None:
    """A line is a rejected row; a file that has its columns at its end can't be read at all."""
    path = log.write(ENDED, STARTED)
    content = path.read_bytes()
    if log.is_text:
        path.write_bytes(content[:-8])
        assert [row["reasons"] for row in log.rows("endpoint_events")] == ["broken_row", None][::-1]
    else:
        path.write_bytes(content[: len(content) // 2])
        with pytest.raises(Exception, match=r"(?i)parquet"):
            log.rows("endpoint_events")


LOCAL = datetime(2026, 11, 20, 10, 0, 0, 123000)
EARLIER = LOCAL - timedelta(hours=1)


def write_times(log: Log, type: pa.DataType) -> None:
    """Write a row whose time has a type."""
    row = {name: [value] for name, value in ENDED.items() if name != "StartTime"}
    times = pa.array([LOCAL.replace(tzinfo=UTC) if type.tz else LOCAL], type)
    pq.write_table(pa.table({**row, "StartTime": times}), log.folder / "1.parquet")


@pytest.mark.parametrize(
    ("type", "expected"),
    [
        (pa.timestamp("us"), EARLIER),
        (pa.timestamp("ms"), EARLIER),
        (pa.timestamp("us", "UTC"), LOCAL),
        (pa.timestamp("us", "Europe/Berlin"), LOCAL),
    ],
)
def test_a_time_whose_type_has_no_zone_is_local(
    session: SparkSession, tmp_path: Path, type: pa.DataType, expected: datetime
) -> None:
    log = Log(session, tmp_path, "parquet")
    write_times(log, type)
    [found] = map_log(log.read(), log.reading, "endpoint_events", has_broken=True).collect()
    assert found["event_time"] == expected


def test_times_in_nanoseconds_are_refused(session: SparkSession, tmp_path: Path) -> None:
    log = Log(session, tmp_path, "parquet")
    write_times(log, pa.timestamp("ns"))
    with pytest.raises(InputError) as error:
        log.read()
    assert str(error.value) == (
        "logs/trace has files that can't be read; write these again:\n"
        f"  {tmp_path}/1.parquet: column StartTime is timestamp[ns], which no engine reads; write it as "
        "timestamp[us]"
    )

"""Event files of every format: what is read, what is unreadable, and what stops the run."""

import csv
import json
import re
from collections.abc import Iterable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Row as SparkRow, SparkSession, functions as F

from pipelines.errors import InputError
from schemas import CONTRACTS
from storage.event_files import read_files, require_columns
from tests.factories import FACTORIES, Row, endpoint_event, message_event, queue_event

ARROW = {
    "string": pa.string(),
    "timestamp": pa.timestamp("us", "UTC"),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
}
JSON_SAMPLES = {
    "a string": ("text", ("string", "timestamp")),
    "a number": (7, ("int", "bigint")),
    "a fraction": (7.5, ()),
    "a boolean": (True, ("boolean",)),
    "an object": ({"a": 1}, ()),
    "an array": ([1], ()),
}
"""Values of every JSON type, and the column types that they are right for."""


def text(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


def line(row: Row) -> str:
    return json.dumps(row, default=text, ensure_ascii=False)


def values(found: Iterable[SparkRow], *columns: str) -> list[Any]:
    """One value a row where one column is asked for, else one tuple a row."""
    rows = [tuple(row[column] for column in columns) for row in found]
    return [row[0] for row in rows] if len(columns) == 1 else rows


class Folder:
    """Reads files that a test has written to its own folder."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.spark, self.path = spark, path

    def json(self, source: str, lines: Iterable[str]) -> list[SparkRow]:
        path = self.path / "events.jsonl"
        path.write_text("".join(f"{one}\n" for one in lines))
        return read_files(self.spark, CONTRACTS[source], "json", [str(path)]).collect()

    def csv_file(self, name: str, header: list[str], *rows: list[str]) -> str:
        with (self.path / name).open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])
        return str(self.path / name)

    def csv(self, source: str, *paths: str) -> list[SparkRow]:
        return read_files(self.spark, CONTRACTS[source], "csv", list(paths)).collect()

    def parquet_file(self, name: str, source: str, rows: list[Row], **types: pa.DataType | None) -> str:
        """The rows as Parquet; `types` changes the type of columns, None leaves one out."""
        declared = {column.name: ARROW[column.type] for column in CONTRACTS[source].columns} | types
        schema = pa.schema([(column, type) for column, type in declared.items() if type is not None])
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), self.path / name)
        return str(self.path / name)

    def parquet(self, source: str, *paths: str) -> list[SparkRow]:
        return read_files(self.spark, CONTRACTS[source], "parquet", list(paths)).collect()


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Folder:
    return Folder(spark, tmp_path)


def declared(source: str, row: Row) -> tuple[object, ...]:
    """The row's values as a collected row has them: naive UTC."""
    in_utc = {
        name: value.replace(tzinfo=None) if isinstance(value, datetime) else value
        for name, value in row.items()
    }
    return tuple(in_utc[name] for name in CONTRACTS[source].names)


@pytest.mark.parametrize("source", CONTRACTS)
def test_json_rows_are_read_with_their_types(folder: Folder, source: str) -> None:
    row = FACTORIES[source]()
    (found,) = folder.json(source, [line(row)])
    assert tuple(found)[: len(row)] == declared(source, row)
    assert (found.broken, found.unreadable, found.mistyped) == (False, [], [])
    assert found.raw == line(row)


@pytest.mark.parametrize("source", CONTRACTS)
def test_json_values_of_another_type_are_listed_for_every_column(folder: Folder, source: str) -> None:
    expected, lines = [], []
    for column in CONTRACTS[source].columns:
        for value, right_for in JSON_SAMPLES.values():
            lines.append(line({**FACTORIES[source](), column.name: value}))
            expected.append([] if column.type in right_for else [column.name])
    found = folder.json(source, lines)
    named = [
        [re.findall(r"field (\w+) is", problem)[0] for problem in problems]
        for problems in values(found, "mistyped")
    ]
    assert named == expected


def test_json_says_what_was_found_and_what_it_must_be(folder: Folder) -> None:
    (found,) = folder.json("message_events", [line(message_event(size_bytes="100", sent_by_initiator=1))])
    assert sorted(found.mistyped) == [
        f"file:{folder.path}/events.jsonl: field sent_by_initiator is a JSON bigint; it must be boolean",
        f"file:{folder.path}/events.jsonl: field size_bytes is a JSON string; it must be bigint",
    ]
    assert (found.size_bytes, found.sent_by_initiator, found.message_id) == (None, None, "c1/0")


def test_json_absent_and_null_fields_are_null(folder: Folder) -> None:
    row = message_event()
    absent = {name: value for name, value in row.items() if name not in ("size_bytes", "event_time")}
    found = folder.json(
        "message_events", [line(absent), line(row | {"size_bytes": None, "event_time": None})]
    )
    assert values(found, "size_bytes", "event_time", "unreadable", "mistyped") == [(None, None, [], [])] * 2


def test_json_extra_fields_are_ignored_and_names_are_compared_exactly(folder: Folder) -> None:
    (found,) = folder.json(
        "message_events", [line({**message_event(size_bytes=None), "Size_Bytes": 7, "comment": {"a": [1]}})]
    )
    assert (found.size_bytes, found.mistyped) == (None, [])


def test_json_timestamps(folder: Folder) -> None:
    moments = {
        "2026-11-20T12:00:00.123456Z": datetime(2026, 11, 20, 12, 0, 0, 123456),
        "2026-11-20T12:00:00+02:00": datetime(2026, 11, 20, 10),
        "2026-11-20 12:00:00": datetime(2026, 11, 20, 12),
        "2026-11-20": datetime(2026, 11, 20),
    }
    found = folder.json("message_events", [line(message_event(event_time=text)) for text in moments])
    assert dict(zip(moments, values(found, "event_time"), strict=True)) == moments
    assert values(found, "unreadable") == [[]] * 4


def test_json_timestamps_that_are_none(folder: Folder) -> None:
    texts = ["yesterday", "", "now", "2026-02-30T00:00:00Z", "2026-11-20T25:00:00Z", "20.11.2026"]
    found = folder.json("message_events", [line(message_event(event_time=text)) for text in texts])
    verdicts = zip(texts, values(found, "event_time", "unreadable", "mistyped"), strict=True)
    assert dict(verdicts) == dict.fromkeys(texts, (None, ["event_time"], []))


@pytest.mark.parametrize("format", ["json", "csv"])
def test_a_time_without_a_day_is_no_timestamp(folder: Folder, format: str) -> None:
    rows = [message_event(event_time="12:30:00"), message_event(event_time="T12:30")]
    if format == "json":
        found = folder.json("message_events", map(line, rows))
    else:
        found = folder.csv("message_events", folder.csv_file("a.csv", *csv_rows("message_events", *rows)))
    assert values(found, "event_time", "unreadable") == [(None, ["event_time"])] * 2


def test_json_number_beyond_its_column_is_unreadable(folder: Folder) -> None:
    (found,) = folder.json("endpoint_events", [line(endpoint_event(logged_priority=2**31))])
    assert (found.logged_priority, found.unreadable) == (None, ["logged_priority"])


GOOD = line(message_event())


BROKEN = {
    "garbage": "not json",
    "cut off": GOOD[:-10],
    "array": f"[{GOOD}]",
    "empty array": "[]",
    "null": "null",
    "string": '"text"',
    "number": "5",
    "two objects": f"{GOOD} {GOOD}",
    "two objects and a comma": f"{GOOD},{GOOD}",
    "object and null": f"{GOOD}, null",
    "trailing text": f"{GOOD} trailing",
    "two objects and a bracket": f"{GOOD}, {GOOD}]",
    "a key twice": GOOD[:-1] + ', "event_id": "other"}',
    "single quotes": GOOD.replace('"', "'"),
    "NaN": GOOD.replace("100", "NaN"),
}


def test_json_lines_that_are_not_one_object_are_broken(folder: Folder) -> None:
    found = folder.json("message_events", [GOOD, *BROKEN.values(), GOOD])
    assert values(found, "broken")[0] is values(found, "broken")[-1] is False
    verdicts = values(found[1:-1], "broken", "raw", "event_id", "unreadable", "mistyped")
    expected = {name: (True, written, None, [], []) for name, written in BROKEN.items()}
    assert dict(zip(BROKEN, verdicts, strict=True)) == expected


def test_json_line_with_a_bracket_behind_its_object_is_broken(folder: Folder) -> None:
    found = folder.json("message_events", [f"{GOOD}]", f"{GOOD}] trailing", f"{GOOD}] {GOOD}"])
    assert values(found, "broken") == [True, True, True]


def test_json_blank_lines_are_skipped(folder: Folder) -> None:
    assert values(folder.json("message_events", ["", GOOD, "   ", GOOD, ""]), "raw") == [GOOD, GOOD]


NAMES = {
    "trailing blank": "Orders ",
    "leading blank": " Orders",
    "empty": "",
    "composed": "\u00d3rders",
    "decomposed": "O\u0301rders",
    "beyond UCS-2": "\U0001f600\uff5e",
    "quotes and a backslash": 'a "quoted", name \\',
    "control characters": "a\ttab\nand a line",
    "the word null": "null",
}


def test_json_text_is_kept_as_it_is(folder: Folder) -> None:
    found = folder.json("endpoint_events", [line(endpoint_event(contract=name)) for name in NAMES.values()])
    assert dict(zip(NAMES, values(found, "contract"), strict=True)) == NAMES


def test_json_line_ends_of_windows(folder: Folder) -> None:
    found = folder.json("message_events", [f"{GOOD}\r", f"{GOOD}\r"])
    assert values(found, "broken", "raw") == [(False, GOOD)] * 2


@pytest.mark.parametrize("format", ["json", "csv"])
def test_byte_order_mark_is_no_part_of_the_text(folder: Folder, format: str) -> None:
    plain = folder.csv_file("events.csv", *csv_rows("message_events", message_event()))
    content = GOOD if format == "json" else Path(plain).read_text()
    marked = folder.path / "marked"
    marked.write_text("\ufeff" + content)
    (found,) = read_files(folder.spark, CONTRACTS["message_events"], format, [str(marked)]).collect()
    assert (found.broken, found.event_id) == (False, "SENT c1/0 True")


@pytest.mark.parametrize("name", ["night[1].jsonl", "night{a,b}.jsonl", "night*.jsonl"])
def test_file_names_are_no_patterns(folder: Folder, name: str) -> None:
    (folder.path / name).write_text(GOOD)
    (folder.path / "night1.jsonl").write_text(f"{GOOD}\n{GOOD}")
    found = read_files(folder.spark, CONTRACTS["message_events"], "json", [f"file:{folder.path}/{name}"])
    assert found.count() == 1


def csv_rows(source: str, *rows: Row) -> list[list[str]]:
    """Header and rows, null as nothing."""
    names = CONTRACTS[source].names
    return [
        names,
        *(["" if row[name] is None else str(text(row[name])) for name in names] for row in rows),
    ]


@pytest.mark.parametrize("source", CONTRACTS)
def test_csv_rows_are_read_with_their_types(folder: Folder, source: str) -> None:
    row = FACTORIES[source]()
    (found,) = folder.csv(source, folder.csv_file("a.csv", *csv_rows(source, row)))
    assert tuple(found)[: len(row)] == declared(source, row)
    assert (found.broken, found.unreadable, found.mistyped) == (False, [], None)


def test_csv_columns_go_by_the_header_of_their_own_file(folder: Folder) -> None:
    header, row = csv_rows("message_events", message_event(size_bytes=1))
    _, other = csv_rows("message_events", message_event(size_bytes=2))
    first = folder.csv_file("a.csv", header, row)
    second = folder.csv_file("b.csv", ["comment", *header[::-1]], ["extra", *other[::-1]])
    found = folder.csv("message_events", first, second)
    assert sorted(values(found, "message_id", "size_bytes", "broken")) == [
        ("c1/0", 1, False),
        ("c1/0", 2, False),
    ]


def test_csv_missing_columns_of_all_files_are_listed(folder: Folder) -> None:
    header, row = csv_rows("message_events", message_event())
    first = folder.csv_file("a.csv", header[2:], row[2:])
    second = folder.csv_file("b.csv", header, row)
    third = folder.csv_file("c.csv", header[:-1], row[:-1])
    with pytest.raises(InputError) as caught:
        folder.csv("message_events", first, second, third)
    assert str(caught.value).splitlines() == [
        "message_events breaks its contract; write these anew:",
        f"  {first}:1: column event_id is missing in the header",
        f"  {first}:1: column event_time is missing in the header",
        f"  {third}:1: column transaction_id is missing in the header",
    ]


def test_csv_rows_of_another_width_are_broken(folder: Folder) -> None:
    header, row = csv_rows("message_events", message_event())
    path = folder.csv_file("a.csv", header, row, row[:-1], [*row, "more"], row)
    found = folder.csv("message_events", path)
    assert values(found, "broken") == [False, True, True, False]
    assert values(found, "event_id") == ["SENT c1/0 True", None, None, "SENT c1/0 True"]
    assert values(found, "raw")[1:3] == [",".join(row[:-1]), ",".join([*row, "more"])]


def test_csv_values_that_are_none_of_their_column(folder: Folder) -> None:
    cases = [
        ("size_bytes", "many"),
        ("size_bytes", "1.5"),
        ("size_bytes", str(2**63)),
        ("sent_by_initiator", "perhaps"),
        ("event_time", "yesterday"),
    ]
    header, good = csv_rows("message_events", message_event())
    rows = [
        [written if name == column else old for name, old in zip(header, good, strict=True)]
        for column, written in cases
    ]
    found = folder.csv("message_events", folder.csv_file("a.csv", header, *rows))
    verdicts = [
        (row.broken, row.unreadable, row[column]) for row, (column, _) in zip(found, cases, strict=True)
    ]
    assert verdicts == [(False, [column], None) for column, _ in cases]
    assert [json.loads(row.raw)[column] for row, (column, _) in zip(found, cases, strict=True)] == [
        written for _, written in cases
    ]


def test_csv_quoted_fields(folder: Folder) -> None:
    name = 'a "quoted", name \\ with a backslash '
    header, row = csv_rows("message_events", message_event(message_type=name))
    (found,) = folder.csv("message_events", folder.csv_file("a.csv", header, row))
    assert (found.broken, found.message_type) == (False, name)


def test_parquet_rows_are_read_with_their_types(folder: Folder) -> None:
    row = queue_event(has_where=True, row_count=2**40)
    (found,) = folder.parquet("queue_events", folder.parquet_file("a.parquet", "queue_events", [row]))
    assert tuple(found)[: len(row)] == declared("queue_events", row)
    assert (found.broken, found.unreadable, found.mistyped, found.raw) == (False, None, None, None)


def test_parquet_narrower_numbers_and_extra_columns_are_accepted(folder: Folder) -> None:
    wide = folder.parquet_file("a.parquet", "queue_events", [queue_event(session_id=2**40)], extra=pa.int8())
    narrow = folder.parquet_file(
        "b.parquet", "queue_events", [queue_event(session_id=51)], session_id=pa.int32(), row_count=pa.int16()
    )
    assert sorted(values(folder.parquet("queue_events", wide, narrow), "session_id")) == [51, 2**40]


def test_parquet_differences_of_all_files_are_listed(folder: Folder) -> None:
    good = folder.parquet_file("a.parquet", "queue_events", [queue_event()])
    lacking = folder.parquet_file("b.parquet", "queue_events", [queue_event()], queue=None, has_where=None)
    wrong = folder.parquet_file(
        "c.parquet",
        "queue_events",
        [],
        event_time=pa.date32(),
        session_id=pa.float64(),
        row_count=pa.string(),
    )
    broken = folder.path / "d.parquet"
    broken.write_bytes(Path(good).read_bytes()[:200])
    with pytest.raises(InputError) as caught:
        folder.parquet("queue_events", good, lacking, wrong, str(broken))
    lines = str(caught.value).splitlines()
    assert lines[:6] == [
        "queue_events breaks its contract; write these anew:",
        f"  {lacking}: column queue is missing; it must be string",
        f"  {lacking}: column has_where is missing; it must be boolean",
        f"  {wrong}: column event_time is date; it must be timestamp",
        f"  {wrong}: column session_id is double; it must be bigint",
        f"  {wrong}: column row_count is string; it must be bigint",
    ]
    assert len(lines) == 7
    assert lines[6].startswith(f"  {broken}: not a readable Parquet file (")


def test_parquet_timestamps_without_a_zone_are_another_type(folder: Folder) -> None:
    path = folder.parquet_file("a.parquet", "queue_events", [], event_time=pa.timestamp("us"))
    with pytest.raises(InputError, match="column event_time is timestamp_ntz; it must be timestamp"):
        folder.parquet("queue_events", path)


def test_delta_rows_are_read_with_their_types(spark: SparkSession) -> None:
    contract = CONTRACTS["message_events"]
    types = ", ".join(f"`{column.name}` {column.type}" for column in contract.columns)
    given = spark.createDataFrame([message_event()], types).withColumn("size_bytes", F.lit(7).cast("int"))
    (found,) = read_files(spark, contract, "delta", [], given).collect()
    assert found.event_time == datetime(2026, 11, 20, 12, 1)
    assert (found.size_bytes, found.broken, found.raw) == (7, False, None)


def test_delta_differences_are_listed(spark: SparkSession) -> None:
    found = spark.createDataFrame(
        [("e", date(2026, 11, 20), 5)], "event_id string, event_time date, queue int"
    )
    with pytest.raises(InputError) as caught:
        require_columns(CONTRACTS["queue_events"], found.schema, "somewhere")
    lines = str(caught.value).splitlines()
    assert "  somewhere: column event_time is date; it must be timestamp" in lines
    assert "  somewhere: column queue is int; it must be string" in lines
    assert "  somewhere: column database is missing; it must be string" in lines
    assert len(lines) == 1 + 2 + 9

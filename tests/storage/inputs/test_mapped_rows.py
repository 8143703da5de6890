"""Rows of tables that people have, as rows of a contract."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession, functions as F

from pipelines.config.errors import InputError
from pipelines.config.model import EventSource
from pipelines.ingest.reasons import with_reasons
from pipelines.storage.inputs.listing import InputFile
from pipelines.storage.inputs.mapped_rows import mapping_of, with_numbered_ids
from pipelines.storage.inputs.read import read_input
from schemas import CONTRACTS
from tests.support.inputs import write_rows

SOURCE = "message_events/audit"
COLUMNS = {
    "event_time": "At",
    "event_type": {"value": "RECEIVED"},
    "instance": {"value": "SQL1"},
    "database": {"value": "Claims"},
    "conversation_id": "Conversation",
    "sent_by_initiator": {"from": "Side", "values": {"I": True, "T": False}},
    "message_sequence_number": "Number",
    "message_type": {"from": "Type", "values": {"1": "Request", "2": "Reply"}, "other": "Other"},
    "size_bytes": {"from": "Body", "length": "bytes"},
}
HEADER = ("At", "Conversation", "Side", "Number", "Type", "Body")
NUMBER = "message_sequence_number"
ROW = ("2026-11-20 10:00:00", "C1", "I", "0", "1", "abc")


class Source:
    """A mapped source in a folder."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder

    def csv(self, *rows: Sequence[str], name: str = "1.csv", header: Sequence[str] = HEADER) -> InputFile:
        """A CSV file of rows."""
        path = self.folder / name
        path.write_text("".join(",".join(row) + "\n" for row in (header, *rows)))
        return InputFile(SOURCE, str(path))

    def read(self, *files: InputFile, format: Any = "csv", **changes: Any) -> list[dict[str, Any]]:
        """The mapped rows by their time and number; `changes` are keys of the source."""
        given = {"path": str(self.folder), "format": format, "columns": COLUMNS, **changes}
        mapping = mapping_of(SOURCE, EventSource.model_validate(given))
        assert mapping is not None
        rows = read_input(self.spark, CONTRACTS["message_events"], format, files, mapping=mapping)
        if not mapping.has_ids:
            rows = with_numbered_ids(rows, lambda frame: frame)
        return sorted(
            (row.asDict() for row in rows.drop("file").collect()),
            key=lambda row: (str(row["event_time"]), str(row[NUMBER]), row["event_id"]),
        )


@pytest.fixture
def source(session: SparkSession, tmp_path: Path) -> Source:
    return Source(session, tmp_path)


def column(rows: Sequence[dict[str, Any]], name: str) -> list[Any]:
    return [row[name] for row in rows]


def test_a_column_is_taken_translated_measured_or_constant(source: Source) -> None:
    [row] = source.read(source.csv(ROW))
    assert {name: value for name, value in row.items() if value is not None} == {
        "event_id": row["event_id"],
        "event_time": datetime(2026, 11, 20, 10),
        "event_type": "RECEIVED",
        "instance": "SQL1",
        "database": "Claims",
        "conversation_id": "C1",
        "sent_by_initiator": True,
        "message_sequence_number": 0,
        "message_type": "Request",
        "size_bytes": 3,
        "broken": False,
    }


def test_values_compare_as_short_text_and_bodies_are_measured_in_bytes(source: Source) -> None:
    types = {"1": "Request", " 2 ": "Reply", "1.0": "Request", "7": "Other", "": None, "NULL": None}
    bodies = {"abc": 3, "hé": 3, "0x": 0, "0x3C00": 2, "0x3C0": 5, "": None}
    rows = [
        (*ROW[:3], str(number), type, body)
        for number, (type, body) in enumerate(zip(types, bodies, strict=True))
    ]
    found = source.read(source.csv(*rows))
    assert column(found, "message_type") == list(types.values())
    assert column(found, "size_bytes") == list(bodies.values())


@pytest.mark.parametrize(
    ("of_side", "of_type", "kept"),
    [
        ({"is": ["T", None]}, {"is_not": ["1"]}, ["-", "-2", "T", "T2"]),
        ({"is_not": ["I", None]}, {"is": None}, ["T"]),
    ],
)
def test_where_says_which_rows_count(
    source: Source, of_side: dict[str, Any], of_type: dict[str, Any], kept: list[str]
) -> None:
    """Of rows with all sides and types, none among them."""
    pairs = list(product(("", "I", "T"), ("", "1", "2")))
    rows = [(*ROW[:2], side, str(number), type, "") for number, (side, type) in enumerate(pairs)]
    where = [{"from": "Side", **of_side}, {"from": "Type", **of_type}]
    found = [pairs[number] for number in column(source.read(source.csv(*rows), where=where), NUMBER)]
    assert [(side or "-") + type for side, type in found] == kept


LOCAL_TIMES = {
    "2026-11-20 10:00:00.1234567": ("2026-11-20 09:00:00.123456", None),
    "2026-07-01 10:00:00": ("2026-07-01 08:00:00", None),
    "2026-10-25 01:59:59": ("2026-10-24 23:59:59", None),
    "2026-10-25 02:30:00": ("2026-10-25 00:30:00", "ambiguous_time"),
    "2026-10-25 03:00:00": ("2026-10-25 02:00:00", None),
    "2026-03-29 01:59:59": ("2026-03-29 00:59:59", None),
    "2026-03-29 02:30:00": ("None", "time_does_not_exist"),
    "2026-03-29 03:00:00": ("2026-03-29 01:00:00", None),
    "2026-11-20T10:00:00Z": ("2026-11-20 10:00:00", "zone_ignored"),
    "2026-11-20 10:00:00.5 -05:00": ("2026-11-20 15:00:00.500000", "zone_ignored"),
}


def test_local_times_and_times_with_an_offset(source: Source) -> None:
    rows = [(written, *ROW[1:3], str(number), *ROW[4:]) for number, written in enumerate(LOCAL_TIMES)]
    file = source.csv(*rows)
    found = source.read(file, zone="Europe/Berlin")
    notes = {row[NUMBER]: (str(row["event_time"]), row["time_note"]) for row in found}
    assert [notes[number] for number in range(len(rows))] == list(LOCAL_TIMES.values())
    assert set(column(found, "unreadable")) == {None}
    columns = COLUMNS | {"event_time": {"from": "At", "offset": "+05:30"}}
    found = source.read(file, columns=columns)
    notes = {row[NUMBER]: (str(row["event_time"]), row["time_note"]) for row in found}
    assert notes[1] == ("2026-07-01 04:30:00", None)
    assert notes[8] == ("2026-11-20 10:00:00", "zone_ignored")


def test_what_cannot_be_read_is_kept_as_it_was_written_but_no_body(source: Source) -> None:
    [row] = source.read(source.csv(("yesterday", "C1", "I", "x", "1", "secret")))
    assert row["unreadable"] == "message_sequence_number,event_time"
    assert json.loads(row["payload"]) == {
        "event_time": "yesterday",
        "event_type": "RECEIVED",
        "instance": "SQL1",
        "database": "Claims",
        "conversation_id": "C1",
        "sent_by_initiator": "true",
        "message_sequence_number": "x",
        "message_type": "Request",
        "size_bytes": "6",
    }


@pytest.mark.slow
def test_ids_of_equal_rows(source: Source) -> None:
    """A row that two files have 2 and 3 times is 3 events; spellings of ids and times make no other one."""
    guid = "0a1b2c3d-1111-1111-1111-111111111111"
    row, later = (ROW[0], guid, *ROW[2:]), ("2026-11-20 11:00:00", *ROW[1:])
    same = ("2026-11-20T10:00:00.000Z", guid.upper(), "I", "0", "1.0", "xyz")
    found = source.read(source.csv(row, row, later), source.csv(same, same, same, name="2.csv"))
    assert (len(found), len(set(column(found, "event_id")))) == (6, 4)


def test_columns_may_be_called_anything(source: Source) -> None:
    header = ("raw", "file", "broken", "a.b`c", "types", "fields")
    odd = dict(zip(HEADER, header, strict=True))
    columns = COLUMNS | {
        "event_time": odd["At"],
        "conversation_id": odd["Conversation"],
        "sent_by_initiator": {"from": odd["Side"], "values": {"I": True, "T": False}},
        "message_sequence_number": odd["Number"],
        "message_type": {"from": odd["Type"], "values": {"1": "Request"}},
        "size_bytes": {"from": odd["Body"], "length": "bytes"},
    }
    [of_csv] = source.read(source.csv(ROW, header=header), columns=columns)
    path = source.folder / "1.jsonl"
    path.write_text(json.dumps(dict(zip(header, ROW, strict=True))) + "\n")
    [of_json] = source.read(InputFile(SOURCE, str(path)), format="json", columns=columns)
    pq.write_table(pa.Table.from_pylist([dict(zip(header, ROW, strict=True))]), path)
    [of_parquet] = source.read(InputFile(SOURCE, str(path)), format="parquet", columns=columns)
    assert of_csv == of_json == of_parquet
    assert of_csv["message_type"] == "Request"


def test_json_values_are_texts_of_themselves(source: Source) -> None:
    path = source.folder / "1.jsonl"
    rows = [
        {"At": ROW[0], "Conversation": "C1", "Side": "I", "Number": 7.0, "Type": 1, "Body": "abc"},
        {"At": ROW[0], "Conversation": "C1", "Side": "I", "Number": 8, "Type": 2.0},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "[1]\n")
    found = source.read(InputFile(SOURCE, str(path)), format="json")
    assert column(found, NUMBER) == [7, 8, None]
    assert column(found, "message_type") == ["Request", "Reply", None]
    assert column(found, "size_bytes") == [3, None, None]
    assert column(found, "broken") == [False, False, True]


@pytest.mark.parametrize("format", ["parquet", "delta"])
def test_typed_values_are_texts_of_themselves(source: Source, format: str) -> None:
    table = pa.table(
        {
            "At": pa.array([datetime(2026, 11, 20, 10), datetime(2026, 11, 20, 11)], pa.timestamp("us")),
            "Conversation": ["C1", "C1"],
            "Side": [True, False],
            "Number": pa.array([3.0, 4.0]),
            "Type": pa.array([Decimal("1.00"), Decimal("2.00")], pa.decimal128(9, 2)),
            "Body": pa.array([b"\x00\x01", "hé".encode()]),
        }
    )
    path = source.folder / "table"
    if format == "parquet":
        pq.write_table(table, path)
    else:
        write_deltalake(path, table)
    file = InputFile(SOURCE, str(path), version=None if format == "parquet" else 0)
    columns = COLUMNS | {"sent_by_initiator": {"from": "Side", "values": {"true": True, "false": False}}}
    found = source.read(file, format=format, zone="Europe/Berlin", columns=columns)
    names = ("event_time", "sent_by_initiator", "message_sequence_number", "message_type", "size_bytes")
    assert [tuple(row[name] for name in names) for row in found] == [
        (datetime(2026, 11, 20, 9), True, 3, "Request", 2),
        (datetime(2026, 11, 20, 10), False, 4, "Reply", 3),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("zone", "end", "id"), [(None, "", {"event_id": "Id"}), ("Asia/Tokyo", "Z", {})])
def test_typed_values_and_their_texts_are_the_same_rows(
    source: Source, zone: str | None, end: str, id: dict[str, str]
) -> None:
    """Also from files of one source that differ in types."""
    micros = [1_793_000_000_000_001, 1_774_747_800_000_000, None]
    texts = pa.table(
        {
            "Id": ["1", "2", "3"],
            "At": [f"2026-10-26 07:33:20.000001{end}", f"2026-03-29 01:30:00{end}", None],
            "Conversation": ["C1", "C1", None],
            "Side": ["true", "false", None],
            "Number": ["-3", "9007199254740993", None],
            "Type": ["1", "2", "3"],
        }
    )
    at = pa.array(micros, pa.timestamp("us", tz=zone))
    side, number = pa.array([True, False, None]), pa.array([-3, 9007199254740993, None], pa.int64())
    typed = texts.set_column(1, "At", at).set_column(3, "Side", side).set_column(4, "Number", number)
    typed = typed.set_column(5, "Type", pa.array([1, 2, 3], pa.int16()))
    paths = [source.folder / "texts.parquet", source.folder / "typed.parquet"]
    for path, table in zip(paths, (texts, typed), strict=True):
        pq.write_table(table, path)
    columns = COLUMNS | {"sent_by_initiator": "Side", "size_bytes": "Type", "queuing_order": "Number"} | id

    def read(*files: Path) -> list[dict[str, Any]]:
        inputs = [InputFile(SOURCE, str(path)) for path in files]
        return source.read(*inputs, format="parquet", zone="Europe/Berlin", columns=columns)

    of_texts = read(paths[0])
    assert read(paths[1]) == of_texts
    assert read(*paths) == [row for row in of_texts for _ in paths]


def test_odd_columns_of_parquet(source: Source) -> None:
    """Categories, great numbers and nulls are taken; columns that no engine reads may stand beside them."""
    path = source.folder / "1.parquet"
    columns = {
        "At": pa.array(["2026-11-20 10:00:00"] * 2),
        "Conversation": pa.array([b"1", b"2"], pa.large_binary()),
        "Side": pa.array(["I", "T"]).dictionary_encode(),
        "Number": pa.array([1, 2**64 - 1], pa.uint64()),
        "Type": pa.nulls(2),
        "Body": pa.array([b"abc", b"ab\0"], pa.binary(3)),
        "Fine": pa.array([1, 2], pa.timestamp("ns")),
        "Clock": pa.array([1, 2], pa.time64("us")),
        "type": pa.array(["a", "b"]),
    }
    pq.write_table(pa.table({name: columns[name] for name in columns if name != "type"}), path)
    rows = source.read(InputFile(SOURCE, str(path)), format="parquet")
    assert column(rows, "conversation_id") == ["0x31", "0x32"]
    assert column(rows, "sent_by_initiator") == [True, False]
    assert [(row[NUMBER], row["unreadable"]) for row in rows] == [(1, None), (None, NUMBER)]
    assert column(rows, "message_type") == [None, None]
    assert column(rows, "size_bytes") == [3, 3]
    pq.write_table(pa.table(columns), path)
    with pytest.raises(InputError, match="column Type is there twice; write it once"):
        source.read(InputFile(SOURCE, str(path)), format="parquet")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (pa.array([{"a": 1}]), "struct<a: int64>, which a mapping can't take; write it as text"),
        (pa.array([[1, 2]]), "list<element: int64>, which a mapping can't take; write it as text"),
        (pa.array([1], pa.time64("us")), "time64[us], which a mapping can't take; write it as text"),
        (
            pa.array([1], pa.timestamp("ns")),
            "timestamp[ns], which no engine reads; write it as timestamp[",
        ),
    ],
)
def test_types_that_have_no_text_are_refused(source: Source, values: pa.Array, said: str) -> None:
    path = source.folder / "1.parquet"
    table = pa.table({name: pa.array([value]) for name, value in zip(HEADER, ROW, strict=True)})
    pq.write_table(table.set_column(4, "Type", values), path)
    with pytest.raises(InputError) as caught:
        source.read(InputFile(SOURCE, str(path)), format="parquet")
    assert f"{path}: column Type is {said}" in str(caught.value)


@pytest.mark.parametrize("clock", [{}, {"zone": "Europe/Berlin"}, {"offset": "-08:00"}])
def test_times_of_years_that_clocks_lack_stay(source: Source, clock: dict[str, str]) -> None:
    """They are rejected, as in the contract's own columns."""
    micros = [-(2**63), -62_167_219_200_000_001, 253_402_300_800_000_000, 2**63 - 1]
    values = dict(zip(HEADER, ROW, strict=True))
    rows = [values | {"At": pa.scalar(each, pa.timestamp("us"))} for each in micros]
    path = source.folder / "1.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    given = {"path": str(path), "format": "parquet", "columns": COLUMNS, **clock}
    mapping = mapping_of(SOURCE, EventSource.model_validate(given))
    contract = CONTRACTS["message_events"]
    read = read_input(source.spark, contract, "parquet", [InputFile(SOURCE, str(path))], mapping=mapping)
    found = with_reasons(read, contract, is_mapped=True).select(F.unix_micros("event_time"), "reasons")
    assert sorted(map(tuple, found.collect())) == [
        (each, "missing_message_id,event_time_out_of_range") for each in micros
    ]


def test_a_time_of_utc_in_parquet_needs_no_zone(source: Source) -> None:
    path = source.folder / "1.parquet"
    values = dict(zip(HEADER, ROW, strict=True)) | {"At": datetime(2026, 11, 20, 10, tzinfo=UTC)}
    pq.write_table(pa.Table.from_pylist([values]), path)
    [row] = source.read(InputFile(SOURCE, str(path)), format="parquet", zone="Europe/Berlin")
    assert (row["event_time"], row["time_note"]) == (datetime(2026, 11, 20, 10), "zone_ignored")


def test_rows_of_later_versions_of_a_delta_table_are_numbered_by_version(source: Source) -> None:
    """Whether two versions are read in one night or in two makes no difference."""
    table = pa.Table.from_pylist([dict(zip(HEADER, ROW, strict=True))])
    path = source.folder / "table"
    for _ in range(3):
        write_deltalake(path, table, mode="append")
    both = source.read(InputFile(SOURCE, str(path), version=2, since=0), format="delta")
    last = source.read(InputFile(SOURCE, str(path), version=2, since=1), format="delta")
    assert column(both, "event_id") == column(last, "event_id") * 2


FORMATS = ["csv", "json", "parquet", "delta"]


def written(source: Source, format: str, *rows: dict[str, Any]) -> tuple[InputFile, Path]:
    """Rows in a format: the file or table, and the file with the rows."""
    path = source.folder / f"1.{format}"
    file = write_rows(path, rows)
    return InputFile(SOURCE, str(path), version=0 if format == "delta" else None), file


@pytest.mark.parametrize("format", FORMATS)
def test_a_column_that_is_not_there_is_named_with_the_nearest(source: Source, format: str) -> None:
    row = dict(zip(("At", "conversation", "Side", "Number", "Type", "Body"), ROW, strict=True))
    file, _ = written(source, format, row)
    with pytest.raises(InputError) as error:
        source.read(file, format=format)
    place = ":1" if format == "csv" else ""
    assert str(error.value) == (
        "message_events/audit lacks what its mapping names; correct inputs.message_events:\n"
        f"  {file.path}{place}: column Conversation of the mapping is not there; did you mean 'conversation'?"
    )


@pytest.mark.parametrize("format", FORMATS)
def test_values_that_are_too_large_are_unreadable(source: Source, format: str) -> None:
    row = dict(zip(HEADER, ROW, strict=True))
    large, late = row | {"Number": "18446744073709551616"}, row | {"At": "2026-13-20 10:00:00"}
    file, _ = written(source, format, large, late)
    found = source.read(file, format=format)
    assert sorted(str(each) for each in column(found, "unreadable")) == ["event_time", NUMBER]


@pytest.mark.parametrize("format", FORMATS)
def test_a_last_row_that_is_half_written(source: Source, format: str) -> None:
    """A line is broken; a file that has its columns at its end can't be read at all."""
    row = dict(zip(HEADER, ROW, strict=True))
    file, path = written(source, format, row, row)
    content = path.read_bytes()
    if format in ("csv", "json"):
        path.write_bytes(content[:-8])
        assert sorted(column(source.read(file, format=format), "broken")) == [False, True]
    else:
        path.write_bytes(content[: len(content) // 2])
        with pytest.raises(Exception, match=r"(?i)parquet"):
            source.read(file, format=format)

"""Rows of tables that people have, as rows of a contract."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from pipelines.config.errors import InputError
from pipelines.config.model import EventSource
from pipelines.storage.inputs.listing import InputFile
from pipelines.storage.inputs.mapped_rows import mapping_of, with_numbered_ids
from pipelines.storage.inputs.read import read_input
from schemas import CONTRACTS

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
            key=lambda row: (str(row["event_time"]), str(row["message_sequence_number"]), row["event_id"]),
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


@pytest.mark.parametrize(
    ("written", "type"),
    [("1", "Request"), (" 2 ", "Reply"), ("1.0", "Request"), ("7", "Other"), ("", None), ("NULL", None)],
)
def test_values_compare_as_short_text(source: Source, written: str, type: str | None) -> None:
    [row] = source.read(source.csv((*ROW[:4], written, "abc")))
    assert row["message_type"] == type


@pytest.mark.parametrize(
    ("body", "bytes"), [("abc", 3), ("hé", 3), ("0x", 0), ("0x3C00", 2), ("0x3C0", 5), ("", None)]
)
def test_the_length_of_a_body_is_its_bytes(source: Source, body: str, bytes: int | None) -> None:
    [row] = source.read(source.csv((*ROW[:5], body)))
    assert row["size_bytes"] == bytes


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ({"is": "I"}, ["I"]),
        ({"is": ["T", None]}, ["", "T"]),
        ({"is_not": ["I"]}, ["", "T"]),
        ({"is_not": ["I", None]}, ["T"]),
        ({"is": None}, [""]),
    ],
)
def test_where_says_which_rows_count(source: Source, condition: dict[str, Any], kept: list[str]) -> None:
    rows = [(*ROW[:2], side, str(number), *ROW[4:]) for number, side in enumerate(("", "I", "T"))]
    found = source.read(source.csv(*rows), where=[{"from": "Side", **condition}])
    assert [("", "I", "T")[row["message_sequence_number"]] for row in found] == kept


@pytest.mark.parametrize(
    ("written", "instant", "note"),
    [
        ("2026-11-20 10:00:00.1234567", "2026-11-20 09:00:00.123456", None),
        ("2026-07-01 10:00:00", "2026-07-01 08:00:00", None),
        ("2026-10-25 01:59:59", "2026-10-24 23:59:59", None),
        ("2026-10-25 02:30:00", "2026-10-25 00:30:00", "ambiguous_time"),
        ("2026-10-25 03:00:00", "2026-10-25 02:00:00", None),
        ("2026-03-29 01:59:59", "2026-03-29 00:59:59", None),
        ("2026-03-29 02:30:00", None, "time_does_not_exist"),
        ("2026-03-29 03:00:00", "2026-03-29 01:00:00", None),
        ("2026-11-20T10:00:00Z", "2026-11-20 10:00:00", "zone_ignored"),
        ("2026-11-20 10:00:00.5 -05:00", "2026-11-20 15:00:00.500000", "zone_ignored"),
    ],
)
def test_local_times(source: Source, written: str, instant: str | None, note: str | None) -> None:
    [row] = source.read(source.csv((written, *ROW[1:])), zone="Europe/Berlin")
    assert (row["event_time"] and str(row["event_time"]), row["time_note"]) == (instant, note)
    assert row["unreadable"] is None


def test_an_offset_moves_times_that_have_none(source: Source) -> None:
    rows = [("2026-11-20 10:00:00", *ROW[1:]), ("2026-11-20 10:00:00Z", *ROW[1:])]
    columns = COLUMNS | {"event_time": {"from": "At", "offset": "+05:30"}}
    found = source.read(source.csv(*rows), columns=columns)
    assert [(str(row["event_time"]), row["time_note"]) for row in found] == [
        ("2026-11-20 04:30:00", None),
        ("2026-11-20 10:00:00", "zone_ignored"),
    ]


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


def test_equal_rows_of_a_file_have_different_ids_and_those_of_two_files_the_same(source: Source) -> None:
    """A row that two files have 2 and 3 times is 3 events."""
    later = ("2026-11-20 11:00:00", *ROW[1:])
    found = source.read(source.csv(ROW, ROW, later), source.csv(ROW, ROW, ROW, name="2.csv"))
    assert (len(found), len(set(column(found, "event_id")))) == (6, 4)


def test_an_id_does_not_depend_on_the_spelling_of_ids_and_times(source: Source) -> None:
    guid = "0a1b2c3d-1111-1111-1111-111111111111"
    one = source.csv((ROW[0], guid, *ROW[2:]))
    other = source.csv(("2026-11-20T10:00:00.000Z", guid.upper(), "I", "0", "1.0", "xyz"), name="2.csv")
    found = source.read(one, other)
    assert len(set(column(found, "event_id"))) == 1


def test_columns_may_be_called_anything(source: Source) -> None:
    header = ("raw", "file", "broken", "a.b`c", "types", "fields")
    columns = {
        name: {**each, "from": header[HEADER.index(each["from"])]}
        if isinstance(each, dict) and "from" in each
        else header[HEADER.index(each)]
        if isinstance(each, str)
        else each
        for name, each in COLUMNS.items()
    }
    [of_csv] = source.read(source.csv(ROW, header=header), columns=columns)
    path = source.folder / "1.jsonl"
    path.write_text(json.dumps(dict(zip(header, ROW, strict=True))) + "\n")
    [of_json] = source.read(InputFile(SOURCE, str(path)), format="json", columns=columns)
    pq.write_table(pa.table({name: [value] for name, value in zip(header, ROW, strict=True)}), path)
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
    assert column(found, "message_sequence_number") == [7, 8, None]
    assert column(found, "message_type") == ["Request", "Reply", None]
    assert column(found, "size_bytes") == [3, None, None]
    assert column(found, "broken") == [False, False, True]


@pytest.mark.parametrize("format", ["parquet", "delta"])
def test_typed_values_are_texts_of_themselves(source: Source, format: str) -> None:
    local = [datetime(2026, 11, 20, 10), datetime(2026, 11, 20, 11)]
    table = pa.table(
        {
            "At": pa.array(local, pa.timestamp("us")),
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
        file = InputFile(SOURCE, str(path))
    else:
        write_deltalake(path, table)
        file = InputFile(SOURCE, str(path), version=0)
    columns = COLUMNS | {"sent_by_initiator": {"from": "Side", "values": {"true": True, "false": False}}}
    found = source.read(file, format=format, zone="Europe/Berlin", columns=columns)
    assert [str(moment) for moment in column(found, "event_time")] == [
        "2026-11-20 09:00:00",
        "2026-11-20 10:00:00",
    ]
    assert column(found, "sent_by_initiator") == [True, False]
    assert column(found, "message_sequence_number") == [3, 4]
    assert column(found, "message_type") == ["Request", "Reply"]
    assert column(found, "size_bytes") == [2, 3]


def test_a_time_of_utc_in_parquet_needs_no_zone(source: Source) -> None:
    path = source.folder / "1.parquet"
    moment = datetime(2026, 11, 20, 10, tzinfo=UTC)
    values = dict(zip(HEADER, ROW, strict=True)) | {"At": moment}
    pq.write_table(pa.table({name: [value] for name, value in values.items()}), path)
    [row] = source.read(InputFile(SOURCE, str(path)), format="parquet", zone="Europe/Berlin")
    assert (row["event_time"], row["time_note"]) == (datetime(2026, 11, 20, 10), "zone_ignored")


def test_rows_of_later_versions_of_a_delta_table_are_numbered_by_version(source: Source) -> None:
    """Whether two versions are read in one night or in two makes no difference."""
    table = pa.table({name: [value] for name, value in zip(HEADER, ROW, strict=True)})
    path = source.folder / "table"
    for _ in range(3):
        write_deltalake(path, table, mode="append")
    both = source.read(InputFile(SOURCE, str(path), version=2, since=0), format="delta")
    last = source.read(InputFile(SOURCE, str(path), version=2, since=1), format="delta")
    assert column(both, "event_id") == column(last, "event_id") * 2


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_column_that_is_not_there_is_named_with_the_nearest(source: Source, format: str) -> None:
    header = ("At", "conversation", "Side", "Number", "Type", "Body")
    file = source.csv(ROW, header=header)
    if format == "parquet":
        pq.write_table(pa.table({name: [""] for name in header}), file.path)
    with pytest.raises(InputError) as error:
        source.read(file, format=format)
    place = ":1" if format == "csv" else ""
    assert str(error.value) == (
        "message_events/audit lacks what its mapping names; correct inputs.message_events:\n"
        f"  {file.path}{place}: column Conversation of the mapping is not there; did you mean 'conversation'?"
    )

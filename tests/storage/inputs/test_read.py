"""Event files of every format: what is read, what is unreadable, and what stops the run."""

import bz2
import csv
import gzip
import json
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, Row as SparkRow, SparkSession

from pipelines.config.errors import InputError
from pipelines.storage.inputs.listing import InputFile
from pipelines.storage.inputs.read import mistyped_fields, read_input, require_json_types
from pipelines.storage.inputs.text import read_lines
from schemas import CONTRACTS
from tests.support.factories import FACTORIES, Row, endpoint_event, message_event, queue_event
from tests.support.inputs import ARROW, values

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


pytestmark = pytest.mark.spark


class Folder:
    """Reads files that a test has written to its own folder."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.spark, self.path = spark, path

    def read(self, source: str, format: Any, *paths: str) -> DataFrame:
        return read_input(self.spark, CONTRACTS[source], format, [InputFile(source, path) for path in paths])

    def json(self, source: str, lines: Iterable[str]) -> list[SparkRow]:
        path = self.path / "events.jsonl"
        path.write_text("".join(f"{one}\n" for one in lines))
        return self.read(source, "json", str(path)).collect()

    def csv_file(self, name: str, header: list[str], *rows: list[str]) -> str:
        with (self.path / name).open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])
        return str(self.path / name)

    def csv(self, source: str, *paths: str) -> list[SparkRow]:
        return self.read(source, "csv", *paths).collect()

    def parquet_file(self, name: str, source: str, rows: list[Row], **types: pa.DataType | None) -> str:
        """The rows as Parquet; `types` changes the type of columns, None leaves one out."""
        declared = {column.name: ARROW[column.type] for column in CONTRACTS[source].columns} | types
        schema = pa.schema([(column, type) for column, type in declared.items() if type is not None])
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), self.path / name)
        return str(self.path / name)

    def parquet(self, source: str, *paths: str) -> list[SparkRow]:
        return self.read(source, "parquet", *paths).collect()


@pytest.fixture
def folder(session: SparkSession, tmp_path: Path) -> Folder:
    return Folder(session, tmp_path)


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
    assert (found.broken, found.unreadable, found.mistyped) == (False, None, None)
    assert found.raw == line(row)


@pytest.mark.parametrize("source", CONTRACTS)
def test_json_values_of_another_type_are_listed_for_every_column(folder: Folder, source: str) -> None:
    expected, lines = [], []
    for column in CONTRACTS[source].columns:
        for value, right_for in JSON_SAMPLES.values():
            lines.append(line({**FACTORIES[source](), column.name: value}))
            expected.append(None if column.type in right_for else column.name)
    found = values(folder.json(source, lines), "mistyped")
    assert [fields and re.sub(" [A-Z]+$", "", fields) for fields in found] == expected


def test_json_types_are_those_of_the_objects_own_fields(folder: Folder) -> None:
    """The names of columns in nested objects and in texts mean nothing."""
    nested = {"size_bytes": "big", "more": [{"event_id": 5}, {"a": {"sent_by_initiator": "x"}}]}
    text = '"size_bytes": "big", } \\u0041'
    found = folder.json(
        "message_events",
        [
            line(message_event(size_bytes=7) | {"payload": nested}),
            line({"payload": nested} | message_event(size_bytes=7, message_type=text)),
            line({"payload": nested} | message_event(size_bytes="7", message_type=text)),
            line(message_event(size_bytes=7.5) | {"payload": nested}),
        ],
    )
    assert values(found, "broken", "size_bytes", "mistyped") == [
        (False, 7, None),
        (False, 7, None),
        (False, None, "size_bytes STRING"),
        (False, None, found[3].mistyped),
    ]
    # A number with a fraction has other names in other engines.
    assert re.fullmatch("size_bytes (DOUBLE|DECIMAL)", found[3].mistyped)
    assert values(found, "message_type")[1:3] == [text, text]


TEXTS = ("5", "-1.5e3", "true", "false", "null", "{}", "[1]", '{"a": 1}', "NaN", "{6F96-47}", "}", '"', "\\")


def test_json_text_that_looks_like_another_type_is_text(folder: Folder) -> None:
    rows = [message_event(event_id=text, message_type=text, transaction_id=text) for text in TEXTS]
    found = folder.json("message_events", [line(row) for row in rows])
    assert values(found, "broken", "mistyped", "unreadable") == [(False, None, None)] * len(TEXTS)
    assert values(found, "event_id", "message_type", "transaction_id") == [(text,) * 3 for text in TEXTS]


def test_json_names_spelled_with_escapes_are_the_same_names(folder: Folder) -> None:
    written = line(message_event(size_bytes=7))
    spelled = written.replace('"size_bytes"', '"\\u0073ize_bytes"')
    found = folder.json("message_events", [spelled, spelled.replace(": 7,", ': "7",')])
    assert values(found, "size_bytes", "mistyped") == [(7, None), (None, "size_bytes STRING")]


def test_json_says_file_and_field_and_types(folder: Folder) -> None:
    wrong = [message_event(size_bytes="100", sent_by_initiator=1), message_event(size_bytes=7.5)]
    contents = {
        "a.jsonl": [message_event()],
        "b.jsonl": [message_event(), *wrong[:1], message_event()],
        "c.jsonl": wrong[1:],
        "d.jsonl": [message_event(message_type={"a": 1}, event_id=5)],
    }
    for name, rows in contents.items():
        (folder.path / name).write_text("\n".join(map(line, rows)))
    files = [InputFile("message_events", f"{folder.path}/{name}") for name in contents]
    contract = CONTRACTS["message_events"]
    expected = [
        "message_events breaks its contract; write these anew:",
        f"  {folder.path}/b.jsonl: field sent_by_initiator is a JSON integer; it must be boolean",
        f"  {folder.path}/b.jsonl: field size_bytes is a JSON string; it must be bigint",
        f"  {folder.path}/c.jsonl: field size_bytes is a JSON number; it must be bigint",
        f"  {folder.path}/d.jsonl: field event_id is a JSON integer; it must be string",
        f"  {folder.path}/d.jsonl: field message_type is a JSON object; it must be string",
    ]
    assert mistyped_fields(folder.spark, contract, files).splitlines() == expected
    found = folder.read("message_events", "json", *[file.path for file in files])
    with pytest.raises(InputError) as caught:
        require_json_types(folder.spark, contract, found, files)
    assert str(caught.value).splitlines() == expected
    good = folder.read("message_events", "json", files[0].path)
    require_json_types(folder.spark, contract, good, files[:1])


def test_json_absent_and_null_fields_are_null(folder: Folder) -> None:
    row = message_event()
    absent = {name: value for name, value in row.items() if name not in ("size_bytes", "event_time")}
    found = folder.json(
        "message_events", [line(absent), line(row | {"size_bytes": None, "event_time": None})]
    )
    assert (
        values(found, "size_bytes", "event_time", "unreadable", "mistyped") == [(None, None, None, None)] * 2
    )


def test_json_extra_fields_are_ignored_and_names_are_compared_exactly(folder: Folder) -> None:
    (found,) = folder.json(
        "message_events", [line({**message_event(size_bytes=None), "Size_Bytes": 7, "comment": {"a": [1]}})]
    )
    assert (found.size_bytes, found.mistyped) == (None, None)


def test_json_timestamps(folder: Folder) -> None:
    moments = {
        "2026-11-20T12:00:00.123456Z": datetime(2026, 11, 20, 12, 0, 0, 123456),
        "2026-11-20T12:00:00+02:00": datetime(2026, 11, 20, 10),
        "2026-11-20 12:00:00": datetime(2026, 11, 20, 12),
        "2026-11-20T12:30": datetime(2026, 11, 20, 12, 30),
    }
    found = folder.json("message_events", [line(message_event(event_time=text)) for text in moments])
    assert dict(zip(moments, values(found, "event_time"), strict=True)) == moments
    assert values(found, "unreadable") == [None] * 4


def test_json_timestamps_that_are_none(folder: Folder) -> None:
    texts = [
        "yesterday",
        "",
        "now",
        "2026-02-30T00:00:00Z",
        "2026-11-20T25:00:00Z",
        "20.11.2026",
        "2026-11-20",
    ]
    found = folder.json("message_events", [line(message_event(event_time=text)) for text in texts])
    verdicts = zip(texts, values(found, "event_time", "unreadable", "mistyped"), strict=True)
    assert dict(verdicts) == dict.fromkeys(texts, (None, "event_time", None))


@pytest.mark.parametrize("format", ["json", "csv"])
def test_a_time_without_a_day_is_no_timestamp(folder: Folder, format: str) -> None:
    rows = [message_event(event_time="12:30:00"), message_event(event_time="T12:30")]
    if format == "json":
        found = folder.json("message_events", map(line, rows))
    else:
        found = folder.csv("message_events", folder.csv_file("a.csv", *csv_rows("message_events", *rows)))
    assert values(found, "event_time", "unreadable") == [(None, "event_time")] * 2


def test_json_number_beyond_its_column_is_unreadable(folder: Folder) -> None:
    (found,) = folder.json("endpoint_events", [line(endpoint_event(logged_priority=2**31))])
    assert (found.logged_priority, found.unreadable) == (None, "logged_priority")


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
    "another line's end": GOOD + GOOD[30:],
    "another line's end, cut in a name": GOOD + GOOD[6:],
    "half of a surrogate pair": GOOD.replace("Order", "\\ud83d"),
    "a control character": GOOD.replace("Order", "a\tb"),
    "a comma before the end": GOOD[:-1] + ",}",
    "a nested key twice": GOOD[:-1] + ', "more": {"a": 1, "a": 2}}',
    "closed twice": GOOD + "}",
    "closed in three ways": GOOD + "]}",
    "another field behind": GOOD + ', "more": {}',
    "an array closed behind": GOOD + '], "more": [{}',
}


def test_json_lines_that_are_not_one_object_are_broken(folder: Folder) -> None:
    found = folder.json("message_events", [GOOD, *BROKEN.values(), GOOD])
    assert values(found, "broken")[0] is values(found, "broken")[-1] is False
    verdicts = values(found[1:-1], "broken", "raw", "event_id", "unreadable", "mistyped")
    expected = {name: (True, written, None, None, None) for name, written in BROKEN.items()}
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
    (found,) = folder.read("message_events", format, str(marked)).collect()
    assert (found.broken, found.event_id) == (False, "SENT c1/0 True")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
@pytest.mark.parametrize("format", ["json", "csv"])
def test_bytes_that_are_no_utf8_are_not_taken_for_text(folder: Folder, format: str, encoding: str) -> None:
    """Else different names become the same one: each such byte would be the sign for what is unknown."""
    plain = folder.csv_file("events.csv", *csv_rows("message_events", message_event(message_type="Zo\ufffd")))
    good = GOOD if format == "json" else Path(plain).read_text().rstrip()
    other = f"{good}\n".replace("SENT", "Zoë").replace("\ufffd", "")
    mixed = folder.path / "mixed"
    mixed.write_bytes(f"{good}\n".encode() + other.encode(encoding))
    found = folder.read("message_events", format, str(mixed)).collect()
    assert [row.event_id for row in found if not row.broken] == ["SENT c1/0 True"]
    assert {row.event_id for row in found if row.broken} == {None}
    assert all(row.raw.encode().decode() == row.raw for row in found)
    assert len(found) > 1


SPOILT = {
    b"whole": ("whole", True),
    "Zo\u00eb".encode(): ("Zo\u00eb", True),
    b"Zo\xeb": ("Zo\ufffd", False),
    b"\xff\xfe two": ("\ufffd\ufffd two", False),
    b"cut \xf0\x9f\x98 off": ("cut \ufffd off", False),
    b"half a pair \xed\xa0\x80": ("half a pair \ufffd\ufffd\ufffd", False),
    b"too long \xc0\xaf": ("too long \ufffd\ufffd", False),
    b"too large \xf4\x90\x80\x80": ("too large \ufffd\ufffd\ufffd\ufffd", False),
    "an honest \ufffd".encode(): ("an honest \ufffd", True),
}


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("packed", ["", ".gz", ".bz2"])
def test_lines_that_are_no_utf8_are_told_from_text(folder: Folder, packed: str, line_end: bytes) -> None:
    file = folder.path / f"lines{packed}"
    packs: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}
    # The last line has no end, and is cut inside of a sign.
    file.write_bytes(packs[packed](line_end.join([*SPOILT, b"last \xe2\x82"])))
    found = read_lines(folder.spark, [str(file)], with_file=True).collect()
    expected = [*SPOILT.values(), ("last \ufffd", False)]
    assert sorted((row.raw, row.is_text) for row in found) == sorted(expected)
    assert {row.file for row in found} == {file.name}


@pytest.mark.parametrize("name", ["night[1].jsonl", "night{a,b}.jsonl", "night*.jsonl", "night 1%20\\.jsonl"])
def test_file_names_are_no_patterns(folder: Folder, name: str) -> None:
    (folder.path / name).write_text(GOOD)
    (folder.path / "night1.jsonl").write_text(f"{GOOD}\n{GOOD}")
    assert folder.read("message_events", "json", f"{folder.path}/{name}").count() == 1


@pytest.mark.parametrize("format", ["json", "csv"])
def test_compressed_files_are_read(folder: Folder, format: str) -> None:
    plain = Path(folder.csv_file("events.csv", *csv_rows("message_events", message_event())))
    packed = folder.path / "events.gz"
    packed.write_bytes(gzip.compress(GOOD.encode() if format == "json" else plain.read_bytes()))
    assert values(folder.read("message_events", format, str(packed)).collect(), "event_id") == [
        "SENT c1/0 True"
    ]


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
    assert (found.broken, found.unreadable, found.mistyped) == (False, None, None)


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


def test_csv_headers_of_few_columns_are_said_in_one_line(folder: Folder) -> None:
    header, row = csv_rows("message_events", message_event())
    upper = folder.csv_file("a.csv", [name.upper() for name in header], row)
    other = folder.csv_file("b.csv", ["conversation_id", "state"], ["c1", "CO"])
    with pytest.raises(InputError) as caught:
        folder.csv("message_events", upper, other)
    assert str(caught.value).splitlines()[1:] == [
        f"  {upper}:1: the header has none of the 13 columns of message_events; write them in small letters; "
        "it is 'EVENT_ID,EVENT_TIME,INSTANCE,DATABASE,EVENT_TYPE,MESSAGE_ID,...'",
        f"  {other}:1: the header has only conversation_id of the 13 columns of message_events; it is "
        "'conversation_id,state'",
    ]


@pytest.mark.parametrize("sign", [";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_csv_columns_that_another_sign_parts(folder: Folder, sign: str, encoding: str) -> None:
    path = folder.path / "a.csv"
    lines = [sign.join(each) for each in csv_rows("message_events", message_event(message_type="a, b"))]
    path.write_text("\n".join(["#TYPE System.Data.DataRow", *lines, ""]), encoding=encoding)
    (found,) = folder.csv("message_events", str(path))
    assert (found.broken, found.event_id, found.message_type) == (False, "SENT c1/0 True", "a, b")


def test_csv_the_word_null_is_null_without_quotes(folder: Folder) -> None:
    header, row = csv_rows("message_events", message_event())
    place = header.index("transaction_id")
    path = folder.path / "a.csv"
    fields = [
        ",".join([*row[:place], word, *row[place + 1 :]]) for word in ("NULL", '"NULL"', "null", "NULLS")
    ]
    path.write_text("\n".join([",".join(header), *fields, ""]))
    found = folder.csv("message_events", str(path))
    assert values(found, "transaction_id") == [None, "NULL", "null", "NULLS"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            "RowNumber,EventClass,EventSubClass,StartTime,SPID\n1,124,11,2026-11-20,55\n",
            "this is a trace; see",
        ),
        ('<event name="broker_conversation"></event>\n', "this is a trace; see docs/exporting.md#traces"),
        ("<!DOCTYPE html><html></html>\n", "it is HTML; export it as CSV"),
        ("a,b,c\n1,2,3\n", "has no column of message_events; its first line is 'a,b,c'"),
    ],
)
def test_csv_that_is_another_table_is_told_in_one_line(folder: Folder, content: str, told: str) -> None:
    path = folder.path / "a.csv"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        folder.csv("message_events", str(path))
    [line] = str(caught.value).splitlines()[1:]
    assert line.startswith(f"  {path}: {told}")


def test_csv_without_a_header_has_no_rows(folder: Folder) -> None:
    """Export-Csv writes nothing at all where there are no objects."""
    (folder.path / "a.csv").touch()
    good = folder.csv_file("b.csv", *csv_rows("message_events", message_event()))
    assert len(folder.csv("message_events", str(folder.path / "a.csv"), good)) == 1


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'<?xml version="1.0"?><RingBufferTarget/>', "this is a trace; see docs/exporting.md#traces"),
        (b'[\n{"event_id": "1"}\n]\n', "it is one JSON array; write one object a line"),
        ('{"event_id": "1"}\n'.encode("utf-16"), "it is UTF-16; save it as UTF-8"),
        (b"PK\x03\x04 sheet", "it is an Excel workbook or another zip file; export it as JSON lines"),
    ],
)
def test_json_that_is_something_else_is_told_in_one_line(folder: Folder, content: bytes, told: str) -> None:
    path = folder.path / "a.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        folder.read("message_events", "json", str(path))
    assert str(caught.value).splitlines()[1:] == [f"  {path}: {told}"]


def test_csv_rows_of_another_width_are_broken(folder: Folder) -> None:
    header, row = csv_rows("message_events", message_event())
    path = folder.csv_file("a.csv", header, row, row[:-1], [*row, "more"], row)
    found = folder.csv("message_events", path)
    assert values(found, "broken") == [False, True, True, False]
    assert values(found, "event_id") == ["SENT c1/0 True", None, None, "SENT c1/0 True"]
    assert values(found, "raw")[1:3] == [",".join(row[:-1]), ",".join([*row, "more"])]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_last_row_without_a_line_end_is_broken(folder: Folder, end: str) -> None:
    """It may be cut inside its last field; the same row in a file with line ends is whole."""
    header, row = csv_rows("message_events", message_event(transaction_id="t-100"))
    header, row = header[::-1], row[::-1]
    place = header.index("event_id")
    other = [*row[:place], "other", *row[place + 1 :]]
    whole = folder.csv_file("whole.csv", header, row)
    lines = [",".join(each) for each in (header, other, row)]
    cut = folder.path / "cut.csv"
    cut.write_bytes(end.join(lines).encode())
    found = folder.csv("message_events", whole, str(cut))
    ids = values([each for each in found if not each.broken], "event_id")
    assert sorted(ids) == sorted([row[place], "other"])
    assert values([each for each in found if each.broken], "raw") == [lines[-1]]
    cut.write_bytes(end.join([lines[0], lines[1], ""]).encode())
    assert not any(values(folder.csv("message_events", str(cut)), "broken"))


def test_csv_last_row_without_a_line_end_repeats_a_whole_one(folder: Folder) -> None:
    """Of two lines with the same text one is whole, so the other is cut nowhere."""
    header, row = csv_rows("message_events", message_event(message="c1/1"))
    _, last = csv_rows("message_events", message_event(message="c1/2"))
    lines = [",".join(each) for each in (header, row, last)]

    def written(name: str, *numbers: int) -> str:
        (folder.path / name).write_text("\n".join(lines[number] for number in numbers), encoding="utf-8")
        return str(folder.path / name)

    twice, other = written("twice.csv", 0, 1, 1), written("other.csv", 0, 1, 2)
    assert values(folder.csv("message_events", twice), "broken") == [False, False]
    broken = [each.raw for each in folder.csv("message_events", twice, other) if each.broken]
    assert broken == [lines[2]]


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
    assert verdicts == [(False, column, None) for column, _ in cases]
    assert values(found, "raw") == [",".join(row) for row in rows]


def test_csv_quoted_fields(folder: Folder) -> None:
    name = 'a "quoted", name \\ with a backslash '
    header, row = csv_rows("message_events", message_event(message_type=name))
    (found,) = folder.csv("message_events", folder.csv_file("a.csv", header, row))
    assert (found.broken, found.message_type) == (False, name)


def test_csv_quotes_hold_commas_and_say_no_more_than_their_text(folder: Folder) -> None:
    header, row = csv_rows("message_events", message_event(message_type="T"))
    before, behind = ",".join(row).split("T,100,,")
    texts = {
        '"a,b"': (False, "a,b"),
        '"T"': (False, "T"),
        '""': (False, None),
        '""""': (False, '"'),
        'a "b" c': (False, 'a "b" c'),
        " T ": (False, " T "),
        '"a" b': (True, None),
        '"a': (True, None),
        'a"': (False, 'a"'),
        "a,b": (True, None),
    }
    path = folder.path / "a.csv"
    lines = {f'{before}{text},"100",,{behind}': values for text, values in texts.items()}
    path.write_text("\n".join([",".join(header), *lines]))
    found = folder.csv("message_events", str(path))
    assert {row.raw: (row.broken, row.message_type) for row in found} == lines
    assert len(found) == len(lines)
    assert {row.size_bytes for row in found if not row.broken} == {100}


def test_csv_nul_is_an_empty_text_or_breaks_the_row(folder: Folder) -> None:
    """bcp writes an empty text so; a file system leaves zeros where it lost a part of a file."""
    header, row = csv_rows("message_events", message_event())
    names = ["message_type", "size_bytes", "queuing_order", "transaction_id"]
    assert [header.index(name) - header.index(names[0]) for name in names] == [0, 1, 2, 3]
    before = ",".join(row[: header.index(names[0])])
    behind = ",".join(row[header.index(names[-1]) + 1 :])
    texts = {
        "\0,\0,\0,\0": (False, None, None, None, None),
        "T,\0,\0,x": (False, "T", None, None, "x"),
        '"a,b",100,,\0': (False, "a,b", 100, None, None),
        "a\0b,100,,": (True, None, None, None, None),
        "\0\0,100,,": (True, None, None, None, None),
        '"\0",100,,': (True, None, None, None, None),
        '"a,\0,b",100,,': (True, None, None, None, None),
    }
    path = folder.path / "a.csv"
    lines = [",".join(each for each in (before, text, behind) if each) for text in texts]
    path.write_text("\n".join([",".join(header), *lines, ""]), encoding="utf-8")
    found = folder.csv("message_events", str(path))
    assert dict(zip(texts, values(found, "broken", *names), strict=True)) == texts
    assert values(found, "raw") == lines


def test_csv_headers_and_blank_lines_are_no_rows(folder: Folder) -> None:
    header, row = csv_rows("message_events", message_event())
    path = folder.path / "a.csv"
    path.write_bytes("\r\n".join(["", ",".join(header), ",".join(row), "  ", ",".join(row), ""]).encode())
    assert values(folder.csv("message_events", str(path)), "broken", "transaction_id") == [(False, None)] * 2


def test_csv_column_twice_in_the_header_is_a_difference(folder: Folder) -> None:
    header, row = csv_rows("message_events", message_event())
    path = folder.csv_file("a.csv", [*header, "event_id"], [*row, "x"])
    with pytest.raises(InputError, match=f"{path}:1: column event_id is twice in the header"):
        folder.csv("message_events", path)


WORDS = {"true": True, "T": True, "yes": True, "y": True, "1": True, " FALSE ": False, "f": False,
         "No": False, "n": False, "0": False, "on": None, "off": None, "tr": None, "2": None}  # fmt: skip


def test_csv_words_for_booleans(folder: Folder) -> None:
    rows = csv_rows("message_events", *[message_event(sent_by_initiator=word) for word in WORDS])
    found = folder.csv("message_events", folder.csv_file("a.csv", *rows))
    assert dict(zip(WORDS, values(found, "sent_by_initiator"), strict=True)) == WORDS


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


def test_parquet_columns_without_any_value_say_so(folder: Folder) -> None:
    path = folder.parquet_file("a.parquet", "queue_events", [queue_event()], row_count=pa.null())
    with pytest.raises(InputError, match="row_count has the type null, for it has no values; it must be"):
        folder.parquet("queue_events", path)


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


@pytest.mark.parametrize("kind", ["milliseconds", "another zone", "96 bits"])
def test_parquet_times_of_other_writers(folder: Folder, kind: str) -> None:
    types = {
        "milliseconds": pa.timestamp("ms", "UTC"),
        "another zone": pa.timestamp("us", "Europe/Berlin"),
        "96 bits": pa.timestamp("ns", "UTC"),
    }
    plain = folder.parquet_file("a.parquet", "queue_events", [queue_event()], event_time=types[kind])
    if kind == "96 bits":
        pq.write_table(pq.read_table(plain), plain, use_deprecated_int96_timestamps=True)
    assert values(folder.parquet("queue_events", plain), "event_time") == [datetime(2026, 11, 20, 12, 2)]


def test_parquet_nanoseconds_are_another_type(folder: Folder) -> None:
    path = folder.parquet_file("a.parquet", "queue_events", [], event_time=pa.timestamp("ns", "UTC"))
    with pytest.raises(
        InputError, match=r"column event_time is timestamp\[ns, tz=UTC\]; it must be timestamp"
    ):
        folder.parquet("queue_events", path)


@pytest.mark.parametrize(
    "type", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_parquet_texts_of_other_writers(folder: Folder, type: pa.DataType) -> None:
    path = folder.parquet_file("a.parquet", "queue_events", [queue_event()], queue=type, event_id=type)
    assert values(folder.parquet("queue_events", path), "queue", "row_count") == [("TargetQueue", None)]


def test_parquet_folders_that_look_like_partitions_say_nothing(folder: Folder) -> None:
    inside = folder.path / "instance=SQL9" / "extra=1"
    inside.mkdir(parents=True)
    path = folder.parquet_file(str(inside / "a.parquet"), "queue_events", [queue_event()])
    assert values(folder.parquet("queue_events", path), "instance") == ["SQL1"]


def test_parquet_timestamps_without_a_zone_are_another_type(folder: Folder) -> None:
    path = folder.parquet_file("a.parquet", "queue_events", [], event_time=pa.timestamp("us"))
    with pytest.raises(InputError, match="column event_time is timestamp_ntz; it must be timestamp"):
        folder.parquet("queue_events", path)

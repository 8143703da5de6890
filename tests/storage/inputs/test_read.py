"""Event files of every format: what is read, what is unreadable, and what stops the run."""

import bz2
import gzip
import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Row as SparkRow, SparkSession, functions as F

from pipelines.config.errors import InputError
from pipelines.storage.inputs.listing import InputFile
from pipelines.storage.inputs.read import mistyped_fields, read_input
from pipelines.storage.inputs.text import read_lines
from schemas.events import EventContract
from schemas.table import optional
from tests.support.inputs import ARROW, values

TYPES = {"event_id": "string", "event_time": "timestamp", "flag": "boolean", "level": "int", "size": "bigint"}
THINGS = EventContract("things", tuple(optional(*each, "") for each in TYPES.items()), (), {})
NOON, EPOCH, MICROSECOND = datetime(2026, 11, 20, 12), datetime(1970, 1, 1), timedelta(microseconds=1)
READ = ("e", NOON, True, 5, 7)
"""What LINE and ROW are read as; `broken`, `unreadable` and `mistyped` are false and null."""
FIELDS = {
    "event_id": '"e"',
    "event_time": '"2026-11-20T12:00:00Z"',
    "flag": "true",
    "level": "5",
    "size": "7",
}
HEADER, ROW = ",".join(TYPES), "e,2026-11-20T12:00:00Z,true,5,7"


def line(**changes: str) -> str:
    """A JSON object of FIELDS and others."""
    return "{" + ", ".join(f'"{name}": {value}' for name, value in {**FIELDS, **changes}.items()) + "}"


LINE = line()


def row(**changes: str) -> str:
    """A CSV row of ROW with other fields."""
    return ",".join({**dict(zip(TYPES, ROW.split(","), strict=True)), **changes}.values())


class Folder:
    """Reads files that a test has written to its own folder."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.spark, self.path = spark, path

    def write(self, contents: dict[str, bytes]) -> list[InputFile]:
        for name, content in contents.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_bytes(content)
        return [InputFile("things", f"{self.path}/{name}") for name in contents]

    def read(self, format: Any, *contents: bytes | str) -> list[SparkRow]:
        numbered = {
            f"{number}.{format}": content.encode() if isinstance(content, str) else content
            for number, content in enumerate(contents)
        }
        return read_input(self.spark, THINGS, format, self.write(numbered)).collect()

    def refused(self, format: Any, contents: dict[str, bytes]) -> list[str]:
        """What is said of files that break their contract, without the folder's name."""
        with pytest.raises(InputError) as caught:
            read_input(self.spark, THINGS, format, self.write(contents))
        head, *lines = str(caught.value).replace(f"{self.path}/", "").splitlines()
        assert head == "things breaks its contract; write these again:"
        return [each.removeprefix("  ") for each in lines]


@pytest.fixture
def folder(session: SparkSession, tmp_path: Path) -> Folder:
    return Folder(session, tmp_path)


def told(rows: Sequence[SparkRow]) -> list[tuple[Any, ...]]:
    return [tuple(each[name] for name in (*TYPES, "broken", "unreadable", "mistyped")) for each in rows]


WHOLE = (*READ, False, None, None)


@pytest.mark.parametrize(
    ("format", "content", "raw"),
    [
        ("json", f"{LINE}\r\n{LINE}\r\n", [LINE] * 2),
        ("json", f"\ufeff\n{LINE}\n   \n{LINE}\n\n", [LINE] * 2),
        ("csv", f"\ufeff{HEADER}\n{ROW}\n", [ROW]),
        ("csv", f"\r\n{HEADER}\r\n{ROW}\r\n  \r\n{ROW}\r\n", [ROW] * 2),
        ("csv", f"{HEADER}\n{ROW}\n{HEADER}\n", [ROW]),
        ("csv", "", []),
    ],
    ids=[
        "json, line ends of Windows",
        "json, byte order mark and blank lines",
        "csv, byte order mark",
        "csv of Windows, blank lines",
        "csv, the header again",
        "csv without a header, as Export-Csv writes no objects",
    ],
)
def test_a_text_is_read_with_its_types(folder: Folder, format: str, content: str, raw: list[str]) -> None:
    found = folder.read(format, content)
    assert told(found) == [WHOLE] * len(raw)
    assert values(found, "raw") == raw
    packed = folder.write({f"packed {format}.gz": gzip.compress(content.encode())})
    assert told(read_input(folder.spark, THINGS, format, packed).collect()) == [WHOLE] * len(raw)


KINDS = {
    '"text"': ("string", "timestamp"),
    "7": ("int", "bigint"),
    "7.5": (),
    "true": ("boolean",),
    '{"a": 1}': (),
    "[1]": (),
}
"""Values of every JSON type, and the column types that they are right for."""


def test_json_values_of_another_type_are_mistyped(folder: Folder) -> None:
    cases = list(product(TYPES, KINDS))
    found = folder.read("json", "\n".join(line(**{name: value}) for name, value in cases))
    assert [each and each.split()[0] for each in values(found, "mistyped")] == [
        None if TYPES[name] in KINDS[value] else name for name, value in cases
    ]


TEXTS = (
    "5", "-1.5e3", "true", "false", "null", "{}", "[1]", '{"a": 1}', "NaN", "{6F96-47}", "}", '"', "\\",
    "Orders ", " Orders", "", "\u00d3rders", "O\u0301rders", "\U0001f600\uff5e", 'a "quoted", name \\',
    "a\ttab\nand a line", '"size": "big", } \\u0041',
)  # fmt: skip
"""Texts that look like something else, or alike."""


def test_json_text_is_kept_as_it_is(folder: Folder) -> None:
    found = folder.read(
        "json", "\n".join(line(event_id=json.dumps(text, ensure_ascii=False)) for text in TEXTS)
    )
    assert told(found) == [(text, *WHOLE[1:]) for text in TEXTS]


JSON_FIELDS: list[tuple[dict[str, str], dict[str, Any]]] = [
    # The names of columns in nested objects and in texts mean nothing.
    ({"more": '{"size": "big", "more": [{"event_id": 5}, {"a": {"flag": "x"}}]}'}, {}),
    ({"size": '"7"', "more": '{"size": 7}'}, {"size": None, "mistyped": "size string"}),
    ({"event_id": '"}"', "size": '"7"'}, {"event_id": "}", "size": None, "mistyped": "size string"}),
    ({"Size": "9", "comment": '{"a": [1]}'}, {}),
    ({"size": "null", "event_time": "null"}, {"size": None, "event_time": None}),
    ({"level": str(2**31)}, {"level": None, "unreadable": "level"}),
]


def test_json_fields(folder: Folder) -> None:
    names = (*TYPES, "broken", "unreadable", "mistyped")
    found = folder.read("json", "\n".join(line(**fields) for fields, _ in JSON_FIELDS))
    assert told(found) == [
        tuple({**dict(zip(names, WHOLE, strict=True)), **changes}.values()) for _, changes in JSON_FIELDS
    ]
    others = (
        '{"event_id": "e", "flag": true}',
        LINE.replace('"size"', '"\\u0073ize"'),
        LINE.replace('"size": 7', '"\\u0073ize": "7"'),
    )
    assert told(folder.read("json", "\n".join(others))) == [
        ("e", None, True, None, None, False, None, None),
        WHOLE,
        (*READ[:-1], None, False, None, "size string"),
    ]


TIMES = {
    "2026-11-20T12:00:00.123456Z": "2026-11-20T12:00:00.123456",
    "2026-11-20T12:00:00.1234567Z": "2026-11-20T12:00:00.123456",
    "2026-11-20 13:00:00.0000000 +01:00": "2026-11-20T12:00",
    "2026-11-20T12:00:00+02:00": "2026-11-20T10:00",
    "2026-11-20T12:00:00-14:00": "2026-11-21T02:00",
    "2026-11-20T12:00:00+0200": "2026-11-20T10:00",
    "2026-11-20 12:00:00": "2026-11-20T12:00",
    "2026-11-20T12:30": "2026-11-20T12:30",
    "2026-11-20T12:30Z": "2026-11-20T12:30",
    "2026-11-20 12:30 +02:00": "2026-11-20T10:30",
    "2026-11-20 9:00:00": "2026-11-20T09:00",
    "2026-11-20T12:00:00.Z": "2026-11-20T12:00",
    "2026-11-20T12:00:00UTC": "2026-11-20T12:00",
    "2026-11-20 12:00:00 UTC": "2026-11-20T12:00",
    " 2026-11-20T12:00:00Z ": "2026-11-20T12:00",
    "2026-3-9T1:02:03Z": "2026-03-09T01:02:03",
    "1969-12-31T23:59:59.999999Z": "1969-12-31T23:59:59.999999",
    "0001-01-01T00:00:00Z": "0001-01-01",
    "9999-12-31T23:59:59.999999Z": "9999-12-31T23:59:59.999999",
}
NO_TIMES = (
    "yesterday", "now", "epoch", "1795203473", "-0001-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "20.11.2026",
    "2026-11-20", "2026-11-20T12", "2026-11", "2026", "12:30:00", "T12:30", "20261120T100000Z",
    "2026-11-20T25:00:00Z", "2026-11-20T24:00:00Z", "2026-11-20T12:00:60Z", "2026-06-30T23:59:60Z",
    "2026-11-20t12:00:00z", "\uff12026-11-20T12:00:00Z", "2026-11-20T12:00:00\u00a0Z",
    "2026-11-20T12:00:00+25:00", "2026-11-20T12:00:00 PST", "2026-11-20T12:00:00[UTC]",
    "2026-11-20T12:00:00 Europe/Berlin", "2026-03-29T02:30:00 Europe/Berlin",
)  # fmt: skip
YEAR_10000 = 253_402_300_800_000_000
"""Microseconds since the epoch; Python has no such moment."""


@pytest.mark.parametrize("format", ["json", "csv"])
def test_times(folder: Folder, format: str) -> None:
    moments = [*TIMES, "10000-01-01T00:00:00Z", *NO_TIMES]
    texts = {
        "json": [line(event_time=json.dumps(moment)) for moment in moments],
        "csv": [HEADER, *(row(event_time=moment) for moment in moments), ""],
    }
    files = folder.write({f"times.{format}": "\n".join(texts[format]).encode()})
    found = read_input(folder.spark, THINGS, format, files)
    micros = values(found.select(F.unix_micros("event_time").alias("micros")).collect(), "micros")
    known = [(datetime.fromisoformat(moment) - EPOCH) // MICROSECOND for moment in TIMES.values()]
    assert micros == [*known, YEAR_10000, *[None] * len(NO_TIMES)]
    assert values(found.select("unreadable").collect(), "unreadable") == [
        "event_time" if each is None else None for each in micros
    ]


BROKEN = [
    "not json",
    LINE[:-10],
    f"[{LINE}]",
    "[]",
    "null",
    '"text"',
    "5",
    f"{LINE} {LINE}",
    f"{LINE},{LINE}",
    f"{LINE}, null",
    f"{LINE} trailing",
    f"{LINE}, {LINE}]",
    LINE.replace('"', "'"),
    line(size="NaN"),
    # The end of another line, cut in a value or in a name.
    LINE + LINE[30:],
    LINE + LINE[6:],
    # Half of a surrogate pair, and a control character.
    line(event_id='"\\ud83d"'),
    line(event_id='"a\tb"'),
    LINE[:-1] + ",}",
    # A key twice, also in a nested object.
    LINE[:-1] + ', "event_id": "other"}',
    LINE[:-1] + ', "more": {"a": 1, "a": 2}}',
    LINE + "}",
    LINE + "]}",
    LINE + ', "more": {}',
    LINE + '], "more": [{}',
    f"{LINE}]",
    f"{LINE}] trailing",
    f"{LINE}] {LINE}",
]
NOTHING = (None,) * len(TYPES)


def test_json_lines_that_are_not_one_object_are_broken(folder: Folder) -> None:
    first, *found, last = folder.read("json", "\n".join([LINE, *BROKEN, LINE]))
    assert told([first, last]) == [WHOLE] * 2
    broken = (*NOTHING, True, None, None)
    assert [text for text, row in zip(BROKEN, told(found), strict=True) if row != broken] == []
    assert values(found, "raw") == BROKEN


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
@pytest.mark.parametrize(("format", "head", "good"), [("json", "", LINE), ("csv", f"{HEADER}\n", ROW)])
def test_bytes_that_are_no_utf8_are_not_taken_for_text(
    folder: Folder, format: str, head: str, good: str, encoding: str
) -> None:
    """Else different names become the same one: each such byte would be the sign for what is unknown."""
    other = f"{good}\n".replace("true", "Zo\u00eb")
    found = folder.read(format, f"{head}{good}\n".encode() + other.encode(encoding))
    assert told([each for each in found if not each.broken]) == [WHOLE]
    assert {each[:-2] for each in told([each for each in found if each.broken])} == {(*NOTHING, True)}
    assert all(each.raw.encode().decode() == each.raw for each in found)


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


@pytest.mark.parametrize(("packed", "line_end"), [("", b"\r"), (".gz", b"\n"), (".bz2", b"\r\n")])
def test_lines_that_are_no_utf8_are_told_from_text(folder: Folder, packed: str, line_end: bytes) -> None:
    file = folder.path / f"lines{packed}"
    packs: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}
    # The last line has no end, and is cut inside of a sign.
    file.write_bytes(packs[packed](line_end.join([*SPOILT, b"last \xe2\x82"])))
    found = read_lines(folder.spark, [str(file)], with_file=True).collect()
    expected = [*SPOILT.values(), ("last \ufffd", False)]
    assert sorted((each.raw, each.is_text) for each in found) == sorted(expected)
    assert {each.file for each in found} == {file.name}


CSV_FIELDS: list[tuple[dict[str, str], dict[str, Any] | None]] = [
    *[({"size": word}, {"size": None, "unreadable": "size"}) for word in ("many", "1.5", str(2**63))],
    *[({"flag": word}, {"flag": True}) for word in ("true", "T", "yes", "y", "1")],
    *[({"flag": word}, {"flag": False}) for word in (" FALSE ", "f", "No", "n", "0")],
    *[({"flag": word}, {"flag": None, "unreadable": "flag"}) for word in ("on", "off", "tr", "2", "perhaps")],
    *[({"event_id": word}, {"event_id": None}) for word in ("", '""', "NULL", "\\N", "\0")],
    ({"event_id": '"NULL"'}, {"event_id": "NULL"}),
    ({"event_id": "null"}, {"event_id": "null"}),
    ({"event_id": "NULLS"}, {"event_id": "NULLS"}),
    ({"event_id": '"a,b"'}, {"event_id": "a,b"}),
    (
        {"event_id": '"a ""quoted"", name \\ with a backslash "'},
        {"event_id": 'a "quoted", name \\ with a backslash '},
    ),
    ({"event_id": '""""'}, {"event_id": '"'}),
    ({"event_id": 'a "b" c'}, {"event_id": 'a "b" c'}),
    ({"event_id": " T "}, {"event_id": " T "}),
    ({"event_id": 'a"'}, {"event_id": 'a"'}),
    ({"event_id": '"a,b"', "level": "\0", "size": "\0"}, {"event_id": "a,b", "level": None, "size": None}),
    ({"size": '"100"'}, {"size": 100}),
    # What breaks a row: text beside quotes, a quote that is not closed, another width, a NUL inside a field.
    *[({"event_id": word}, None) for word in ('"a" b', '"a', "a,b", "a\0b", "\0\0", '"\0"', '"a,\0,b"')],
    ({"size": "7,more"}, None),
]


def test_csv_fields(folder: Folder) -> None:
    """bcp writes an empty text as NUL; a file system leaves zeros where it lost a part of a file."""
    names = (*TYPES, "broken", "unreadable", "mistyped")
    rows = [row(**fields) for fields, _ in CSV_FIELDS]
    found = folder.read("csv", "\n".join([HEADER, *rows, ROW.rpartition(",")[0], ""]))
    expected = [
        (*NOTHING, True, None, None)
        if changes is None
        else tuple({**dict(zip(names, WHOLE, strict=True)), **changes}.values())
        for _, changes in [*CSV_FIELDS, ({}, None)]
    ]
    assert told(found) == expected
    assert values(found, "raw") == [*rows, ROW.rpartition(",")[0]]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_last_row_without_a_line_end_is_broken(folder: Folder, end: str) -> None:
    """It may be cut inside its last field; if a whole line of such a file is the same, it is cut nowhere."""
    other = row(event_id="other")
    whole = f"{HEADER}{end}{ROW}{end}"
    assert told(folder.read("csv", whole)) == [WHOLE]
    cut = f"{HEADER}{end}{other}{end}{ROW}"
    found = folder.read("csv", whole, cut)
    assert sorted(each.event_id for each in found if not each.broken) == ["e", "other"]
    assert [each.raw for each in found if each.broken] == [ROW]
    twice = f"{HEADER}{end}{ROW}{end}{ROW}"
    assert told(folder.read("csv", twice)) == [WHOLE] * 2
    found = folder.read("csv", twice, f"{HEADER}{end}{ROW}{end}{other}")
    assert [each.raw for each in found if each.broken] == [other]


def test_csv_columns_go_by_the_header_of_their_own_file(folder: Folder) -> None:
    turned = [
        ",".join(["comment", *HEADER.split(",")[::-1]]),
        ",".join(["extra", *row(size="8").split(",")[::-1]]),
    ]
    found = folder.read("csv", f"{HEADER}\n{ROW}\n", "\n".join([*turned, ""]))
    assert sorted(told(found)) == [WHOLE, (*READ[:-1], 8, False, None, None)]


@pytest.mark.parametrize(
    ("sign", "encoding"), [(";", "utf-8-sig"), ("\t", "utf-16"), ("|", "utf-8-sig"), (";", "utf-16")]
)
def test_csv_columns_that_another_sign_parts(folder: Folder, sign: str, encoding: str) -> None:
    lines = ["#TYPE System.Data.DataRow", *(each.replace(",", sign) for each in (HEADER, ROW)), ""]
    found = folder.read("csv", "\n".join(lines).replace(f"\ne{sign}", f"\na, b{sign}").encode(encoding))
    assert told(found) == [("a, b", *WHOLE[1:])]


REFUSED: dict[str, tuple[str, dict[str, bytes], list[str]]] = {
    "columns are missing": (
        "csv",
        {
            "a": HEADER[9:].encode() + b"\n",
            "b": f"{HEADER}\n{ROW}\n".encode(),
            "c": HEADER[:-5].encode() + b"\n",
            "d": f"{HEADER},size\n".encode(),
        },
        [
            "a:1: column event_id is missing in the header",
            "c:1: column size is missing in the header",
            "d:1: column size is twice in the header",
        ],
    ),
    "few columns": (
        "csv",
        {"a": HEADER.upper().encode() + b"\n", "b": b"level,state\n5,CO\n", "c": b"a,b,c\n1,2,3\n"},
        [
            "a:1: the header has none of the 5 columns of things; write them in small letters; it is "
            "'EVENT_ID,EVENT_TIME,FLAG,LEVEL,SIZE'",
            "b:1: the header has only level of the 5 columns of things; it is 'level,state'",
            "c: has no column of things; its first line is 'a,b,c'",
        ],
    ),
    "another kind of CSV": (
        "csv",
        {
            "a": b"RowNumber,EventClass,EventSubClass,StartTime,SPID\n1,124,11,2026-11-20,55\n",
            "b": b'<event name="broker_conversation"></event>\n',
            "c": b"<!DOCTYPE html><html></html>\n",
        },
        [
            "a: this is a trace; see docs/exporting.md#traces",
            "b: this is a trace; see docs/exporting.md#traces",
            "c: it is HTML; export it as CSV",
        ],
    ),
    "another kind of JSON": (
        "json",
        {
            "a": b'<?xml version="1.0"?><RingBufferTarget/>',
            "b": b'[\n{"event_id": "1"}\n]\n',
            "c": LINE.encode("utf-16"),
            "d": b"PK\x03\x04 sheet",
        },
        [
            "a: this is a trace; see docs/exporting.md#traces",
            "b: it is one JSON array; write one object a line",
            "c: it is UTF-16; save it as UTF-8",
            "d: it is an Excel workbook or another zip file; export it as JSON lines",
        ],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_text_that_is_something_else_is_told_in_one_line(folder: Folder, case: str) -> None:
    format, contents, lines = REFUSED[case]
    assert folder.refused(format, contents) == lines


def test_json_says_file_and_field_and_types(folder: Folder) -> None:
    mistyped = {
        "a": [LINE],
        "b": [LINE, line(size='"100"', flag="1"), LINE],
        "c": [line(size="7.5")],
        "d": [line(event_id="5", event_time='{"a": 1}')],
    }
    files = folder.write({name: "\n".join(lines).encode() for name, lines in mistyped.items()})
    expected = [
        "things breaks its contract; write these again:",
        f"  {folder.path}/b: field flag is a JSON integer; it must be boolean",
        f"  {folder.path}/b: field size is a JSON string; it must be bigint",
        f"  {folder.path}/c: field size is a JSON number; it must be bigint",
        f"  {folder.path}/d: field event_id is a JSON integer; it must be string",
        f"  {folder.path}/d: field event_time is a JSON object; it must be timestamp",
    ]
    assert mistyped_fields(folder.spark, THINGS, files).splitlines() == expected
    assert mistyped_fields(folder.spark, THINGS, files[:1]) == ""


def parquet(
    values: dict[str, Any] | None = None, *, old_times: bool = False, **types: pa.DataType | None
) -> bytes:
    """READ as Parquet; `types` changes the types of columns, None leaves one out."""
    declared = {name: ARROW[type] for name, type in TYPES.items()} | types
    schema = pa.schema([(name, type) for name, type in declared.items() if type is not None])
    given = {**dict(zip(TYPES, READ, strict=True)), **(values or {})}
    out = pa.BufferOutputStream()
    table = pa.Table.from_pylist([{name: given.get(name) for name in schema.names}], schema=schema)
    pq.write_table(table, out, use_deprecated_int96_timestamps=old_times)
    return out.getvalue().to_pybytes()


PARQUET = {
    "narrower": parquet(size=pa.int32(), level=pa.int16(), more=pa.int8()),
    "milliseconds": parquet(event_time=pa.timestamp("ms", "UTC")),
    "another zone": parquet(event_time=pa.timestamp("us", "Europe/Berlin")),
    "96 bits": parquet(event_time=pa.timestamp("ns", "UTC"), old_times=True),
    "large texts": parquet(event_id=pa.large_string()),
    "views of texts": parquet(event_id=pa.string_view()),
    "a dictionary": parquet(event_id=pa.dictionary(pa.int32(), pa.string())),
    # A folder that looks like a partition says nothing.
    "size=9/extra=1/a": parquet(),
}


def test_parquet_files_of_several_schemas_are_read_side_by_side(folder: Folder) -> None:
    large = {"a large number": parquet({"event_id": "large", "size": 2**40})}
    files = folder.write(PARQUET | large)
    found = read_input(folder.spark, THINGS, "parquet", files).collect()
    expected = [*[WHOLE] * len(PARQUET), ("large", *READ[1:-1], 2**40, False, None, None)]
    assert sorted(told(found)) == expected
    assert set(values(found, "raw")) == {None}


def test_parquet_differences_of_all_files_are_listed(folder: Folder) -> None:
    contents = {
        "a": parquet(),
        "b": parquet(flag=None, level=None),
        "c": parquet(
            event_time=pa.date32(), flag=pa.float64(), size=pa.string(), values={"size": "7", "flag": 1.0}
        ),
        "d": parquet(level=pa.null(), values={"level": None}),
        "e": parquet(event_time=pa.timestamp("ns", "UTC")),
        "f": parquet(event_time=pa.timestamp("us")),
        "g": parquet()[:200],
    }
    *lines, last = folder.refused("parquet", contents)
    assert lines == [
        "b: column flag is missing; it must be boolean",
        "b: column level is missing; it must be int",
        "c: column event_time is date; it must be timestamp",
        "c: column flag is double; it must be boolean",
        "c: column size is string; it must be bigint",
        "d: column level has the type null, for it has no values; it must be int: write it with that type",
        "e: column event_time is timestamp[ns, tz=UTC]; it must be timestamp",
        "f: column event_time is timestamp_ntz; it must be timestamp",
    ]
    assert last.startswith("g: not a readable Parquet file (")

"""Files of each input format with their faults, and what an engine reads of them.

`tests/storage/inputs/test_read.py` says what is right, on the embedded engine; here both engines read the
same files.
"""

import bz2
import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake
from pyspark.sql import SparkSession, functions as F

from pipelines.config.errors import InputError
from pipelines.storage.inputs.faulty_files import find_faulty_files
from pipelines.storage.inputs.listing import InputFile
from pipelines.storage.inputs.read import mistyped_fields, read_input
from schemas import CONTRACTS
from tests.support.factories import FACTORIES, Row, endpoint_event, message_event, queue_event
from tests.support.inputs import ARROW

Lines = Sequence[str]
Write = Callable[[Path], None]


@dataclass(frozen=True)
class Case:
    """Files that are read together.

    Attributes:
        source: the input that they are of.
        format: how they are written.
        files: how each is written, by its name.
        version, since: of a Delta table.
    """

    source: str
    format: Any
    files: Mapping[str, Write]
    version: int | None = None
    since: int | None = None

    def inputs(self, folder: Path) -> list[InputFile]:
        """The files as a night finds them."""
        return [
            InputFile(self.source, str(folder / name), version=self.version, since=self.since)
            for name in self.files
        ]


def make_files(folder: Path) -> None:
    """Write the files of all cases."""
    for name, case in CASES.items():
        (folder / name).mkdir(parents=True)
        for file, write in case.files.items():
            write(folder / name / file)


def read_all(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """By case the rows that an engine reads, as sorted lines, or the error."""
    return {name: _read(spark, case, folder / name) for name, case in CASES.items()}


def _read(spark: SparkSession, case: Case, folder: Path) -> Any:
    contract, files = CONTRACTS[case.source], case.inputs(folder)
    opened = partial(read_input, spark, contract, case.format)
    try:
        # Python has no moments before the year 1 and behind the year 9999.
        found = opened(files).withColumn("event_time", F.unix_micros("event_time")).collect()
        mistyped = mistyped_fields(spark, contract, files) if any(row.mistyped for row in found) else ""
    except InputError as error:
        return {"error": str(error)}
    except Exception as error:
        faulty = find_faulty_files(files, opened, error, are_parquet=case.format == "parquet")
        # What is wrong with them is in the words of the engine.
        return {"faulty": sorted(line.partition(": ")[0] for line in faulty)}
    lines = [json.dumps(row.asDict(), default=str) for row in found]
    # A number with a fraction has other names in other engines.
    return {"rows": sorted(line.replace("DECIMAL", "DOUBLE") for line in lines), "mistyped": mistyped}


def _text(value: object) -> str:
    assert isinstance(value, datetime)
    return value.isoformat()


def _line(row: Row) -> str:
    return json.dumps(row, default=_text, ensure_ascii=False)


def _content(content: bytes | str) -> Write:
    return lambda path: _put(path, content.encode() if isinstance(content, str) else content)


def _put(path: Path, content: bytes) -> None:
    path.write_bytes(content)


# JSON

GOOD = _line(message_event())
VALUES = ("text", "", 7, 7.5, -1, 2**31, 2**63, True, None, {"a": 1}, [1], "5", "true", "null", "2026-11-20")
"""Each in place of each column's."""
NAMES = (
    *("Orders ", " Orders", "", "\u00d3rders", "O\u0301rders", "\U0001f600\uff5e", 'a "quoted", name \\'),
    *(
        "a\ttab\nand a line",
        "null",
        "{6F96-47}",
        "}",
        '"',
        "\\",
        "NaN",
        "\u2028",
        "\x7f",
        "i\u0307\u0131\u1e9e",
    ),
)
TIMES = (
    *("2026-11-20T12:00:00.123456Z", "2026-11-20T12:00:00.1234567Z", "2026-11-20T12:00:00+02:00"),
    *("2026-11-20 12:00:00", "2026-11-20T12:30", "2026-11-20T12", "2026-11-20", "2026-11", "2026"),
    *(
        "yesterday",
        "",
        "now",
        "epoch",
        "2026-02-30T00:00:00Z",
        "2026-11-20T25:00:00Z",
        "20.11.2026",
        "12:30:00",
    ),
    *("T12:30", "1899-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z"),
    *("9999-12-31T23:59:59.999999Z", "10000-01-01T00:00:00Z", "-0001-01-01T00:00:00Z", "2026-3-9T1:02:03Z"),
    *("2026-03-29T02:30:00 Europe/Berlin", "2026-11-20T12:00:00-14:00", "2026-11-20T12:00:00+0200"),
    *("2026-11-20T12:00:60Z", "2026-11-20T24:00:00Z", " 2026-11-20T12:00:00Z ", "2026-11-20t12:00:00z"),
    *("2026-11-20T12:00:00,5Z", "2026-11-20T12:00:00.Z", "2026-11-20T12:00:00UTC", "2026-11-20T12:00:00 UTC"),
    *("1795203473", "2026-11-20T12:00:00+25:00", "2026-11-20T12:00:00\u00a0", "\uff12026-11-20T12:00:00Z"),
)
BROKEN = (
    *("not json", GOOD[:-10], f"[{GOOD}]", "[]", "null", '"text"', "5", f"{GOOD} {GOOD}", f"{GOOD},{GOOD}"),
    *(f"{GOOD}, null", f"{GOOD} trailing", f"{GOOD}]", GOOD + "}", GOOD + "]}", GOOD + ', "more": {}'),
    *(GOOD[:-1] + ', "event_id": "other"}', GOOD[:-1] + ",}", GOOD[:-1] + ', "more": {"a": 1, "a": 2}}'),
    *(GOOD.replace('"', "'"), GOOD.replace("100", "NaN"), GOOD.replace("100", "Infinity"), GOOD + GOOD[30:]),
    *(
        GOOD.replace("100", "01"),
        GOOD.replace("100", "+1"),
        GOOD.replace("100", "1e2"),
        GOOD.replace("100", "1.0"),
    ),
    *(GOOD.replace("Order", "\\ud83d"), GOOD.replace("Order", "a\tb"), GOOD.replace("Order", "\\u0000")),
    *("", "   ", "\r", f"  {GOOD}  ", f"{GOOD}\r", GOOD.replace('"size_bytes"', '"\\u0073ize_bytes"')),
    *(GOOD.replace('"size_bytes"', '"Size_Bytes"'), GOOD.replace("true", "True"), "// " + GOOD, GOOD + " //"),
)


def _json_lines(source: str) -> Lines:
    of_columns = [
        _line({**FACTORIES[source](), column.name: value})
        for column in CONTRACTS[source].columns
        for value in VALUES
    ]
    lacking = [
        _line({name: value for name, value in FACTORIES[source]().items() if name != column.name})
        for column in CONTRACTS[source].columns
    ]
    return [*of_columns, *lacking]


def _lines(lines: Iterable[str], end: str = "\n") -> Write:
    return _content("".join(f"{line}{end}" for line in lines))


ENCODED = b"\n".join(
    [
        *(GOOD.encode(), GOOD.replace("SENT", "Zo\u00eb").encode("latin-1")),
        *(
            GOOD.encode().replace(b"Order", spoilt)
            for spoilt in (b"\xff\xfe", b"\xf0\x9f\x98", b"\xed\xa0\x80")
        ),
        *(
            GOOD.encode().replace(b"Order", spoilt)
            for spoilt in (b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\xe2\x82")
        ),
    ]
)
JSON = {
    **{f"json-of-{source}": {"a.jsonl": _lines(_json_lines(source))} for source in CONTRACTS},
    "json-names": {
        "a.jsonl": _lines(_line(message_event(event_id=name, message_type=name)) for name in NAMES)
    },
    "json-times": {"a.jsonl": _lines(_line(message_event(event_time=time)) for time in TIMES)},
    "json-broken": {"a.jsonl": _lines(BROKEN), "b.jsonl": _content(GOOD)},
    "json-encodings": {
        "a.jsonl": _content(ENCODED),
        "b.jsonl": _content("\ufeff" + GOOD),
        "c.jsonl": _lines([GOOD] * 2, "\r\n"),
        "d.jsonl": _lines([GOOD] * 2, "\r"),
        "e.jsonl.gz": _content(gzip.compress(f"{GOOD}\n{GOOD}".encode(), mtime=0)),
        "f.jsonl.bz2": _content(bz2.compress(GOOD.encode())),
        "night[1] {a,b}*%20\\.jsonl": _content(GOOD),
        "empty.jsonl": _content(""),
    },
    "json-utf-16": {"a.jsonl": _content(GOOD.encode("utf-16")), "b.jsonl": _content(GOOD)},
    "json-array": {"a.json": _content(f"[\n{GOOD}\n]\n")},
    "json-zip": {"a.json": _content(b"PK\x03\x04 sheet")},
    "json-cut-gz": {"a.jsonl.gz": _content(gzip.compress(GOOD.encode() * 999, mtime=0)[:-9])},
}

# CSV

HEADER, *ROW = (
    CONTRACTS["message_events"].names,
    *[
        "" if value is None else _text(value) if isinstance(value, datetime) else str(value)
        for value in (message_event()[name] for name in CONTRACTS["message_events"].names)
    ],
)
CELLS = (
    *(
        "many",
        "1.5",
        str(2**63),
        "7 ",
        " 7",
        "1e3",
        "+7",
        "-7",
        "0x1F",
        "perhaps",
        "T",
        "yes",
        "y",
        "1",
        " FALSE ",
    ),
    *("f", "No", "on", "NULL", '"NULL"', "null", '""', '""""', '"a,b"', 'a "b" c', '"a" b', '"a', 'a"', "\0"),
    *("a\0b", '"\0"', "\u00e9", '"two ""quoted"" words"', "\\N", "'x'", "\u00a0", " "),
)
"""Each in place of each column's, as they are."""


def _csv_cells() -> Lines:
    return [
        ",".join([*ROW[:place], cell, *ROW[place + 1 :]]) for place in range(len(HEADER)) for cell in CELLS
    ]


def _csv(*rows: Lines, **options: Any) -> Write:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n", **options).writerows(rows)
    return _content(file.getvalue())


TEXT = "\n".join([",".join(HEADER), ",".join(ROW), ",".join(ROW[:-1]), ",".join([*ROW, "more"]), ""])
CSV = {
    "csv-cells": {"a.csv": _lines([",".join(HEADER), *_csv_cells()])},
    "csv-times": {"a.csv": _csv(HEADER, *([ROW[0], time, *ROW[2:]] for time in TIMES))},
    "csv-headers": {
        "a.csv": _content(TEXT),
        "b.csv": _csv(["comment", *HEADER[::-1]], ["extra", *ROW[::-1]]),
        "c.csv": _csv(HEADER, ROW, delimiter=";"),
        "d.csv": _csv(["#TYPE System.Data.DataRow"], HEADER, ROW, delimiter="\t"),
        "e.csv": _content(("\ufeff" + TEXT).encode("utf-16")),
        "f.csv": _content("\ufeff" + TEXT.replace("\n", "\r\n")),
        "g.csv": _content(TEXT.rstrip()),
        "h.csv": _content(""),
        "i.csv.gz": _content(gzip.compress(TEXT.encode(), mtime=0)),
        "j.csv": _content(
            TEXT.encode() + ",".join(ROW).replace("Order", "Zo\u00eb").encode("latin-1") + b"\n"
        ),
        "k.csv": _content("\r\n".join(["", ",".join(HEADER), ",".join(ROW), "  ", ",".join(ROW), ""])),
        "l.csv": _csv(HEADER, ROW, quoting=csv.QUOTE_ALL),
    },
    "csv-without-columns": {
        "a.csv": _csv(HEADER[2:], ROW[2:]),
        "b.csv": _csv(HEADER, ROW),
        "c.csv": _csv([name.upper() for name in HEADER], ROW),
        "d.csv": _csv([*HEADER, "event_id"], [*ROW, "x"]),
        "e.csv": _content("RowNumber,EventClass,EventSubClass,StartTime,SPID\n1,124,11,2026-11-20,55\n"),
        "f.csv": _content("<!DOCTYPE html><html></html>\n"),
    },
}

# Parquet and Delta


def _table(source: str, rows: Sequence[Row], **types: pa.DataType | None) -> pa.Table:
    """The rows; `types` changes the type of columns, None leaves one out."""
    declared = {column.name: ARROW[column.type] for column in CONTRACTS[source].columns} | types
    schema = pa.schema([(name, type) for name, type in declared.items() if type is not None])
    return pa.Table.from_pylist(list(rows), schema=schema)


def _parquet(rows: Sequence[Row], source: str = "queue_events", **types: pa.DataType | None) -> Write:
    return lambda path: pq.write_table(_table(source, rows, **types), path)


def _micros(*micros: int) -> Write:
    """Rows at these microseconds, some of which Python has no moment for."""
    table = _table("queue_events", [queue_event(row_count=number) for number, _ in enumerate(micros)])
    place = table.schema.get_field_index("event_time")
    times = pa.array(micros, pa.timestamp("us", "UTC"))
    return lambda path: pq.write_table(table.set_column(place, "event_time", times), path)


def _int96(path: Path) -> None:
    table = _table("queue_events", [queue_event()], event_time=pa.timestamp("ns", "UTC"))
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)


ROWS = [
    *(endpoint_event(contract=name, local_service=None) for name in NAMES),
    *(endpoint_event(event_time=datetime.fromisoformat(time).replace(tzinfo=UTC)) for time in TIMES[:2]),
    dict.fromkeys(endpoint_event()),
]
PARQUET = {
    "parquet-rows": {"a.parquet": _parquet(ROWS, "endpoint_events")},
    "parquet-times": {
        "a.parquet": _micros(-62_135_596_800_000_000, -2_208_988_800_000_001, -1, 0, 253_402_300_799_999_999),
        "b.parquet": _parquet([queue_event()], event_time=pa.timestamp("ms", "UTC")),
        "c.parquet": _parquet([queue_event()], event_time=pa.timestamp("us", "Europe/Berlin")),
        "d.parquet": _int96,
    },
    "parquet-of-other-writers": {
        "a.parquet": _parquet([queue_event(session_id=2**40)], extra=pa.int8()),
        "b.parquet": _parquet([queue_event(session_id=51)], session_id=pa.int32(), row_count=pa.int16()),
        "c.parquet": _parquet([queue_event()], queue=pa.large_string(), event_id=pa.string_view()),
        "d.parquet": _parquet([queue_event()], queue=pa.dictionary(pa.int32(), pa.string())),
    },
    "parquet-of-other-types": {
        "a.parquet": _parquet([queue_event()], queue=None, has_where=None),
        "b.parquet": _parquet([], event_time=pa.date32(), session_id=pa.float64(), row_count=pa.string()),
        "c.parquet": _parquet([queue_event()], row_count=pa.null()),
        "d.parquet": _parquet([], event_time=pa.timestamp("us")),
        "e.parquet": _parquet([], event_time=pa.timestamp("ns", "UTC")),
        "f.parquet": _content(b"PAR1 cut"),
    },
}


def _delta(path: Path) -> None:
    """Three versions, in two partitions."""
    for number in range(3):
        event = {**message_event(event_id=f"e{number}"), "day": f"d{number % 2}"}
        write_deltalake(
            path, _table("message_events", [event], day=pa.string()), mode="append", partition_by=["day"]
        )


def _foreign(path: Path) -> None:
    write_deltalake(path, pa.table({"event_id": ["e"], "event_time": [date(2026, 11, 20)], "instance": [5]}))


CASES = {
    **{name: Case(name[8:] if name.startswith("json-of-") else "message_events", "json", files)
       for name, files in JSON.items()},
    **{name: Case("message_events", "csv", files) for name, files in CSV.items()},
    **{name: Case("endpoint_events" if name == "parquet-rows" else "queue_events", "parquet", files)
       for name, files in PARQUET.items()},
    "delta-whole": Case("message_events", "delta", {"table": _delta}, version=2),
    "delta-appended": Case("message_events", "delta", {"table": _delta}, version=2, since=0),
    "delta-of-another-table": Case("message_events", "delta", {"table": _foreign}, version=0),
}  # fmt: skip
"""All cases, by what is odd about them."""

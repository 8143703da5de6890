"""Rejected rows have reasons, no body of a message is stored, and files that no engine reads are named."""

import gzip
import json
import lzma
import os
import re
import shutil
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.console.invocation import command_line
from tests.field.running import AS_OF, Case, Row
from tests.field.servers import read_csv, text_of
from tests.support.inputs import write_rows

pytestmark = pytest.mark.slow

BODY = 'S3CRET <body>, of a "customer"'
TYPES = {
    "event_time": pa.timestamp("us", "UTC"),
    "sent_by_initiator": pa.bool_(),
    **dict.fromkeys(("message_sequence_number", "size_bytes", "queuing_order"), pa.int64()),
}
LONGEST = 1 << 21


def message(event_id: str, **changes: Any) -> Row:
    """A SENT with a body beside the declared columns, as written in a file."""
    return {
        **{"message_body": BODY, "event_id": event_id, "event_time": "2026-11-20T09:00:00.000001Z"},
        **{"instance": "I", "database": "D", "event_type": "SENT", "message_id": event_id},
        **{"conversation_id": "c1", "sent_by_initiator": True, "message_sequence_number": 0},
        **{"message_type": "Order", "size_bytes": 3, "queuing_order": None, "transaction_id": None},
        "other": BODY,
        **changes,
    }


def project(folder: Path, format: str = "json", *, share: float = 1.0, **quality: Any) -> tuple[Case, Path]:
    """A project of messages alone in this format, and the folder of its messages."""
    for name in ("endpoint_events", "message_events"):
        (folder / name).mkdir(parents=True)
    (folder / "catalog.yaml").write_text("instances: []\n")
    case = Case(folder)
    case.configure(
        inputs={
            "endpoint_events": {"path": "endpoint_events", "format": "json"},
            "message_events": {"path": "message_events", "format": format},
        },
        catalog="catalog.yaml",
        quality={"max_rejected_share": share, **quality},
    )
    return case, folder / "message_events"


def write(folder: Path, format: str, rows: Sequence[Row], name: str = "1") -> None:
    """One file of these rows."""
    schema = pa.schema([(column, TYPES.get(column, pa.string())) for column in rows[0]])
    write_rows(folder / f"{name}.{'jsonl' if format == 'json' else format}", rows, schema)


PAYLOADS = [
    message("p1"),
    message("p2", event_type="OTHER"),
    message("p3", message_type=None),
    message("p4"),
    message("p4", size_bytes=4),
]


def nested(depth: int, opening: str = '{"a":', closing: str = "}") -> str:
    return opening * depth + "1" + closing * depth


EXTRA: dict[str, tuple[str, bool]] = {
    "a number that no double holds": ("1e400", False),
    "as negative": ("-1E+400", False),
    "with 400 digits": ("9" * 400, False),
    "with 400 decimals": ("0." + "9" * 400, True),
    "too small for a double": ("1e-400", True),
    "minus zero": ("-0", True),
    "in a text": ('"x: 1e400, {[{["', True),
    "NaN": ("NaN", False),
    "Infinity": ("-Infinity", False),
    "31 objects": (nested(31), True),
    "32 objects": (nested(32), False),
    "200 objects": (nested(200), False),
    "5,000 objects": (nested(5000), False),
    "31 arrays": (nested(31, "[", "]"), True),
    "5,000 arrays": (nested(5000, "[", "]"), False),
    "200 objects side by side": ("[" + ",".join(['{"a":[{}]}'] * 200) + "]", True),
    "objects with a column's name": (nested(31, '{"b":1,"size_bytes":'), True),
    "an object with columns": ('{"event_id":"S3CRET","event_time":"2026"}', True),
    "half of a surrogate pair": ('"\\ud800"', False),
    "a name of 1 MB": (f'{{}},"{"k" * (1 << 20)}":1', True),
    "a name twice": ('1,"extra":2', False),
    "a column twice": ('1,"size_bytes":4', False),
}
"""Values of a field that no contract declares, and whether the row is an event."""


def no_rows_of_json(folder: Path) -> None:
    """Lines that are no row, rows with extremes of JSON, and a packed file with a line that is too long."""
    whole = json.dumps(message("m2"))
    (folder / "lines.jsonl").write_text(f'{whole[:60]}\n{BODY}\n["{whole[:9]}"]\n{whole}{whole}\n')
    lines = [
        json.dumps({**message(name), "extra": "?"}).replace('"?"', value) + "\n"
        for name, (value, _) in EXTRA.items()
    ]
    (folder / "extra.jsonl").write_text("".join(lines))
    (folder / "long.jsonl.GZ").write_bytes(gzip.compress((folder / "long.jsonl").read_bytes()))
    (folder / "long.jsonl").unlink()


@pytest.fixture(scope="module")
def taken_in(session: object, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Case]:
    """Of each format a project that has taken in rows of every kind."""
    cases = {}
    for format in ("json", "csv", "parquet"):
        case, folder = project(tmp_path_factory.mktemp("rejected") / format, format, max_line_bytes=LONGEST)
        write(folder, format, PAYLOADS)
        if format in ("json", "csv"):
            long = message("too long", message_body=BODY * (LONGEST // len(BODY) + 1))
            write(folder, format, [message("before"), long, message("behind")], "long")
        if format == "json":
            no_rows_of_json(folder)
        if format == "csv":
            broken = message("m2", message_body="S3CRET\nline, of a body")
            write(folder, format, [message("m1"), broken], "lines")
        ended = case.job("fold")
        assert ended.code == 0, ended.err
        cases[format] = case
    return cases


def rejected(case: Case) -> list[tuple[str | None, str, Any]]:
    """event_id, reason and payload of the rejected rows."""
    rows = case.table("rejected_events", ["event_id", "reason", "payload"])
    return sorted(((row["event_id"], row["reason"], json.loads(row["payload"])) for row in rows), key=str)


TEXTS = pytest.mark.parametrize("format", ["json", "csv"])


@pytest.mark.parametrize("format", ["json", "csv", "parquet"])
def test_a_payload_has_declared_columns_only_and_no_body(taken_in: Mapping[str, Case], format: str) -> None:
    found = [row for row in rejected(taken_in[format]) if row[0] in {each["event_id"] for each in PAYLOADS}]
    assert [row[:2] for row in found] == [
        ("p2", "unknown_event_type"),
        ("p3", "missing_message_type"),
        ("p4", "conflicting_duplicate"),
        ("p4", "conflicting_duplicate"),
    ]
    first = {"true": True, "0": 0, "3": 3} if format == "csv" else {}
    payload = {name: first.get(str(value).lower(), value) for name, value in found[0][2].items()}
    assert payload == {name: value for name, value in PAYLOADS[1].items() if value not in (None, BODY)}
    assert "S3CRET" not in str(rejected(taken_in[format]))


@TEXTS
def test_nothing_of_a_line_that_is_no_row_is_stored(taken_in: Mapping[str, Case], format: str) -> None:
    found = [row for row in rejected(taken_in[format]) if row[1] == "broken_row"]
    assert {row[0] for row in found} == {None}
    if format == "json":
        assert len(found) == 4 + len([1 for _, is_event in EXTRA.values() if not is_event])
        assert {frozenset(row[2]) for row in found} == {frozenset({"characters", "sha256"})}
    else:
        assert len(found) == 2


def test_extremes_of_json(taken_in: Mapping[str, Case]) -> None:
    accepted = {row["event_id"] for row in taken_in["json"].table("message_events")}
    expected = {name: is_event for name, (_, is_event) in EXTRA.items()}
    assert {name: name in accepted for name in EXTRA} == expected


@TEXTS
def test_a_line_that_is_too_long(taken_in: Mapping[str, Case], format: str) -> None:
    accepted = {row["event_id"] for row in taken_in[format].table("message_events")}
    assert accepted & {"before", "too long", "behind"} == {"before", "behind"}
    [(event_id, _, payload)] = [row for row in rejected(taken_in[format]) if row[1] == "line_too_long"]
    assert (event_id, set(payload)) == (None, {"bytes", "sha256"})
    assert payload["bytes"] > LONGEST


# --- The gate ---


def test_the_gate_names_the_most_frequent_reason_with_a_place(session: object, tmp_path: Path) -> None:
    case, folder = project(tmp_path / "p", share=0.1)
    assert case.ask("rejected") == []
    assert case.lines("rejected") == ["No row was rejected."]
    bad = [message(f"m{number}", event_time="07.12.2026 10:00") for number in range(2)]
    write(folder, "json", [message("good"), message("other", event_type="SEND"), *bad])
    done = case.nightly()
    assert done.code == 3
    assert done.err.splitlines()[-1] == (
        "error: 3 of 4 rows were rejected (message_events 3 of 4), more than "
        "quality.max_rejected_share = 0.1 allows; most often unreadable_event_time, as in "
        f"{folder}/1.jsonl:3: event_time is '07.12.2026 10:00'. Correct the rows and add them in new files, "
        "or allow more; "
        f"{command_line('rejected')} lists all reasons"
    )
    assert case.job("schedules", "--as-of", AS_OF).code == 3
    found = case.ask("rejected", "--limit", "1")
    assert [(row["source"], row["reason"], row["events"]) for row in found] == [
        ("message_events", "unreadable_event_time", 2),
        ("message_events", "unknown_event_type", 1),
    ]
    assert [[sample["event_id"] for sample in row["samples"]] for row in found] == [["m0"], ["other"]]
    assert json.loads(found[0]["samples"][0]["payload"])["event_time"] == "07.12.2026 10:00"
    shown = "\n".join(case.lines("rejected"))
    assert "unknown_event_type" in shown
    assert "S3CRET" not in shown


def test_the_gate_names_what_it_knows(session: object, tmp_path: Path) -> None:
    case, folder = project(tmp_path / "parquet", "parquet", share=0)
    write(folder, "parquet", [message("m1", message_type=None)])
    said = f"; most often missing_message_type, as in {folder}/1.parquet: message_type is null. "
    assert said in case.nightly().err
    case, folder = project(tmp_path / "json", share=0)
    write(folder, "json", [message("m1")])
    (folder / "2.jsonl").write_text(json.dumps(message("m2")) + f'\n{{"message_body": "{BODY}')
    err = case.nightly().err
    assert f"; most often broken_row, as in {folder}/2.jsonl:2. Correct" in err
    assert "S3CRET" not in err


def test_the_gate_names_view_line_and_value(session: object, tmp_path: Path) -> None:
    """Of the sample's target database, whose messages have a body; one message more is not readable."""
    case, view = Case(tmp_path), tmp_path / "TargetDB" / "dbo.TargetQueue.csv"
    shutil.copytree(Path(__file__).parent / "views" / "TargetDB", view.parent)
    header, *rows = read_csv(view)
    bad = {"queuing_order": "9", "message_sequence_number": "first"}
    changed = dict(zip(header, rows[-1], strict=True)) | bad
    table = [["message_body", *header], *[[BODY, *row] for row in [*rows, [*changed.values()]]]]
    view.write_text(text_of(table, line_end="\n"))
    entry = {"path": "TargetDB", "instance": "DOC1", "database": "TargetDB", "format": "csv"}
    case.configure(snapshots=[{**entry, "taken_at": "2026-11-21T00:00:00.250Z"}])
    done = case.nightly("2026-11-21T00:00:01Z")
    assert done.code == 3
    reason = "unreadable_message_sequence_number"
    assert f"; most often {reason}, as in {view}:6: message_sequence_number is 'first'. Correct" in done.err
    [(_, found, payload)] = rejected(case)
    assert (found, payload["queuing_order"], "message_body" in payload) == (reason, "9", False)
    tables = [log.parent.name for log in (case.folder / "warehouse").glob("*/_delta_log")]
    assert "S3CRET" not in str([case.table(name) for name in tables]) + done.err


# --- Files that are none of events, or that no engine reads ---

LINE = json.dumps(message("m1")).encode() + b"\n"
UNPACK = "files of this ending can't be read; unpack it, or pack it as .gz, .bz2 or .zst"
AS_LINES = "; export it as JSON lines"
NO_FILE = "it is a link to nothing, a pipe or a device; put the file there, or remove it"


def packed(codec: str) -> bytes:
    return bytes(pa.compress(LINE, codec=codec, asbytes=True))


def tar(path: Path) -> None:
    line = path.parent.parent / "m.jsonl"
    line.write_bytes(LINE * 3)
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as archive:
        archive.add(line, "m.jsonl")


FILES: dict[str, tuple[bytes | Callable[[Path], object], str]] = {
    "xz.jsonl.xz": (lzma.compress(LINE), UNPACK),
    "xz.jsonl": (lzma.compress(LINE), f"it is compressed by xz{AS_LINES}"),
    "lz4.jsonl.lz4": (packed("lz4"), UNPACK),
    "snappy.jsonl.snappy": (packed("snappy"), UNPACK),
    "zstd.jsonl": (
        packed("zstd"),
        f"it is compressed by zstd, though its name does not end with .zst{AS_LINES}",
    ),
    "tar.tar.gz": (tar, UNPACK),
    "tar.jsonl": (tar, "it is a tar archive; unpack it, and export it as JSON lines"),
    "array.json": (b"[" + LINE.strip() + b"," + LINE + b"]", "it is one JSON array; write one object a line"),
    "object.json": (
        json.dumps(message("m1"), indent=2).encode(),
        "it has an object over several lines; write one object a line",
    ),
    "link.jsonl": (lambda path: path.symlink_to("nothing"), NO_FILE),
    "pipe.jsonl": (os.mkfifo, NO_FILE),
    "utf-16.jsonl": (
        LINE.decode().encode("utf-16-le"),
        "it is UTF-16 LE without a byte order mark; save it as UTF-8",
    ),
}


def test_files_that_are_no_lines_are_named(session: object, tmp_path: Path) -> None:
    """A night names those that can't be opened first; each is taken away, and the next night names more."""
    case, folder = project(tmp_path / "p")
    write(folder, "json", [message("m1")])
    for name, (content, _) in FILES.items():
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            content(folder / name)
    told: dict[str, str] = {}
    while len(told) < len(FILES):
        done = case.nightly()
        assert done.code == 3
        assert "S3CRET" not in done.err
        named = dict(re.findall(f"{re.escape(str(folder))}/(.+?): (.+)", done.err))
        assert named
        for name in named:
            (folder / name).unlink()
        told |= named
    assert told == {name: says for name, (_, says) in FILES.items()}


def test_names_of_files_that_can_not_be_told(session: object, tmp_path: Path) -> None:
    case, folder = project(tmp_path / "p")
    undecoded = Path(os.fsdecode(os.fsencode(folder) + b"/b\xff.jsonl"))
    undecoded.write_bytes(LINE)
    done = case.nightly()
    assert (done.code, done.err.splitlines()[-1]) == (
        3,
        f"error: {folder}: the name b'{folder}/b\\xff.jsonl' is no UTF-8; rename that file",
    )
    undecoded.rename(folder / "2\nerror: no.jsonl")
    done = case.nightly()
    assert (done.code, done.err.splitlines()[-1]) == (
        3,
        f"error: inputs.message_events: the name of '{folder}/2\\nerror: no.jsonl' has a line end or a "
        "control character; rename it",
    )


def test_a_parquet_column_twice(session: object, tmp_path: Path) -> None:
    case, folder = project(tmp_path / "p", "parquet")
    write(folder, "parquet", [message("m1")])
    table = pq.read_table(folder / "1.parquet")
    twice = [*table.column_names, "EVENT_ID", "size_bytes"]
    columns = [*table.columns, table["event_id"], table["size_bytes"]]
    pq.write_table(pa.Table.from_arrays(columns, twice), folder / "1.parquet")
    done = case.nightly()
    assert (done.code, done.err.splitlines()[-3:]) == (
        3,
        [
            "error: message_events breaks its contract; write these again:",
            f"  {folder}/1.parquet: column event_id is there twice; write it once",
            f"  {folder}/1.parquet: column size_bytes is there twice; write it once",
        ],
    )


def test_a_row_in_place_of_a_header_is_not_shown(session: object, tmp_path: Path) -> None:
    case, folder = project(tmp_path / "p", "csv")
    (folder / "1.csv").write_text(f"{BODY.replace(',', '')},m1,2026-11-20T09:00:00Z\n".replace('"', ""))
    done = case.nightly()
    assert (done.code, done.err.splitlines()[-1]) == (
        3,
        f"  {folder}/1.csv: has no column of message_events in its first line",
    )
    assert "S3CRET" not in str(case.table("runs"))

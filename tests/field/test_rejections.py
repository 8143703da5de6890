"""Rejected rows have reasons, and what is stored of them is no message's body."""

import csv
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from pipelines.console.invocation import command_line
from tests.field.running import AS_OF, Case
from tests.support.rejections import BODY, Row, message, project

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FORMATS = ("json", "csv", "parquet", "delta")


TYPES = {
    "event_time": pa.timestamp("us", "UTC"),
    "sent_by_initiator": pa.bool_(),
    **dict.fromkeys(("message_sequence_number", "size_bytes", "queuing_order"), pa.int64()),
}


def write(folder: Path, format: str, rows: Sequence[Row]) -> None:
    """One file of these rows."""
    folder.mkdir(parents=True, exist_ok=True)
    if format == "json":
        (folder / "1.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif format == "csv":
        with (folder / "1.csv").open("w", newline="") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(rows[0])
            lines.writerows(row.values() for row in rows)
    else:
        columns = {name: [_typed(name, row[name]) for row in rows] for name in rows[0]}
        table = pa.table(
            {name: pa.array(each, TYPES.get(name, pa.string())) for name, each in columns.items()}
        )
        if format == "delta":
            write_deltalake(str(folder), table)
        else:
            pq.write_table(table, folder / "1.parquet")


def _typed(name: str, value: Any) -> Any:
    return value if name != "event_time" or value is None else pa.scalar(value).cast(TYPES[name]).as_py()


def rejected(case: Case) -> list[tuple[str | None, str, Any]]:
    """event_id, reason and payload of the rejected rows."""
    rows = case.table("rejected_events", ["event_id", "reason", "payload"])
    return sorted(((row["event_id"], row["reason"], json.loads(row["payload"])) for row in rows), key=str)


@pytest.mark.parametrize("format", FORMATS)
def test_a_payload_has_declared_columns_only(session: SparkSession, tmp_path: Path, format: str) -> None:
    case = project(tmp_path / "p", format)
    write(
        tmp_path / "p" / "message_events",
        format,
        [
            message("m1"),
            message("m2", event_type="OTHER"),
            message("m3", message_type=None),
            message("m4"),
            message("m4", size_bytes=4),
        ],
    )
    assert case.nightly().code == 0
    found = rejected(case)
    assert [row[:2] for row in found] == [
        ("m2", "unknown_event_type"),
        ("m3", "missing_message_type"),
        ("m4", "conflicting_duplicate"),
        ("m4", "conflicting_duplicate"),
    ]
    assert "S3CRET" not in str(found)
    first = {"true": True, "0": 0, "3": 3} if format == "csv" else {}
    payload = {name: first.get(str(value).lower(), value) for name, value in found[0][2].items()}
    expected = {name: value for name, value in message("m2", event_type="OTHER").items() if value is not None}
    assert payload == {name: value for name, value in expected.items() if value != BODY}


def test_text_that_is_no_value_stays_as_written(session: SparkSession, tmp_path: Path) -> None:
    rows = [message("m1", event_time="07.12.2026 10:00"), message("m2", event_time="2026-11")]
    for format in ("json", "csv"):
        case = project(tmp_path / format, format)
        write(tmp_path / format / "message_events", format, rows)
        assert case.nightly().code == 0
        found = rejected(case)
        assert [(row[0], row[1], row[2]["event_time"]) for row in found] == [
            ("m1", "unreadable_event_time", "07.12.2026 10:00"),
            ("m2", "unreadable_event_time", "2026-11"),
        ]


def test_nothing_of_a_line_that_is_no_row_is_stored(session: SparkSession, tmp_path: Path) -> None:
    case = project(tmp_path / "json")
    folder = tmp_path / "json" / "message_events"
    write(folder, "json", [message("m1")])
    whole = json.dumps(message("m2"))
    (folder / "2.jsonl").write_text(f'{whole[:60]}\n{BODY}\n["{whole[:9]}"]\n{whole}{whole}\n')
    assert case.nightly().code == 0
    found = rejected(case)
    assert [row[:2] for row in found] == [(None, "broken_row")] * 4
    assert {frozenset(row[2]) for row in found} == {frozenset({"characters", "sha256"})}
    assert "S3CRET" not in str(found)

    case = project(tmp_path / "csv", "csv")
    folder = tmp_path / "csv" / "message_events"
    write(folder, "csv", [message("m1"), message("m2", message_body="S3CRET\nline, of a body")])
    assert case.nightly().code == 0
    found = rejected(case)
    assert {row[:2] for row in found} == {(None, "broken_row")}
    assert "S3CRET" not in str(found)


TIMES = {
    "2026": False,
    "2026-11": False,
    "2026-11-20": False,
    "2026-11-20T10": False,
    "10:00": False,
    "T10:00:00Z": False,
    "20261120T100000Z": False,
    "1763632800": False,
    "now": False,
    "2026-11-20T24:00:00Z": False,
    "2026-06-30T23:59:60Z": False,
    "2026-02-29T10:00:00Z": False,
    "2026-11-20T09:00:00 Europe/Berlin": False,
    "2026-11-20T09:00:00 PST": False,
    "2026-11-20T09:00:00[UTC]": False,
    "2026-11-20T09:00:00\u00a0Z": False,
    "20.11.2026 10:00": False,
    "11/20/2026 10:00 AM": False,
    "2026-11-20T09:00": True,
    "2026-11-20 9:00:00": True,
    "2026-11-20T09:00:00": True,
    "2026-11-20T09:00:00Z": True,
    "2026-11-20 09:00:00 UTC": True,
    "2026-11-20T10:00:00+01:00": True,
    "2026-11-20T10:00:00.000+0100": True,
    "2026-11-20 10:00:00.0000000 +01:00": True,
}
"""Texts, and whether each is 2026-11-20T09:00:00Z."""


@pytest.mark.parametrize("format", ["json", "csv"])
def test_only_full_instants_are_times(session: SparkSession, tmp_path: Path, format: str) -> None:
    case = project(tmp_path / "p", format)
    rows = [message(f"m{number:02d}", event_time=text) for number, text in enumerate(TIMES)]
    write(tmp_path / "p" / "message_events", format, rows)
    assert case.nightly().code == 0
    accepted = {row["event_id"]: row["event_time"] for row in case.table("message_events")}
    assert accepted.keys() == {f"m{number:02d}" for number, is_full in enumerate(TIMES.values()) if is_full}
    assert {moment.isoformat() for moment in accepted.values()} == {"2026-11-20T09:00:00+00:00"}
    assert {row[1] for row in rejected(case)} == {"unreadable_event_time"}


def test_years_that_no_log_has(session: SparkSession, tmp_path: Path) -> None:
    case = project(tmp_path / "p")
    times = ["0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "12026-11-20T09:00:00Z"]
    write(
        tmp_path / "p" / "message_events",
        "json",
        [message(f"m{number}", event_time=text) for number, text in enumerate(times)],
    )
    assert case.nightly().code == 0
    assert {row[1] for row in rejected(case)} == {"event_time_out_of_range"}
    assert AS_OF


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
    "a name of 1 MB": (f'{{}},"{"k" * (1 << 20)}":1', False),
    "a name twice": ('1,"extra":2', False),
    "a column twice": ('1,"size_bytes":4', False),
}
"""Values of a field that no contract declares, and whether the row is an event."""


def test_extremes_of_json(session: SparkSession, tmp_path: Path) -> None:
    case = project(tmp_path / "p")
    folder = tmp_path / "p" / "message_events"
    folder.mkdir()
    for number, (value, _) in enumerate(EXTRA.values()):
        row = json.dumps({**message(f"m{number:02d}"), "extra": "?"})
        with (folder / "1.jsonl").open("a") as file:
            file.write(row.replace('"extra": "?"', f'"extra": {value}') + "\n")
    assert case.nightly().code == 0
    accepted = {row["event_id"] for row in case.table("message_events")}
    found = {name: f"m{number:02d}" in accepted for number, name in enumerate(EXTRA)}
    assert found == {name: is_event for name, (_, is_event) in EXTRA.items()}
    assert {row[:2] for row in rejected(case)} == {(None, "broken_row")}
    assert "S3CRET" not in str(rejected(case))


def test_a_line_that_is_too_long(session: SparkSession, tmp_path: Path) -> None:
    for format in ("json", "csv"):
        case = project(tmp_path / format, format, quality={"max_line_bytes": 2048})
        folder = tmp_path / format / "message_events"
        write(folder, format, [message("m1"), message("m2", message_body=BODY * 200), message("m3")])
        if format == "json":
            packed = gzip.compress((folder / "1.jsonl").read_bytes())
            (folder / "1.jsonl").unlink()
            (folder / "1.jsonl.GZ").write_bytes(packed)
        assert case.nightly().code == 0
        assert {row["event_id"] for row in case.table("message_events")} == {"m1", "m3"}
        [(event_id, reason, payload)] = rejected(case)
        assert (event_id, reason, set(payload)) == (None, "line_too_long", {"bytes", "sha256"})
        assert payload["bytes"] > 200 * len(BODY)


def test_a_parquet_column_twice_and_names_with_line_ends(session: SparkSession, tmp_path: Path) -> None:
    case = project(tmp_path / "twice", "parquet")
    folder = tmp_path / "twice" / "message_events"
    write(folder, "parquet", [message("m1")])
    table = pq.read_table(folder / "1.parquet")
    twice = [*table.column_names, "EVENT_ID", "size_bytes"]
    columns = [*table.columns, table["event_id"], table["size_bytes"]]
    pq.write_table(pa.Table.from_arrays(columns, twice), folder / "1.parquet")
    done = case.nightly()
    assert (done.code, done.err.splitlines()[-3:]) == (
        3,
        [
            "error: message_events breaks its contract; write these anew:",
            f"  {folder}/1.parquet: column event_id is there twice; write it once",
            f"  {folder}/1.parquet: column size_bytes is there twice; write it once",
        ],
    )
    case = project(tmp_path / "names")
    folder = tmp_path / "names" / "message_events"
    write(folder, "json", [message("m1")])
    (folder / "2\nerror: no.jsonl").write_text("{}\n")
    done = case.nightly()
    assert (done.code, done.err.splitlines()[-1]) == (
        3,
        f"error: inputs.message_events: the name of '{folder}/2\\nerror: no.jsonl' has a line end or a "
        "control character; rename it",
    )


def test_the_gate_names_the_most_frequent_reason_with_a_place(session: SparkSession, tmp_path: Path) -> None:
    for format in ("json", "csv"):
        case = project(tmp_path / format, format, share=0.1)
        folder = tmp_path / format / "message_events"
        bad = [message(f"m{number}", event_time="07.12.2026 10:00") for number in range(2)]
        write(folder, format, [message("good"), message("other", event_type="SEND"), *bad])
        done = case.nightly()
        assert done.code == 3
        place = {"json": f"{folder}/1.jsonl:3", "csv": f"{folder}/1.csv:4"}[format]
        assert done.err.splitlines()[-1] == (
            "error: 3 of 4 rows were rejected (message_events 3 of 4), more than "
            f"quality.max_rejected_share = 0.1 allows; most often unreadable_event_time, as in {place}: "
            "event_time is '07.12.2026 10:00'. Correct the rows and add them in new files, or allow more; "
            f"{command_line('rejected')} lists all reasons"
        )
        assert case.job("schedules", "--as-of", AS_OF).code == 3


def test_the_gate_names_what_it_knows(session: SparkSession, tmp_path: Path) -> None:
    case = project(tmp_path / "parquet", "parquet", share=0)
    folder = tmp_path / "parquet" / "message_events"
    write(folder, "parquet", [message("m1", message_type=None)])
    assert (
        f"; most often missing_message_type, as in {folder}/1.parquet: message_type is null. "
        in case.nightly().err
    )
    case = project(tmp_path / "json", share=0)
    folder = tmp_path / "json" / "message_events"
    write(folder, "json", [message("m1")])
    (folder / "2.jsonl").write_text(json.dumps(message("m2")) + f'\n{{"message_body": "{BODY}')
    err = case.nightly().err
    assert f"; most often broken_row, as in {folder}/2.jsonl:2. Correct" in err
    assert "S3CRET" not in err


def test_the_job_lists_reasons_with_samples(session: SparkSession, tmp_path: Path) -> None:
    case = project(tmp_path / "p", share=0)
    assert case.job("rejected", "--format", "json").json == []
    assert case.job("rejected").out == "No row was rejected.\n"
    rows = [message(f"m{number}", event_type="SEND") for number in range(3)]
    write(tmp_path / "p" / "message_events", "json", [*rows, message("n", event_time="2026")])
    assert case.nightly().code == 3
    found = case.job("rejected", "--limit", "2", "--format", "json").json
    assert [(row["source"], row["reason"], row["events"]) for row in found] == [
        ("message_events", "unknown_event_type", 3),
        ("message_events", "unreadable_event_time", 1),
    ]
    assert [[sample["event_id"] for sample in row["samples"]] for row in found] == [["m0", "m1"], ["n"]]
    assert json.loads(found[1]["samples"][0]["payload"])["event_time"] == "2026"
    shown = case.job("rejected").out
    assert "unknown_event_type" in shown
    assert "S3CRET" not in shown

"""Exports of a server's views as tools write them: read as clean ones are, or refused in one line a file."""

from pathlib import Path

import pytest

from tests.field.exports import READABLE, read_clean
from tests.support.field import CLEAN, tables
from tests.support.open_case import OpenCase

pytestmark = pytest.mark.slow
ON_SPARK = ("sqlcmd-padded", "export-csv-unicode", "mysql-null", "gzip")
"""Forms that are tried on Apache Spark as well: it reads the same copies."""


@pytest.mark.parametrize(
    "tool", [pytest.param(tool, marks=pytest.mark.spark) if tool in ON_SPARK else tool for tool in READABLE]
)
def test_what_tools_write_is_read_as_a_clean_export(
    open_case: OpenCase, clean: dict[str, list[str]], tool: str
) -> None:
    case = open_case(CLEAN)
    for path in sorted((case.folder / "snap").glob("*.csv")):
        READABLE[tool](path, read_clean(path))
    night = case.nightly()
    assert night.code == 0, night.err
    assert "not read" not in night.err
    assert tables(case) == clean


def replaced(path: Path, old: str, new: str, encoding: str = "utf-8") -> None:
    path.write_bytes(path.read_text().replace(old, new).encode(encoding))


ENQUEUED = "2026-11-20 08:00:00.000"


@pytest.mark.parametrize(
    ("time", "cause"),
    [
        ("11/20/2026 8:00:00 AM", "a time in local form; write it as 2026-11-20 08:00:00.000"),
        ("20.11.2026 08:00:00", "a time in local form"),
        ("07.12.26 8:00", "a time in local form"),
        ("Nov 20 2026  8:00AM", "a time in local form"),
        ("20-nov.-2026 08:00", "a time in local form"),
        ("00:00.0", "which a spreadsheet has made of it"),
    ],
)
def test_a_time_in_local_form_is_refused_in_one_line(open_case: OpenCase, time: str, cause: str) -> None:
    case = open_case(CLEAN)
    path = case.folder / "snap" / "dbo.MillQueue.csv"
    replaced(path, ENQUEUED, time)
    night = case.nightly()
    [head, line] = night.err.splitlines()
    assert (night.code, head) == (3, "error: snapshots break their contract; export these anew:")
    assert line.startswith(f"  {path}: line 2: message_enqueue_time is {time!r}, {cause}")


def test_a_long_number_that_a_spreadsheet_rounded_is_refused(open_case: OpenCase) -> None:
    case = open_case(CLEAN)
    path = case.folder / "snap" / "dbo.MillQueue.csv"
    replaced(path, "1,9,1,E0", "1,9,1.23E+15,E0")
    night = case.nightly()
    assert (night.code, len(night.err.splitlines())) == (3, 2)
    assert f"{path}: line 3: queuing_order is '1.23E+15', which a spreadsheet has made of it" in night.err


OTHERS: dict[str, tuple[bytes, str]] = {
    "html": (b"<html><body>Sign in</body></html>", "it is HTML; export it as CSV"),
    "xlsx": (b"PK\x03\x04\x14\x00", "it is an Excel workbook or another zip file; export it as CSV"),
    "json": (b'[{"service_id": 1, "name": "A"}]', "it is JSON; export it as CSV"),
    "trace": (b"EventClass,EventSubClass,SPID\n124,1,55\n", "this is a trace; see docs/exporting.md#traces"),
    "events": (b'<event name="broker_conversation"/>', "this is a trace; see docs/exporting.md#traces"),
    "other view": (
        b"service_contract_id,name,principal_id\n1,A,1\n",
        "has the columns of service_contracts, not of transmission_queue; export transmission_queue under "
        "this name",
    ),
    "no view": (
        b"a,b\n1,2\n",
        "has no column of transmission_queue; its first line is 'a,b'; name the columns there",
    ),
    "rpt": (
        b"conversation_handle                  message_sequence_number\n"
        b"------------------------------------ -----------------------\n",
        "its columns have blanks between them, as sqlcmd without -s and .rpt files have; "
        'write it with sqlcmd -s "," -W, or save it as CSV',
    ),
    "utf-16": (
        "conversation_handle,enqueue_time\r\n".encode("utf-16-le"),
        "it is UTF-16 LE without a byte order mark (it begins 'conversation_handle,enqueue_time'); save it "
        "as UTF-8",
    ),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_another_file_under_a_views_name_is_refused_in_one_line(open_case: OpenCase, kind: str) -> None:
    case = open_case(CLEAN)
    path = case.folder / "snap" / "transmission_queue.csv"
    content, cause = OTHERS[kind]
    path.write_bytes(content)
    night = case.nightly()
    assert night.code == 3
    assert night.err.splitlines()[1:] == [f"  {path}: {cause}"]


@pytest.mark.parametrize("view", ["services", "conversation_endpoints"])
def test_a_code_page_is_refused_with_a_sample(open_case: OpenCase, view: str) -> None:
    case = open_case(CLEAN)
    path = case.folder / "snap" / f"{view}.csv"
    name = "MillService" if view == "services" else "GoldShop"
    replaced(path, name, "Müller", "cp1252")
    night = case.nightly()
    assert night.code == 3
    [line] = [line for line in night.err.splitlines() if str(path) in line]
    assert "Müller" in line
    assert line.endswith("save it as UTF-8 (sqlcmd -f 65001, bcp -C 65001, Export-Csv -Encoding utf8)")


@pytest.mark.spark
def test_a_value_with_line_ends_is_one_value(open_case: OpenCase, clean: dict[str, list[str]]) -> None:
    case = open_case(CLEAN)
    path = case.folder / "snap" / "transmission_queue.csv"
    replaced(path, "dialog, as the", "dialog,\r\nas\nthe")
    assert case.nightly().code == 0
    found = {
        name: [row.replace("dialog,  as the", "dialog, as the") for row in rows]
        for name, rows in tables(case).items()
    }
    assert found == clean


def test_a_value_with_line_ends_far_behind_the_header_is_one_value(open_case: OpenCase) -> None:
    case = open_case(CLEAN)
    path = case.folder / "snap" / "transmission_queue.csv"
    header, row = path.read_text().splitlines()
    rows = [row.replace(",0,StockRequest", f",{number},StockRequest") for number in range(400)]
    rows[-1] = rows[-1].replace("dialog, as", "dialog,\nas")
    path.write_text("\n".join([header, *rows, ""]))
    assert path.stat().st_size > 1 << 16
    assert case.nightly().code == 0
    waiting = case.table("transmission_schedule")
    assert len(waiting) == 400
    assert (
        case.table("rejected_events") == [] if (case.folder / "warehouse/rejected_events").exists() else True
    )


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\r\n"])
def test_a_file_without_a_header_is_an_empty_view(open_case: OpenCase, content: bytes) -> None:
    case = open_case(CLEAN)
    monitors, tasks = (
        case.folder / "snap" / f"dm_broker_{name}.csv" for name in ("queue_monitors", "activated_tasks")
    )
    for path in (monitors, tasks):
        path.write_bytes(content)
    assert case.nightly().code == 0
    assert len(case.table("receive_schedule")) == 3


def test_a_complete_view_without_a_header_is_refused(open_case: OpenCase) -> None:
    case = open_case(CLEAN)
    path = case.folder / "snap" / "transmission_queue.csv"
    path.write_bytes(b"")
    night = case.nightly()
    assert night.code == 3
    assert night.err.splitlines()[1:] == [
        f"  {path}: is empty, without a header, though complete names transmission_queue: nothing says that "
        "it was exported; write its header, or take it out of complete"
    ]

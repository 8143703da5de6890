"""Exports of views that are not whole, are something else, or hold values of a spreadsheet: what is said."""

import gzip
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.field.running import Case, OpenCase
from tests.field.servers import (
    CLEAN,
    OWN_IDS,
    QUEUE,
    convert,
    read_csv,
    text_of,
    write_as_sqlcmd,
    write_texts,
)

pytestmark = pytest.mark.slow

SENT, ENDPOINTS, RULES = "transmission_queue", "conversation_endpoints", "conversation_priorities"
PLACE = {
    **{"path": "snap", "instance": "MILL1", "database": "MillDB"},
    **{"taken_at": "2026-11-20T10:00:00Z", "format": "csv"},
}
COMPLETE = [ENDPOINTS, SENT, QUEUE]
Change = Callable[[Path], object]
"""What is made of the file of a view; a dictionary is what else changes in its entry in the settings."""


def refused(case: Case) -> list[str]:
    """What a night says of files of snapshots, without progress, its first line, and the folder."""
    night = case.nightly()
    assert night.code == 3
    lines = night.err.partition("error: ")[2].splitlines()
    if lines[0] == "snapshots break their contract; export these again:":
        del lines[0]
    return [line.removeprefix("  ").replace(f"{case.folder}/snap/", "") for line in lines]


def replaced(old: str, new: str, encoding: str = "utf-8") -> Change:
    return lambda path: path.write_bytes(path.read_text().replace(old, new).encode(encoding))


def local_time(text: str) -> Change:
    return replaced("2026-11-20 08:00:00.000", text)


def of_view(other: str) -> Change:
    return lambda path: shutil.copy(path.parent / f"{other}.csv", path)


def many_rows(end: str = "\n") -> Change:
    """Make 500 more messages of a queue's first one, so that a faulty row is less than 1 % of all."""

    def change(path: Path) -> None:
        table = read_csv(path)
        number, order = (table[0].index(name) for name in ("message_sequence_number", "queuing_order"))
        for each in range(10, 510):
            row = list(table[1])
            row[number] = row[order] = str(each)
            table.append(row)
        path.write_text(text_of(table, line_end="\n").removesuffix("\n") + end)

    return change


def packed(pack: Callable[[bytes], bytes]) -> Change:
    """A queue alone with many rows, in a file that is packed."""

    def change(path: Path) -> dict[str, list[str]]:
        many_rows()(path)
        Path(f"{path}.gz").write_bytes(pack(path.read_bytes()))
        for each in path.parent.glob("*.csv"):
            each.unlink()
        return {"complete": []}

    return change


def with_twice(name: str, format: str = "csv") -> Change:
    """As a join does it: `SELECT p.*, s.name, c.name` has three columns of one name."""

    def change(path: Path) -> dict[str, str]:
        header, *rows = read_csv(path)
        if format == "csv":
            path.write_text(text_of([[*header, name], *[[*row, "7"] for row in rows]]))
            return {}
        for each in path.parent.glob("*.csv"):
            convert(each, format)
        columns = [pa.array(column) for column in zip(*rows, strict=True)]
        table = pa.Table.from_arrays([*columns, columns[0]], names=[*header, name])
        pq.write_table(table, path.with_suffix(f".{format}"))
        return {"format": format}

    return change


def two_tables(path: Path) -> None:
    """Two results of one run of sqlcmd."""
    many_rows()(path)
    second = path.parent / f"{SENT}.csv"
    for each in (path, second):
        write_as_sqlcmd(each, "utf-8")
    path.write_text(path.read_text() + second.read_text())


def wrap(path: Path) -> None:
    write_as_sqlcmd(path, "utf-8")
    lines = path.read_text().splitlines()
    cut = [line[at : at + 60] for line in lines for at in range(0, len(line), 60)]
    path.write_text("\n".join(cut) + "\n")


def fill_memory(path: Path) -> None:
    long = "0x" + "3C" * (1 << 23)
    write_texts(path, lambda text: text.replace("0x3C6F2F3E", long, 1).replace(",", "|"))


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


TRACE = "this is a trace; see docs/exporting.md#traces"
SPREADSHEET = "which a spreadsheet has made of it"
UTF_8 = "save it as UTF-8 (sqlcmd -f 65001, bcp -C 65001, Export-Csv -Encoding utf8)"
ERROR = "Msg 1205, Level 13, State 51, Server MILL1, Line 1"
NOT_WHOLE = "not all rows are there; export it again"
LINE_END = "so rows may be missing; export it again, or end the line if the file is whole"

TWICE = "is there 2 times; write the one of the view alone, or give the others another name"

REFUSED: list[tuple[str, bytes | Change, str]] = [
    (
        QUEUE,
        local_time("11/20/2026 8:00:00 AM"),
        "line 2: message_enqueue_time is '11/20/2026 8:00:00 AM', a time in local form; write it as "
        "2026-11-20 08:00:00.000 (CONVERT(varchar(27), column, 121) in the query)",
    ),
    (QUEUE, local_time("00:00.0"), f"line 2: message_enqueue_time is '00:00.0', {SPREADSHEET}..."),
    (QUEUE, replaced("1,9,1,E0", "1,9,1.2E+15,E0"), f"line 3: queuing_order is '1.2E+15', {SPREADSHEET}..."),
    (ENDPOINTS, replaced("GoldShop", "Müller", "cp1252"), f"...Müller...{UTF_8}"),
    # Something else under a view's name.
    (SENT, b"<html><body>Sign in</body></html>", "it is HTML; export it as CSV"),
    (SENT, b"PK\x03\x04\x14\x00", "it is an Excel workbook or another zip file; export it as CSV"),
    (SENT, b"EventClass,EventSubClass,SPID\n124,1,55\n", TRACE),
    (
        SENT,
        b"a,b\n1,2\n",
        "has no column of transmission_queue; its first line is 'a,b'; name the columns there",
    ),
    (
        SENT,
        f"conversation_handle{' ' * 18}message_sequence_number\n{'-' * 36} {'-' * 23}\n".encode(),
        "its columns have blanks between them, as sqlcmd without -s and .rpt files have; write it with "
        'sqlcmd -s "," -W, or save it as CSV',
    ),
    *[
        (
            view,
            of_view(other),
            f"has the columns of {other}, not of {called}; export {called} under this name",
        )
        for view, other, called in (
            ("services", "service_queues", "services"),
            (QUEUE, "transmission_queue", "a queue"),
            ("dm_broker_queue_monitors", "dm_broker_activated_tasks", "dm_broker_queue_monitors"),
        )
    ],
    # Not whole views: with less than 1 % of the rows rejected, all that is missing would count as gone.
    *[
        (
            QUEUE,
            many_rows(f"\n{error}\nThe transaction was chosen as the deadlock victim.\n"),
            f"it has an error in place of rows, {error[:60]!r}"[:-1] + f"...{NOT_WHOLE}",
        )
        for error in (
            "Mens. 208, Nivel 16, Estado 1, Servidor MILL1, Línea 1",
            "消息 208\uff0c级别 16\uff0c状态 1\uff0c服务器 MILL1",
            "HResult 0x102, Level 16, State 1",
        )
    ],
    (QUEUE, many_rows("\n1,3,5,E000"), f"line 505, its last one, has no line end, {LINE_END}"),
    (QUEUE, two_tables, "...of a second table; export one table a file"),
    (QUEUE, wrap, "its lines are wrapped; write it with sqlcmd -w 65535"),
    (QUEUE, fill_memory, "line 2 has more than 16,777,216 characters; leave bodies..."),
    ("services", make_folder, "it is a folder; write the view into one file"),
    (
        SENT,
        b"",
        "is empty, without a header, though complete names transmission_queue: nothing says that it was "
        "exported; write its header, or take it out of complete",
    ),
    ("dbo.millqueue", of_view(QUEUE), f"{QUEUE}.csv is the same view; leave one of them there"),
    (RULES, with_twice("name"), f"column name {TWICE}"),
    (RULES, with_twice("name", "parquet"), f"{RULES}.parquet: column name {TWICE}"),
    # A queue alone that is broken far from its start.
    (
        QUEUE,
        packed(lambda data: gzip.compress(data)[:-9]),
        f"{QUEUE}.csv.gz: is not readable as csv (Truncated compressed stream)...",
    ),
    (
        QUEUE,
        packed(lambda data: gzip.compress(data + b"M\xfcll\n")),
        f"{QUEUE}.csv.gz: line 505 is no UTF-8: it is 'Müll' if the file is...",
    ),
    (
        QUEUE,
        packed(lambda data: gzip.compress(data + f"{ERROR}\n".encode())),
        f"{QUEUE}.csv.gz: it has an error in place of rows, {ERROR!r}...",
    ),
]
"""A view, what is made of its file, and what is said of it; three points stand for any text."""


def test_files_are_refused_each_in_one_line(open_case: OpenCase) -> None:
    """A night names what it sees before an engine reads; the next one, without these, names more."""
    case = open_case(CLEAN)
    entries = {}
    for number, (view, change, _) in enumerate(REFUSED):
        snap = case.folder / f"snap{number:02}"
        shutil.copytree(case.folder / "snap", snap)
        for path in snap.glob("*.csv"):
            path.write_bytes(path.read_bytes().replace(OWN_IDS.encode(), f"-{number:04}-4000-8000-".encode()))
        file = snap / f"{view}.csv"
        own = file.write_bytes(change) if isinstance(change, bytes) else change(file)
        entry = {**PLACE, "path": snap.name, "instance": f"MILL{number}", "complete": COMPLETE}
        entries[snap.name] = {**entry, **(own if isinstance(own, dict) else {})}
    told: dict[str, str] = {}
    while entries.keys() - told:
        case.configure(snapshots=[entry for name, entry in entries.items() if name not in told])
        night = case.nightly()
        assert night.code == 3
        err = night.err.replace(f"{case.folder}/", "")
        named = re.findall(r"^(?:error:)? *(snap\d+)/(.+)", err, re.MULTILINE)
        assert len(named) == len(dict(named)) > 0, night.err
        told |= named
    for (view, _, says), (folder, line) in zip(REFUSED, sorted(told.items()), strict=True):
        expected = says if says.startswith(view) else f"{view}.csv: {says}"
        pattern = re.escape(expected).replace(re.escape("..."), ".*")
        assert re.fullmatch(pattern, line.replace(f"{folder}/", "")), line


def test_a_name_that_may_be_two_queues_is_refused(open_case: OpenCase) -> None:
    case = open_case(CLEAN)
    of_view(QUEUE)(case.view("sales.MillQueue"))
    case.configure(snapshots=[{**PLACE, "complete": ["MillQueue"]}])
    assert refused(case) == [
        f"{case.folder}/snap: complete names MillQueue, which may be dbo.MillQueue or sales.MillQueue; "
        "write the schema"
    ]
    of_view(QUEUE)(case.view("millqueue"))
    case.configure(snapshots=[PLACE])
    assert refused(case) == [
        "millqueue.csv: the queue may be dbo.MillQueue or sales.MillQueue; write its schema into the file's "
        "name"
    ]


def test_other_packings_and_formats_are_named(open_case: OpenCase) -> None:
    case = open_case(CLEAN)
    case.view(QUEUE).rename(case.folder / "snap" / f"{QUEUE}.csv.xz")
    case.view(SENT).rename(case.folder / "snap" / f"{SENT}.parquet")
    snap = f"{case.folder}/snap"
    assert refused(case) == [
        f"{snap}: transmission_queue.csv is not there, though complete names it; write format: parquet "
        "into the settings if all files are like transmission_queue.parquet, or take it out of complete",
        f"{snap}: {QUEUE}.csv is not there, though complete names it; unpack {QUEUE}.csv.xz, or take it "
        "out of complete",
    ]


def test_a_snapshot_of_something_else_says_what_is_missing(open_case: OpenCase) -> None:
    case = open_case("field-20-partial-dumps", settings="settings-only.yaml")
    assert refused(case) == [
        f"{case.folder}/only: {view}.csv is not there, and conversation_endpoints needs it for its names; "
        "export it"
        for view in ("services", "service_contracts")
    ]
    case.settings = "settings-joined.yaml"
    assert refused(case) == [
        f"{case.folder}/joined/conversation_endpoints.csv: columns conversation_id, conversation_group_id "
        "and priority are missing"
    ]
    case = open_case("field-21-support-text")
    assert refused(case) == [
        f"{case.folder}/snap: there is no view, such as conversation_endpoints.csv; "
        "MILL1_SSB_DbMail_Diag.out is none: export one file a view, see docs/exporting.md#views-by-hand"
    ]

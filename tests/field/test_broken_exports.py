"""Exports of views that are not whole, hold more than one table, or lie where nothing reads them."""

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.field.exports import read_clean, text_of
from tests.field.running import Case, Outcome
from tests.support.field import CLEAN, convert, tables
from tests.support.open_case import OpenCase


pytestmark = pytest.mark.slow

ERROR = "Msg 1205, Level 13, State 51, Server MILL1, Line 1"
QUEUE = "dbo.MillQueue"


def path_of(case: Case, view: str) -> Path:
    return case.folder / "snap" / f"{view}.csv"


def told(night: Outcome) -> list[str]:
    """What a night says that finds files of snapshots wrong, without progress and its first line."""
    assert night.code == 3
    _, _, lines = night.err.partition("error: snapshots break their contract; export these anew:\n")
    return lines.splitlines()


def with_many_rows(path: Path, end: str = "\n") -> None:
    """Make 500 more messages of a queue's first one, so that a faulty row is less than 1 % of all."""
    table = read_clean(path)
    row = table[1]
    number, order = (table[0].index(name) for name in ("message_sequence_number", "queuing_order"))
    for each in range(10, 510):
        row = list(row)
        row[number] = row[order] = str(each)
        table.append(row)
    path.write_text(text_of(table, line_end="\n").removesuffix("\n") + end)


@pytest.mark.parametrize(
    "error",
    [
        ERROR,
        "Msg 208, Level 16, State 1, Line 3",
        "Meldung 229, Ebene 14, Status 5, Server MILL1, Zeile 1",
        "Msg 208, Niveau 16, État 1, Serveur MILL1, Ligne 1",
        "Mens. 208, Nivel 16, Estado 1, Servidor MILL1, Línea 1",
        "消息 208\uff0c级别 16\uff0c状态 1\uff0c服务器 MILL1",
        "Sqlcmd: Error: Microsoft ODBC Driver 17 for SQL Server : Query timeout expired.",
        "HResult 0x102, Level 16, State 1",
    ],
)
def test_an_error_behind_the_rows_is_refused(open_case: OpenCase, error: str) -> None:
    """With less than 1 % of the rows rejected, all that is missing would count as gone."""
    case = open_case(CLEAN)
    path = path_of(case, QUEUE)
    with_many_rows(path, f"\n{error}\nThe transaction was chosen as the deadlock victim.\n")
    [line] = told(case.nightly())
    assert line.startswith(f"  {path}: it has an error in place of rows, {error[:60]!r}"[:-1])
    assert line.endswith("not all rows are there; export it anew")


def test_an_error_in_place_of_a_view_is_refused(open_case: OpenCase) -> None:
    case = open_case(CLEAN)
    path = path_of(case, "transmission_queue")
    path.write_text("Msg 208, Level 16, State 1, Line 1\nInvalid object name 'sys.transmission_queue'.\n")
    assert told(case.nightly()) == [
        f"  {path}: it has an error in place of rows, 'Msg 208, Level 16, State 1, Line 1': not all rows are "
        "there; export it anew"
    ]


def test_an_error_in_a_packed_view_is_refused(open_case: OpenCase) -> None:
    case = open_case(CLEAN)
    path = path_of(case, QUEUE)
    with_many_rows(path, f"\n{ERROR}\n")
    packed = Path(f"{path}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    night = case.nightly()
    assert night.code == 3
    assert f"{packed}: it has an error in place of rows, {ERROR!r}" in night.err


@pytest.mark.parametrize("end", ["\n1,3,5,E000", ""])
def test_a_large_view_without_a_last_line_end_is_refused(open_case: OpenCase, end: str) -> None:
    case = open_case(CLEAN)
    path = path_of(case, QUEUE)
    with_many_rows(path, end)
    [line] = told(case.nightly())
    assert line == (
        f"  {path}: line {505 if end else 504}, its last one, has no line end, so rows may be missing; "
        "export it anew, or end the line if the file is whole"
    )


@pytest.mark.parametrize(
    ("spoil", "cause"),
    [
        (lambda data: gzip.compress(data)[:-9], "is not readable as csv (Truncated compressed stream)"),
        (
            lambda data: gzip.compress(data + b"M\xfcll\n"),
            "line 505 is no UTF-8: it is 'Müll' if the file is in ",
        ),
    ],
)
def test_a_queue_alone_that_is_broken_far_from_its_start_is_named(
    open_case: OpenCase, spoil: Callable[[bytes], bytes], cause: str
) -> None:
    case = open_case(CLEAN)
    path = path_of(case, QUEUE)
    with_many_rows(path)
    Path(f"{path}.gz").write_bytes(spoil(path.read_bytes()))
    for each in (case.folder / "snap").glob("*.csv"):
        each.unlink()
    settings = case.folder / case.settings
    settings.write_text(settings.read_text().partition("    complete")[0])
    [line] = told(case.nightly())
    assert line.startswith(f"  {path}.gz: {cause}")


def sqlcmd(table: list[list[str]], count: str) -> str:
    dashes = ["-" * len(name) for name in table[0]]
    return text_of([table[0], dashes, *table[1:]], ";") + count


@pytest.mark.parametrize("count", ["", "\n(3 Zeilen betroffen)\n\n"])
@pytest.mark.parametrize("other", [QUEUE, "transmission_queue"])
def test_a_second_table_is_refused(open_case: OpenCase, count: str, other: str) -> None:
    case = open_case(CLEAN)
    path = path_of(case, QUEUE)
    second = sqlcmd(read_clean(path_of(case, other)), count)
    with_many_rows(path)
    first = sqlcmd(read_clean(path), count)
    path.write_text(first + second)
    night = case.nightly()
    assert night.code == 3
    assert "of a second table; export one table a file" in night.err


@pytest.mark.parametrize("view", [QUEUE, "services"])
def test_wrapped_lines_are_refused(open_case: OpenCase, view: str) -> None:
    case = open_case(CLEAN)
    path = path_of(case, view)
    table = read_clean(path)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "|".join(value.ljust(width) for value, width in zip(row, widths, strict=True))
        for row in [table[0], ["-" * width for width in widths], *table[1:]]
    ]
    path.write_text("\n".join(line[at : at + 60] for line in lines for at in range(0, len(line), 60)) + "\n")
    assert told(case.nightly()) == [f"  {path}: its lines are wrapped; write it with sqlcmd -w 65535"]


@pytest.mark.parametrize(
    ("view", "other", "called"),
    [
        ("services", "service_queues", "services"),
        ("services", "service_contracts", "services"),
        ("service_contracts", "services", "service_contracts"),
        (QUEUE, "transmission_queue", "a queue"),
        ("dm_broker_queue_monitors", "dm_broker_activated_tasks", "dm_broker_queue_monitors"),
    ],
)
def test_another_view_is_named(open_case: OpenCase, view: str, other: str, called: str) -> None:
    case = open_case(CLEAN)
    path = path_of(case, view)
    path.write_bytes(path_of(case, other).read_bytes())
    assert told(case.nightly()) == [
        f"  {path}: has the columns of {other}, not of {called}; export {called} under this name"
    ]


@pytest.mark.parametrize("view", ["conversation_priorities", "conversation_endpoints"])
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_name_that_a_join_repeats_is_refused(open_case: OpenCase, view: str, format: str) -> None:
    """`SELECT p.*, s.name, c.name` has three columns of one name."""
    case = open_case(CLEAN)
    path = path_of(case, view)
    header, *rows = read_clean(path)
    repeated = "name" if "name" in header else "priority"
    table = [[*header, repeated], *[[*row, "7"] for row in rows]]
    if format == "parquet":
        for each in sorted(path.parent.glob("*.csv")):
            convert(each, format)
        path = path.with_suffix(".parquet")
        columns = [pa.array([row[place] for row in table[1:]]) for place in range(len(table[0]))]
        pq.write_table(pa.Table.from_arrays(columns, names=table[0]), path)
        settings = case.folder / case.settings
        settings.write_text(settings.read_text().replace("format: csv", "format: parquet"))
    else:
        path.write_text(text_of(table))
    assert told(case.nightly()) == [
        f"  {path}: column {repeated} is there 2 times; write the one of the view alone, or give the others "
        "another name"
    ]


def test_one_queue_in_two_files_is_refused(open_case: OpenCase) -> None:
    """The server's own spelling says that both are the same queue."""
    case = open_case(CLEAN)
    path, twin = path_of(case, QUEUE), path_of(case, "dbo.millqueue")
    twin.write_bytes(path.read_bytes())
    assert told(case.nightly()) == [f"  {twin}: {path} is the same view; leave one of them there"]


@pytest.mark.parametrize(("ending", "pack"), [(".CSV.GZ", gzip.compress), (".csv.Bz2", bz2.compress)])
@pytest.mark.spark
def test_endings_of_packed_files_may_have_capitals(
    open_case: OpenCase, clean: dict[str, list[str]], ending: str, pack: Callable[[bytes], bytes]
) -> None:
    case = open_case(CLEAN)
    for path in sorted((case.folder / "snap").glob("*.csv")):
        path.with_name(path.stem + ending).write_bytes(pack(path.read_bytes()))
        path.unlink()
    night = case.nightly()
    assert night.code == 0, night.err
    assert tables(case) == clean


def test_other_packings_and_formats_are_named(open_case: OpenCase) -> None:
    case = open_case(CLEAN)
    snap = case.folder / "snap"
    path_of(case, QUEUE).rename(snap / f"{QUEUE}.csv.xz")
    path_of(case, "transmission_queue").rename(snap / "transmission_queue.parquet")
    assert told(case.nightly()) == [
        f"  {snap}: transmission_queue.csv is not there, though complete names it; write format: parquet "
        "into the settings if all files are like transmission_queue.parquet, or take it out of complete",
        f"  {snap}: {QUEUE}.csv is not there, though complete names it; unpack {QUEUE}.csv.xz, or take it "
        "out of complete",
    ]


def test_folders_are_named(open_case: OpenCase) -> None:
    case = open_case(CLEAN)
    (case.folder / "snap" / "old").mkdir()
    night = case.nightly()
    assert night.code == 0
    assert f"{case.folder}/snap/old is not read: it is a folder" in night.err
    path = path_of(case, "services")
    path.unlink()
    path.mkdir()
    assert told(case.nightly()) == [f"  {path}: it is a folder; write the view into one file"]


def test_a_line_that_would_fill_the_memory_is_refused(open_case: OpenCase) -> None:
    case = open_case(CLEAN)
    path = path_of(case, QUEUE)
    text = path.read_text().replace("0x3C6F2F3E", "0x" + "3C" * (1 << 23), 1)
    path.write_text(text.replace(",", "|"))
    night = case.nightly()
    assert night.code == 3
    assert f"{path}: line 2 has more than 16,777,216 characters; leave bodies" in night.err


@pytest.mark.parametrize("view", ["services", "service_contracts"])
@pytest.mark.spark
def test_endpoints_without_any_names_say_nothing(open_case: OpenCase, view: str) -> None:
    """Without the right to see services, messages that name their services still have their order."""
    case = open_case(CLEAN)
    path = path_of(case, view)
    path.write_text(path.read_text().splitlines()[0] + "\n")
    night = case.nightly()
    assert night.code == 0
    assert f"conversation_endpoints.csv says nothing: {view} has no names" in night.err
    assert sorted(row["priority"] for row in case.table("receive_schedule")) == [3, 3, 9]
    shown = {row["view"]: row["complete"] for row in case.table("snapshots")}
    assert "conversation_endpoints" not in shown
    assert shown[QUEUE]


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.spark
def test_queues_without_a_view_of_queues_have_their_services(open_case: OpenCase, is_there: bool) -> None:
    case = open_case(CLEAN)
    path = path_of(case, "service_queues")
    path.write_text(path.read_text().splitlines()[0] + "\n")
    if not is_there:
        path.unlink()
    assert case.nightly().code == 0
    assert sorted(row["priority"] for row in case.table("receive_schedule")) == [3, 3, 9]
    assert {row["queue"] for row in case.table("receive_schedule")} == {"MillQueue"}


@pytest.mark.spark
def test_words_and_numbers_of_other_tools(open_case: OpenCase, clean: dict[str, list[str]]) -> None:
    """pandas makes fractions of numbers beside nulls; states may be described; bits may be words."""
    case = open_case(CLEAN)
    changes: dict[str, dict[str, Callable[[str], str]]] = {
        "conversation_endpoints": {
            "state": lambda text: {"CO": "conversing", "SO": "so", "DI": "DISCONNECTED_INBOUND"}[text],
            "service_id": lambda text: f"{text}.0",
        },
        "service_queues": {"is_receive_enabled": lambda text: "Yes" if text == "1" else "No"},
        "conversation_priorities": {"local_service_id": lambda text: text and f"{text}.0"},
        QUEUE: {"queuing_order": lambda text: f"{text}.0"},
    }
    for view, columns in changes.items():
        header, *rows = read_clean(path_of(case, view))
        changed = [
            [columns.get(name, str)(value) for name, value in zip(header, row, strict=True)] for row in rows
        ]
        path_of(case, view).write_text(text_of([header, *changed]))
    night = case.nightly()
    assert night.code == 0, night.err
    assert tables(case) == clean

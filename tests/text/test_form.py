"""How a CSV file is written, found from its bytes, and its rows whatever the form."""

import gzip
import io
import re
from pathlib import Path

import pytest

from pipelines.server.snapshots.names import find_complete_views, find_queues, find_view
from pipelines.server.snapshots.values import LOCAL_TIME
from pipelines.text.form import (
    HEAD,
    TAIL,
    ForeignFileError,
    TextForm,
    detect_form,
    fields_of,
    is_note,
    not_packed,
)
from pipelines.text.rows import rewrite, text_rows

NAMES = {"service_id", "name"}
CLEAN = "service_id,name\n1,A\n"


def form_of(content: bytes) -> TextForm:
    tail = content[-TAIL:] if len(content) > HEAD else b""
    return detect_form(content[:HEAD], tail, NAMES)


def values_of(content: bytes) -> list[list[str | None]]:
    return [row.values() for row in text_rows(io.BytesIO(content), form_of(content))]


def again(content: bytes) -> str:
    return b"".join(rewrite(io.BytesIO(content), form_of(content))).decode()


def test_clean_files_are_plain() -> None:
    for content in (
        CLEAN,
        "service_id,name\r\n1,A\r\n",
        "service_id,name\r1,A\r",
        '\ufeff\n"service_id","name"\n"1","A"\n',
        "SERVICE_ID,Name,more\n1,(2 rows),",
    ):
        assert form_of(content.encode()).is_plain, content


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("service_id,name\n1,A\nMsg 229, Level 14, State 5, Line 1\nNo.\n", "in place of rows, 'Msg 229,"),
        ("Msg 208, Level 16, State 1, Line 1\nInvalid object name.\n", "in place of rows, 'Msg 208,"),
        ("Sqlcmd: Error: no login\n", "an error in place of rows, 'Sqlcmd: Error"),
        ("service_id;name\n--;--\n1;A\n\n(1 row affected)\na;b\n", "line 6 is of a second table"),
        ("service_id;name\n--;--\n1;A\na;b\n-;-\n", "line 5 is of a second table"),
    ],
)
def test_what_is_not_one_whole_table_is_refused(content: str, told: str) -> None:
    with pytest.raises(ForeignFileError, match=re.escape(told)):
        again(content.encode())


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("#TYPE System.Data.DataRow\nservice_id,name\n1,A\n", CLEAN),
        ("sep=;\nservice_id;name\n1;A,B\n", 'service_id,name\n1,"A,B"\n'),
        ("service_id\tname\n1\tA\n", CLEAN),
        ("service_id|name\n----------|----\n1|NULL\n\n(1 row affected)\n", "service_id,name\n1,NULL\n"),
        ("service_id ,name  \n-----------,------\n         1,A B   \n", "service_id,name\n1,A B\n"),
        ("service_id,name\n1,A\nWarning: Null value is eliminated.\n(1 row affected)\n", CLEAN),
        ("Changed database context to 'ErpDB'.\nservice_id,name\n1,A\n", CLEAN),
        ("service_id,name\n1,A\n\n(1 Zeile betroffen)\n\nCompletion time: 2026-11-20T10:00:00.1\n", CLEAN),
        ('service_id,name\n1,"A\r\nB"\n', 'service_id,name\n1,"A  B"\n'),
        ('service_id;name\n1;"A ""x"";B"\n', 'service_id,name\n1,"A ""x"";B"\n'),
        # What has no line end stays without one: it may be cut.
        ("service_id;name\n1;A\n2;B", "service_id,name\n1,A\n2,B"),
        # A quote that nothing closes breaks its own row only.
        ('service_id;name\n1;"A\n2;B\n', "service_id,name\n\"1;'A\n2,B\n"),
        # A service may be called so.
        ("service_id;name\n1;(2 rows)\n2;---\n", "service_id,name\n1,(2 rows)\n2,---\n"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_files_of_tools_are_written_anew(content: str, expected: str, encoding: str) -> None:
    assert not form_of(content.encode()).is_plain
    assert again(content.encode(encoding)) == expected


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        # Null is a word without quotes.
        (
            'NULL,"NULL"\nnull,\\N\n"","NULLS"\n,\0',
            [[None, "NULL"], ["null", None], [None, "NULLS"], [None, None]],
        ),
        # Blanks belong to a name where the header has none.
        ("1, A ", [["1", " A "]]),
        # Names that look like errors are rows.
        ("1,Msg 208\nMsg 208,Level 16", [["1", "Msg 208"], ["Msg 208", "Level 16"]]),
    ],
)
def test_values(content: str, rows: list[list[str | None]]) -> None:
    assert values_of(f"service_id,name\n{content}\n".encode()) == rows


def test_notes_are_found_far_behind_the_header() -> None:
    rows = "".join(f"{number},Service{number}\n" for number in range(10_000))
    content = f"service_id,name\n{rows}\n(10000 lignes affect\u00e9es)\n"
    for encoding in ("utf-8", "cp850"):
        assert form_of(content.encode(encoding)).has_notes
        assert len(values_of(content.encode(encoding))) == 10_000


def test_counts_of_rows_in_any_language() -> None:
    for note in ("(3 rows affected)", "(3 Zeile(n) betroffen)", "(3 行受影响)", "(обработано строк: 3)"):
        assert is_note(note)
        assert not is_note(f"{note} and more")


def test_a_file_without_a_header_is_empty() -> None:
    for content in (b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\r\n  \r\n"):
        assert form_of(content).is_empty


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("service_id,name\n".encode("utf-16-be"), "UTF-16 BE without a byte order mark"),
        ("service_id,name\n".encode("utf-32"), "UTF-32"),
        (b"\x1f\x8b\x08\x00", "compressed by gzip"),
        (b"PAR1....", "Parquet"),
        (b"\xd0\xcf\x11\xe0", "Excel"),
        (b"\xef\xbb\xbf<RingBufferTarget/>", "this is a trace"),
        (b'{"service_id": 1}\n', "JSON"),
    ],
)
def test_other_files_say_what_they_seem_to_be(content: bytes, told: str) -> None:
    with pytest.raises(ForeignFileError, match=told):
        form_of(content)


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(ForeignFileError, match="line 3 is no UTF-8: it is '2,Müller' if the file is in code"):
        values_of(f"{CLEAN}2,Müller\n".encode("cp1252"))
    half_a_pair = b"2\0,\0\x00\xd8\n\0"
    with pytest.raises(ForeignFileError, match="bytes that are no UTF-16"):
        values_of(CLEAN.encode("utf-16") + half_a_pair)


def test_fields_of_a_line() -> None:
    assert fields_of('a,"b,""c""",', ",") == [("a", False), ('b,"c"', True), ("", False)]
    assert fields_of('5" pipe,b', ",") == [('5" pipe', False), ("b", False)]
    assert fields_of('"a"b,c', ",") is None
    assert fields_of('"a,b', ",") is None
    assert fields_of("", ",") == [("", False)]


def test_views_by_the_names_of_files() -> None:
    views = {
        "Conversation_Endpoints": "conversation_endpoints",
        "SYS.services": "services",
        "[sys].[services]": "services",
        "ErpDB.sys.services": "services",
        "sys.tables": None,
        "dbo.OrderQueue": "dbo.OrderQueue",
        "[dbo].[Order.Queue]": "dbo.Order.Queue",
        "[dbo].[a]]b]": "dbo.a]b",
        "erpdb.dbo.OrderQueue": "dbo.OrderQueue",
        "dbo.two.dots": "dbo.two.dots",
        "dbo.[q]{1}": "dbo.[q]{1}",
        "OrderQueue": None,
    }
    assert {stem: find_view(stem, "ErpDB") for stem in views} == views


def test_a_queue_without_schema_is_the_one_that_can_be_meant() -> None:
    assert find_queues("orderqueue", ["sales.OrderQueue"], [], "B") == ["sales.OrderQueue"]
    assert find_queues("OrderQueue", [], [], "B") == ["dbo.OrderQueue"]
    of_both = find_queues("OrderQueue", ["a.OrderQueue"], ["b.OrderQueue"], "B")
    assert of_both == ["b.OrderQueue", "a.OrderQueue"]


def test_complete_means_views_in_any_case() -> None:
    found = ["conversation_endpoints", "dbo.Queue", "dbo.queue", "a.Other", "b.Other"]
    complete = ["SYS.CONVERSATION_ENDPOINTS", "dbo.Queue", "queue", "Other", "services"]
    meant, unclear = find_complete_views(complete, found, "B")
    assert meant == {"conversation_endpoints", "dbo.Queue", "dbo.queue"}
    assert unclear == {"Other": ["a.Other", "b.Other"], "services": []}


def test_times_in_local_form_and_of_the_server() -> None:
    for text in ("20.11.2026 08:00:00", "07.12.26 8:00", "Nov 20 2026  8:00AM", "20-nov.-2026 08:00"):
        assert LOCAL_TIME.match(text)
    for text in ("2026-11-20 08:00:00.000", "2026-11-20T08:00:00Z", "2026-1-2", "20261120"):
        assert not LOCAL_TIME.match(text)


def test_a_file_that_is_named_as_compressed_and_is_not(tmp_path: Path) -> None:
    for name in ("q.csv.gz", "q.CSV.ZST"):
        (tmp_path / name).write_bytes(b"status,priority")
        assert "it is not compressed" in str(not_packed(str(tmp_path / name)))
    for name, content in (("q.csv.gz", gzip.compress(b"status")), ("q.csv", b"status")):
        (tmp_path / name).write_bytes(content)
        assert not_packed(str(tmp_path / name)) is None

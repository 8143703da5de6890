"""What may be wrong with one capture, and what is said of it: one line with its place."""

import gzip
import json
import os
from pathlib import Path

import pytest

from pipelines.config.model import Captures
from pipelines.server.captures.faults import CaptureError
from pipelines.server.captures.folder import read_captures
from tests.support.capture_tools import FORMS, driver, sqlcmd, studio_json
from tests.support.captures import ID, change_line, find_lines, write_capture
from tests.support.factories import Row
from tests.support.read_captures import fault_of, read_file, read_lines, rows_of, small_lines

LINES = small_lines()
OTHER = small_lines(id="11111111-2222-3333-4444-555555555555")
LAST, ROWS = len(LINES), json.loads(LINES[-1])["rows"]
QUEUE = find_lines(LINES, view="queue", count=3)[0]
ENDPOINTS = find_lines(LINES, view="conversation_endpoints", count=6)[0]


def refuse(folder: Path, content: bytes | list[str], name: str = "c.txt") -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else driver(content))
    return fault_of(path)


def changed(place: int, **keys: object) -> list[str]:
    """The lines with other values of some keys in one of them."""
    return change_line(LINES, place, lambda line: {**line, **keys})


def without(place: int, key: str) -> list[str]:
    """The lines without a key of one of them."""
    return change_line(LINES, place, lambda line: {name: line[name] for name in line if name != key})


def inserted(place: int, *lines: str) -> list[str]:
    return [*LINES[:place], *lines, *LINES[place:]]


def nested(levels: int, place: int) -> list[str]:
    """The lines, with brackets in brackets under a key of one that no reader knows."""
    brackets = "[" * levels + "]" * levels
    return [*LINES[:place], LINES[place].replace("{", f'{{"x":{brackets},', 1), *LINES[place + 1 :]]


def test_a_capture_that_is_cut_behind_a_line_or_in_it(tmp_path: Path) -> None:
    for place, line in [*enumerate(LINES)][::2]:
        if place:
            fault = refuse(tmp_path, LINES[:place])
            assert fault.startswith(f"c.txt:{place}: the capture ends here without its last line"), fault
        for length in (1, len(line) - 1):
            fault = refuse(tmp_path, driver(LINES[:place]) + line[:length].encode())
            assert fault.startswith(f"c.txt:{place + 1}: the line is cut"), fault
    whole, without_line_end = tmp_path / "whole.jsonl", tmp_path / "end.jsonl"
    whole.write_bytes(driver(LINES))
    without_line_end.write_bytes(driver(LINES)[:-1])
    assert read_file(whole) == read_file(without_line_end)


def test_a_capture_without_one_of_its_lines(tmp_path: Path) -> None:
    """But for a line about a database, which says nothing that the others do not, or about no rows."""
    for place, line in enumerate(LINES[1:-1], start=1):
        left = [*LINES[:place], *LINES[place + 1 :]]
        if '"read"' in line or '"count":0' in line:
            read_lines(tmp_path, left)
        else:
            assert "are there" in refuse(tmp_path, left)


@pytest.mark.parametrize("name", ["sqlcmd -u", "Data Studio, JSON", "Data Studio, CSV", "SSMS, text"])
def test_other_forms_that_are_cut(tmp_path: Path, name: str) -> None:
    whole = FORMS[name].write(LINES)
    end = whole.find(b"e\0n\0d\0" if name == "sqlcmd -u" else b"end")
    for length in range(end % 2 + 2, end, 1998):
        refuse(tmp_path, whole[:length], FORMS[name].name)


def test_a_compressed_file_that_is_cut(tmp_path: Path) -> None:
    whole = gzip.compress(driver(LINES), mtime=0)
    for length in (len(whole) - 1, len(whole) - 9, len(whole) // 2, 30):
        fault = refuse(tmp_path, whole[:length], "c.jsonl.gz")
        assert fault == "c.jsonl.gz: the compressed file is cut; copy it again"


@pytest.mark.parametrize("line", ['{"database":"B","view":"services","row":{"status":}}', "{", "{}}"])
def test_an_object_that_is_no_json(tmp_path: Path, line: str) -> None:
    fault = refuse(tmp_path, inserted(5, line))
    assert fault.startswith("c.txt:6: ")
    assert "no JSON" in fault


@pytest.mark.parametrize("line", ["Msg 1205, Level 13, State 51, Server SQL1", "(1 rows affected)", "a word"])
def test_another_line_inside_a_capture(tmp_path: Path, line: str) -> None:
    fault = refuse(tmp_path, sqlcmd(inserted(7, line)))
    assert fault.startswith(f"c.txt:8: {line!r}")
    assert "take the capture again" in fault


def test_blank_lines_dashes_and_the_heading_may_stand_there(tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_bytes(sqlcmd(inserted(7, "", "   ", "-" * 300, "capture_line", '"capture_line"')))
    assert read_file(path) == read_lines(tmp_path, LINES)


NO_CAPTURE = "there is no capture in it: "
SECOND = "a second capture begins here; "
NOT_THERE = f"{LAST - 1}: the capture ends here without its last line"
NOT_WHOLE = ": it is not whole, or still being written; "
FIRST_LINE = "the first line of the capture is missing; "


@pytest.mark.parametrize(
    ("content", "begins"),
    [
        (b"\n\nMsg 229, Level 14\nmore\n", f"3: {NO_CAPTURE}it begins with 'Msg 229, Level 14"),
        (b"PAR1\x15\x04\x15\x18\xff\xfe", f"1: {NO_CAPTURE}it begins with 'PAR1"),
        # The first line is missing.
        *((["Changed database context to 'B'.", *LINES[at:]], f"2: {FIRST_LINE}") for at in (1, 3, 5, -1)),
        # The last line is missing: what the tool or the server says behind the last object is told.
        (LINES[:-1], NOT_THERE + NOT_WHOLE),
        (sqlcmd(LINES[:-1]), f"{NOT_THERE}, and '({LAST - 1} rows affected)' follows{NOT_WHOLE}"),
        ([*LINES[:-1], "Msg 1105", "more"], f"{NOT_THERE}, and 'Msg 1105' follows{NOT_WHOLE}"),
        # A second capture, or a part of one.
        ([*LINES, *OTHER], f"{LAST + 1}: {SECOND}"),
        ([*LINES, LINES[4]], f"{LAST + 1}: {SECOND}"),
        ([*LINES, LINES[-1]], f"{LAST + 1}: {SECOND}"),
        ([*LINES, LINES[QUEUE]], f"{LAST + 1}: {SECOND}"),
        (inserted(6, OTHER[0]), f"7: {SECOND}"),
        ([*LINES[:-1], *OTHER], f"{LAST}: {SECOND}"),
    ],
)
def test_a_capture_that_is_not_there_not_whole_or_not_alone(
    tmp_path: Path, content: bytes | list[str], begins: str
) -> None:
    assert refuse(tmp_path, content).startswith(f"c.txt:{begins}")


def test_nothing_is_no_capture(tmp_path: Path) -> None:
    for content, name in ((b"", "c.txt"), (b" \r\n\n", "c.txt"), (b"[]", "c.json"), (b"[ ]\n", "c.json")):
        fault = refuse(tmp_path, content, name)
        assert NO_CAPTURE in fault
        assert "empty" in fault


@pytest.mark.parametrize(
    ("place", "keys", "words"),
    [
        *(
            (-1, {"id": id}, f"parts of two captures|{ID}")
            for id in ("11111111-2222-3333-4444-555555555555", None)
        ),
        # Another number of rows, of the capture and of views.
        *((-1, {"rows": rows}, f"{json.dumps(rows)}|{ROWS} are there") for rows in (17, 0, None, "18")),
        *((QUEUE, {"count": count}, f"{count} rows|3 are there") for count in (1, 99)),
        *((ENDPOINTS, {"count": count}, f"{count} rows|6 are there") for count in (1, 99)),
        # Values of another type.
        (QUEUE, {"error": ["x"]}, 'error is ["x"]|a text or null'),
        (QUEUE, {"other_statuses": [7]}, "other_statuses is [7]"),
        (1, {"reason": {"a": 1}}, "reason"),
    ],
)
def test_a_line_that_contradicts(tmp_path: Path, place: int, keys: Row, words: str) -> None:
    fault = refuse(tmp_path, changed(place, **keys))
    assert fault.startswith(f"c.txt:{place % LAST + 1}: ")
    assert [word for word in words.split("|") if word not in fault] == []


@pytest.mark.parametrize(
    ("key", "values", "words"),
    [
        ("capture", [3, 0, "1", True, None], "version|this reads versions 1 and 2"),
        ("id", [], "id"),
        ("server", [None, ""], "server"),
        # Moments that can't be reckoned with.
        ("taken_at", [None, "yesterday", 17, "0001-01-01T00:00:00Z", "9999-01-01T00:00:00Z"], "taken_at"),
        ("utc_offset_minutes", ["60"], "utc_offset_minutes"),
        ("utc_offset_minutes", [841], "utc_offset_minutes|-840 to 840"),
    ],
)
def test_a_first_line_that_can_not_be(tmp_path: Path, key: str, values: list[object], words: str) -> None:
    lacking = [] if key in ("capture", "utc_offset_minutes") else [without(0, key)]
    for lines in (*lacking, *(changed(0, **{key: value}) for value in values)):
        fault = refuse(tmp_path, lines)
        assert fault.startswith("c.txt:1: ")
        assert [word for word in words.split("|") if word not in fault] == []


def test_ids_are_guids_in_any_spelling(tmp_path: Path) -> None:
    other = changed(-1, id=f"{{{ID.lower()}}}")
    assert read_lines(tmp_path, other) == read_lines(tmp_path, LINES)


def test_rows_of_views_that_the_reader_does_not_know_count(tmp_path: Path) -> None:
    routes = [f'{{"database":"B","view":"routes","row":{{"name":"r{number}"}}}}' for number in range(2)]
    counted = '{"database":"B","view":"routes","count":2,"complete":true,"error":null,"read_at":null}'
    lines = inserted(4, *routes, counted, '{"something":"new"}')
    assert f"{ROWS + 2} are there" in refuse(tmp_path, lines)
    lines = change_line(lines, -1, lambda line: {**line, "rows": ROWS + 2})
    found = read_lines(tmp_path, lines)
    found["databases"]["B"]["views"].pop("routes of B", None)
    assert found == read_lines(tmp_path, LINES)


def test_bytes_that_are_no_utf8(tmp_path: Path) -> None:
    content = driver(LINES).replace(b"TargetService", b"Target\xffService", 1)
    line = content[: content.index(b"\xff")].count(b"\n") + 1
    fault = refuse(tmp_path, content)
    assert fault.startswith(f"c.txt:{line}: ")
    assert "not UTF-8" in fault


def test_a_line_of_the_greatest_length(tmp_path: Path) -> None:
    length = (1 << 20) - len(changed(QUEUE, error="")[QUEUE])
    content = read_lines(tmp_path, changed(QUEUE, error="x" * length))
    view = content["databases"]["B"]["views"]["queue dbo.TargetQueue of B"]
    assert len(view["error"]) == length
    fault = refuse(tmp_path, changed(QUEUE, error="x" * (length + 1)))
    assert fault.startswith(f"c.txt:{QUEUE + 1}: ")
    assert "1,048,576 characters" in fault


def test_brackets_and_digits_without_end(tmp_path: Path) -> None:
    for levels, place in ((101, QUEUE), (30_000, QUEUE - 1)):
        fault = refuse(tmp_path, nested(levels, place))
        assert fault.startswith(f"c.txt:{place + 1}: ")
        assert "100 levels of brackets" in fault
    for content in (studio_json(nested(30_000, 3)), b"[" * 100_000):
        assert "100 levels of brackets" in refuse(tmp_path, content, "c.json")
    fault = refuse(tmp_path, [line.replace('"status":1', f'"status":{"1" * 5000}') for line in LINES])
    assert fault.startswith(f"c.txt:{QUEUE - 2}: ")
    assert "thousands of digits" in fault


def test_the_line_of_a_fault_in_an_array(tmp_path: Path) -> None:
    """Of an element it is the line of its key: the array's lines are `[`, `{`, the key, `},` and so on."""
    fault = refuse(tmp_path, studio_json(changed(-1, rows=1)), "c.json")
    assert fault.startswith(f"c.json:{3 * LAST}: ")


@pytest.mark.parametrize("element", ["17", '{"a": 1}', '{"a": "{}", "b": "{}"}', "{}", "[]", "null"])
def test_an_element_that_is_no_line(tmp_path: Path, element: str) -> None:
    content = studio_json(LINES).replace(b"[\n", f"[\n    {element},\n".encode(), 1)
    assert refuse(tmp_path, content, "c.json").startswith("c.json:2: ")


def test_a_list_as_python_prints_it(tmp_path: Path) -> None:
    fault = refuse(tmp_path, repr([(line,) for line in LINES]).encode())
    assert fault.startswith("c.txt:1: ")
    assert "no array of JSON; write one row a line" in fault


def test_objects_over_several_lines(tmp_path: Path) -> None:
    fault = refuse(tmp_path, "\n".join(json.dumps(json.loads(line), indent=1) for line in LINES).encode())
    assert fault == (
        "c.txt:1: an object stands over several lines, and its first is no JSON; write each object in a line"
    )


def test_an_array_of_several_result_sets(tmp_path: Path) -> None:
    fault = refuse(tmp_path, studio_json(LINES) + b"\n" + studio_json(OTHER), "c.json")
    number = studio_json(LINES).count(b"\n") + 1
    assert int(fault.split(":")[1]) in (number, number + 1)


def test_only_the_first_fault_is_told(tmp_path: Path) -> None:
    lines = change_line(changed(QUEUE, count=99), -1, lambda line: {**line, "rows": 1})
    lines[5] = lines[5][:100]
    lines[8] = "Msg 1"
    assert refuse(tmp_path, lines).startswith("c.txt:6: the line is cut")


@pytest.mark.parametrize("filler", [b" " * 200 + b"\n", b"note " * 40 + b"\n"], ids=["blank", "foreign"])
def test_more_blank_and_foreign_lines_than_any_tool_writes(tmp_path: Path, filler: bytes) -> None:
    """A small compressed file may hold gigabytes of them."""
    much = filler * ((17 << 20) // len(filler))
    fault = refuse(tmp_path, gzip.compress(much + driver(LINES), 1))
    assert "more than 16 MiB up to this line are blank or no lines of a capture" in fault
    few = filler * 100 + b"-\n" * 600_000
    (tmp_path / "d.txt").write_bytes(few + driver(LINES))
    read_file(tmp_path / "d.txt")


def test_unknown_keys_are_read_and_not_kept(tmp_path: Path) -> None:
    more = "".join(f'"k{number}":{number},' for number in range(2000))
    lines = [line.replace('"row":{', f'"row":{{{more}') for line in LINES]
    found, plain = read_lines(tmp_path, lines), read_lines(tmp_path, LINES)
    assert rows_of(found, "services") == rows_of(plain, "services")
    queues = [rows_of(each, "queue dbo.TargetQueue") for each in (found, plain)]
    assert [[row.keys() for row in rows] for rows in queues] == [[queues[1][0].keys()] * 3] * 2


def test_names_that_are_no_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A broken link, a pipe and a name that is no text stand among captures."""
    folder = tmp_path / "captures"
    write_capture(folder / "c.jsonl", LINES)
    (folder / "broken.jsonl").symlink_to("nowhere")
    os.mkfifo(folder / "pipe.jsonl")
    found = read_captures([Captures(path=str(folder))], [], None, are_new_read=True)
    assert len(found.new) == 1
    assert "broken.jsonl, pipe.jsonl: no file that can be read" in caplog.text
    with pytest.raises(CaptureError, match="neither a file nor a folder"):
        read_captures([Captures(path=str(folder / "pipe.jsonl"))], [], None, are_new_read=True)
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.jsonl")).touch()
    with pytest.raises(CaptureError, match="no UTF-8; rename it"):
        read_captures([Captures(path=str(folder))], [], None, are_new_read=True)

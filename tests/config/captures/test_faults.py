"""What may be wrong with one capture, and what is said of it: one line with its place."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.capture_tools import driver, sqlcmd, studio_json
from tests.support.captures import ID, change_line, find_lines
from tests.support.factories import Row
from tests.support.read_captures import fault_of, read_file, read_lines, small_lines

LINES = small_lines()
OTHER = small_lines(id="11111111-2222-3333-4444-555555555555")
ROW = LINES[4]
QUEUE = find_lines(LINES, view="queue", count=3)[0]


def refuse(folder: Path, content: bytes | list[str], name: str = "c.txt") -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else driver(content))
    return fault_of(path)


def with_keys(**changes: object) -> Callable[[Row], Row]:
    return lambda line: {**line, **changes}


def without(key: str) -> Callable[[Row], Row]:
    return lambda line: {name: value for name, value in line.items() if name != key}


def inserted(place: int, *lines: str) -> list[str]:
    return [*LINES[:place], *lines, *LINES[place:]]


@pytest.mark.parametrize(
    "line",
    [
        '{"database":"B","view":"services","row":{"service_id":1,}}',
        '{"database":"B","view":"services","row":{"service_id":1}',
        '{"database":"B" "view":"services"}',
        '{"database":"B","view":"queue","schema":"dbo","queue":"TargetQueue","row":{"status":}}',
        "{",
        "{}}",
    ],
)
def test_an_object_that_is_no_json(tmp_path: Path, line: str) -> None:
    fault = refuse(tmp_path, inserted(5, line))
    assert fault.startswith("c.txt:6: ")
    assert "no JSON" in fault


@pytest.mark.parametrize(
    "line",
    [
        "Msg 1205, Level 13, State 51, Server SQL1, Line 210",
        "(1 rows affected)",
        "Warning: Null value is eliminated by an aggregate or other SET operation.",
        "some words",
    ],
)
def test_another_line_inside_a_capture(tmp_path: Path, line: str) -> None:
    fault = refuse(tmp_path, sqlcmd(inserted(7, line)))
    assert fault.startswith(f"c.txt:8: {line[:60]!r}"[:40])
    assert "take the capture anew" in fault


@pytest.mark.parametrize("line", ["", "   ", "-" * 300, "capture_line", '"capture_line"'])
def test_blank_lines_dashes_and_the_heading_may_stand_there(tmp_path: Path, line: str) -> None:
    path = tmp_path / "c.txt"
    path.write_bytes(sqlcmd(inserted(7, line, line)))
    assert read_file(path) == read_lines(tmp_path, LINES)


@pytest.mark.parametrize("kept", [slice(1, None), slice(3, None), slice(5, None), slice(-1, None)])
def test_the_first_line_is_missing(tmp_path: Path, kept: slice) -> None:
    fault = refuse(tmp_path, ["Changed database context to 'B'.", *LINES[kept]])
    assert fault.startswith("c.txt:2: the first line of the capture is missing; ")


@pytest.mark.parametrize(
    ("content", "start", "begins"),
    [
        (b"", "c.txt: ", "empty"),
        (b" \r\n\n", "c.txt: ", "empty"),
        (b"\n\nMsg 229, Level 14\nmore\n", "c.txt:3: ", "Msg 229, Level 14"),
        (b"conversation_handle,priority\r\n1,5\r\n", "c.txt:1: ", "conversation_handle,priority"),
        (b"PAR1\x15\x04\x15\x18\xff\xfe", "c.txt:1: ", "PAR1"),
    ],
)
def test_no_capture_is_in_it(tmp_path: Path, content: bytes, start: str, begins: str) -> None:
    fault = refuse(tmp_path, content)
    assert fault.startswith(start + "there is no capture in it: ")
    assert begins in fault


@pytest.mark.parametrize("content", [b"[]", b"[ ]\n"])
def test_an_empty_array_is_no_capture(tmp_path: Path, content: bytes) -> None:
    assert "there is no capture in it" in refuse(tmp_path, content, "c.json")


@pytest.mark.parametrize("version", [2, 0, "1", True, None, 1.5])
def test_another_version(tmp_path: Path, version: object) -> None:
    fault = refuse(tmp_path, change_line(LINES, 0, with_keys(capture=version)))
    assert fault.startswith("c.txt:1: ")
    assert f"version {json.dumps(version)}" in fault
    assert "this reads version 1" in fault


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("taken_at", without("taken_at")),
        ("taken_at", with_keys(taken_at=None)),
        ("taken_at", with_keys(taken_at="yesterday")),
        ("taken_at", with_keys(taken_at=17)),
        ("server", without("server")),
        ("server", with_keys(server=None)),
        ("server", with_keys(server="")),
        ("id", without("id")),
    ],
)
def test_a_header_without_a_key(tmp_path: Path, key: str, change: Callable[[Row], Row]) -> None:
    fault = refuse(tmp_path, change_line(LINES, 0, change))
    assert fault.startswith("c.txt:1: ")
    assert key in fault


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ([*LINES, *OTHER], len(LINES) + 1),
        ([*LINES, "", *OTHER], len(LINES) + 2),
        ([*LINES, ROW], len(LINES) + 1),
        ([*LINES, LINES[-1]], len(LINES) + 1),
        ([*LINES, LINES[QUEUE]], len(LINES) + 1),
        (inserted(6, OTHER[0]), 7),
        ([*LINES[:9], *OTHER], 10),
        ([*LINES[:-1], *OTHER], len(LINES)),
    ],
)
def test_a_second_capture(tmp_path: Path, lines: list[str], line: int) -> None:
    fault = refuse(tmp_path, lines)
    assert fault.startswith(f"c.txt:{line}: a second capture begins here; ")


def test_no_end_line(tmp_path: Path) -> None:
    """The line is the last object's; what the tool or the server says behind it is told."""
    place = f"c.txt:{len(LINES) - 1}: the capture ends here without its last line"
    why = ": it is not whole, or still being written; "
    assert refuse(tmp_path, LINES[:-1]).startswith(place + why)
    follows = f", and '({len(LINES) - 1} rows affected)' follows"
    assert refuse(tmp_path, sqlcmd(LINES[:-1])).startswith(place + follows + why)
    message = refuse(tmp_path, [*LINES[:-1], "Msg 1105, Level 17", "more"])
    assert message.startswith(place + ", and 'Msg 1105, Level 17' follows" + why)


@pytest.mark.parametrize("id", ["11111111-2222-3333-4444-555555555555", None])
def test_the_end_of_another_capture(tmp_path: Path, id: str | None) -> None:
    fault = refuse(tmp_path, change_line(LINES, -1, with_keys(id=id)))
    assert fault.startswith(f"c.txt:{len(LINES)}: ")
    assert "parts of two captures" in fault
    assert ID in fault


def test_ids_are_guids_in_any_spelling(tmp_path: Path) -> None:
    other = change_line(LINES, -1, with_keys(id=f"{{{ID.lower()}}}"))
    assert read_lines(tmp_path, other) == read_lines(tmp_path, LINES)


@pytest.mark.parametrize("count", [17, 0, None, "18"])
def test_another_number_of_rows(tmp_path: Path, count: object) -> None:
    total = json.loads(LINES[-1])["rows"]
    fault = refuse(tmp_path, change_line(LINES, -1, with_keys(rows=count)))
    assert fault.startswith(f"c.txt:{len(LINES)}: ")
    assert json.dumps(count) in fault
    assert f"{total} are there" in fault


@pytest.mark.parametrize("view", ["queue", "conversation_endpoints", "services"])
@pytest.mark.parametrize("count", [1, 99])
def test_another_number_of_rows_of_a_view(tmp_path: Path, view: str, count: int) -> None:
    [place] = [at for at in find_lines(LINES, view=view) if "count" in json.loads(LINES[at])]
    rows = json.loads(LINES[place])["count"]
    fault = refuse(tmp_path, change_line(LINES, place, with_keys(count=count)))
    assert fault.startswith(f"c.txt:{place + 1}: ")
    assert f"{count} rows" in fault
    assert f"{rows} are there" in fault


@pytest.mark.parametrize("view", ["queue", "conversation_endpoints", "services"])
def test_rows_without_a_line_about_their_view(tmp_path: Path, view: str) -> None:
    [place] = [at for at in find_lines(LINES, view=view) if "count" in json.loads(LINES[at])]
    fault = refuse(tmp_path, [*LINES[:place], *LINES[place + 1 :]])
    assert fault.startswith(f"c.txt:{len(LINES) - 1}: ")
    assert f"{json.loads(LINES[place])['count']} are there" in fault


def test_rows_of_views_that_the_reader_does_not_know_count(tmp_path: Path) -> None:
    routes = [f'{{"database":"B","view":"routes","row":{{"name":"r{number}"}}}}' for number in range(2)]
    about = '{"database":"B","view":"routes","count":2,"complete":true,"error":null,"read_at":null}'
    kind = '{"something":"new"}'
    lines = inserted(4, *routes, about, kind)
    total = json.loads(LINES[-1])["rows"]
    assert f"{total + 2} are there" in refuse(tmp_path, lines)
    found = read_lines(tmp_path, change_line(lines, -1, with_keys(rows=total + 2)))
    found["databases"]["B"]["views"].pop("routes of B", None)
    assert found == read_lines(tmp_path, LINES)


def test_bytes_that_are_no_utf8(tmp_path: Path) -> None:
    content = driver(LINES).replace(b"TargetService", b"Target\xffService", 1)
    line = content[: content.index(b"\xff")].count(b"\n") + 1
    fault = refuse(tmp_path, content)
    assert fault.startswith(f"c.txt:{line}: ")
    assert "not UTF-8" in fault


def test_a_line_that_is_too_long(tmp_path: Path) -> None:
    long = change_line(LINES, QUEUE, with_keys(error="x" * (1 << 20)))
    fault = refuse(tmp_path, long)
    assert fault.startswith(f"c.txt:{QUEUE + 1}: ")
    assert "1,048,576 characters" in fault


def test_a_line_of_the_greatest_length(tmp_path: Path) -> None:
    short = len(change_line(LINES, QUEUE, with_keys(error=""))[QUEUE])
    lines = change_line(LINES, QUEUE, with_keys(error="x" * ((1 << 20) - short)))
    view = read_lines(tmp_path, lines)["databases"]["B"]["views"]["queue dbo.TargetQueue of B"]
    assert len(view["error"]) == (1 << 20) - short


def test_the_line_of_a_fault_in_an_array(tmp_path: Path) -> None:
    """Of an element it is the line of its key: the array's lines are `[`, `{`, the key, `},` and so on."""
    lines = change_line(LINES, -1, with_keys(rows=1))
    content = studio_json(lines)
    number = content[: content.index(b'\\"end\\"')].count(b"\n") + 1
    assert number == 3 * len(LINES)
    assert refuse(tmp_path, content, "c.json").startswith(f"c.json:{number}: ")


@pytest.mark.parametrize(
    "element", ["17", '"x"', '{"a": 1}', '{"a": "{}", "b": "{}"}', "{}", "[]", "null", '{"a": null}']
)
def test_an_element_that_is_no_line(tmp_path: Path, element: str) -> None:
    content = studio_json(LINES).replace(b"[\n", f"[\n    {element},\n".encode(), 1)
    assert refuse(tmp_path, content, "c.json").startswith("c.json:2: ")


def test_an_array_of_several_result_sets(tmp_path: Path) -> None:
    content = studio_json(LINES) + b"\n" + studio_json(OTHER)
    fault = refuse(tmp_path, content, "c.json")
    number = studio_json(LINES).count(b"\n") + 1
    assert int(fault.split(":")[1]) in (number, number + 1)


def test_only_the_first_fault_is_told(tmp_path: Path) -> None:
    lines = change_line(change_line(LINES, QUEUE, with_keys(count=99)), -1, with_keys(rows=1))
    lines[5] = lines[5][:100]
    lines[8] = "Msg 1"
    assert refuse(tmp_path, lines).startswith("c.txt:6: the line is cut")

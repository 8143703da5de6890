"""A capture says the same in the form of every tool; the forms that lose something are refused."""

from pathlib import Path

import pytest

from tests.support.capture_tools import DAMAGING, FORMS, TOOLS, driver
from tests.support.captures import capture_lines, to_line
from tests.support.factories import NOON
from tests.support.read_captures import fault_of, read_file, small_lines
from tests.support.snapshot_views import ready, views
from tests.support.view_rows import waiting

HOSTILE = "Größe \N{BEER MUG} \"q\" 'a'; , | \t x\r\ny \\ /a,b"


def many_lines() -> list[str]:
    """A capture of more lines than a page of sqlcmd has, with names that every form must keep."""
    messages = [ready(number % 90, False, number, message_type_name=HOSTILE) for number in range(120)]
    return capture_lines({"B": views(dbo_TargetQueue=messages)}, taken_at=NOON)


@pytest.mark.parametrize("lines", [small_lines(), many_lines()], ids=["small", "hostile"])
@pytest.mark.parametrize("name", FORMS)
def test_every_form_says_the_same(tmp_path: Path, name: str, lines: list[str]) -> None:
    (tmp_path / "plain.jsonl").write_bytes(driver(lines))
    form = FORMS[name]
    path = tmp_path / form.name
    path.write_bytes(form.write(lines))
    assert read_file(path) == read_file(tmp_path / "plain.jsonl")


def test_the_lines_are_ascii() -> None:
    assert all(line.isascii() and line.isprintable() for line in many_lines())
    assert to_line({"a": "ä/b <c>"}) == '{"a":"\\u00E4\\/b\\u0020\\u003Cc\\u003E"}'
    assert to_line({"a": "\N{BEER MUG}"}) == '{"a":"\\uD83C\\uDF7A"}'


def test_other_utf8_in_strings_is_taken(tmp_path: Path) -> None:
    """As a program writes it that has parsed the lines."""
    name = "Größe \N{BEER MUG}"
    units = name.encode("utf-16-be")
    codes = [f"\\u{int.from_bytes(units[at : at + 2]):04X}" for at in range(0, len(units), 2)]
    as_it_is = [line.replace("TargetQueue", name) for line in small_lines()]
    (tmp_path / "one.jsonl").write_text("".join(f"{line}\n" for line in as_it_is), encoding="utf-8")
    escaped = [line.replace("TargetQueue", "".join(codes)) for line in small_lines()]
    (tmp_path / "other.jsonl").write_bytes(driver(escaped))
    found = read_file(tmp_path / "one.jsonl")
    assert f"queue dbo.{name} of B" in found["databases"]["B"]["views"]
    assert found == read_file(tmp_path / "other.jsonl")


WORDS = {
    "sqlcmd, 256": (6, "cut at 256 characters", "sqlcmd -y 0"),
    "sqlcmd -w 80": (1, "wrapped at 80 characters", "-w 65535"),
    "SSMS, 256": (6, "cut at 256 characters", "8192 characters a column"),
    "PowerShell 5.1, table": (4, "ellipsis", "Select-Object -ExpandProperty capture_line"),
    "PowerShell 7, table": (4, "ellipsis", "Select-Object -ExpandProperty capture_line"),
}


@pytest.mark.parametrize("name", WORDS)
def test_forms_that_cut_lines_are_refused(tmp_path: Path, name: str) -> None:
    line, what, remedy = WORDS[name]
    path = tmp_path / DAMAGING[name].name
    path.write_bytes(DAMAGING[name].write(small_lines()))
    fault = fault_of(path)
    assert fault.startswith(f"{path.name}:{line}: ")
    assert what in fault
    assert remedy in fault


def test_lines_that_are_cut_at_4000_characters(tmp_path: Path) -> None:
    """Only a long text behind long names is longer: a status, with a message type and a database."""
    long = waiting(1, transmission_status="ö" * 500, message_type_name="ä" * 256)
    lines = capture_lines({"Ü" * 128: views(transmission_queue=[long])}, taken_at=NOON)
    assert 4000 < max(map(len, lines)) <= 8000
    path = tmp_path / "c.txt"
    path.write_bytes(DAMAGING["Invoke-Sqlcmd, 4000"].write(lines))
    fault = fault_of(path)
    assert fault.startswith("c.txt:3: ")
    assert "cut at 4,000 characters" in fault
    assert "-MaxCharLength 8000" in fault


def test_every_damaging_form_has_a_test() -> None:
    assert DAMAGING.keys() == {*WORDS, "Invoke-Sqlcmd, 4000"}
    assert TOOLS.keys() <= FORMS.keys()

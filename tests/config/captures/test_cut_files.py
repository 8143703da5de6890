"""A capture that is cut anywhere is refused, with the line where it ends."""

import gzip
from pathlib import Path

import pytest

from tests.support.capture_tools import FORMS, driver
from tests.support.read_captures import fault_of, read_file, small_lines

LINES = small_lines()


def test_a_capture_that_ends_behind_a_line(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    for count in range(1, len(LINES)):
        path.write_bytes(driver(LINES[:count]))
        fault = fault_of(path)
        assert fault.startswith(f"c.jsonl:{count}: the capture ends here without its last line"), fault


def test_a_capture_that_ends_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    for place, line in enumerate(LINES):
        for length in (1, 2, len(line) // 2, len(line) - 1):
            path.write_bytes(driver(LINES[:place]) + line[:length].encode())
            fault = fault_of(path)
            assert fault.startswith(f"c.jsonl:{place + 1}: the line is cut"), fault


def test_a_missing_line_end_is_no_fault(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    whole.write_bytes(driver(LINES))
    cut.write_bytes(driver(LINES)[:-1])
    assert read_file(whole) == read_file(cut)


def test_a_capture_without_one_of_its_lines(tmp_path: Path) -> None:
    """But for a line about a database, which says nothing that the others do not, or about no rows."""
    path = tmp_path / "c.jsonl"
    for place in range(1, len(LINES) - 1):
        path.write_bytes(driver([*LINES[:place], *LINES[place + 1 :]]))
        if '"read"' in LINES[place] or '"count":0' in LINES[place]:
            read_file(path)
        else:
            assert "are there" in fault_of(path)


@pytest.mark.parametrize("name", ["sqlcmd -u", "Data Studio, JSON", "Data Studio, CSV", "SSMS, text"])
def test_other_forms_that_are_cut(tmp_path: Path, name: str) -> None:
    path = tmp_path / FORMS[name].name
    whole = FORMS[name].write(LINES)
    end = whole.find(b"e\0n\0d\0" if name == "sqlcmd -u" else b"end")
    for length in range(end % 2 + 2, end, 998):
        path.write_bytes(whole[:length])
        assert fault_of(path).startswith(path.name)


def test_a_compressed_file_that_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl.gz"
    whole = gzip.compress(driver(LINES), mtime=0)
    for length in (len(whole) - 1, len(whole) - 9, len(whole) // 2, 30):
        path.write_bytes(whole[:length])
        assert fault_of(path) == "c.jsonl.gz: the compressed file is cut; copy it again"

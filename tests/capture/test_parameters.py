"""Names of databases in the capture script."""

import pytest

from pipelines.capture.script import capture_script, name_literal
from pipelines.config.errors import ConfigError
from tests.support.capture_script import SCRIPT

EXAMPLE = "-- INSERT INTO @only_databases (name) VALUES (N'Claims'), (N'Billing');"


def test_names_stand_where_the_example_stood() -> None:
    lines = SCRIPT.splitlines()
    assert capture_script() == SCRIPT
    assert lines.count(EXAMPLE) == 1
    place = lines.index(EXAMPLE)
    lines[place : place + 1] = [
        "INSERT INTO @only_databases (name) VALUES (N'Claims');",
        "INSERT INTO @only_databases (name) VALUES (N'O''Hara [x]');",
    ]
    assert capture_script(["Claims", "O'Hara [x]", "Claims"]).splitlines() == lines


@pytest.mark.parametrize(
    ("name", "literal"),
    [
        ("Claims", "N'Claims'"),
        ("'; DROP TABLE t; --", "N'''; DROP TABLE t; --'"),
        ("a]b", "N'a]b'"),
        ("Zürich", "CONVERT(nvarchar(128), 0x5A00FC007200690063006800)"),
        ("a\nGO\n", "CONVERT(nvarchar(128), 0x61000A0047004F000A00)"),
        ("$(x)", "CONVERT(nvarchar(128), 0x2400280078002900)"),
        ("\U0001f600", "CONVERT(nvarchar(128), 0x3DD800DE)"),
    ],
)
def test_a_name_is_ascii_in_one_line(name: str, literal: str) -> None:
    assert name_literal(name) == literal


@pytest.mark.parametrize("name", ["", "x" * 129, "\U0001f600" * 65])
def test_a_name_that_no_server_has(name: str) -> None:
    with pytest.raises(ConfigError, match="a name has 1 to 128 characters"):
        capture_script([name])

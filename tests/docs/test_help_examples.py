"""The example of every command's --help starts that command, on files that are there."""

import re
from pathlib import Path

import pytest

from pipelines import cli
from pipelines.console.invocation import name_command

ROOT = Path(__file__).parents[2]
KEPT = re.compile(r"(?:conf|samples)/[^\s=]+")
"""Files of the checkout; what a command writes lies elsewhere."""


@pytest.mark.parametrize("name", sorted(cli.COMMANDS.keys() - {"version"}))
def test_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.run([name, "--help"])
    (example,) = re.findall(r"^example: (.+)$", capsys.readouterr().out, re.MULTILINE)
    assert example.startswith(f"{name_command(name)} ")
    assert [path for path in KEPT.findall(example) if not (ROOT / path).exists()] == []

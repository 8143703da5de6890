"""Every command and option that reads the warehouse is played on both engines."""

import re
from typing import Any

import pytest

from pipelines.cli import COMMANDS, find_command
from pipelines.commands.options import Parser
from tests.engines.inputs import INPUTS
from tests.engines.questions import NOT_PLAYED, lines_of

PLAYED = sorted(COMMANDS.keys() - NOT_PLAYED.keys())


class Stopped(Exception):  # noqa: N818
    """A command has declared its options."""


def options_of(command: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The options of a command, by their long names, as its parser has them."""
    found: list[Any] = []

    def stop(parser: Parser, *_: object) -> None:
        found.extend(parser._actions)
        raise Stopped

    monkeypatch.setattr(Parser, "parse_args", stop)
    with pytest.raises(Stopped):
        find_command(command)([])
    return {action.option_strings[-1] if action.option_strings else action.metavar for action in found}


@pytest.mark.parametrize("command", PLAYED)
def test_the_command_is_played_with_all_its_options(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    lines = [line for name in INPUTS for line in lines_of(name) if line.split()[0] == command]
    assert lines
    played = {word for line in lines for word in re.findall(r"--[a-z-]+", line)}
    excluded = {name.split()[-1] for name in NOT_PLAYED if name.startswith(("--", f"{command} "))}
    assert options_of(command, monkeypatch) - excluded == played - {"--config"}


def test_what_is_not_played_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {command: options_of(command, monkeypatch) for command in PLAYED}
    for name in NOT_PLAYED:
        command, _, option = name.rpartition(" ")
        if option in COMMANDS:
            continue
        assert any(option in options[each] for each in ([command] if command else PLAYED)), name

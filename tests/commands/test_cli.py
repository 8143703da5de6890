"""`priorities`: its subcommands, what it says of one that is not there, and what a shell is told on Tab."""

import sys
from pathlib import Path

import pytest

from pipelines import cli
from pipelines.config.errors import ConfigError
from pipelines.console.invocation import name_command
from tests.support.processes import ROOT, ended

HELPERS = {"__init__", "launch", "open", "options", "out", "proposal_options", "question", "record"}
HELPERS |= {"signals", "streams"}
ROOM = "pipelines.commands."
HELP = "{} --help lists the options"
LIMIT = f"the nearest is --limit; {HELP}"
WHICH = f"give --as-of, the instant to describe, or --as-of latest, that of the newest data; {HELP}"
LIKE = "write it like 2026-01-01T00:00:00Z, or latest"
NEEDS = f"--as-of latest needs the warehouse; name an instant; {HELP}"


def test_each_command_has_a_module_and_a_line_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    modules = {path.stem for path in (ROOT / "pipelines" / "commands").glob("*.py")} - HELPERS
    assert {cli.MODULES.get(name, name) for name in cli.COMMANDS} == modules
    assert cli.run([]) == cli.run(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name, line in cli.COMMANDS.items():
        assert lines.count(f"  {name:11}  {line}") == 2


def test_help_and_version_in_other_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--version"]) == cli.run(["version"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
    assert first.startswith("priorities ")
    assert cli.run(["help"]) == cli.run(["--help"]) == 0
    text = capsys.readouterr().out
    assert text[: len(text) // 2] == text[len(text) // 2 :]
    with pytest.raises(SystemExit, match="0"):
        cli.run(["help", "next"])
    assert capsys.readouterr().out.startswith(f"usage: {name_command('next')} ")
    with pytest.raises(ConfigError, match="unknown command nxt; the nearest is next"):
        cli.run(["help", "nxt"])


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_the_options_that_commands_share_are_in_a_group(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.run([name, "--help"])
    text = capsys.readouterr().out
    assert text.startswith(f"usage: {name_command(name)} ")
    assert "\noptions of several commands:\n" in text


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["nightl"], "unknown command nightl; the nearest is nightly; priorities --help lists the commands"),
        (["xyzzy"], "unknown command xyzzy; priorities --help lists the commands"),
        (["--config"], "unknown option --config; priorities --help lists the commands"),
        (["next", "--limt", "3"], f"unknown option --limt; {LIMIT}"),
        (["next", "--limt=3"], f"unknown option --limt; {LIMIT}"),
        (["next", "--xyzzy"], f"unknown option --xyzzy; {HELP}"),
        (["nightly"], WHICH),
        (["schedules"], WHICH),
        (["nightly", "--as-of", "last"], f"argument --as-of: 'last' is not a moment in time; {LIKE}; {HELP}"),
        (["lint", "--as-of", "latest", "a.sql"], NEEDS),
        (["lint", "--as-of", "latest", "--static"], NEEDS),
    ],
    ids=str,
)
def test_a_word_that_is_unknown_missing_or_wrong(argv: list[str], says: str) -> None:
    with pytest.raises(ConfigError) as raised:
        cli.run(argv)
    assert str(raised.value) == f"command line: {says.format(name_command(argv[0]))}"


def test_it_is_started_as_a_module() -> None:
    done = ended([sys.executable, "-m", "jobs", "nxt"])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: command line: unknown command nxt; the nearest is next; "
        "priorities --help lists the commands\n"
    )


def imported(*argv: str) -> set[str]:
    """The modules that a call imports."""
    tells = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    done = ended([sys.executable, "-c", f"{tells}\nfrom pipelines import cli\ncli.run({list(argv)})"])
    return set(done.stderr.split())


def test_the_help_imports_no_engine_and_a_command_no_other_command() -> None:
    assert not {"pyspark", "pandas", "pydantic"} & imported("--help")
    own = {name.rpartition(".")[2] for name in imported("next", "--help") if name.startswith(ROOM)}
    assert own - HELPERS == {"questions"}


@pytest.mark.parametrize(
    ("line", "words"), [("priorities ne", {"next"}), ("priorities next --queue 'a b' --li", {"--limit"})]
)
def test_a_shell_completes_a_word(tmp_path: Path, line: str, words: set[str]) -> None:
    answer = tmp_path / "answer"
    asks = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    assert ended([sys.executable, "-m", "jobs"], asks).returncode == 0
    assert set(answer.read_text().split()) == words

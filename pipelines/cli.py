"""`priorities`: one command, whose subcommands are in `pipelines.commands`.

Only the module of the subcommand that is named is imported.
"""

import gc
import os
import shlex
import signal
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from pipelines.console.invocation import PROGRAM

GROUPS = {
    "every night": {
        "capture": "read the views of a server into one file, or print the script that does",
        "nightly": "read new events, assign priorities and write both schedules of an instant",
        "ingest": "read new events and write them into the ledger, without an as_of",
        "rules": "write the history of the rules, or print them as a T-SQL script",
        "schedules": "derive and publish the schedules of one as_of from the ledger",
        "activation": "replay the queue monitors of one as_of, or show one queue",
    },
    "questions about a published as_of": {
        "why": "why messages wait, behind what, and what to do",
        "next": "the next messages of a queue, or out of an instance, and why",
        "waiting": "which messages wait how long, and which are overtaken most",
        "expect": "whether what the settings expect holds",
        "explain": "why a conversation, a message or a group has its priority and position",
        "coverage": "what each rule version decides",
        "leaks": "which conversations are never ended",
        "differences": "how snapshots of a server differ from the ledger",
        "rejected": "why rows of the inputs were rejected",
        "report": "one HTML page about an as_of",
        "changes": "what changed since an earlier as_of",
        "metrics": "the figures of an as_of for monitoring tools",
    },
    "rules: try them, check them": {
        "lint": "what is wrong with the rules",
        "whatif": "what other rules would change in a backlog",
        "replay": "play a period of the log again, with other rules or readers",
        "conformance": "whether the server did what its rules say",
    },
    "upkeep": {
        "maintain": "remove old as_ofs, join small files and delete unused ones",
        "reassign": "decide the endpoints of an interval again, under the rules as they are now",
    },
    "this installation": {
        "init": "write settings: for a capture of a server, or a commented skeleton",
        "check": "check what a run needs: settings, inputs, engine, memory, disk",
        "version": "which version this is, and on what it runs",
        "completion": "what makes a shell complete commands and options on Tab",
    },
}
WITHOUT_ENGINE = ("capture", "init", "check", "version", "completion")
MODULES = {
    **dict.fromkeys(
        ("next", "waiting", "expect", "coverage", "leaks", "differences", "rejected", "changes"), "questions"
    ),
    **dict.fromkeys(("ingest", "rules", "schedules", "activation"), "steps"),
    **dict.fromkeys(("maintain", "reassign"), "upkeep"),
    **dict.fromkeys(("version", "completion"), "installation"),
}
"""The modules that have several subcommands; each of the others has its own, of the same name."""
COMMANDS = {name: line for group in GROUPS.values() for name, line in group.items()}


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run a subcommand, and end the process with its exit code."""
    # Ctrl-C ends the process without a traceback while modules are imported.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from pipelines.commands.launch import launch

    launch(run, sys.argv[1:] if argv is None else argv)


def run(argv: Sequence[str]) -> int:
    """Run a subcommand and return its exit code.

    Raises:
        ConfigError: there is no such subcommand, or not the packages of one engine.
    """
    if "_ARGCOMPLETE" in os.environ:
        argv = _words_to_complete()
    name, *options = argv or ["--help"]
    if name == "help":
        name, *options = [*options[:1], "--help"]
    if name == "--version":
        name = "version"
    if name in COMMANDS:
        if name not in WITHOUT_ENGINE:
            from pipelines.engine.environment import require_engine

            require_engine()
        command = find_command(name)
        # What was imported stays.
        gc.freeze()
        return command(options)
    if "_ARGCOMPLETE" in os.environ:
        _complete_command()
    if name in ("-h", "--help"):
        print(_help(), end="")
        return 0
    from pipelines.config.errors import ConfigError
    from pipelines.config.nearest import nearest

    close = nearest(name, COMMANDS)
    what = "option" if name.startswith("-") else "command"
    hint = f"the nearest is {close}; " if close else ""
    raise ConfigError(f"command line: unknown {what} {name}; {hint}{PROGRAM} --help lists the commands")


def find_command(name: str) -> Callable[[Sequence[str]], int]:
    """Import the module of a subcommand, and return what runs it with its options."""
    module = import_module(f"pipelines.commands.{MODULES.get(name, name)}")
    run_command: Callable[[Sequence[str]], int] = module.COMMANDS[name] if name in MODULES else module.main
    return run_command


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"usage: {PROGRAM} COMMAND [options]", ""]
    lines += ["Priorities, receive order and transmission order of Service Broker conversations.", ""]
    for group, commands in GROUPS.items():
        lines += [f"{group}:", *(f"  {name:{width}}  {line}" for name, line in commands.items()), ""]
    lines.append(f"{PROGRAM} help COMMAND, or COMMAND --help, lists the options of a command.")
    return "\n".join(lines) + "\n"


def _words_to_complete() -> list[str]:
    """The words before the one that a shell asks about; the parser of a subcommand sees its own alone."""
    line = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])]
    try:
        words = shlex.split(line)
    except ValueError:  # a quote that is still open
        words = line.split()
    words = words[1:] if line[-1:].isspace() else words[1:-1]
    if words and words[0] in COMMANDS:
        os.environ["_ARGCOMPLETE"] = "2"
    return words[:1]


def _complete_command() -> None:
    from argcomplete import autocomplete

    parser = ArgumentParser(PROGRAM)
    parser.add_argument("command", choices=COMMANDS)
    autocomplete(parser)

"""Lines of a script that are for sqlcmd and not for the server: included files, another server, the end."""

import os

from pipelines.config.rules.rule_grammar import short
from pipelines.config.rules.script_reading import ScriptReading
from pipelines.config.rules.script_tokens import Token
from pipelines.config.rules.sqlcmd import QUOTED_VALUE, VARIABLE, command_of, strip_quotes


def run_command(reading: ScriptReading, token: Token) -> None:
    """Take in one such line; those that change nothing for rules are passed over."""
    reading.at += 1
    name, argument = command_of(token.text)
    if name == "r":
        _include(reading, token, strip_quotes(argument))
    elif name == "setvar":
        _set(reading, token, argument)
    elif name == "connect":
        server = strip_quotes(argument.split()[0]) if argument else ""
        if server.lower() != (reading.instance or "").lower():
            reading.leave_unread(
                token,
                f":connect {short(server)}: not read, so what follows counts for the source's instance",
                "write a file an instance, each with its entry in rules:",
            )
    elif name in ("quit", "exit"):
        reading.switched_off = token


def _set(reading: ScriptReading, token: Token, argument: str) -> None:
    """Refuse a value that sqlcmd does not take: with blanks and without quotes, or with words behind it."""
    name, _, value = argument.partition(" ")
    value = value.strip()
    if value and not QUOTED_VALUE.fullmatch(value) and len(value.split()) > 1:
        reading.problem(
            reading.script.location(token),
            f"the value of {name}, {short(value)}, has blanks; write it in quotes, and a comment in a line "
            "of its own",
        )


def _include(reading: ScriptReading, token: Token, path: str) -> None:
    if VARIABLE.search(path):
        reading.note_undefined(token)
        return
    location = reading.script.location(token)
    folders = (os.path.dirname(reading.script.source.file), "")
    found = [os.path.join(folder, path.replace("\\", os.sep)) for folder in folders]
    if not any(os.path.isfile(each) for each in found):
        reading.problem(location, f"there is no file {path} to include; correct the path or create the file")
        return
    reading.leave_unread(token, f"the included file {path}: not read", "add it to rules: in the settings")

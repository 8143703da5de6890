"""What sqlcmd makes of a script before the server sees it: variables, and commands in lines of their own."""

import re
from bisect import bisect_right
from collections.abc import Mapping

from pipelines.rules.script_tokens import Source, Tokens, tokenize

VARIABLE = re.compile(r"\$\(([\w-]+)\)")
QUOTED_VALUE = re.compile(r'"(?:[^"]|"")*"')
_COMMAND = re.compile(r":([A-Za-z]+)[ \t]*(.*)", re.DOTALL)
_SETVAR = re.compile(r'([\w-]+)(?:[ \t]+(?:"((?:[^"]|"")*)"|(.*)))?', re.DOTALL)


def command_of(text: str) -> tuple[str, str]:
    """Return the name of a command, in small letters, and what stands behind it."""
    match = _COMMAND.fullmatch(text.rstrip())
    return (match[1].lower(), match[2].strip()) if match else ("", text)


def strip_quotes(argument: str) -> str:
    """Return an argument without the quotes around it."""
    if len(argument) > 1 and argument[0] == argument[-1] == '"':
        return argument[1:-1].replace('""', '"')
    return argument


def read_tokens(file: str, text: str, variables: Mapping[str, str]) -> Tokens:
    """Cut a script into tokens, with the values of variables in place of $(name).

    A name counts whatever its case. `:setvar name value` counts from its line on and goes before `variables`;
    `:setvar name` takes the value away. Comments are left alone. A variable without a value stays as it is.

    Raises:
        ConfigError: A comment, a string or a name in quotes or brackets is never closed.
    """
    tokens = tokenize(Source(file, text, text))
    if "$(" not in text:
        return tokens
    values: dict[str, str] = {name.lower(): value for name, value in variables.items()}
    commands = [token for token in tokens.tokens if token.kind == "COMMAND"]
    starts = [begin for begin, _ in tokens.comments]
    parts: list[str] = []
    pieces: list[tuple[int, int]] = [(0, 0)]
    written = length = next_command = 0
    for match in VARIABLE.finditer(text):
        while next_command < len(commands) and commands[next_command].end <= match.start():
            _set(values, commands[next_command].text)
            next_command += 1
        index = bisect_right(starts, match.start()) - 1
        in_comment = index >= 0 and match.start() < tokens.comments[index][1]
        value = values.get(match[1].lower())
        if in_comment or value is None:
            continue
        before = text[written : match.start()]
        parts += [before, value]
        # The value stands where the variable is written.
        length += len(before)
        pieces.append((length, match.start()))
        length += len(value)
        written = match.end()
        pieces.append((length, written))
    if not parts:
        return tokens
    return tokenize(Source(file, "".join([*parts, text[written:]]), text, pieces))


def _set(values: dict[str, str], command: str) -> None:
    name, rest = command_of(command)
    match = _SETVAR.fullmatch(rest) if name == "setvar" else None
    if match is None:
        return
    value = match[2].replace('""', '"') if match[2] is not None else match[3]
    if value is None:
        values.pop(match[1].lower(), None)
    else:
        value = value.strip() if match[2] is None else value
        values[match[1].lower()] = VARIABLE.sub(lambda each: values.get(each[1].lower(), each[0]), value)

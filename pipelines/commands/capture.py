"""Read what Service Broker holds on a server into one file, or print the script that does."""

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pipelines.capture.connection import VARIABLE, connection_string, driver_errors, open_connection
from pipelines.capture.run import Lines, Written, write
from pipelines.capture.script import capture_script
from pipelines.commands.options import Parser
from pipelines.config.errors import ConfigError
from pipelines.config.find_settings import find_settings
from pipelines.console.invocation import command_line
from pipelines.console.progress import step
from pipelines.console.terminal import escape_line
from pipelines.console.wording import format_count, format_list

FOLDER = Path("captures")


def main(argv: Sequence[str]) -> int:
    """Parse the command line, and print the script or run it on the server."""
    options = _parser().parse_args(argv)
    script = capture_script(options.database)
    if options.print_sql:
        print(script, end="")
        return 0
    string = connection_string(options.server, options.connection, os.environ.get(VARIABLE))
    written = _run(options.server or "the server", string, script, options.out)
    _warn(written.lines)
    print(escape_line(f"wrote {written.path}"))
    print(escape_line(f"next: {_next_command(written.path)}"))
    return 0


def _parser() -> Parser:
    parser = Parser(
        "capture",
        "Read what Service Broker holds on a server into one file. Only reads, and never a message's body.",
        example="--server SQL1 --database Claims",
        config=False,
    )
    parser.add_argument("--server", metavar="NAME", help="server, as HOST, HOST\\INSTANCE or HOST,PORT")
    parser.add_argument(
        "--database",
        metavar="NAME",
        action="append",
        default=[],
        help="database, repeatable (default all user databases with user services)",
    )
    parser.add_argument(
        "--out", type=Path, default=FOLDER, metavar="DIR", help=f"folder of the file (default {FOLDER})"
    )
    parser.add_argument(
        "--connection",
        metavar="STRING",
        help=f"connection string of the driver mssql-python, without a password (default {VARIABLE}, which "
        "may have one; else the login is that of this process)",
    )
    parser.add_argument(
        "--print-sql", action="store_true", help="print the T-SQL script, for any other tool, and end"
    )
    return parser


def _run(server: str, string: str, script: str, folder: Path) -> Written:
    problems: Callable[[], Any] = partial(driver_errors, "the server answered", string)
    with step(f"capture of {server}") as print_details, open_connection(string) as connection:
        written = write(connection, script, folder, problems)
        print_details(format_count(written.lines.rows, "row"))
    return written


def _warn(lines: Lines) -> None:
    """Name what was not read, or perhaps not all of it, one line each."""
    warnings = [f"database {name} was not read: {reason}" for name, reason in lines.unread]
    warnings += [f"{view} is not complete: {error}" for view, error in lines.incomplete if error]
    limited: dict[str, list[str]] = {}
    for view, error in lines.incomplete:
        if not error:
            database, _, name = view.rpartition(".")
            limited.setdefault(database, []).append(name)
    warnings += [
        f"{database}: the login lacks VIEW DEFINITION; {format_list(views)} may lack rows"
        for database, views in limited.items()
    ]
    for warning in warnings:
        print(f"warning: {escape_line(warning)}", file=sys.stderr)


def _next_command(path: Path) -> str:
    try:
        find_settings()
    except ConfigError:
        return command_line("init", "--capture", str(path))
    return command_line("nightly", "--as-of", "latest")

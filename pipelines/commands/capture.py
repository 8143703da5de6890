"""Read what Service Broker holds on a server into one file, or print the script that does."""

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pipelines.capture.connection import VARIABLE, connection_string, driver_errors, open_connection
from pipelines.capture.run import Written, write
from pipelines.capture.script import capture_script, ddl_log_script
from pipelines.commands.options import Parser, duration, find_settings
from pipelines.config.errors import ConfigError
from pipelines.console.invocation import command_line
from pipelines.console.terminal import escape_line, step
from pipelines.console.wording import format_count

FOLDER = Path("captures")
EVERY = 300.0
"""Seconds between two captures."""


def main(argv: Sequence[str]) -> int:
    """Parse the command line, and print the script or run it on the server."""
    parser = _parser()
    options = parser.parse_args(argv)
    _require_fitting(parser, options)
    if options.ddl_log:
        print(ddl_log_script(), end="")
        return 0
    script = capture_script(options.database)
    if options.print_sql:
        print(script, end="")
        return 0
    string = connection_string(options.server, options.connection, os.environ.get(VARIABLE))
    if options.every is not None:
        # Import lazily: a single capture needs neither settings nor tables.
        from pipelines.commands.record import record

        return record(options, string)
    written = _run(options.server or "the server", string, script, options.out)
    for warning in written.lines.warnings():
        print(f"warning: {escape_line(warning)}", file=sys.stderr)
    print(escape_line(f"wrote {written.path}"))
    print(escape_line(f"next: {_next_command(written.path)}"))
    return 0


def _parser() -> Parser:
    parser = Parser(
        "capture",
        "Read what Service Broker holds on a server into one file, or into a file each interval. Only reads, "
        "and never a message's body.",
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
        "--every",
        type=duration(1),
        nargs="?",
        const=EVERY,
        metavar="DURATION",
        help="take captures at this interval, such as 30s or 5min (5min without a value), until Ctrl-C; each "
        "in the folder of its day, compressed. Most are light: of the endpoints they have those of waiting "
        "messages alone",
    )
    parser.add_argument(
        "--for", type=duration(1), metavar="DURATION", help="with --every: end after this time"
    )
    parser.add_argument(
        "--full-every",
        type=duration(1),
        metavar="DURATION",
        help="with --every: the interval of captures with all endpoints (default 1h)",
    )
    parser.add_argument(
        "--keep",
        type=duration(1),
        metavar="DURATION",
        help="with --every and --config: delete captures below --out that the warehouse has taken and that "
        "are older than the newest one by this, such as 14d",
    )
    parser.add_argument("--config", metavar="FILE", help="with --keep: the settings of the warehouse")
    parser.add_argument(
        "--print-sql", action="store_true", help="print the T-SQL script, for any other tool, and end"
    )
    parser.add_argument(
        "--ddl-log",
        action="store_true",
        help="with --print-sql: print a DDL trigger that writes down changes of rules, queues and services",
    )
    return parser


def _require_fitting(parser: Parser, options: Namespace) -> None:
    """Refuse options that mean nothing together."""
    if options.ddl_log and not options.print_sql:
        parser.error("--ddl-log prints a script; add --print-sql")
    if options.ddl_log and options.database:
        parser.error("--ddl-log prints a script for any database; leave --database out")
    if options.every is None:
        for name in ("for", "full_every", "keep"):
            if getattr(options, name) is not None:
                parser.error(f"--{name.replace('_', '-')} is for --every; add it")
    elif options.print_sql:
        parser.error("--every runs the script, --print-sql prints it; leave one out")
    if options.keep is not None and options.config is None:
        parser.error("--keep deletes what a warehouse has taken; name its settings with --config")
    if options.config is not None and options.keep is None:
        parser.error("--config is for --keep; leave it out")


def _run(server: str, string: str, script: str, folder: Path) -> Written:
    problems: Callable[[], Any] = partial(driver_errors, "the server answered", string)
    with step(f"capture of {server}") as print_details, open_connection(string) as connection:
        written = write(connection, script, folder, problems)
        print_details(format_count(written.lines.rows, "row"))
    return written


def _next_command(path: Path) -> str:
    try:
        find_settings()
    except ConfigError:
        return command_line("init", "--capture", str(path))
    return command_line("nightly", "--as-of", "latest")

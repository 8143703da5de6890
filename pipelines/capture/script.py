"""The capture script, and its parameters as T-SQL."""

import re
from collections.abc import Iterable
from importlib import resources

from pipelines.config.errors import ConfigError
from pipelines.server.snapshots.declaration import GUID, View, ViewColumn
from pipelines.server.snapshots.views import VIEWS

FILE = "capture.sql"
DDL_LOG = "ddl_log.sql"
DATABASES_GO_HERE = "-- INSERT INTO @only_databases (name) VALUES (N'Claims'), (N'Billing');\n"
"""The line of the script that INSERTs of database names replace."""
FULL, LIGHT = "DECLARE @light bit = 0;\n", "DECLARE @light bit = 1;\n"
COLUMNS_GO_HERE = re.compile(r"\[columns of (\w+)\]")
"""Where the SELECT list of a view goes."""
LONGEST_NAME = 128
"""UTF-16 code units of a name, by the server's type sysname."""
_PLAIN = re.compile(r"""(?:(?![$"?{}\\])[ -~])+""")
"""Printable ASCII without what some tool may take for its own: variables, parameters, escapes."""


def capture_script(databases: Iterable[str] = (), *, is_light: bool = False) -> str:
    """Return the script for these databases, or for all that have user services.

    Args:
        databases: their names, as the server has them.
        is_light: whether it reads the endpoints of handles in queues and transmission queues alone.

    Raises:
        ConfigError: a name is empty or longer than a server allows.
    """
    template = resources.files(__package__).joinpath(FILE).read_text("utf-8")
    script = COLUMNS_GO_HERE.sub(lambda match: select_list(VIEWS[match[1]]), template)
    inserts = "".join(
        f"INSERT INTO @only_databases (name) VALUES ({name_literal(name)});\n"
        for name in dict.fromkeys(databases)
    )
    if is_light:
        script = script.replace(FULL, LIGHT)
    return script.replace(DATABASES_GO_HERE, inserts) if inserts else script


def name_literal(name: str) -> str:
    """Write a name as a T-SQL value in ASCII: in quotes, or by its bytes if it has other characters.

    Raises:
        ConfigError: it is empty or longer than a server allows.
    """
    code_units = name.encode("utf-16-le", "surrogatepass")
    if not 0 < len(code_units) <= 2 * LONGEST_NAME:
        raise ConfigError(
            f"--database {name!r}: a name has 1 to {LONGEST_NAME} characters; write it as the server has it"
        )
    if _PLAIN.fullmatch(name):
        doubled = name.replace("'", "''")
        return f"N'{doubled}'"
    return f"CONVERT(nvarchar({LONGEST_NAME}), 0x{code_units.hex().upper()})"


def ddl_log_script() -> str:
    """Return the script of a table and a trigger that write down DDL events of Service Broker."""
    return resources.files(__package__).joinpath(DDL_LOG).read_text("utf-8")


WIDTH = 115
"""Characters of a line: with indent and quotes it has at most 120."""


def select_list(view: View) -> str:
    """The view's columns in T-SQL, inside a literal of the script.

    A line has as many columns as fit. A GUID begins a line, so that ids stand below each other.
    """
    lines: list[str] = []
    for column in view.columns:
        if not column.is_selected:
            continue
        sql = _select(column).replace("'", "''")
        if lines and column.type is not GUID and len(f"{lines[-1]}, {sql},") <= WIDTH:
            lines[-1] += f", {sql}"
        else:
            lines.append(sql)
    return ",\n   ".join(lines)


def _select(column: ViewColumn) -> str:
    """One column, under the key that it has in a line of the capture."""
    value = column.sql or column.type.sql.format(f"v.{column.name}")
    return f"{value} AS [row.{column.name}]"

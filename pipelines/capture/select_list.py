"""The columns of a view as the capture script selects them."""

from pipelines.config.snapshots.declaration import GUID, View, ViewColumn

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

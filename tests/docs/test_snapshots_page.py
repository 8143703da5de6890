"""docs/snapshots.md has the columns that the views are declared with."""

from pathlib import Path

from pipelines.config.snapshots.views import FILE_VIEWS, MONITORS, QUEUE, TASKS, VIEWS, columns_in_files

PAGE = (Path(__file__).parents[2] / "docs" / "snapshots.md").read_text("utf-8")
TITLES = {QUEUE: "a queue, named schema.queue"}
"""What the page calls a view, where that is not its name."""


def rows(header: str) -> list[list[str]]:
    """The cells of the table with this header, without code marks."""
    table = PAGE.partition(f"| {header} |\n")[2].partition("\n\n")[0].replace("`", "")
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[1:]]


def test_the_columns_of_each_view() -> None:
    expected = {}
    for view in (*FILE_VIEWS, QUEUE):
        columns = [column for column in columns_in_files(view) if column.is_selected]
        required, optional = (
            {" or ".join([each.name, *each.also]) for each in columns if each.may_lack is lacks}
            for lacks in (False, True)
        )
        expected[TITLES.get(view, view)] = required, optional
    found = {}
    for title, cell, _ in rows("view | columns | says"):
        needed, _, others = cell.replace(" (or", " or").replace(")", "").partition("; optional ")
        found[title.partition(" (")[0]] = {*needed.split(", ")}, {*filter(None, others.split(", "))}
    assert found == expected


def test_the_columns_that_names_may_replace() -> None:
    expected = {
        ("the dm_ views" if view in (MONITORS, TASKS) else view, column.name): [instead.name, *instead.also]
        for view in FILE_VIEWS
        for column in VIEWS[view].columns
        for instead in VIEWS[view].columns
        if instead.name == column.instead
    }
    found, view = {}, ""
    for title, column, also in rows("view | in place of | also"):
        view = title or view
        found[view, column] = also.split(", ")
    assert found == expected

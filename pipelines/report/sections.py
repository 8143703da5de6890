"""The sections about one as_of beside the schedules: rules, activation, leaks, input, nights."""

from dataclasses import replace

from pipelines.blocks.tables import Row, Table, column
from pipelines.console.wording import format_number
from pipelines.report.cells import (
    EMPTY,
    Cell,
    HtmlTable,
    TableColumn,
    format_change,
    format_moment,
    format_night,
    make_table,
)
from pipelines.report.tables import PageData

NOTES = Table("notes", "Beside these", [column("In words", "text", "sentence")])
UNRESOLVED = Table(
    "unresolved",
    "Messages that are not matched to a queue",
    [
        column("Reason", "word", "reason"),
        column("Missing from", "word", "kind"),
        column("Messages", "count", "messages"),
    ],
)


def make_night_table(data: PageData) -> HtmlTable:
    """Make the table of nights, with the change from the night before."""
    nights = data.rows("nights")

    def compared(head: str, key: str) -> TableColumn:
        def cell(row: Row) -> Cell:
            if row[key] is None:
                return EMPTY
            before = nights[row["index"] + 1][key] if row["index"] + 1 < len(nights) else None
            change = format_change(row[key], before)
            return Cell(format_number(row[key]), small=change, small_class="change")

        return TableColumn(head, "count", lambda row: row[key], (key,), cell=cell)

    def name(row: Row) -> Cell:
        return Cell(format_night(row["as_of"]), instant=row["as_of"])

    columns = [
        TableColumn("Night", "moment", lambda row: row["as_of"], ("as_of",), cell=name),
        compared("To receive", "open_receive"),
        compared("To send", "open_transmission"),
        compared("To forward", "open_forwarded"),
        compared("No queue known, receive", "unresolved_receive"),
        compared("No queue known, send", "unresolved_transmission"),
        compared("Events so far", "events"),
        compared("Rejected so far", "rejected"),
        column("Took", "duration", "seconds"),
        column("Runs", "count", "attempts"),
        column("Failed", "count", "failed"),
    ]
    table = make_table(
        "nights",
        "Nights, the latest first",
        columns,
        nights,
        note=data.note_left_out("nights", "latest"),
        empty="no run was published.",
    )
    return replace(table, is_sortable=False)


def describe_run(data: PageData) -> str:
    """Say which run the page is of; empty if none was published."""
    for row in data.rows("nights")[:1]:
        return (
            f"Run {row['run_id']}, finished {format_moment(row['finished_at'])}, version "
            f"{row['code_version']}."
        )
    return ""

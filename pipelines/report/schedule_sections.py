"""The sections about the two schedules: queues, starvation, transmission."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipelines.console.wording import format_number
from pipelines.questions.open_messages import NAMES
from pipelines.questions.tables import KIND_COLUMNS, wait_columns
from pipelines.report.cells import (
    EMPTY,
    Cell,
    HtmlTable,
    TableColumn,
    column,
    declared_column,
    level_columns,
    make_table,
    opening_column,
    placed_column,
)
from pipelines.report.formats import format_name
from pipelines.report.tables import PageData, PageTable, Row

REMARKS = {"elevated": "raised by waiting", "forwarded": "only forwarded"}
"""What is said of a message in small print, by its flag."""


@dataclass(frozen=True)
class Choice:
    """A queue or instance to choose: its label, and the note and the empty text of its messages."""

    label: str
    messages: int
    note: str
    empty: str


@dataclass(frozen=True)
class ChosenTable:
    """A table of the chosen queue or instance; the script fills in its rows.

    Attributes:
        name: its place in the template.
        source: the table of the page with the rows of all queues or instances.
        caption: its title, with {} for the label of the choice.
        columns: its columns, each with the name of its values in the data of the page.
    """

    name: str
    source: str
    caption: str
    columns: Sequence[tuple[str, TableColumn]]

    def rows(self, data: PageData) -> PageTable:
        """Return the rows as the script shows them: text, a number, null, or text with its small print."""
        rows = [
            [row["place"], *(_shown(each, row) for _, each in self.columns)] for row in data.rows(self.source)
        ]
        return PageTable(["place", *(name for name, _ in self.columns)], rows, data.total(self.source))


def _shown(column: TableColumn, row: Row) -> Any:
    cell = column.cell_of(row)
    if cell.small:
        return [cell.text, cell.small]
    if cell.text_class == "none":
        return None
    return column.value(row) if column.type in ("count", "level") else cell.text


def make_queue_table(data: PageData) -> HtmlTable:
    """Make the table of the queues."""
    rows = data.rows("receive_places")
    waits = list(map(declared_column, wait_columns(data.moment)))
    return make_table(
        "queues",
        "Messages by queue and level",
        [
            opening_column(placed_column("Queue", "queue")),
            waits[0],
            TableColumn("Not ready", "count", lambda row: row["group_locked"] + row["queue_off"], _held_back),
            *waits[1:],
            *level_columns(data.rows_by_place("receive_place_levels"), rows),
        ],
        rows,
        note=data.note_left_out("receive_places", "queues with the most messages"),
    )


def make_instance_table(data: PageData) -> HtmlTable:
    """Make the table of the sending instances."""
    rows = data.rows("transmission_places")
    waits = list(map(declared_column, wait_columns(data.moment)))
    return make_table(
        "instances",
        "Messages that wait to be sent, by instance and level",
        [
            opening_column(column("Instance", "name", "instance")),
            waits[0],
            column("Only forwarded", "count", "forwarded"),
            column("Raised by waiting", "count", "elevated"),
            *waits[1:],
            *level_columns(data.rows_by_place("transmission_place_levels"), rows),
        ],
        rows,
        note=data.note_left_out("transmission_places", "instances with the most messages"),
    )


def make_queue_choices(data: PageData) -> list[Choice]:
    """Make the choices of a queue."""
    top = data.rows_by_place("receive_top")
    return [
        Choice(
            " · ".join(map(format_name, (row["instance"], row["database"], row["queue"]))),
            row["messages"],
            _note_first(len(top.get(row["index"], ())), row["ready"]),
            "nothing, the queue is off." if row["queue_off"] else "nothing, every group is locked.",
        )
        for row in data.rows("receive_places")
    ]


def make_instance_choices(data: PageData) -> list[Choice]:
    """Make the choices of a sending instance."""
    top = data.rows_by_place("transmission_top")
    return [
        Choice(
            format_name(row["instance"]),
            row["messages"],
            _note_first(len(top.get(row["index"], ())), row["messages"]),
            "nothing, all wait for a queue that is off.",
        )
        for row in data.rows("transmission_places")
    ]


def make_chosen_tables(data: PageData) -> list[ChosenTable]:
    """Make the tables of the chosen queue and the chosen instance."""
    received = (
        ("position", column("Position", "level", "position")),
        ("receive_number", column("RECEIVE", "level", "receive_number")),
        ("group_priority", column("Level of the group", "level", "group_priority")),
        ("priority", column("Level", "level", "priority")),
        ("arrived_at", column("Arrived", "moment", "arrived_at")),
        *zip(NAMES, map(declared_column, KIND_COLUMNS), strict=True),
        ("message_type", column("Message type", "name", "message_type")),
        ("conversation_group_id", column("Group", "id", "conversation_group_id")),
        ("conversation_id", column("Conversation", "id", "conversation_id")),
        ("message_id", column("Message", "id", "message_id")),
    )
    destination = ("destination_instance", "destination_database")
    sent = (
        ("position", column("Position", "level", "position")),
        ("transmit_priority", _remark_column("Level that counts", "level", "transmit_priority", "elevated")),
        ("priority", column("Level shown", "level", "priority")),
        ("sendable_at", column("Sendable since", "moment", "sendable_at")),
        ("contract", column("Contract", "name", "contract")),
        ("from_service", column("From service", "name", "from_service")),
        ("database", _remark_column("From database", "name", "database", "forwarded")),
        ("to_service", placed_column("To service", "to_service", destination)),
        ("message_type", column("Message type", "name", "message_type")),
        ("conversation_id", column("Conversation", "id", "conversation_id")),
        ("message_id", column("Message", "id", "message_id")),
        ("why_still_here", column("The server says", "text", "why_still_here")),
    )
    return [
        ChosenTable("queue-top", "receive_top", "What one reader receives first from {}", received),
        ChosenTable("instance-top", "transmission_top", "What {} sends first", sent),
    ]


def _held_back(row: Row) -> Cell:
    if row["queue_off"]:
        return Cell(format_number(row["queue_off"]), small="queue off", small_class="where flag")
    if row["group_locked"]:
        return Cell(format_number(row["group_locked"]), small="group locked")
    return EMPTY


def _remark_column(head: str, type: str, key: str, flag: str) -> TableColumn:
    """Make a column with a remark in small print where a flag is set."""
    base = column(head, type, key)
    return replace(
        base, cell=lambda row: replace(base.cell_of(row), small=REMARKS[flag] if row[flag] else "")
    )


def _note_first(shown: int, total: int) -> str:
    return f"Shown are the first {format_number(shown)}, of {format_number(total)}." if total > shown else ""

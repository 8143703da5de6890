"""The sections about the two schedules: queues, starvation, transmission."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.blocks.tables import KIND_COLUMNS, Row, column, place_column
from pipelines.console.wording import format_number
from pipelines.questions.tables import SENT, wait_columns
from pipelines.report.cells import (
    EMPTY,
    Cell,
    HtmlTable,
    TableColumn,
    format_name,
    level_columns,
    make_table,
    opening_column,
    to_page,
)
from pipelines.report.tables import PageData, PageTable


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
        columns: its columns; the last key of each is the name of its values in the data of the page.
    """

    name: str
    source: str
    caption: str
    columns: Sequence[TableColumn]

    @property
    def keys(self) -> list[str]:
        """The columns that its rows need."""
        return [key for each in self.columns for key in each.keys]

    def rows(self, data: PageData) -> PageTable:
        """Return the rows as the script shows them: text, a number, null, or text with its small print."""
        rows = [
            [row["place"], *(_shown(each, row) for each in self.columns)] for row in data.rows(self.source)
        ]
        return PageTable(["place", *(each.keys[-1] for each in self.columns)], rows, data.total(self.source))


def _shown(column: TableColumn, row: Row) -> Any:
    cell = column.cell_of(row)
    if cell.small:
        return [cell.text, cell.small]
    if cell.text_class == "none":
        return None
    return column.value(row) if column.kind in ("count", "level") else cell.text


def make_queue_table(data: PageData) -> HtmlTable:
    """Make the table of the queues."""
    rows = data.rows("receive_places")
    waits = wait_columns(data.moment)
    return make_table(
        "queues",
        "Messages by queue and level",
        [
            opening_column(place_column("Queue")),
            waits[0],
            TableColumn("Not ready", "count", _count_held_back, cell=_held_back),
            *waits[1:],
            *level_columns(data.rows_by_place("receive_place_levels"), rows),
        ],
        rows,
        note=data.note_left_out("receive_places", "queues with the most messages"),
    )


def make_instance_table(data: PageData) -> HtmlTable:
    """Make the table of the sending instances."""
    rows = data.rows("transmission_places")
    waits = wait_columns(data.moment)
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


def _count_held_back(row: Row) -> int:
    return int(row["group_locked"] + row["queue_off"])


def _held_back(row: Row) -> Cell:
    if row["queue_off"]:
        return Cell(format_number(row["queue_off"]), small="queue off", small_class="where flag")
    if row["group_locked"]:
        return Cell(format_number(row["group_locked"]), small="group locked")
    return EMPTY


def _note_first(shown: int, total: int) -> str:
    return f"Shown are the first {format_number(shown)}, of {format_number(total)}." if total > shown else ""


FIRST_RECEIVED = [
    column("Position", "level", "position"),
    column("RECEIVE", "level", "receive_number"),
    column("Level of the group", "level", "group_priority"),
    column("Level", "level", "priority"),
    column("Arrived", "moment", "arrived_at"),
    *KIND_COLUMNS,
    column("Message type", "name", "message_type"),
    column("Group", "id", "conversation_group_id"),
    column("Conversation", "id", "conversation_id"),
    column("Message", "id", "message_id"),
]
QUEUE_TOP = ChosenTable(
    "queue-top", "receive_top", "What one reader receives first from {}", [*map(to_page, FIRST_RECEIVED)]
)
INSTANCE_TOP = ChosenTable(
    "instance-top", "transmission_top", "What {} sends first", [*map(to_page, SENT.columns)]
)
CHOSEN = (QUEUE_TOP, INSTANCE_TOP)

"""What the page begins with: servers, the age of their data, the verdict, and cards of findings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

from pipelines.blocks.tables import Kind, Row, column
from pipelines.changes.read import read_changes_before
from pipelines.changes.view import describe_changes
from pipelines.console.wording import format_code, format_count, format_database, format_duration, format_list
from pipelines.report.cells import HtmlTable, format_moments, format_name, make_table
from pipelines.report.tables import PageData, PageTable
from pipelines.settings.load import Settings
from pipelines.storage.ages import Place, read_ages
from pipelines.storage.freshness import OLD
from pipelines.storage.warehouse import Warehouse
from pipelines.why.causes.cause import BLOCKED, MISCONFIGURED, STOPPED, split_action
from pipelines.why.report import first_findings
from pipelines.why.teller import teller_of
from pipelines.why.view import format_place

CARDS_SHOWN = 12
AGES_SHOWN = 8
SECTIONS = {"receive": "queues", "transmission": "transmission", "unresolved": "input"}
"""The section of the page that shows messages, by the kind of their place."""
MEANINGS = {
    STOPPED: "these messages do not move.",
    BLOCKED: "a transaction or a reader holds these messages up.",
    MISCONFIGURED: "rules or settings give these messages another level than they could have.",
}
"""What a severity says, by its name."""
TYPES: Mapping[str, Kind] = {
    "messages": "count",
    "times": "count",
    "since": "moment",
    "seen_at": "moment",
    "last_receive": "moment",
    "text": "text",
}
"""How details are written, by column; the others are names, ids or levels."""
CARD_COLUMNS = ("code", "severity", "sentence", "messages", "conversations", "command", "details")


class Age(NamedTuple):
    """The newest data of databases: its moment, how long before as_of it is, and whether it is old."""

    databases: str
    newest: str
    before: str
    is_old: bool


@dataclass(frozen=True)
class Card:
    """A finding.

    Attributes:
        code: its name.
        place: where it holds.
        sentence: what holds.
        conversations: how many these are; empty without any.
        since: since when their oldest message waits; None if not known.
        waited: how long that is.
        words: what to do.
        statement: a statement to paste; empty if there is none.
        command: the command that shows more.
        section: the section of the page that shows its messages; empty where none waits.
        details: the kinds that it counts, if there are several.
    """

    code: str
    place: str
    sentence: str
    conversations: str
    since: str | None
    waited: str
    words: str
    statement: str
    command: str
    section: str
    details: HtmlTable | None


def read_findings(warehouse: Warehouse, settings: Settings, as_of: datetime) -> dict[str, PageTable]:
    """Read the servers, the newest data of each database, the verdict, what changed, and findings."""
    first = first_findings(warehouse, settings, as_of, most=CARDS_SHOWN)
    rows = [
        [
            format_place(row),
            *(row[name] for name in CARD_COLUMNS),
            since,
            *split_action(row["action"]),
            SECTIONS[row["kind"]] if since else "",
        ]
        for row, since in zip(first.told, first.since, strict=True)
    ]
    columns = ("place", *CARD_COLUMNS, "since", "words", "statement", "section")
    told = read_ages(warehouse, settings, as_of)
    newest, gone = told.newest, [*told.gone_lines()]
    ages = group_ages(newest)
    servers = sorted({row[0] for row in (*settings.catalog.queue_rows(), *newest)})
    changes = read_changes_before(warehouse, settings, as_of)
    changed = [] if changes is None else ["; ".join(describe_changes(changes))]
    return {
        "ages": PageTable(["databases", "newest"], ages[:AGES_SHOWN], len(ages)),
        "gone": PageTable(["sentence"], [[line] for line in gone], len(gone)),
        "changed": PageTable(["sentence"], [[sentence] for sentence in changed], len(changed)),
        "servers": PageTable(["server"], [[name] for name in servers], len(servers)),
        "verdict": PageTable(["sentence"], [[first.verdict]], 1),
        "findings": PageTable(columns, rows, len(rows)),
        "more_findings": PageTable(
            ["sentence", "command"],
            [[first.more, teller_of(settings, as_of).command("why")]] if first.more else [],
            int(bool(first.more)),
        ),
    }


def group_ages(newest: Mapping[Place, datetime]) -> list[list[Any]]:
    """The databases whose newest data is of one second, by name, and the moment; the oldest first."""
    groups: dict[datetime, list[str]] = {}
    for place, moment in sorted(newest.items()):
        groups.setdefault(moment.replace(microsecond=0), []).append(format_database(place))
    return [[format_list(names), moment] for moment, names in sorted(groups.items())]


def format_servers(data: PageData) -> str:
    """Write the names of the first servers; empty if none is known."""
    names = [format_name(row["server"]) for row in data.rows("servers")]
    return format_list(names) if names else ""


def make_ages(data: PageData) -> list[Age]:
    """Make the lines about the newest data of databases, the oldest first."""
    return [
        Age(
            row["databases"],
            row["newest"],
            format_duration(data.seconds_since(row["newest"])),
            data.seconds_since(row["newest"]) > OLD.total_seconds(),
        )
        for row in data.rows("ages")
    ]


def make_cards(data: PageData) -> list[tuple[str, str, list[Card]]]:
    """Make the cards by severity, the worst first: its name, what it means, its cards."""
    groups = groupby(data.rows("findings"), key=lambda row: row["severity"])
    return [
        (severity, MEANINGS[severity], [_make_card(data, row) for row in rows]) for severity, rows in groups
    ]


def _make_card(data: PageData, row: Row) -> Card:
    return Card(
        row["code"],
        row["place"],
        format_moments(f"{row['sentence'][:1].upper()}{row['sentence'][1:]}."),
        format_count(row["conversations"], "conversation") if row["conversations"] else "",
        row["since"],
        format_duration(data.seconds_since(row["since"])) if row["since"] else "",
        row["words"],
        row["statement"],
        row["command"],
        row["section"],
        _make_details(f"details-{row['index']}", row["details"]) if len(row["details"]) > 1 else None,
    )


def _make_details(name: str, rows: Sequence[Mapping[str, Any]]) -> HtmlTable:
    columns = [
        column(format_code(key).capitalize(), _type_of(key, rows), key)
        for key in sorted(rows[0], key=lambda key: key != "messages")
    ]
    return make_table(name, "Kinds", columns, [dict(row) for row in rows])


def _type_of(key: str, rows: Sequence[Mapping[str, Any]]) -> Kind:
    if key in TYPES:
        return TYPES[key]
    if any(isinstance(row[key], int) for row in rows):
        return "level"
    return "id" if key.endswith("_id") else "name"

"""The sections about one as_of beside the schedules: rules, activation, leaks, input, nights."""

from dataclasses import replace

from pipelines.console.wording import format_code, format_number
from pipelines.expectations.view import format_limit, format_value
from pipelines.report.cells import EMPTY, Cell, HtmlTable, TableColumn, column, make_table, placed_column
from pipelines.report.formats import format_change, format_moment, format_name, format_night
from pipelines.report.tables import PageData, Row

GOOD_ADVICE = ("keeps_up", "not_known")


def make_first_tables(data: PageData) -> list[HtmlTable]:
    """Make the tables that the page begins with; those without rows are left out."""
    tables = [
        make_table(
            "notes",
            "Beside these",
            [column("In words", "text", "sentence")],
            data.rows("notes"),
        ),
        make_table(
            "expectations",
            "What the settings expect",
            [
                column("Expectation", "name", "name"),
                TableColumn("Met", "word", lambda row: "yes" if row["met"] else "no", _met),
                TableColumn("Value", "text", lambda row: format_value(row["value"], row["measure"])),
                TableColumn("Limit", "text", format_limit),
                column("Messages", "count", "messages"),
            ],
            data.rows("expectations"),
            note=data.note_left_out("expectations", "of the settings"),
        ),
    ]
    return [table for table in tables if table.rows]


def _met(row: Row) -> Cell:
    return Cell("yes") if row["met"] else Cell("no", text_class="flag")


def make_rule_table(data: PageData) -> HtmlTable:
    """Make the table of rules."""
    endpoints, rules = column("Endpoints", "count", "endpoints"), data.rows("rules")

    def name(row: Row) -> Cell:
        by_server = row["rule_name"] is None and row["level"] is None
        no_rule = "the server's level, no rule" if by_server else "default, no rule matched"
        place = f"{format_name(row['instance'])} · {format_name(row['database'])}"
        return Cell(no_rule if row["rule_name"] is None else format_name(row["rule_name"]), small=place)

    def begin(head: str, is_seen: bool) -> TableColumn:
        def moment(row: Row) -> str | None:
            return row["valid_from"] if row["first_seen"] == is_seen else None

        dated = TableColumn(head, "moment", moment)

        def cell(row: Row) -> Cell:
            if row["valid_from"] or row["rule_name"] is None or is_seen:
                return dated.cell_of(row)
            return Cell("not in the history")

        return replace(dated, cell=cell)

    has_seen = any(row["first_seen"] for row in rules)
    is_all_seen = has_seen and all(row["first_seen"] or row["rule_name"] is None for row in rules)
    dates = [] if is_all_seen else [begin("Valid from", False)]
    # Only a snapshot shows these rules; they may be older.
    dates += [begin("First seen at", True)] if has_seen else []

    def uses(row: Row) -> Cell:
        if row["endpoints"] or row["rule_name"] is None:
            return endpoints.cell_of(row)
        return Cell("unused", text_class="flag")

    return make_table(
        "rules",
        "Rules and what they decide",
        [
            TableColumn("Rule", "name", lambda row: row["rule_name"], name),
            column("Level", "level", "level"),
            *dates,
            replace(endpoints, cell=uses),
            column("Messages of the night", "count", "messages"),
            column("Open messages", "count", "open_messages"),
            column("Last used", "moment", "last_use"),
        ],
        rules,
        note=data.note_left_out("rules", "first rule versions by database and name"),
    )


def make_activation_table(data: PageData) -> HtmlTable:
    """Make the table of queues with a monitor."""

    def advice(row: Row) -> Cell:
        return Cell(format_code(row["advice"]), text_class="" if row["advice"] in GOOD_ADVICE else "flag")

    return make_table(
        "activation",
        "Queues with a monitor, those that need attention first",
        [
            placed_column("Queue", "queue"),
            replace(column("Advice", "word", "advice"), cell=advice),
            column("In words", "text", "sentence"),
            column("In need of a reader", "duration", "need_seconds"),
            column("Kept away by the limit", "duration", "short_seconds"),
            column("Limit", "level", "max_queue_readers"),
            column("Readers to start", "count", "activations"),
            column("Most ready", "count", "most_ready"),
            column("Ready at the end", "count", "ready_at_end"),
        ],
        data.rows("activation"),
        note=data.note_left_out("activation", "queues that were longest in need of a reader"),
    )


def make_leak_table(data: PageData) -> HtmlTable:
    """Make the table of leaks."""
    return make_table(
        "leaks",
        "Conversations that are never ended",
        [
            placed_column("Service", "local_service"),
            column("Contract", "name", "contract"),
            column("Far service", "name", "remote_service"),
            column("Why", "word", "reason"),
            column("Endpoints", "count", "endpoints"),
            column("A day", "count", "a_day"),
            TableColumn("Age of the oldest", "duration", lambda row: data.seconds_since(row["oldest"])),
        ],
        data.rows("leaks"),
        note=data.note_left_out("leaks", "oldest kinds"),
    )


def make_input_tables(data: PageData) -> list[HtmlTable]:
    """Make the tables of inputs, rejected rows and messages that are not matched to a queue."""
    sums = ("events", "accepted", "duplicates", "rejected")
    return [
        make_table(
            "inputs",
            "Events so far",
            [
                column("Input", "word", "source"),
                *[column(name.capitalize(), "count", name) for name in sums],
            ],
            data.rows("inputs"),
        ),
        make_table(
            "rejected",
            "Why rows were rejected, so far",
            [
                column("Reason", "name", "reason"),
                column("Input", "word", "source"),
                column("Rows", "count", "rows"),
                column("Last met by a run of", "moment", "last_seen"),
            ],
            data.rows("rejected"),
            note=data.note_left_out("rejected", "most frequent reasons")
            or "A row with several reasons counts at each.",
        ),
        make_table(
            "unresolved",
            "Messages that are not matched to a queue",
            [
                column("Reason", "word", "reason"),
                column("Missing from", "word", "kind"),
                column("Messages", "count", "messages"),
            ],
            data.rows("unresolved"),
        ),
    ]


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

        return TableColumn(head, "count", lambda row: row[key], cell)

    def name(row: Row) -> Cell:
        return Cell(format_night(row["as_of"]), instant=row["as_of"])

    columns = [
        replace(column("Night", "moment", "as_of"), cell=name),
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

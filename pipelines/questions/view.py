"""Print the answers of the questions on a terminal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from pipelines.activation.queues_off import off_sentence
from pipelines.blocks.tables import Id
from pipelines.config.catalog import Catalog
from pipelines.config.instants import format_instant
from pipelines.console.tables import print_answer, print_cut
from pipelines.console.terminal import Terminal, escape_line, open_console
from pipelines.console.wording import format_count, format_database, format_queue
from pipelines.questions.leaks import SINCE_NOT_KNOWN, leak_sentences
from pipelines.questions.open_messages import NAMES, SCHEDULES
from pipelines.questions.tables import (
    DIFFERENCES,
    RECEIVED,
    REJECTED,
    SAMPLES,
    SENT,
    make_leak_table,
    make_leaking_table,
    make_overtaken_table,
    make_wait_table,
)
from pipelines.questions.unresolved import describe_unresolved
from pipelines.server.snapshots import views

Row = dict[str, Any]
NO_STATUS = "(no transmission_status: not tried yet, or no snapshot shows the message)"
"""What stands for the text of messages without one."""


def print_next(found: Row, *, wide: bool = False) -> None:
    """Print what comes next to standard output: of a queue RECEIVE by RECEIVE."""
    console = open_console(wide=wide)
    at = format_instant(found["as_of"])
    if "queue" not in found:
        empty = _describe_nothing(found, "sent")
        print_sent(console, f"{SENT.title} at {at}: {found['instance']}", found["next"], empty)
        for row in found.get("queues_off", ()):
            console.write_line(f"{format_queue(row)}: {off_sentence(row)}")
        return
    empty = _describe_nothing(found, "received")
    print_received(console, f"{RECEIVED.title} at {at}: {format_queue(found)}", found["next"], empty)
    for state, messages in found["held_back"].items():
        console.print(f"{messages:,} more held back: {state}")
    if statuses := {row["status"]: row["rows"] for row in found.get("statuses", ())}:
        console.write_line(f"The newest snapshot shows {describe_statuses(statuses)}")
    if found.get("queue_off"):
        console.write_line(f"{format_queue(found)}: {off_sentence(found['queue_off'])}")


def _describe_nothing(found: Row, done: str) -> str:
    """Say that nothing waits, or that all that waits is held back."""
    is_held = found["held_back"] or found.get("queue_off")
    return f"nothing can be {done}" if is_held else "nothing waits there"


def print_received(console: Terminal, title: str, rows: Iterable[Row], empty: str = "none.") -> None:
    """Print what `next_received` found: of each RECEIVE the group, its conversations and their messages."""
    lines: list[Row] = []
    for number, of_receive in groupby(rows, itemgetter("receive_number")):
        lines += _receive_rows(number, list(of_receive))
        lines[-1]["is_last"] = True
    print_answer(console, replace(RECEIVED, title=title, empty=empty), lines)


def print_sent(console: Terminal, title: str, rows: Iterable[Row], empty: str = "none.") -> None:
    """Print what `next_transmitted` found, and below it what the server says of these messages."""
    shown = list(rows)
    print_answer(console, replace(SENT, title=title, empty=empty), shown)
    for row in shown:
        if row.get("why_still_here"):
            text = f"position {row['position']}, the server says: {row['why_still_here']}"
            console.write_line(text)


def _receive_rows(number: int, rows: Sequence[Row]) -> Iterator[Row]:
    """The rows of RECEIVED about one RECEIVE."""
    nothing = {**dict.fromkeys(RECEIVED.keys), "is_last": False}
    first = rows[0]
    yield {
        **nothing,
        "position": f"RECEIVE {number}",
        "what": "group",
        "level": first["group_priority"],
        "id": Id("group", first["conversation_group_id"]),
    }
    for conversation, messages in groupby(rows, itemgetter("conversation_id")):
        of_conversation = list(messages)
        shown = of_conversation[0]
        decides = ", decides" if conversation == first["deciding_conversation_id"] else ""
        yield {
            **nothing,
            "what": f"conversation{decides}",
            "level": shown["priority"],
            **{name: "not known" if shown[name] == "" else shown[name] for name in NAMES},
            "id": Id("conversation", conversation),
        }
        for row in of_conversation:
            yield {
                **nothing,
                "position": str(row["position"]),
                "what": _describe_message(row),
                "arrived_at": row["arrived_at"],
                "id": Id("message", row["message_id"]),
            }


def _describe_message(row: Row) -> str:
    number = row["message_sequence_number"]
    return f"{row['message_type']}, " + ("unsequenced" if number is None else f"number {number}")


def print_leaks(report: Mapping[str, Any], *, wide: bool = False) -> None:
    """Print the report to standard output."""
    console, at = open_console(wide=wide), format_instant(report["as_of"])
    for row in report["full_captures"]:
        databases = format_count(row["databases"], "database")
        line = f"{row['instance']}, {databases}: the endpoints of the full capture of "
        console.write_line(escape_line(f"{line}{format_instant(row['taken_at'])}."))
    states = [*report["states"], *({**row, "reason": SINCE_NOT_KNOWN} for row in report["not_known"])]
    lines = leak_sentences(states)
    if idle := report["traffic_not_known"]:
        lines.append(
            f"{format_count(idle, 'endpoint')} had no known traffic for {report['days']} days, but no input "
            "has a log of messages of these days: whether they leak is not known (traffic_not_known)"
        )
    lines += [
        f"{format_count(row['conversations'], 'conversation')} wait"
        f"{'s' if row['conversations'] == 1 else ''} for their EndDialog or Error to be read in "
        f"{format_queue(row)}"
        for row in report["unread"]
    ]
    if not lines:
        console.write_line(f"No endpoint leaks at {at}.")
        return
    if not report["endpoints"]:
        lines.insert(0, f"No endpoint is known to leak at {at}")
    for line in lines:
        console.write_line(f"{line}.")
    print_cut(console, report["unread"], report["unread_in_all"], "queue")
    if not report["groups"]:
        # Nothing is listed of endpoints that are in a state since an unknown moment.
        return
    title = f"Endpoints that {'leak' if report['endpoints'] else 'may leak'} at {at}"
    print_answer(console, make_leak_table(report["as_of"]).with_title(title), report["groups"])
    print_cut(console, report["groups"], {"rows": report["groups_in_all"]}, "group")
    print_answer(console, make_leaking_table(report["as_of"]), report["oldest"])
    print_cut(console, report["oldest"], report["oldest_in_all"], "endpoint")


def print_waiting(
    report: Mapping[str, Any],
    catalog: Catalog | None = None,
    catalog_path: str | None = None,
    *,
    wide: bool = False,
) -> None:
    """Print the report to standard output."""
    console = open_console(wide=wide)
    print_statuses(console, report["transmission_status"])
    print_cut(console, report["transmission_status"], report["transmission_status_in_all"], "kind")
    print_unresolved(console, report["unplaced"], catalog or Catalog(), catalog_path)
    for row in report["queues_off"]:
        console.write_line(f"{format_queue(row)}: {off_sentence(row)}")
    for kind in SCHEDULES:
        found = report[kind.name]
        table = make_wait_table(kind, report.get("by", ()), report["as_of"])
        print_answer(console, table, found["waiting"])
        print_cut(console, found["waiting"], found["waiting_in_all"], "row")
        print_answer(console, make_overtaken_table(kind), found["overtaken"])


def print_differences(found: Row) -> None:
    """Print the differences to standard output."""
    console = open_console()
    for part, table in DIFFERENCES.items():
        print_answer(console, table, found[part])
        if in_all := found.get(f"{part}_in_all"):
            print_cut(console, found[part], in_all, "row")
    for row in found["rules_not_known"]:
        console.write_line(
            f"{format_database((row['instance'], row['database']))}: not all its rules are known, so its "
            "levels are not compared"
        )
    if found["handles_unknown"]:
        unknown = format_count(found["handles_unknown"], "message")
        console.write_line(
            f"{unknown} under a handle that no endpoint has: views are not read at one instant, or "
            "conversation_endpoints lacks rows"
        )
    for view in found["maybe_cut"]:
        console.write_line(
            f"{format_database((view['instance'], view['database']))}: conversation_endpoints has "
            f"{view['rows']:,} endpoints exactly: was it exported with TOP? Export it without"
        )


def print_rejected(found: Sequence[Mapping[str, Any]], *, wide: bool = False) -> None:
    """Print what was rejected to standard output."""
    console = open_console(wide=wide)
    if not found:
        console.write_line("No row was rejected.")
        return
    print_answer(console, REJECTED, found)
    for row in found:
        title = f"{row['source']}: {row['reason']}, for example"
        print_answer(console, SAMPLES.with_title(title), row["samples"])


def print_statuses(console: Terminal, rows: Sequence[dict[str, Any]]) -> None:
    """Print what the server says, grouped; nothing if it says nothing. Texts are whole, each in one line."""
    if rows:
        console.print("Why messages still wait to be sent, as the server says", style="bold")
    for row in rows:
        console.write_line(
            f"  {format_count(row['messages'], 'message')}: {row['why_still_here'] or NO_STATUS} (oldest "
            f"{format_instant(row['oldest'])}, such as {row['example_message_id']})"
        )


def print_unresolved(
    console: Terminal, rows: Sequence[Row], catalog: Catalog, catalog_path: str | None
) -> None:
    """Print the lines of `describe_unresolved`, the first in bold."""
    for number, line in enumerate(describe_unresolved(rows, catalog, catalog_path)):
        console.write_line(line, style=None if number else "bold")


def describe_statuses(rows: Mapping[int, int]) -> str:
    """Say how many rows of a queue have which status."""
    retained = {status: rows[status] for status in views.RETAINED if status in rows}
    words = [f"{rows.get(views.READY, 0):,} ready"]
    if retained:
        each = ", ".join(f"{count:,} of status {status}" for status, count in retained.items())
        words.append(f"{sum(retained.values()):,} retained (RETENTION: {each})")
    if waiting := rows.get(views.NOT_IN_ORDER):
        verb = "waits" if waiting == 1 else "wait"
        words.append(f"{waiting:,} {verb} for an earlier number (status {views.NOT_IN_ORDER}, not complete)")
    others = [
        status
        for status in sorted(rows)
        if status not in (views.READY, views.RECEIVED, views.NOT_IN_ORDER, views.SENT)
    ]
    words += [f"{rows[status]:,} of status {status}" for status in others]
    return f"{sum(rows.values()):,} rows: {', '.join(words)}"

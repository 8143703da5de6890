"""Which rows close: those that no later as_of needs, case by case, after one night that ends on day 6."""

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from pipelines.ingest.retention import CloseAt
from pipelines.ingest.write_ledger import _Keys, _with_closed_on
from schemas.events import CREATIONS
from tests.field.running import run
from tests.support.drawn import Draw
from tests.support.factories import Row, at, by_source, catalog, endpoint_event, message_event, queue_event
from tests.support.harness import Project, marked
from tests.support.small_project import a_bit_of_everything, night_after, project_in

NEWEST = at(60, day=6)
SAMPLE = Path(__file__).parents[2] / "pipelines" / "capture" / "sample"


def of_message(event_type: str, **changes: Any) -> Callable[..., Row]:
    """An event of a conversation's first message, the one of each position a day later."""
    return lambda name, day, **more: message_event(
        event_type, f"{name}/0", **{"event_time": at(day=day), **changes, **more}
    )


def of_endpoint(event_type: str, *, day: int = 3, **changes: Any) -> Callable[..., Row]:
    moment = {} if event_type in CREATIONS else {"event_time": at(day=day)}
    return lambda name, _: endpoint_event(event_type, name, **moment, **changes)


ROWS: dict[str, Callable[..., Row]] = {
    # RECEIVED:x is received in a transaction.
    **{word: of_message(word) for word in ("SENT", "DELIVERED", "RECEIVED")},
    **{word: of_message(word, instance="SQL2", database="C") for word in ("FORWARD_ACCEPTED", "FORWARDED")},
    # For good, a minute after the first one and before the ROLLBACK of QUEUE_EVENTS.
    "again": lambda name, _: message_event(
        "RECEIVED", f"{name}/0", event_id=f"again {name}", event_time=at(1)
    ),
    "lately": of_message("RECEIVED", event_time=at(50, day=6)),
    "ahead": of_message("RECEIVED", event_time=at(day=2000)),
    "begin": of_endpoint("BEGIN_DIALOG"),
    "create": of_endpoint("DIALOG_CREATED"),
    # Of the initiator (+) or the target (-), three days later or by a clock ahead.
    "end+": of_endpoint("END_CONVERSATION"),
    "end-": of_endpoint("END_CONVERSATION", is_initiator=False),
    "end- ahead": of_endpoint("END_CONVERSATION", is_initiator=False, day=2000),
    "cleanup+": of_endpoint("END_CONVERSATION_WITH_CLEANUP"),
}
MESSAGES = """
    delivered                               | SENT, DELIVERED                       | open
    received at once                        | SENT, RECEIVED                        | closed
    in flight                               | RECEIVED:open                         | open
    committed                               | DELIVERED, RECEIVED:commits           | closed
    rolled back                             | DELIVERED, RECEIVED:back              | open
    received again                          | RECEIVED:back, RECEIVED:commits       | closed
    twice, first rolled back then           | RECEIVED:back, again                  | open
    twice, rolled back then, receiver ended | RECEIVED:back, again, end-            | closed
    twice, rolled back then, sender ended   | RECEIVED:back, again, end+            | open
    twice, in flight and for good           | RECEIVED:open, RECEIVED               | open
    receiver ended                          | DELIVERED, end-                       | closed
    receiver ended, in flight               | RECEIVED:open, end-                   | open
    dropped                                 | SENT, cleanup+                        | closed
    dropped after it arrived                | SENT, DELIVERED, cleanup+             | open
    received, being forwarded               | FORWARD_ACCEPTED, RECEIVED            | open
    received and forwarded                  | FORWARD_ACCEPTED, RECEIVED, FORWARDED | closed
    received in the last minutes            | lately                                | open
    received by a clock ahead               | ahead                                 | open
"""
"""Whether the events of messages stay open."""
CONVERSATIONS = """
    begun                           | begin                                    | open
    initiator ended, no target      | begin, end+                              | closed
    initiator ended, inferred       | begin, end+, SENT, RECEIVED              | open
    both ended                      | begin, create, end+, end-                | closed
    both ended, inferred            | begin, SENT, RECEIVED, end+, end-        | closed
    both ended, a message in flight | begin, create, end+, end-, RECEIVED:open | open
    an end alone                    | end+                                     | closed
    both ended, one by clocks ahead | begin, create, end+, end- ahead          | open
"""
"""Whether the endpoints and their events stay open."""
QUEUE_EVENTS: dict[str, tuple[Row, bool]] = {
    "commit": (queue_event("COMMIT", transaction_id="commits"), True),
    "rollback": (queue_event("ROLLBACK", transaction_id="back"), True),
    "commit of what is over": (queue_event("COMMIT", transaction_id="over"), False),
    "lock": (queue_event("RECEIVE", transaction_id="locks", conversation_group_id="g"), True),
    "off": (queue_event("QUEUE_ALTERED", queue_status="OFF"), True),
    "off again": (queue_event("QUEUE_ALTERED", event_time=at(3), queue_status="OFF"), True),
}
"""Whether queue events stay open: the transactions received messages that do; since when the queue is off."""


def cases(drawing: str) -> dict[str, tuple[list[Row], bool]]:
    """The events of each case, and whether they stay open."""
    found = {}
    for line in drawing.strip().splitlines():
        name, words, stays = (cell.strip() for cell in line.split("|"))
        rows = []
        for day, word in enumerate(words.split(", ")):
            kind, _, transaction = word.partition(":")
            more = {"transaction_id": transaction} if transaction else {}
            rows.append(ROWS[kind](name, day, **more))
        found[name] = (rows, stays == "open")
    return found


@pytest.mark.slow
def test_what_a_night_closes(session: SparkSession, tmp_path: Path) -> None:
    messages, conversations = cases(MESSAGES), cases(CONVERSATIONS)
    rows = [row for own, _ in (*messages.values(), *conversations.values()) for row in own]
    rows += [row | {"event_id": name} for name, (row, _) in QUEUE_EVENTS.items()]
    rows.append(message_event("SENT", "the last/0", event_time=NEWEST))
    # A message that stays open needs to know what became of all transactions that had received it.
    rows += [ROWS["RECEIVED"]("needed", 0, transaction_id="commits"), ROWS["FORWARD_ACCEPTED"]("needed", 1)]
    project = Project(tmp_path, catalog=catalog())
    project.add(by_source(*rows))
    project.take_in(session)

    def stays(table: str, column: str, names: dict[str, tuple[object, bool]]) -> dict[str, bool]:
        """What is closed is closed on the log's newest day."""
        days = {row[column]: row["closed_on"] for row in project.table(table) if row[column] in names}
        assert {*days.values()} == {None, NEWEST.date()}
        return {name: day is None for name, day in days.items()}

    def expected(names: dict[str, tuple[object, bool]]) -> dict[str, bool]:
        return {name: is_open for name, (_, is_open) in names.items()}

    assert stays("message_events", "conversation_id", messages) == expected(messages)
    assert stays("endpoint_events", "conversation_id", conversations) == expected(conversations)
    known = {name: case for name, case in conversations.items() if name != "an end alone"}
    assert stays("endpoints", "conversation_id", known) == expected(known)
    assert stays("queue_events", "event_id", QUEUE_EVENTS) == expected(QUEUE_EVENTS)


def test_named_rows_stay_or_close(draw: Draw) -> None:
    """Of a log the few conversations that stay are named, of snapshots the few that close."""
    rows, named = draw("conversation_id\n named\n other"), draw("conversation_id\n named")
    for stay, closes in ((True, "other"), (False, "named")):
        found = _with_closed_on(rows, _Keys(named, stay), CloseAt(NEWEST.date(), NEWEST, NEWEST))
        draw.require(found.where("closed_on = '2026-11-26'"))(f"conversation_id\n {closes}")


@pytest.mark.slow
def test_late_rows_leave_closed_rows_of_databases_that_are_left_out(
    session: SparkSession, tmp_path: Path
) -> None:
    """The second night writes a partition again in which both servers have closed rows."""
    project = project_in(tmp_path, marks=("", "x"))
    everything = a_bit_of_everything()
    both = {
        table: [marked(row, mark) for mark in ("", "x") for row in rows] for table, rows in everything.items()
    }
    project.add(both)
    project.take_in(session)
    before = ids_of(closed_of(project, "xSQL1"))
    assert {table for table, _ in before} == {"message_events", "endpoint_events", "queue_events"}
    (tmp_path / "captures").mkdir()
    shutil.copy(next(SAMPLE.glob("DOC1-*")), tmp_path / "captures")
    left_out = [f"xSQL1.{database['name']}" for database in catalog()["instances"][0]["databases"]]
    settings = yaml.safe_load(Path(project.config).read_text())
    settings["snapshots"] = [{"path": "captures", "leave_out": left_out}]
    Path(project.config).write_text(yaml.safe_dump(settings))
    project.add(night_after())
    night = run("fold", "--config", project.config, "--as-of", at(90, day=1).isoformat())
    assert night.code == 0, night.err
    moved = [row for row in closed_of(project, "SQL1") if row["fold"] == 2 and row["batch"] == 1]
    assert moved != []
    assert ids_of(closed_of(project, "xSQL1")) == before


def closed_of(project: Project, instance: str) -> list[Row]:
    """The closed rows of the events of a server, each with its `table`."""
    return [
        {**row, "table": table}
        for table in ("message_events", "endpoint_events", "queue_events")
        for row in project.table(table)
        if row["instance"] == instance and row["closed_on"] is not None
    ]


def ids_of(rows: list[Row]) -> Counter[tuple[str, str]]:
    return Counter((row["table"], row["event_id"]) for row in rows)

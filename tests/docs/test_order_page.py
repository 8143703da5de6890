"""The numbers of docs/order.md, derived again by the naive model from the rules and events of the page."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.factories import Row, by_source, create_rule, database, endpoint_event, message_event
from tests.support.model import simulate

PAGE = (Path(__file__).parents[2] / "docs" / "order.md").read_text(encoding="utf-8")
CATALOG: Row = {
    "instances": [
        {
            "name": "WEB",
            "databases": [
                database("ShopDB", "ShopService", "ShopQueue"),
                database("BatchDB", "BatchService", "BatchQueue", honor=False),
            ],
        },
        {"name": "ERP", "databases": [database("OrderDB", "OrderService", "OrderQueue", honor=False)]},
    ]
}
INSTANCES = {"ShopDB": "WEB", "BatchDB": "WEB", "OrderDB": "ERP"}
CONVERSATIONS = {
    "gold": ("GoldOrder", "ShopDB", "basket 7"),
    "chat": ("Chat", "ShopDB", "basket 7"),
    "plain": ("PlainOrder", "ShopDB", "basket 8"),
    "batch": ("PlainOrder", "BatchDB", "night"),
}


def at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2026-11-20T{clock}:00").replace(tzinfo=UTC)


def rules() -> list[Row]:
    """The rules in the table of the page."""
    found = re.findall(r"^\| (\w+DB) \| (\w+) \| (\w+) \| ANY \| (\d+) \|$", PAGE, re.MULTILINE)
    assert len(found) == 4
    return [
        create_rule(name, int(level), instance=INSTANCES[where], database=where, contract=contract)
        for where, name, contract, level in found
    ]


def messages() -> list[Row]:
    """The events in the table of the page."""
    found = re.findall(r"^\| (\S+) \| (\w+/\d) (?:arrives|is sent in (\w+DB))", PAGE, re.MULTILINE)
    assert len(found) == 9
    return [
        message_event(
            "SENT" if sender else "DELIVERED",
            name,
            event_time=at(clock),
            database=sender or "OrderDB",
            instance=INSTANCES[sender or "OrderDB"],
        )
        for clock, name, sender in found
    ]


def endpoints() -> list[Row]:
    """Of each conversation the initiator, and the target an hour later."""
    found = []
    for name, (contract, where, group) in CONVERSATIONS.items():
        of = {"conversation": name, "contract": contract, "conversation_group_id": group}
        ours, theirs = {"ShopDB": "ShopService", "BatchDB": "BatchService"}[where], "OrderService"
        begins = {"instance": "WEB", "database": where, "event_time": at("09:00")}
        created = {"instance": "ERP", "database": "OrderDB", "event_time": at("09:59")}
        found += [
            endpoint_event(**of, **begins, local_service=ours, remote_service=theirs),
            endpoint_event("DIALOG_CREATED", **of, **created, local_service=theirs, remote_service=ours),
        ]
    return found


def run(**settings: Any) -> dict[str, list[Row]]:
    events = by_source(*endpoints(), *messages())
    return simulate(events, catalog=CATALOG, rules=rules(), as_of=at("12:00"), **settings)


def table(tables: dict[str, list[Row]], name: str, *columns: str) -> str:
    """The rows of a schedule by position, as the lines of a Markdown table."""
    rows = sorted(tables[name], key=lambda row: row["position"])
    return "".join("| " + " | ".join(str(row[column]) for column in columns) + " |\n" for row in rows)


def test_priorities_of_the_endpoints() -> None:
    found = {(row["conversation_id"], row["is_initiator"]): row["priority"] for row in run()["endpoints"]}
    expected = {"gold": (8, 9), "chat": (5, 2), "plain": (5, 5), "batch": (10, 5)}
    assert {name: (found[name, True], found[name, False]) for name in CONVERSATIONS} == expected
    for name, (initiator, target) in expected.items():
        assert f"| {name} | {initiator} | {target} |\n" in PAGE


def test_groups() -> None:
    columns = ("position", "conversation_group_id", "priority", "deciding_conversation_id", "messages")
    lines = table(run(), "group_priorities", *columns)
    assert lines == "| 1 | basket 7 | 9 | gold | 3 |\n| 2 | basket 8 | 5 | plain | 2 |\n"
    assert lines in PAGE


@pytest.mark.parametrize(
    ("top", "expected"),
    [
        (None, "1 9 gold/0, 1 9 chat/0, 1 9 chat/1, 2 5 plain/0, 2 5 plain/1"),
        (1, "1 9 gold/0, 2 5 plain/0, 3 5 plain/1, 4 2 chat/0, 5 2 chat/1"),
    ],
)
def test_receive_schedule(top: int | None, expected: str) -> None:
    tables = run(top=top)
    rows = sorted(tables["receive_schedule"], key=lambda row: row["position"])
    columns = ("receive_number", "group_priority", "message_id")
    assert ", ".join(" ".join(str(row[column]) for column in columns) for row in rows) == expected
    if top is not None:
        assert table(tables, "receive_schedule", "position", *columns) in PAGE


@pytest.mark.parametrize(
    ("starvation", "expected"),
    [
        (None, "gold/1 8 8, gold/2 8 8, plain/2 5 5, batch/0 10 5"),
        ({"after_seconds": 3500, "raise_by": 4}, "plain/2 5 9, gold/1 8 8, gold/2 8 8, batch/0 10 5"),
    ],
)
def test_transmission_schedule(starvation: Row | None, expected: str) -> None:
    tables = run(starvation=starvation)
    rows = sorted(tables["transmission_schedule"], key=lambda row: row["position"])
    columns = ("message_id", "priority", "transmit_priority")
    assert ", ".join(" ".join(str(row[column]) for column in columns) for row in rows) == expected
    sendable = {row["message_id"]: f"{row['sendable_at']:%H:%M}" for row in rows}
    assert sendable == {"gold/1": "11:04", "gold/2": "11:04", "plain/2": "11:01", "batch/0": "11:02"}
    if starvation is None:
        assert table(tables, "transmission_schedule", "position", *columns) in PAGE

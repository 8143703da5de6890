"""The numbers of docs/order.md, derived anew by the naive model."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.model import simulate

Row = dict[str, Any]

PAGE = (Path(__file__).parents[2] / "docs" / "order.md").read_text(encoding="utf-8")
CATALOG: Row = {
    "instances": [
        {
            "name": "WEB",
            "databases": [
                {
                    "name": "ShopDB",
                    "honor_broker_priority": True,
                    "queues": [{"name": "ShopQueue"}],
                    "services": [{"name": "ShopService", "queue": "ShopQueue"}],
                },
                {
                    "name": "BatchDB",
                    "queues": [{"name": "BatchQueue"}],
                    "services": [{"name": "BatchService", "queue": "BatchQueue"}],
                },
            ],
        },
        {
            "name": "ERP",
            "databases": [
                {
                    "name": "OrderDB",
                    "queues": [{"name": "OrderQueue"}],
                    "services": [{"name": "OrderService", "queue": "OrderQueue"}],
                },
            ],
        },
    ]
}


def at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2026-11-20T{clock}:00").replace(tzinfo=UTC)


def rule(instance: str, database: str, name: str, level: int, **criteria: str) -> Row:
    return {
        "effective_from": at("00:00"),
        "instance": instance,
        "database": database,
        "create": {"name": name, "level": level, **criteria},
    }


RULES = [
    rule("ERP", "OrderDB", "Gold", 9, contract="GoldOrder"),
    rule("ERP", "OrderDB", "Chat", 2, contract="Chat"),
    rule("WEB", "ShopDB", "Gold", 8, contract="GoldOrder"),
    rule("WEB", "BatchDB", "Everything", 10),
]


def endpoint(conversation: str, contract: str, *, initiator: bool, database: str, group: str) -> Row:
    own, other = ("ShopService" if database == "ShopDB" else "BatchService"), "OrderService"
    return {
        "event_id": f"{conversation} {'begins' if initiator else 'is created'}",
        "event_time": at("09:00") if initiator else at("09:59"),
        "instance": "WEB" if initiator else "ERP",
        "database": database if initiator else "OrderDB",
        "event_type": "BEGIN_DIALOG" if initiator else "DIALOG_CREATED",
        "conversation_id": conversation,
        "is_initiator": initiator,
        "conversation_group_id": group,
        "contract": contract,
        "local_service": own if initiator else other,
        "remote_service": other if initiator else own,
    }


def message(event_type: str, name: str, clock: str) -> Row:
    conversation, number = name.split("/")
    return {
        "event_id": f"{event_type} {name}",
        "event_time": at(clock),
        "instance": "WEB" if event_type == "SENT" else "ERP",
        "database": "OrderDB" if event_type != "SENT" else "BatchDB" if conversation == "batch" else "ShopDB",
        "event_type": event_type,
        "message_id": name,
        "conversation_id": conversation,
        "sent_by_initiator": True,
        "message_sequence_number": int(number),
        "message_type": "Order",
    }


CONVERSATIONS = [
    ("gold", "GoldOrder", "ShopDB", "basket 7"),
    ("chat", "Chat", "ShopDB", "basket 7"),
    ("plain", "PlainOrder", "ShopDB", "basket 8"),
    ("batch", "PlainOrder", "BatchDB", "night"),
]
EVENTS = {
    "endpoint_events": [
        endpoint(name, contract, initiator=side, database=database, group=group)
        for name, contract, database, group in CONVERSATIONS
        for side in (True, False)
    ],
    "message_events": [
        message("DELIVERED", "chat/0", "10:01"),
        message("DELIVERED", "plain/0", "10:02"),
        message("DELIVERED", "gold/0", "10:03"),
        message("DELIVERED", "plain/1", "10:04"),
        message("DELIVERED", "chat/1", "10:05"),
        message("SENT", "plain/2", "11:01"),
        message("SENT", "batch/0", "11:02"),
        message("SENT", "gold/2", "11:03"),
        message("SENT", "gold/1", "11:04"),
    ],
}


def run(**settings: Any) -> dict[str, list[Row]]:
    return simulate(EVENTS, catalog=CATALOG, rules=RULES, as_of=at("12:00"), **settings)


def table(tables: dict[str, list[Row]], name: str, *columns: str) -> str:
    """The rows of a schedule by position, as the lines of a Markdown table."""
    rows = sorted(tables[name], key=lambda row: row["position"])
    return "".join("| " + " | ".join(str(row[column]) for column in columns) + " |\n" for row in rows)


def test_priorities_of_the_endpoints() -> None:
    found = {(row["conversation_id"], row["is_initiator"]): row["priority"] for row in run()["endpoints"]}
    assert {name: found[name, False] for name, *_ in CONVERSATIONS} == {
        "gold": 9,
        "chat": 2,
        "plain": 5,
        "batch": 5,
    }
    assert {name: found[name, True] for name, *_ in CONVERSATIONS} == {
        "gold": 8,
        "chat": 5,
        "plain": 5,
        "batch": 10,
    }
    for name, *_ in CONVERSATIONS:
        assert f"| {name} | {found[name, True]} | {found[name, False]} |\n" in PAGE


def test_groups() -> None:
    columns = ("position", "conversation_group_id", "priority", "deciding_conversation_id", "messages")
    lines = table(run(), "group_priorities", *columns)
    assert lines == "| 1 | basket 7 | 9 | gold | 3 |\n| 2 | basket 8 | 5 | plain | 2 |\n"
    assert lines in PAGE


@pytest.mark.parametrize(
    ("top", "expected"),
    [
        pytest.param(None, "1 9 gold/0, 1 9 chat/0, 1 9 chat/1, 2 5 plain/0, 2 5 plain/1", id="whole groups"),
        pytest.param(1, "1 9 gold/0, 2 5 plain/0, 3 5 plain/1, 4 2 chat/0, 5 2 chat/1", id="TOP(1)"),
        pytest.param(2, "1 9 gold/0, 1 9 chat/0, 2 5 plain/0, 2 5 plain/1, 3 2 chat/1", id="TOP(2)"),
    ],
)
def test_receive_schedule(top: int | None, expected: str) -> None:
    tables = run(top=top)
    rows = sorted(tables["receive_schedule"], key=lambda row: row["position"])
    columns = ("receive_number", "group_priority", "message_id")
    assert ", ".join(" ".join(str(row[column]) for column in columns) for row in rows) == expected
    assert table(tables, "receive_schedule", "position", *columns) in PAGE


@pytest.mark.parametrize(
    ("starvation", "expected"),
    [
        pytest.param(None, "gold/1 8 8, gold/2 8 8, plain/2 5 5, batch/0 10 5", id="documented order"),
        pytest.param(
            {"after_seconds": 3500, "raise_by": 4},
            "plain/2 5 9, gold/1 8 8, gold/2 8 8, batch/0 10 5",
            id="starvation prevention",
        ),
    ],
)
def test_transmission_schedule(starvation: Row | None, expected: str) -> None:
    tables = run(starvation=starvation)
    rows = sorted(tables["transmission_schedule"], key=lambda row: row["position"])
    columns = ("message_id", "priority", "transmit_priority")
    assert ", ".join(" ".join(str(row[column]) for column in columns) for row in rows) == expected
    sendable = {row["message_id"]: f"{row['sendable_at']:%H:%M}" for row in rows}
    assert sendable == {"gold/1": "11:04", "gold/2": "11:04", "plain/2": "11:01", "batch/0": "11:02"}
    assert table(tables, "transmission_schedule", "position", *columns) in PAGE

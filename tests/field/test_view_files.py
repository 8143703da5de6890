"""Snapshots that have only some of the views, or views without rows, names or columns: what is known."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.csv as pc
import pytest

from pipelines.storage.monitors import activated_between
from tests.field.running import OpenCase, Row
from tests.field.servers import CLEAN, QUEUE, Change, Servers, convert, leave_header

pytestmark = pytest.mark.slow

TAKEN_AT = datetime(2026, 11, 20, 10, tzinfo=UTC)
LARGE = ("conversation_endpoints", "transmission_queue", QUEUE)
SMALL = ("service_queues", "databases", "dm_broker_queue_monitors", "dm_broker_activated_tasks")
NAMES = ("services", "service_contracts", "conversation_priorities")


def endpoint(number: int) -> str:
    return f"A0000000-0000-4000-8000-00000000000{number}"


def conversation(number: int) -> str:
    return f"C0000000-0000-4000-8000-00000000000{number}"


def without_rows(*views: str, format: str = "csv") -> Change:
    def change(snap: Path) -> Row:
        for path in sorted(snap.glob("*.csv")):
            if path.stem in views:
                leave_header(path)
            if format != "csv":
                convert(path, format)
        return {"format": format}

    return change


def replaced(*changes: tuple[str, str, str]) -> Change:
    """Texts of views that other texts stand in for."""

    def change(snap: Path) -> None:
        for view, old, new in changes:
            path = snap / f"{view}.csv"
            path.write_bytes(path.read_bytes().replace(old.encode(), new.encode()))

    return change


def alone(*views: str, text: str | None = None) -> Change:
    def change(snap: Path) -> Row:
        for path in snap.glob("*.csv"):
            if path.stem not in views:
                path.unlink()
            elif text is not None:
                path.write_text(text)
        return {"complete": []}

    return change


def written(**content: bytes) -> Change:
    def change(snap: Path) -> None:
        for view, data in content.items():
            (snap / f"dm_broker_{view}.csv").write_bytes(data)

    return change


def without_queues(snap: Path) -> None:
    (snap / "service_queues.csv").unlink()
    written(queue_monitors=b"\xff\xfe", activated_tasks=b"\r\n")(snap)


def misspelt(snap: Path) -> Row:
    for view, name in (
        (QUEUE, "MillQueue"),
        ("conversation_priorities", "Conversation_Priorities"),
        ("transmission_queue", "transmision_queue"),
    ):
        (snap / f"{view}.csv").rename(snap / f"{name}.csv")
    written(queue_monitors=b"", activated_tasks=b"\xef\xbb\xbf")(snap)
    return {"complete": ["conversation_endpoints"]}


def many_rows(snap: Path) -> Row:
    """A transmission queue alone, with a value with a line end far behind the header."""
    path = snap / "transmission_queue.csv"
    header, row = path.read_text().splitlines()
    rows = [row.replace(",0,StockRequest", f",{number},StockRequest") for number in range(400)]
    rows[-1] = rows[-1].replace("dialog, as", "dialog,\nas")
    path.write_text("\n".join([header, *rows, ""]))
    assert path.stat().st_size > 1 << 16
    return alone("transmission_queue")(snap) or {}


def joined_with_names(snap: Path) -> None:
    """A view that was joined with names and state_desc needs no services and no contracts."""
    table = pc.read_csv(snap / "conversation_endpoints.csv")
    contracts = {65536: "OrderContract", 65537: "StockContract"}
    services = {65536: "MillService", 65537: "MillOut"}
    for name, title, names in (
        ("service_contract_id", "Contract", contracts),
        ("service_id", "local service", services),
    ):
        values = [names[number.as_py()] for number in table[name]]
        table = table.set_column(table.schema.get_field_index(name), title, [values])
    pc.write_csv(table.drop_columns(["state", "lifetime"]), snap / "conversation_endpoints.csv")
    replaced(
        ("conversation_priorities", "contract_id,local_service_id", "contract_name,local_service_name"),
        ("conversation_priorities", "service_contract_name", "contract_name"),
        ("conversation_priorities", ",65536,65536,", ",OrderContract,MillService,"),
        ("conversation_priorities", ",65536,,", ",OrderContract,,"),
    )(snap)
    (snap / "service_contracts.csv").unlink()


EMPTY = {
    "small": SMALL,
    "large": LARGE,
    "names": ("conversation_endpoints", "services", "service_contracts"),
    "all": (*LARGE, *SMALL, *NAMES),
}
FORMATS = {"csv": ("names", "all"), "parquet": ("small",), "delta": ("large",)}
WITHOUT_ROWS = {f"{name} of {format}": (name, format) for format, names in FORMATS.items() for name in names}
JUST_AFTER = "2026-11-20 10:00:02.500"
FORMS: dict[str, Change] = {
    **{form: without_rows(*EMPTY[name], format=format) for form, (name, format) in WITHOUT_ROWS.items()},
    **{f"no {view}": without_rows(view) for view in ("services", "service_contracts")},
    "no queues": without_queues,
    "odd values": replaced(
        ("conversation_priorities", ",GoldShop,9", ',"NULL",9'),
        ("conversation_endpoints", ",GoldShop,,", ',"NULL",,'),
        # At or after the snapshot.
        (QUEUE, "2026-11-20 09:31:00.000", JUST_AFTER),
        ("transmission_queue", "2026-11-20 09:05:00.000", JUST_AFTER),
        ("dm_broker_queue_monitors", "2026-11-20 09:00:00.000", JUST_AFTER),
    ),
    "misspelt": misspelt,
    "queue alone": alone(QUEUE),
    "transmission alone": alone("transmission_queue"),
    "handle alone": alone(
        "transmission_queue",
        # Only what the view must have: nothing says whose the handle is.
        text="enqueue_time,conversation_handle,message_sequence_number,message_type_name,"
        "is_conversation_error,is_end_of_dialog\n"
        f"2026-11-20 09:05:00.000,{endpoint(9)},0,StockRequest,0,0\n",
    ),
    "many rows": many_rows,
    "joined with names": joined_with_names,
}


@pytest.fixture(scope="module")
def servers(open_case: OpenCase) -> Servers:
    return Servers(open_case(CLEAN), FORMS)


def received(servers: Servers, name: str) -> list[tuple[str, int]]:
    """The receive schedule: ids and levels in its order."""
    rows = servers.rows("receive_schedule", name)
    return [(row["message_id"], row["priority"]) for row in sorted(rows, key=lambda row: row["position"])]


IN_ORDER = [
    (f"{conversation(1)}/initiator/0", 9),
    (f"{conversation(2)}/initiator/0", 3),
    (f"{conversation(2)}/initiator/1", 3),
]
BY_HANDLE = [(id.replace("C0000000", "A0000000"), level) for id, level in IN_ORDER]


@pytest.mark.parametrize("form", WITHOUT_ROWS)
def test_any_view_may_be_empty(servers: Servers, form: str) -> None:
    unresolved = [row for row in servers.rows("unresolved", form) if row["kind"] == "receive"]
    waiting = 0 if QUEUE in EMPTY[WITHOUT_ROWS[form][0]] else 3
    assert len(servers.rows("receive_schedule", form)) + len(unresolved) == waiting


@pytest.mark.parametrize("form", ["small of parquet", "no queues", "misspelt"])
def test_the_order_needs_no_small_views(servers: Servers, form: str) -> None:
    assert received(servers, form) == IN_ORDER
    assert {row["queue"] for row in servers.rows("receive_schedule", form)} == {"MillQueue"}


@pytest.mark.parametrize("view", ["services", "service_contracts"])
def test_endpoints_without_any_names_say_nothing(servers: Servers, view: str) -> None:
    """Without the right to see services, messages that name their services still have their order."""
    said = f"snap-no-{view}/conversation_endpoints.csv says nothing: {view} has no names"
    assert said in servers.night.err
    assert [level for _, level in received(servers, f"no {view}")] == [9, 3, 3]
    shown = {row["view"]: row["complete"] for row in servers.rows("snapshots", f"no {view}")}
    assert "conversation_endpoints" not in shown
    assert shown[QUEUE]


def test_null_in_quotes_is_a_name(servers: Servers) -> None:
    rules = {row["name"]: row["remote_service"] for row in servers.rows("priority_rules", "odd values")}
    assert rules == {"GoldOrders": "NULL", "Orders": None}
    known = {row["conversation_id"]: row["remote_service"] for row in servers.rows("endpoints", "odd values")}
    assert known[conversation(1)] == "NULL"


def test_names_of_files_in_any_case(servers: Servers) -> None:
    [said] = [line for line in servers.night.err.splitlines() if "/transmision_queue.csv" in line]
    assert said.endswith("is not read: no view has that name; the nearest is transmission_queue")
    assert {row["name"] for row in servers.rows("priority_rules", "misspelt")} == {"GoldOrders", "Orders"}
    views = {row["view"] for row in servers.rows("snapshots", "misspelt")}
    assert QUEUE in views
    assert "transmission_queue" not in views


def test_a_queue_alone_gives_its_order(servers: Servers) -> None:
    assert received(servers, "queue alone") == BY_HANDLE
    names = ("conversation_id", "local_service", "queue", "contract", "level_source")
    known = servers.rows("endpoints", "queue alone")
    assert sorted(tuple(row[name] for name in names) for row in known) == [
        (endpoint(number), "MillService", "MillQueue", "OrderContract", "server") for number in (1, 2)
    ]


def test_a_service_that_no_view_shows_is_no_name(servers: Servers) -> None:
    """Of a queue alone neither the far service nor the rules are known: no finding rests on them."""
    lint = servers.case.job("lint_rules", "--format", "json")
    assert [each["code"] for each in lint.json if each["instance"] == "queue alone"] == []
    [row, *_] = [row for row in servers.case.table("endpoints") if row["instance"] == "queue alone"]
    explained = "\n".join(servers.case.lines("explain", "--conversation", row["conversation_id"]))
    assert "contract OrderContract, local service MillService, remote service not known" in explained


def test_a_transmission_queue_alone_gives_its_order(servers: Servers) -> None:
    [row] = servers.rows("transmission_schedule", "transmission alone")
    assert (row["message_id"], row["position"]) == (f"{endpoint(4)}/initiator/0", 1)
    assert row["why_still_here"].startswith("No session keys for this dialog, as the database")


def test_messages_that_no_endpoint_has_are_told(servers: Servers) -> None:
    [row] = [row for row in servers.case.table("unresolved") if endpoint(9) in row["id"]]
    assert (row["kind"], row["reason"]) == ("transmission", "handle_unknown")
    assert "1 handle_unknown" in servers.night.out
    assert "Nothing waits" not in servers.night.out


def test_a_value_with_line_ends_far_behind_the_header_is_one_value(servers: Servers) -> None:
    assert len(servers.rows("transmission_schedule", "many rows")) == 400


def test_names_stand_in_for_ids(servers: Servers) -> None:
    form = "joined with names"
    assert received(servers, form) == IN_ORDER
    rules = [
        (row["name"], row["contract"], row["local_service"]) for row in servers.rows("priority_rules", form)
    ]
    assert sorted(rules) == [
        ("GoldOrders", "OrderContract", "MillService"),
        ("Orders", "OrderContract", None),
    ]
    ended = [row for row in servers.rows("endpoint_events", form) if row["event_type"] == "END_CONVERSATION"]
    assert [row["conversation_id"] for row in ended] == [conversation(3)]


def test_times_at_or_after_the_snapshot_count_just_before_it(servers: Servers) -> None:
    just_before, form = TAKEN_AT - timedelta(microseconds=1), "odd values"
    arrived = {row["message_id"]: row["arrived_at"] for row in servers.rows("receive_schedule", form)}
    assert arrived[f"{conversation(2)}/initiator/1"] == just_before
    [waiting] = servers.rows("transmission_schedule", form)
    assert waiting["sendable_at"] == just_before
    [monitor] = servers.rows("queue_monitors", form)
    assert monitor["last_activated_time"] > TAKEN_AT, "as it is written, for its zone is not documented"
    assert activated_between(monitor) == (just_before, just_before)


def test_a_later_snapshot_with_endpoints_says_whose_the_messages_are(servers: Servers) -> None:
    """The tables are those of a log that had the endpoints from the start. It is last, as it adds a night."""
    servers.add("queue alone", lambda snap: None, path="later", taken_at="2026-11-20T10:30:00Z")
    servers.publish("2026-11-20T11:00:00Z")
    known = {
        (row["conversation_id"], row["remote_service"]) for row in servers.rows("endpoints", "queue alone")
    }
    assert known == {
        (conversation(1), "GoldShop"),
        (conversation(2), "SilverShop"),
        (conversation(3), "SilverShop"),
        (conversation(4), "Warehouse"),
    }
    rows = [row for row in servers.rows("receive_schedule", "queue alone") if row["as_of"] > TAKEN_AT]
    assert {row["message_id"] for row in rows} == {id for id, _ in IN_ORDER}

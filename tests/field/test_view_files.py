"""Exports of a server's views: as tools write them, and with only some views, rows, names or columns."""

import bz2
import gzip
from pathlib import Path

import pytest

from tests.field.running import OpenCase, Row
from tests.field.servers import (
    CLEAN,
    QUEUE,
    Change,
    Servers,
    convert,
    leave_header,
    read_csv,
    text_of,
    write_as_sqlcmd,
    write_texts,
)

pytestmark = [pytest.mark.slow, pytest.mark.long]

LARGE = ("conversation_endpoints", "transmission_queue", QUEUE)
SMALL = ("service_queues", "databases", "dm_broker_queue_monitors", "dm_broker_activated_tasks")
NAMES = ("services", "service_contracts", "conversation_priorities")
OTHER_FILES = ("notes.txt", "routes.csv", "Conversation_Endpoints.json", ".hidden.csv", "_SUCCESS")


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


def alone(*views: str, text: str | None = None) -> Change:
    def change(snap: Path) -> Row:
        for path in snap.glob("*.csv"):
            if path.stem not in views:
                path.unlink()
            elif text is not None:
                path.write_text(text)
        return {"complete": []}

    return change


def without_queues(snap: Path) -> None:
    (snap / "service_queues.csv").unlink()
    (snap / "dm_broker_queue_monitors.csv").write_bytes(b"\xff\xfe")
    (snap / "dm_broker_activated_tasks.csv").write_bytes(b"\r\n")


def misspelt(snap: Path) -> Row:
    for view, name in (
        (QUEUE, "MillQueue"),
        ("conversation_priorities", "Conversation_Priorities"),
        ("transmission_queue", "transmision_queue"),
    ):
        (snap / f"{view}.csv").rename(snap / f"{name}.csv")
    (snap / "dm_broker_queue_monitors.csv").write_bytes(b"")
    return {"complete": ["conversation_endpoints"]}


def with_null(snap: Path) -> None:
    """A service of the name NULL."""
    write_texts(snap / "conversation_priorities.csv", lambda text: text.replace(",GoldShop,9", ',"NULL",9'))
    write_texts(snap / "conversation_endpoints.csv", lambda text: text.replace(",GoldShop,,", ',"NULL",,'))


def joined_with_names(snap: Path) -> None:
    """A view that was joined with names and state_desc needs no contracts."""
    path = snap / "conversation_endpoints.csv"
    contracts = {"65536": "OrderContract", "65537": "StockContract"}
    services = {"65536": "MillService", "65537": "MillOut"}
    header, *rows = read_csv(path)
    joined = []
    for row in (dict(zip(header, values, strict=True)) for values in rows):
        row["Contract"] = contracts[row.pop("service_contract_id")]
        row["local service"] = services[row.pop("service_id")]
        del row["state"], row["lifetime"]
        joined.append(row)
    path.write_text(text_of([[*joined[0]], *([*row.values()] for row in joined)]))
    (snap / "service_contracts.csv").unlink()
    (snap / "conversation_priorities.csv").unlink()


def by_sqlcmd(snap: Path) -> None:
    for path in snap.glob("*.csv"):
        write_as_sqlcmd(path)


def packed(snap: Path) -> None:
    """Half of the files by gzip, half by bzip2; the file of the queue has its name without the schema."""
    for number, path in enumerate(sorted(snap.glob("*.csv"))):
        name = "MILLQUEUE" if path.stem == QUEUE else path.stem
        ending, pack = ((".CSV.GZ", gzip.compress), (".csv.Bz2", bz2.compress))[number % 2]
        (snap / f"{name}{ending}").write_bytes(pack(path.read_bytes()))
        path.unlink()


def with_other_names(snap: Path) -> Row:
    (snap / f"{QUEUE}.csv").rename(snap / "[dbo].[MILLQUEUE].CSV")
    (snap / "conversation_endpoints.csv").rename(snap / "SYS.Conversation_Endpoints.csv")
    return {"complete": ["sys.Conversation_Endpoints", "millqueue"]}


def with_more(snap: Path) -> None:
    """Other files, and monitors of other databases, where an id of a queue may be another queue's."""
    path = snap / "dm_broker_queue_monitors.csv"
    write_texts(path, lambda text: f"{text}7,245575913,NOTIFIED,,,4\n7,99,NOTIFIED,,,1\n")
    for name in OTHER_FILES:
        (snap / name).write_text("a,b\n1,2\n")
    (snap / "old").mkdir()


BY_TOOLS: dict[str, Change] = {
    "unchanged": lambda snap: None,
    "sqlcmd": by_sqlcmd,
    "packed": packed,
    "other names": with_other_names,
    "more": with_more,
}
"""Forms that are read as the clean one is."""
EMPTY = {
    "small of parquet": without_rows(*SMALL, format="parquet"),
    "large of delta": without_rows(*LARGE, format="delta"),
    "names of csv": without_rows("conversation_endpoints", *NAMES[:2]),
    "all of csv": without_rows(*LARGE, *SMALL, *NAMES),
}
"""Forms with views that have no rows."""
FORMS: dict[str, Change] = {
    **BY_TOOLS,
    **EMPTY,
    **{f"no {view}": without_rows(view) for view in NAMES[:2]},
    "no queues": without_queues,
    "null": with_null,
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
    "joined with names": joined_with_names,
}


@pytest.fixture(scope="module")
def servers(open_case: OpenCase) -> Servers:
    return Servers(open_case(CLEAN), FORMS)


@pytest.mark.parametrize("form", BY_TOOLS)
def test_what_tools_write_is_read_as_a_clean_export(servers: Servers, form: str) -> None:
    found = servers.tables(form)
    assert found == servers.tables("unchanged")
    counts = {"endpoints": 4, "receive_schedule": 3, "transmission_schedule": 1, "queue_monitors": 1}
    assert {name: len(found[name]) for name in counts} == counts


def test_complete_names_views_without_case_and_schema(servers: Servers) -> None:
    views = servers.rows("snapshots", "other names")
    assert {row["view"] for row in views if row["complete"]} == {"conversation_endpoints", QUEUE}


def test_other_files_are_named(servers: Servers) -> None:
    lines = [line for line in servers.night.err.splitlines() if "not read" in line]
    told = [line.partition("snap-more/")[2] for line in lines if "snap-more/" in line]
    assert told == [
        "Conversation_Endpoints.json is not read: it is no .csv file; the nearest is conversation_endpoints",
        "notes.txt is not read: it is no .csv file",
        "old is not read: it is a folder, and views stand in no folder of their own",
        "routes.csv is not read: no view has that name",
    ]


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


@pytest.mark.parametrize("form", EMPTY)
def test_any_view_may_be_empty(servers: Servers, form: str) -> None:
    unresolved = [row for row in servers.rows("unresolved", form) if row["kind"] == "receive"]
    waiting = 0 if form in ("large of delta", "all of csv") else 3
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
    rules = {row["name"]: row["remote_service"] for row in servers.rows("priority_rules", "null")}
    assert rules == {"GoldOrders": "NULL", "Orders": None}
    known = {row["conversation_id"]: row["remote_service"] for row in servers.rows("endpoints", "null")}
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


def test_names_stand_in_for_ids(servers: Servers) -> None:
    form = "joined with names"
    assert received(servers, form) == IN_ORDER
    ended = [row for row in servers.rows("endpoint_events", form) if row["event_type"] == "END_CONVERSATION"]
    assert [row["conversation_id"] for row in ended] == [conversation(3)]

"""Names of a snapshot's files, the word NULL, and folders that have only some of the views."""

import gzip
from datetime import UTC, datetime, timedelta

import pyarrow.csv as pc
import pytest

from tests.field.running import Case, table_of
from tests.support.field import convert
from tests.support.open_case import OpenCase

pytestmark = pytest.mark.slow

CLEAN = "field-12-idle-server-crash"
TAKEN_AT = datetime(2026, 11, 20, 10, tzinfo=UTC)


def endpoint(number: int) -> str:
    return f"A0000000-0000-4000-8000-00000000000{number}"


def conversation(number: int) -> str:
    return f"C0000000-0000-4000-8000-00000000000{number}"


def received(case: Case, warehouse: str = "warehouse") -> list[tuple[str, int]]:
    """The receive schedule: ids and levels in its order."""
    rows = table_of(case.folder / warehouse, "receive_schedule")
    return [(row["message_id"], row["priority"]) for row in sorted(rows, key=lambda row: row["position"])]


@pytest.mark.spark
def test_the_word_null_without_quotes_is_null(open_case: OpenCase) -> None:
    case = open_case("field-08-null-word")
    assert case.nightly().code == 0
    [rule] = case.table("priority_rules", ["name", "contract", "local_service", "remote_service"])
    assert rule == {
        "name": "MillOrders",
        "contract": "OrderContract",
        "local_service": "MillService",
        "remote_service": None,
    }
    case.settings = "settings-any.yaml"
    assert case.nightly().code == 0
    rules = {
        row["name"]: (row["local_service"], row["remote_service"])
        for row in table_of(case.folder / "warehouse-any", "priority_rules")
    }
    assert rules == {"GoldOrders": ("MillService", "GoldShop"), "Orders": (None, None)}


def test_null_in_quotes_is_a_name(open_case: OpenCase) -> None:
    case = open_case("field-08-null-word")
    snap = case.folder / "snap"
    for name, old, new in (
        ("conversation_priorities.csv", ",NULL,8", ',"NULL",8'),
        ("conversation_endpoints.csv", ",GoldShop,NULL", ',"NULL",NULL'),
    ):
        path = snap / name
        path.write_text(path.read_text().replace(old, new))
    assert case.nightly().code == 0
    [rule] = case.table("priority_rules", ["remote_service"])
    assert rule == {"remote_service": "NULL"}
    known = {row["conversation_id"]: row["remote_service"] for row in case.table("endpoints")}
    assert known[conversation(1)] == "NULL"


@pytest.mark.spark
def test_names_of_files_in_any_case_and_with_sys(open_case: OpenCase) -> None:
    case = open_case("field-11-file-names")
    night = case.nightly()
    assert night.code == 0
    assert (
        f"{case.folder}/snap/transmision_queue.csv is not read: no view has that name; the nearest is "
        in night.err
    )
    assert "transmission_queue" in night.err
    assert len(case.table("receive_schedule")) == 3
    assert {row["name"] for row in case.table("priority_rules")} == {"GoldOrders", "Orders"}
    views = {row["view"]: row["complete"] for row in case.table("snapshots")}
    assert "dbo.MillQueue" in views
    assert "transmission_queue" not in views


def renamed(case: Case, **names: str) -> None:
    for view, name in names.items():
        (case.folder / "snap" / f"{view.replace('dbo_', 'dbo.')}.csv").rename(case.folder / "snap" / name)


def with_complete(case: Case, complete: str) -> None:
    path = case.folder / case.settings
    head = path.read_text().partition("    complete:")[0]
    path.write_text(f"{head}    complete: {complete}\n")


def test_complete_names_views_without_case_and_schema(open_case: OpenCase) -> None:
    case = open_case(CLEAN)
    renamed(
        case, dbo_MillQueue="[dbo].[MILLQUEUE].CSV", conversation_endpoints="SYS.Conversation_Endpoints.csv"
    )
    with_complete(case, "[sys.Conversation_Endpoints, millqueue]")
    assert case.nightly().code == 0
    complete = {row["view"] for row in case.table("snapshots") if row["complete"]}
    assert complete == {"conversation_endpoints", "dbo.MillQueue"}
    assert len(received(case)) == 3


def test_a_name_that_may_be_two_queues_is_refused(open_case: OpenCase) -> None:
    case = open_case(CLEAN)
    snap = case.folder / "snap"
    (snap / "sales.MillQueue.csv").write_bytes((snap / "dbo.MillQueue.csv").read_bytes())
    with_complete(case, "[MillQueue]")
    night = case.nightly()
    assert night.code == 3
    assert night.err.splitlines()[1:] == [
        f"  {snap}: complete names MillQueue, which may be dbo.MillQueue or sales.MillQueue; write the schema"
    ]
    (snap / "millqueue.csv").write_bytes((snap / "dbo.MillQueue.csv").read_bytes())
    with_complete(case, "[]")
    night = case.nightly()
    assert night.err.splitlines()[1:] == [
        f"  {snap}/millqueue.csv: the queue may be dbo.MillQueue or sales.MillQueue; write its schema into "
        "the file's name"
    ]


def test_other_files_are_named(open_case: OpenCase) -> None:
    case = open_case(CLEAN)
    snap = case.folder / "snap"
    for name in ("notes.txt", "routes.csv", "Conversation_Endpoints.json", ".hidden.csv", "_SUCCESS"):
        (snap / name).write_text("a,b\n1,2\n")
    night = case.nightly()
    assert night.code == 0
    told = [line.partition("snap/")[2] for line in night.err.splitlines() if "is not read" in line]
    assert told == [
        "Conversation_Endpoints.json is not read: it is no .csv file; the nearest is conversation_endpoints",
        "notes.txt is not read: it is no .csv file",
        "routes.csv is not read: no view has that name",
    ]


def test_one_file_of_all_views_is_told_in_one_line(open_case: OpenCase) -> None:
    case = open_case("field-21-support-text")
    night = case.nightly()
    assert night.code == 3
    assert night.err.splitlines()[1:] == [
        f"  {case.folder}/snap: there is no view, such as conversation_endpoints.csv; "
        "MILL1_SSB_DbMail_Diag.out is none: export one file a view, see docs/exporting.md#views-by-hand"
    ]


FROM_QUEUE = [
    (f"{endpoint(1)}/initiator/0", 9),
    (f"{endpoint(2)}/initiator/0", 3),
    (f"{endpoint(2)}/initiator/1", 3),
]


@pytest.mark.spark
def test_a_queue_alone_gives_its_order(open_case: OpenCase) -> None:
    case = open_case("field-20-partial-dumps", settings="settings-onlyq.yaml")
    night = case.nightly()
    assert (night.code, "Nothing waits" in night.out) == (0, False)
    assert received(case, "warehouse-onlyq") == FROM_QUEUE
    endpoints = table_of(case.folder / "warehouse-onlyq", "endpoints")
    assert {(row["conversation_id"], row["local_service"], row["queue"]) for row in endpoints} == {
        (endpoint(1), "MillService", "MillQueue"),
        (endpoint(2), "MillService", "MillQueue"),
    }
    assert {(row["contract"], row["level_source"]) for row in endpoints} == {("OrderContract", "server")}


@pytest.mark.spark
def test_a_transmission_queue_alone_gives_its_order(open_case: OpenCase) -> None:
    case = open_case("field-20-partial-dumps", settings="settings-onlyx.yaml")
    night = case.nightly()
    assert (night.code, "Nothing waits" in night.out) == (0, False)
    [row] = table_of(case.folder / "warehouse-onlyx", "transmission_schedule")
    assert (row["message_id"], row["position"]) == (f"{endpoint(4)}/initiator/0", 1)
    assert row["why_still_here"].startswith("The session keys for this conversation")


def test_a_later_snapshot_with_endpoints_says_whose_the_messages_are(open_case: OpenCase) -> None:
    """The tables are those of a log that had the endpoints from the start."""
    case = open_case(CLEAN)
    (case.folder / "early").mkdir()
    queue = (case.folder / "snap" / "dbo.MillQueue.csv").read_bytes()
    (case.folder / "early" / "dbo.MillQueue.csv").write_bytes(queue)
    later = (case.folder / case.settings).read_text()
    entry = (
        "  - {path: early, instance: MILL1, database: MillDB, taken_at: 2026-11-20T09:59:00Z, format: csv}\n"
    )
    (case.folder / case.settings).write_text(later.partition("snapshots:")[0] + "snapshots:\n" + entry)
    assert case.nightly("2026-11-20T09:59:00Z").code == 0
    assert received(case) == FROM_QUEUE
    (case.folder / case.settings).write_text(later.replace("snapshots:\n", f"snapshots:\n{entry}"))
    assert case.nightly().code == 0
    known = {(row["conversation_id"], row["remote_service"]) for row in case.table("endpoints")}
    assert known == {
        (conversation(1), "GoldShop"),
        (conversation(2), "SilverShop"),
        (conversation(3), "SilverShop"),
        (conversation(4), "Warehouse"),
    }
    rows = [row for row in case.table("receive_schedule") if row["as_of"] == TAKEN_AT]
    assert {row["message_id"] for row in rows} == {
        f"{conversation(1)}/initiator/0",
        f"{conversation(2)}/initiator/0",
        f"{conversation(2)}/initiator/1",
    }


def test_endpoints_without_names_say_what_is_missing(open_case: OpenCase) -> None:
    case = open_case("field-20-partial-dumps", settings="settings-only.yaml")
    night = case.nightly()
    assert night.code == 3
    assert night.err.splitlines()[1:] == [
        f"  {case.folder}/only: {view}.csv is not there, and conversation_endpoints needs it for its names; "
        "export it"
        for view in ("services", "service_contracts")
    ]
    case.settings = "settings-joined.yaml"
    night = case.nightly()
    assert night.err.splitlines()[1:] == [
        f"  {case.folder}/joined/conversation_endpoints.csv: columns conversation_id, conversation_group_id "
        "and priority are missing"
    ]


def test_names_stand_in_for_ids(open_case: OpenCase) -> None:
    """A view that was joined with names and state_desc needs no services and no contracts."""
    case = open_case(CLEAN)
    snap = case.folder / "snap"
    table = pc.read_csv(snap / "conversation_endpoints.csv")
    contracts = {65536: "OrderContract", 65537: "StockContract"}
    services = {65536: "MillService", 65537: "MillOut"}
    for name, names in (("service_contract_id", contracts), ("service_id", services)):
        values = [names[number.as_py()] for number in table[name]]
        place = table.schema.get_field_index(name)
        title = {"service_contract_id": "Contract", "service_id": "local service"}[name]
        table = table.set_column(place, title, [values])
    pc.write_csv(table.drop_columns(["state", "lifetime"]), snap / "conversation_endpoints.csv")
    rules = (snap / "conversation_priorities.csv").read_text()
    rules = rules.replace("service_contract_id,local_service_id", "contract_name,local_service_name")
    rules = rules.replace(",65536,65536,", ",OrderContract,MillService,").replace(
        ",65536,,", ",OrderContract,,"
    )
    (snap / "conversation_priorities.csv").write_text(rules)
    (snap / "service_contracts.csv").unlink()
    assert case.nightly().code == 0
    assert received(case) == [
        (f"{conversation(1)}/initiator/0", 9),
        (f"{conversation(2)}/initiator/0", 3),
        (f"{conversation(2)}/initiator/1", 3),
    ]
    rules_known = {
        (row["name"], row["contract"], row["local_service"]) for row in case.table("priority_rules")
    }
    assert rules_known == {
        ("GoldOrders", "OrderContract", "MillService"),
        ("Orders", "OrderContract", None),
    }
    ended = {
        row["conversation_id"]
        for row in case.table("endpoint_events")
        if row["event_type"] == "END_CONVERSATION"
    }
    assert ended == {conversation(3)}


@pytest.mark.spark
def test_times_at_or_after_the_snapshot_count_just_before_it(open_case: OpenCase) -> None:
    case = open_case(CLEAN)
    for view, old in (
        ("dbo.MillQueue", "2026-11-20 09:31:00.000"),
        ("transmission_queue", "2026-11-20 09:05:00.000"),
        ("dm_broker_queue_monitors", "2026-11-20 09:00:00.000"),
    ):
        path = case.folder / "snap" / f"{view}.csv"
        path.write_text(path.read_text().replace(old, "2026-11-20 10:00:02.500"))
    assert case.nightly().code == 0
    just_before = TAKEN_AT - timedelta(microseconds=1)
    arrived = {row["message_id"]: row["arrived_at"] for row in case.table("receive_schedule")}
    assert arrived[f"{conversation(2)}/initiator/1"] == just_before
    [waiting] = case.table("transmission_schedule")
    assert waiting["sendable_at"] == just_before
    times = ("last_activated_time", "last_empty_rowset_time")
    assert case.table("queue_monitors", times) == [dict.fromkeys(times, just_before)]


def test_monitors_of_other_databases_are_passed_over(open_case: OpenCase) -> None:
    """The views are of the whole server: an id of a queue may be another queue's there."""
    case = open_case(CLEAN)
    path = case.folder / "snap" / "dm_broker_queue_monitors.csv"
    path.write_text(path.read_text() + "7,245575913,NOTIFIED,,,4\n7,99,NOTIFIED,,,1\n")
    assert case.nightly().code == 0
    assert [row for row in case.table("queue_events") if row["event_type"] == "WAIT_STARTED"] == []


LARGE = ("conversation_endpoints", "transmission_queue", "dbo.MillQueue")
SMALL = ("service_queues", "databases", "dm_broker_queue_monitors", "dm_broker_activated_tasks")
NAMES = ("services", "service_contracts", "conversation_priorities")
EMPTY = {
    "small": SMALL,
    "large": LARGE,
    "names": ("conversation_endpoints", "services", "service_contracts"),
    "queues": ("service_queues",),
    "all": (*LARGE, *SMALL, *NAMES),
}


@pytest.mark.parametrize("format", ["csv", "parquet", "delta"])
@pytest.mark.parametrize("empty", EMPTY)
@pytest.mark.spark
def test_any_view_may_be_empty(open_case: OpenCase, format: str, empty: str) -> None:
    case = open_case(CLEAN)
    for path in sorted((case.folder / "snap").glob("*.csv")):
        if path.stem in EMPTY[empty]:
            path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
        if format != "csv":
            convert(path, format)
    text = (case.folder / case.settings).read_text()
    (case.folder / case.settings).write_text(text.replace("format: csv", f"format: {format}"))
    night = case.nightly()
    assert night.code == 0, night.err
    waiting = 0 if "dbo.MillQueue" in EMPTY[empty] else 3
    placed = len(case.table("receive_schedule"))
    assert placed + len([row for row in case.table("unresolved") if row["kind"] == "receive"]) == waiting


def test_a_packed_file_stands_for_its_view(open_case: OpenCase) -> None:
    case = open_case(CLEAN)
    path = case.folder / "snap" / "dbo.MillQueue.csv"
    (case.folder / "snap" / "MILLQUEUE.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert case.nightly().code == 0
    assert len(received(case)) == 3

"""Exports of a server's views as tools write them: all of them are read as clean ones are."""

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.field.running import OpenCase, Row, rewrite
from tests.field.servers import CLEAN, QUEUE, TOOLS, Change, Servers, write_as, write_texts

pytestmark = pytest.mark.slow

OTHER_FILES = ("notes.txt", "routes.csv", "Conversation_Endpoints.json", ".hidden.csv", "_SUCCESS")


def by_tools_in_turn(snapshot: int) -> Change:
    """Each file is by the next tool: in nine snapshots of ten views, each tool writes five views."""

    def change(snap: Path) -> None:
        for number, path in enumerate(sorted(snap.glob("*.csv"))):
            write_as([*TOOLS][(10 * snapshot + number) % len(TOOLS)], path)

    return change


def packed(ending: str, pack: Callable[[bytes], bytes]) -> Change:
    def change(snap: Path) -> None:
        for path in snap.glob("*.csv"):
            path.with_name(path.stem + ending).write_bytes(pack(path.read_bytes()))
            path.unlink()

    return change


def with_line_ends(snap: Path) -> None:
    write_texts(snap / "transmission_queue.csv", lambda text: text.replace("dialog, as", "dialog,\r\nas\n"))


def with_other_words(snap: Path) -> None:
    """pandas makes fractions of numbers beside nulls; states may be described; bits may be words."""
    states = {"CO": "conversing", "SO": "so", "DI": "DISCONNECTED_INBOUND"}
    changes: dict[str, Callable[[dict[str, str]], Row]] = {
        "conversation_endpoints": lambda row: {
            "state": states[row["state"]],
            "service_id": f"{row['service_id']}.0",
        },
        "service_queues": lambda row: {
            "is_receive_enabled": "Yes" if row["is_receive_enabled"] == "1" else "No"
        },
        "conversation_priorities": lambda row: {
            "local_service_id": row["local_service_id"] and f"{row['local_service_id']}.0"
        },
        QUEUE: lambda row: {"queuing_order": f"{row['queuing_order']}.0"},
    }
    for view, changed in changes.items():

        def change(row: dict[str, str], changed: Callable[[dict[str, str]], Row] = changed) -> None:
            row.update(changed(row))

        rewrite(snap / f"{view}.csv", change)


def with_other_names(snap: Path) -> Row:
    (snap / f"{QUEUE}.csv").rename(snap / "[dbo].[MILLQUEUE].CSV")
    (snap / "conversation_endpoints.csv").rename(snap / "SYS.Conversation_Endpoints.csv")
    return {"complete": ["sys.Conversation_Endpoints", "millqueue"]}


def with_a_packed_queue(snap: Path) -> None:
    path = snap / f"{QUEUE}.csv"
    (snap / "MILLQUEUE.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()


def with_monitors_of_other_databases(snap: Path) -> None:
    """The views are of the whole server: an id of a queue may be another queue's there."""
    path = snap / "dm_broker_queue_monitors.csv"
    write_texts(path, lambda text: f"{text}7,245575913,NOTIFIED,,,4\n7,99,NOTIFIED,,,1\n")


def with_other_files(snap: Path) -> None:
    for name in OTHER_FILES:
        (snap / name).write_text("a,b\n1,2\n")
    (snap / "old").mkdir()


FORMS: dict[str, Change] = {
    "unchanged": lambda snap: None,
    **{f"tools {number}": by_tools_in_turn(number) for number in range(9)},
    "gzip": packed(".CSV.GZ", gzip.compress),
    "bzip2": packed(".csv.Bz2", bz2.compress),
    "packed queue": with_a_packed_queue,
    "line ends": with_line_ends,
    "other words": with_other_words,
    "other names": with_other_names,
    "other monitors": with_monitors_of_other_databases,
    "other files": with_other_files,
}


@pytest.fixture(scope="module")
def servers(open_case: OpenCase) -> Servers:
    return Servers(open_case(CLEAN), FORMS)


@pytest.mark.parametrize("form", FORMS)
def test_what_tools_write_is_read_as_a_clean_export(servers: Servers, form: str) -> None:
    found = servers.tables(form)
    if form == "line ends":
        found = {
            name: [row.replace("dialog,  as  the", "dialog, as the") for row in rows]
            for name, rows in found.items()
        }
    assert found == servers.tables("unchanged")
    counts = {"endpoints": 4, "receive_schedule": 3, "transmission_schedule": 1, "queue_monitors": 1}
    assert {name: len(found[name]) for name in counts} == counts


def test_complete_names_views_without_case_and_schema(servers: Servers) -> None:
    views = servers.rows("snapshots", "other names")
    assert {row["view"] for row in views if row["complete"]} == {"conversation_endpoints", QUEUE}


def test_other_files_are_named(servers: Servers) -> None:
    told = [
        line.partition("snap-other-files/")[2]
        for line in servers.night.err.splitlines()
        if "not read" in line
    ]
    assert told == [
        "Conversation_Endpoints.json is not read: it is no .csv file; the nearest is conversation_endpoints",
        "notes.txt is not read: it is no .csv file",
        "old is not read: it is a folder, and views stand in no folder of their own",
        "routes.csv is not read: no view has that name",
    ]

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
    """Each file is by the next tool: in three snapshots of ten views, each tool writes a view or two."""

    def change(snap: Path) -> None:
        for number, path in enumerate(sorted(snap.glob("*.csv"))):
            write_as([*TOOLS][(10 * snapshot + number) % len(TOOLS)], path)

    return change


def packed(snap: Path) -> None:
    """Half of the files by gzip, half by bzip2; the file of the queue has its name without the schema."""
    for number, path in enumerate(sorted(snap.glob("*.csv"))):
        name = "MILLQUEUE" if path.stem == QUEUE else path.stem
        ending, pack = ((".CSV.GZ", gzip.compress), (".csv.Bz2", bz2.compress))[number % 2]
        (snap / f"{name}{ending}").write_bytes(pack(path.read_bytes()))
        path.unlink()


def with_other_words(snap: Path) -> None:
    """A text has line ends; pandas makes fractions of numbers beside nulls; states and bits may be words."""
    write_texts(snap / "transmission_queue.csv", lambda text: text.replace("dialog, as", "dialog,\r\nas\n"))
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


def with_more(snap: Path) -> None:
    """Other files, and monitors of other databases, where an id of a queue may be another queue's."""
    path = snap / "dm_broker_queue_monitors.csv"
    write_texts(path, lambda text: f"{text}7,245575913,NOTIFIED,,,4\n7,99,NOTIFIED,,,1\n")
    for name in OTHER_FILES:
        (snap / name).write_text("a,b\n1,2\n")
    (snap / "old").mkdir()


FORMS: dict[str, Change] = {
    "unchanged": lambda snap: None,
    **{f"tools {number}": by_tools_in_turn(number) for number in range(3)},
    "packed": packed,
    "other words": with_other_words,
    "other names": with_other_names,
    "more": with_more,
}


@pytest.fixture(scope="module")
def servers(open_case: OpenCase) -> Servers:
    return Servers(open_case(CLEAN), FORMS)


@pytest.mark.parametrize("form", FORMS)
def test_what_tools_write_is_read_as_a_clean_export(servers: Servers, form: str) -> None:
    found = servers.tables(form)
    if form == "other words":
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
    told = [line.partition("snap-more/")[2] for line in servers.night.err.splitlines() if "not read" in line]
    assert told == [
        "Conversation_Endpoints.json is not read: it is no .csv file; the nearest is conversation_endpoints",
        "notes.txt is not read: it is no .csv file",
        "old is not read: it is a folder, and views stand in no folder of their own",
        "routes.csv is not read: no view has that name",
    ]

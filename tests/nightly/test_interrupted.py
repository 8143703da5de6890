"""A run that breaks off after any commit is run again: the tables are as if nothing had happened."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.ingest import write_ledger as close
from pipelines.storage.warehouse import Warehouse
from tests.support.factories import (
    Events,
    Row,
    at,
    by_source,
    catalog,
    create_rule,
    endpoint_event,
    message_event,
    queue_event,
)
from tests.support.harness import Project
from tests.support.warehouses import changed, contents

pytestmark = [pytest.mark.slow, pytest.mark.long]


class BrokenOffError(BaseException):
    """Nothing catches it, as nothing catches kill -9."""


def a_bit_of_everything() -> Events:
    """Ready, locked, waiting, ended, unresolved, early, twice, rejected, monitored."""
    rows: list[Row] = []
    for conversation in ("c1", "c2", "c3", "ended"):
        rows += [
            endpoint_event(conversation=conversation),
            endpoint_event("DIALOG_CREATED", conversation, event_time=at(1)),
            *[message_event("SENT", f"{conversation}/{number}") for number in range(3)],
            *[
                message_event("DELIVERED", f"{conversation}/{number}", event_time=at(2))
                for number in range(2)
            ],
        ]
    rows += [
        message_event("RECEIVED", "c1/0", event_time=at(3), transaction_id="open"),
        message_event("RECEIVED", "c2/0", event_time=at(3), transaction_id="done"),
        queue_event("RECEIVE", event_time=at(3), transaction_id="open", conversation_group_id="g"),
        queue_event("COMMIT", event_time=at(4), transaction_id="done"),
        queue_event("QUEUE_ALTERED", event_time=at(4), queue_status="ON"),
        queue_event("TASK_STARTED", event_time=at(1), session_id=51),
        queue_event("ROLLBACK", event_time=at(4), transaction_id="back"),
        endpoint_event("END_CONVERSATION", "ended", event_time=at(5)),
        endpoint_event("END_CONVERSATION", "ended", event_time=at(5), is_initiator=False),
        endpoint_event("END_CONVERSATION", "unknown", event_time=at(5)),
        message_event("DELIVERED", "early/0"),
        message_event("SENT", "c3/2"),
        message_event("OTHER", "c3/3"),
        # The last quarter of an hour stays open.
        message_event("SENT", "c3/4", event_time=at(50)),
    ]
    return by_source(*rows)


def night_after() -> Events:
    """Goes on with what is open, comes late for what is closed, and brings new conversations."""
    rows: list[Row] = [
        message_event("FORWARD_ACCEPTED", "c2/0", event_time=at(2), instance="SQL2"),
        endpoint_event("MOVE_CONVERSATION", "ended", event_time=at(4), conversation_group_id="other"),
        endpoint_event(conversation="early", event_time=at(1)),
        queue_event("COMMIT", event_time=at(0, day=1), transaction_id="open"),
        message_event("DELIVERED", "c1/2", event_time=at(0, day=1)),
        message_event("RECEIVED", "c3/0", event_time=at(1, day=1)),
        endpoint_event(conversation="new", event_time=at(2, day=1)),
        message_event("RECEIVED", "new/0", event_time=at(3, day=1)),
        message_event("OTHER", "new/1"),
        message_event("SENT", "c3/2"),
        message_event("SENT", "new/9", event_time=at(50, day=1)),
    ]
    return by_source(*rows)


def project_in(folder: Path, *, marks: Sequence[str] = ("",), rejected: float = 0.5) -> Project:
    """A project whose queues have monitors; with marks its instances are there once for each, by `marked`."""

    def of_marks(rows: Iterable[Row], name: str) -> list[Row]:
        return [row | {name: mark + row[name]} for mark in marks for row in deepcopy(rows)]

    own = [create_rule("Gold", 9, contract="Contract"), create_rule("Low", 2, database="B")]
    rules = of_marks(own, "instance")
    places = {"instances": of_marks(catalog()["instances"], "name")}
    for instance in places["instances"]:
        for database in instance["databases"]:
            for queue in database["queues"]:
                queue["activation"] = {"status": "on", "procedure": "dbo.Read", "max_queue_readers": 1}
    return Project(folder, catalog=places, rules=rules, quality={"max_rejected_share": rejected})


@contextmanager
def dying(monkeypatch: pytest.MonkeyPatch, after: int) -> Iterator[list[int]]:
    """Let so many writes of tables come to pass, and none after them; the one item is how many are left."""
    left = [after]

    def counted(write: Callable[..., None]) -> Callable[..., None]:
        def or_die(*args: object, **options: object) -> None:
            if not left[0]:
                raise BrokenOffError
            left[0] -= 1
            write(*args, **options)

        return or_die

    with monkeypatch.context() as patched:
        # The rest writes by way of these two.
        for name in ("replace", "append"):
            patched.setattr(Warehouse, name, counted(getattr(Warehouse, name)))
        yield left


def test_a_night_that_breaks_off_after_every_commit(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first night of a project: it creates the tables. Each attempt comes a commit further."""
    alone = project_in(tmp_path / "alone")
    alone.add(a_bit_of_everything())
    alone.run(session, at(60))
    expected = contents(alone, leave_out={"path"})
    assert [name for name, rows in expected.items() if not rows] == []

    project = project_in(tmp_path / "broken_off")
    project.add(a_bit_of_everything())
    warehouse = project.folder / "warehouse"
    broken_off, allowed = 0, 0
    while not ((warehouse / "runs").exists() and project.table("runs")):
        folded = (warehouse / "batches").exists()
        try:
            with dying(monkeypatch, allowed):
                project.run(session, at(60))
        except BrokenOffError:
            broken_off += 1
            # What is folded is not folded again: the commits of the schedules are counted anew.
            allowed = allowed + 1 if folded == (warehouse / "batches").exists() else 0
    assert broken_off > 12
    assert changed(expected, contents(project, leave_out={"path"})) == {}
    assert [row["status"] for row in project.table("runs")] == ["succeeded"]


COMMITS = 7
"""Of a fold that moves rows."""


@pytest.mark.parametrize(
    ("named", "deaths"),
    [(close.MOST_NAMED, range(0, COMMITS, 2)), (0, range(1, COMMITS, 2))],
    ids=["named", "by partition"],
)
def test_a_fold_that_broke_off_is_done_again(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: int, deaths: range
) -> None:
    """The second fold, which moves what was closed: dead after any of its commits, the ledger is the same."""
    monkeypatch.setattr(close, "MOST_NAMED", named)
    project = project_in(tmp_path)
    project.add(a_bit_of_everything())
    project.take_in(session)
    project.add(night_after())
    warehouse, before = tmp_path / "warehouse", tmp_path / "before"
    shutil.copytree(warehouse, before)
    with dying(monkeypatch, COMMITS) as left:
        project.take_in(session)
    assert left == [0]
    expected = contents(project)
    for table in ("message_events", "endpoint_events", "endpoints"):
        moved = [row for row in project.table(table) if row["fold"] == 2 and row["closed_on"]]
        assert moved, table
    for after in deaths:
        shutil.rmtree(warehouse)
        shutil.copytree(before, warehouse)
        with dying(monkeypatch, after), pytest.raises(BrokenOffError):
            project.take_in(session)
        project.take_in(session)
        assert changed(expected, contents(project)) == {}, f"broken off after {after} commits"

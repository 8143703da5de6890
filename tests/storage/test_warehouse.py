"""Warehouses that are not as a run left them: of an older version, or with a table half created."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from pipelines.config.errors import ConfigError, WarehouseError
from pipelines.console.invocation import name_command
from pipelines.engine.frames import small_frame
from pipelines.storage.id_spelling import is_marked
from pipelines.storage.inputs.delta_log import current_version
from pipelines.storage.versions import versions_of
from pipelines.storage.warehouse import Warehouse
from schemas.ids import canonical_text
from schemas.outputs import BATCHES, FILES
from tests.support.factories import Row, endpoint_event
from tests.support.written import warehouse_of, write

Change = Callable[[pa.Table], pa.Table]


def test_a_column_that_came_later_is_null_until_the_next_write(session: SparkSession, tmp_path: Path) -> None:
    """A table of an older version lacks a column that may be null, in the middle."""
    file = {"batch": 1, "source": "s", "path": "p", "length": 5, "version": 7}
    older = replace(FILES, columns=tuple(each for each in FILES.columns if each.name != "length"))
    write(Warehouse(session, str(tmp_path)), older, [{name: file.get(name) for name in older.names}])
    warehouse = Warehouse(session, str(tmp_path))
    assert warehouse.read(FILES).columns == FILES.names
    assert [(row.length, row.version) for row in warehouse.read(FILES).collect()] == [(None, 7)]
    assert versions_of(str(tmp_path)) == {"files": 1}

    new = [(file | {"batch": 2}).get(name) for name in FILES.names]
    warehouse.append(FILES, small_frame(session, [new], FILES.struct))
    for each in (warehouse, Warehouse(session, str(tmp_path))):
        rows = each.read(FILES).collect()
        assert sorted((row.batch, row.path, row.length, row.version) for row in rows) == [
            (1, "p", None, 7),
            (2, "p", 5, 7),
        ]
        assert each.read(FILES).columns == FILES.names
    again = Warehouse(session, str(tmp_path))
    again.replace(FILES, again.read(FILES).where("batch = 1"), where="batch = 1")
    assert again.read(FILES).count() == 2
    stored = DeltaTable(str(tmp_path / "files")).schema()
    assert [field.name for field in stored.fields] == [*older.names, "length"]
    assert stored.fields[-1].metadata == {"comment": "bytes; null for Delta"}
    assert stored.fields[-1].nullable


OLDER = "An older version wrote the table, or another program changed it. Put"
NEWER = "A newer version wrote the table, or another program changed it. Upgrade, put"
BATCH = (1, "endpoint_events", 1, 1, 0, 0, None, "bindings", None, None, None)
LOWER = "cc000000-0000-4000-8000-00000000000a"


def tables_of(*ids: str) -> dict[str, list[Row]]:
    """Conversations of these ids that end, as an older version wrote it."""
    ends = [endpoint_event("END_CONVERSATION", id, event_id=f"end of {id}") for id in ids]
    return {"endpoint_events": ends, "batches": [dict(zip(BATCHES.names, BATCH, strict=True))]}


def test_ids_in_their_one_spelling_are_read_and_marked(session: SparkSession, tmp_path: Path) -> None:
    """A warehouse of an older version: nothing says how its ids are spelled, so they are looked at."""
    found = warehouse_of(session, tmp_path, tables_of("c1", LOWER.upper(), f"{LOWER}/0"))
    reopened = Warehouse(session, found.root)
    assert not is_marked(session, found.path(BATCHES))
    reopened.require_this_shape()
    reopened.mark_ids()
    version = current_version(found.path(BATCHES))
    assert is_marked(session, found.path(BATCHES))
    reopened.mark_ids()
    assert current_version(found.path(BATCHES)) == version
    # A later write keeps the mark, and no event is looked at any more.
    reopened.replace(BATCHES, small_frame(session, [BATCH], BATCHES.struct), where="batch = 1")
    assert is_marked(session, found.path(BATCHES))


@pytest.mark.parametrize("id", [LOWER, f"{{{LOWER.upper()}}}", f"{LOWER}/target/3"])
def test_ids_in_another_spelling_are_of_an_older_version(
    session: SparkSession, tmp_path: Path, id: str
) -> None:
    found = warehouse_of(session, tmp_path, tables_of(id))
    with pytest.raises(ConfigError) as error:
        Warehouse(session, found.root).require_this_shape()
    said = (
        f"an older version, to which {id!r} in endpoint_events was another id than {canonical_text(id)!r}; "
    )
    assert said in str(error.value)
    assert f"run {name_command('nightly')} --as-of latest again" in str(error.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows.drop_columns(["path"]), f"column path is missing. {OLDER}"),
        (lambda rows: rows.append_column("note", rows["path"]), f"column note was added. {NEWER}"),
        (
            lambda rows: rows.set_column(3, "length", rows["path"]),
            f"column length is string and must be bigint. {OLDER}",
        ),
        (
            lambda rows: rows.rename_columns({"path": "file"}),
            f"column path is missing, column file was added. {OLDER}",
        ),
        (
            lambda rows: pa.table({"customer": ["x"]}),
            f"it has none of the columns of that table, so it is another table. {OLDER}",
        ),
    ],
    ids=["dropped", "added", "retyped", "renamed", "another"],
)
def test_a_table_with_other_columns_is_named(
    session: SparkSession, tmp_path: Path, change: Change, said: str
) -> None:
    """By the engine and by delta-rs."""
    Warehouse(session, str(tmp_path)).create_missing(FILES)
    path = tmp_path / FILES.name
    columns = change(DeltaTable(str(path)).to_pyarrow_table())
    shutil.rmtree(path)
    write_deltalake(str(path), columns)
    with pytest.raises(WarehouseError) as by_engine:
        Warehouse(session, str(tmp_path)).read(FILES)
    with pytest.raises(WarehouseError) as by_log:
        versions_of(str(tmp_path))
    back = "it back as it was, or rebuild the warehouse (docs/operations.md, Rebuild a warehouse)"
    assert str(by_engine.value) == str(by_log.value) == f"warehouse: {path}: {said} {back}"


def test_a_table_whose_creation_broke_off_is_none(session: SparkSession, tmp_path: Path) -> None:
    """A kill may leave a log without a commit: it reads as empty, and the first write creates the table."""
    (tmp_path / FILES.name / "_delta_log" / "_staged_commits").mkdir(parents=True)
    warehouse = Warehouse(session, str(tmp_path))
    assert not warehouse.exists(FILES)
    assert warehouse.read(FILES).count() == 0
    row = (1, "queue_events", "a.jsonl", 5, datetime(2026, 11, 20, tzinfo=UTC), None, None)
    warehouse.append(FILES, small_frame(session, [row], FILES.struct))
    assert [each.path for each in Warehouse(session, str(tmp_path)).read(FILES).collect()] == ["a.jsonl"]

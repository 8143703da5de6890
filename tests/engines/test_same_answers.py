"""Both engines write the same tables and give the same answers; each plays all inputs in one process."""

import difflib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from schemas import TABLES
from schemas.conformance import CONFORMANCE_TABLES
from schemas.replay import REPLAY_TABLES
from schemas.whatif import WHATIF_ANSWERS, WHATIF_AS_OF, WHATIF_TABLES
from tests.engines.inputs import INPUTS as ALL_INPUTS, ROOT, make_inputs
from tests.engines.questions import DAMAGED, lines_of, nights_of
from tests.support.factories import Row

ENGINES = ("embedded", "spark")
INPUTS = os.environ.get("PLAYED", " ".join(ALL_INPUTS)).split()
"""The inputs that are played: CI plays one, as Apache Spark takes minutes for each."""
DECLARED = {
    f"{folder}.{table.name}": table
    for folder, tables in {
        "warehouse": TABLES.values(),
        "whatif": (*WHATIF_TABLES, WHATIF_ANSWERS, WHATIF_AS_OF),
        "replay": REPLAY_TABLES,
        "conformance": CONFORMANCE_TABLES,
    }.items()
    for table in tables
}
APART = {
    "warehouse.runs": {"started_at", "finished_at"},
    "warehouse.rejected_events": {"first_seen"},
    "warehouse.captures": {"first_seen"},
}
"""Columns that say when a run was."""
NOT_PLAYED = {"warehouse.pending_events", "warehouse.queue_statuses", "warehouse.sends"}
"""Tables of mapped logs, of queues that retain rows, and of traces, which none of the inputs has."""
SHOWN = 12
"""Lines of a difference."""

Played = Mapping[str, Mapping[str, Any]]
"""What came out, by engine and input."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Both engines side by side."""
    folder = tmp_path_factory.mktemp("engines")
    make_inputs(folder / "inputs", INPUTS)
    processes = {engine: start(engine, folder) for engine in ENGINES}
    for engine, process in processes.items():
        assert process.wait() == 0, (folder / f"{engine}.log").read_text()[-3000:]
    return {
        engine: {name: json.loads((folder / engine / f"{name}.json").read_text()) for name in INPUTS}
        for engine in ENGINES
    }


def start(engine: str, folder: Path) -> "subprocess.Popen[bytes]":
    (folder / engine).mkdir()
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "tests.engines.play",
        engine,
        folder / "inputs",
        folder / engine,
    ]
    with (folder / f"{engine}.log").open("wb") as log:
        return subprocess.Popen([*command, *INPUTS], cwd=ROOT, stdout=log, stderr=log)


@pytest.mark.parametrize("table", DECLARED)
@pytest.mark.parametrize("name", INPUTS)
def test_tables_are_equal(played: Played, name: str, table: str) -> None:
    for moment in (*nights_of(name), "commands"):
        embedded, spark = (played[engine][name]["tables"][moment].get(table) for engine in ENGINES)
        assert (embedded is None) == (spark is None), moment
        if embedded is not None and spark is not None:
            assert spark["columns"] == embedded["columns"], moment
            found = differences(table, embedded["rows"], spark["rows"])
            assert found == [], f"{moment}: {len(found)} rows differ\n" + "\n".join(found[:SHOWN])


def differences(table: str, embedded: Sequence[Row], spark: Sequence[Row]) -> list[str]:
    """The rows that are of one engine only, and what differs in the others; none has the key of another."""
    left, right = by_key(table, embedded), by_key(table, spark)
    found = [f"on the embedded engine only: {left[key]}" for key in left.keys() - right.keys()]
    found += [f"on Apache Spark only: {right[key]}" for key in right.keys() - left.keys()]
    for key in left.keys() & right.keys():
        one, other = left[key], right[key]
        if one != other:
            columns = {name: (one[name], other[name]) for name in one if one[name] != other[name]}
            found.append(f"{dict(key)}: embedded and Spark have {columns}")
    return sorted(found)


def by_key(table: str, rows: Sequence[Row]) -> dict[tuple[tuple[str, Any], ...], Row]:
    apart, key = APART.get(table, set()), DECLARED[table].key
    found = {
        tuple((name, row[name]) for name in key): {
            name: value for name, value in row.items() if name not in apart
        }
        for row in rows
    }
    assert len(found) == len(rows), f"{table}: two rows have one key"
    return found


@pytest.mark.parametrize(("name", "line"), [(name, line) for name in INPUTS for line in lines_of(name)])
def test_answers_are_equal(played: Played, name: str, line: str) -> None:
    embedded, spark = (played[engine][name]["said"][line] for engine in ENGINES)
    assert spark.keys() == embedded.keys()
    for stream in embedded:
        assert_equal_texts(embedded[stream], spark[stream])


def assert_equal_texts(embedded: str, spark: str) -> None:
    if embedded == spark:
        return
    lines = difflib.unified_diff(embedded.splitlines(), spark.splitlines(), *ENGINES, n=0, lineterm="")
    pytest.fail("\n".join(line[:300] for line in list(lines)[:SHOWN]))


@pytest.mark.skipif([*ALL_INPUTS] != INPUTS, reason="each table has rows in one of the inputs")
@pytest.mark.parametrize("table", sorted(DECLARED.keys() - NOT_PLAYED))
def test_each_table_has_rows_to_compare(played: Played, table: str) -> None:
    tables = [played["embedded"][name]["tables"]["commands"].get(table) for name in INPUTS]
    assert any(found and found["rows"] for found in tables)


@pytest.mark.parametrize("name", INPUTS)
def test_commands_answer(played: Played, name: str) -> None:
    """Else two engines would be equal in what they refuse."""
    said = played["embedded"][name]["said"]
    refused = {line for line, answer in said.items() if answer["code"] not in ("0", "4", "6")}
    assert refused == {DAMAGED}

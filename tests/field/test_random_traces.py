"""Random traces and Extended Events: nights have what each row means, and nothing else."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case
from tests.support.inputs import write_rows
from tests.support.random_extended_events import INSTANCE, Events, as_xml
from tests.support.random_traces import (
    DATABASES,
    QUEUES,
    SERVERS,
    Fact,
    Logged,
    Meaning,
    Night,
    TraceRow,
    World,
    fact,
    tell,
)

CATALOG = [
    {
        "name": server,
        "databases": [
            {"name": name, "queues": [{"name": queue} for queue in QUEUES.values()], "services": []}
            for name in DATABASES.values()
        ],
    }
    for server in (*SERVERS, INSTANCE)
]
TABLES = ("endpoint_events", "message_events", "queue_events", "sends")
SUMMED = ("accepted", "duplicates", "rejected", "pending")
OWN = ("event_type", "instance", "database", "conversation_handle", "message_sequence_number", "message_type")
NAMES = {"databases": DATABASES, "queues": QUEUES}


FORMATS = {"trace": "json", "flat": "parquet", "xml": "csv", "own": "json"}
"""Of the logs, and of the own table."""


def inputs() -> dict[str, Any]:
    """A trace with local times, two logs of Extended Events, and a procedure's own table."""
    return {
        "logs": [
            {
                "name": "trace",
                "path": "trace",
                "format": FORMATS["trace"],
                "mapping": "sql-trace",
                "zone": "Europe/Berlin",
                **NAMES,
            },
            {"name": "flat", "path": "flat", "format": FORMATS["flat"], "mapping": "xe-flat", **NAMES},
            {"name": "xml", "path": "xml", "format": FORMATS["xml"], "mapping": "xe-xml", **NAMES},
        ],
        "message_events": {
            "path": "own",
            "format": FORMATS["own"],
            "columns": {"event_time": "at", **{name: name for name in OWN}},
        },
    }


def in_one_column(event: TraceRow) -> TraceRow:
    """The XML of an event alone, in a column of any name."""
    return replace(event, values={"whatever": event.values["event_data"]})


@pytest.mark.long
def test_nights_have_what_the_rows_mean(session: SparkSession, tmp_path: Path) -> None:
    """Two nights on random rows; of one event there is the beginning alone."""
    folder, seed, conversations = tmp_path, 25, 60
    world = World(seed, conversations=conversations)
    flat, xml = Events(seed, count=conversations), Events(seed + 1000, count=conversations)
    traces = world.files(number=4, overlap=40)
    logged: list[list[Logged]] = [[], []]
    for row in world.logged:
        logged[world.rng.randrange(2)].append(row)
    # The second file of a night repeats rows of the first; the second night reads the trace alone.
    middle = conversations // 2
    of_xml = [in_one_column(as_xml(row)) for row in xml.rows]
    cut = {"whatever": of_xml[0].values["whatever"][:200]}
    of_xml.append(TraceRow(xml.rows[0].at, cut, Meaning(rejected="broken_row")))
    of_logs = {
        "trace": [traces[:2], traces[2:]],
        "flat": [[flat.rows[: middle + 5], flat.rows[middle:]], []],
        "xml": [[of_xml], []],
    }
    expected = {name: tell(nights, logged if name == "trace" else ()) for name, nights in of_logs.items()}
    # The second night ends transactions that events of the first wait for, and acknowledges messages of it.
    first, second = expected["trace"]
    assert first.pending - second.pending
    assert [key for key, moment in first.acknowledged.items() if not moment and second.acknowledged[key]]
    case = Case(folder)
    case.set_catalog(*CATALOG)
    case.configure(inputs=inputs(), quality={"max_rejected_share": 1})
    for night in range(2):
        for name, nights in of_logs.items():
            for number, rows in enumerate(nights[night]):
                write_rows(folder / name / f"{night}-{number}.{FORMATS[name]}", [row.values for row in rows])
        own = [{"at": row.at.isoformat(), **row.values} for row in logged[night]]
        write_rows(folder / "own" / f"{night}.{FORMATS['own']}", own)
        case.fold()
        require_tables(case, [told[night] for told in expected.values()])
        for name, told in expected.items():
            if not of_logs[name][night]:
                continue
            before, after = (told[night - 1] if night else Night()), told[night]
            found = {"pending": after.pending.total(), "rejected": after.rejected.total(), **after.counts}
            accepted = after.facts.total() - before.facts.total()
            require_counts(case, night + 1, f"logs/{name}", {"accepted": accepted, **found})
        reasons = {
            (f"logs/{name}", reason)
            for name, told in expected.items()
            for each in told[: night + 1]
            for reason in each.rejected
        }
        assert {(row["source"], row["reason"]) for row in case.table("rejected_events")} == reasons
        before, after = (expected["trace"][night - 1] if night else Night()), expected["trace"][night]
        accepted = after.logged.total() - before.logged.total()
        found = {"accepted": accepted, "pending": after.unknown}
        require_counts(case, night + 1, "message_events", found)


def require_tables(case: Case, nights: Sequence[Night]) -> None:
    """Require that the tables have what the logs mean, and that the events wait which they say."""
    facts = sum((each.facts + each.logged for each in nights), Counter[Fact]())
    found = facts_of(case, facts)
    assert (found - facts, facts - found) == (Counter(), Counter())
    pending = sum((each.pending for each in nights), Counter[Fact]())
    said = [dict(values) for _, values in pending.elements()]
    waiting = Counter((values["conversation_id"], values["event_type"]) for values in said)
    assert waiting_of(case) == waiting
    acknowledged = {key: moment for each in nights for key, moment in each.acknowledged.items()}
    names = {name for _, values in acknowledged for name, _ in values}
    sends = case.table("sends")
    told = {fact("sends", {name: row[name] for name in names}): row["acknowledged_at"] for row in sends}
    assert told == acknowledged


def facts_of(case: Case, expected: Counter[Fact]) -> Counter[Fact]:
    """What the tables have, in the columns that the events say."""
    columns = {(table, name) for table, values in expected for name, _ in values}
    return Counter(
        fact(table, {name: row[name] for name in row if (table, name) in columns})
        for table in TABLES
        for row in case.table(table)
    )


def waiting_of(case: Case) -> Counter[tuple[str, str]]:
    """The conversations and types of pending events of logs."""
    rows = [row for row in case.table("pending_events") if row["source"].startswith("logs/")]
    payloads = [json.loads(row["payload"]) for row in rows]
    return Counter((said["conversation_id"].upper(), said["event_type"]) for said in payloads)


def require_counts(case: Case, batch: int, source: str, counts: dict[str, int]) -> None:
    """Require that the counts of a batch make its events, and are these; zeros are left out."""
    [row] = [row for row in case.table("batches") if (row["batch"], row["source"]) == (batch, source)]
    assert row["events"] == sum(row[name] for name in SUMMED)
    found = {name: row[name] for name in ("accepted", "rejected", "pending")} | dict(row["counts"] or {})
    known = {name: count for name, count in counts.items() if count}
    assert {name: count for name, count in found.items() if count} == known, source

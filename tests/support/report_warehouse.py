"""Warehouses for the page: something of everything, with nasty names."""

from datetime import datetime, timedelta
from pathlib import Path

import yaml
from pyspark.sql import SparkSession

from pipelines.report.content import read_tables
from pipelines.report.findings import read_findings
from pipelines.report.over_time import SUMS
from pipelines.report.page import render_page
from pipelines.settings.load import Settings, load_settings
from pipelines.storage.published import published_as_of
from pipelines.storage.warehouse import Warehouse
from schemas import TABLES
from schemas.reading import as_of_key
from tests.support.factories import Row, at, message_event, rule
from tests.support.written import batch, ended_run, endpoint, received, sent, write as put

AS_OF = at(60)
NIGHT_BEFORE = at(60, day=-1)
NASTY = """</script><img src=x onerror="document.title='owned'"><!--"""
"""A queue's name that would break out of a script element, or become an element."""
SMALL_QUEUES = 40


def of_as_of(as_of: datetime) -> Row:
    return {"as_of": as_of, "as_of_key": as_of_key(as_of)}


OF_AS_OF = of_as_of(AS_OF)


def monitored(queue: str, advice: str, need: float) -> Row:
    return {
        **OF_AS_OF,
        "instance": "SQL1",
        "database": "A",
        "queue": queue,
        "mode": "internal",
        "max_queue_readers": 2,
        "need_seconds": need,
        "short_seconds": need / 2,
        "activations": 3,
        "most_ready": 12,
        "most_ready_at": at(3),
        "groups_ready": 4,
        "groups_free": 2,
        "ready_at_end": 12,
        "is_on": True,
        "off_since": None,
        "advice": advice,
        "sentence": f"{queue}: one more reader would help",
        "oddities": {},
    }


def run(run_id: str, as_of: datetime, status: str = "succeeded", *, started: int = 1, **sums: int) -> Row:
    began = as_of + timedelta(minutes=started)
    counted = dict.fromkeys(SUMS, 0) | sums if status == "succeeded" else {}
    return ended_run(
        run_id,
        as_of,
        status,
        started_at=began,
        finished_at=began + timedelta(seconds=100),
        reconciliation=counted,
    )


def everything() -> dict[str, list[Row]]:
    """Something of everything, by table."""
    rejected = {"run_id": "r2", "first_seen": AS_OF, "payload": "{}"}
    return {
        "receive_schedule": [
            *[received("OrderQueue", position) for position in range(1, 13)],
            *[received("OrderQueue", None, message_id=f"held {number}") for number in range(2)],
            *[received(NASTY, position) for position in range(1, 4)],
            received("Trailing ", None, state="queue_off", held_source="catalog"),
            *[received(f"Queue {number:02}", 1, priority=1) for number in range(SMALL_QUEUES)],
            received("OrderQueue", 1, **of_as_of(NIGHT_BEFORE), message_id="of another night"),
        ],
        "transmission_schedule": [
            sent(1, transmit_priority=10, elevated=True, sendable_at=at(30)),
            sent(2),
            sent(3, forwarded=True, priority=None, to_service=None, destination_instance=None),
            sent(1, instance="SQL2"),
        ],
        "priority_rules": [rule(name, 9, valid_from=at(0, day=-30)) for name in ("Gold", "Unused")],
        "endpoints": [
            *[endpoint(f"c{n}", False, database="A", rule_name="Gold", priority=9) for n in range(1, 9)],
            *[endpoint(f"d{n}") for n in range(3)],
            endpoint("left alone", created_at=at(0, day=-8)),
        ],
        "message_events": [message_event("SENT", f"c{n}/{m}") for n in range(1, 9) for m in range(2)],
        "activation_summary": [
            monitored("Queue 00", "keeps_up", 500.0),
            monitored("OrderQueue", "raise_max_queue_readers", 240.0),
        ],
        "batches": [batch(number, events=10, accepted=7, duplicates=1, rejected=2) for number in (1, 2)],
        "rejected_events": [
            {**rejected, "source": "message_events", "event_id": f"e{number}", "reason": reason}
            for number, reason in enumerate(
                ["message_id is null", "message_id is null", "unknown event_type"]
            )
        ],
        "unresolved": [
            {**OF_AS_OF, "kind": "receive", "id": f"u{number}", "reason": "endpoint_unknown"}
            for number in range(3)
        ],
        "runs": [
            run("r0", NIGHT_BEFORE, open_receive=50, open_transmission=3),
            run("r1", AS_OF, "failed"),
            run(
                "r2", AS_OF, started=2, open_receive=61, open_transmission=3, unresolved_receive=3, events=20
            ),
            run("r3", at(60, day=1), "failed"),
        ],
    }


def settings_in(folder: Path) -> str:
    """Write settings whose warehouse is a folder beside them; their path."""
    (folder / "catalog.yaml").write_text("instances: []\n")
    inputs = {name: {"path": name, "format": "json"} for name in ("endpoint_events", "message_events")}
    content = {"warehouse": "warehouse", "inputs": inputs, "catalog": "catalog.yaml"}
    (folder / "settings.yaml").write_text(yaml.safe_dump(content))
    return str(folder / "settings.yaml")


def write(spark: SparkSession, folder: Path, tables: dict[str, list[Row]]) -> Settings:
    """Write tables into a warehouse, and settings that name it."""
    settings = load_settings(settings_in(folder))
    warehouse = Warehouse(spark, settings.warehouse)
    for name, rows in tables.items():
        put(warehouse, TABLES[name], rows)
    return settings


def page_of(spark: SparkSession, settings: Settings, as_of: datetime | None) -> str:
    """The page, as the job makes it."""
    warehouse = Warehouse(spark, settings.warehouse)
    moment = published_as_of(warehouse, settings, as_of)
    shown = read_tables(warehouse, moment) | read_findings(warehouse, settings, moment)
    return render_page(moment, shown)

"""The metrics of an as_of, from a warehouse of a few rows."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

from pipelines.config.errors import ConfigError
from pipelines.metrics.read import MOST_REASONS, OTHER, REASON_LENGTH, read_metrics
from pipelines.storage.warehouse import Warehouse
from tests.support.factories import Row, at, endpoint_event
from tests.support.report_warehouse import AS_OF, NIGHT_BEFORE, OF_AS_OF, of_as_of, write
from tests.support.written import ended_run, endpoint, sent

QUEUE = {**OF_AS_OF, "kind": "receive", "instance": "SQL1", "database": "A", "queue": "Q"}
SENDING = {**OF_AS_OF, "kind": "transmission", "instance": "SQL1"}
KEPT = {"findings": 4, "waits": 3}
LONG = "The certificate of the far side is not trusted, and nobody may say why it would be, see "


def wait(place: Row, level: int, ready: int, held: int) -> Row:
    return {
        **place,
        "level": level,
        "ready": ready,
        "held": held,
        "oldest_seconds": 60 * level,
        "p95_seconds": 7.5 * level,
    }


def finding(place: Row, code: str, severity: str, messages: int) -> Row:
    return {**place, "code": code, "severity": severity, "messages": messages, "conversations": messages}


def unsent(position: int, text: str | None, **changes: object) -> Row:
    return sent(position, why_still_here=text, **changes)


def tables() -> dict[str, list[Row]]:
    """A queue, two transmission queues, what the server says of them, and what is expected."""
    return {
        "waits": [
            wait(QUEUE, 9, 4, 0),
            wait(QUEUE, 5, 1, 2),
            wait(SENDING, 5, 30, 0),
            wait({**QUEUE, **of_as_of(NIGHT_BEFORE)}, 1, 99, 0),
        ],
        "findings": [
            finding(QUEUE, "queue_off", "stopped", 3),
            finding({**QUEUE, "queue": "Other"}, "queue_off", "stopped", 0),
            finding(SENDING, "transmission_status", "stopped", 30),
            finding({**OF_AS_OF, "kind": "unresolved"}, "endpoint_unknown", "stopped", 2),
        ],
        "transmission_schedule": [
            *[unsent(number, f"{LONG}Msg {number}") for number in range(1, 4)],
            unsent(4, f"{LONG}Msg 4", instance="SQL2"),
            *[unsent(10 + number, f"Text {'abcdefghijklmnopqrstuvwxyz'[number]}") for number in range(25)],
            unsent(60, None),
        ],
        "unresolved": [
            {**OF_AS_OF, "kind": "receive", "id": f"u{number}", "reason": "endpoint_unknown"}
            for number in range(2)
        ],
        "expectations": [
            {**OF_AS_OF, "name": name, "value": value, "limit": 1.0, "met": met, "messages": 1}
            for name, value, met in (("good", 1.0, True), ("bad", 2.0, False), ("nothing", None, True))
        ],
        "endpoints": [
            endpoint("c1"),
            endpoint("c2", instance="SQL9"),
            endpoint("left alone", created_at=at(0, day=-1)),
        ],
        "endpoint_events": [
            endpoint_event("END_CONVERSATION", "left alone", is_initiator=False, event_time=at(-60))
        ],
        "snapshots": [
            {
                "batch": 1,
                "instance": "SQL1",
                "database": "A",
                "taken_at": at(minute),
                "view": "services",
                "complete": True,
            }
            for minute in (0, 50, 70)
        ],
        "runs": [
            ended_run("r0", NIGHT_BEFORE),
            ended_run("r1", AS_OF, row_counts={"receive_schedule": 1}),
            ended_run("r2", AS_OF, row_counts=KEPT, started_at=at(62), finished_at=at(64)),
        ],
    }


@pytest.fixture(scope="module")
def text(embedded: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    settings = write(embedded, tmp_path_factory.mktemp("metrics"), tables())
    return read_metrics(Warehouse(embedded, settings.warehouse), settings, AS_OF)


@pytest.fixture(scope="module")
def samples(text: str) -> Mapping[str, list[tuple[Row, float]]]:
    found: dict[str, list[tuple[Row, float]]] = {}
    for family in text_string_to_metric_families(text):
        found[family.name] = [(sample.labels, sample.value) for sample in family.samples]
    return found


def of(samples: Mapping[str, list[tuple[Row, float]]], name: str) -> list[tuple[tuple[str, ...], float]]:
    return [(tuple(labels.values()), value) for labels, value in samples[f"service_broker_{name}"]]


def test_messages_and_waits(samples: Mapping[str, list[tuple[Row, float]]]) -> None:
    queue, sending = ("receive", "SQL1", "A", "Q"), ("transmission", "SQL1", "", "")
    assert of(samples, "messages") == [
        ((*queue, "5", "ready"), 1),
        ((*queue, "5", "held"), 2),
        ((*queue, "9", "ready"), 4),
        ((*sending, "5", "ready"), 30),
    ]
    waits = [((*queue, "5"), 300), ((*queue, "9"), 540), ((*sending, "5"), 300)]
    assert of(samples, "oldest_wait_seconds") == waits
    assert of(samples, "p95_wait_seconds") == [(labels, value / 8) for labels, value in waits]
    labels, _ = samples["service_broker_messages"][0]
    assert list(labels) == ["kind", "instance", "database", "queue", "level", "state"]


def test_findings_are_rows_also_without_messages(samples: Mapping[str, list[tuple[Row, float]]]) -> None:
    assert of(samples, "findings") == [
        (("endpoint_unknown", "stopped", "", ""), 1),
        (("queue_off", "stopped", "SQL1", "A"), 2),
        (("transmission_status", "stopped", "SQL1", ""), 1),
    ]


def test_reasons_are_few_and_have_no_numbers(samples: Mapping[str, list[tuple[Row, float]]]) -> None:
    found = dict(of(samples, "transmission_status_messages"))
    long = LONG[:REASON_LENGTH]
    assert (found["SQL1", long], found["SQL2", long]) == (3, 1)
    assert found["SQL1", OTHER] == 25 - (MOST_REASONS - 1)
    assert len({reason for _, reason in found}) == MOST_REASONS + 1
    assert sum(found.values()) == 29


def test_what_has_no_labels(samples: Mapping[str, list[tuple[Row, float]]]) -> None:
    names = ("unresolved", "leaked_conversations", "run_duration_seconds", "run_finished_timestamp_seconds")
    assert [of(samples, name) for name in names] == [
        [((), 2)],
        [((), 1)],
        [((), 120)],
        [((), at(64).timestamp())],
    ]


def test_what_was_not_measured_is_not_met(samples: Mapping[str, list[tuple[Row, float]]]) -> None:
    assert of(samples, "expectation_met") == [(("bad",), 0), (("good",), 1), (("nothing",), 0)]


def test_the_age_is_that_of_the_newest_snapshot(samples: Mapping[str, list[tuple[Row, float]]]) -> None:
    """No input shows a fact of SQL9."""
    assert of(samples, "data_age_seconds") == [(("SQL1", "A"), 600)]


def test_promtool_finds_nothing(text: str) -> None:
    if (promtool := shutil.which("promtool")) is None:
        pytest.skip("promtool is not installed")
    checked = subprocess.run([promtool, "check", "metrics"], input=text, text=True, capture_output=True)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_an_as_of_of_an_older_version_is_refused(embedded: SparkSession, tmp_path: Path) -> None:
    settings = write(embedded, tmp_path, {"runs": [ended_run("r0", AS_OF, row_counts={"unresolved": 1})]})
    with pytest.raises(ConfigError, match="an older version published it, without the tables findings"):
        read_metrics(Warehouse(embedded, settings.warehouse), settings, AS_OF)

"""The metrics of an as_of, from a warehouse of a few rows."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import ascii_lowercase

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

from pipelines.config.errors import ConfigError
from pipelines.metrics.read import MOST_REASONS, OTHER, REASON_LENGTH, read_metrics
from pipelines.storage.warehouse import Warehouse
from tests.support.factories import Row, at, endpoint_event
from tests.support.report_warehouse import AS_OF, NIGHT_BEFORE, OF_AS_OF, of_as_of, write
from tests.support.written import ended_run, endpoint, sent

PLACE = {"instance": "SQL1", "database": "A"}
QUEUE = {**OF_AS_OF, **PLACE, "kind": "receive", "queue": "Q"}
SENDING = {**OF_AS_OF, "kind": "transmission", "instance": "SQL1"}
Samples = Mapping[str, Sequence[tuple[tuple[str, ...], float]]]
KEPT = {"findings": 4, "waits": 3}
LONG = "The certificate of the far side is not trusted, and nobody may say why it would be, see "


def wait(place: Row, level: int, ready: int, held: int) -> Row:
    seconds = {"oldest_seconds": 60 * level, "p95_seconds": 7.5 * level}
    return {**place, "level": level, "ready": ready, "held": held, **seconds}


def finding(place: Row, code: str, severity: str, messages: int) -> Row:
    return {**place, "code": code, "severity": severity, "messages": messages, "conversations": messages}


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
            *[sent(number, why_still_here=f"{LONG}Msg {number}") for number in range(1, 4)],
            sent(4, why_still_here=f"{LONG}Msg 4", instance="SQL2"),
            *[sent(10 + number, why_still_here=f"Text {ascii_lowercase[number]}") for number in range(25)],
            sent(60, why_still_here=None),
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
            {"batch": 1, **PLACE, "taken_at": at(minute), "view": "services", "complete": True}
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
def samples(text: str) -> Samples:
    """The values of labels, with the figure, of each metric by its name."""
    return {
        family.name.removeprefix("service_broker_"): [
            (tuple(sample.labels.values()), sample.value) for sample in family.samples
        ]
        for family in text_string_to_metric_families(text)
    }


def test_messages_and_waits(text: str, samples: Samples) -> None:
    queue, sending = ("receive", "SQL1", "A", "Q"), ("transmission", "SQL1", "", "")
    labels = 'kind="receive",instance="SQL1",database="A",queue="Q",level="5",state="ready"'
    assert f"service_broker_messages{{{labels}}} 1\n" in text
    assert samples["messages"] == [
        ((*queue, "5", "ready"), 1),
        ((*queue, "5", "held"), 2),
        ((*queue, "9", "ready"), 4),
        ((*sending, "5", "ready"), 30),
    ]
    waits = [((*queue, "5"), 300), ((*queue, "9"), 540), ((*sending, "5"), 300)]
    assert samples["oldest_wait_seconds"] == waits
    assert samples["p95_wait_seconds"] == [(labels, value / 8) for labels, value in waits]


def test_findings_are_rows_also_without_messages(samples: Samples) -> None:
    assert samples["findings"] == [
        (("endpoint_unknown", "stopped", "", ""), 1),
        (("queue_off", "stopped", "SQL1", "A"), 2),
        (("transmission_status", "stopped", "SQL1", ""), 1),
    ]


def test_reasons_are_few_and_have_no_numbers(samples: Samples) -> None:
    found = dict(samples["transmission_status_messages"])
    long = LONG[:REASON_LENGTH]
    assert (found["SQL1", long], found["SQL2", long]) == (3, 1)
    assert found["SQL1", OTHER] == 25 - (MOST_REASONS - 1)
    assert len({reason for _, reason in found}) == MOST_REASONS + 1
    assert sum(found.values()) == 29


def test_what_has_no_labels(samples: Samples) -> None:
    names = ("unresolved", "leaked_conversations", "run_duration_seconds", "run_finished_timestamp_seconds")
    assert [samples[name] for name in names] == [
        [((), 2)],
        [((), 1)],
        [((), 120)],
        [((), at(64).timestamp())],
    ]


def test_what_was_not_measured_is_not_met(samples: Samples) -> None:
    assert samples["expectation_met"] == [(("bad",), 0), (("good",), 1), (("nothing",), 0)]


def test_the_age_is_that_of_the_newest_snapshot(samples: Samples) -> None:
    """No input shows a fact of SQL9."""
    assert samples["data_age_seconds"] == [(("SQL1", "A"), 600)]


def test_promtool_finds_nothing(text: str) -> None:
    if (promtool := shutil.which("promtool")) is None:
        pytest.skip("promtool is not installed")
    checked = subprocess.run([promtool, "check", "metrics"], input=text, text=True, capture_output=True)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_an_as_of_of_an_older_version_is_refused(embedded: SparkSession, tmp_path: Path) -> None:
    settings = write(embedded, tmp_path, {"runs": [ended_run("r0", AS_OF, row_counts={"unresolved": 1})]})
    with pytest.raises(ConfigError, match="an older version published it, without the tables findings"):
        read_metrics(Warehouse(embedded, settings.warehouse), settings, AS_OF)

"""The catalog: its rows, its defaults, and what contradicts itself."""

from pathlib import Path

import pytest

from pipelines.config.catalog import Catalog, load_catalog
from pipelines.config.errors import ConfigError

TWO_DATABASES = """\
instances:
  - name: SQL1
    databases:
      - name: InitiatorDB
        honor_broker_priority: true
        queues:
          - name: InitiatorQueue
            status: on
            activation: {status: on, procedure: dbo.ReadReplies, max_queue_readers: 4}
          - {name: Spare, status: "OFF", activation: {status: off, procedure: p}}
        services:
          - {name: InitiatorService, queue: InitiatorQueue}
          - {name: ' initiatorservice', queue: InitiatorQueue}
      - name: TargetDB
        queues:
          - {name: TargetQueue, event_notification: {timeout_seconds: 30}}
          - {name: Audit, activation: {}}
        services:
          - {name: InitiatorService, queue: TargetQueue}
  - name: SQL2
    databases:
      - {name: InitiatorDB, queues: null}
  - {name: SQL3}
"""


def load(tmp_path: Path, content: str) -> Catalog:
    path = tmp_path / "catalog.yaml"
    path.write_text(content, encoding="utf-8")
    return load_catalog(str(path))


def refusal(tmp_path: Path, content: str) -> list[str]:
    """The lines of the error, without the folder."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, content)
    return str(caught.value).replace(f"{tmp_path}/", "").split("\n")


def test_rows(tmp_path: Path) -> None:
    catalog = load(tmp_path, TWO_DATABASES)
    assert [*catalog.database_rows()] == [
        ("SQL1", "InitiatorDB", True),
        ("SQL1", "TargetDB", False),
        ("SQL2", "InitiatorDB", False),
    ]
    assert [*catalog.queue_rows()] == [
        ("SQL1", "InitiatorDB", "InitiatorQueue", True),
        ("SQL1", "InitiatorDB", "Spare", False),
        ("SQL1", "TargetDB", "TargetQueue", True),
        ("SQL1", "TargetDB", "Audit", True),
    ]
    assert [*catalog.service_bindings()] == [
        ("SQL1", "InitiatorDB", "InitiatorService", "InitiatorQueue"),
        ("SQL1", "InitiatorDB", " initiatorservice", "InitiatorQueue"),
        ("SQL1", "TargetDB", "InitiatorService", "TargetQueue"),
    ]
    assert [*catalog.monitor_rows()] == [
        ("SQL1", "InitiatorDB", "InitiatorQueue", "internal", 4, None),
        ("SQL1", "TargetDB", "TargetQueue", "external", None, 30.0),
        ("SQL1", "TargetDB", "Audit", "internal", 1, None),
    ]


@pytest.mark.parametrize("content", ["instances: []\n", "instances:\n", "{}\n"])
def test_a_catalog_may_mention_nothing(tmp_path: Path, content: str) -> None:
    assert load(tmp_path, content) == Catalog()


@pytest.mark.parametrize(
    ("written", "on"),
    [
        *((word, True) for word in ("on", "ON", "oN", "true", "yes", "'on'", "'On'", '"TRUE"', "null")),
        *((word, False) for word in ("off", "Off", "false", "no", "'OFF'", "'false'")),
    ],
)
def test_spellings_of_on_and_off(tmp_path: Path, written: str, on: bool) -> None:
    queue = f"{{name: Q, status: {written}, activation: {{status: {written}}}}}"
    catalog = load(tmp_path, f"instances: [{{name: I, databases: [{{name: D, queues: [{queue}]}}]}}]\n")
    assert [*catalog.queue_rows()] == [("I", "D", "Q", on)]
    assert len([*catalog.monitor_rows()]) == on


DATABASE = "instances[0].databases[0]"
QUEUE = "instances:\n- name: I\n  databases:\n  - name: D\n    queues:\n    - "


@pytest.mark.parametrize(
    ("content", "line"),
    [
        pytest.param("", "1:1: is nothing; write a mapping (key: value)", id="empty"),
        pytest.param("- a\n", "1:1: is a list; write a mapping (key: value)", id="list"),
        pytest.param(
            "instance: []\n", "1:1: instance: unknown key; did you mean 'instances'?", id="unknown key"
        ),
        pytest.param("instances: {}\n", "1:12: instances: is a mapping; write a list (- item)", id="no list"),
        pytest.param(
            QUEUE + "{name: Q, colour: red}\n",
            f"6:17: {DATABASE}.queues[0].colour: unknown key; "
            "write one of name, status, activation, event_notification",
            id="unknown key unlike any",
        ),
        pytest.param(
            QUEUE + "{name: on}\n",
            f"6:14: {DATABASE}.queues[0].name: on is not text to YAML; write it in quotes: 'on'",
            id="name on",
        ),
        pytest.param(
            QUEUE + "{name: 123}\n",
            f"6:14: {DATABASE}.queues[0].name: 123 is not text to YAML; write it in quotes: '123'",
            id="number as name",
        ),
        pytest.param(
            QUEUE + "{name: 2026-01-01}\n",
            f"6:14: {DATABASE}.queues[0].name: 2026-01-01 is not text to YAML; "
            "write it in quotes: '2026-01-01'",
            id="date as name",
        ),
        pytest.param(
            QUEUE + "{name: ''}\n",
            f"6:14: {DATABASE}.queues[0].name: is empty; write at least one character",
            id="empty name",
        ),
        pytest.param(
            QUEUE + "{name: }\n",
            f"6:14: {DATABASE}.queues[0].name: is nothing; write one text",
            id="null name",
        ),
        pytest.param(
            QUEUE + "{status: on}\n",
            f"6:7: {DATABASE}.queues[0].name: is missing; add name: and its value",
            id="no name",
        ),
        pytest.param(
            QUEUE + "{name: Q, status: 1}\n",
            f"6:25: {DATABASE}.queues[0].status: must be on or off; write one of them",
            id="status 1",
        ),
        pytest.param(
            QUEUE + "{name: Q, activation: {max_queue_readers: 32768}}\n",
            f"6:49: {DATABASE}.queues[0].activation.max_queue_readers: is 32768; write 32767 or less",
            id="too many readers",
        ),
        pytest.param(
            QUEUE + "{name: Q, activation: {max_queue_readers: -1}}\n",
            f"6:49: {DATABASE}.queues[0].activation.max_queue_readers: is -1; write 0 or more",
            id="negative readers",
        ),
        pytest.param(
            QUEUE + "{name: Q, activation: {max_queue_readers: on}}\n",
            f"6:49: {DATABASE}.queues[0].activation.max_queue_readers: is on; "
            "write a whole number without quotes",
            id="readers on",
        ),
        pytest.param(
            QUEUE + "{name: Q, activation: on}\n",
            f"6:29: {DATABASE}.queues[0].activation: is on; write a mapping (key: value)",
            id="activation on",
        ),
        pytest.param(
            QUEUE + "{name: Q, event_notification: {timeout_seconds: 0}}\n",
            f"6:55: {DATABASE}.queues[0].event_notification.timeout_seconds: is 0; write a number above 0",
            id="no time-out",
        ),
        pytest.param(
            QUEUE + "{name: Q, activation: {status: off}, event_notification: {timeout_seconds: 9}}\n",
            f"6:44: {DATABASE}.queues[0].event_notification: "
            "the queue 'Q' has an activation as well; remove one of the two",
            id="two monitors",
        ),
        pytest.param(
            "instances:\n- name: I\n- name: J\n- name: I\n",
            "4:9: instances[2].name: the instance 'I' stands here twice, first on line 2; remove one",
            id="instance twice",
        ),
        pytest.param(
            "instances:\n- name: I\n  databases:\n  - name: D\n  - name: D\n",
            "5:11: instances[0].databases[1].name: the database 'D' of instance 'I' stands here twice, "
            "first on line 4; remove one",
            id="database twice",
        ),
        pytest.param(
            QUEUE + "name: Q\n    - name: Q\n",
            f"7:13: {DATABASE}.queues[1].name: the queue 'Q' of database 'D' stands here twice, "
            "first on line 6; remove one",
            id="queue twice",
        ),
        pytest.param(
            QUEUE + "name: Q\n    services:\n    - {name: S, queue: Q}\n    - {name: S, queue: Q}\n",
            f"9:14: {DATABASE}.services[1].name: the service 'S' of database 'D' stands here twice, "
            "first on line 8; remove one",
            id="service twice",
        ),
        pytest.param(
            QUEUE + "name: OrderQueue\n    services:\n    - {name: S, queue: OrderQeue}\n",
            f"8:24: {DATABASE}.services[0].queue: database 'D' has no queue 'OrderQeue'; "
            "did you mean 'OrderQueue'?",
            id="queue misspelt",
        ),
        pytest.param(
            "instances: [{name: I, databases: [{name: D, services: [{name: S, queue: Q}]}]}]\n",
            f"1:73: {DATABASE}.services[0].queue: database 'D' has no queue 'Q'; "
            "there is none to choose from",
            id="no queues at all",
        ),
    ],
)
def test_refused(tmp_path: Path, content: str, line: str) -> None:
    assert refusal(tmp_path, content) == [f"catalog.yaml:{line}"]


def test_all_problems_are_listed_in_the_order_of_the_file(tmp_path: Path) -> None:
    content = QUEUE + "{nam: Q, name: 5}\n    - {}\n  - {name: E, honor_broker_priority: perhaps}\n"
    assert [line.split(": ")[:2] for line in refusal(tmp_path, content)] == [
        ["catalog.yaml:6:8", "instances[0].databases[0].queues[0].nam"],
        ["catalog.yaml:6:22", "instances[0].databases[0].queues[0].name"],
        ["catalog.yaml:7:7", "instances[0].databases[0].queues[1].name"],
        ["catalog.yaml:8:38", "instances[0].databases[1].honor_broker_priority"],
    ]


def test_names_differ_byte_by_byte(tmp_path: Path) -> None:
    names = ["Café", "Cafe\u0301", "CAFÉ", "Café "]
    queues = ", ".join(f"{{name: '{name}'}}" for name in names)
    catalog = load(tmp_path, f"instances: [{{name: I, databases: [{{name: D, queues: [{queues}]}}]}}]\n")
    assert [queue for _, _, queue, _ in catalog.queue_rows()] == names

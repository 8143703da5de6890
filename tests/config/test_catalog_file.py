"""The catalog: its rows, its defaults, and what contradicts itself."""

from pathlib import Path

import pytest

from pipelines.config.catalog import Catalog, load_catalog
from tests.support.cases import cases, lines_of_error

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
    lines = lines_of_error(tmp_path, load, tmp_path, content)
    return [line.removeprefix("catalog.yaml:") for line in lines]


def test_rows(tmp_path: Path) -> None:
    assert load(tmp_path, "instances:\n") == load(tmp_path, "{}\n") == Catalog()
    catalog = load(tmp_path, TWO_DATABASES)
    one, other = ("SQL1", "InitiatorDB"), ("SQL1", "TargetDB")
    assert [*catalog.database_rows()] == [(*one, True), (*other, False), ("SQL2", "InitiatorDB", False)]
    assert [*catalog.queue_rows()] == [
        (*one, "InitiatorQueue", True),
        (*one, "Spare", False),
        (*other, "TargetQueue", True),
        (*other, "Audit", True),
    ]
    assert [*catalog.service_bindings()] == [
        (*one, "InitiatorService", "InitiatorQueue"),
        (*one, " initiatorservice", "InitiatorQueue"),
        (*other, "InitiatorService", "TargetQueue"),
    ]
    assert [*catalog.monitor_rows()] == [
        (*one, "InitiatorQueue", "internal", 4, None),
        (*other, "TargetQueue", "external", None, 30.0),
        (*other, "Audit", "internal", 1, None),
    ]


QUEUE = "instances:\n- name: I\n  databases:\n  - name: D\n    queues:\n    - "


def test_spellings_of_on_and_off(tmp_path: Path) -> None:
    spellings = dict.fromkeys(("on", "oN", "yes", "'On'", '"TRUE"', "null"), True)
    spellings |= dict.fromkeys(("Off", "no", "'OFF'", "'false'"), False)
    for written, is_on in spellings.items():
        catalog = load(
            tmp_path, f"{QUEUE}{{name: Q, status: {written}, activation: {{status: {written}}}}}\n"
        )
        assert [*catalog.queue_rows()] == [("I", "D", "Q", is_on)], written
        assert len([*catalog.monitor_rows()]) == is_on, written


@pytest.mark.parametrize(
    ("content", "said"),
    cases("""
        => 1:1: is nothing; write a mapping (key: value)
        instance: []     => 1:1: instance: unknown key; did you mean 'instances'?
        instances: {}    => 1:12: instances: is a mapping; write a list (- key: value)

        instances:
        - name: I
        - name: J
        - name: I
        => 4:9: instances[2].name: the instance 'I' stands here twice, first on line 2; remove one

        instances:
        - name: I
          databases:
          - name: D
          - name: D
        => 5:11: instances[0].databases[1].name: the database 'D' of instance 'I' stands here twice,
           first on line 4; remove one

        instances: [{name: I, databases: [{name: D, services: [{name: S, queue: Q}]}]}]
        => 1:73: instances[0].databases[0].services[0].queue: database 'D' has no queue 'Q';
           there is none to choose from
    """),
)
def test_refused(tmp_path: Path, content: str, said: list[str]) -> None:
    assert refusal(tmp_path, f"{content}\n") == said


@pytest.mark.parametrize(
    ("queue", "said"),
    cases("""
        {name: on}            => 6:14: queues[0].name: on is not text to YAML; write it in quotes: 'on'
        {name: 2026-01-01}
        => 6:14: queues[0].name: 2026-01-01 is not text to YAML; write it in quotes: '2026-01-01'
        {name: ''}            => 6:14: queues[0].name: is empty; write at least one character
        {name: }              => 6:14: queues[0].name: is nothing; write one text
        {status: on}          => 6:7: queues[0].name: is missing; add name: and its value
        {name: Q, status: 1}  => 6:25: queues[0].status: must be on or off; write one of them
        {name: Q, colour: red}
        => 6:17: queues[0].colour: unknown key; write one of name, status, activation, event_notification
        {name: Q, activation: {max_queue_readers: 32768}}
        => 6:49: queues[0].activation.max_queue_readers: is 32768; write 32767 or less
        {name: Q, activation: {max_queue_readers: -1}}
        => 6:49: queues[0].activation.max_queue_readers: is -1; write 0 or more
        {name: Q, activation: on}
        => 6:29: queues[0].activation: is on; write a mapping (key: value), or null for none
        {name: Q, event_notification: {timeout_seconds: 0}}
        => 6:55: queues[0].event_notification.timeout_seconds: is 0; write a number above 0
        {name: Q, activation: {status: off}, event_notification: {timeout_seconds: 9}}
        => 6:44: queues[0].event_notification: the queue 'Q' has an activation as well; remove one of the two

        name: Q
            - name: Q
        => 7:13: queues[1].name: the queue 'Q' of database 'D' stands here twice, first on line 6; remove one

        name: Q
            services:
            - {name: S, queue: Q}
            - {name: S, queue: Q}
        => 9:14: services[1].name: the service 'S' of database 'D' stands here twice, first on line 8;
           remove one

        name: OrderQueue
            services:
            - {name: S, queue: OrderQeue}
        => 8:24: services[0].queue: database 'D' has no queue 'OrderQeue'; did you mean 'OrderQueue'?
    """),
)
def test_a_refused_queue(tmp_path: Path, queue: str, said: list[str]) -> None:
    """A queue, or what follows the first one, in the only database."""
    lines = refusal(tmp_path, f"{QUEUE}{queue}\n")
    assert [line.replace(" instances[0].databases[0].", " ", 1) for line in lines] == said


def test_all_problems_are_listed_in_the_order_of_the_file(tmp_path: Path) -> None:
    content = QUEUE + "{nam: Q, name: 5}\n    - {}\n  - {name: E, honor_broker_priority: perhaps}\n"
    assert [line.split(": ")[:2] for line in refusal(tmp_path, content)] == [
        ["6:8", "instances[0].databases[0].queues[0].nam"],
        ["6:22", "instances[0].databases[0].queues[0].name"],
        ["7:7", "instances[0].databases[0].queues[1].name"],
        ["8:38", "instances[0].databases[1].honor_broker_priority"],
    ]


def test_names_differ_byte_by_byte(tmp_path: Path) -> None:
    names = ["Café", "Cafe\u0301", "CAFÉ", "Café "]
    catalog = load(tmp_path, QUEUE + "\n    - ".join(f"name: '{name}'" for name in names))
    assert [queue for _, _, queue, _ in catalog.queue_rows()] == names

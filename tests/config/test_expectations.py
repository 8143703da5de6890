"""What the settings may expect, and errors with their place."""

import json
from pathlib import Path

import pytest

from pipelines.settings.load import Settings, load_settings
from tests.support.cases import cases, lines_of_error

BEGIN = """\
warehouse: w
inputs:
  endpoint_events: {path: e, format: json}
  message_events: {path: m, format: json}
catalog: catalog.yaml
expect:
"""
CATALOG = """\
instances:
  - name: SQL1
    databases:
      - {name: A, queues: [{name: ClaimIntakeQueue}, {name: a.b}]}
      - {name: B, queues: [{name: ClaimIntakeQueue}]}
"""


def load(folder: Path, *entries: str) -> Settings:
    (folder / "catalog.yaml").write_text(CATALOG)
    (folder / "s.yaml").write_text(BEGIN + "".join(f"  - {entry}\n" for entry in entries))
    return load_settings(folder / "s.yaml")


def refusal(folder: Path, *entries: str) -> list[str]:
    lines = lines_of_error(folder, load, folder, *entries)
    return [line.removeprefix("s.yaml:") for line in lines]


def test_each_measure_has_its_limit_and_a_name(tmp_path: Path) -> None:
    limits = {
        "{name: gold waits, queue: ClaimIntakeQueue, oldest_wait: 10 min}": ("gold waits", 600),
        "{level_at_least: 8, share: 0.99}": ("level_at_least: 8, share: 0.99", 0.99),
        "{level_at_least: 8}": ("level_at_least: 8", 1),
        "{p95_wait: 5 min, level: 9}": ("p95_wait: 5 min, level: 9", 300),
        "{unresolved: 0}": ("unresolved: 0", 0),
        "{'leaked_conversations': 1000, name: null}": ("leaked_conversations: 1000", 1000),
        "{transmission_age: '30 min'}": ("transmission_age: 30 min", 1800),
    }
    settings = load(tmp_path, *limits)
    assert [(each.name, each.limit) for each in settings.expect] == [*limits.values()]
    assert settings.expect[5].days == 7
    assert json.loads(settings.describe())["expect"][3] == {
        "name": "p95_wait: 5 min, level: 9",
        "measure": "p95_wait",
        "p95_wait": 300,
        "level": 9,
    }


def test_nothing_is_expected(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert settings.expect == ()
    assert "expect" not in json.loads(settings.describe())


def test_durations(tmp_path: Path) -> None:
    seconds = {"0 s": 0, "90s": 90, "0.1 min": 6, "1.5h": 5400, ".5 d": 43_200, "1000000000 s": 1e9}
    settings = load(tmp_path, *(f"{{oldest_wait: {written}}}" for written in seconds))
    assert [each.limit for each in settings.expect] == [*seconds.values()]


def test_queues_of_the_catalog(tmp_path: Path) -> None:
    queues = ["ClaimIntakeQueue", "SQL1.B.ClaimIntakeQueue", "'[SQL1].A.[a.b]'", "a.b", "'[a.b]'"]
    assert len(load(tmp_path, *(f"{{oldest_wait: 1 h, queue: {queue}}}" for queue in queues)).expect) == 5


NO_DURATION = "write a number and a unit (s, min, h or d), like 10 min"


@pytest.mark.parametrize(
    ("entry", "said"),
    cases("""
        {oldest_wait: '10'}  => 7:19: expect[0].oldest_wait: is 10, without a unit; NO_DURATION
        {oldest_wait: -1 s}  => 7:19: expect[0].oldest_wait: '-1 s' is no duration; NO_DURATION
        {oldest_wait: 1  s}  => 7:19: expect[0].oldest_wait: '1  s' is no duration; NO_DURATION
        {p95_wait: true}     => 7:16: expect[0].p95_wait: is no duration; NO_DURATION
        {p95_wait: 5 mins}   => 7:16: expect[0].p95_wait: '5 mins' has an unknown unit; did you mean 'min'?
        {p95_wait: 12000 d}  => 7:16: expect[0].p95_wait: is '12000 d'; write 1000000000 s or less
        {oldest_wiat: 1 h}   => 7:6: expect[0].oldest_wiat: unknown key; did you mean 'oldest_wait'?
        {level_at_least: 0}  => 7:22: expect[0].level_at_least: is 0; write 1 or more
        {unresolved: -1}     => 7:18: expect[0].unresolved: is -1; write 0 or more
        {unresolved: 1.5}    => 7:18: expect[0].unresolved: is 1.5; write a whole number without quotes
        7                    => 7:5: expect[0]: is 7; write a mapping (key: value)
        {p95_wait: 5 s, level: 11}          => 7:28: expect[0].level: is 11; write 10 or less
        {level_at_least: 8, share: 2}       => 7:32: expect[0].share: is 2; write 1 or less
        {leaked_conversations: 1, days: 0}  => 7:37: expect[0].days: is 0; write a number above 0
        {name: '', unresolved: 0}           => 7:12: expect[0].name: is empty; write at least one character

        {queue: ClaimIntakeQueue}
        => 7:5: expect[0]: has no measure; add one of oldest_wait, p95_wait, transmission_age, level_at_least,
           unresolved, leaked_conversations, data_age
        {p95_wait: 1 h, oldest_wait: 2 h}
        => 7:21: expect[0].oldest_wait: is a second measure beside p95_wait; write an entry for each
        {transmission_age: 5 min, queue: ClaimIntakeQueue}
        => 7:31: expect[0].queue: does not go with transmission_age; remove it, or write one of instance,
           contract, service, remote_service, level, min_messages
        {oldest_wait: 5 min, share: 1}
        => 7:26: expect[0].share: does not go with oldest_wait; remove it, or write one of queue, instance,
           database, contract, service, remote_service, level, min_messages
        {leaked_conversations: 0, min_messages: 1}
        => 7:31: expect[0].min_messages: does not go with leaked_conversations; remove it, or write one of
           instance, database, contract, service, remote_service, days
        {oldest_wait: 1 h, queue: SQL1.B.ClaimIntakeQueu}
        => 7:31: expect[0].queue: 'SQL1.B.ClaimIntakeQueu' is no queue of the catalog; did you mean
           SQL1.A.ClaimIntakeQueue or SQL1.B.ClaimIntakeQueue?
    """),
)
def test_refused(tmp_path: Path, entry: str, said: list[str]) -> None:
    assert refusal(tmp_path, entry) == [line.replace("NO_DURATION", NO_DURATION) for line in said]


def test_equal_names_are_refused(tmp_path: Path) -> None:
    lines = refusal(
        tmp_path, "{unresolved: 0}", "{name: 'unresolved: 0', oldest_wait: 1 h}", "{unresolved: 0}"
    )
    why = "'unresolved: 0' is the name of the entry on line 7, too; write another name"
    assert lines == [f"8:12: expect[1].name: {why}", f"9:5: expect[2]: {why}"]

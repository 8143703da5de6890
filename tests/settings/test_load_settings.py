"""Settings: defaults, paths, rules in order, and errors with their place."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipelines.config.model import SparkSchema
from pipelines.settings.load import Settings, load_settings
from tests.support.cases import cases, lines_of_error

LEAST = """\
warehouse: ../warehouse
inputs:
  endpoint_events: {path: ../samples/endpoints, format: json}
  message_events: {path: /data/messages, format: delta}
catalog: catalog.yaml
"""

FULL = """\
warehouse: s3a://bucket/warehouse
inputs:
  endpoint_events: {path: file:///data/endpoints, format: parquet}
  message_events: {path: messages, format: csv}
  queue_events: {path: queues, format: json}
catalog: ./sub/../catalog.yaml
rules:
  - {path: b.yaml, instance: SQL1, effective_from: 2026-01-01}
  - {path: a.yaml}
receive: {top: 3}
transmission:
  starvation: {after_seconds: 0.5, raise_by: 2}
  blocks: {fragment_bytes: 4096, fragments: 8}
activation: {check_seconds: 2, empty_seconds: 0, window_hours: 1.5}
quality: {max_rejected_share: 0}
"""

A = "- {effective_from: 2025-06-01, instance: SQL2, database: D, create: {name: R, level: 3}}\n"
B = "- {database: D, create: {name: R}}\n- {database: D, alter: {name: R, level: 7}}\n"


def load(tmp_path: Path, content: str, **files: str) -> Settings:
    conf = tmp_path / "conf"
    conf.mkdir(exist_ok=True)
    for name, text in {"settings": content, "catalog": "instances: [{name: SQL1}]\n", **files}.items():
        (conf / f"{name}.yaml").write_text(text, encoding="utf-8")
    return load_settings(conf / "settings.yaml")


def refusal(tmp_path: Path, content: str, **files: str) -> list[str]:
    """The lines of the error; of those about the settings the place alone."""
    lines = lines_of_error(tmp_path / "conf", load, tmp_path, content, **files)
    return [line.removeprefix("settings.yaml:") for line in lines]


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    settings = load(tmp_path, LEAST)
    assert settings.path == f"{tmp_path}/conf/settings.yaml"
    assert [instance.name for instance in settings.catalog.instances] == ["SQL1"]
    assert settings.rule_history == ()
    described = json.loads(settings.describe())
    assert described["warehouse"] == f"{tmp_path}/warehouse"
    assert described["inputs"] == {
        "endpoint_events": {"path": f"{tmp_path}/samples/endpoints", "format": "json"},
        "message_events": {"path": "/data/messages", "format": "delta"},
        "queue_events": None,
    }
    assert (described["receive"], described["transmission"]) == (
        {"top": None},
        {"starvation": None, "blocks": None},
    )
    assert described["activation"] == {"check_seconds": 5, "empty_seconds": 5, "window_hours": 24}
    assert described["quality"]["max_rejected_share"] == 0.01


def test_null_is_the_same_as_left_out_but_for_activation(tmp_path: Path) -> None:
    for nulls in (
        "rules:\nreceive: null\ntransmission:\nactivation: {check_seconds: null}\nquality: ~\n",
        "rules: []\nreceive: {top: null}\ntransmission: {starvation: null, blocks: null}\nactivation: {}\n",
    ):
        assert load(tmp_path, LEAST + nulls) == load(tmp_path, LEAST)
    assert load(tmp_path, f"{LEAST}activation:\n").activation is None


def test_everything_given(tmp_path: Path) -> None:
    settings = load(tmp_path, FULL, a=A, b=B)
    assert settings.activation is not None
    assert settings.activation.check == timedelta(seconds=2)
    assert settings.activation.empty == timedelta(0)
    assert settings.activation.window == timedelta(minutes=90)
    assert [(v.instance, v.name, v.level, v.valid_from, v.valid_to) for v in settings.rule_history] == [
        ("SQL1", "R", 7, datetime(2026, 1, 1, tzinfo=UTC), None),
        ("SQL2", "R", 3, datetime(2025, 6, 1, tzinfo=UTC), None),
    ]
    conf, described = f"{tmp_path}/conf", settings.describe()
    assert json.loads(described) == {
        "warehouse": "s3a://bucket/warehouse",
        "inputs": {
            "endpoint_events": {"path": "file:///data/endpoints", "format": "parquet"},
            "message_events": {"path": f"{conf}/messages", "format": "csv"},
            "queue_events": {"path": f"{conf}/queues", "format": "json"},
        },
        "catalog": f"{conf}/catalog.yaml",
        "rules": [
            {"path": f"{conf}/b.yaml", "instance": "SQL1", "effective_from": "2026-01-01T00:00:00Z"},
            {"path": f"{conf}/a.yaml", "instance": None, "effective_from": None},
        ],
        "receive": {"top": 3},
        "transmission": {
            "starvation": {"after_seconds": 0.5, "raise_by": 2},
            "blocks": {"fragment_bytes": 4096, "fragments": 8},
        },
        "activation": {"check_seconds": 2, "empty_seconds": 0, "window_hours": 1.5},
        "quality": {"max_rejected_share": 0, "max_line_bytes": 16777216},
    }
    assert described == json.dumps(json.loads(described), sort_keys=True)


def test_the_warehouse_may_be_a_schema(tmp_path: Path) -> None:
    for written, name in (
        ("{catalog: null, schema: conversations}", "spark_catalog.conversations"),
        ("{catalog: lake, schema: Broker_2}", "lake.Broker_2"),
    ):
        settings = load(tmp_path, LEAST.replace("../warehouse", written))
        assert isinstance(settings.warehouse, SparkSchema)
        assert str(settings.warehouse) == json.loads(settings.describe())["warehouse"] == name


@pytest.mark.parametrize(
    ("written", "said"),
    cases("""
        {schema: 7}    => 1:21: warehouse.schema: 7 is not text to YAML; write it in quotes: '7'
        ''             => 1:12: warehouse: is empty; write at least one character
        [a]            => 1:12: warehouse: is a list; write one text

        {shema: conversations}
        => 1:13: warehouse.shema: unknown key; did you mean 'schema'?
        => 1:12: warehouse.schema: is missing; add schema: and its value

        {schema: my-tables, catalog: a.b}
        => 1:21: warehouse.schema: 'my-tables' is no name that Spark takes;
           write letters, digits and _, no digit first
        => 1:41: warehouse.catalog: 'a.b' is no name that Spark takes;
           write letters, digits and _, no digit first
    """),
)
def test_a_wrong_warehouse(tmp_path: Path, written: str, said: list[str]) -> None:
    assert refusal(tmp_path, LEAST.replace("../warehouse", written)) == said


def test_the_same_settings_are_described_alike(tmp_path: Path) -> None:
    first, *more, last = LEAST.splitlines()
    other = "\n".join([last, *more, first, "activation: {check_seconds: 5.0}"])
    assert load(tmp_path, other).describe() == load(tmp_path, LEAST).describe()


def test_from_another_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    absolute = load(tmp_path, FULL, a=A, b=B)
    monkeypatch.chdir(tmp_path)
    relative = load_settings(os.path.join("conf", "settings.yaml"))
    assert relative.inputs == absolute.inputs
    assert relative.describe() == absolute.describe()
    (tmp_path / "conf" / "a.yaml").write_text("- {name: R}\n")
    assert lines_of_error(tmp_path, load_settings, "conf/settings.yaml") == [
        "conf/a.yaml:1:4: [0].name: unknown key; write one of effective_from, instance, database, create, "
        "alter, drop"
    ]


def test_rules_at_the_same_moment_follow_the_order_of_the_sources(tmp_path: Path) -> None:
    b, z = (f"{{path: {name}.yaml, effective_from: 2026-01-01, instance: I}}" for name in "bz")
    drop = "- {database: D, drop: {name: R}}\n"
    assert load(tmp_path, f"{LEAST}rules: [{b}, {z}]\n", b=B, z=drop).rule_history == ()
    [line] = refusal(tmp_path, f"{LEAST}rules: [{z}, {b}]\n")
    assert line.startswith("z.yaml:1:3: DROP 'R' in I.D: there is no such rule at that moment")


@pytest.mark.parametrize(
    ("more", "said"),
    cases("""
        recieve: {}              => 6:1: recieve: unknown key; did you mean 'receive'?
        receive: {topp: 1}       => 6:11: receive.topp: unknown key; did you mean 'top'?
        receive: 5               => 6:10: receive: is 5; write a mapping (key: value)
        activation: off          => 6:13: activation: is off; write a mapping (key: value), or null for none
        receive: {top: 0}        => 6:16: receive.top: is 0; write 1 or more
        receive: {top: true}     => 6:16: receive.top: is true; write a whole number without quotes

        transmission: {starvation: {after_seconds: 0, raise_by: 1}}
        => 6:44: transmission.starvation.after_seconds: is 0; write 0.000001 or more
        transmission: {starvation: {after_seconds: 1, raise_by: 10}}
        => 6:57: transmission.starvation.raise_by: is 10; write 9 or less
        transmission: {starvation: {after_seconds: 1}}
        => 6:28: transmission.starvation.raise_by: is missing; add raise_by: and its value
        transmission: {blocks: {fragment_bytes: 0, fragments: 1}}
        => 6:41: transmission.blocks.fragment_bytes: is 0; write 1 or more

        activation: {check_seconds: 0.0}   => 6:29: activation.check_seconds: is 0.0; write 0.000001 or more
        activation: {empty_seconds: -1}    => 6:29: activation.empty_seconds: is -1; write 0 or more
        activation: {window_hours: 0}      => 6:28: activation.window_hours: is 0; write a number above 0
        activation: {window_hours: day}
        => 6:28: activation.window_hours: is 'day'; write a number without quotes, like 5 or 0.5
        quality: {max_rejected_share: 1.5} => 6:31: quality.max_rejected_share: is 1.5; write 1 or less

        snapshots: [c]           => 6:13: snapshots[0]: is 'c'; write a mapping (key: value)
        snapshots: c             => 6:12: snapshots: is 'c'; write a list (- key: value)
        rules: a.yaml            => 6:8: rules: is 'a.yaml'; write a list (- key: value)
        rules: [{path: gone.yaml}]
        => 6:16: rules[0].path: there is no file gone.yaml; correct the path or create the file
        rules: [{path: 's3a://b/r.yaml'}]
        => 6:16: rules[0].path: 's3a://b/r.yaml' is not on the local disk; write a path
        rules: [{path: r.yaml, effective_from: x}]
        => 6:40: rules[0].effective_from: 'x' is not a moment in time; write it like 2026-01-01T00:00:00Z
        rules: [{path: r.yaml, effective_from: 5}]
        => 6:40: rules[0].effective_from: is not a moment in time; write it like 2026-01-01T00:00:00Z
        rules: [{path: r.yaml, instance: no}]
        => 6:34: rules[0].instance: no is not text to YAML; write it in quotes: 'no'
        catalog: c.yaml          => 6:1: the key 'catalog' stands here twice, first on line 5; remove one
    """),
)
def test_refused(tmp_path: Path, more: str, said: list[str]) -> None:
    assert refusal(tmp_path, f"{LEAST}{more}\n") == said


def test_an_unknown_key_in_a_list_of_logs(tmp_path: Path) -> None:
    log = "{path: l, format: csv, mapping: xe-flat, zome: UTC}"
    settings = f"warehouse: w\ncatalog: catalog.yaml\ninputs: {{logs: [{log}]}}\n"
    assert refusal(tmp_path, settings) == ["3:58: inputs.logs[0].zome: unknown key; did you mean 'zone'?"]


def test_all_problems_of_the_settings_come_together(tmp_path: Path) -> None:
    content = "inputs:\n  endpoint_events: {path: '', format: xls}\n  message_events: x\nquality: {share: 1}"
    assert refusal(tmp_path, content) == [
        "2:27: inputs.endpoint_events.path: is empty; write at least one character",
        "2:39: inputs.endpoint_events.format: is 'xls'; write one of delta, parquet, json, csv",
        "3:19: inputs.message_events: is 'x'; write a mapping (key: value)",
        "1:1: catalog: is missing; add catalog: and its value",
        "1:1: warehouse: is missing; add warehouse: and its value",
        "4:11: quality.share: unknown key; write one of max_rejected_share, max_line_bytes",
    ]


def test_problems_of_catalog_and_rules_come_together(tmp_path: Path) -> None:
    content = LEAST.replace("catalog.yaml", "none.yaml") + "rules: [{path: a.yaml}, {path: b.yaml}]\n"
    assert refusal(tmp_path, content, a="a: 1\n", b="- [\n") == [
        "5:10: catalog: there is no file none.yaml; correct the path or create the file",
        "a.yaml:1:1: is a mapping; write a list (- key: value)",
        "b.yaml:2:1: is not YAML: expected the node content, but found '<stream end>' "
        "(while parsing a flow node); correct the line or quote the value",
    ]


def test_paths_that_are_no_such_files_are_named_with_their_place(tmp_path: Path) -> None:
    content = LEAST.replace("catalog.yaml", "../conf") + "rules: [{path: ../conf/x}, {path: a.txt}]\n"
    (tmp_path / "conf" / "x").mkdir(parents=True)
    (tmp_path / "conf" / "x" / "a.md").write_text("")
    (tmp_path / "conf" / "a.txt").write_text("")
    assert refusal(tmp_path, content) == [
        f"5:10: catalog: {tmp_path}/conf is a folder; name a file",
        "6:16: rules[0].path: the folder x has no file .sql or .yaml; it has a.md; correct the path",
        "6:35: rules[1].path: rules can't be read from .txt; write T-SQL (.sql) or YAML (.yaml)",
    ]
    (tmp_path / "warehouse").write_text("")
    assert refusal(tmp_path, LEAST) == [f"1:12: warehouse: {tmp_path}/warehouse is a file; name a folder"]


def test_settings_do_not_change(tmp_path: Path) -> None:
    settings = load(tmp_path, LEAST)
    with pytest.raises(AttributeError):
        settings.warehouse = "x"  # type: ignore[misc]
    with pytest.raises(ValueError, match="frozen"):
        settings.receive.top = 1  # type: ignore[misc]

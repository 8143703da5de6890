"""The JSON Schemas are those of the models, and take the files that the models take."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from pipelines.config.json_schema import FOLDER, format_schema, make_schemas

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = "# yaml-language-server: $schema="
KINDS = ["settings.json", "settings.json", "catalog.json", "rules.json"]
SAMPLES = ["conf/local.yaml", "conf/capture.yaml", "conf/catalog.yaml", "conf/rules/company.yaml"]


def validator(name: str) -> Any:
    schema = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def test_the_files_are_current() -> None:
    """`make schemas` writes them."""
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    assert written == {name: format_schema(schema) for name, schema in make_schemas().items()}


@pytest.mark.parametrize("sample", SAMPLES)
def test_samples_name_their_schema(sample: str) -> None:
    first = (ROOT / sample).read_text(encoding="utf-8").partition("\n")[0]
    path = ((ROOT / sample).parent / first.removeprefix(SCHEMA)).resolve()
    assert first.startswith(SCHEMA)
    assert path.parent == FOLDER
    assert path.is_file()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("settings.json", "{warehouse: w, inputs: {endpoint_events: {path: a, format: csv}}, catalog: c}"),
        (
            "settings.json",
            "{warehouse: {schema: s}, inputs: {}, catalog: c, snapshots: [], activation: null}",
        ),
        ("settings.json", "{warehouse: w, inputs: null, catalog: c, variables: {a: 1, b: '2'}}"),
        (
            "settings.json",
            "{warehouse: w, inputs: {}, catalog: c, expect: [{unresolved: 0, oldest_wait: null}]}",
        ),
        (
            "settings.json",
            "{warehouse: w, inputs: {}, catalog: c, expect: [{name: a, p95_wait: 5 min, queue: Q}]}",
        ),
        (
            "settings.json",
            "{warehouse: w, inputs: {}, catalog: c, expect: [{leaked_conversations: 3, days: 0.5}]}",
        ),
        ("catalog.json", "{instances: [{name: a, databases: [{name: b, honor_broker_priority: on}]}]}"),
        ("catalog.json", "{instances: [{name: a, databases: [{name: b, honor_broker_priority: 'off'}]}]}"),
        (
            "rules.json",
            "[{create: {name: a, contract: ANY, local_service: {name: b}, level: 3}, drop: null}]",
        ),
    ],
)
def test_what_is_right_is_taken(name: str, text: str) -> None:
    assert [error.message for error in validator(name).iter_errors(yaml.safe_load(text))] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("settings.json", "{warehouse: w}"),
        ("settings.json", "{warehouse: w, snapshots: []}"),
        ("settings.json", "{warehouse: w, inputs: {}, catalog: c, recieve: {}}"),
        ("settings.json", "{warehouse: w, inputs: {queue_events: {path: a, format: xml}}, catalog: c}"),
        ("settings.json", "{warehouse: w, inputs: {}, catalog: c, expect: [{queue: Q}]}"),
        (
            "settings.json",
            "{warehouse: w, inputs: {}, catalog: c, expect: [{unresolved: 0, oldest_wait: 1 h}]}",
        ),
        ("settings.json", "{warehouse: w, inputs: {}, catalog: c, expect: [{unresolved: null}]}"),
        ("settings.json", "{warehouse: w, inputs: {}, catalog: c, expect: [{unresolved: 0, queue: Q}]}"),
        ("settings.json", "{warehouse: w, inputs: {}, catalog: c, expect: [{oldest_wait: 10}]}"),
        ("catalog.json", "{instances: [{databases: []}]}"),
        ("rules.json", "[{create: {name: a, level: 11}}]"),
    ],
)
def test_what_is_wrong_is_marked(name: str, text: str) -> None:
    assert [*validator(name).iter_errors(yaml.safe_load(text))]


@pytest.mark.parametrize(("name", "sample"), [*zip(KINDS, SAMPLES, strict=True)])
def test_the_samples_are_taken(name: str, sample: str) -> None:
    class Loader(yaml.SafeLoader):
        """Reads moments as texts, as editors do."""

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if "timestamp" not in tag]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    data = yaml.load((ROOT / sample).read_text(encoding="utf-8"), Loader=Loader)
    assert [error.message for error in validator(name).iter_errors(data)] == []

"""The JSON Schemas are those of the models, and take the files that the models take."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from pipelines.settings.json_schema import FOLDER, format_schema, make_schemas

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = {
    "conf/local.yaml": "settings.json",
    "conf/capture.yaml": "settings.json",
    "conf/catalog.yaml": "catalog.json",
    "conf/rules/company.yaml": "rules.json",
}


def validator(name: str) -> Any:
    schema = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def problems(name: str, text: str) -> list[str]:
    """What a schema finds in a text; `expect` is an entry of settings."""
    if name == "expect":
        name, text = "settings", f"{{warehouse: w, inputs: {{}}, catalog: c, expect: [{text}]}}"
    return [error.message for error in validator(f"{name}.json").iter_errors(yaml.safe_load(text))]


def test_the_files_are_current() -> None:
    """`make schemas` writes them."""
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    assert written == {name: format_schema(schema) for name, schema in make_schemas().items()}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("settings", "{warehouse: w, inputs: {endpoint_events: {path: a, format: csv}}, catalog: c}"),
        ("settings", "{warehouse: {schema: s}, inputs: {}, catalog: c, snapshots: [], activation: null}"),
        ("settings", "{warehouse: w, inputs: null, catalog: c, variables: {a: 1, b: '2'}}"),
        ("expect", "{unresolved: 0, oldest_wait: null}"),
        ("expect", "{name: a, p95_wait: 5 min, queue: Q}"),
        ("expect", "{leaked_conversations: 3, days: 0.5}"),
        ("catalog", "{instances: [{name: a, databases: [{name: b, honor_broker_priority: 'off'}]}]}"),
        ("rules", "[{create: {name: a, contract: ANY, local_service: {name: b}, level: 3}, drop: null}]"),
    ],
)
def test_what_is_right_is_taken(name: str, text: str) -> None:
    assert problems(name, text) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("settings", "{warehouse: w}"),
        ("settings", "{warehouse: w, snapshots: []}"),
        ("settings", "{warehouse: w, inputs: {}, catalog: c, recieve: {}}"),
        ("settings", "{warehouse: w, inputs: {queue_events: {path: a, format: xml}}, catalog: c}"),
        ("expect", "{queue: Q}"),
        ("expect", "{unresolved: 0, oldest_wait: 1 h}"),
        ("expect", "{unresolved: null}"),
        ("expect", "{unresolved: 0, queue: Q}"),
        ("catalog", "{instances: [{databases: []}]}"),
        ("rules", "[{create: {name: a, level: 11}}]"),
    ],
)
def test_what_is_wrong_is_marked(name: str, text: str) -> None:
    assert problems(name, text)


@pytest.mark.parametrize(("sample", "name"), SAMPLES.items())
def test_the_samples_name_their_schema_and_are_taken(sample: str, name: str) -> None:
    class Loader(yaml.SafeLoader):
        """Reads moments as texts, as editors do."""

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if "timestamp" not in tag]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    text = (ROOT / sample).read_text(encoding="utf-8")
    named = text.partition("\n")[0].removeprefix("# yaml-language-server: $schema=")
    assert ((ROOT / sample).parent / named).resolve() == FOLDER / name
    data = yaml.load(text, Loader=Loader)
    assert [error.message for error in validator(name).iter_errors(data)] == []

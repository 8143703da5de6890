"""JSON Schemas of the three kinds of YAML file, made of the models that check them: editors complete by them.

python -m pipelines.settings.json_schema writes them into pipelines/settings/json_schemas.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from pipelines.config.catalog import Catalog
from pipelines.config.model import SettingsWithSnapshots
from pipelines.rules.yaml_rules import RuleEntries

FOLDER = Path(__file__).parent / "json_schemas"
DIALECT = "http://json-schema.org/draft-07/schema#"
"""The one that YAML language servers know best."""
NULL = {"type": "null"}


def make_schemas() -> dict[str, dict[str, Any]]:
    """Return the schemas by the name of their file."""
    settings = _schema_of(SettingsWithSnapshots, "Settings of the command priorities")
    # Without snapshots, events and catalog can't be missing.
    settings["required"] = ["warehouse"]
    some = {"snapshots": {"type": "array", "minItems": 1}}
    settings["anyOf"] = [
        {"required": ["snapshots"], "properties": some},
        {"required": ["inputs", "catalog"]},
    ]
    return {
        "settings.json": settings,
        "catalog.json": _schema_of(Catalog, "Catalog of instances, databases, queues and services"),
        "rules.json": _schema_of(RuleEntries, "Priority rules, as statements in their order"),
    }


def format_schema(schema: dict[str, Any]) -> str:
    """Return the text of a schema's file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _schema_of(shape: Any, title: str) -> dict[str, Any]:
    schema = TypeAdapter(shape).json_schema(by_alias=True)
    return {"$schema": DIALECT, "title": title, **_tidy(schema)}


def _tidy(node: Any) -> Any:
    """Leave out titles and defaults, let null stand for an absent key, and use the words of the dialect."""
    if isinstance(node, list):
        return [_tidy(each) for each in node]
    if not isinstance(node, dict):
        return node
    tidy = {}
    for key, value in node.items():
        if key in ("title", "default"):
            continue
        if key == "properties":
            required = node.get("required", ())
            value = {
                name: _tidy(each) if name in required else _or_null(_tidy(each))
                for name, each in value.items()
            }
        elif key == "$defs":
            key, value = "definitions", {name: _tidy(each) for name, each in value.items()}
        elif key == "$ref":
            value = value.replace("#/$defs/", "#/definitions/")
        elif key == "description":
            value = value.partition("\n\n")[0].replace("\n", " ")
        else:
            value = _tidy(value)
        tidy[key] = value
    return tidy


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    kinds = schema.get("anyOf", [schema])
    return schema if NULL in kinds else {"anyOf": [*kinds, NULL]}


def main() -> None:
    """Write the files."""
    for name, schema in make_schemas().items():
        (FOLDER / name).write_text(format_schema(schema), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()

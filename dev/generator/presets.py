"""The worlds of logs: the sample's company, or a world of a given size."""

import dataclasses
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml

from dev.generator import company, synthetic
from dev.generator.plan import Plan, Volume
from dev.generator.rulebook import Statement

SAMPLE = Path(__file__).parent / "sample"
"""The catalog and the rules of the company; conf/ has links to them."""
FOR_EDITORS = "# yaml-language-server:"


def sample(volume: Volume) -> Plan:
    """The sample: the company with its catalog and rules."""
    volume = dataclasses.replace(volume, tail=timedelta(minutes=10), delivered_logged=0.97, autocommit=0.1)
    catalog_text, rules_text = _text("catalog.yaml"), _text("company.yaml")
    world = company.world(
        yaml.safe_load(catalog_text),
        _statements(yaml.safe_load(rules_text)),
        texts=(catalog_text, rules_text),
        start=volume.start,
    )
    return Plan(world, volume)


def numbered(volume: Volume, size: synthetic.Size) -> Plan:
    """A world by number."""
    world = synthetic.world(size, draws=volume.draws, start=volume.start, days=volume.days)
    return Plan(world, volume)


def _text(name: str) -> str:
    """The text of a file of the sample, without the line that tells editors of its schema."""
    text = (SAMPLE / name).read_text(encoding="utf-8")
    return text.partition("\n")[2] if text.startswith(FOR_EDITORS) else text


def _statements(rules: list[dict[str, Any]]) -> list[Statement]:
    """The CREATE and ALTER statements of a rule file's data."""
    return [
        Statement(
            str(rule["effective_from"]),
            rule["instance"],
            rule["database"],
            verb,
            rule[verb]["name"],
            rule[verb],
        )
        for rule in rules
        for verb in ("create", "alter")
        if verb in rule
    ]

"""Read the expectations of an as_of in the order of the settings."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pipelines.config.load import Settings
from pipelines.storage.collect import collect_rows
from pipelines.storage.published import settings_of
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import EXPECTATIONS

COLUMNS = ("name", "value", "limit", "met", "messages")
Row = dict[str, Any]


def read_expectations(warehouse: Warehouse, settings: Settings | None, as_of: datetime) -> list[Row]:
    """Read the rows of an as_of.

    Args:
        warehouse: the tables; nothing is computed.
        settings: their order counts where the run that wrote the rows is not known.
        as_of: the instant.

    Returns:
        name, value, limit, met, messages and `measure`, in the order of the settings by which they were
        written, else by name; measure is null where those are not known.
    """
    rows = collect_rows(warehouse.read_as_of(EXPECTATIONS, as_of).select(*COLUMNS))
    if not rows:
        return []
    current = [each.describe() for each in settings.expect] if settings else []
    measures = _measures([*settings_of(warehouse, as_of).get("expect", ()), *current])
    places = {name: place for place, name in enumerate(measures)}
    ordered = sorted(rows, key=lambda row: (places.get(row["name"], len(places)), row["name"]))
    return [{**row, "measure": measures.get(row["name"])} for row in ordered]


def report_expectations(rows: Sequence[Row], as_of: datetime) -> dict[str, Any]:
    """Return as_of and the expectations as `priorities expect` prints them in JSON."""
    return {"as_of": as_of, "expectations": [{name: row[name] for name in COLUMNS} for row in rows]}


def not_met(rows: Sequence[Row]) -> list[Row]:
    """Return those that are not met."""
    return [row for row in rows if not row["met"]]


def _measures(described: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The measure by name, the first of a name counts."""
    found: dict[str, str] = {}
    for each in described:
        found.setdefault(each["name"], each["measure"])
    return found

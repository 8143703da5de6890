"""Read the expectations of an as_of in the order of the settings."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pipelines.config.expectations import Expectation
from pipelines.settings.load import Settings
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
        settings: what is expected now; None, or settings without expectations, for all rows.
        as_of: the instant.

    Returns:
        name, value, limit, met, messages and `measure`. Of expectations: these, in their order; one that no
        run of this as_of measured, or measured otherwise, has neither value nor messages, and is not met. Of
        all rows: in the order of the settings by which they were written, else by name; measure is null
        where those are not known.
    """
    rows = collect_rows(warehouse.read_as_of(EXPECTATIONS, as_of).select(*COLUMNS))
    expected = settings.expect if settings else ()
    if not rows and not expected:
        return []
    written: Sequence[Row] | None = settings_of(warehouse, as_of).get("expect")
    if expected:
        by_name = {row["name"]: row for row in rows}
        return [_row(each, by_name.get(each.name), written) for each in expected]
    measures = {each["name"]: each["measure"] for each in written or ()}
    places = {name: place for place, name in enumerate(measures)}
    ordered = sorted(rows, key=lambda row: (places.get(row["name"], len(places)), row["name"]))
    return [{**row, "measure": measures.get(row["name"])} for row in ordered]


def _row(expected: Expectation, row: Row | None, written: Sequence[Row] | None) -> Row:
    """The row of an expectation, if the run measured this; what the run measured may not be known."""
    measure = {"measure": expected.measure}
    # As the run stored it.
    described = json.loads(json.dumps(expected.describe()))
    if row is not None and (written is None or described in written):
        return {**row, **measure}
    nothing = {"value": None, "limit": expected.limit, "met": False, "messages": None}
    return {"name": expected.name, **nothing, **measure}


def report_expectations(rows: Sequence[Row], as_of: datetime) -> dict[str, Any]:
    """Return as_of and the expectations as `priorities expect` prints them in JSON."""
    return {"as_of": as_of, "expectations": [{name: row[name] for name in COLUMNS} for row in rows]}


def not_met(rows: Sequence[Row]) -> list[Row]:
    """Return those that are not met."""
    return [row for row in rows if not row["met"]]

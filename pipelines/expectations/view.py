"""The table of expectations, and sentences about them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import ROUND_DOWN, Decimal
from typing import Any

from pipelines.blocks.tables import Column, Table, column
from pipelines.config.expectations import DATA_AGE, LEVEL_AT_LEAST, OLDEST_WAIT, P95_WAIT, TRANSMISSION_AGE
from pipelines.config.instants import format_instant
from pipelines.console.tables import print_answer
from pipelines.console.terminal import Terminal
from pipelines.console.wording import MINUTE, format_count, format_duration
from pipelines.expectations.read import Row

NOTHING = "nothing to measure"
"""What stands for a value that is null."""
NOT_MEASURED = "not measured at this as_of; run the night again"
IN_SECONDS = (OLDEST_WAIT, P95_WAIT, TRANSMISSION_AGE, DATA_AGE)
DIGITS = 15
PLACES = Decimal("0.0001")
"""Decimals of per cent that are written."""


def print_expectations(console: Terminal, rows: Sequence[Row], as_of: datetime) -> None:
    """Print a table of expectations, in the order given."""
    print_answer(console, EXPECTATIONS.with_title(f"{EXPECTATIONS.title} at {format_instant(as_of)}"), rows)


def describe_not_met(row: Row) -> str:
    """Say in one line that an expectation is not met: its name, its value and its limit."""
    name, value = row["name"], format_value(row["value"], row["measure"])
    if not _is_measured(row):
        return f"expectation {name!r}: {NOT_MEASURED}"
    messages = None if row["messages"] is None else format_count(row["messages"], "message")
    if row["value"] is None or _is_within(row):
        return f"expectation {name!r}: {value}: {messages}, fewer than min_messages"
    of = "" if messages is None else f" ({messages})"
    if value == format_value(row["limit"], row["measure"]):
        value = f"more than {value}"
    return f"expectation {name!r}: {value}{of}; the settings ask for {format_limit(row)}"


def format_value(value: float | None, measure: str | None) -> str:
    """Write a value or a limit, with its unit if the measure is known."""
    if value is None:
        return NOTHING
    if measure == LEVEL_AT_LEAST:
        # Cut off, so that a share below the limit never looks like it.
        return f"{(100 * Decimal(repr(value))).quantize(PLACES, ROUND_DOWN).normalize():f} %"
    if measure in IN_SECONDS and value >= MINUTE:
        return format_duration(value)
    number = f"{value:,.{DIGITS}g}"
    return f"{number} s" if measure in IN_SECONDS else number


def format_limit(row: Mapping[str, Any]) -> str:
    """Write a limit with what it bounds."""
    bound = {LEVEL_AT_LEAST: "at least ", None: ""}.get(row["measure"], "at most ")
    return bound + format_value(row["limit"], row["measure"])


def _is_measured(row: Mapping[str, Any]) -> bool:
    return row["value"] is not None or row["messages"] is not None


def _is_within(row: Row) -> bool:
    """Whether the limit is met, so that too few messages are the cause."""
    if row["measure"] in (None, LEVEL_AT_LEAST):
        return row["measure"] is not None and bool(row["value"] >= row["limit"])
    return bool(row["value"] <= row["limit"])


def _met(row: Mapping[str, Any]) -> str:
    return "yes" if row["met"] else "no"


def _measured(row: Mapping[str, Any]) -> str:
    return format_value(row["value"], row["measure"]) if _is_measured(row) else NOT_MEASURED


EXPECTATIONS = Table(
    "expectations",
    "Expectations",
    [
        column("Expectation", "name", "name"),
        Column("Met", "word", _met, ("met",), lambda row: not row["met"]),
        Column("Value", "text", _measured, ("value", "measure", "messages")),
        Column("Limit", "text", format_limit, ("limit", "measure")),
        column("Messages", "count", "messages"),
    ],
    first="of the settings",
)

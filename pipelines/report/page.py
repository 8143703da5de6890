"""One HTML file with everything in it: style, script and data."""

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from importlib import resources
from string import Template
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from pipelines.config.instants import format_instant
from pipelines.engine.small_frame import small_frame
from pipelines.storage.collect import collect_rows

SCRIPTS = (
    "values.js",
    "table.js",
    "drawing.js",
    "columns.js",
    "schedules.js",
    "whatif.js",
    "replay.js",
    "conformance.js",
    "sections.js",
)
"""In the order in which they need each other."""

LONGEST = 400
"""Characters of a text that are shown; an engine's names have 128 at most, a log's may have more."""


@dataclass(frozen=True)
class PageTable:
    """The rows of one table of the page.

    Attributes:
        columns: their names.
        rows: values in the order of the columns.
        total: how many rows there are; more than `rows` where the rest is left out.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    total: int


def render_page(as_of: datetime, parts: Mapping[str, PageTable]) -> str:
    """Write the page.

    Args:
        as_of: the instant that it describes.
        parts: tables by name.

    Returns:
        HTML that needs no network. Names are data: the script puts them in as text, the data stands in a
        script element without any `<`, and the page forbids every script and style but its own.

    Source: our choice.
    """
    moment = format_instant(as_of)
    content = {
        "as_of": moment,
        "parts": {
            name: {
                "columns": list(read_table.columns),
                "rows": [[_plain_value(value) for value in row] for row in read_table.rows],
                "total": read_table.total,
            }
            for name, read_table in parts.items()
        },
    }
    style, script = _asset("style.css"), "\n".join(map(_asset, SCRIPTS))
    return Template(_asset("page.html")).substitute(
        as_of=html.escape(moment),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        data=_embed(content),
    )


def _asset(name: str) -> str:
    """A file beside this module, also where the packages are a zip."""
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _hash(content: str) -> str:
    """The hash by which the page's policy knows its own style and script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _embed(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _plain_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return format_instant(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str) and len(value) > LONGEST:
        return value[:LONGEST] + "…"
    return value


def read_table(rows: DataFrame, *, order: Sequence[Column], limit: int) -> PageTable:
    """The first rows in an order; only where there are more than these, all are counted."""
    found = collect_rows(rows.orderBy(*order).limit(limit))
    total = len(found) if len(found) < limit else rows.count()
    return PageTable(rows.columns, [list(row.values()) for row in found], total)


def read_sums(rows: DataFrame, names: Sequence[str]) -> PageTable:
    """One row: the sums of these columns over all rows, 0 if there are none."""
    [found] = collect_rows(rows.agg(*(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in names)))
    return PageTable(names, [list(found.values())], 1)


def number_rows(spark: SparkSession, shown: PageTable, key: Sequence[str]) -> DataFrame:
    """The rows of a part as a small frame to join with: `place`, from 0, and the key, its first columns."""
    rows = [(number, *row[: len(key)]) for number, row in enumerate(shown.rows)]
    columns = ", ".join(("place int", *(f"{name} string" for name in key)))
    return F.broadcast(small_frame(spark, rows, columns))

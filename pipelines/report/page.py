"""One HTML file with everything in it: text and tables, style, script and data."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from pipelines.activation.view import ADVICE
from pipelines.blocks.tables import Table
from pipelines.conformance.view import DEVIATIONS, LINKS, QUEUES
from pipelines.expectations.view import EXPECTATIONS
from pipelines.questions.open_messages import NAMES, SCHEDULES
from pipelines.questions.tables import (
    INPUTS,
    REJECTED,
    RULES,
    make_kind_table,
    make_leak_table,
    make_overtaken_table,
)
from pipelines.replay.view import ASSUMED, WAITS
from pipelines.report import (
    charts,
    conformance,
    findings,
    replay,
    schedule_sections as schedules,
    sections,
    whatif,
)
from pipelines.report.cells import make_answer, wrap_name
from pipelines.report.tables import PageData, PageTable
from pipelines.whatif.view import COMPARED, MOVES, SUMMARY

SCRIPTS = ("tables.js", "fit.js", "choices.js", "pictures.js", "start.js")
"""In the order in which they need each other."""
SHARED = (*NAMES, "from_service")
"""Columns of the chosen tables whose names stand once in the data."""


def render_page(as_of: datetime, tables: Mapping[str, PageTable]) -> str:
    """Write the page.

    Args:
        as_of: the instant that it describes.
        tables: tables by name.

    Returns:
        HTML that needs no network. The templates escape names, the data stand in a script element without any
        `<`, and the page forbids every script and style but its own.
    """
    data = PageData(as_of, tables)
    shown = _make_tables(data)
    style, script = _asset("style.css"), "\n".join(map(_asset, SCRIPTS))
    environment = Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["wrap"] = wrap_name
    return environment.get_template("page.html.j2").render(
        as_of=data.as_of,
        data=data,
        servers=findings.format_servers(data),
        ages=findings.make_ages(data),
        cards=findings.make_cards(data),
        charts=charts.make_charts(data),
        tables=shown,
        has=lambda names: any(shown[name].rows for name in names),
        chosen={table.name: table for table in schedules.CHOSEN},
        queues=schedules.make_queue_choices(data),
        instances=schedules.make_instance_choices(data),
        compared=COMPARED,
        assumed=ASSUMED,
        whatif_picture=whatif.describe_picture(data),
        replay_pictures=replay.describe_pictures(data),
        calibration=replay.describe_verdicts(data),
        conformance=conformance.describe_conformance(data) if "conformance_queues" in data else "",
        run=sections.describe_run(data),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        json=_embed(data, {table.source: table.rows(data) for table in schedules.CHOSEN}),
    )


def _make_tables(data: PageData) -> dict[str, Any]:
    tables = [
        schedules.make_queue_table(data),
        schedules.make_instance_table(data),
        sections.make_night_table(data),
    ]
    answers: list[Table] = [
        sections.NOTES,
        sections.UNRESOLVED,
        EXPECTATIONS,
        RULES,
        ADVICE,
        make_leak_table(data.moment),
        INPUTS,
        REJECTED,
    ]
    for kind in SCHEDULES:
        answers += [make_kind_table(kind, data.moment), make_overtaken_table(kind)]
    if "whatif_summary" in data:
        answers += [SUMMARY, MOVES]
        tables.append(whatif.make_pair_table(data))
    if "replay_waits" in data:
        answers.append(WAITS)
    if "conformance_queues" in data:
        tables.append(conformance.make_hour_table(data))
        answers += [QUEUES, DEVIATIONS, LINKS]
    tables += [make_answer(table, data) for table in answers]
    return {table.name: table for table in tables}


def _asset(name: str) -> str:
    """Read a file beside this module, also where the packages are a zip."""
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _hash(content: str) -> str:
    """Return the hash by which the page's policy knows its own style and script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _embed(data: PageData, shown: Mapping[str, PageTable]) -> str:
    """Return the tables as JSON without any `<`; those of a choice as the script shows them."""
    texts: dict[str, int] = {}
    tables = {
        name: _share_texts(shown[name], texts) if name in shown else table
        for name, table in data.tables.items()
    }
    content = {
        "as_of": data.as_of,
        "texts": list(texts),
        "parts": {
            name: {"columns": table.columns, "rows": table.rows, "total": table.total}
            for name, table in tables.items()
        },
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _share_texts(table: PageTable, texts: dict[str, int]) -> PageTable:
    """Write names that many rows have as [place in texts], which gets those that it lacks."""
    shared = [index for index, name in enumerate(table.columns) if name in SHARED]

    def written(row: Sequence[Any]) -> list[Any]:
        values = list(row)
        for index in shared:
            if isinstance(values[index], str):
                values[index] = [texts.setdefault(values[index], len(texts))]
        return values

    return replace(table, rows=[written(row) for row in table.rows])

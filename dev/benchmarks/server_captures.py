"""The views of a busy server as one capture, written as the capture script writes it."""

import json
import shutil
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from dev.benchmarks.server_views import list_views, open_server

ID = "0B5E55ED-0000-4000-8000-000000000001"
SERVER, DATABASE = "SQL01", "Orders"
TIME = "strftime({}, '%Y-%m-%dT%H:%M:%S.%g') || 'Z'"
SPELLINGS = {
    "is_initiator": "{}::INTEGER",
    "lifetime": TIME,
    "enqueue_time": TIME,
    "message_enqueue_time": TIME,
}
"""Columns that a capture spells otherwise than JSON of DuckDB does."""


def make_capture(endpoints: int, messages: int, taken_at: datetime, folder: Path) -> Path:
    """Write the views of `server_views.make_views` as one capture.

    Args:
        endpoints: how many there are.
        messages: how many there are; see there.
        taken_at: the moment of the capture.
        folder: where; what is in it goes.

    Returns:
        The folder.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    moment = f"{taken_at:%Y-%m-%dT%H:%M:%S}Z"
    total = 0
    with (
        open_server(endpoints, messages) as database,
        (folder / f"{SERVER}-{taken_at:%Y%m%dT%H%M%SZ}.jsonl").open("wb") as capture,
    ):
        capture.write(_line({"capture": 1, "id": ID, "server": SERVER, "taken_at": moment}))
        capture.write(_line({"database": DATABASE, "read": True, "reason": None, "view_definition": True}))
        part = folder / ".part"
        for view, query in list_views():
            names = _names_of(view)
            fields = ", ".join(
                f"{name} := {SPELLINGS.get(name, '{}').format(name)}" for name in database.sql(query).columns
            )
            keys = ", ".join(f"'{value}' AS {key}" for key, value in names.items())
            rows = f"SELECT {keys}, struct_pack({fields}) AS row FROM ({query})"
            copied = database.execute(f"COPY ({rows}) TO '{part}' (FORMAT json)").fetchone()
            count = copied[0] if copied else 0
            with part.open("rb") as written:
                shutil.copyfileobj(written, capture, 1 << 20)
            about = {"count": count, "complete": True, "error": None, "read_at": moment}
            capture.write(_line({**names, **about}))
            total += count
        part.unlink()
        capture.write(_line({"end": True, "id": ID, "rows": total, "finished_at": moment}))
    return folder


def _names_of(view: str) -> dict[str, str]:
    """How lines name a view."""
    schema, _, queue = view.partition(".")
    if not queue:
        return {"database": DATABASE, "view": view}
    return {"database": DATABASE, "view": "queue", "schema": schema, "queue": queue}


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"

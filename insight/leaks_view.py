"""Leaked conversations as an operator reads them on the terminal."""

from collections.abc import Mapping
from typing import Any

from config.instants import format_instant
from insight.leaks import KIND
from insight.terminal import show_rows, terminal

KINDS_SHOWN = (*KIND, "endpoints", "oldest", "oldest_days", "a_day")
SHOWN = (
    "age_days",
    "reason",
    "instance",
    "database",
    "contract",
    "local_service",
    "conversation_handle",
    "last_traffic",
)


def show(report: Mapping[str, Any]) -> None:
    """Print the report to standard output."""
    console, at = terminal(), format_instant(report["as_of"])
    if not report["endpoints"]:
        console.print(f"No endpoint leaks at {at}.", soft_wrap=True)
        return
    title = f"{report['endpoints']:,} endpoints leak at {at}: their far side ended, or {report['days']} days"
    show_rows(console, f"{title} without traffic", report["kinds"], KINDS_SHOWN)
    show_rows(console, "The oldest of them", report["oldest"], SHOWN)

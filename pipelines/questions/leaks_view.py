"""Leaked conversations as an operator reads them on the terminal."""

from collections.abc import Mapping
from typing import Any

from pipelines.config.instants import format_instant
from pipelines.console.terminal import print_rows, terminal
from pipelines.console.wording import counted
from pipelines.questions.leaks import KIND

KINDS_SHOWN = (*KIND, "endpoints", "oldest", "oldest_days", "a_day")
SHOWN = (
    "age_days",
    "created_by",
    "reason",
    "instance",
    "database",
    "contract",
    "local_service",
    "conversation_handle",
    "last_traffic",
)


def print_leaks(report: Mapping[str, Any]) -> None:
    """Print the report to standard output."""
    console, at = terminal(), format_instant(report["as_of"])
    not_known = report["traffic_not_known"]
    if report["endpoints"]:
        leak = "leaks" if report["endpoints"] == 1 else "leak"
        title = (
            f"{counted(report['endpoints'], 'endpoint')} {leak} at {at}: the "
            f"far side ended, or it is CLOSED and "
            f"older than half an hour, or {report['days']} days passed without traffic"
        )
    elif not_known:
        title = f"No endpoint is known to leak at {at}"
    else:
        console.print(f"No endpoint leaks at {at}.", soft_wrap=True)
        return
    if not_known:
        console.print(
            f"{counted(not_known, 'endpoint')} had no known traffic for {report['days']} days, but no input "
            "has a log of messages of these days: whether they leak is not known (traffic_not_known).",
            soft_wrap=True,
        )
    print_rows(console, title, report["kinds"], KINDS_SHOWN)
    print_rows(console, "The oldest of them", report["oldest"], SHOWN)

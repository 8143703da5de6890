"""Say how many rows of a queue do not wait, and why."""

from collections.abc import Mapping

from pipelines.config.snapshots.views import NOT_IN_ORDER, READY, RECEIVED, RETAINED, SENT


def describe_statuses(rows: Mapping[int, int]) -> str:
    """Say how many rows of a queue have which status."""
    retained = {status: rows[status] for status in RETAINED if status in rows}
    words = [f"{rows.get(READY, 0):,} ready"]
    if retained:
        each = ", ".join(f"{count:,} of status {status}" for status, count in retained.items())
        words.append(f"{sum(retained.values()):,} retained (RETENTION: {each})")
    if waiting := rows.get(NOT_IN_ORDER):
        verb = "waits" if waiting == 1 else "wait"
        words.append(f"{waiting:,} {verb} for an earlier number (status {NOT_IN_ORDER}, not complete)")
    others = [status for status in sorted(rows) if status not in (READY, RECEIVED, NOT_IN_ORDER, SENT)]
    words += [f"{rows[status]:,} of status {status}" for status in others]
    return f"{sum(rows.values()):,} rows: {', '.join(words)}"

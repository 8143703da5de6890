"""Print a replay on one screen."""

from collections.abc import Mapping
from typing import Any

from pipelines.config.instants import format_instant
from pipelines.console.tables import print_rows
from pipelines.console.terminal import open_console
from pipelines.console.wording import format_count, format_queue

ASSUMED = (
    "Assumed: messages arrive as they did (what is handled later does not delay the replies to it), and the "
    "work on each takes as long as in the log."
)
CALIBRATED = {"calibrated": "yes", "off": "NO", "unknown": "not known"}
"""The printed text of each verdict."""
WAITS = ("queue", "level", "messages", "p50", "p95", "p95 proposed", "difference", "calibrated")
QUEUES = (
    "scenario",
    "queue",
    "readers",
    "utilisation",
    "most_ready",
    "idle_locked_seconds",
    "calibrated",
)
CURVE = ("scenario", "queue", "readers", "served", "p95", "utilisation", "idle_locked_seconds", "calibrated")


def sentence(report: Mapping[str, Any]) -> str:
    """The answer in one sentence."""
    trust = _trust(report)
    if report["unknown_readers"]:
        trust += (
            f"; the log knows no readers of {format_count(report['unknown_readers'], 'queue')}: give "
            "--readers N"
        )
    if report["proposes"]:
        parts = [
            f"level {row['level']} of {format_queue(row)} waits {_time(abs(row['difference_p95']))} {word}"
            for row, word in ((report["gains_most"], "less"), (report["pays_most"], "longer"))
            if row
        ]
        if not parts:
            return f"The proposal changes no wait at percentile 95 that is known; {trust}."
        return f"With the proposal, at percentile 95, {' and '.join(parts)}; {trust}."
    unserved = report["unserved"]
    left = f"{format_count(unserved, 'message')} not served" if unserved else "all messages served"
    return f"Played again, {left}; {trust}."


def _trust(report: Mapping[str, Any]) -> str:
    """Tell how far the figures can be trusted."""
    counts = report["calibration"]
    faults, unknown, queues = counts["off"], counts["unknown"], format_count(counts["queues"], "queue")
    if report["from"] == report["to"]:
        trust = "the period is empty, so nothing can be compared with the log"
    elif faults:
        trust = f"the replay does not follow the log in {faults:,} of {queues}, so mistrust the figures there"
    elif not unknown:
        trust = f"the replay follows the log in all of {queues}"
    else:
        trust = f"the replay follows the log in {counts['queues'] - unknown:,} of {queues}"
    if unknown and report["from"] != report["to"]:
        trust += f"; in {unknown:,} of {queues} nothing can be compared with the log"
    if not report["has_queue_events"]:
        trust += (
            "; the log has no queue events, so it does not say how long work takes: what was received takes "
            "no time here"
        )
    if report["estimated"]:
        trust += (
            f"; the log does not show the work on {report['estimated']:,} of "
            f"{format_count(report['messages'], 'message')}: it is estimated"
        )
    return trust


def print_replay(report: Mapping[str, Any]) -> None:
    """Print the assumptions, the answer, waits by level, queues, and the drain or the curve."""
    console = open_console()
    console.print(ASSUMED, soft_wrap=True)
    span = f"{format_instant(report['from'])} to {format_instant(report['to'])}"
    console.print(f"{span}: {sentence(report)}", style="bold", soft_wrap=True)
    waits = [
        {
            "queue": format_queue(row),
            "level": row["level"],
            "messages": row["messages"],
            "p50": _figure(row["actual"], "wait_p50"),
            "p95": _figure(row["actual"], "wait_p95"),
            "p95 proposed": _figure(row.get("proposed"), "wait_p95"),
            "difference": None if row["difference_p95"] is None else _signed(row["difference_p95"]),
            "calibrated": CALIBRATED[row["verdict"]],
        }
        for row in report["waits"]
    ]
    print_rows(console, "Waits by recorded level", waits, WAITS)
    print_rows(console, "Queues", [_of_queue(row) for row in report["queues"]], QUEUES)
    for row in report["queues"] if report["drained"] else ():
        when = f"is empty at {format_instant(row['empty_at'])}" if row["empty_at"] else "does not get empty"
        console.print(f"{row['scenario']}: {format_queue(row)} {when}{_mistrust(row)}.", soft_wrap=True)
    if report["curve"]:
        rows = [{**_of_queue(row), "p95": _figure(row, "wait_p95")} for row in report["curve"]]
        print_rows(console, "Waits by number of readers", rows, CURVE)
        for row in report["enough"]:
            console.print(f"{_advice(row)}{_mistrust(row)}.", soft_wrap=True)


def _of_queue(row: Mapping[str, Any]) -> dict[str, Any]:
    share, idle = row["utilisation"], row["idle_locked_seconds"]
    return {
        **row,
        "queue": format_queue(row),
        "utilisation": None if share is None else f"{share:.0%}",
        "idle_locked_seconds": None if idle is None else f"{idle:,.1f}",
        "calibrated": CALIBRATED[row["verdict"]],
    }


def _advice(row: Mapping[str, Any]) -> str:
    queue = f"{row['scenario']}: {format_queue(row)}"
    if row["readers"] is None:
        return f"{queue}: each more reader of this range still helps, or too few messages are served"
    why = " because only locked groups are left to them" if row["locked"] else ""
    return f"{queue}: from {format_count(row['readers'], 'reader')} on, one more does not help{why}"


def _mistrust(row: Mapping[str, Any]) -> str:
    return "" if row["verdict"] == "calibrated" else " (not calibrated)"


def _figure(row: Mapping[str, Any] | None, name: str) -> str | None:
    if row is None:
        return None
    if row[name] is not None:
        return _time(row[name])
    return None if row["at_least"] is None else f"at least {_time(row['at_least'])}"


def _time(ms: float) -> str:
    """Milliseconds in a readable unit."""
    seconds = ms / 1000
    if seconds < 1:
        return f"{ms:,.4g} ms"
    if seconds < 120:
        return f"{seconds:,.4g} s"
    return f"{seconds / 60:,.1f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def _signed(ms: float) -> str:
    return f"{'+' if ms > 0 else '-' if ms < 0 else ''}{_time(abs(ms))}"

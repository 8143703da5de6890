"""A replay: its tables, and its sentences on the console."""

from collections.abc import Mapping
from typing import Any

from pipelines.blocks.tables import AtLeast, Column, Row, Table, column, place_column
from pipelines.config.instants import format_instant
from pipelines.console.tables import print_answer
from pipelines.console.terminal import open_console
from pipelines.console.wording import format_count, format_queue, format_wait

ASSUMED = (
    "Assumed: messages arrive as they did (what is handled later does not delay the replies to it), and the "
    "work on each takes as long as in the log."
)
FOLLOWS = {"calibrated": "yes", "off": "no", "unknown": "not known", "too_wide": "not known"}
"""Whether the scenario actual follows the log, by verdict."""
MILLISECONDS = 1000


def _wait(head: str, key: str, scenario: str = "") -> Column:
    """Make a column of a percentile in milliseconds, of the row or of one of its scenarios."""

    def value(row: Row) -> float | AtLeast | None:
        figures = row.get(scenario) if scenario else row
        if figures is None:
            return None
        if figures[key] is not None:
            return float(figures[key] / MILLISECONDS)
        bound = figures["at_least"]
        return None if bound is None else AtLeast(bound / MILLISECONDS)

    return Column(head, "duration", value, (key, "at_least"))


def _difference(row: Row) -> float | None:
    difference = row["difference_p95"]
    return None if difference is None else float(difference / MILLISECONDS)


QUEUE = place_column("Queue")
LEVEL = column("Level", "level", "level")
SCENARIO = column("Scenario", "word", "scenario")
MESSAGES = column("Messages", "count", "messages")
UTILISATION = column("Utilisation", "share", "utilisation")
IDLE = column("Idle, groups locked", "duration", "idle_locked_seconds")
FOLLOWS_LOG = Column(
    "Follows the log",
    "word",
    lambda row: FOLLOWS[row["verdict"]],
    ("verdict",),
    lambda row: row["verdict"] != "calibrated",
)
WAITS = Table(
    "replay-waits",
    "Waits by queue and level",
    [
        QUEUE,
        LEVEL,
        SCENARIO,
        MESSAGES,
        column("Left waiting", "count", "unserved"),
        _wait("Median wait", "wait_p50"),
        _wait("95% below", "wait_p95"),
        FOLLOWS_LOG,
    ],
    first="first by queue",
    empty="nothing was played.",
)
"""On the page: a row for each scenario, by its levels."""
RECORDED_WAITS = Table(
    "replay-recorded-waits",
    "Waits by queue and recorded level",
    [
        QUEUE,
        LEVEL,
        MESSAGES,
        _wait("Median wait", "wait_p50", "actual"),
        _wait("95% below", "wait_p95", "actual"),
        _wait("95% below, proposed", "wait_p95", "proposed"),
        Column("Difference", "duration", _difference),
        FOLLOWS_LOG,
    ],
    empty=WAITS.empty,
)
"""On the console: the same messages in both scenarios."""
QUEUES = Table(
    "replay-queues",
    "Queues",
    [
        QUEUE,
        SCENARIO,
        column("Readers", "count", "readers"),
        UTILISATION,
        column("Most ready", "count", "most_ready"),
        IDLE,
        FOLLOWS_LOG,
    ],
)
CURVE = Table(
    "replay-curve",
    "Waits by number of readers",
    [
        QUEUE,
        SCENARIO,
        column("Readers", "count", "readers"),
        column("Served", "count", "served"),
        _wait("95% below", "wait_p95"),
        UTILISATION,
        IDLE,
        FOLLOWS_LOG,
    ],
)


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
            f"level {row['level']} of {format_queue(row)} waits {format_wait(abs(by))} {word}"
            for row, word in ((report["gains_most"], "less"), (report["pays_most"], "longer"))
            if row and (by := _difference(row))
        ]
        if not parts:
            return f"The proposal changes no wait at percentile 95 that is known; {trust}."
        return f"With the proposal, at percentile 95, {' and '.join(parts)}; {trust}."
    unserved = report["unserved"]
    left = f"{format_count(unserved, 'message')} not served" if unserved else "all messages served"
    return f"Played again, {left}; {trust}."


def _trust(report: Mapping[str, Any]) -> str:
    """Tell how far the figures can be trusted."""
    trust = "the period is empty, so nothing can be compared with the log"
    if report["from"] != report["to"]:
        trust = describe_calibration(**report["calibration"])
    if (widest := report["widest_seconds"]) is not None:
        trust += (
            "; a receive that only captures show counts in the middle between two of them, which are up to "
            f"{format_wait(widest)} apart"
        )
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


def describe_calibration(queues: int, off: int, unknown: int, too_wide: int) -> str:
    """Tell in how many queues the scenario actual follows the log."""
    of = format_count(queues, "queue")
    if off:
        told = f"the replay does not follow the log in {off:,} of {of}, so mistrust the figures there"
    elif not unknown and not too_wide:
        return f"the replay follows the log in all of {of}"
    else:
        told = f"the replay follows the log in {queues - unknown - too_wide:,} of {of}"
    if unknown:
        told += f"; in {unknown:,} of {of} nothing can be compared with the log"
    return f"{told}; in {too_wide:,} of {of} captures are too far apart to tell" if too_wide else told


def print_replay(report: Mapping[str, Any]) -> None:
    """Print the assumptions, the answer, waits by level, queues, and the drain or the curve."""
    console = open_console()
    console.write_line(ASSUMED)
    span = f"{format_instant(report['from'])} to {format_instant(report['to'])}"
    console.write_line(f"{span}: {sentence(report)}", style="bold")
    print_answer(console, RECORDED_WAITS, report["waits"])
    print_answer(console, QUEUES, report["queues"])
    for row in report["queues"] if report["drained"] else ():
        when = f"is empty at {format_instant(row['empty_at'])}" if row["empty_at"] else "does not get empty"
        console.write_line(f"{row['scenario']}: {format_queue(row)} {when}{_mistrust(row)}.")
    if report["curve"]:
        print_answer(console, CURVE, report["curve"])
        for row in report["enough"]:
            console.write_line(f"{_advice(row)}{_mistrust(row)}.")


def _advice(row: Mapping[str, Any]) -> str:
    queue = f"{row['scenario']}: {format_queue(row)}"
    if row["readers"] is None:
        return f"{queue}: each more reader of this range still helps, or too few messages are served"
    why = " because only locked groups are left to them" if row["locked"] else ""
    return f"{queue}: from {format_count(row['readers'], 'reader')} on, one more does not help{why}"


def _mistrust(row: Mapping[str, Any]) -> str:
    return "" if row["verdict"] == "calibrated" else " (not calibrated)"

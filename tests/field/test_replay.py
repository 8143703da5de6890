"""Replays of logs whose figures follow by hand."""

from pathlib import Path
from typing import Any

import pytest

from tests.field.running import EVENTS, Case, Row, instance_of, log_of, table_of

pytestmark = pytest.mark.slow

TEN, ELEVEN, NOON = (f"2026-11-20T{hour}:00:00Z" for hour in (10, 11, 12))
LOGS = ("end-at-arrival", "where-held", "where-readers", "drain-end")
"""Logs of queue Q of database D, each of one instance."""


def night_of(folder: Path, *logs: str, queue_events: bool) -> Case:
    """A night on these logs; the instance of a log has its name."""
    case = Case(folder)
    events: dict[str, list[Row]] = {source: [] for source in (EVENTS if queue_events else EVENTS[:2])}
    for log in logs:
        of_case = log_of(f"replay-{log}", log)
        for source, rows in events.items():
            rows.extend(of_case[source])
    case.set_log(events)
    case.set_catalog(*(instance_of(f"replay-{log}", log) for log in logs))
    case.publish(NOON)
    return case


@pytest.fixture(scope="module")
def logged(session: object, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return night_of(tmp_path_factory.mktemp("logged"), *LOGS, queue_events=True)


def played(case: Case, log: str, *options: str, end: str = ELEVEN) -> tuple[str, Row, Row]:
    """The answer's sentence, and the rows of the log's queue in replay_waits and replay_queues."""
    out = case.folder / f"answer-{log}"
    asked = ("--from", TEN, "--to", end, "--queue", f"{log}.D.Q", "--out", out, "--format", "json", *options)
    found = case.job("replay", *asked)
    assert (found.code, found.err) == (0, "")
    [waits] = table_of(out, "replay_waits")
    [queue] = table_of(out, "replay_queues")
    return found.json["sentence"], waits, queue


def figures(row: Row, *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def test_a_message_that_arrives_as_its_endpoint_ends_is_none(logged: Case) -> None:
    sentence, waits, queue = played(logged, "end-at-arrival", "--readers", "1")
    assert figures(waits, "messages", "served", "unserved") == (1, 1, 0)
    names = ("wait_p50", "wait_p90", "wait_p95", "wait_p99", "wait_max", "wait_mean")
    assert figures(waits, *names) == (0.0,) * 6
    assert waits["at_least"] is None
    assert queue["most_ready"] == 1
    # The log never took the message, so the work on it is a guess.
    assert "the log does not show the work on 1 of 1 message: it is estimated" in sentence


def test_a_transaction_with_only_where_receives_holds_no_reader(logged: Case) -> None:
    sentence, waits, queue = played(logged, "where-held")
    assert figures(waits, "messages", "wait_p50", "calibrated") == (1, 0.0, True)
    assert figures(queue, "readers", "busy_seconds", "calibrated") == (1, 5.0, True)
    assert sentence == "Played again, all messages served; the replay follows the log in all of 1 queue."


def test_where_receives_count_as_no_reader_without_session_ids(logged: Case) -> None:
    _, waits, queue = played(logged, "where-readers")
    assert queue["readers"] == 1
    assert figures(waits, "messages", "wait_p50", "wait_p90") == (3, 0.0, 60_000.0)


def test_a_drain_ends_with_its_last_work(logged: Case) -> None:
    _, waits, queue = played(
        logged, "drain-end", "--readers", "1", "--drain", end="2026-11-20T10:00:00.000001Z"
    )
    assert figures(waits, "messages", "served") == (2, 2)
    assert queue["utilisation"] == pytest.approx(10 / 1800)
    assert figures(queue, "busy_seconds", "idle_locked_seconds") == (10.0, 1790.0)


def test_an_empty_period_is_for_a_drain(logged: Case) -> None:
    """When is it my turn, of what stands there now."""
    sentence, waits, queue = played(logged, "drain-end", "--readers", "1", "--drain", end=TEN)
    assert figures(waits, "messages", "served") == (2, 2)
    assert figures(queue, "busy_seconds", "idle_locked_seconds", "most_ready") == (10.0, 1790.0, 2)
    assert "the period is empty, so nothing can be compared with the log" in sentence
    refused = logged.job("replay", "--from", TEN, "--to", TEN)
    assert refused.code == 2
    assert refused.err == (
        "error: command line: --from 2026-11-20T10:00:00Z is not before --to 2026-11-20T10:00:00Z; name an "
        "earlier --from or a later --to, or add --drain\n"
    )


def test_without_queue_events_the_work_is_told_not_to_be_known(session: object, tmp_path: Path) -> None:
    case = night_of(tmp_path, "where-readers", "end-at-arrival", queue_events=False)
    sentence, _, queue = played(case, "where-readers")
    assert figures(queue, "readers", "busy_seconds", "utilisation") == (None, None, None)
    said = "no queue events, so it does not say how long work takes: what was received takes no time"
    assert said in sentence
    assert "the log knows no readers of 1 queue: give --readers N" in sentence
    assert "follows the log in all" not in sentence
    # Nothing was received and nobody reads: neither the log nor the replay has a wait, and they do not agree.
    out = case.folder / "answer"
    asked = ("--from", TEN, "--to", ELEVEN, "--queue", "end-at-arrival.D.Q", "--out", out)
    shown = "\n".join(case.lines("replay", *asked))
    [waits] = table_of(out, "replay_waits")
    assert figures(waits, "served", "unserved") == (0, 1)
    assert "in 1 of 1 queue nothing can be compared with the log" in shown
    assert "follows the log in 0 of 1 queue" in shown
    assert "not known" in shown

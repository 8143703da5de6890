"""Replays of logs whose figures follow by hand."""

from typing import Any

import pytest

from tests.field.running import EVENTS, Case, Row, instance_of, log_of, table_of

pytestmark = pytest.mark.slow

TEN, ELEVEN, NOON = (f"2026-11-20T{hour}:00:00Z" for hour in (10, 11, 12))
LOGS = ("end-at-arrival", "where-held", "where-readers", "drain-end")
"""Logs of queue Q of database D, each of one instance."""


@pytest.fixture(scope="module")
def logged(session: object, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A night on these logs; the instance of a log has its name."""
    case = Case(tmp_path_factory.mktemp("logged"))
    logs = [log_of(f"replay-{log}", log) for log in LOGS]
    case.set_log({source: [row for log in logs for row in log[source]] for source in EVENTS})
    case.set_catalog(*(instance_of(f"replay-{log}", log) for log in LOGS))
    case.publish(NOON)
    return case


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

"""Replays of logs whose figures follow by hand."""

from typing import Any

import pytest

from tests.field.running import Case, OpenCase, Row, table_of

pytestmark = pytest.mark.slow

NOON, TEN, ELEVEN = (f"2026-11-20T{hour}:00:00Z" for hour in (12, 10, 11))


@pytest.fixture(scope="module")
def drained(open_case: OpenCase) -> Case:
    case = open_case("replay-drain-end")
    case.publish(NOON)
    return case


def night_of(case: Case, *, queue_events: bool = True) -> Case:
    if not queue_events:
        (case.folder / "queue_events" / "1.json").write_text("")
    case.publish(NOON)
    return case


def played(case: Case, *options: str, end: str = ELEVEN) -> tuple[str, Row, Row]:
    """The answer's sentence, and the rows of queue Q in replay_waits and replay_queues."""
    out = case.folder / f"answer{end}"
    asked = ("--from", TEN, "--to", end, "--out", out, "--format", "json", *options)
    found = case.job("replay", *asked)
    assert (found.code, found.err) == (0, "")
    [waits] = table_of(out, "replay_waits")
    [queue] = [row for row in table_of(out, "replay_queues") if row["queue"] == "Q"]
    return found.json["sentence"], waits, queue


def figures(row: Row, *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def test_a_message_that_arrives_as_its_endpoint_ends_is_none(open_case: OpenCase) -> None:
    sentence, waits, queue = played(night_of(open_case("replay-end-at-arrival")), "--readers", "1")
    assert figures(waits, "messages", "served", "unserved") == (1, 1, 0)
    names = ("wait_p50", "wait_p90", "wait_p95", "wait_p99", "wait_max", "wait_mean")
    assert figures(waits, *names) == (0.0,) * 6
    assert waits["at_least"] is None
    assert queue["most_ready"] == 1
    # The log never took the message, so the work on it is a guess.
    assert "the log does not show the work on 1 of 1 message: it is estimated" in sentence


def test_a_transaction_with_only_where_receives_holds_no_reader(open_case: OpenCase) -> None:
    sentence, waits, queue = played(night_of(open_case("replay-where-held")))
    assert figures(waits, "messages", "wait_p50", "calibrated") == (1, 0.0, True)
    assert figures(queue, "readers", "busy_seconds", "calibrated") == (1, 5.0, True)
    assert sentence == "Played again, all messages served; the replay follows the log in all of 1 queue."


def test_where_receives_count_as_no_reader_without_session_ids(open_case: OpenCase) -> None:
    _, waits, queue = played(night_of(open_case("replay-where-readers")))
    assert queue["readers"] == 1
    assert figures(waits, "messages", "wait_p50", "wait_p90") == (3, 0.0, 60_000.0)


def test_a_drain_ends_with_its_last_work(drained: Case) -> None:
    _, waits, queue = played(drained, "--readers", "1", "--drain", end="2026-11-20T10:00:00.000001Z")
    assert figures(waits, "messages", "served") == (2, 2)
    assert queue["utilisation"] == pytest.approx(10 / 1800)
    assert figures(queue, "busy_seconds", "idle_locked_seconds") == (10.0, 1790.0)


def test_an_empty_period_is_for_a_drain(drained: Case) -> None:
    """When is it my turn, of what stands there now."""
    sentence, waits, queue = played(drained, "--readers", "1", "--drain", end=TEN)
    assert figures(waits, "messages", "served") == (2, 2)
    assert figures(queue, "busy_seconds", "idle_locked_seconds", "most_ready") == (10.0, 1790.0, 2)
    assert "the period is empty, so nothing can be compared with the log" in sentence
    refused = drained.job("replay", "--from", TEN, "--to", TEN)
    assert refused.code == 2
    assert refused.err == (
        "error: command line: --from 2026-11-20T10:00:00Z is not before --to 2026-11-20T10:00:00Z; name an "
        "earlier --from or a later --to, or add --drain\n"
    )


def test_without_queue_events_the_work_is_told_not_to_be_known(open_case: OpenCase) -> None:
    case = night_of(open_case("replay-where-readers"), queue_events=False)
    sentence, _, queue = played(case)
    assert figures(queue, "readers", "busy_seconds", "utilisation") == (None, None, None)
    said = "no queue events, so it does not say how long work takes: what was received takes no time"
    assert said in sentence
    assert "the log knows no readers of 1 queue: give --readers N" in sentence
    assert "follows the log in all" not in sentence


def test_nothing_to_compare_is_no_agreement(open_case: OpenCase) -> None:
    """Nothing was received and nobody reads: neither the log nor the replay has a wait."""
    case = night_of(open_case("replay-end-at-arrival"), queue_events=False)
    sentence, waits, _ = played(case)
    assert figures(waits, "served", "unserved") == (0, 1)
    assert "in 1 of 1 queue nothing can be compared with the log" in sentence
    assert "follows the log in 0 of 1 queue" in sentence
    assert "not known" in "\n".join(case.lines("replay", "--from", TEN, "--to", ELEVEN))

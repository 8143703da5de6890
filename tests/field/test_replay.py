"""Replays of logs whose figures follow by hand."""

from pathlib import Path
from typing import Any

import pytest

from tests.field.running import Case, Outcome, Row, table_of
from tests.support.open_case import OpenCase

pytestmark = [pytest.mark.spark, pytest.mark.slow]

NOON = "2026-11-20T12:00:00Z"
TEN, ELEVEN = "2026-11-20T10:00:00Z", "2026-11-20T11:00:00Z"


def played(case: Case, *options: str, end: str = ELEVEN) -> tuple[Outcome, Row, Row]:
    """The outcome, and the rows of queue Q in replay_waits and replay_queues."""
    assert case.nightly(NOON).code == 0
    out = case.folder / "answer"
    found = case.job("replay", "--from", TEN, "--to", end, "--out", out, "--format", "json", *options)
    assert (found.code, found.err) == (0, "")
    [waits] = table_of(out, "replay_waits")
    return found, waits, row_of(out, "replay_queues")


def row_of(out: Path, table: str) -> Row:
    [row] = [row for row in table_of(out, table) if row["queue"] == "Q"]
    return row


def figures(row: Row, *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def test_a_message_that_arrives_as_its_endpoint_ends_is_none(open_case: OpenCase) -> None:
    found, waits, queue = played(open_case("replay-end-at-arrival"), "--readers", "1")
    assert figures(waits, "messages", "served", "unserved") == (1, 1, 0)
    names = ("wait_p50", "wait_p90", "wait_p95", "wait_p99", "wait_max", "wait_mean")
    assert figures(waits, *names) == (0.0,) * 6
    assert waits["at_least"] is None
    assert queue["most_ready"] == 1
    # The log never took the message, so the work on it is a guess.
    assert "the log does not show the work on 1 of 1 message: it is estimated" in found.json["sentence"]


def test_a_transaction_with_only_where_receives_holds_no_reader(open_case: OpenCase) -> None:
    found, waits, queue = played(open_case("replay-where-held"))
    assert figures(waits, "messages", "wait_p50", "calibrated") == (1, 0.0, True)
    assert figures(queue, "readers", "busy_seconds", "calibrated") == (1, 5.0, True)
    assert found.json["sentence"] == (
        "Played again, all messages served; the replay follows the log in all of 1 queue."
    )


def test_where_receives_count_as_no_reader_without_session_ids(open_case: OpenCase) -> None:
    _, waits, queue = played(open_case("replay-where-readers"))
    assert queue["readers"] == 1
    assert figures(waits, "messages", "wait_p50", "wait_p90") == (3, 0.0, 60_000.0)


def test_a_drain_ends_with_its_last_work(open_case: OpenCase) -> None:
    case = open_case("replay-drain-end")
    _, waits, queue = played(case, "--readers", "1", "--drain", end="2026-11-20T10:00:00.000001Z")
    assert figures(waits, "messages", "served") == (2, 2)
    assert queue["utilisation"] == pytest.approx(10 / 1800)
    assert figures(queue, "busy_seconds", "idle_locked_seconds") == (10.0, 1790.0)


def test_an_empty_period_is_for_a_drain(open_case: OpenCase) -> None:
    """When is it my turn, of what stands there now."""
    case = open_case("replay-drain-end")
    found, waits, queue = played(case, "--readers", "1", "--drain", end=TEN)
    assert figures(waits, "messages", "served") == (2, 2)
    assert figures(queue, "busy_seconds", "idle_locked_seconds", "most_ready") == (10.0, 1790.0, 2)
    assert "the period is empty, so nothing can be compared with the log" in found.json["sentence"]
    refused = case.job("replay", "--from", TEN, "--to", TEN)
    assert refused.code == 2
    assert refused.err == (
        "error: command line: --from 2026-11-20T10:00:00Z is not before --to 2026-11-20T10:00:00Z; name an "
        "earlier --from or a later --to, or add --drain\n"
    )


def test_without_queue_events_the_work_is_told_not_to_be_known(open_case: OpenCase) -> None:
    case = open_case("replay-where-readers")
    (case.folder / "queue_events" / "1.json").write_text("")
    found, _, queue = played(case)
    assert figures(queue, "readers", "busy_seconds", "utilisation") == (None, None, None)
    sentence = found.json["sentence"]
    assert (
        "no queue events, so it does not say how long work takes: what was received takes no time" in sentence
    )
    assert "the log knows no readers of 1 queue: give --readers N" in sentence
    assert "follows the log in all" not in sentence


def test_nothing_to_compare_is_no_agreement(open_case: OpenCase) -> None:
    """Nothing was received and nobody reads: neither the log nor the replay has a wait."""
    case = open_case("replay-end-at-arrival")
    (case.folder / "queue_events" / "1.json").write_text("")
    found, waits, _ = played(case)
    assert figures(waits, "served", "unserved") == (0, 1)
    assert "in 1 of 1 queue nothing can be compared with the log" in found.json["sentence"]
    assert "follows the log in 0 of 1 queue" in found.json["sentence"]
    shown = case.job("replay", "--from", TEN, "--to", ELEVEN).out
    assert "not known" in shown

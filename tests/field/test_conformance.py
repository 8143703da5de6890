"""Conformance of readers whose behaviour is known."""

import json

import pytest

from tests.support.open_case import OpenCase

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_readers_that_ignore_priorities_are_told(open_case: OpenCase) -> None:
    case = open_case("field-18-priority-ignored")
    assert case.nightly().code == 0
    found = case.job("conformance", "--as-of", "2026-11-20T10:00:00Z", "--format", "json")
    assert found.code == 0
    [queue] = found.json["queues"]
    assert (queue["decisions"], queue["with_choice"], queue["conforming"]) == (4, 3, 2)
    assert (queue["passed"], queue["passable"], queue["fitness"]) == (1, 4, 0.75)
    assert (queue["where_clause"], queue["unexplained"]) == (1, 1)
    deviations = [
        (row["transaction_id"], row["level"], row["best_level"]) for row in found.json["deviations"]
    ]
    assert deviations == [("T3", 3, 9), ("T2", 3, 9)]


LOCKS_AS_OF = "2026-01-01T01:00:00Z"


def test_an_open_transaction_locks_though_the_endpoint_has_ended(open_case: OpenCase) -> None:
    """RECEIVE, END CONVERSATION, COMMIT is the everyday pattern."""
    case = open_case("conformance-lock-after-end")
    assert case.nightly(LOCKS_AS_OF).code == 0
    found = case.job("conformance", "--as-of", LOCKS_AS_OF, "--format", "json")
    assert (found.code, found.err) == (0, "")
    [queue] = found.json["queues"]
    figures = ("decisions", "with_choice", "conforming", "passed", "passable", "fitness", "lock_skipped")
    assert [queue[name] for name in figures] == [2, 1, 1, 0, 1, 1.0, 1]
    assert found.json["deviations"] == []
    states = {row["state"] for row in case.table("group_priorities")}
    assert states == {"group_locked"}


def test_hours_of_a_window_may_have_decimals(open_case: OpenCase) -> None:
    """The receives are at 00:00:01 and 00:00:03; as_of is at 01:00."""
    case = open_case("conformance-lock-after-end")
    assert case.nightly(LOCKS_AS_OF).code == 0
    asked = ("--as-of", LOCKS_AS_OF, "--format", "json", "--window-hours")
    decisions = {
        hours: case.job("conformance", *asked, hours).json["receives"]["decisions"]
        for hours in ("0.5", "0.9995", "1")
    }
    assert decisions == {"0.5": 0, "0.9995": 1, "1": 2}
    none = case.job("conformance", *asked, "0.5").json["sentence"]
    assert none.endswith("No receive without WHERE from a queue of the catalog was logged in that time.")
    for text in ("0", "-1", "nan", "1e99", "many"):
        refused = case.job("conformance", *asked, text)
        assert refused.code == 2
        assert f"--window-hours: '{text}' is not a number of hours above 0" in refused.err


def test_what_a_log_without_queue_events_can_not_know_is_told(open_case: OpenCase) -> None:
    case = open_case("field-18-priority-ignored")
    for file in (case.folder / "log" / "queue_events").iterdir():
        file.write_text("")
    assert case.nightly().code == 0
    found = case.job("conformance", "--format", "json")
    assert "nothing is known of locks and WHERE" in found.json["sentence"]
    assert "A receive that passed a higher level may have been right." in found.json["sentence"]
    shown = case.job("conformance").out
    assert "unexplained; locks and WHERE are not known" in shown
    assert "no lock, no WHERE" not in shown


def test_queues_whose_transactions_are_not_logged_are_counted(open_case: OpenCase) -> None:
    case = open_case("field-18-priority-ignored")
    path = case.folder / "log" / "queue_events" / "a.jsonl"
    [first, *_] = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text(json.dumps(first | {"queue": "AnotherQueue"}))
    assert case.nightly().code == 0
    sentence = case.job("conformance", "--format", "json").json["sentence"]
    assert sentence.endswith(
        "1 queue has no RECEIVE, COMMIT or ROLLBACK events: nothing is known of locks and WHERE there."
    )


def test_a_log_without_receives_says_nothing_of_receives(open_case: OpenCase) -> None:
    case = open_case("conformance-lock-after-end")
    path = case.folder / "message_events" / "m.json"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "RECEIVED" not in line))
    assert case.nightly(LOCKS_AS_OF).code == 0
    found = case.job("conformance", "--as-of", LOCKS_AS_OF, "--format", "json")
    assert found.json["sentence"].endswith(
        "The log has no RECEIVED events: whether receives kept to the levels is not known."
    )


def test_rules_that_only_a_snapshot_shows_are_first_seen(open_case: OpenCase) -> None:
    case = open_case("field-23-whatif-on-snapshot")
    assert case.nightly().code == 0
    printed = case.job("coverage")
    assert (printed.code, "first_seen_at" in printed.out, "valid_from" in printed.out) == (0, True, False)
    rows = case.job("coverage", "--format", "json").json["coverage"]
    dated = {row["rule_name"]: (row["valid_from"], row["first_seen"]) for row in rows if row["rule_name"]}
    assert dated
    assert {is_first_seen for _, is_first_seen in dated.values()} == {True}


def test_levels_of_a_snapshot_are_not_checkable(open_case: OpenCase) -> None:
    """The server's own levels always agree with themselves; today's rules may give others."""
    case = open_case("field-16-stuck-transmission")
    assert case.nightly().code == 0
    found = case.job("conformance", "--format", "json")
    assert found.code == 0
    assert found.json["endpoints"] == {
        "endpoints": 6,
        "logged": 0,
        "differing": 0,
        "of_server": 6,
        "differing_today": 6,
    }
    assert found.json["sentence"] == (
        "The levels of 6 endpoints are not checkable: these levels are the server's own, shown by a "
        "snapshot; 6 endpoints differ from today's rules. The log has no RECEIVED events: whether "
        "receives kept to the levels is not known."
    )

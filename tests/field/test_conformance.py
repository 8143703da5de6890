"""Conformance of readers whose behaviour is known, and of what a log can't tell of them."""

import pytest

from tests.field.running import AS_OF, Case, OpenCase

pytestmark = pytest.mark.slow

IGNORED, LOCKS = "field-18-priority-ignored", "conformance-lock-after-end"
LOCKS_AS_OF = "2026-01-01T01:00:00Z"


@pytest.fixture(scope="module")
def ignored(open_case: OpenCase) -> Case:
    """Readers that ignore priorities."""
    case = open_case(IGNORED)
    case.publish()
    return case


@pytest.fixture(scope="module")
def locks(open_case: OpenCase) -> Case:
    """RECEIVE, END CONVERSATION, COMMIT is the everyday pattern: at 00:00:01 and 00:00:03."""
    case = open_case(LOCKS)
    case.publish(LOCKS_AS_OF)
    return case


def test_readers_that_ignore_priorities_are_told(ignored: Case) -> None:
    found = ignored.ask("conformance", "--as-of", AS_OF)
    [queue] = found["queues"]
    assert (queue["decisions"], queue["with_choice"], queue["conforming"]) == (4, 3, 2)
    assert (queue["passed"], queue["passable"], queue["fitness"]) == (1, 4, 0.75)
    assert (queue["where_clause"], queue["unexplained"]) == (1, 1)
    deviations = [(row["transaction_id"], row["level"], row["best_level"]) for row in found["deviations"]]
    assert deviations == [("T3", 3, 9), ("T2", 3, 9)]


def test_a_queue_without_a_monitor_where_no_queue_has_one(ignored: Case) -> None:
    shown = ignored.job("activation", "--as-of", AS_OF, "--queue", "TargetQueue")
    assert (shown.code, shown.out) == (2, "")
    assert shown.err.endswith(f"has no monitor in {ignored.folder / 'catalog.yaml'}; no queue has one\n")


def test_an_open_transaction_locks_though_the_endpoint_has_ended(locks: Case) -> None:
    found = locks.ask("conformance", "--as-of", LOCKS_AS_OF)
    [queue] = found["queues"]
    figures = ("decisions", "with_choice", "conforming", "passed", "passable", "fitness", "lock_skipped")
    assert [queue[name] for name in figures] == [2, 1, 1, 0, 1, 1.0, 1]
    assert found["deviations"] == []
    assert {row["state"] for row in locks.table("group_priorities")} == {"group_locked"}


def test_hours_of_a_window_may_have_decimals(locks: Case) -> None:
    asked = ("--as-of", LOCKS_AS_OF, "--window-hours")
    found = {hours: locks.ask("conformance", *asked, hours) for hours in ("0.5", "0.9995", "1")}
    decisions = {hours: each["receives"]["decisions"] for hours, each in found.items()}
    assert decisions == {"0.5": 0, "0.9995": 1, "1": 2}
    none = "No receive without WHERE from a queue of the catalog was logged in that time."
    assert found["0.5"]["sentence"].endswith(none)
    for text in ("0", "-1", "nan", "1e99", "many"):
        refused = locks.job("conformance", *asked, text)
        assert refused.code == 2
        assert f"--window-hours: '{text}' is not a number of hours above 0" in refused.err


def test_what_a_log_without_queue_events_can_not_know_is_told(open_case: OpenCase) -> None:
    case = open_case(IGNORED)
    (case.folder / "log" / "queue_events" / "a.jsonl").write_text("")
    case.publish()
    sentence = case.ask("conformance")["sentence"]
    assert "nothing is known of locks and WHERE" in sentence
    assert "A receive that passed a higher level may have been right." in sentence
    shown = "\n".join(case.lines("conformance"))
    assert "unexplained; locks and WHERE are not known" in shown
    assert "no lock, no WHERE" not in shown


def test_locks_of_a_queue_without_events_are_not_known(open_case: OpenCase) -> None:
    """The log has queue events, and none of this queue: a deviation there is not one without a lock."""
    case = open_case(IGNORED)
    path = case.folder / "log" / "queue_events" / "a.jsonl"
    path.write_text(path.read_text().replace("TargetQueue", "Other"))
    case.publish()
    said = "\n".join(case.lines("conformance"))
    took = "took group G04 of MILL1.MillDB.TargetQueue at level 3 while 1 group up to level 9 was there"
    assert took in said
    assert "unexplained; locks and WHERE are not known" in said
    assert "no lock, no WHERE" not in said
    assert case.ask("conformance")["sentence"].endswith(
        "1 queue has no RECEIVE, COMMIT or ROLLBACK events: nothing is known of locks and WHERE there."
    )


def test_a_log_without_receives_says_nothing_of_receives(open_case: OpenCase) -> None:
    case = open_case(LOCKS)
    path = case.folder / "message_events" / "m.json"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "RECEIVED" not in line))
    case.publish(LOCKS_AS_OF)
    assert case.ask("conformance", "--as-of", LOCKS_AS_OF)["sentence"].endswith(
        "The log has no RECEIVED events: whether receives kept to the levels is not known."
    )

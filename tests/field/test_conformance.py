"""Conformance of readers whose behaviour is known, and of what a log can't tell of them."""

import pytest

from tests.field.running import AS_OF, CASES, EVENTS, Case, Row, instance_of, log_of

pytestmark = pytest.mark.slow

IGNORED, LOCKS = "field-18-priority-ignored", "conformance-lock-after-end"


@pytest.fixture(scope="module")
def case(session: object, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Three instances; the readers of MILL1 ignore priorities.

    SILENT has the same readers, and no queue events of their queue. RECEIVE, END CONVERSATION, COMMIT is the
    everyday pattern: LOCKS has it at 09:00:01 and 09:00:03.
    """
    case = Case(tmp_path_factory.mktemp("conformance"))
    ignored, silent, locks = log_of(IGNORED, "MILL1"), log_of(IGNORED, "SILENT"), log_of(LOCKS, "LOCKS")
    for row in silent["queue_events"]:
        row["queue"] = "OrderQueue"
    for rows in locks.values():
        for row in rows:
            row["event_time"] = row["event_time"].replace("2026-01-01T00", "2026-11-20T09")
    case.set_log({source: [*ignored[source], *silent[source], *locks[source]] for source in EVENTS})
    case.set_catalog(
        instance_of(IGNORED, "MILL1"), instance_of(IGNORED, "SILENT"), instance_of(LOCKS, "LOCKS")
    )
    rules = {"path": f"{CASES / IGNORED / 'rules.sql'}", "effective_from": "2026-01-01T00:00:00Z"}
    high = "{name: High, contract: high, level: 9}"
    (case.folder / "rules.yaml").write_text(f"[{{instance: LOCKS, database: D, create: {high}}}]")
    case.configure(
        rules=[
            *({**rules, "instance": name} for name in ("MILL1", "SILENT")),
            {**rules, "path": "rules.yaml"},
        ]
    )
    case.publish()
    return case


@pytest.fixture(scope="module")
def found(case: Case) -> Row:
    """The answer of `conformance`."""
    answer: Row = case.ask("conformance", "--as-of", AS_OF)
    return answer


def of_instance(rows: list[Row], instance: str) -> list[Row]:
    return [row for row in rows if row["instance"] == instance]


def test_readers_that_ignore_priorities_are_told(found: Row) -> None:
    [queue] = of_instance(found["queues"], "MILL1")
    assert (queue["decisions"], queue["with_choice"], queue["conforming"]) == (4, 3, 2)
    assert (queue["passed"], queue["passable"], queue["fitness"]) == (1, 4, 0.75)
    assert (queue["where_clause"], queue["unexplained"]) == (1, 1)
    deviations = [
        (row["transaction_id"], row["level"], row["best_level"])
        for row in of_instance(found["deviations"], "MILL1")
    ]
    assert deviations == [("T3", 3, 9), ("T2", 3, 9)]


def test_a_queue_without_a_monitor_where_no_queue_has_one(case: Case) -> None:
    shown = case.job("activation", "--as-of", AS_OF, "--queue", "MILL1.MillDB.TargetQueue")
    assert (shown.code, shown.out) == (2, "")
    assert shown.err.endswith(f"has no monitor in {case.folder / 'catalog.yaml'}; no queue has one\n")


def test_an_open_transaction_locks_though_the_endpoint_has_ended(case: Case, found: Row) -> None:
    [queue] = of_instance(found["queues"], "LOCKS")
    figures = ("decisions", "with_choice", "conforming", "passed", "passable", "fitness", "lock_skipped")
    assert [queue[name] for name in figures] == [2, 1, 1, 0, 1, 1.0, 1]
    assert of_instance(found["deviations"], "LOCKS") == []
    groups = of_instance(case.table("group_priorities"), "LOCKS")
    assert {row["state"] for row in groups} == {"group_locked"}


def test_hours_of_a_window_may_have_decimals(case: Case) -> None:
    asked = ("--as-of", AS_OF, "--window-hours")
    [queue] = of_instance(case.ask("conformance", *asked, "0.9995")["queues"], "LOCKS")
    assert queue["decisions"] == 1
    none = case.ask("conformance", *asked, "0.5")
    assert none["receives"]["decisions"] == 0
    said = "No receive without WHERE from a queue of the catalog was logged in that time."
    assert none["sentence"].endswith(said)
    for text in ("0", "nan", "1e99", "many"):
        refused = case.job("conformance", *asked, text)
        assert refused.code == 2
        assert f"--window-hours: '{text}' is not a number of hours above 0" in refused.err


def test_locks_of_a_queue_without_events_are_not_known(case: Case, found: Row) -> None:
    """The log has queue events, and none of this queue: a deviation there is not one without a lock."""
    assert found["sentence"].endswith(
        "1 queue has no RECEIVE, COMMIT or ROLLBACK events: nothing is known of locks and WHERE there."
    )
    took = (
        "took group SILENTG04 of SILENT.MillDB.TargetQueue at level 3 while 1 group up to level 9 was there"
    )
    [said] = [line for line in case.lines("conformance") if took in line]
    assert "unexplained; locks and WHERE are not known" in said
    assert "no lock, no WHERE" not in said

"""The rules that snapshots show, as statements, beside those of a DDL log. Hours are those of one day."""

from datetime import datetime, timedelta
from typing import Any

from pipelines.rules.history import apply_statements
from pipelines.rules.statements import RuleStatement, SourceLocation, StatementType
from pipelines.server.snapshots.server import CapturedSnapshot, ServerSnapshot
from pipelines.server.snapshots.statements import make_statements, without_refused
from tests.support.factories import NOON

NAMES = ("service_contract_id", "service_contract_name", "local_service_id", "local_service_name")


def _at(hour: int) -> datetime:
    return NOON + timedelta(hours=hour - 12)


def _capture(hour: int, levels: dict[str, int], *, is_complete: bool = True) -> ServerSnapshot:
    """A capture of SQL1.B with a rule for each remote service, which is called as the rule is."""
    rows = [
        {**dict.fromkeys(NAMES), "name": name, "remote_service_name": name, "priority": level}
        for name, level in levels.items()
    ]
    declared = CapturedSnapshot("captures/a.jsonl", "SQL1", "B", _at(hour), "C1")
    complete = frozenset({"conversation_priorities"} if is_complete else ())
    return ServerSnapshot(declared, {}, {"conversation_priorities": rows}, complete)


def _logged(kind: StatementType, hour: int, name: str, level: int | None = None) -> RuleStatement:
    return RuleStatement(kind, _at(hour), "SQL1", "B", name, SourceLocation("log.csv", 1, 1), level=level)


def _periods(
    snapshots: list[ServerSnapshot], log: list[RuleStatement]
) -> tuple[list[tuple[Any, ...]], list[str | None]]:
    """Name, level and hours of each version, and the names of statements that do not count."""
    shown = make_statements([], snapshots, log)
    kept, notes = without_refused(shown, log)
    versions = apply_statements([*shown, *kept]).versions
    periods = [(v.name, v.level, v.valid_from.hour, v.valid_to and v.valid_to.hour) for v in versions]
    return periods, [note.rule for note in notes]


def test_a_rule_that_a_view_without_all_rows_lacks_stands_on() -> None:
    first = _capture(12, {"Rush": 8, "Slow": 2})
    slow = [("Slow", 2, 12, 13), ("Slow", 3, 13, None)]
    for is_complete, end in ((False, None), (True, 13)):
        later = _capture(13, {"Slow": 3}, is_complete=is_complete)
        assert _periods([first, later], []) == ([("Rush", 8, 12, end), *slow], [])


def test_a_log_is_laid_over_the_capture_before_it() -> None:
    """The second capture shows what the log left, and is no version of its own; the third differs."""
    log = [_logged(StatementType.ALTER, 10, "Gold", 3), _logged(StatementType.DROP, 13, "Gold")]
    captures = [_capture(8, {"Gold": 9}), _capture(12, {"Gold": 3}), _capture(14, {"Silver": 6})]
    expected = [("Gold", 9, 8, 10), ("Gold", 3, 10, 13), ("Silver", 6, 14, None)]
    assert _periods(captures, log) == (expected, [])


def test_a_change_of_a_rule_that_nothing_shows_does_not_count() -> None:
    log = [_logged(StatementType.ALTER, 10, "Gold", 3), _logged(StatementType.CREATE, 11, "New", 9)]
    assert _periods([], log) == ([("New", 9, 11, None)], ["Gold"])

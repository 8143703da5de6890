"""The rules that snapshots show, as statements."""

from datetime import datetime, timedelta

from pipelines.config.rules.history import rule_history
from pipelines.config.snapshots.server import CapturedSnapshot, ServerSnapshot
from pipelines.config.snapshots.statements import make_statements
from tests.support.factories import NOON

LATER = NOON + timedelta(hours=1)
NAMES = ("service_contract_id", "service_contract_name", "local_service_id", "local_service_name")


def _capture(taken_at: datetime, levels: dict[str, int], *, is_complete: bool) -> ServerSnapshot:
    """A capture of SQL1.B with a rule for each remote service, which is called as the rule is."""
    rows = [
        {**dict.fromkeys(NAMES), "name": name, "remote_service_name": name, "priority": level}
        for name, level in levels.items()
    ]
    declared = CapturedSnapshot("captures/a.jsonl", "SQL1", "B", taken_at, "C1")
    complete = frozenset({"conversation_priorities"} if is_complete else ())
    return ServerSnapshot(declared, {}, {"conversation_priorities": rows}, complete)


def _periods(*captures: ServerSnapshot) -> dict[tuple[str, int], datetime | None]:
    """When rules end, by name and level."""
    return {(each.name, each.level): each.valid_to for each in rule_history(make_statements([], captures))}


def test_a_rule_that_a_view_without_all_rows_lacks_stands_on() -> None:
    first = _capture(NOON, {"Rush": 8, "Slow": 2}, is_complete=True)
    assert _periods(first, _capture(LATER, {"Slow": 3}, is_complete=False)) == {
        ("Rush", 8): None,
        ("Slow", 2): LATER,
        ("Slow", 3): None,
    }
    assert _periods(first, _capture(LATER, {"Slow": 2}, is_complete=True)) == {
        ("Rush", 8): LATER,
        ("Slow", 2): None,
    }

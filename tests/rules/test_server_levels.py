"""Which rule gave a level that only snapshots show."""

from datetime import timedelta
from typing import Any

from pipelines.config.rules.history import RuleVersion
from pipelines.rules.ladder import Ladder
from pipelines.rules.server_levels import decisions, may_have_given
from tests.support.factories import NOON

NAMES = ("Contract", "Own", "Far")
FIRST, SECOND, THIRD, FOURTH = (NOON + timedelta(hours=hour) for hour in range(4))
TAKEN = [FIRST, SECOND, THIRD, FOURTH]


def rule(level: int, **changes: Any) -> RuleVersion:
    """A version of rule R, whose criteria are ANY."""
    given = dict.fromkeys(("contract", "local_service", "remote_service"))
    return RuleVersion(
        **{"instance": "SQL1", "database": "B", "name": "R", "level": level, **given, **changes}
    )


def test_between_snapshots_that_agree_the_version_is_known() -> None:
    # taken     1      2      3      4
    # R         [- 8 ---------)[- 3 ...
    old = rule(8, valid_from=FIRST, valid_to=THIRD)
    new = rule(3, valid_from=THIRD)
    assert decisions(Ladder([old, new]), NAMES, TAKEN) == [(FIRST, SECOND, old), (THIRD, FOURTH, new)]
    # Nobody knows what stood before the first snapshot, or after the last.
    assert decisions(Ladder([rule(8, valid_from=FIRST)]), NAMES, [FIRST]) == []


def test_snapshots_without_a_fitting_rule_agree_on_the_default() -> None:
    other = rule(8, valid_from=SECOND, contract="Other")
    for ladder in (Ladder([]), Ladder([other])):
        assert decisions(ladder, NAMES, TAKEN) == [(FIRST, FOURTH, None)]
    assert decisions(Ladder([]), NAMES, []) == []


def test_rule_files_know_all_times() -> None:
    own = rule(8, valid_from=SECOND + timedelta(minutes=1))
    assert decisions(Ladder([own]), NAMES, TAKEN) == [
        (None, own.valid_from, None),
        (own.valid_from, None, own),
    ]


def test_a_name_that_is_not_known_leaves_open_which_rule_it_was() -> None:
    rush, slow = rule(8, valid_from=FIRST, remote_service="Far"), rule(2, valid_from=FIRST, name="Slow")
    ladder, unknown = Ladder([rush, slow]), ("Contract", "Own", "")
    assert decisions(ladder, NAMES, TAKEN) == [(FIRST, FOURTH, rush)]
    assert decisions(ladder, unknown, TAKEN) == []
    assert [may_have_given(ladder, unknown, level) for level in (8, 2, 5)] == [["R"], ["Slow"], []]

"""The ladder in plain Python: by hand, and equal to a look at every rule."""

from datetime import timedelta
from typing import Any

from hypothesis import given, settings, strategies as st

from pipelines.rules.history import RuleVersion
from pipelines.rules.ladder import (
    NO_RULES,
    Ladder,
    decisions,
    find_periods,
    join_names,
    ladders_at,
    ladders_of,
    level_of,
    may_have_given,
    mirror_names,
    stands_at,
    step_of,
)
from tests.support.factories import NOON
from tests.support.model import rules as model_rules
from tests.support.model.rules import DEFAULT_LEVEL, Rule, fits, resolve
from tests.support.rule_versions import DATABASE, day, histories, version

OTHER = ("I", "E")
NAMES = ("Orders", "orders", "Order", "Ord ers", "Audit")


def test_fitting_rules_come_in_the_order_of_the_ladder() -> None:
    rules = [
        version("Any"),
        version("Local", local="L"),
        version("C", "C"),
    ]
    ladder = Ladder([*rules, version("Other", "C", "X")])
    assert [rule.name for rule in ladder.find_fitting(("C", "L", "R"))] == ["C", "Local", "Any"]
    assert [step_of(rule) for rule in ladder.find_fitting(("C", "L", "R"))] == [4, 6, 8]
    assert ladder.decide(("C", "L", "R")) is rules[2]
    # A name that no rule mentions.
    assert [*ladder.find_fitting((None, "L", None))] == [rules[1], rules[0]]
    assert (NO_RULES.decide(("C", "L", "R")), level_of(None)) == (None, DEFAULT_LEVEL)


def test_a_version_stands_from_its_first_instant_until_its_last() -> None:
    #        1    3    5
    # first  [---------)
    # then             [----
    first, then = version("R", "C", until=5), version("R", "C", since=5)
    assert [stands_at(first, day(number)) for number in (1, 4, 5)] == [True, True, False]
    assert [stands_at(each, None) for each in (first, then)] == [False, True]
    ladder = Ladder([first, then])
    assert [ladder.decide_at(("C", "L", "R"), moment) for moment in (day(4), day(5), None)] == [
        first,
        then,
        then,
    ]
    other = version("R", "C", place=OTHER)
    found = {key: ladder.rules for key, ladder in ladders_at([other, first, then], day(3)).items()}
    assert list(found.items()) == [(DATABASE, (first,)), (OTHER, (other,))]
    assert ladders_of([first, then])[DATABASE].rules == (first, then)


def test_periods_end_where_a_version_begins_or_ends() -> None:
    #        1    3    5    7
    # A      [---------)
    # B           [---------
    a, b = version("A", until=5), version("B", since=3)
    assert find_periods([a, b]) == [(None, day(1)), (day(1), day(3)), (day(3), day(5)), (day(5), None)]
    assert find_periods([]) == [(None, None)]


def test_rules_that_overlap_are_in_groups_by_the_name_that_they_add() -> None:
    a, b = version("A", "C1", "L1"), version("B", "C1", "L2")
    c, d = version("C", "C2", "L1", level=3), version("D", remote="R")
    ladder = Ladder([a, b, c, d])
    with_both, with_remote = (True, True, False), (False, False, True)
    of_contract = {7: {(None, "L1", None): [a], (None, "L2", None): [b]}}
    assert ladder.find_overlapping(("C1", None, None), with_both) == of_contract
    assert ladder.find_overlapping(("C3", None, None), with_both) == {}
    of_any = {7: {("C1", None, None): [a, b]}, 3: {("C2", None, None): [c]}}
    assert ladder.find_overlapping((None, None, "R"), with_both) == of_any
    assert ladder.find_overlapping(("C1", "L1", None), with_both) == {7: {(None, None, None): [a]}}
    assert ladder.find_overlapping(("C1", None, None), with_remote) == {7: {(None, None, "R"): [d]}}
    assert join_names(("C", None, "R"), (None, "L", "R")) == ("C", "L", "R")
    assert mirror_names(("C", "L", "R")) == ("C", "R", "L")


@settings(max_examples=40)
@given(histories([NAMES] * 3, 30), st.tuples(*[st.sampled_from(NAMES)] * 3), st.integers(1, 9))
def test_look_ups_find_what_a_look_at_every_rule_finds(
    versions: list[RuleVersion], names: tuple[str, str, str], number: int
) -> None:
    model = [Rule(**vars(each)) for each in versions]
    ladder = Ladder(versions)
    fitting = sorted((each for each in model if fits(each, names)), key=model_rules.step_of)
    assert [each.name for each in ladder.find_fitting(names)] == [each.name for each in fitting]
    decided = ladder.decide_at(names, day(number))
    expected = resolve(model, DATABASE, day(number), names)
    assert (level_of(decided), decided and decided.name, decided and step_of(decided)) == expected


CRITERIA = ("Contract", "Own", "Far")
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
    assert decisions(Ladder([old, new]), CRITERIA, TAKEN) == [(FIRST, SECOND, old), (THIRD, FOURTH, new)]
    # Nobody knows what stood before the first snapshot, or after the last.
    assert decisions(Ladder([rule(8, valid_from=FIRST)]), CRITERIA, [FIRST]) == []


def test_snapshots_without_a_fitting_rule_agree_on_the_default() -> None:
    other = rule(8, valid_from=SECOND, contract="Other")
    for ladder in (Ladder([]), Ladder([other])):
        assert decisions(ladder, CRITERIA, TAKEN) == [(FIRST, FOURTH, None)]
    assert decisions(Ladder([]), CRITERIA, []) == []


def test_rule_files_know_all_times() -> None:
    own = rule(8, valid_from=SECOND + timedelta(minutes=1))
    assert decisions(Ladder([own]), CRITERIA, TAKEN) == [
        (None, own.valid_from, None),
        (own.valid_from, None, own),
    ]


def test_a_name_that_is_not_known_leaves_open_which_rule_it_was() -> None:
    rush = rule(8, valid_from=FIRST, contract="Contract", remote_service="Far")
    slow = rule(2, valid_from=FIRST, name="Slow")
    ladder, unknown = Ladder([rush, slow]), ("Contract", "Own", "")
    assert decisions(ladder, CRITERIA, TAKEN) == [(FIRST, FOURTH, rush)]
    assert decisions(ladder, unknown, TAKEN) == []
    assert ladder.find_candidates(unknown) == [rush]
    assert [may_have_given(ladder, unknown, level) for level in (8, 2, 5)] == [["R"], ["Slow"], []]

"""The ladder as it is explained, against the naive model's and by hand. Days are those of January 2026."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings, strategies as st

from pipelines.explain.endpoint import (
    Candidate,
    Endpoint,
    LaterOutcome,
    NearMiss,
    Outcome,
    RulePeriod,
    explain_endpoint,
    find_near_rules,
)
from pipelines.rules.history import RuleVersion
from schemas.ledger import ENDPOINTS
from tests.support import written
from tests.support.model.rules import Rule, resolve
from tests.support.rule_versions import day, histories, version

NAMES = {"contract": "C", "local_service": "L", "remote_service": "R"}


def endpoint(**changes: Any) -> dict[str, Any]:
    """All columns of an endpoint that was created on day 5, and whose level no rule gave."""
    made = {"created_at": day(5), "created_by": "log", "level_source": "ladder", "side_known": True}
    own = written.endpoint("c", instance="I", database="D", **made, **NAMES)
    return {**dict.fromkeys(ENDPOINTS.names), **own, **changes}


def explain(*rules: RuleVersion, **changes: Any) -> Endpoint:
    row = endpoint(**changes)
    return explain_endpoint(row, rules, find_near_rules(row, rules, lambda *name: name[3] == "Contracts"))


def of_server(level: int) -> dict[str, Any]:
    """What an endpoint has whose level a snapshot shows."""
    return {"level_source": "server", "logged_priority": level, "priority": level}


def test_the_steps_are_those_of_the_documentation() -> None:
    wanted = [(s.step, s.contract, s.local_service, s.remote_service) for s in explain().steps]
    assert wanted == [
        (1, "C", "L", "R"),
        (2, "C", "L", None),
        (3, "C", None, "R"),
        (4, "C", None, None),
        (5, None, "L", "R"),
        (6, None, "L", None),
        (7, None, None, "R"),
        (8, None, None, None),
    ]
    # Without rules of the database it is the default.
    others = [version(name, "C", local, "R", place=("I", "E")) for name, local in ("RL", "SX")]
    for rules in ([], others):
        found = explain(*rules)
        assert found.given == found.by_present_rules == Outcome(5, None, None)
        assert not any(step.rule or step.decides or step.near_misses for step in found.steps)
        assert found.later == ()


def test_the_first_hit_decides_and_later_hits_are_shown() -> None:
    found = explain(version("Base", level=3), version("Contract", "C", level=8), version("Else", "X"))
    hits = {step.step: (step.rule.rule_name, step.decides) for step in found.steps if step.rule}
    assert hits == {4: ("Contract", True), 8: ("Base", False)}
    assert found.by_present_rules == Outcome(8, "Contract", 4)


def test_near_misses_are_near_names_and_the_nearest_come_first() -> None:
    rules = [version(f"Other{n}", "C", f"Other{n}", "R", level=2) for n in range(5)]
    spellings = ["InitiatorServices", "Initiator Service", "InitatorServices"]
    spellings += ["InitiatorSerivce", "InitiatorServic"]
    rules += [version(f"Slip{n}", "C", spelling, "R", level=3) for n, spelling in enumerate(spellings)]
    found = explain(*rules, version("Any", None, "initiatorservice"), local_service="InitiatorService")
    step = found.steps[0]
    assert step.near_misses == tuple(
        NearMiss(f"Slip{n}", 3, "local_service", spellings[n], "InitiatorService") for n in (1, 0, 4)
    )
    assert step.more_near_misses == 2
    assert [[miss.rule_name for miss in each.near_misses] for each in found.steps[1:]] == [
        *[[]] * 4,
        ["Any"],
        *[[]] * 2,
    ]


def test_names_in_use_and_two_other_names_are_no_near_miss() -> None:
    rules = [version("Two", "Kontract", "l", "R"), version("Used", "Contracts"), version("Case", "contract")]
    rules += [version("Gone", "CONTRACT", until=4)]
    misses = [step.near_misses for step in explain(*rules, contract="Contract").steps]
    assert [miss.rule_name for step in misses for miss in step] == ["Case"]


def test_versions_before_and_after_the_creation() -> None:
    # Rule  [7--)[8----)    [2-     created: day 5
    #       1    4     7    9
    first = version("Rule", "C", level=7, since=1, until=4)
    rules = [first, replace(first, level=8, valid_from=day(4), valid_to=day(7))]
    rules.append(replace(first, level=2, valid_from=day(9), valid_to=None))
    found = explain(*rules, priority=7, rule_name="Rule", ladder_step=4)
    assert found.given == Outcome(7, "Rule", 4)
    assert found.by_present_rules == Outcome(8, "Rule", 4)
    assert found.steps[3].rule == RulePeriod("Rule", 8, day(4), day(7))
    assert found.steps[3].at_other_times == (
        RulePeriod("Rule", 7, day(1), day(4)),
        RulePeriod("Rule", 2, day(9), None),
    )
    assert found.later == (
        LaterOutcome(day(7), Outcome(5, None, None)),
        LaterOutcome(day(9), Outcome(2, "Rule", 4)),
    )
    # A validity begins at its first instant and ends before its last.
    short = version("R", level=9, since=5, until=6)
    assert explain(short, created_at=day(5)).by_present_rules == Outcome(9, "R", 8)
    assert explain(short, created_at=day(6)).by_present_rules == Outcome(5, None, None)


def test_a_level_of_the_server_is_explained_by_the_rules_that_stand() -> None:
    # Rule  [3--)[8-----    created by day 5
    #       1    6
    first = version("Rule", "C", level=3, since=1, until=6)
    stands = replace(first, level=8, valid_from=day(6), valid_to=None)
    found = explain(
        first, stands, version("Base", level=2), **of_server(8), created_by="snapshot", rule_name="Rule"
    )
    assert (found.level_source, found.created_by) == ("server", "snapshot")
    # The rule had another level when the endpoint was created.
    assert found.given == found.by_present_rules == Outcome(8, None, None)
    assert (found.candidates, found.is_given_known) == ((Candidate(8, "Rule"),), False)
    hits = {step.step: (step.rule, step.decides) for step in found.steps if step.rule}
    assert hits[4] == (RulePeriod("Rule", 8, day(6), None), True)
    assert found.steps[3].at_other_times == (RulePeriod("Rule", 3, day(1), day(6)),)
    assert found.later == ()


def test_a_level_of_the_server_has_the_rule_that_gives_it() -> None:
    known = explain(version("Rule", "C", level=8), **of_server(8))
    assert known.given == known.by_present_rules == Outcome(8, "Rule", 4)
    assert (known.candidates, known.is_given_known) == ((), True)
    other = explain(version("Rule", "C", level=3), **of_server(8))
    assert other.given == other.by_present_rules == Outcome(8, None, None)
    assert [step.step for step in other.steps if step.decides] == [4]
    without = explain(**of_server(8))
    assert without.given == without.by_present_rules == Outcome(8, None, None)


def test_a_rule_that_asks_for_a_name_that_is_not_known_is_a_candidate() -> None:
    """It may fit, so no rule is said to decide; one behind the rule that fits does not matter."""
    both, late = version("Both", local=NAMES["local_service"], remote="Far"), version("Late", remote="Far")
    fits = version("Fits", local=NAMES["local_service"], level=2)
    found = explain(both, late, fits, **of_server(2), remote_service="")
    assert found.by_present_rules is None
    assert [(step.step, each.rule_name) for step in found.steps for each in step.candidates] == [(5, "Both")]
    assert [step.step for step in found.steps if step.decides] == []
    found = explain(late, fits, **of_server(2), remote_service="")
    assert found.by_present_rules == Outcome(2, "Fits", 6)
    assert not found.is_undecided


CRITERIA = [(name, name.lower()) for name in NAMES.values()]


@settings(max_examples=30)
@given(histories(CRITERIA, 12), st.integers(1, 9))
def test_the_outcome_is_the_models_at_every_moment(history: list[RuleVersion], created: int) -> None:
    rules = [Rule(**{name: getattr(one, name) for name in Rule.__dataclass_fields__}) for one in history]

    def by_model(number: int) -> Outcome:
        return Outcome(*resolve(rules, ("I", "D"), day(number), ("C", "L", "R")))

    found = explain(*history, created_at=day(created))
    assert found.by_present_rules == by_model(created)
    assert [step.step for step in found.steps if step.decides] == (
        [found.by_present_rules.ladder_step] if found.by_present_rules.ladder_step else []
    )
    for number in range(created, 10):
        changes = [later.outcome for later in found.later if later.since <= day(number)]
        assert (changes or [found.by_present_rules])[-1] == by_model(number)

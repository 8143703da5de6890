"""Explain the priority of an endpoint: the eight steps, their rules, and the near misses."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from pipelines.rules.history import RuleVersion
from pipelines.rules.ladder import (
    NO_RULES,
    Ladder,
    decisions,
    find_periods,
    ladders_at,
    ladders_of,
    level_of,
    masked,
    may_have_given,
    names_of,
    stands_at,
    step_of,
)
from pipelines.rules.near_rules import NearRule, NearRules
from pipelines.rules.statements import CRITERIA, STEPS

NEAR_MISSES_SHOWN = 3
LISTED_STEPS = 2
"""The steps whose rules name contract and local service: `ServerSnapshot.leaves_out_any` has all of these."""
GIVEN = ("priority", "rule_name", "ladder_step")
DERIVED = ("ended_by", "state", "state_seen_at")
"""Fields of `Endpoint` that `explain_endpoint` leaves to its caller."""
SERVER = "server"
"""The `level_source` of an endpoint whose level a snapshot shows, and no event its creation."""


@dataclass(frozen=True)
class Outcome:
    """A level, with the rule and the step that give it; both None for the default.

    A level of the server's has those on which the snapshots around the creation agree, else None.
    """

    level: int
    rule_name: str | None
    ladder_step: int | None


@dataclass(frozen=True)
class NearMiss:
    """A rule in force at the moment that fails a step by one criterion, whose name is near the endpoint's."""

    rule_name: str
    level: int
    criterion: str
    asks_for: str
    endpoint_has: str


@dataclass(frozen=True)
class StepCandidate:
    """A rule in force at the moment that fits if a name that is not known is the one that it asks for.

    `asks_for` has the names that are not known, by criterion.
    """

    rule_name: str
    level: int
    asks_for: Mapping[str, str]


@dataclass(frozen=True)
class RulePeriod:
    """A period in which a rule matches a step, before or after the moment.

    `first_seen`: only snapshots show the rule, and `valid_from` is when the first of them was taken.
    """

    rule_name: str
    level: int
    valid_from: datetime
    valid_to: datetime | None
    first_seen: bool = False


@dataclass(frozen=True)
class Step:
    """One step of the ladder at the endpoint's creation; where the level is the server's, by today's rules.

    `contract`, `local_service` and `remote_service` are what a rule has to say, None for ANY. `rule` is the
    version in force then that says so, None for a miss; `decides` is true for the first hit, which does not
    decide a level of the server's.
    `near_misses` are the nearest, and `more_near_misses` counts the rest. `candidates` are those of
    `Ladder.find_candidates`: if any step has one, none decides.
    """

    step: int
    contract: str | None
    local_service: str | None
    remote_service: str | None
    rule: RulePeriod | None
    decides: bool
    near_misses: tuple[NearMiss, ...]
    more_near_misses: int
    at_other_times: tuple[RulePeriod, ...]
    candidates: tuple[StepCandidate, ...] = ()


@dataclass(frozen=True)
class LaterOutcome:
    """The outcome for an endpoint with the same names that is created from a moment on.

    `first_seen`: a snapshot of that moment is the first that shows these rules; they may be older.
    """

    since: datetime
    outcome: Outcome
    first_seen: bool = False


@dataclass(frozen=True)
class Candidate:
    """A rule that gave a level of the server's if it was there when the endpoint was created."""

    level: int
    rule_name: str


@dataclass(frozen=True)
class Endpoint:
    """An endpoint and why it has its priority.

    `given` is what it has. `by_present_rules` is what the rules say now of the moment of its creation; where
    the level is the server's (`level_source`), both are that level. The two differ where rules were edited
    since (`priorities reassign`). `by_present_rules` is None where the rule that decides is not known: the
    rules of the database are not all known (`rules_known`; if none is, there are no steps), or a name is not
    known that a rule asks for. `later` is empty for the server's levels; `candidates` are the rules that may
    have given such a level, where the snapshots around the creation do not agree on one and `is_given_known`
    is false.
    `ended_by` says whether the log or only a snapshot knows of the end. `state` is what the newest snapshot
    shows (CD, DI, DO or ER; null for others, and without one), `state_seen_at` when that was taken.
    `side_known` is false where no input says whether the endpoint is the initiator's.
    """

    conversation_id: str
    is_initiator: bool
    instance: str
    database: str
    queue: str | None
    contract: str
    local_service: str
    remote_service: str
    conversation_group_id: str
    created_at: datetime
    ended_at: datetime | None
    inferred: bool
    logged_priority: int | None
    created_by: str | None
    level_source: str | None
    given: Outcome
    by_present_rules: Outcome | None
    steps: tuple[Step, ...]
    later: tuple[LaterOutcome, ...]
    ended_by: str | None = None
    state: str | None = None
    state_seen_at: datetime | None = None
    candidates: tuple[Candidate, ...] = ()
    is_given_known: bool = True
    rules_known: bool = True
    side_known: bool | None = None

    @property
    def is_undecided(self) -> bool:
        """Whether a name that is not known decides which rule fits."""
        return any(step.candidates for step in self.steps)


def find_near_rules(
    endpoint: Mapping[str, Any],
    rules: Iterable[RuleVersion],
    is_in_use: Callable[[str, str, str, str], bool],
    as_of: datetime | None = None,
) -> list[NearRule]:
    """Find the rules that `explain_endpoint` explains near misses by, and that nearly fit the endpoint.

    Args:
        endpoint: a row of `endpoints`; its times are aware.
        rules: the versions of the rules of its database, or of all; no order.
        is_in_use: says of instance, database, criterion and name whether that name of a rule is in use.
        as_of: the moment of today's rules; None is after the last statement.
    """
    place, moment = (endpoint["instance"], endpoint["database"]), _moment_of(endpoint, as_of)
    in_force = ladders_at(rules, moment).get(place, NO_RULES)
    return NearRules(in_force.rules, partial(is_in_use, *place)).find(names_of(endpoint))


def explain_endpoint(
    endpoint: Mapping[str, Any],
    rules: Iterable[RuleVersion],
    near: Sequence[NearRule] = (),
    *,
    first_seen: Collection[datetime] = (),
    as_of: datetime | None = None,
    rules_known: bool = True,
) -> Endpoint:
    """Explain the priority of one endpoint.

    Args:
        endpoint: a row of `endpoints`; its times are aware.
        rules: the versions of the rules of its database, or of all; no order.
        near: `find_near_rules` of the endpoint, without those whose name is in use.
        first_seen: moments of snapshots with rules of its database: one that begins then is first seen.
        as_of: the moment of today's rules; None is after the last statement.
        rules_known: whether the rules of its database are known.

    Returns:
        What each step of the ladder looked for and found at the endpoint's creation, and what later
        versions would have given. The ladder did not decide a level of the server's: for that, what the
        steps find under the rules that stand at as_of.

    The steps are the precedence of CREATE BROKER PRIORITY in the vendor's documentation.
    """
    own = ladders_of(sorted(rules, key=lambda rule: (rule.valid_from, rule.name)))
    ladder = own.get((endpoint["instance"], endpoint["database"]), NO_RULES)
    names, moment = names_of(endpoint), _moment_of(endpoint, as_of)
    decided = _outcome_of(ladder.decide_at(names, moment))
    given: Outcome = Outcome(*[endpoint[name] for name in GIVEN])
    by_present_rules: Outcome | None = decided
    later, candidates = list(_find_later(ladder, names, moment, decided)), list[Candidate]()
    unsettled = Ladder(rule for rule in ladder.rules if stands_at(rule, moment)).find_candidates(names)
    # A listing that leaves out rules with ANY has all rules of the first steps.
    is_certain = not unsettled and (rules_known or (decided.ladder_step or len(STEPS)) <= LISTED_STEPS)
    winner, is_known = decided if is_certain else None, True
    if endpoint["level_source"] == SERVER:
        known = _known_outcome(ladder, names, endpoint, first_seen) if is_certain else None
        given = by_present_rules = known or Outcome(endpoint["logged_priority"], None, None)
        is_known = known is not None
        later, names_then = [], [] if known else may_have_given(ladder, names, given.level)
        candidates = [Candidate(given.level, name) for name in names_then]
    derived = {*DERIVED, "given", "by_present_rules", "steps", "later", "candidates", "is_given_known"}
    columns = [name for name in Endpoint.__dataclass_fields__ if name not in (*derived, "rules_known")]
    return Endpoint(
        **{name: endpoint[name] for name in columns},
        given=given,
        by_present_rules=by_present_rules if is_certain else None,
        rules_known=rules_known,
        steps=tuple(
            _explain_steps(ladder, names, moment, near, winner, unsettled, first_seen)
            if rules_known or ladder.rules
            else ()
        ),
        later=tuple(LaterOutcome(since, outcome, since in first_seen) for since, outcome in later),
        candidates=tuple(candidates),
        is_given_known=is_known,
    )


def _known_outcome(
    ladder: Ladder, names: tuple[str, str, str], endpoint: Mapping[str, Any], taken: Collection[datetime]
) -> Outcome | None:
    """What gave a level of the server's, where that is known."""
    outcomes = [
        _outcome_of(version)
        for since, until, version in decisions(ladder, names, taken)
        if (since is None or since <= endpoint["created_at"])
        and (until is None or endpoint["created_at"] < until)
    ]
    return next((each for each in outcomes if each.level == endpoint["logged_priority"]), None)


def _moment_of(endpoint: Mapping[str, Any], as_of: datetime | None) -> datetime | None:
    """The moment whose rules are explained, as `stands_at` takes it."""
    if endpoint["level_source"] == SERVER:
        return as_of
    created_at: datetime = endpoint["created_at"]
    return created_at


def _outcome_of(rule: RuleVersion | None) -> Outcome:
    if rule is None:
        return Outcome(level_of(rule), None, None)
    return Outcome(rule.level, rule.name, step_of(rule))


def _find_later(
    ladder: Ladder, names: tuple[str, str, str], since: datetime | None, outcome: Outcome
) -> Iterator[tuple[datetime, Outcome]]:
    """The moments after this one at which the outcome changes."""
    for start, _ in find_periods(ladder.find_fitting(names)):
        if since is not None and start is not None and start > since:
            then = _outcome_of(ladder.decide_at(names, start))
            if then != outcome:
                outcome = then
                yield start, then


def _explain_steps(
    ladder: Ladder,
    names: tuple[str, str, str],
    moment: datetime | None,
    near: Sequence[NearRule],
    decided: Outcome | None,
    candidates: Sequence[RuleVersion],
    first_seen: Collection[datetime],
) -> Iterator[Step]:
    fitting = list(ladder.find_fitting(names))
    for number, mask in enumerate(STEPS, start=1):
        in_force: list[RulePeriod] = []
        others: list[RulePeriod] = []
        for rule in (rule for rule in fitting if step_of(rule) == number):
            period = RulePeriod(
                rule.name, rule.level, rule.valid_from, rule.valid_to, rule.valid_from in first_seen
            )
            (in_force if stands_at(rule, moment) else others).append(period)
        misses = [
            NearMiss(each.rule.name, each.rule.level, each.criterion, each.rule_has, each.endpoint_has)
            for each in near
            if step_of(each.rule) == number
        ]
        yield Step(
            number,
            *masked(names, mask),
            rule=in_force[0] if in_force else None,
            decides=decided is not None and decided.ladder_step == number,
            near_misses=tuple(misses[:NEAR_MISSES_SHOWN]),
            more_near_misses=max(0, len(misses) - NEAR_MISSES_SHOWN),
            at_other_times=tuple(others),
            candidates=tuple(_candidate(each, names) for each in candidates if step_of(each) == number),
        )


def _candidate(rule: RuleVersion, names: tuple[str, str, str]) -> StepCandidate:
    asked = zip(CRITERIA, rule.triple, names, strict=True)
    return StepCandidate(
        rule.name, rule.level, {criterion: wanted for criterion, wanted, name in asked if wanted and not name}
    )

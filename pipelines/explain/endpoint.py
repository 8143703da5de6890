"""Explain the priority of an endpoint: the eight steps, their rules, and the near misses."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

from pipelines.config.nearest import likeness
from pipelines.config.rules.history import RuleVersion
from pipelines.config.rules.limits import CRITERIA, STEPS
from pipelines.ladder.ladder import DEFAULT_PRIORITY, STANDING

NEAR_MISSES_SHOWN = 3
SERVER = "server"
"""The `level_source` of an endpoint whose level a snapshot shows, and no event its creation."""
Triple: TypeAlias = tuple[str | None, ...]


@dataclass(frozen=True)
class Outcome:
    """A level, with the rule and the step that give it; both None for the default.

    A level of the server's has those that give the same level today, both None if no rule does.
    """

    level: int
    rule_name: str | None
    ladder_step: int | None


@dataclass(frozen=True)
class NearMiss:
    """A rule in force at the moment that fails a step by one criterion."""

    rule_name: str
    level: int
    criterion: str
    asks_for: str
    endpoint_has: str


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
    `near_misses` are the nearest by spelling, and `more_near_misses` counts the rest.
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


@dataclass(frozen=True)
class LaterOutcome:
    """The outcome for an endpoint with the same names that is created from a moment on.

    `first_seen`: a snapshot of that moment is the first that shows these rules; they may be older.
    """

    since: datetime
    outcome: Outcome
    first_seen: bool = False


@dataclass(frozen=True)
class Endpoint:
    """An endpoint and why it has its priority.

    `given` is what it has. `by_present_rules` is what the rules say now of the moment of its creation; where
    the level is the server's (`level_source`), that level with the rule that gives the same today. The two
    differ where rules were edited since (`priorities reassign`). `later` is empty for the server's levels.
    `ended_by` says whether the log or only a snapshot knows of the end. `state` is what the newest snapshot
    shows (CD, DI, DO or ER; null for others, and without one), `state_seen_at` when that was taken.
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
    by_present_rules: Outcome
    steps: tuple[Step, ...]
    later: tuple[LaterOutcome, ...]
    ended_by: str | None = None
    state: str | None = None
    state_seen_at: datetime | None = None


def explain_endpoint(
    endpoint: Mapping[str, Any], rules: Iterable[RuleVersion], *, first_seen: Collection[datetime] = ()
) -> Endpoint:
    """Explain the priority of one endpoint.

    Args:
        endpoint: a row of `endpoints`; its times are aware.
        rules: the versions of the rules of its database, or of all; no order.
        first_seen: moments of snapshots with rules of its database: one that begins then is first seen.

    Returns:
        What each step of the ladder looked for and found at the endpoint's creation, and what later
        versions would have given. The ladder did not decide a level of the server's: for that, what the
        steps find under the rules that stand once all statements were carried out.

    The steps are the precedence of CREATE BROKER PRIORITY in the vendor's documentation.
    """
    place = endpoint["instance"], endpoint["database"]
    own = sorted(
        (rule for rule in rules if (rule.instance, rule.database) == place),
        key=lambda rule: (rule.valid_from, rule.name),
    )
    names = tuple(endpoint[criterion] for criterion in CRITERIA)
    wanted = [
        tuple(name if named else None for name, named in zip(names, step, strict=True)) for step in STEPS
    ]
    by_triple: dict[Triple, list[RuleVersion]] = {triple: [] for triple in wanted}
    for rule in own:
        if rule.triple in by_triple:
            by_triple[rule.triple].append(rule)
    by_server = endpoint["level_source"] == SERVER
    moment = datetime.fromisoformat(STANDING).replace(tzinfo=UTC) if by_server else endpoint["created_at"]
    decided = _decide(by_triple, wanted, moment)
    in_force = [rule for rule in own if _is_valid(rule, moment)]
    near = _find_near_misses(in_force, names)
    steps = tuple(
        _explain_step(
            number, triple, *_split_periods(by_triple[triple], moment, first_seen), near[number - 1], decided
        )
        for number, triple in enumerate(wanted, start=1)
    )
    by_present_rules = decided
    if by_server and decided.level != endpoint["logged_priority"]:
        by_present_rules = Outcome(endpoint["logged_priority"], None, None)
    derived = ("given", "by_present_rules", "steps", "later", "ended_by", "state", "state_seen_at")
    columns = [name for name in Endpoint.__dataclass_fields__ if name not in derived]
    return Endpoint(
        **{name: endpoint[name] for name in columns},
        given=Outcome(endpoint["priority"], endpoint["rule_name"], endpoint["ladder_step"]),
        by_present_rules=by_present_rules,
        steps=steps,
        later=tuple(
            replace(later, first_seen=later.since in first_seen)
            for later in _find_later(by_triple, wanted, moment, decided)
        ),
    )


def _is_valid(rule: RuleVersion, moment: datetime) -> bool:
    return rule.valid_from <= moment and (rule.valid_to is None or moment < rule.valid_to)


def _decide(
    by_triple: Mapping[Triple, Sequence[RuleVersion]], wanted: Sequence[Triple], moment: datetime
) -> Outcome:
    for number, triple in enumerate(wanted, start=1):
        for rule in by_triple[triple]:
            if _is_valid(rule, moment):
                return Outcome(rule.level, rule.name, number)
    return Outcome(DEFAULT_PRIORITY, None, None)


def _find_later(
    by_triple: Mapping[Triple, Sequence[RuleVersion]],
    wanted: Sequence[Triple],
    since: datetime,
    outcome: Outcome,
) -> Iterable[LaterOutcome]:
    """The moments after this one at which the outcome changes."""
    bounds = {
        bound
        for versions in by_triple.values()
        for rule in versions
        for bound in (rule.valid_from, rule.valid_to)
        if bound is not None and bound > since
    }
    for moment in sorted(bounds):
        then = _decide(by_triple, wanted, moment)
        if then != outcome:
            outcome = then
            yield LaterOutcome(moment, then)


def _find_near_misses(in_force: Iterable[RuleVersion], names: tuple[str, ...]) -> list[list[NearMiss]]:
    """Per step, the rules with one wrong name, the nearest by spelling first."""
    found: list[list[tuple[float, NearMiss]]] = [[] for _ in STEPS]
    for rule in in_force:
        wrong = [
            (criterion, asked, has)
            for criterion, asked, has in zip(CRITERIA, rule.triple, names, strict=True)
            if asked is not None and asked != has
        ]
        if len(wrong) == 1:
            step = STEPS.index(tuple(asked is not None for asked in rule.triple))
            criterion, asked, has = wrong[0]
            found[step].append(
                (-likeness(asked, has), NearMiss(rule.name, rule.level, criterion, asked, has))
            )
    return [
        [miss for _, miss in sorted(step, key=lambda item: (item[0], item[1].rule_name))] for step in found
    ]


def _split_periods(
    versions: Sequence[RuleVersion], moment: datetime, first_seen: Collection[datetime]
) -> tuple[list[RulePeriod], list[RulePeriod]]:
    """Return the versions that are in force at the moment, and the others."""
    in_force: list[RulePeriod] = []
    others: list[RulePeriod] = []
    for rule in versions:
        period = RulePeriod(
            rule.name, rule.level, rule.valid_from, rule.valid_to, rule.valid_from in first_seen
        )
        (in_force if _is_valid(rule, moment) else others).append(period)
    return in_force, others


def _explain_step(
    number: int,
    triple: Triple,
    in_force: Sequence[RulePeriod],
    others: Sequence[RulePeriod],
    near: Sequence[NearMiss],
    decided: Outcome,
) -> Step:
    return Step(
        number,
        triple[0],
        triple[1],
        triple[2],
        rule=in_force[0] if in_force else None,
        decides=decided.ladder_step == number,
        near_misses=tuple(near[:NEAR_MISSES_SHOWN]),
        more_near_misses=max(0, len(near) - NEAR_MISSES_SHOWN),
        at_other_times=tuple(others),
    )

"""What the rules at T say of kinds of endpoints: other levels, rules that nearly fit, rules that lose."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from pipelines.config.rules.history import RuleVersion
from pipelines.rules.ladder import DatabaseKey, Ladder, find_periods, level_of, stands_at, step_of
from pipelines.rules.near_rules import NearRule, NearRules
from pipelines.why.codes import NAMES

KIND = ("endpoint_instance", "endpoint_database", *NAMES)
"""What rules look at: the names of a holding endpoint."""
OF_KIND = ", ".join(f"{name} string" for name in KIND)
VERDICTS = (
    f"{OF_KIND}, created_from timestamp, created_until timestamp, is_newer boolean, decided_until timestamp, "
    "today int, today_rule string, today_step int, today_since timestamp, "
    "lost_rule string, lost_step int, lost_level int, near_level int"
)
NEAR = f"{OF_KIND}, near_rule string, near_level int, criterion string, rule_has string, endpoint_has string"

Kind = tuple[str, str, str, str, str]
"""The values of KIND."""
_Change = tuple[datetime | None, datetime | None, bool | None, datetime | None]
_NO_RULES = Ladder(())


@dataclass(frozen=True)
class HeldKind:
    """A kind of endpoints that hold open messages: its lowest level, and the first and last creation."""

    kind: Kind
    lowest: int
    first_created: datetime
    last_created: datetime


@dataclass(frozen=True)
class NearMiss:
    """A rule that would win the ladder for a kind if one criterion had the kind's name, which is near."""

    kind: Kind
    near: NearRule

    @property
    def row(self) -> tuple[Any, ...]:
        """The columns of NEAR."""
        near = self.near
        return *self.kind, near.rule.name, near.rule.level, near.criterion, near.rule_has, near.endpoint_has


def find_near_misses(
    kinds: Iterable[Kind],
    ladders: Mapping[DatabaseKey, Ladder],
    is_in_use: Callable[[str, str, str, str], bool],
) -> Iterator[NearMiss]:
    """Yield the rules that would give a kind a higher level than the ladder does, but for one near name.

    Args:
        kinds: distinct kinds.
        ladders: the rules that stand at T.
        is_in_use: says of instance, database, criterion and name whether that name of a rule is in use.
    """
    near_rules = {
        key: NearRules(ladder.rules, partial(is_in_use, *key))
        for key, ladder in ladders.items()
        if key in {kind[:2] for kind in kinds}
    }
    for kind in kinds:
        if kind[:2] in ladders:
            winner = ladders[kind[:2]].decide(kind[2:])
            for near in near_rules[kind[:2]].find(kind[2:]):
                wins = winner is None or step_of(near.rule) < step_of(winner)
                if wins and near.rule.level > level_of(winner):
                    yield NearMiss(kind, near)


def judge_kinds(
    kinds: Iterable[HeldKind],
    ladders: Mapping[DatabaseKey, Ladder],
    histories: Mapping[DatabaseKey, Ladder],
    near: Iterable[NearMiss],
) -> Iterator[tuple[Any, ...]]:
    """Say what the rules give to kinds of endpoints, by when these were created.

    Args:
        kinds: distinct kinds.
        ladders: the rules that stand at T.
        histories: all versions of the rules.
        near: `find_near_misses` of the kinds.

    Yields:
        The columns of VERDICTS, a row per kind and period of creation (half-open, null is open). `today` and
        `today_rule` win at T. `is_newer`: no rule had the winner's name at the creation; `decided_until`:
        when the version ended that decided then; both are for endpoints with a lower level than `today`.
        `lost_rule`: the highest rule above the winner's level that fits at a later step. `near_level`: the
        highest of the near misses.
    """
    near_levels: dict[Kind, int] = {}
    for miss in near:
        near_levels[miss.kind] = max(miss.near.rule.level, near_levels.get(miss.kind, 0))
    for held in kinds:
        database_key, names = held.kind[:2], held.kind[2:]
        fitting = list(ladders.get(database_key, _NO_RULES).find_fitting(names))
        winner = fitting[0] if fitting else None
        lost = _find_lost(fitting)
        changes: Iterable[_Change] = [(None, None, None, None)]
        if level_of(winner) > held.lowest:
            changes = _find_changes(histories.get(database_key, _NO_RULES), held, winner)
        for since, until, is_newer, decided_until in changes:
            yield (
                *(*held.kind, since, until, is_newer, decided_until, level_of(winner)),
                *((winner.name, step_of(winner), winner.valid_from) if winner else (None, None, None)),
                *((lost.name, step_of(lost), lost.level) if lost else (None, None, None)),
                near_levels.get(held.kind),
            )


def _find_lost(fitting: Sequence[RuleVersion]) -> RuleVersion | None:
    """The highest rule above the first, which wins; of several, that of the earliest step."""
    later = [rule for rule in fitting[1:] if rule.level > fitting[0].level]
    return max(later, key=lambda rule: rule.level, default=None)


def _find_changes(history: Ladder, held: HeldKind, winner: RuleVersion | None) -> Iterator[_Change]:
    """The periods in which endpoints of a kind were created, and what the rules were then."""
    fitting = list(history.find_fitting(held.kind[2:]))
    same_name = history.find_named(winner.name) if winner else ()
    for since, until in find_periods([*fitting, *same_name]):
        if (until is None or until > held.first_created) and (since is None or since <= held.last_created):
            created_at = since or held.first_created
            decided = next((version for version in fitting if stands_at(version, created_at)), None)
            is_newer = winner is not None and not any(stands_at(each, created_at) for each in same_name)
            yield since, until, is_newer, decided.valid_to if decided else None

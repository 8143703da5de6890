"""What the rules at T say of kinds of endpoints: other levels, rules that nearly fit, rules that lose."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from pipelines.questions.open_messages import NAMES
from pipelines.rules.history import RuleVersion
from pipelines.rules.ladder import NO_RULES, DatabaseKey, Ladder, find_periods, level_of, stands_at, step_of
from pipelines.rules.near_rules import NearRule, NearRules
from pipelines.rules.statements import STEPS

KIND = ("endpoint_instance", "endpoint_database", *NAMES)
"""What rules look at: the names of a holding endpoint."""
OF_KIND = ", ".join(f"{name} string" for name in KIND)
VERDICTS = (
    f"{OF_KIND}, created_from timestamp, created_until timestamp, is_newer boolean, decided_until timestamp, "
    "today int, today_rule string, today_step int, today_since timestamp, "
    "lost_rule string, lost_step int, lost_level int, near_level int"
)
NEAR = (
    f"{OF_KIND}, near_rule string, near_level int, criterion string, rule_has string, endpoint_has string, "
    "are_both_in_use boolean"
)

Kind = tuple[str, str, str, str, str]
"""The values of KIND."""
_Change = tuple[datetime | None, datetime | None, bool | None, datetime | None]


@dataclass(frozen=True)
class HeldKind:
    """A kind of endpoints that hold open messages: its lowest level, and the first and last creation."""

    kind: Kind
    lowest: int
    first_created: datetime
    last_created: datetime


def find_near_misses(
    kinds: Collection[Kind],
    ladders: Mapping[DatabaseKey, Ladder],
    is_in_use: Callable[[str, str, str, str], bool],
) -> dict[Kind, list[NearRule]]:
    """Find the rules that would give a kind a higher level than the ladder does, but for one near name.

    Args:
        kinds: distinct kinds.
        ladders: the rules that stand at T.
        is_in_use: says of instance, database, criterion and name whether that name of a rule is in use.
    """
    near_rules = {
        key: NearRules(ladders[key].rules, partial(is_in_use, *key))
        for key in {kind[:2] for kind in kinds} & ladders.keys()
    }
    found = {}
    for kind in kinds:
        if kind[:2] in near_rules:
            winner = ladders[kind[:2]].decide(kind[2:])
            last = len(STEPS) + 1 if winner is None else step_of(winner)
            found[kind] = [
                near
                for near in near_rules[kind[:2]].find(kind[2:])
                if near.rule.level > level_of(winner) and step_of(near.rule) < last
            ]
    return found


def near_rows(near: Mapping[Kind, Iterable[NearRule]]) -> Iterator[tuple[Any, ...]]:
    """Yield near misses in the columns of NEAR."""
    for kind, of_kind in near.items():
        for each in of_kind:
            names = each.criterion, each.rule_has, each.endpoint_has
            yield *kind, each.rule.name, each.rule.level, *names, each.is_in_use


def judge_kinds(
    kinds: Iterable[HeldKind],
    ladders: Mapping[DatabaseKey, Ladder],
    histories: Mapping[DatabaseKey, Ladder],
    near: Mapping[Kind, Iterable[NearRule]],
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
    for held in kinds:
        database_key = held.kind[:2]
        fitting = list(ladders.get(database_key, NO_RULES).find_fitting(held.kind[2:]))
        winner = fitting[0] if fitting else None
        today = (winner.name, step_of(winner), winner.valid_from) if winner else (None, None, None)
        # Of several rules of the highest level the first, which is of the earliest step.
        lost = max(fitting, key=level_of, default=None)
        is_lost = level_of(lost) > level_of(winner)
        lost_rule = (lost.name, step_of(lost), lost.level) if lost and is_lost else (None, None, None)
        near_level = max((each.rule.level for each in near.get(held.kind, ())), default=None)
        changes: Iterable[_Change] = [(None, None, None, None)]
        if level_of(winner) > held.lowest:
            changes = _find_changes(histories.get(database_key, NO_RULES), held, winner)
        for change in changes:
            yield *held.kind, *change, level_of(winner), *today, *lost_rule, near_level


def _find_changes(history: Ladder, held: HeldKind, winner: RuleVersion | None) -> Iterator[_Change]:
    """The periods in which endpoints of a kind were created, with `is_newer` and `decided_until`."""
    fitting = list(history.find_fitting(held.kind[2:]))
    same_name = history.find_named(winner.name) if winner else ()
    for since, until in find_periods([*fitting, *same_name]):
        if (until is None or until > held.first_created) and (since is None or since <= held.last_created):
            created_at = since or held.first_created
            decided = next((version for version in fitting if stands_at(version, created_at)), None)
            is_newer = winner is not None and not any(stands_at(each, created_at) for each in same_name)
            yield since, until, is_newer, decided.valid_to if decided else None

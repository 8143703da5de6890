"""Scenes about levels: rules that are newer, changed, misspelt, elsewhere, less specific or missing."""

from typing import Any

from tests.support.factories import Row, at, create_rule

from .scene import IN_A, IN_B, INITIATOR_NAMES, ONE, SPECIAL, TARGET_NAMES, alter, drop, one, rule, scene


def higher(rule: str | None, level: int, was_rule: str | None, was_level: int, since: Any) -> Row:
    """A row of details of the first two codes."""
    row = {"rule": rule, "level": level, "was_rule": was_rule, "was_level": was_level, "since": since}
    return {**IN_B, **row, "messages": 1}


def of_contract(name: str, level: int, minute: float | None = None, contract: str = "Contract") -> Row:
    """A rule of the contract, from a minute on."""
    since = {} if minute is None else {"effective_from": at(minute)}
    return rule(name, level, contract=contract, **since)


NEWER, CHANGED = "rule_newer_than_endpoint", "rule_changed_since"
GOLD_AT_5 = of_contract("Gold", 9, 5)
IS_NEWER: dict[str, Any] = {"details": {NEWER: [higher("Gold", 9, None, 5, at(5))]}}
SINCE = [
    one("rule_newer_than_endpoint: the rule began after the creation", [GOLD_AT_5], NEWER, **IS_NEWER),
    one(
        "rule_newer_than_endpoint: a rule of the creation's instant has decided it",
        [of_contract("Gold", 9, 0)],
    ),
    one("rule_newer_than_endpoint: a rule of as_of's instant stands", [of_contract("Gold", 9, 60)], NEWER),
    one("rule_newer_than_endpoint: a rule after as_of does not count", [of_contract("Gold", 9, 60.001)]),
    one("rule_newer_than_endpoint: the level is not higher", [of_contract("Gold", 5, 5)]),
    one("rule_newer_than_endpoint: it has gone by as_of", [GOLD_AT_5, drop("Gold", 60)]),
    one("rule_newer_than_endpoint: it goes after as_of", [GOLD_AT_5, drop("Gold", 60.001)], NEWER),
    one(
        "rule_newer_than_endpoint: the rule of that name had gone at the creation",
        [of_contract("Gold", 3), drop("Gold", -10), GOLD_AT_5],
        NEWER,
        **IS_NEWER,
    ),
    one(
        "rule_newer_than_endpoint: a rule of another database",
        [create_rule("Gold", 9, database="A", contract="Contract", effective_from=at(5))],
    ),
    one(
        "rule_changed_since: another level",
        [of_contract("Gold", 3), alter("Gold", 5, level=9)],
        CHANGED,
        details={CHANGED: [higher("Gold", 9, "Gold", 3, at(5))]},
    ),
    one("rule_changed_since: a lower level", [of_contract("Gold", 3), alter("Gold", 5, level=2)]),
    one(
        "rule_changed_since: other criteria",
        [of_contract("Gold", 9, contract="Silver"), alter("Gold", 5, contract="Contract")],
        CHANGED,
        details={CHANGED: [higher("Gold", 9, None, 5, at(5))]},
    ),
    one(
        "rule_changed_since: a rule before it in the ladder has gone",
        [of_contract("General", 7), rule("Special", 2, **SPECIAL), drop("Special", 30)],
        CHANGED,
        details={CHANGED: [higher("General", 7, "Special", 2, at(30))]},
    ),
    one(
        "rule_changed_since: no rule is left, and the default is higher",
        [of_contract("Low", 2), drop("Low", 30)],
        CHANGED,
        details={CHANGED: [higher(None, 5, "Low", 2, at(30))]},
    ),
    one("rule_changed_since: the rule goes after as_of", [of_contract("Low", 2), drop("Low", 60.001)]),
]

OTHER = "other_side_only"
IN_INITIATORS = create_rule("Gold", 8, database="A", contract="Contract")
OTHER_RULE = {"other_instance": "SQL1", "other_database": "A", "other_rule": "Gold", "other_level": 8}
OTHER_SIDE = [
    one(
        "other_side_only: only the initiator's database has a rule",
        [IN_INITIATORS],
        OTHER,
        details={OTHER: [{**IN_B, **TARGET_NAMES, **OTHER_RULE, "messages": 1}]},
    ),
    one("other_side_only: the other endpoint has ended", [IN_INITIATORS], OTHER, rows=f"{ONE}, end c1 3"),
    one(
        "other_side_only: the other endpoint does not exist yet",
        [IN_INITIATORS],
        rows="begin c1 60, create c1, ready c1/0",
    ),
    one(
        "other_side_only: the other rule's level is the default",
        [create_rule("Gold", 5, database="A", contract="Contract")],
    ),
    one("other_side_only: a rule of its own", [IN_INITIATORS, of_contract("Same", 5)]),
]

SPECIFIC = "more_specific_rule"
WINNER, GENERAL = rule("Special", 3, **SPECIAL), of_contract("General", 7)


def more_specific(name: str, step: int, level: int) -> dict[str, list[Row]]:
    """The details where Special wins."""
    winner = {"winning_rule": "Special", "winning_step": 2, "winning_level": 3}
    return {SPECIFIC: [{**IN_B, **winner, "rule": name, "step": step, "level": level, "messages": 1}]}


MORE_SPECIFIC = [
    one(
        "more_specific_rule: a later step has a higher level",
        [WINNER, GENERAL],
        SPECIFIC,
        details=more_specific("General", 4, 7),
    ),
    one(
        "more_specific_rule: the highest level, then the earliest step",
        [WINNER, GENERAL, rule("All", 9), rule("Remote", 9, remote_service="InitiatorService")],
        SPECIFIC,
        details=more_specific("Remote", 7, 9),
    ),
    one("more_specific_rule: the same level", [WINNER, of_contract("General", 3)]),
    one(
        "more_specific_rule: higher than the endpoint, and not than the winner",
        [rule("Special", 9, **SPECIAL, effective_from=at(5)), of_contract("General", 7, 6)],
        NEWER,
    ),
    one("more_specific_rule: it does not fit", [WINNER, of_contract("General", 7, contract="Another")]),
    one("more_specific_rule: it does not stand", [WINNER, GENERAL, drop("General", 60)]),
    one(
        "more_specific_rule: not higher than the endpoint, whose rule was changed",
        [rule("Special", 8, **SPECIAL), alter("Special", 5, level=3), of_contract("General", 8)],
    ),
]

TWO = "talk c1, talk c2 contract=Gold, ready c1/0 2, ready c2/0 1"
"""Beside the conversation of ONE, another one whose message came first."""
IN_SENDERS = [create_rule("Gold", 8, database="A", contract="Gold")]


def gold(level: int) -> list[Row]:
    """A rule for the other one's contract."""
    return [of_contract("Gold", level, contract="Gold")]


NO_RULE = [
    scene(
        "no_rule: another message of the queue has one",
        TWO,
        "c1/0: no_rule, outranked; c2/0: first_in_line",
        {"no_rule": [{**IN_B, **TARGET_NAMES, "messages": 1}]},
        rules=gold(8),
    ),
    scene(
        "no_rule: the other message's group is locked",
        f"{TWO}, RECEIVE 10 transaction=t1 of=c2",
        "c1/0: no_rule, first_in_line; c2/0: group_locked",
        rules=gold(8),
    ),
    scene(
        "no_rule: the other rule's level is the default",
        TWO,
        "c1/0: older_first; c2/0: first_in_line",
        rules=gold(5),
    ),
    scene(
        "no_rule: the other message waits in another queue",
        f"{ONE}, talk c2 contract=Gold, reply c2/0 1",
        "c1/0: first_in_line; c2/0: first_in_line",
        rules=IN_SENDERS,
    ),
    scene(
        "no_rule: another cause explains it",
        TWO,
        "c1/0: near_miss, outranked; c2/0: first_in_line",
        rules=[*gold(8), rule("Misspelt", 7, contract="contract")],
    ),
    scene(
        "no_rule: another message of the instance has one",
        "talk c1, talk c2 contract=Gold, sent c1/0 2, sent c2/0 1",
        "c1/0: no_rule, outranked; c2/0: first_in_line",
        {"no_rule": [{**IN_A, **INITIATOR_NAMES, "messages": 1}]},
        rules=IN_SENDERS,
    ),
]
SCENES = [*SINCE, *OTHER_SIDE, *MORE_SPECIFIC, *NO_RULE]

"""Scenes about levels: rules that are newer, changed, misspelt, elsewhere, less specific or missing."""

from typing import Any

from tests.support.factories import Row, at, create_rule, endpoint_event

from .scene import (
    FIRST,
    IN_A,
    IN_B,
    INITIATOR_NAMES,
    ONE,
    SPECIAL,
    TARGET_NAMES,
    Scene,
    alter,
    drop,
    on_queue,
    one,
    ready,
    rule,
    sent,
    talk,
)


def higher(rule: str | None, level: int, was_rule: str | None, was_level: int, since: Any) -> Row:
    """A row of details of the first two codes."""
    row = {"rule": rule, "level": level, "was_rule": was_rule, "was_level": was_level, "since": since}
    return {**IN_B, **row, "messages": 1}


NEWER, CHANGED = "rule_newer_than_endpoint", "rule_changed_since"
GOLD_AT_5 = rule("Gold", 9, contract="Contract", effective_from=at(5))
SINCE = [
    one(
        "rule_newer_than_endpoint: the rule began after the creation",
        [GOLD_AT_5],
        NEWER,
        details={NEWER: [higher("Gold", 9, None, 5, at(5))]},
    ),
    one(
        "rule_newer_than_endpoint: a rule of the creation's instant has decided it",
        [rule("Gold", 9, contract="Contract", effective_from=at(0))],
    ),
    one(
        "rule_newer_than_endpoint: a rule of as_of's instant stands",
        [rule("Gold", 9, contract="Contract", effective_from=at(60))],
        NEWER,
    ),
    one(
        "rule_newer_than_endpoint: a rule after as_of does not count",
        [rule("Gold", 9, contract="Contract", effective_from=at(60.001))],
    ),
    one(
        "rule_newer_than_endpoint: the level is not higher",
        [rule("Gold", 5, contract="Contract", effective_from=at(5))],
    ),
    one("rule_newer_than_endpoint: it has gone by as_of", [GOLD_AT_5, drop("Gold", 60)]),
    one(
        "rule_newer_than_endpoint: it goes after as_of",
        [GOLD_AT_5, drop("Gold", 60.001)],
        NEWER,
    ),
    one(
        "rule_newer_than_endpoint: the rule of that name had gone at the creation",
        [rule("Gold", 3, contract="Contract"), drop("Gold", -10), GOLD_AT_5],
        NEWER,
        details={NEWER: [higher("Gold", 9, None, 5, at(5))]},
    ),
    one(
        "rule_newer_than_endpoint: a rule of another database",
        [create_rule("Gold", 9, database="A", contract="Contract", effective_from=at(5))],
    ),
    one(
        "rule_changed_since: another level",
        [rule("Gold", 3, contract="Contract"), alter("Gold", 5, level=9)],
        CHANGED,
        details={CHANGED: [higher("Gold", 9, "Gold", 3, at(5))]},
    ),
    one(
        "rule_changed_since: a lower level",
        [rule("Gold", 3, contract="Contract"), alter("Gold", 5, level=2)],
    ),
    one(
        "rule_changed_since: other criteria",
        [rule("Gold", 9, contract="Silver contract"), alter("Gold", 5, contract="Contract")],
        CHANGED,
        details={CHANGED: [higher("Gold", 9, None, 5, at(5))]},
    ),
    one(
        "rule_changed_since: a rule before it in the ladder has gone",
        [rule("General", 7, contract="Contract"), rule("Special", 2, **SPECIAL), drop("Special", 30)],
        CHANGED,
        details={CHANGED: [higher("General", 7, "Special", 2, at(30))]},
    ),
    one(
        "rule_changed_since: no rule is left, and the default is higher",
        [rule("Low", 2, contract="Contract"), drop("Low", 30)],
        CHANGED,
        details={CHANGED: [higher(None, 5, "Low", 2, at(30))]},
    ),
    one(
        "rule_changed_since: the rule goes after as_of",
        [rule("Low", 2, contract="Contract"), drop("Low", 60.001)],
    ),
]


OTHER = "other_side_only"
IN_INITIATORS = create_rule("Gold", 8, database="A", contract="Contract")
OTHER_SIDE = [
    one(
        "other_side_only: only the initiator's database has a rule",
        [IN_INITIATORS],
        OTHER,
        details={
            OTHER: [
                {
                    **IN_B,
                    **TARGET_NAMES,
                    "other_instance": "SQL1",
                    "other_database": "A",
                    "other_rule": "Gold",
                    "other_level": 8,
                    "messages": 1,
                }
            ]
        },
    ),
    one(
        "other_side_only: the other endpoint has ended",
        [IN_INITIATORS],
        OTHER,
        rows=[*ONE, endpoint_event("END_CONVERSATION", "c1", event_time=at(3))],
    ),
    one(
        "other_side_only: the other endpoint does not exist yet",
        [IN_INITIATORS],
        rows=[endpoint_event("BEGIN_DIALOG", event_time=at(60)), endpoint_event("DIALOG_CREATED"), ready()],
    ),
    one(
        "other_side_only: the other rule's level is the default",
        [create_rule("Gold", 5, database="A", contract="Contract")],
    ),
    one("other_side_only: a rule of its own", [IN_INITIATORS, rule("Same", 5, contract="Contract")]),
]

SPECIFIC = "more_specific_rule"
WINNER = rule("Special", 3, **SPECIAL)


def more_specific(name: str, step: int, level: int) -> dict[str, list[Row]]:
    """The details where Special wins."""
    winner = {"winning_rule": "Special", "winning_step": 2, "winning_level": 3}
    return {SPECIFIC: [{**IN_B, **winner, "rule": name, "step": step, "level": level, "messages": 1}]}


MORE_SPECIFIC = [
    one(
        "more_specific_rule: a later step has a higher level",
        [WINNER, rule("General", 7, contract="Contract")],
        SPECIFIC,
        details=more_specific("General", 4, 7),
    ),
    one(
        "more_specific_rule: the highest level, then the earliest step",
        [
            WINNER,
            rule("General", 7, contract="Contract"),
            rule("All", 9),
            rule("Remote", 9, remote_service="InitiatorService"),
        ],
        SPECIFIC,
        details=more_specific("Remote", 7, 9),
    ),
    one("more_specific_rule: the same level", [WINNER, rule("General", 3, contract="Contract")]),
    one(
        "more_specific_rule: higher than the endpoint, and not than the winner",
        [
            rule("Special", 9, **SPECIAL, effective_from=at(5)),
            rule("General", 7, contract="Contract", effective_from=at(6)),
        ],
        NEWER,
    ),
    one("more_specific_rule: it does not fit", [WINNER, rule("General", 7, contract="Another one")]),
    one(
        "more_specific_rule: it does not stand",
        [WINNER, rule("General", 7, contract="Contract"), drop("General", 60)],
    ),
    one(
        "more_specific_rule: not higher than the endpoint, whose rule was changed",
        [
            rule("Special", 8, **SPECIAL),
            alter("Special", 5, level=3),
            rule("General", 8, contract="Contract"),
        ],
    ),
]

TWO = [*talk(), *talk("c2", contract="Gold contract"), ready("c1/0", 2), ready("c2/0", 1)]
"""Beside the conversation of ONE, another one whose message came first."""


def gold(level: int) -> list[Row]:
    """A rule for the other one's contract."""
    return [rule("Gold", level, contract="Gold contract")]


NO_RULE = [
    Scene(
        "no_rule: another message of the queue has one",
        TWO,
        {"c1/0": ["no_rule", "outranked"], "c2/0": FIRST},
        {"no_rule": [{**IN_B, **TARGET_NAMES, "messages": 1}]},
        rules=gold(8),
    ),
    Scene(
        "no_rule: the other message's group is locked",
        [
            *TWO,
            on_queue("RECEIVE", 10, transaction_id="t1", conversation_group_id="group c2 False"),
        ],
        {"c1/0": ["no_rule", "first_in_line"], "c2/0": ["group_locked"]},
        rules=gold(8),
    ),
    Scene(
        "no_rule: the other rule's level is the default",
        TWO,
        {"c1/0": ["older_first"], "c2/0": FIRST},
        rules=gold(5),
    ),
    Scene(
        "no_rule: the other message waits in another queue",
        [*ONE, *talk("c2", contract="Gold contract"), ready("c2/0", 1, sent_by_initiator=False)],
        {"c1/0": FIRST, "c2/0": FIRST},
        rules=[create_rule("Gold", 8, database="A", contract="Gold contract")],
    ),
    Scene(
        "no_rule: another cause explains it",
        TWO,
        {"c1/0": ["near_miss", "outranked"], "c2/0": FIRST},
        rules=[*gold(8), rule("Misspelt", 7, contract="contract")],
    ),
    Scene(
        "no_rule: another message of the instance has one",
        [*talk(), *talk("c2", contract="Gold contract"), sent("c1/0", 2), sent("c2/0", 1)],
        {"c1/0": ["no_rule", "outranked"], "c2/0": FIRST},
        {"no_rule": [{**IN_A, **INITIATOR_NAMES, "messages": 1}]},
        rules=[create_rule("Gold", 8, database="A", contract="Gold contract")],
    ),
]
SCENES = [*SINCE, *OTHER_SIDE, *MORE_SPECIFIC, *NO_RULE]

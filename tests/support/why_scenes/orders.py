"""Scenes about positions: what is ahead of a message in its queue or transmission queue."""

from tests.support.factories import Row, at, create_rule, endpoint_event, message_event

from .scene import (
    INITIATOR_NAMES,
    TARGET_NAMES,
    TARGET_QUEUE,
    Scene,
    on_queue,
    ready,
    rule,
    sent,
    talk,
)

RECEIVE = {"kind": "receive", **TARGET_QUEUE}
TRANSMISSION = {"kind": "transmission", "instance": "SQL1", "database": None, "queue": None}


def of_contract(contract: str) -> Row:
    """The names of a target endpoint of this contract."""
    return {**TARGET_NAMES, "contract": contract}


def high(*contracts: str, database: str = "B") -> list[Row]:
    """A rule of level 9 for each contract, or of its own level after a colon."""
    found = []
    for contract in contracts:
        name, _, level = contract.partition(":")
        found.append(rule(name, int(level or 9), contract=name, database=database))
    return found


FIVE_KINDS = [
    *talk("c1"),
    ready("c1/0", 1),
    *[
        row
        for number, contract in enumerate("AABBBCDDD", start=2)
        for row in (*talk(f"c{number}", contract=contract), ready(f"c{number}/0", number))
    ],
]

OUTRANKED = [
    Scene(
        "outranked: the three largest kinds",
        FIVE_KINDS,
        {
            "c1/0": ["no_rule", "outranked"],
            "c2/0": ["first_in_line"],
            **{f"c{number}/0": ["older_first"] for number in range(3, 11)},
        },
        {
            "outranked": [
                {**of_contract("B"), "messages": 3},
                {**of_contract("D"), "messages": 3},
                {**of_contract("A"), "messages": 2},
            ],
            # c10 is the last of its level: all others of the level are ahead of one of them at least.
            "older_first": [
                {**of_contract("B"), "messages": 3},
                {**of_contract("A"), "messages": 2},
                {**of_contract("D"), "messages": 2},
            ],
        },
        rules=high("A", "B", "C", "D"),
    ),
    Scene(
        "outranked: the level is the same",
        [*talk("c1"), *talk("c2"), ready("c1/0", 2), ready("c2/0", 1)],
        {"c1/0": ["older_first"], "c2/0": ["first_in_line"]},
        {"older_first": [{**TARGET_NAMES, "messages": 1}]},
    ),
    Scene(
        "outranked: a higher conversation of its own group is no other group",
        [
            *talk("c1", conversation_group_id="g"),
            *talk("c2", contract="High", conversation_group_id="g"),
            ready("c1/0", 1),
            ready("c2/0", 2),
        ],
        {"c1/0": ["no_rule", "own_group_first", "first_in_line"], "c2/0": ["first_in_line"]},
        rules=high("High"),
    ),
    Scene(
        "outranked: the whole group is received at its highest level",
        [
            *talk("c1", conversation_group_id="g", contract="Low"),
            *talk("c2", conversation_group_id="g", contract="High"),
            *talk("c3", contract="Middle"),
            ready("c1/0", 1),
            ready("c2/0", 2),
            ready("c3/0", 3),
        ],
        {
            "c1/0": ["own_group_first", "first_in_line"],
            "c2/0": ["first_in_line"],
            "c3/0": ["outranked"],
        },
        {
            "outranked": [
                {**of_contract("High"), "messages": 1},
                {**of_contract("Low"), "messages": 1},
            ]
        },
        rules=high("High", "Middle:7", "Low:2"),
    ),
    Scene(
        "outranked: with TOP, the rest of the group has its own level",
        [
            *talk("c1", conversation_group_id="g", contract="Low"),
            *talk("c2", conversation_group_id="g", contract="High"),
            *talk("c3", contract="Middle"),
            ready("c1/0", 1),
            ready("c2/0", 2),
            ready("c3/0", 3),
        ],
        {
            "c1/0": ["outranked", "own_group_first"],
            "c2/0": ["first_in_line"],
            "c3/0": ["outranked"],
        },
        {
            "outranked": [
                {**of_contract("High"), "messages": 1},
                {**of_contract("Middle"), "messages": 1},
            ]
        },
        rules=high("High", "Middle:7", "Low:2"),
        settings={"top": 1},
    ),
    Scene(
        "outranked: a locked message has nothing ahead",
        [
            *talk("c1"),
            *talk("c2", contract="High"),
            ready("c1/0", 1),
            ready("c2/0", 2),
            on_queue(
                "RECEIVE", 10, transaction_id="t1", session_id=51, conversation_group_id="group c1 False"
            ),
        ],
        {"c1/0": ["no_rule", "group_locked"], "c2/0": ["first_in_line"]},
        rules=high("High"),
    ),
    Scene(
        "outranked: a higher transmit_priority goes first",
        [*talk("c1"), *talk("c2", contract="High"), sent("c1/0", 1), sent("c2/0", 2)],
        {"c1/0": ["no_rule", "outranked"], "c2/0": ["first_in_line"]},
        {"outranked": [{**INITIATOR_NAMES, "contract": "High", "messages": 1}]},
        rules=high("High", database="A"),
    ),
]

OWN_GROUP = [
    Scene(
        "own_group_first: in the same RECEIVE",
        [*talk("c1"), ready("c1/0", 1), ready("c1/1", 2)],
        {"c1/0": ["first_in_line"], "c1/1": ["own_group_first", "first_in_line"]},
        {
            "own_group_first": [
                {
                    **RECEIVE,
                    "conversation_group_id": "group c1 False",
                    "conversation_id": None,
                    "messages": 1,
                }
            ],
            "first_in_line": [{**RECEIVE, "messages": 2}],
        },
    ),
    Scene(
        "own_group_first: in an earlier RECEIVE",
        [*talk("c1"), ready("c1/0", 1), ready("c1/1", 2)],
        {"c1/0": ["first_in_line"], "c1/1": ["own_group_first"]},
        settings={"top": 1},
    ),
    Scene(
        "own_group_first: of the same conversation and direction",
        [*talk("c1"), sent("c1/0", 1), sent("c1/1", 2)],
        {"c1/0": ["first_in_line"], "c1/1": ["own_group_first"]},
        {
            "own_group_first": [
                {**TRANSMISSION, "conversation_group_id": None, "conversation_id": "c1", "messages": 1}
            ],
            "first_in_line": [{**TRANSMISSION, "messages": 1}],
        },
    ),
    Scene(
        "own_group_first: the other direction of the conversation is another one",
        [
            *talk("c1"),
            sent("c1/0", 1),
            message_event("SENT", "c1/1", event_time=at(2), sent_by_initiator=False),
        ],
        {"c1/0": ["first_in_line"], "c1/1": ["older_first"]},
        {"older_first": [{**INITIATOR_NAMES, "messages": 1}]},
    ),
    Scene(
        "own_group_first: another conversation of the same group is another one to send",
        [
            *talk("c1", conversation_group_id="g"),
            *talk("c2", conversation_group_id="g"),
            sent("c1/0", 1),
            sent("c2/0", 2),
        ],
        {"c1/0": ["first_in_line"], "c2/0": ["older_first"]},
    ),
]


def to_sql2(conversation: str, contract: str) -> list[Row]:
    """A conversation whose target lives in SQL2.C."""
    target = {"instance": "SQL2", "database": "C"}
    return [
        endpoint_event("BEGIN_DIALOG", conversation, contract=contract),
        endpoint_event("DIALOG_CREATED", conversation, contract=contract, **target),
    ]


OLDER = [
    Scene(
        "older_first: with blocks, a lower level goes first",
        [
            *to_sql2("c1", "High"),
            *to_sql2("c2", "Contract"),
            *talk("c3", contract="Middle"),
            sent("c1/0", 1),
            sent("c2/0", 1),
            sent("c3/0", 1),
        ],
        {
            "c1/0": ["first_in_line"],
            "c2/0": ["no_rule", "outranked"],
            "c3/0": ["outranked", "older_first"],
        },
        {"older_first": [{**INITIATOR_NAMES, "messages": 1}]},
        rules=high("High", "Middle:7", database="A"),
        settings={"blocks": {"fragment_bytes": 100, "fragments": 2}},
    ),
    Scene(
        "older_first: without blocks, it does not",
        [
            *to_sql2("c1", "High"),
            *to_sql2("c2", "Contract"),
            *talk("c3", contract="Middle"),
            sent("c1/0", 1),
            sent("c2/0", 1),
            sent("c3/0", 1),
        ],
        {"c1/0": ["first_in_line"], "c2/0": ["no_rule", "outranked"], "c3/0": ["outranked"]},
        rules=high("High", "Middle:7", database="A"),
    ),
    Scene(
        "older_first: a message that is being forwarded has a row at each instance",
        [
            *to_sql2("c1", "Contract"),
            *to_sql2("c2", "High"),
            sent("c1/0", 1),
            message_event("FORWARD_ACCEPTED", "c1/0", event_time=at(2), instance="HUB", database="H"),
            sent("c2/0", 1),
            message_event("FORWARD_ACCEPTED", "c2/0", event_time=at(3), instance="HUB", database="H"),
        ],
        {
            "c1/0@SQL1": ["rule_newer_than_endpoint", "outranked"],
            "c2/0@SQL1": ["first_in_line"],
            "c1/0@HUB": ["first_in_line"],
            "c2/0@HUB": ["older_first"],
        },
        {"older_first": [{**INITIATOR_NAMES, "messages": 1}]},
        rules=[
            *high("High", database="A"),
            create_rule("New", 7, contract="Contract", effective_from=at(5)),
        ],
    ),
]
FIRST = [
    Scene(
        "first_in_line: the first of each queue, whatever waits elsewhere",
        [
            *talk("c1"),
            *talk("c2"),
            ready("c1/0", 2),
            ready("c2/0", 1),
            message_event("DELIVERED", "c1/1", event_time=at(3), sent_by_initiator=False),
            sent("c2/1", 4),
        ],
        {
            "c1/0": ["older_first"],
            "c2/0": ["first_in_line"],
            "c1/1": ["first_in_line"],
            "c2/1": ["first_in_line"],
        },
        {
            "first_in_line": [
                {**RECEIVE, "database": "A", "queue": "InitiatorQueue", "messages": 1},
                {**RECEIVE, "messages": 1},
                {**TRANSMISSION, "messages": 1},
            ]
        },
    ),
    Scene(
        "first_in_line: all that the first RECEIVE takes",
        [*talk("c1"), ready("c1/0", 1), ready("c1/1", 1), ready("c1/2", 1)],
        {
            "c1/0": ["first_in_line"],
            "c1/1": ["own_group_first", "first_in_line"],
            "c1/2": ["own_group_first"],
        },
        settings={"top": 2},
    ),
]
FORWARDED = [
    Scene(
        "no_rule: a forwarded message of the instance has one",
        [
            endpoint_event("BEGIN_DIALOG", "c1", instance="SQL2", database="C"),
            sent("c1/0", 1, instance="SQL2", database="C"),
            *talk("c2", contract="High"),
            sent("c2/0", 1),
            message_event("FORWARD_ACCEPTED", "c2/0", event_time=at(2), instance="SQL2", database="C"),
        ],
        {"c1/0": ["first_in_line"], "c2/0@SQL1": ["first_in_line"], "c2/0@SQL2": ["older_first"]},
        rules=high("High", database="A"),
    ),
]
SCENES = [*FORWARDED, *FIRST, *OUTRANKED, *OWN_GROUP, *OLDER]

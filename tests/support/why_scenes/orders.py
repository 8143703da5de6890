"""Scenes about positions: what is ahead of a message in its queue or transmission queue."""

from tests.support.factories import Row, at, create_rule

from .scene import (
    INITIATOR_NAMES,
    ONE_NOT_COMPUTED,
    RECEIVE,
    TARGET_NAMES,
    TRANSMISSION,
    TWO_IN_BLOCKS,
    rule,
    scene,
)


def kinds(*counts: tuple[str, int]) -> list[Row]:
    """Target endpoints of contracts, with how many messages each has ahead."""
    return [{**TARGET_NAMES, "contract": contract, "messages": messages} for contract, messages in counts]


def of_senders(contract: str = "Contract") -> list[Row]:
    """One message of an initiator."""
    return [{**INITIATOR_NAMES, "contract": contract, "messages": 1}]


def high(*contracts: str, database: str = "B") -> list[Row]:
    """A rule of level 9 for each contract, or of its own level after a colon."""
    found = []
    for contract in contracts:
        name, _, level = contract.partition(":")
        found.append(rule(name, int(level or 9), contract=name, database=database))
    return found


def own_group(place: Row, group: str | None, conversation: str | None) -> Row:
    """A message that waits behind others of its own."""
    return {**place, "conversation_group_id": group, "conversation_id": conversation, "messages": 1}


IN_ONE_GROUP = (
    "talk c1 group=g contract=Low, talk c2 group=g contract=High, talk c3 contract=Middle, "
    "ready c1/0 1, ready c2/0 2, ready c3/0 3"
)
OUTRANKED = [
    scene(
        "outranked: the three largest kinds",
        "talk c1, ready c1/0 1, "
        + ", ".join(
            f"talk c{number} contract={contract}, ready c{number}/0 {number}"
            for number, contract in enumerate("AABBBCDDD", start=2)
        ),
        "c1/0: no_rule, outranked; c2/0: first_in_line; "
        + "; ".join(f"c{number}/0: older_first" for number in range(3, 11)),
        {
            "outranked": kinds(("B", 3), ("D", 3), ("A", 2)),
            # c10 is the last of its level: all others of the level are ahead of one of them at least.
            "older_first": kinds(("B", 3), ("A", 2), ("D", 2)),
        },
        rules=high("A", "B", "C", "D"),
    ),
    scene(
        "outranked: the level is the same",
        "talk c1, talk c2, ready c1/0 2, ready c2/0 1",
        "c1/0: older_first; c2/0: first_in_line",
        {"older_first": kinds(("Contract", 1))},
    ),
    scene(
        "outranked: a higher conversation of its own group is no other group",
        "talk c1 group=g, talk c2 group=g contract=High, ready c1/0 1, ready c2/0 2",
        "c1/0: no_rule, own_group_first, first_in_line; c2/0: first_in_line",
        rules=high("High"),
    ),
    scene(
        "outranked: the whole group is received at its highest level",
        IN_ONE_GROUP,
        "c1/0: own_group_first, first_in_line; c2/0: first_in_line; c3/0: outranked",
        {"outranked": kinds(("High", 1), ("Low", 1))},
        rules=high("High", "Middle:7", "Low:2"),
    ),
    scene(
        "outranked: with TOP, the rest of the group has its own level",
        IN_ONE_GROUP,
        "c1/0: outranked, own_group_first; c2/0: first_in_line; c3/0: outranked",
        {"outranked": kinds(("High", 1), ("Middle", 1))},
        rules=high("High", "Middle:7", "Low:2"),
        settings=ONE_NOT_COMPUTED,
    ),
    scene(
        "outranked: a locked message has nothing ahead",
        "talk c1, talk c2 contract=High, ready c1/0 1, ready c2/0 2, RECEIVE 10 transaction=t1 of=c1",
        "c1/0: no_rule, group_locked; c2/0: first_in_line",
        rules=high("High"),
    ),
    scene(
        "outranked: a higher transmit_priority goes first",
        "talk c1, talk c2 contract=High, sent c1/0 1, sent c2/0 2",
        "c1/0: no_rule, outranked; c2/0: first_in_line",
        {"outranked": of_senders("High")},
        rules=high("High", database="A"),
    ),
]

OWN_GROUP = [
    scene(
        "own_group_first: in the same RECEIVE",
        "talk c1, ready c1/0 1, ready c1/1 2",
        "c1/0: first_in_line; c1/1: own_group_first, first_in_line",
        {
            "own_group_first": [own_group(RECEIVE, "group c1 False", None)],
            "first_in_line": [{**RECEIVE, "messages": 2}],
        },
    ),
    scene(
        "own_group_first: in an earlier RECEIVE",
        "talk c1, ready c1/0 1, ready c1/1 2",
        "c1/0: first_in_line; c1/1: own_group_first",
        settings=ONE_NOT_COMPUTED,
    ),
    scene(
        "own_group_first: of the same conversation and direction",
        "talk c1, sent c1/0 1, sent c1/1 2",
        "c1/0: first_in_line; c1/1: own_group_first",
        {
            "own_group_first": [own_group(TRANSMISSION, None, "c1")],
            "first_in_line": [{**TRANSMISSION, "messages": 1}],
        },
    ),
    scene(
        "own_group_first: the other direction of the conversation is another one",
        "talk c1, sent c1/0 1, sent c1/1 2 sent_by_initiator=false",
        "c1/0: first_in_line; c1/1: older_first",
        {"older_first": of_senders()},
    ),
    scene(
        "own_group_first: another conversation of the same group is another one to send",
        "talk c1 group=g, talk c2 group=g, sent c1/0 1, sent c2/0 2",
        "c1/0: first_in_line; c2/0: older_first",
    ),
]


def to_sql2(conversation: str, contract: str) -> str:
    """A conversation whose target lives in SQL2.C."""
    begun = f"begin {conversation} contract={contract}"
    return f"{begun}, create {conversation} contract={contract} instance=SQL2 database=C"


TWO_PLACES = (
    f"{to_sql2('c1', 'High')}, {to_sql2('c2', 'Contract')}, talk c3 contract=Middle, "
    "sent c1/0 1, sent c2/0 1, sent c3/0 1"
)
OLDER = [
    scene(
        "older_first: with blocks, a lower level goes first",
        TWO_PLACES,
        "c1/0: first_in_line; c2/0: no_rule, outranked; c3/0: outranked, older_first",
        {"older_first": of_senders()},
        rules=high("High", "Middle:7", database="A"),
        settings=TWO_IN_BLOCKS,
    ),
    scene(
        "older_first: without blocks, it does not",
        TWO_PLACES,
        "c1/0: first_in_line; c2/0: no_rule, outranked; c3/0: outranked",
        rules=high("High", "Middle:7", database="A"),
    ),
    scene(
        "older_first: a message that is being forwarded has a row at each instance",
        f"{to_sql2('c1', 'Contract')}, {to_sql2('c2', 'High')}, sent c1/0 1, forward c1/0 2, "
        "sent c2/0 1, forward c2/0 3",
        "c1/0@SQL1: rule_newer_than_endpoint, outranked; c2/0@SQL1: first_in_line; "
        "c1/0@HUB: first_in_line; c2/0@HUB: older_first",
        {"older_first": of_senders()},
        rules=[
            *high("High", database="A"),
            create_rule("New", 7, contract="Contract", effective_from=at(5)),
        ],
    ),
]
FIRST = [
    scene(
        "first_in_line: the first of each queue, whatever waits elsewhere",
        "talk c1, talk c2, ready c1/0 2, ready c2/0 1, reply c1/1 3, sent c2/1 4",
        "c1/0: older_first; c2/0: first_in_line; c1/1: first_in_line; c2/1: first_in_line",
        {
            "first_in_line": [
                {**RECEIVE, "database": "A", "queue": "InitiatorQueue", "messages": 1},
                {**RECEIVE, "messages": 1},
                {**TRANSMISSION, "messages": 1},
            ]
        },
    ),
    scene(
        "first_in_line: all that the first RECEIVE takes",
        "talk c1, ready c1/0 1, ready c1/1 1, ready c1/2 1",
        "c1/0: first_in_line; c1/1: own_group_first, first_in_line; c1/2: own_group_first",
        settings=TWO_IN_BLOCKS,
    ),
    scene(
        "no_rule: a forwarded message of the instance has one",
        "begin c1 instance=SQL2 database=C, sent c1/0 1 instance=SQL2 database=C, talk c2 contract=High, "
        "sent c2/0 1, forward c2/0 2 instance=SQL2 database=C",
        "c1/0: first_in_line; c2/0@SQL1: first_in_line; c2/0@SQL2: older_first",
        rules=high("High", database="A"),
    ),
]
SCENES = [*FIRST, *OUTRANKED, *OWN_GROUP, *OLDER]

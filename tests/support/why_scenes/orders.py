"""Scenes about positions: what is ahead of a message in its queue or transmission queue."""

from .scene import OTHER_SETTINGS, scenes

HIGH = "rule High 9 contract=High"
IN_ONE_GROUP = (
    "talk c1 group=g contract=Low, talk c2 group=g contract=High, talk c3 contract=Middle, "
    "ready c1/0 1, ready c2/0 2, ready c3/0 3, "
    f"{HIGH}, rule Middle 7 contract=Middle, rule Low 2 contract=Low"
)
KINDS = ", ".join(
    [
        *(f"rule {contract} 9 contract={contract}" for contract in "ABCD"),
        *(
            f"talk c{number} contract={contract}, ready c{number}/0 {number}"
            for number, contract in enumerate("AABBBCDDD", start=2)
        ),
    ]
)
OUTRANKED = [
    *scenes(
        "outranked",
        f"""
        the three largest kinds
            talk c1, ready c1/0 1, {KINDS}
            => c1/0: no_rule, outranked; c2/0: first_in_line; c3/0: older_first; c4/0: older_first;
               c5/0: older_first; c6/0: older_first; c7/0: older_first; c8/0: older_first; c9/0: older_first;
               c10/0: older_first
            => outranked: contract=B messages=3, contract=D messages=3, contract=A messages=2
            => older_first: contract=B messages=3, contract=A messages=2, contract=D messages=2
        the level is the same
            talk c1, talk c2, ready c1/0 2, ready c2/0 1 => c1/0: older_first; c2/0: first_in_line
            => older_first: contract=Contract local_service=TargetService messages=1
        a higher conversation of its own group is no other group
            talk c1 group=g, talk c2 group=g contract=High, ready c1/0 1, ready c2/0 2, {HIGH}
            => c1/0: no_rule, own_group_first, first_in_line; c2/0: first_in_line
        the whole group is received at its highest level
            {IN_ONE_GROUP} => c1/0: own_group_first, first_in_line; c2/0: first_in_line; c3/0: outranked
            => outranked: contract=High messages=1, contract=Low messages=1
        a locked message has nothing ahead
            talk c1, talk c2 contract=High, ready c1/0 1, ready c2/0 2, RECEIVE 10 transaction=t1 of=c1,
            {HIGH}
            => c1/0: no_rule, group_locked; c2/0: first_in_line
        a higher transmit_priority goes first
            talk c1, talk c2 contract=High, sent c1/0 1, sent c2/0 2, {HIGH} in=A
            => c1/0: no_rule, outranked; c2/0: first_in_line
            => outranked: contract=High local_service=InitiatorService messages=1
        """,
    ),
    *scenes(
        "outranked",
        f"""
        with TOP, the rest of the group has its own level
            {IN_ONE_GROUP}, ready c2/1 2
            => c1/0: outranked, own_group_first; c2/0: first_in_line; c2/1: own_group_first, first_in_line;
               c3/0: outranked
            => outranked: contract=High messages=2, contract=Middle messages=1
        """,
        settings=OTHER_SETTINGS,
    ),
]
OWN_GROUP = [
    *scenes(
        "own_group_first",
        """
        in the same RECEIVE
            talk c1, ready c1/0 1, ready c1/1 2 => c1/0: first_in_line; c1/1: own_group_first, first_in_line
            => own_group_first: conversation_group_id='group c1 False' conversation_id=- messages=1
            => first_in_line: kind=receive queue=TargetQueue messages=2
        of the same conversation and direction
            talk c1, sent c1/0 1, sent c1/1 2 => c1/0: first_in_line; c1/1: own_group_first
            => own_group_first: kind=transmission conversation_group_id=- conversation_id=c1 messages=1
            => first_in_line: kind=transmission queue=- messages=1
        the other direction of the conversation is another one
            talk c1, sent c1/0 1, sent c1/1 2 sent_by_initiator=false
            => c1/0: first_in_line; c1/1: older_first
            => older_first: local_service=InitiatorService messages=1
        of messages that are being forwarded
            talk c1, sent c1/0 1, forward c1/0 2, sent c1/1 3, forward c1/1 4
            => c1/0@SQL1: first_in_line; c1/1@SQL1: own_group_first; c1/0@HUB: first_in_line;
               c1/1@HUB: own_group_first
        another conversation of the same group is another one to send
            talk c1 group=g, talk c2 group=g, sent c1/0 1, sent c2/0 2
            => c1/0: first_in_line; c2/0: older_first
        """,
    )
]
TO_SQL2 = "begin {0} contract={1}, create {0} contract={1} instance=SQL2 database=C"
TWO_PLACES = (
    f"{TO_SQL2.format('c1', 'High')}, {TO_SQL2.format('c2', 'Contract')}, talk c3 contract=Middle, "
    f"sent c1/0 1, sent c2/0 1, sent c3/0 1, {HIGH} in=A, rule Middle 7 in=A contract=Middle"
)
OLDER = [
    *scenes(
        "older_first",
        f"""
        without blocks, a lower level does not go first
            {TWO_PLACES} => c1/0: first_in_line; c2/0: no_rule, outranked; c3/0: outranked
        a message that is being forwarded has a row at each instance
            {TO_SQL2.format("c1", "Contract")}, {TO_SQL2.format("c2", "High")},
            sent c1/0 1, forward c1/0 2, sent c2/0 1, forward c2/0 3,
            {HIGH} in=A, rule New 7 from=5 in=A contract=Contract
            => c1/0@SQL1: rule_newer_than_endpoint, outranked; c2/0@SQL1: first_in_line;
               c1/0@HUB: first_in_line; c2/0@HUB: older_first
            => older_first: contract=Contract local_service=InitiatorService messages=1
        """,
    ),
    *scenes(
        "older_first",
        f"""
        with blocks, a lower level goes first
            {TWO_PLACES} => c1/0: first_in_line; c2/0: no_rule, outranked; c3/0: outranked, older_first
            => older_first: contract=Contract messages=1
        """,
        settings=OTHER_SETTINGS,
    ),
]
FIRST = [
    *scenes(
        "first_in_line",
        """
        the first of each queue, whatever waits elsewhere
            talk c1, talk c2, ready c1/0 2, ready c2/0 1, reply c1/1 3, sent c2/1 4
            => c1/0: older_first; c2/0: first_in_line; c1/1: first_in_line; c2/1: first_in_line
            => first_in_line: queue=InitiatorQueue, queue=TargetQueue, queue=-
        """,
    ),
    *scenes(
        "first_in_line",
        """
        all that the first RECEIVE takes
            talk c1, ready c1/0 1, ready c1/1 1, ready c1/2 1
            => c1/0: first_in_line; c1/1: own_group_first, first_in_line; c1/2: own_group_first
        """,
        settings=OTHER_SETTINGS,
    ),
]
SCENES = [*FIRST, *OUTRANKED, *OWN_GROUP, *OLDER]

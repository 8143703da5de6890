"""Scenes about levels: rules that are newer, changed, elsewhere, less specific or missing."""

from .scene import ONE, scenes

GOLD = "rule Gold 9 from=5 contract=Contract"
FIRST, NEWER, CHANGED = (
    f"=> c1/0: {codes}first_in_line" for codes in ("", "rule_newer_than_endpoint, ", "rule_changed_since, ")
)
SINCE = [
    *scenes(
        "rule_newer_than_endpoint",
        f"""
        the rule began after the creation
            {ONE}, {GOLD} {NEWER}
            => rule_newer_than_endpoint: rule=Gold level=9 was_rule=- was_level=5 since=5 messages=1
        a rule of the creation's instant has decided it
            {ONE}, rule Gold 9 from=0 contract=Contract {FIRST}
        a rule of as_of's instant stands
            {ONE}, rule Gold 9 from=60 contract=Contract {NEWER}
        a rule after as_of does not count
            {ONE}, rule Gold 9 from=60.001 contract=Contract {FIRST}
        the level is not higher
            {ONE}, rule Gold 5 from=5 contract=Contract {FIRST}
        it has gone by as_of
            {ONE}, {GOLD}, drop Gold 60 {FIRST}
        it goes after as_of
            {ONE}, {GOLD}, drop Gold 60.001 {NEWER}
        the rule of that name had gone at the creation
            {ONE}, rule Gold 3 contract=Contract, drop Gold -10, {GOLD} {NEWER}
            => rule_newer_than_endpoint: rule=Gold was_rule=- was_level=5 since=5
        a rule of another database
            {ONE}, {GOLD} in=A {FIRST}
        """,
    ),
    *scenes(
        "rule_changed_since",
        f"""
        another level
            {ONE}, rule Gold 3 contract=Contract, alter Gold 5 level=9 {CHANGED}
            => rule_changed_since: rule=Gold level=9 was_rule=Gold was_level=3 since=5 messages=1
        another level, of a rule that is as old as the conversation
            {ONE}, rule Gold 3 from=0 contract=Contract, alter Gold 5 level=9 {CHANGED}
            => rule_changed_since: rule=Gold level=9 was_rule=Gold was_level=3 since=5
        a lower level
            {ONE}, rule Gold 3 contract=Contract, alter Gold 5 level=2 {FIRST}
        other criteria
            {ONE}, rule Gold 9 contract=Silver, alter Gold 5 contract=Contract {CHANGED}
            => rule_changed_since: rule=Gold level=9 was_rule=- was_level=5 since=5
        a rule before it in the ladder has gone
            {ONE}, rule General 7 contract=Contract,
            rule Special 2 contract=Contract local=TargetService, drop Special 30 {CHANGED}
            => rule_changed_since: rule=General level=7 was_rule=Special was_level=2 since=30
        no rule is left, and the default is higher
            {ONE}, rule Low 2 contract=Contract, drop Low 30 {CHANGED}
            => rule_changed_since: rule=- level=5 was_rule=Low was_level=2 since=30
        the rule goes after as_of
            {ONE}, rule Low 2 contract=Contract, drop Low 60.001 {FIRST}
        """,
    ),
]
OF_INITIATOR = "rule Gold 8 in=A contract=Contract"
OTHER_SIDE = scenes(
    "other_side_only",
    f"""
    only the initiator's database has a rule
        {ONE}, {OF_INITIATOR} => c1/0: other_side_only, first_in_line
        => other_side_only: database=B local_service=TargetService other_database=A other_rule=Gold
           other_level=8
    the other endpoint has ended
        {ONE}, end c1 3, {OF_INITIATOR} => c1/0: other_side_only, first_in_line
    the other endpoint does not exist yet
        begin c1 60, create c1, ready c1/0, {OF_INITIATOR} {FIRST}
    the other rule's level is the default
        {ONE}, rule Gold 5 in=A contract=Contract {FIRST}
    a rule of its own
        {ONE}, {OF_INITIATOR}, rule Same 5 contract=Contract {FIRST}
    """,
)
SPECIAL, GENERAL = "contract=Contract local=TargetService", "rule General 7 contract=Contract"
WINNER = f"rule Special 3 {SPECIAL}"
LESS_SPECIFIC = "=> c1/0: more_specific_rule, first_in_line"
MORE_SPECIFIC = scenes(
    "more_specific_rule",
    f"""
    a later step has a higher level
        {ONE}, {WINNER}, {GENERAL} {LESS_SPECIFIC}
        => more_specific_rule: winning_rule=Special winning_step=2 winning_level=3 rule=General step=4 level=7
    the highest level, then the earliest step
        {ONE}, {WINNER}, {GENERAL}, rule All 9, rule Remote 9 remote=InitiatorService {LESS_SPECIFIC}
        => more_specific_rule: rule=Remote step=7 level=9
    the same level
        {ONE}, {WINNER}, rule General 3 contract=Contract {FIRST}
    higher than the endpoint, and not than the winner
        {ONE}, rule Special 9 from=5 {SPECIAL}, rule General 7 from=6 contract=Contract {NEWER}
    it does not fit
        {ONE}, {WINNER}, rule General 7 contract=Another {FIRST}
    it does not stand
        {ONE}, {WINNER}, {GENERAL}, drop General 60 {FIRST}
    not higher than the endpoint, whose rule was changed
        {ONE}, rule Special 8 {SPECIAL}, alter Special 5 level=3, rule General 8 contract=Contract {FIRST}
    """,
)
TWO = "talk c1, talk c2 contract=Gold, ready c1/0 2, ready c2/0 1"
"""Beside the conversation of ONE, another one whose message came first."""
NO_RULE = scenes(
    "no_rule",
    f"""
    another message of the queue has one
        {TWO}, rule Gold 8 contract=Gold => c1/0: no_rule, outranked; c2/0: first_in_line
        => no_rule: database=B contract=Contract local_service=TargetService messages=1
    the other message's group is locked
        {TWO}, RECEIVE 10 transaction=t1 of=c2, rule Gold 8 contract=Gold
        => c1/0: no_rule, first_in_line; c2/0: group_locked
    the other rule's level is the default
        {TWO}, rule Gold 5 contract=Gold => c1/0: older_first; c2/0: first_in_line
    the other message waits in another queue
        {ONE}, talk c2 contract=Gold, reply c2/0 1, rule Gold 8 in=A contract=Gold
        => c1/0: first_in_line; c2/0: first_in_line
    another cause explains it
        {TWO}, rule Gold 8 contract=Gold, rule Misspelt 7 contract=contract
        => c1/0: near_miss, outranked; c2/0: first_in_line
    another message of the instance has one
        talk c1, talk c2 contract=Gold, sent c1/0 2, sent c2/0 1, rule Gold 8 in=A contract=Gold
        => c1/0: no_rule, outranked; c2/0: first_in_line
        => no_rule: database=A contract=Contract local_service=InitiatorService messages=1
    a forwarded message of the instance has one
        begin c1 instance=SQL2 database=C, sent c1/0 1 instance=SQL2 database=C, talk c2 contract=High,
        sent c2/0 1, forward c2/0 2 instance=SQL2 database=C, rule High 9 in=A contract=High
        => c1/0: first_in_line; c2/0@SQL1: first_in_line; c2/0@SQL2: older_first
    """,
)
STATES = {
    "a locked message": (f"{ONE}, RECEIVE 10 transaction=t1 of=c1", "group_locked", "BA"),
    "a message in a queue that is off": (f"{ONE}, QUEUE_ALTERED 10 status=OFF", "queue_off", "BA"),
    "a message to send": ("talk c1, sent c1/0", "first_in_line", "AB"),
}
"""The log, the code of the state, and the databases of the endpoint that counts and of the other one."""
RULES = {
    "rule_newer_than_endpoint": "rule Gold 9 from=5 in={0}",
    "rule_changed_since": "rule Gold 3 in={0}, alter Gold 5 level=9 in={0}",
    "near_miss": "rule Gold 9 contract=contract in={0}",
    "other_side_only": "rule Gold 8 in={1}",
    "more_specific_rule": "rule Special 3 contract=Contract in={0}, rule General 7 in={0}",
}
OF_STATES = [
    scene
    for code, rules in RULES.items()
    for state, (log, own, databases) in STATES.items()
    for scene in scenes(code, f"{state}\n {log}, {rules.format(*databases)} => c1/0: {code}, {own}")
]
SCENES = [*SINCE, *OTHER_SIDE, *MORE_SPECIFIC, *NO_RULE, *OF_STATES]

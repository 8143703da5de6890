"""Scenes about rules that one criterion misses by its spelling; tests/rules/test_near_names.py has more."""

from tests.support.factories import catalog, database

from .scene import ONE, scenes

FIRST, NEAR = "=> c1/0: first_in_line", "=> c1/0: near_miss, first_in_line"
GOLD = "rule Gold 9 contract=contract"
SCENES = [
    *scenes(
        "near_miss",
        f"""
        case
            {ONE}, rule Gold 9 remote=initiatorservice {NEAR}
            => near_miss: rule=Gold level=9 criterion=remote_service rule_has=initiatorservice
               endpoint_has=InitiatorService messages=1
        blanks
            {ONE}, rule Gold 9 local=' Target Service ' {NEAR}
        two characters
            {ONE}, rule Gold 9 remote=InitatorServise {NEAR}
        three characters
            {ONE}, rule Gold 9 remote=InitatorServis {FIRST}
        the spelling is a name in use
            talk c1 contract=Order2, talk c2 contract=Order1, ready c1/0, rule Gold 9 contract=Order1 {FIRST}
        in use by an endpoint that has ended
            talk c1 contract=Order2, talk c2 contract=Order1, end c2 is_initiator=false, ready c1/0,
            rule Gold 9 contract=Order1 {FIRST}
        in use only after as_of
            talk c1 contract=Order2, talk c2 60 contract=Order1, ready c1/0,
            rule Gold 9 contract=Order1 {NEAR}
        in use in another database
            talk c1 contract=Order2, begin c2 contract=Order1, ready c1/0, rule Gold 9 contract=Order1 {NEAR}
        in use in another column
            {ONE}, talk c2 contract=TargetServise, rule Gold 9 local=TargetServise {NEAR}
        a service of the catalog is no contract
            talk c1 contract=TargetServices, ready c1/0, rule Gold 9 contract=TargetService {NEAR}
        a contract of that name in use does not close case and blanks
            talk c1 contract=Order, talk c2 contract=order, ready c1/0, rule Gold 9 contract=order {NEAR}
        two criteria
            {ONE}, rule Gold 9 contract=contract local=targetservice {FIRST}
        one criterion misses, another fits
            {ONE}, rule Gold 9 contract=contract local=TargetService {NEAR}
        the level is the endpoint's
            {ONE}, rule Gold 5 contract=contract {FIRST}
        the level is higher than the ladder's today, and not than the endpoint's
            {ONE}, rule Low 8 contract=Contract, alter Low 5 level=3,
            rule Gold 7 contract=contract local=TargetService {FIRST}
        the level is the one that the ladder gives today
            {ONE}, {GOLD}, rule New 9 from=5 => c1/0: rule_newer_than_endpoint, first_in_line
        the correction would lose to an earlier step
            {ONE}, rule Gold 9 remote=initiatorservice, rule Low 3 contract=Contract {FIRST}
        the correction would win against a later step
            {ONE}, {GOLD}, rule Low 3 remote=InitiatorService {NEAR}
        a rule has the corrected criteria already
            {ONE}, {GOLD}, rule Low 3 contract=Contract {FIRST}
        the rule has gone
            {ONE}, {GOLD}, drop Gold 60 {FIRST}
        two rules
            {ONE}, {GOLD}, rule Silver 8 remote=INITIATORSERVICE {NEAR}
            => near_miss: rule=Gold rule_has=contract endpoint_has=Contract,
               rule=Silver rule_has=INITIATORSERVICE endpoint_has=InitiatorService
        """,
    ),
    *scenes(
        "near_miss",
        f"""
        the catalog has the service on another instance
            {ONE}, rule Gold 9 remote=InitiatorService2 {FIRST}
        """,
        catalog=catalog({"SQL2": [database("C", "InitiatorService2", "Q")]}),
    ),
]

"""Scenes about rules that one criterion misses by its spelling."""

from tests.support.factories import Row, at, catalog, database

from .scene import IN_B, alter, drop, one, rule

NEAR, NEWER = "near_miss", "rule_newer_than_endpoint"


def misspelt(criterion: str, spelling: str, level: int = 9) -> list[Row]:
    """A rule of one criterion."""
    return [rule("Gold", level, **{criterion: spelling})]


def near(criterion: str, rule_has: str, endpoint_has: str, name: str = "Gold", level: int = 9) -> Row:
    """The details of a near miss."""
    row = {"criterion": criterion, "rule_has": rule_has, "endpoint_has": endpoint_has}
    return {**IN_B, "rule": name, "level": level, **row, "messages": 1}


SPELLINGS = [
    ("blanks", "local_service", " Target Service ", True),
    ("a tab is no blank", "contract", "\tCon\ttract\t", False),
    ("one character is missing", "remote_service", "InitatorService", True),
    ("two characters", "remote_service", "InitatorServise", True),
    ("three characters", "remote_service", "InitatorServis", False),
    ("a swap counts two", "contract", "Contratc", True),
    ("a swap and one more", "contract", "Kontratc", False),
    ("case counts among the characters", "contract", "konTracts", False),
]
CONTRACTS = [
    ("less than half of the longer name", "Bald1", "talk c1 contract=Gold1", True),
    ("half of the shorter name", "Bolds", "talk c1 contract=Gold", True),
    ("half of the longer name", "Bald", "talk c1 contract=Gold", False),
    (
        "the spelling is a name in use",
        "Order1",
        "talk c1 contract=Order2, talk c2 contract=Order1",
        False,
    ),
    (
        "in use by an endpoint that has ended",
        "Order1",
        "talk c1 contract=Order2, talk c2 contract=Order1, end c2 is_initiator=false",
        False,
    ),
    (
        "in use only after as_of",
        "Order1",
        "talk c1 contract=Order2, talk c2 60 contract=Order1",
        True,
    ),
    (
        "in use in another database",
        "Order1",
        "talk c1 contract=Order2, begin c2 contract=Order1",
        True,
    ),
    ("a service of the catalog is no contract", "TargetService", "talk c1 contract=TargetServices", True),
    (
        "a contract of that name in use does not close case and blanks",
        "order",
        "talk c1 contract=Order, talk c2 contract=order",
        True,
    ),
]
SCENES = [
    one(
        "near_miss: case",
        misspelt("remote_service", "initiatorservice"),
        NEAR,
        details={NEAR: [near("remote_service", "initiatorservice", "InitiatorService")]},
    ),
    *[
        one(f"near_miss: {name}", misspelt(criterion, spelling), *[NEAR] * is_near)
        for name, criterion, spelling, is_near in SPELLINGS
    ],
    *[
        one(
            f"near_miss: {name}",
            misspelt("contract", spelling),
            *[NEAR] * is_near,
            rows=f"{rows}, ready c1/0",
        )
        for name, spelling, rows, is_near in CONTRACTS
    ],
    one(
        "near_miss: in use in another column",
        misspelt("local_service", "TargetServise"),
        NEAR,
        rows="talk c1, ready c1/0, talk c2 contract=TargetServise",
    ),
    one(
        "near_miss: the catalog has the service on another instance",
        misspelt("remote_service", "InitiatorService2"),
        catalog=catalog({"SQL2": [database("C", "InitiatorService2", "Q")]}),
    ),
    one("near_miss: two criteria", [rule("Gold", 9, contract="contract", local_service="targetservice")]),
    one(
        "near_miss: one criterion misses, another fits",
        [rule("Gold", 9, contract="contract", local_service="TargetService")],
        NEAR,
    ),
    one("near_miss: the level is the endpoint's", misspelt("contract", "contract", 5)),
    one(
        "near_miss: the level is higher than the ladder's today, and not than the endpoint's",
        [
            rule("Low", 8, contract="Contract"),
            alter("Low", 5, level=3),
            rule("Gold", 7, contract="contract", local_service="TargetService"),
        ],
    ),
    one(
        "near_miss: the level is the one that the ladder gives today",
        [*misspelt("contract", "contract"), rule("New", 9, effective_from=at(5))],
        NEWER,
    ),
    one(
        "near_miss: the correction would lose to an earlier step",
        [*misspelt("remote_service", "initiatorservice"), rule("Low", 3, contract="Contract")],
    ),
    one(
        "near_miss: the correction would win against a later step",
        [*misspelt("contract", "contract"), rule("Low", 3, remote_service="InitiatorService")],
        NEAR,
    ),
    one(
        "near_miss: a rule has the corrected criteria already",
        [*misspelt("contract", "contract"), rule("Low", 3, contract="Contract")],
    ),
    one("near_miss: the rule has gone", [*misspelt("contract", "contract"), drop("Gold", 60)]),
    one(
        "near_miss: two rules",
        [*misspelt("contract", "contract"), rule("Silver", 8, remote_service="INITIATORSERVICE")],
        NEAR,
        details={
            NEAR: [
                near("contract", "contract", "Contract"),
                near("remote_service", "INITIATORSERVICE", "InitiatorService", "Silver", 8),
            ]
        },
    ),
]

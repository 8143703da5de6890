"""Scenes about rules that one criterion misses by its spelling."""

from tests.support.factories import Row, at, catalog, database, endpoint_event

from .scene import IN_B, alter, drop, one, ready, rule, talk

NEWER = "rule_newer_than_endpoint"


def misspelt(criterion: str, spelling: str, level: int = 9) -> list[Row]:
    """A rule of one criterion."""
    return [rule("Gold", level, **{criterion: spelling})]


def near(criterion: str, rule_has: str, endpoint_has: str) -> dict[str, list[Row]]:
    """The details of a near miss by rule Gold."""
    row = {"criterion": criterion, "rule_has": rule_has, "endpoint_has": endpoint_has}
    return {"near_miss": [{**IN_B, "rule": "Gold", "level": 9, **row, "messages": 1}]}


def of_contract(contract: str, *more: Row) -> list[Row]:
    """ONE with another contract, and more rows."""
    return [*talk(contract=contract), ready(), *more]


SCENES = [
    one(
        "near_miss: case",
        misspelt("remote_service", "initiatorservice"),
        "near_miss",
        details=near("remote_service", "initiatorservice", "InitiatorService"),
    ),
    one("near_miss: blanks", misspelt("local_service", " Target Service "), "near_miss"),
    one("near_miss: a tab is no blank", misspelt("contract", "\tCon\ttract\t")),
    one("near_miss: one character is missing", misspelt("remote_service", "InitatorService"), "near_miss"),
    one("near_miss: two characters", misspelt("remote_service", "InitatorServise"), "near_miss"),
    one("near_miss: three characters", misspelt("remote_service", "InitatorServis")),
    one("near_miss: a swap counts two", misspelt("contract", "Contratc"), "near_miss"),
    one("near_miss: a swap and one more", misspelt("contract", "Kontratc")),
    one("near_miss: case counts among the characters", misspelt("contract", "konTracts")),
    one(
        "near_miss: less than half of the longer name",
        misspelt("contract", "Bald1"),
        "near_miss",
        rows=of_contract("Gold1"),
    ),
    one(
        "near_miss: half of the shorter name",
        misspelt("contract", "Bolds"),
        "near_miss",
        rows=of_contract("Gold"),
    ),
    one("near_miss: half of the longer name", misspelt("contract", "Bald"), rows=of_contract("Gold")),
    one(
        "near_miss: the spelling is a name in use",
        misspelt("contract", "Order1"),
        rows=of_contract("Order2", *talk("c2", contract="Order1")),
    ),
    one(
        "near_miss: in use by an endpoint that has ended",
        misspelt("contract", "Order1"),
        rows=of_contract(
            "Order2",
            *talk("c2", contract="Order1"),
            endpoint_event("END_CONVERSATION", "c2", is_initiator=False, database="B"),
        ),
    ),
    one(
        "near_miss: in use only after as_of",
        misspelt("contract", "Order1"),
        "near_miss",
        rows=of_contract("Order2", *talk("c2", 60, contract="Order1")),
    ),
    one(
        "near_miss: in use in another database",
        misspelt("contract", "Order1"),
        "near_miss",
        rows=of_contract("Order2", endpoint_event("BEGIN_DIALOG", "c2", contract="Order1")),
    ),
    one(
        "near_miss: in use in another column",
        misspelt("local_service", "TargetServise"),
        "near_miss",
        rows=of_contract("Contract", *talk("c2", contract="TargetServise")),
    ),
    one(
        "near_miss: the catalog has the service on another instance",
        misspelt("remote_service", "InitiatorService2"),
        catalog=catalog({"SQL2": [database("C", "InitiatorService2", "Q")]}),
    ),
    one(
        "near_miss: a service of the catalog is no contract",
        misspelt("contract", "TargetService"),
        "near_miss",
        rows=of_contract("TargetServices"),
    ),
    one(
        "near_miss: a contract of that name in use does not close case and blanks",
        misspelt("contract", "order"),
        "near_miss",
        rows=of_contract("Order", *talk("c2", contract="order")),
    ),
    one("near_miss: two criteria", [rule("Gold", 9, contract="contract", local_service="targetservice")]),
    one(
        "near_miss: one criterion misses, another fits",
        [rule("Gold", 9, contract="contract", local_service="TargetService")],
        "near_miss",
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
        "near_miss",
    ),
    one(
        "near_miss: a rule has the corrected criteria already",
        [*misspelt("contract", "contract"), rule("Low", 3, contract="Contract")],
    ),
    one("near_miss: the rule has gone", [*misspelt("contract", "contract"), drop("Gold", 60)]),
    one(
        "near_miss: two rules",
        [*misspelt("contract", "contract"), rule("Silver", 8, remote_service="INITIATORSERVICE")],
        "near_miss",
        details={
            "near_miss": [
                *near("contract", "contract", "Contract")["near_miss"],
                {
                    **IN_B,
                    "rule": "Silver",
                    "level": 8,
                    "criterion": "remote_service",
                    "rule_has": "INITIATORSERVICE",
                    "endpoint_has": "InitiatorService",
                    "messages": 1,
                },
            ]
        },
    ),
]

"""The precedence ladder against brute force, over names that look alike."""

from datetime import timedelta
from itertools import product
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.config.rules.limits import STEPS
from pipelines.ladder.ladder import with_priority
from tests.support.factories import LONG_AGO, Row, at, rule
from tests.support.model.rules import Rule, resolve
from tests.support.plans import operators

ENDPOINT = (
    "number int, instance string, database string, contract string, local_service string, "
    "remote_service string, created_at timestamp"
)
RULES = (
    "instance string, database string, name string, contract string, local_service string, "
    "remote_service string, level int, valid_from timestamp, valid_to timestamp"
)
CONTRACTS = ("Gold", "gold", "Gold ", "ANY", "")
SERVICES = ("Orders", "orders", "Orders ", "\u00d3rders", "O\u0301rders")
PLACES = (("SQL1", "A"), ("SQL1", "a"), ("sql1", "A"))
MOMENT = timedelta(microseconds=1)


def endpoint(**changes: Any) -> Row:
    return {
        "instance": "SQL1",
        "database": "A",
        "contract": "Gold",
        "local_service": "Orders",
        "remote_service": "Stock",
        "created_at": at(0),
        **changes,
    }


def frames(spark: SparkSession, endpoints: list[Row], rules: list[Row]) -> tuple[DataFrame, DataFrame]:
    rows = [{"number": number, **row} for number, row in enumerate(endpoints)]
    return spark.createDataFrame(rows, ENDPOINT), spark.createDataFrame(rules, RULES)


def resolved(
    spark: SparkSession, endpoints: list[Row], rules: list[Row]
) -> list[tuple[int, str | None, int | None]]:
    """(priority, rule_name, ladder_step) of each endpoint."""
    found = with_priority(*frames(spark, endpoints, rules)).orderBy("number").collect()
    assert [row.number for row in found] == list(range(len(endpoints)))
    return [(row.priority, row.rule_name, row.ladder_step) for row in found]


def history(random: Random) -> list[Row]:
    """Random rules of all places; one of a triple at a time, each valid in one or two periods."""
    rules = []
    for instance, database in PLACES:
        triples = list(product((None, *CONTRACTS), (None, *SERVICES), (None, *SERVICES)))
        for number, triple in enumerate(random.sample(triples, 60)):
            names = dict(zip(("contract", "local_service", "remote_service"), triple, strict=True))
            start, change, end = sorted(random.choices([LONG_AGO, at(-1), at(0), at(0) + MOMENT, at(1)], k=3))
            for valid_from, valid_to in ((start, change), (change, random.choice([None, end]))):
                if valid_to is None or valid_from < valid_to:
                    rules.append(
                        rule(
                            f"R{number}",
                            random.randint(1, 10),
                            instance=instance,
                            database=database,
                            valid_from=valid_from,
                            valid_to=valid_to,
                            **names,
                        )
                    )
    return rules


@pytest.mark.spark
def test_ladder_equals_brute_force(session: SparkSession) -> None:
    random = Random(7)
    rules = history(random)
    endpoints = [
        endpoint(
            instance=instance,
            database=database,
            contract=contract,
            local_service=local,
            remote_service=remote,
            created_at=created_at,
        )
        for (instance, database), contract, local, remote, created_at in product(
            PLACES, CONTRACTS, SERVICES, SERVICES, (at(0) - MOMENT, at(0), at(1))
        )
    ]
    versions = [Rule(**row) for row in rules]
    expected = [
        resolve(
            versions,
            (row["instance"], row["database"]),
            row["created_at"],
            (row["contract"], row["local_service"], row["remote_service"]),
        )
        for row in endpoints
    ]
    assert {step for _, _, step in expected} == {None, *range(1, 9)}
    found = resolved(session, endpoints, rules)
    different = [row for row in zip(endpoints, found, expected, strict=True) if row[1] != row[2]]
    assert different == []


def test_the_steps_are_those_of_the_documentation() -> None:
    table = ["C L R", "C L *", "C * R", "C * *", "* L R", "* L *", "* * R", "* * *"]
    assert [tuple(mark != "*" for mark in row.split()) for row in table] == list(STEPS)


def test_each_step_comes_before_the_next(session: SparkSession) -> None:
    """With the rules of the steps taken away one by one, the next step decides; at the end, none."""
    names = {"contract": "Gold", "local_service": "Orders", "remote_service": "Stock"}
    steps: list[tuple[str, ...]] = [
        ("contract", "local_service", "remote_service"),
        ("contract", "local_service"),
        ("contract", "remote_service"),
        ("contract",),
        ("local_service", "remote_service"),
        ("local_service",),
        ("remote_service",),
        (),
    ]
    rules, endpoints = [], []
    for place in range(9):
        endpoints.append(endpoint(database=str(place)))
        for step, named in enumerate(steps, start=1):
            if step > place:
                criteria = {name: names[name] for name in named}
                rules.append(rule(f"step {step}", step, database=str(place), **criteria))
    assert resolved(session, endpoints, rules) == [
        *[(step, f"step {step}", step) for step in range(1, 9)],
        (5, None, None),
    ]


def test_validity_is_half_open(session: SparkSession) -> None:
    # ......[old.......)[new........)......
    #      0           10          20
    rules = [
        rule("old", 3, valid_from=at(0), valid_to=at(10)),
        rule("new", 9, valid_from=at(10), valid_to=at(20)),
    ]
    moments = [at(0) - MOMENT, at(0), at(10) - MOMENT, at(10), at(20) - MOMENT, at(20)]
    found = resolved(session, [endpoint(created_at=moment) for moment in moments], rules)
    assert [name for _, name, _ in found] == [None, "old", "old", "new", "new", None]


@pytest.mark.spark
@pytest.mark.parametrize("rules", [pytest.param(1, id="one rule"), pytest.param(10_000, id="10,000 rules")])
def test_plan_is_eight_hash_joins_whatever_the_number_of_rules(spark: SparkSession, rules: int) -> None:
    many = [rule(f"R{number}", contract=f"C{number}") for number in range(rules)]
    assert operators(with_priority(*frames(spark, [endpoint()], many))) == {"BroadcastHashJoin": 8}

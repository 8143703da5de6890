"""Rule statements for backlogs: of names that fit, of misspelt ones, and changes while the log runs."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from random import Random
from typing import Any

from .base import LONG_AGO, Row

CONTRACTS = ("Gold", "Gold", "Silver", "gold", "Order1", "Order2")
MISSPELT = {
    "Gold": ("GOLD", "Go ld", "Golds", "Bold", "Bald"),
    "Silver": ("silver", "Sliver", "Silber", "Siller "),
    "gold": ("GOLD", "golds"),
    "Order1": ("Order2", "Order11", "order1"),
    "Order2": ("Order1", "Order3"),
    "Orders": ("orders", "Order", "Ordesr", "Orrders"),
    "Stock": ("STOCK", "Stcok", "Stocks", "Stack"),
    "stock": ("Sto ck", "stocks"),
    "Billing": ("billing", "Biling", "Bulling"),
    "Depot": ("depot ", "Depots", "Teapot"),
}
"""Spellings of each name: near ones, names in use, and some that are too far off."""
NAMES = ("Low", "High", "Middle", "low", "Other")
CRITERIA = ("contract", "local_service", "remote_service")
PLACES = (("SQL1", "A"), ("SQL1", "B"), ("SQL2", "C"))


def rule_statements(
    random: Random, services: Mapping[str, Sequence[tuple[str, str]]], ticks: Sequence[datetime]
) -> list[Row]:
    """Statements that are valid in their order; now and then a database has none.

    Args:
        random: chooses.
        services: (service, queue) by database.
        ticks: moments of the log.
    """
    names = [service for database in services.values() for service, _ in database]
    statements: list[Row] = []
    for instance, database in PLACES:
        if not random.randrange(5):
            continue
        in_force: dict[str, tuple[Any, ...]] = {}
        changes = sorted(random.choice(ticks) for _ in range(random.choice((0, 2, 3, 6))))
        local = [service for service, _ in services[database]]
        for moment in [LONG_AGO] * random.choice((2, 3, 4, 6)) + changes:
            form = _statement(random, in_force, local, names)
            if form:
                where = {"effective_from": moment, "instance": instance, "database": database}
                statements.append({**where, **form})
    return statements


def _statement(
    random: Random, in_force: dict[str, tuple[Any, ...]], local: Sequence[str], remote: Sequence[str]
) -> Row | None:
    """One statement that fits the rules in force, and its effect on them; None where it would not fit."""
    name = random.choice(NAMES)
    if name in in_force and not random.randrange(3):
        del in_force[name]
        return {"drop": {"name": name}}
    form: Row = {"name": name, "level": random.choice((1, 3, 4, 5, 6, 7, 8, 9, 10))}
    verb = "alter" if name in in_force else "create"
    triple = in_force.get(name, (None, None, None))
    if verb == "create" or not random.randrange(3):
        triple = tuple(
            _criterion(random, choices, odds) for choices, odds in ((CONTRACTS, 3), (local, 2), (remote, 2))
        )
        form |= {
            criterion: "ANY" if value is None else value
            for criterion, value in zip(CRITERIA, triple, strict=True)
        }
    if triple in [other for other_name, other in in_force.items() if other_name != name]:
        return None
    in_force[name] = triple
    return {verb: form}


def _criterion(random: Random, names: Sequence[str], odds: int) -> str | None:
    """ANY, or a name; one in four is misspelt."""
    if random.randrange(5) >= odds:
        return None
    name = random.choice(names)
    return random.choice(MISSPELT[name]) if not random.randrange(4) else name

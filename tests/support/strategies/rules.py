"""Lists of rule statements that are valid when executed in their order of effect."""

from datetime import datetime

from hypothesis import strategies as st

from .base import CONTRACTS, LONG_AGO, SERVICES, Clock, Row, one_of, seldom
from .catalogs import Place

NAMES = ("Low", "low", "Low ", "High", "Middle", "ANY")
CRITERIA = {"contract": CONTRACTS, "local_service": SERVICES, "remote_service": SERVICES}
WILDCARD = "*"
"""Stands for ANY in the generator, where the name ANY is a name."""

Triple = tuple[str, ...]


@st.composite
def rule_statements(draw: st.DrawFn, clock: Clock, places: list[Place]) -> list[Row]:
    """Statements for all databases; only those of one moment and database stand in their order of effect."""
    statements = []
    for instance, database in sorted({(place.instance, place.database) for place in places}):
        for moment, forms in draw(_history(clock, places)):
            where = {"effective_from": moment, "instance": instance, "database": database}
            statements += [{**where, **form} for form in forms]
    return statements


@st.composite
def _history(draw: st.DrawFn, clock: Clock, places: list[Place]) -> list[tuple[datetime, list[Row]]]:
    """The statements of one database by moment, the moments shuffled."""
    in_force: dict[str, Triple] = {}
    moments = [LONG_AGO] * 6 + sorted(clock.any(draw) for _ in range(draw(st.integers(0, 3))))
    history: dict[datetime, list[Row]] = {}
    for moment in moments:
        form = draw(_statement(in_force, places))
        if form is not None:
            history.setdefault(moment, []).append(form)
    return draw(st.permutations(sorted(history.items(), key=lambda item: item[0])))


@st.composite
def _statement(draw: st.DrawFn, in_force: dict[str, Triple], places: list[Place]) -> Row | None:
    """One statement that fits the rules in force, and its effect on them; None where it would not fit."""
    name = one_of(draw, NAMES)
    if name in in_force and seldom(draw, 4):
        del in_force[name]
        return {"drop": {"name": name}}

    form: Row = {"name": name}
    triple = []
    for position, criterion in enumerate(CRITERIA):
        value, spelling = draw(_criterion(criterion, places))
        if spelling is None:
            value = in_force[name][position] if name in in_force else WILDCARD
        else:
            form[criterion] = spelling
        triple.append(value)
    if not seldom(draw):
        form["level"] = draw(st.integers(1, 10))
    others = [other for other_name, other in in_force.items() if other_name != name]
    if tuple(triple) in others or (name in in_force and len(form) == 1):
        return None
    verb = "alter" if name in in_force else "create"
    in_force[name] = tuple(triple)
    return {verb: form}


@st.composite
def _criterion(draw: st.DrawFn, criterion: str, places: list[Place]) -> tuple[str, object]:
    """(value, spelling), the spelling None for an omitted criterion."""
    kinds = ("name", "name", "wildcard", "omitted")
    kind = one_of(draw, kinds if criterion == "contract" else kinds[1:])
    if kind == "omitted":
        return WILDCARD, None
    if kind == "wildcard":
        return WILDCARD, "ANY"
    names = CRITERIA[criterion]
    if criterion != "contract" and not seldom(draw):
        names = tuple(place.service for place in places)
    name = one_of(draw, names)
    as_mapping = name == "ANY" or seldom(draw)
    return name, {"name": name} if as_mapping else name

"""Versions of rules in the days of January 2026, by hand and at random."""

from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import strategies as st

from pipelines.rules.history import RuleVersion

DATABASE = ("I", "D")


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


def version(
    name: str,
    contract: str | None = None,
    local: str | None = None,
    remote: str | None = None,
    *,
    level: int = 7,
    since: int = 1,
    until: int | None = None,
    place: tuple[str, str] = DATABASE,
) -> RuleVersion:
    """A version of a rule from a day on; all criteria are ANY unless given."""
    ends = None if until is None else day(until)
    return RuleVersion(*place, name, contract, local, remote, level, day(since), ends)


@st.composite
def histories(draw: st.DrawFn, names: Sequence[Sequence[str]], most: int) -> list[RuleVersion]:
    """Versions of rules that never share a triple; the names are those of contract, local and remote."""
    triples = st.tuples(*[st.none() | st.sampled_from(each) for each in names])
    versions = []
    for number, triple in enumerate(draw(st.lists(triples, max_size=most, unique=True))):
        since = draw(st.integers(1, 8))
        until = draw(st.none() | st.integers(since + 1, 9))
        level = draw(st.integers(1, 10))
        versions.append(version(f"R{number}", *triple, level=level, since=since, until=until))
    return versions

"""All that can be said of rules without a log: exact, by reasoning about sets of names."""

from collections.abc import Iterator
from datetime import datetime

from config.catalog import Catalog
from config.rules.history import Folded
from insight.findings import Finding
from insight.lint_levels import lint_levels
from insight.lint_pairs import lint_pairs
from insight.lint_redundant import lint_redundant
from insight.lint_refused import lint_refused
from insight.service_places import ServicePlaces
from insight.standing_rules import standing_rules


def lint_static(folded: Folded, catalog: Catalog, *, moment: datetime | None) -> Iterator[Finding]:
    """Yield the findings R101 to R206, in no order.

    Args:
        folded: the rules, from all sources.
        catalog: where services are, and which databases honor priorities.
        moment: the rules that stand then are looked at; None is after the last statement, even if that
            is still to come. Statements that are refused are told of whenever they take effect; their
            rules stand nowhere.
    """
    databases = standing_rules(folded.versions, moment)
    yield from lint_refused(folded.refusals)
    for place, rules in databases.items():
        yield from lint_redundant(place, rules, folded.origins)
    yield from lint_pairs(databases, ServicePlaces(catalog), folded.origins)
    yield from lint_levels(databases, catalog, folded.origins)

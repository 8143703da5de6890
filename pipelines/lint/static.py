"""All that can be said of rules without a log: exact, by reasoning about sets of names."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from pipelines.config.catalog import Catalog
from pipelines.config.rules.history import RuleHistory
from pipelines.config.rules.rule_file import HonorSetting
from pipelines.lint.findings import Finding
from pipelines.lint.levels import lint_levels
from pipelines.lint.pairs import lint_pairs
from pipelines.lint.redundant import lint_redundant
from pipelines.lint.refused import lint_refused
from pipelines.lint.service_places import ServicePlaces
from pipelines.lint.standing_rules import standing_rules


def lint_static(
    folded: RuleHistory,
    catalog: Catalog | None,
    *,
    moment: datetime | None,
    honor_settings: Sequence[HonorSetting] = (),
) -> Iterator[Finding]:
    """Yield the findings R101 to R206, in no order.

    Args:
        folded: the rules, from all sources.
        catalog: where services are, and which databases honor priorities; None if nothing is known of that.
        honor_settings: what the scripts say of the latter, in their order.
        moment: the rules that stand then are looked at; None is after the last statement, even if that
            is still to come. Statements that are refused are told of whenever they take effect; their
            rules stand nowhere.
    """
    databases = standing_rules(folded.versions, moment)
    yield from lint_refused(folded.refusals)
    for place, rules in databases.items():
        yield from lint_redundant(place, rules, folded.origins)
    yield from lint_pairs(databases, ServicePlaces(catalog or Catalog()), folded.origins)
    yield from lint_levels(databases, catalog, folded.origins, honor_settings)

"""Rules that nearly fit: by hand, and equal to a look at every rule."""

from hypothesis import given, settings, strategies as st

from pipelines.rules.history import RuleVersion
from pipelines.rules.near_rules import NearRules
from pipelines.rules.statements import CRITERIA
from tests.rules.test_ladder import NAMES
from tests.rules.test_near_names import is_near
from tests.support.rule_versions import histories, version


def test_near_rules_come_nearest_first() -> None:
    rules = [
        version("Two", "Codtract", "Lacal", "R"),
        version("Swap", "Contract", remote="Remoet"),
        version("Blank", "Con tract"),
        version("Used", "Contracts"),
        version("Letter", None, "Locals", "Remote"),
        version("Fits", "Contract"),
        version("Far", "Other"),
    ]
    in_use = {("contract", "Contracts"), ("contract", "Con tract"), ("contract", "Locals")}
    near = NearRules(rules, lambda *name: name in in_use).find(("Contract", "Local", "Remote"))
    assert [
        (each.rule.name, each.criterion, each.rule_has, each.endpoint_has, each.edits, each.is_in_use)
        for each in near
    ] == [
        ("Blank", "contract", "Con tract", "Contract", 0, True),
        ("Letter", "local_service", "Locals", "Local", 1, False),
        ("Swap", "remote_service", "Remoet", "Remote", 2, False),
    ]


@settings(max_examples=40)
@given(
    histories([NAMES] * 3, 30),
    st.tuples(*[st.sampled_from(NAMES)] * 3),
    st.sets(st.tuples(st.sampled_from(CRITERIA), st.sampled_from(NAMES))),
)
def test_look_ups_find_what_a_look_at_every_rule_finds(
    versions: list[RuleVersion], names: tuple[str, str, str], in_use: set[tuple[str, str]]
) -> None:
    near = []
    for rule in versions:
        criteria = zip(CRITERIA, rule.triple, names, strict=True)
        wrong = [
            (criterion, wanted, name) for criterion, wanted, name in criteria if wanted not in (None, name)
        ]
        for criterion, wanted, name in wrong if len(wrong) == 1 else []:
            if is_near(wanted, name, is_in_use=(criterion, wanted) in in_use):
                near.append((rule.name, criterion, wanted, name))
    found = NearRules(versions, lambda *name: name in in_use).find(names)
    assert sorted(near) == sorted(
        (each.rule.name, each.criterion, each.rule_has, each.endpoint_has) for each in found
    )

"""The static lint: what each code finds and leaves alone, and that it is exact, by brute force."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product

import pytest
from hypothesis import given, settings, strategies as st

from pipelines.config.catalog import Catalog
from pipelines.config.service_databases import ServiceDatabases
from pipelines.lint.findings import Finding, FindingCode, Severity
from pipelines.lint.pairs import pairs
from pipelines.lint.redundant import find_changed_endpoint, find_successors, remove_rule
from pipelines.lint.run import lint_static
from pipelines.rules.history import RuleVersion
from pipelines.rules.ladder import NO_RULES, Ladder, Names, ladders_at, level_of, mirror_names
from pipelines.rules.statements import RuleStatement, SourceLocation, StatementType as Verb
from tests.support.model.rules import Rule, resolve
from tests.support.rules import I_A, I_B, LONG_AGO, catalog, create, history_of

TWO = {I_A: ["Init"], I_B: ["Target"]}


def found(
    *statements: RuleStatement, of: Catalog | None = None, moment: datetime | None = None
) -> list[Finding]:
    return list(lint_static(history_of(*statements), of or catalog(TWO), moment=moment))


def codes(*statements: RuleStatement) -> list[tuple[str, str | None]]:
    return sorted((finding.code.id, finding.rule) for finding in found(*statements))


def only(code: FindingCode, *statements: RuleStatement, of: Catalog | None = None) -> list[str]:
    return [finding.sentence for finding in found(*statements, of=of) if finding.code is code]


def test_refused_statements_are_findings_with_their_place() -> None:
    first = create("A", "C * *", 3)
    statements = [first, create("B", "C * *", 3), create("C", "C * *", 4), create("A", "D * *", 4)]
    statements.append(RuleStatement(Verb.DROP, LONG_AGO, *I_A, "Z", SourceLocation("rules.sql", 99, 2)))
    refused = [finding for finding in found(*statements) if finding.severity is Severity.ERROR]
    assert [(f.code.id, f.rule, f.location) for f in refused] == [
        ("R102", "B", statements[1].location),
        ("R101", "C", statements[2].location),
        ("R103", "A", statements[3].location),
        ("R104", "Z", statements[4].location),
    ]
    assert refused[0].sentence == (
        f"CREATE 'B' in I.A: the rule 'A', see {first.location}, has the same contract 'C', "
        "local service ANY and remote service ANY (error 33303)"
    )
    assert refused[0].fix == "change or drop one of the two"


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        pytest.param("C * * 5", ["R201"], id="the default anyway"),
        pytest.param("C * * 6", [], id="another level than the default"),
        pytest.param("C S * 6, C * * 6", ["R201"], id="a wider rule says the same"),
        pytest.param("C S * 6, C * T 7, C * * 6", ["R202"], id="but not for one remote service"),
        pytest.param("C S * 6, C S T 6, C * T 7, C * * 6", ["R201"], id="which a more specific rule decides"),
        pytest.param("C S * 6, D * T 7, C * * 6", ["R201"], id="another contract is not in the way"),
    ],
)
def test_redundant_rules(rules: str, said: list[str]) -> None:
    """What is said of the first."""
    drawn = enumerate(rule.rpartition(" ") for rule in rules.split(", "))
    statements = [create(f"R{number}", criteria, int(level)) for number, (criteria, _, level) in drawn]
    assert [code for code, rule in codes(*statements) if code in ("R201", "R202") and rule == "R0"] == said


def test_a_redundant_rule_is_told_with_the_rules_that_make_it_so() -> None:
    statements = [create("R", "* S *", 6), create("Remote", "* * T", 6), create("All", "* * *", 6)]
    [sentence, _] = only(FindingCode.REDUNDANT, *statements)
    assert sentence == (
        "'R' (contract ANY, local service 'S', remote service ANY) is redundant: without it every endpoint "
        "has the same level, 6 from 'All' and 6 from 'Remote'"
    )
    assert "the same level, 5, the default" in only(FindingCode.REDUNDANT, create("R", "* * *", 5))[0]


def test_a_rule_that_only_keeps_another_one_off_is_told_with_what_it_keeps_off() -> None:
    statements = [create("R", "C * *", 5), create("Local", "* S *", 9)]
    [sentence] = only(FindingCode.SAME_LEVEL, *statements)
    assert sentence.endswith(
        "contract 'C', local service 'S', remote service any other would have 9 from 'Local'"
    )


def test_one_sided_pairs() -> None:
    initiator, local = create("R", "C Init Target", 7), create("R", "C Init *", 7)
    assert only(FindingCode.ONE_SIDED, initiator) == [
        "'R' gives level 7 to one end of its conversations, and no rule of I.B fits the other end, which "
        "gets 5, the default"
    ]
    for other in ("C Target Init", "C Target *", "C * Init", "* * *", "* Target *"):
        assert only(FindingCode.ONE_SIDED, initiator, create("S", other, 7, I_B)) == [], other
    for other in ("D Target Init", "C Target Else", "C Init Target", "* Else *"):
        assert only(FindingCode.ONE_SIDED, initiator, create("S", other, 7, I_B)), other
    # The rule is in the wrong database: the target's endpoints live in B.
    assert only(FindingCode.ONE_SIDED, initiator, create("S", "C Target Init", 7, I_A))
    # Services that the catalog does not have are nobody's other end.
    assert only(FindingCode.ONE_SIDED, create("R", "C Init Partner", 7)) == []
    [finding] = [f for f in found(create("R", "C Init Target", 5)) if f.code is FindingCode.ONE_SIDED]
    assert finding.severity is Severity.NOTE
    assert finding.fix == "none is needed while both ends are to have 5"
    # A database that does not honor priorities sends at level 5, whatever its rules say.
    off = catalog(TWO, honor=False)
    [finding] = [f for f in found(initiator, of=off) if f.code is FindingCode.ONE_SIDED]
    assert "as its HONOR_BROKER_PRIORITY is off:\nUSE [B]; CREATE" in finding.fix
    [finding] = [f for f in found(initiator) if f.code is FindingCode.ONE_SIDED]
    assert finding.fix.startswith("add a rule for the other end in I.B:\nUSE [B]; CREATE")
    # The statement is for the first database of several.
    places = catalog({I_A: ["Init"], I_B: ["Target"], ("I", "C"): ["Target"]})
    [finding] = [f for f in found(initiator, of=places) if f.code is FindingCode.ONE_SIDED]
    assert finding.fix.startswith("add a rule for the other end in I.B, if it is there:\nUSE [B]; CREATE")
    # The other end may be in the same database.
    both = catalog({I_A: ["Init", "Target"], I_B: ["Target"]})
    assert only(FindingCode.ONE_SIDED, initiator, create("S", "C Target Init", 7), of=both) == []
    assert only(FindingCode.ONE_SIDED, initiator, create("S", "C Target *", 7, I_B), of=both)
    assert only(FindingCode.ONE_SIDED, create("R", "C * *", 7), of=both) == []
    # A rule with a local service only needs some rule of the other end anywhere.
    assert "and no rule of any database fits" in only(FindingCode.ONE_SIDED, local)[0]
    assert only(FindingCode.ONE_SIDED, local, create("S", "C Target *", 7, I_B)) == []
    assert only(FindingCode.ONE_SIDED, local, create("S", "D Target *", 7, I_B)) != []


def test_asymmetric_pairs_are_told_once() -> None:
    initiator = create("R", "C Init Target", 7)
    assert only(FindingCode.ASYMMETRIC, initiator, create("S", "C Target Init", 3, I_B)) == [
        "'R' gives level 7, and the other end of its conversations has 3 from 'S' in I.B"
    ]
    assert codes(initiator, create("S", "C Target Init", 7, I_B)) == []
    others = [create(f"S{number}", f"C{number} Target Init", 3, I_B) for number in range(5)]
    assert only(FindingCode.ASYMMETRIC, create("R", "* Init Target", 7), *others)[0].endswith(
        "has 3 from 'S0' in I.B, 3 from 'S1' in I.B and 3 from 'S2' in I.B"
    )
    # The rule of level 3 is behind one of level 7: no conversation has both 7 and 3.
    hidden = create("S", "* * *", 3, I_B), create("T", "C * *", 7, I_B)
    assert only(FindingCode.ASYMMETRIC, initiator, *hidden) == []


def test_levels_that_do_not_count_for_sending() -> None:
    statements = [create("R", "C * *", 7), create("S", "D * *", 8), create("Five", "C * T", 5)]
    [sentence] = only(FindingCode.NOT_HONORED, *statements, of=catalog(TWO, honor=False))
    assert sentence == (
        "HONOR_BROKER_PRIORITY is off in I.A, so 2 rules, the first of them 'R', count for receiving and not "
        "for sending"
    )
    assert only(FindingCode.NOT_HONORED, *statements) == []
    assert only(FindingCode.NOT_HONORED, create("Five", "C * T", 5), of=catalog(TWO, honor=False)) == []


def test_more_than_three_levels() -> None:
    rules = [create(f"R{level}", f"C{level} * *", level) for level in (1, 5, 8)]
    assert only(FindingCode.MANY_LEVELS, *rules) == []
    rules.append(create("R9", "C9 * *", 9))
    assert only(FindingCode.MANY_LEVELS, *rules) == [
        "the rules of I.A use 4 levels (9, 8, 5, 1); with so many, most of the sending goes to the highest "
        "two or three"
    ]


def test_the_moment_says_which_rules_stand() -> None:
    days = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3, 4)]
    created = create("R", "C * *", 5, at=days[1])
    altered = RuleStatement(Verb.ALTER, days[3], *I_A, "R", SourceLocation("rules.sql", 9, 1), level=6)
    findings = [found(created, altered, moment=moment) for moment in (*days, None)]
    redundant = [[f.location for f in each if f.code is FindingCode.REDUNDANT] for each in findings]
    assert redundant == [[], [created.location], [created.location], [], []]


# --- brute force ---

NAMED = ("x", "y")
UNIVERSE = (*NAMED, "other", "else")
"""Two names that rules may use, and two that none does."""

triples = st.tuples(*[st.sampled_from((None, *NAMED))] * 3)
levels = st.integers(4, 6)
rule_sets = st.dictionaries(triples, levels, max_size=12)


def versions(rules: dict[Names, int], database_key: tuple[str, str] = I_A) -> list[RuleVersion]:
    return [
        RuleVersion(*database_key, "/".join(name or "*" for name in triple), *triple, level, LONG_AGO)
        for triple, level in rules.items()
    ]


def standing(rules: dict[Names, int], database_key: tuple[str, str] = I_A) -> Ladder:
    return ladders_at(versions(rules, database_key), None).get(database_key, NO_RULES)


def levels_of_all(rules: list[RuleVersion]) -> dict[tuple[str, ...], tuple[int, str | None]]:
    """Level and rule of every endpoint of the universe, by the naive model's ladder."""
    model = [Rule(**vars(rule)) for rule in rules]
    return {
        names: resolve(model, I_A, LONG_AGO, names)[:2]  # type: ignore[arg-type]
        for names in product(UNIVERSE, repeat=3)
    }


@given(rule_sets)
@settings(max_examples=40)
def test_redundant_is_exactly_what_changes_no_endpoint(rules: dict[Names, int]) -> None:
    book, all_of_them = standing(rules), versions(rules)
    before = levels_of_all(all_of_them)
    for rule in book.rules:
        after = levels_of_all([other for other in all_of_them if other != rule])
        same = all(before[names][0] == after[names][0] for names in before)
        assert (find_changed_endpoint(book, rule) is None) == same, rule
        own = tuple(name or "other" for name in rule.triple)
        assert level_of(remove_rule(book, rule).successor) == after[own][0]
        if same:
            expected = {after[names][1] for names in before if before[names][1] == rule.name}
            assert {successor and successor.name for successor in find_successors(book, rule)} == expected


@given(rule_sets, rule_sets, st.booleans())
@settings(max_examples=30)
def test_pairs_are_exactly_those_of_some_conversation(
    here: dict[Names, int], there: dict[Names, int], known: bool
) -> None:
    """Where the catalog knows the services, "x" is in A only; else any name may be anywhere."""
    places = ServiceDatabases(catalog({I_A: ["x"], I_B: []} if known else {}))
    books = {I_A: standing(here, I_A), I_B: standing(there, I_B)}
    first = {I_A: levels_of_all(versions(here)), I_B: levels_of_all(versions(there))}
    of_both: dict[str, set[tuple[str, int]]] = {}
    for names in product(UNIVERSE, repeat=3):
        _, local, remote = names
        (_, name), (other_level, other_name) = first[I_A][names], first[I_B][mirror_names(names)]  # type: ignore[index]
        talks_to_itself = local == remote and name not in {f"{c}/{local}/{local}" for c in ("*", *NAMED)}
        if name and other_name and not talks_to_itself and not (known and remote == "x"):
            of_both.setdefault(name, set()).add((other_name, other_level))
    for rule in books[I_A].rules:
        deciding = of_both.get(rule.name, set())
        some = any(True for _ in pairs(I_A, books[I_A], rule, [books[I_B]], places))
        assert some == bool(deciding)
        unequal = {
            (other.name, other.level)
            for other in pairs(I_A, books[I_A], rule, [books[I_B]], places, databases=books)
        }
        assert unequal == {pair for pair in deciding if pair[1] != rule.level}


# --- size ---


def one_behind_another(count: int) -> Iterator[tuple[str, int]]:
    """Rules of all contracts and of all services of one level; those of pairs of another, all hidden."""
    yield "* * *", 7
    for number in range(count // 3):
        yield f"C{number} * *", 7
        yield f"C{number} L *", 3
        yield f"* L R{number}", 4


def test_a_thousand_rules_in_a_database_take_a_second() -> None:
    rules = enumerate(one_behind_another(1_500))
    history = history_of(*(create(f"R{number}", criteria, level) for number, (criteria, level) in rules))
    services = catalog({I_A: [f"R{number}" for number in range(100)], I_B: ["L"]})
    began = time.process_time()
    assert list(lint_static(history, services, moment=None))
    assert time.process_time() - began < 5

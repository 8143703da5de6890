"""The lint against the catalog and the kinds of endpoints of a log: what each code finds and leaves alone."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from pipelines.config.catalog import Catalog
from pipelines.config.service_databases import ServiceDatabases
from pipelines.lint.findings import Finding, Severity
from pipelines.lint.log import lint_log
from pipelines.lint.log_endpoints import EndpointCount, LogEndpoints
from pipelines.lint.names import lint_names
from pipelines.lint.queued import QueuedEndpoints, last_changes, lint_queued
from pipelines.rules.history import RuleVersion
from pipelines.rules.ladder import ladders_at
from pipelines.rules.statements import (
    RuleDefaults,
    RuleStatement,
    SourceLocation,
    StatementType as Verb,
)
from pipelines.settings.rule_sources import read_rules
from tests.support.model.rules import Rule, fits, resolve
from tests.support.rules import I_A, I_B, LONG_AGO, catalog, create, history_of

PLACES = catalog({I_A: ["Init", "Orders"], I_B: ["Target"]})


def kind(names: str, endpoints: int = 10, database_key: tuple[str, str] = I_A) -> EndpointCount:
    contract, local, remote = names.split(" ")
    return EndpointCount(*database_key, contract, local, remote, endpoints)


LOG = [kind("C Init Target", 30), kind("D Init Target", 20), kind("C Target Init", 30, I_B)]


def names(
    *rules: RuleStatement, log: list[EndpointCount] | None = LOG, of: Catalog = PLACES
) -> list[Finding]:
    history = history_of(*rules)
    kinds = None if log is None else LogEndpoints(tuple(log))
    databases = ladders_at(history.versions, None)
    return list(lint_names(databases, ServiceDatabases(of), kinds, history.locations))


def codes(*rules: RuleStatement, log: list[EndpointCount] | None = LOG) -> list[str]:
    return sorted(finding.code.id for finding in names(*rules, log=log))


@pytest.mark.parametrize(
    ("criteria", "with_log", "without"),
    [
        pytest.param("C Init Target", [], [], id="fits"),
        pytest.param("* * *", [], [], id="fits everything"),
        pytest.param("C Intit Target", ["R301"], ["R301"], id="a local service like a known one"),
        pytest.param("C Nobody Target", ["R301"], ["R301"], id="a local service like none"),
        pytest.param("C Init Partner", ["R301"], [], id="a partner may have it, but for the log"),
        pytest.param("C Init Taregt", ["R301"], ["R301"], id="a remote service like a known one"),
        pytest.param("E Init Target", ["R301"], [], id="only a log knows contracts"),
        pytest.param("DEFAULT Init Target", ["R304"], [], id="the contract that is always there"),
        pytest.param("C init Target", ["R302"], ["R302"], id="case"),
        pytest.param("C Init_ Target", ["R302"], ["R302"], id="a blank at the end"),
        pytest.param("c init Target", ["R302", "R302"], ["R302"], id="two of them"),
        pytest.param("C Target Init", ["R303"], ["R303"], id="swapped"),
        pytest.param("C * Init", ["R303"], [], id="swapped, by the log only"),
        pytest.param("C Orders Target", ["R304"], [], id="never matched"),
        pytest.param("C Orders Tarset", ["R301"], ["R301"], id="the cause stands for never matched"),
    ],
)
def test_rules_that_fit_no_endpoint(criteria: str, with_log: list[str], without: list[str]) -> None:
    rule = create("R", criteria, 7)
    assert codes(rule) == with_log
    assert codes(rule, log=None) == without


def test_an_unknown_name_is_probably_a_near_one() -> None:
    log = [kind("C InitiatorService Target"), kind("C InitiatorServer Target")]
    rule = create("R", "C InitiatorSerivce Target", 7)
    [finding] = names(rule, log=log, of=Catalog())
    asks, near = "'R' asks for the local service 'InitiatorSerivce'", "it is probably 'InitiatorService'"
    assert finding.sentence == f"{asks}, which neither the catalog nor any endpoint of I.A has; {near}"
    assert (finding.fix, finding.location) == ("write 'InitiatorService'", rule.location)
    [finding] = names(rule, log=None, of=catalog({I_A: ["InitiatorService"], I_B: ["Target"]}))
    assert finding.sentence == f"{asks}, which the catalog does not have in I.A; {near}"
    [finding] = names(create("R", "C Services Target", 7), log=log, of=Catalog())
    assert (finding.code.id, finding.fix) == ("R301", "correct the name, or drop the rule")


def test_where_a_service_lives_is_told_with_what_to_do() -> None:
    [finding] = names(create("R", "DEFAULT Target *", 7))
    assert finding.sentence.endswith("which neither the catalog nor any endpoint of I.A has, but I.B")
    [finding] = names(create("R", "C Target *", 7))
    turned = "'R' fits no endpoint of I.A, and would with its services the other way round:"
    assert finding.sentence == f"{turned} 'Target' does not live there"
    swap = "swap them: contract 'C', local service"
    assert finding.fix == f"{swap} ANY, remote service 'Target'; or move the rule to I.B"
    [finding] = names(create("R", "C * Init", 7))
    assert finding.sentence == f"{turned} 'Init' lives there"
    assert finding.fix == f"{swap} 'Init', remote service ANY"


def test_names_that_look_alike_are_shown_by_their_code_points() -> None:
    log = [kind("C \u00d3rders Target")]
    [finding] = names(create("R", "C O\u0301rders Target", 7), log=log, of=Catalog())
    assert finding.sentence == (
        r"'R' asks for the local service 'O\u0301rders', and there is only '\xd3rders': names are compared "
        "byte by byte, and these differ in Unicode form"
    )
    # A name that exists in both spellings is no mistake, and of an unknown database the catalog says nothing.
    assert codes(create("R", "C init Target", 7), log=[*LOG, kind("C init Target")]) == []
    assert codes(create("R", "C Nobody Target", 7, ("I", "Z")), log=None) == []


@pytest.mark.parametrize(
    ("known", "spelling", "how"),
    [("OrderService", "order_service", "case and blanks"), ("Straße", "STRASSE", "case")],
)
def test_a_spelling_is_told_with_how_it_differs(known: str, spelling: str, how: str) -> None:
    [finding] = names(create("R", f"C {spelling} Target", 7), log=[kind(f"C {known} Target")], of=Catalog())
    assert finding.sentence.endswith(f"these differ in {how}")


# --- R305, R306 ---


def against(*rules: RuleStatement, log: list[EndpointCount] = LOG, **more: Any) -> list[Finding]:
    history, endpoints = history_of(*rules), LogEndpoints(tuple(log))
    return list(lint_log(ladders_at(history.versions, None), endpoints, history.locations, **more))


def test_a_rule_behind_more_specific_ones() -> None:
    rules = [create("All", "* * *", 4), create("C", "C * *", 7), create("D", "D * *", 4)]
    [finding] = against(*rules, log=LOG[:2])
    assert (finding.code.id, finding.rule, finding.severity) == ("R305", "All", Severity.WARNING)
    assert finding.sentence == (
        "'All' (level 4) decides no endpoint of the log: more specific rules are ahead of it on all that fit "
        "it, which have 7 from 'C' and 4 from 'D'"
    )
    # One that it decides is enough to leave it alone, and so is none that fits it (R304 is for that).
    assert against(*rules, log=[*LOG[:2], kind("E Init Target")]) == []
    assert against(*rules[1:], create("E", "E * *", 3), log=LOG[:2]) == []
    # Behind others of its own level it is a note.
    [finding] = against(rules[0], create("C", "C * *", 4), log=LOG[:1])
    assert finding.severity is Severity.NOTE


def test_endpoints_at_the_default_with_the_rules_for_the_largest_kinds() -> None:
    log = [kind(f"C{number} Init Target", number) for number in range(1, 6)] + [kind("C Init Target", 85)]
    log += [kind("C5 Target Init", 3, I_B)]
    [finding] = against(create("C", "C * *", 7), create("Other", "C5 * *", 8, I_B), log=log)
    assert finding.database_key == I_A
    services = "local service 'Init', remote service 'Target'"
    assert finding.sentence == (
        "15 of 100 endpoints of I.A fit no rule and would get 5 today, the default; most are 5 with contract "
        f"'C5', {services}; 4 with contract 'C4', {services}; 3 with contract 'C3', {services}"
    )
    assert finding.fix.startswith(
        "if they are to have another level than 5, add rules for them; by their names, their other ends have "
        "this level:\nUSE [A]; CREATE BROKER PRIORITY [C5 Init Target]\n"
    )
    # The other end of C5 has 8 from a rule; the others have none.
    found = re.findall(r"CONTRACT_NAME = \[(\w+)\]|PRIORITY_LEVEL = (\d+)", finding.fix)
    assert found == [("C5", ""), ("", "8")]
    # A server with the same names elsewhere is no other end, where the own one has it.
    far = create("Far", "C5 * *", 9, ("I2", "B"))
    with_far = [*log, kind("C5 Target Init", 30, ("I2", "B"))]
    nearest = against(create("C", "C * *", 7), create("Other", "C5 * *", 8, I_B), far, log=with_far)
    assert next(found for found in nearest if found.database_key == I_A).fix == finding.fix
    # Nor where the catalog has the service in a database of which no endpoint is known.
    places = ServiceDatabases(catalog({I_A: ["Init"], ("I", "C"): ["Target"]}))
    elsewhere = against(create("C", "C * *", 7), far, log=with_far, service_databases=places)
    assert "CREATE" not in next(found for found in elsewhere if found.database_key == I_A).fix
    [finding] = against(create("C", "C * *", 7), log=log[:6], honors={I_A: False})
    assert finding.fix.endswith("it does not count, as its HONOR_BROKER_PRIORITY is off")


def test_the_rule_that_is_offered_covers_what_it_is_offered_for(tmp_path: Path) -> None:
    """The T-SQL of the fix, read as a rule script and linted with the same log."""
    odd = EndpointCount(*I_A, "it's", "[x]]", " ANY", 3)
    other, its_rule = EndpointCount(*I_B, "it's", " ANY", "[x]]", 3), create("B", "* * *", 6, I_B)
    [finding] = against(its_rule, log=[odd, other])
    script = tmp_path / "rules.sql"
    script.write_text(finding.fix.partition("\n")[2], encoding="utf-8")
    read = read_rules(str(script), RuleDefaults(instance="I", effective_from=day(1)))
    assert against(*read.statements, log=[odd]) == []
    [rule] = history_of(*read.statements).versions
    assert (rule.database, *rule.triple) == ("A", *odd.names)


def test_names_of_offered_rules_differ_where_their_criteria_do() -> None:
    """A name is cut to the 128 characters of a sysname, of which one outside the basic plane has two."""
    long = ["\U0001f427" * 40 + "n" * 60 + end for end in ("", "n", "nn")]
    log = [EndpointCount(*I_A, contract, "Init", "Target", 3) for contract in long]
    log += [EndpointCount(*I_B, contract, "Target", "Init", 3) for contract in long]
    of_b = create("B", "* * *", 6, I_B)
    [finding] = against(of_b, log=log)
    found = re.findall(r"PRIORITY \[(.+)\]", finding.fix)
    assert len(set(found)) == len(long)
    assert {len(name.encode("utf-16-le")) // 2 for name in found} == {128}


NAMED = ("x", "y", "z")
triples = st.tuples(*[st.sampled_from((None, "x", "y"))] * 3)


@settings(max_examples=25)
@given(
    st.dictionaries(triples, st.integers(4, 6), max_size=8), st.sets(st.tuples(*[st.sampled_from(NAMED)] * 3))
)
def test_covered_and_never_matched_are_what_the_model_says(
    rules: dict[tuple[str | None, ...], int], kinds: set[tuple[str, str, str]]
) -> None:
    statements = [
        create(str(number), " ".join(name or "*" for name in triple), level)
        for number, (triple, level) in enumerate(rules.items())
    ]
    model = [Rule(**vars(version)) for version in history_of(*statements).versions]
    deciding = {resolve(model, I_A, LONG_AGO, each)[1] for each in kinds}
    fitting = {rule.name for rule in model if any(fits(rule, each) for each in kinds)}
    log = [kind(" ".join(each)) for each in kinds]
    found = {(finding.code.id, finding.rule) for finding in against(*statements, log=log)}
    assert {rule for code, rule in found if code == "R305"} == fitting - deciding
    assert any(code == "R306" for code, _ in found) == (None in deciding)
    unmatched = {finding.rule for finding in names(*statements, log=log)}
    assert unmatched == {rule.name for rule in model} - fitting


# --- R307 ---


def day(number: int) -> datetime:
    return datetime(2026, 2, number, tzinfo=UTC)


def queued(contract: str, priority: int, endpoints: int, oldest: datetime) -> QueuedEndpoints:
    return QueuedEndpoints(*I_A, contract, "Init", "Target", priority, endpoints, 10 * endpoints, oldest)


def test_queued_conversations_older_than_the_last_change() -> None:
    created = create("R", "C * *", 7, at=day(1))
    altered = RuleStatement(Verb.ALTER, day(3), *I_A, "R", SourceLocation("rules.sql", 77, 1), level=8)
    history = history_of(created, altered)
    kinds = [queued("C", 7, 2, day(2)), queued("D", 5, 1, day(1))]
    [finding] = lint_queued(history.versions, kinds, history.locations, moment=day(9))
    assert finding.sentence == (
        "3 endpoints of I.A with queued messages are older than the last change of its rules ('R', "
        "2026-02-03T00:00:00Z), the oldest of 2026-02-01T00:00:00Z; 2 would have another level today"
    )
    assert (finding.rule, finding.location) == ("R", altered.location)
    assert finding.fix == (
        "existing conversations keep their level until they end; let readers drain them first; only then end "
        "them and start new ones; ending them now deletes 20 unread messages"
    )
    [finding] = lint_queued(history.versions, [replace(kinds[0], unread=0)], history.locations, moment=day(9))
    assert "let their messages be sent and read first" in finding.fix
    assert "deletes" not in finding.fix
    one = queued("C", 7, 1, day(2).replace(microsecond=7))
    [finding] = lint_queued(history.versions, [one], history.locations, moment=day(9))
    assert finding.sentence.startswith("1 endpoint of I.A with queued messages is older than ")
    assert "the oldest of 2026-02-02T00:00:00Z; " in finding.sentence
    assert list(lint_queued(history.versions, [], history.locations, moment=day(9))) == []
    seen = [version.key for version in history.versions]
    [finding] = lint_queued(history.versions, kinds, history.locations, moment=day(9), first_seen=seen)
    assert "older than what a snapshot shows of its rules ('R', first seen at 2026-02-03" in finding.sentence


def test_the_last_change_is_a_begin_or_an_end_at_the_moment_at_the_latest() -> None:
    #        1    3    5    7
    # A      [---------)
    # B           [---------)
    def version(name: str, begin: int, end: int) -> RuleVersion:
        return RuleVersion(*I_A, name, name, None, None, 5, day(begin), day(end))

    a, b = version("A", 1, 5), version("B", 3, 7)
    for number, (changed, rule) in enumerate(
        [(1, a), (1, a), (3, b), (3, b), (5, a), (5, a), (7, b)], start=1
    ):
        assert last_changes([a, b], day(number)) == {I_A: (day(changed), rule)}
    assert last_changes([b], day(2)) == {}

"""Causes that lie in the rules."""

from pyspark.sql import DataFrame, functions as F

from pipelines.config.queue_filter import queue_text
from pipelines.console.wording import format_code, format_count, format_list
from pipelines.lint.pairs import honor_note
from pipelines.lint.queued import drain_first
from pipelines.rules.statements import CRITERIA, DEFAULT_LEVEL, STEPS
from pipelines.rules.tsql_script import alter_criterion, alter_level, quote_name
from pipelines.why.causes.cause import (
    HOLDER,
    KEEP_LEVEL,
    MISCONFIGURED,
    OF_ENDPOINT,
    Cause,
    Explained,
    Occurrence,
    format_database_of,
    format_statement,
    format_time,
    same,
)
from pipelines.why.places import Row
from pipelines.why.rules import KIND

NEW_LEVEL = 9
"""The level in a proposed statement where no other endpoint shows one: an example."""
OF_CHANGE = {
    **OF_ENDPOINT,
    "rule": "today_rule",
    "level": "today",
    "was_rule": "endpoint_rule_name",
    "was_level": "endpoint_priority",
    "since": "changed_since",
}
OF_TODAY = {"_rule": "today_rule", "_step": "today_step", "_today": "today"}
"""What the rules at T give an endpoint that has no rule, where words depend on it."""


class RuleNewerThanEndpoint(Cause):
    """The rule that would give a higher level began after the endpoint was created.

    To do: let readers drain the conversations first, then end them and start new ones. END CONVERSATION
    deletes the unread messages in its queue.
    """

    code = "rule_newer_than_endpoint"
    severity = MISCONFIGURED
    condition = "today > endpoint_priority and is_newer"
    columns = OF_CHANGE

    def sentence(self, at: Occurrence) -> str:
        rule = at.first
        began = _began(at, rule, "began", "was first seen")
        return (
            f"{_hold(at)}: rule {rule['rule']!r} would give {rule['level']}, but it {began}, after "
            f"{_conversations(at)}{at.more()}"
        )

    def action(self, at: Occurrence) -> str:
        return _drain_first(at)


class RuleChangedSince(Cause):
    """The rule was another one when the endpoint was created, or a rule of an earlier step has gone.

    To do: that of rule_newer_than_endpoint.
    """

    code = "rule_changed_since"
    severity = MISCONFIGURED
    condition = "today > endpoint_priority and not is_newer"
    columns = OF_CHANGE

    def sentence(self, at: Occurrence) -> str:
        rule = at.first
        what = f"rule {rule['rule']!r}" if rule["rule"] else "the default"
        change = f"other rules held when {_conversations(at)} began"
        if rule["since"]:
            change = f"the rules {_began(at, rule, 'changed', 'were first seen so')}"
        return f"{_hold(at)}: today {what} gives {rule['level']}; {change}{at.more()}"

    def action(self, at: Occurrence) -> str:
        return _drain_first(at)


class NearMiss(Cause):
    """A rule with a higher level misses by one criterion, whose name is [near](semantics.md#near-names).

    To do: correct the name. If other endpoints have the rule's spelling, the rule is theirs: add one for the
    names that are meant.
    """

    code = "near_miss"
    severity = MISCONFIGURED
    condition = "near_level > endpoint_priority"
    columns = {
        **OF_ENDPOINT,
        "rule": "near_rule",
        "level": "near_level",
        **same("criterion", "rule_has", "endpoint_has"),
        "_are_both_in_use": "are_both_in_use",
    }

    def rows_of_details(self, found: Explained, rows: DataFrame) -> DataFrame:
        near = rows.join(F.broadcast(found.near), list(KIND))
        return near.where(F.col("near_level") > F.col("endpoint_priority"))

    def sentence(self, at: Occurrence) -> str:
        rule = at.first
        return (
            f"{at.count_first()} would have level {rule['level']} by rule {rule['rule']!r}, but the rule's "
            f"{rule['criterion'].replace('_', ' ')} is {rule['rule_has']!r}, and the endpoint's is "
            f"{rule['endpoint_has']!r}{at.more()}"
        )

    def action(self, at: Occurrence) -> str:
        rule = at.first
        if rule["_are_both_in_use"]:
            return (
                f"both spellings are in use: leave the rule as it is, as {rule['rule_has']!r} needs it; see "
                f"whether both names are meant, and if so add a rule for {rule['endpoint_has']!r}; "
                f"{KEEP_LEVEL}{_honor_of_sent(at)}"
            )
        where = at.teller.place_of_rule(*[rule[name] for name in ("instance", "database", "rule")])
        alter = alter_criterion(rule["rule"], rule["criterion"], rule["endpoint_has"])
        return (
            f"correct the name{f' in {where}' if where else ''}; {KEEP_LEVEL}{_honor_of_sent(at)}: "
            f"USE {quote_name(rule['database'])}; {alter}"
        )


class OtherSideOnly(Cause):
    """The endpoint has no rule, and the other end of the conversation has one with a higher level.

    To do: add the rule that the action prints.
    """

    code = "other_side_only"
    severity = MISCONFIGURED
    condition = "is_bare and today is not null and other_level is not null"
    columns = {
        **same(*HOLDER, "other_instance", "other_database", "other_rule", "other_level"),
        **OF_ENDPOINT,
        **OF_TODAY,
    }

    def sentence(self, at: Occurrence) -> str:
        ends = at.first
        other = queue_text([ends["other_instance"], ends["other_database"]])
        return (
            f"{at.count_first('have')} level {DEFAULT_LEVEL} as no rule of {format_database_of(ends)} "
            f"{_fits(ends)} {at.word('their')} endpoint{_when(ends)}; the other endpoint, in {other}, has "
            f"{ends['other_level']} by {ends['other_rule']!r}{at.more()}"
        )

    def action(self, at: Occurrence) -> str:
        ends = at.first
        if ends["_today"] >= ends["other_level"]:
            return (
                f"no rule is missing: {ends['_rule']!r} gives conversations that begin now {ends['_today']}; "
                f"{KEEP_LEVEL}{_honor(at)}"
            )
        return _cover(at, ends["other_level"], "for this side")


class MoreSpecificRule(Cause):
    """A rule of an earlier step wins, and one of a later step of the [ladder](rules.md#the-ladder) is higher.

    To do: raise the rule that wins, if these messages are to go first.
    """

    code = "more_specific_rule"
    severity = MISCONFIGURED
    condition = "lost_level > endpoint_priority"
    columns = {
        **OF_ENDPOINT,
        "winning_rule": "today_rule",
        "winning_step": "today_step",
        "winning_level": "today",
        "rule": "lost_rule",
        "step": "lost_step",
        "level": "lost_level",
    }

    def sentence(self, at: Occurrence) -> str:
        rules = at.first
        return (
            f"for {at.count_first()} rule {rules['winning_rule']!r} ({rules['winning_level']}, step "
            f"{rules['winning_step']}) goes before rule {rules['rule']!r} ({rules['level']}, step "
            f"{rules['step']}){at.more()}"
        )

    def action(self, at: Occurrence) -> str:
        rule = at.first
        alter = alter_level(rule["winning_rule"], rule["level"])
        return (
            f"if {at.word('they are')} to go first, raise {rule['winning_rule']!r}; "
            f"{KEEP_LEVEL}{_honor_of_sent(at)}: USE {quote_name(rule['database'])}; {alter}"
        )


_OTHERS = (RuleNewerThanEndpoint, RuleChangedSince, NearMiss, OtherSideOnly, MoreSpecificRule)


class NoRule(Cause):
    """No rule fits, no cause above holds, and other messages of the place have a rule with a higher level.

    To do: add the rule that the action prints, with a level that you choose, if these are to go first.
    """

    code = "no_rule"
    severity = MISCONFIGURED
    condition = "is_bare and today is not null and has_raised and not ({})".format(
        " or ".join(f"coalesce({each.condition}, false)" for each in _OTHERS)
    )
    columns = {**same(*HOLDER), **OF_ENDPOINT, **OF_TODAY}

    def sentence(self, at: Occurrence) -> str:
        return (
            f"{at.count_first('have')} level {DEFAULT_LEVEL} as no rule of {format_database_of(at.first)} "
            f"{_fits(at.first)}{_when(at.first)}, while others beside {at.word('them')} have a higher level "
            f"by a rule{at.more()}"
        )

    def action(self, at: Occurrence) -> str:
        purpose = f"if {at.word('they are')} to go first (level {NEW_LEVEL} is an example)"
        return _cover(at, NEW_LEVEL, purpose)


def _fits(row: Row) -> str:
    """The tense of an endpoint without a rule: one that began later may fit it today."""
    return "fits" if row["_rule"] is None else "fitted"


def _when(row: Row) -> str:
    return "" if row["_rule"] is None else " when it was created"


def _cover(at: Occurrence, level: int, purpose: str) -> str:
    """Advise a level for the endpoints of the first row: by a new rule, or by one that asks for the same."""
    row = at.first
    names = [row[name] for name in CRITERIA]
    do, statement = f"add a rule {purpose}", format_statement(row, level)
    if row["_step"] is not None and STEPS[row["_step"] - 1] == tuple(map(bool, names)):
        do = f"raise {row['_rule']!r} {purpose}"
        statement = f"USE {quote_name(row['database'])}; {alter_level(row['_rule'], level)}"
    unknown = [format_code(name) for name in CRITERIA if not row[name]]
    takes_any = f"; it takes any {format_list(unknown)}, as that is not known" if unknown else ""
    return f"{do}{takes_any}; {KEEP_LEVEL}{_honor(at)}: {statement}"


def _honor_of_sent(at: Occurrence) -> str:
    """What a level does not do for messages to be sent by a database that does not honor priorities."""
    return _honor(at) if at.is_sent else ""


def _honor(at: Occurrence) -> str:
    """What a rule does not do in a database that does not honor priorities."""
    return honor_note(at.teller.honors(at.first["instance"], at.first["database"]))


def _drain_first(at: Occurrence) -> str:
    unread = {"receive": at.messages, "transmission": 0}.get(at.kind or "")
    return f"{drain_first(unread)}{_honor_of_sent(at)}"


def _hold(at: Occurrence) -> str:
    hold = at.count_first("have")
    if at.count_first() == at.count():
        hold = f"{at.count()} of {format_count(at.conversations, 'conversation')} {at.word('have')}"
    return f"{hold} level {at.first['was_level']}"


def _conversations(at: Occurrence) -> str:
    return "this conversation" if at.conversations == 1 else "these conversations"


def _began(at: Occurrence, rule: Row, began: str, seen: str) -> str:
    verb = seen if (rule["instance"], rule["database"]) in at.teller.seen_in_snapshots else began
    return f"{verb} at {format_time(rule['since'])}"

"""An endpoint on a terminal: its level, what gave it, and the steps of the ladder."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from pipelines.blocks.tables import KIND_COLUMNS, Table, column
from pipelines.config.instants import format_instant
from pipelines.console.invocation import command_line
from pipelines.console.tables import print_answer
from pipelines.console.terminal import Terminal
from pipelines.console.wording import format_code, format_database, format_list
from pipelines.explain.endpoint import LISTED_STEPS, SERVER, Endpoint, Outcome, Step
from pipelines.rules.statements import CRITERIA, DEFAULT_LEVEL

CREATED = {"lifetime": " as its lifetime says", "snapshot": " or before"}
"""The words behind the moment of a creation that is not logged."""
STATES = {
    "CD": "CLOSED (CD): both sides have ended, and the server still keeps it",
    "DI": "DISCONNECTED_INBOUND (DI): the far side has ended, and this one has not",
    "DO": "DISCONNECTED_OUTBOUND (DO): this side has ended, and the far one has not acknowledged it",
    "ER": "ERROR (ER): an error has come to it, and it can neither send nor receive more messages",
}
NOT_KNOWN = "not known"
STEPS = Table(
    "steps",
    "",
    [
        column("Step", "level", "step"),
        *KIND_COLUMNS,
        column("Found", "lines", "found"),
        column("Near misses and other times", "lines", "misses"),
    ],
)
"""The steps of the ladder, with what a rule at each asks for."""


def print_endpoint(console: Terminal, endpoint: Endpoint) -> None:
    """Print where an endpoint is, its level and what gave it, and the steps that have a rule, or nearly."""
    side = "Initiator endpoint" if endpoint.is_initiator else "Target endpoint"
    if endpoint.side_known is False:
        side = "Endpoint, of which it is not known whether it is the initiator's or the target's,"
    created = f"{format_instant(endpoint.created_at)}{CREATED.get(endpoint.created_by or '', '')}"
    inferred = ", inferred from its first arrival" if endpoint.inferred else ""
    by_server = endpoint.level_source == SERVER
    console.print()
    console.write_line(
        f"{side} in {format_database((endpoint.instance, endpoint.database))}, created "
        f"{created}{inferred}, {_format_end(endpoint)}: {_format_given(endpoint)}"
    )
    if endpoint.state is not None and endpoint.state_seen_at is not None:
        console.write_line(
            f"The snapshot of {format_instant(endpoint.state_seen_at)} shows it {STATES[endpoint.state]}."
        )
    names = (endpoint.contract, endpoint.local_service, endpoint.remote_service)
    contract, local, remote = (name or NOT_KNOWN for name in names)
    console.write_line(f"contract {contract}, local service {local}, remote service {remote}")
    if endpoint.logged_priority not in (None, endpoint.given.level):
        console.write_line(f"The live engine reported level {endpoint.logged_priority}.")
    if not endpoint.rules_known:
        console.write_line(_say_unknown_rules(endpoint))
        if not endpoint.steps:
            return
    if by_server:
        console.write_line(
            "Its creation is not logged, a snapshot shows its level. The steps are those of the rules that "
            "stand at as_of."
        )
    present = endpoint.by_present_rules
    if present is not None and present != endpoint.given:
        console.write_line(
            f"The rules as they are now would give it {_format_outcome(present)}: they "
            "were "
            f"edited for that moment after it was decided; {_restate(endpoint)} restates it."
        )
    _print_steps(console, endpoint)
    for later in endpoint.later:
        seen = " (a snapshot first shows these rules then; they may be older)" if later.first_seen else ""
        console.write_line(
            f"Created from {format_instant(later.since)} on it would get "
            f"{_format_outcome(later.outcome)}{seen}."
        )


def _print_steps(console: Terminal, endpoint: Endpoint) -> None:
    """Print the steps of the ladder that have a rule, or nearly, and name the others in one line each."""
    rows: list[dict[str, Any]] = []
    bare: list[str] = []
    unknown: list[str] = []
    for step in endpoint.steps:
        misses, candidates = tuple(_format_misses(step)), tuple(_format_candidates(step))
        if step.rule is None and not misses and not candidates:
            is_listed = endpoint.rules_known or step.step <= LISTED_STEPS
            (bare if is_listed else unknown).append(str(step.step))
            continue
        asked = {name: getattr(step, name) for name in CRITERIA}
        rows.append(
            {
                "step": step.step,
                **{name: "ANY" if value is None else value or NOT_KNOWN for name, value in asked.items()},
                "found": (*candidates, *_format_hit(step, endpoint)),
                "misses": misses or None,
            }
        )
    if rows:
        print_answer(console, STEPS, rows)
    for numbers, said in ((bare, "No rule at {}."), (unknown, "Whether there is a rule at {} is not known.")):
        if numbers:
            every = len(numbers) == len(endpoint.steps)
            where = f"step{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"
            console.write_line(said.format("any of the eight steps" if every else where))


def _say_unknown_rules(endpoint: Endpoint) -> str:
    place = format_database((endpoint.instance, endpoint.database))
    if endpoint.steps:
        return (
            f"Not all rules of {place} are known: the listing that shows them leaves out those with ANY for "
            "the contract or the local service."
        )
    return (
        f"The rules of {place} are not known: no snapshot has its conversation_priorities, and no rule "
        f"source is for {endpoint.instance}."
    )


def _format_given(endpoint: Endpoint) -> str:
    """The level of an endpoint, and what gave it as far as that is known."""
    by_server = endpoint.level_source == SERVER
    own = ", the server's own" if by_server else ""
    level = f"level {endpoint.given.level}{own}"
    if endpoint.is_undecided:
        unknown = {name for step in endpoint.steps for each in step.candidates for name in each.asks_for}
        names = format_list([f"the {format_code(name)}" for name in CRITERIA if name in unknown])
        return f"{level}; which rule fits{' today' if by_server else ''} depends on {names}, not known"
    if endpoint.by_present_rules is None:
        return level
    return _format_server_outcome(endpoint) if by_server else _format_outcome(endpoint.given)


def _restate(endpoint: Endpoint) -> str:
    """The command that decides the endpoint again; --apply writes it."""
    since = endpoint.created_at
    until = since + timedelta(microseconds=1)
    times = ["--from", format_instant(since), "--to", format_instant(until)]
    return command_line("reassign", *times, "--apply")


def _format_end(endpoint: Endpoint) -> str:
    if endpoint.ended_at is None:
        return "not known to have ended"
    if endpoint.ended_by == "snapshot":
        # An untimed fact of a snapshot happened a microsecond before it.
        by = endpoint.ended_at + timedelta(microseconds=1)
        return f"ended by {format_instant(by)}, as a snapshot shows"
    return f"ended {format_instant(endpoint.ended_at)}"


def _format_candidates(step: Step) -> Iterable[str]:
    for each in step.candidates:
        names = [f"the {format_code(criterion)} is {name}" for criterion, name in each.asks_for.items()]
        yield f"{each.rule_name}, level {each.level}: fits if {format_list(names)}; not known"


def _format_hit(step: Step, endpoint: Endpoint) -> Iterable[str]:
    if step.rule is None:
        if not step.candidates:
            is_listed = endpoint.rules_known or step.step <= LISTED_STEPS
            yield "no rule" if is_listed else NOT_KNOWN
        return
    used = "not looked for any more"
    if endpoint.is_undecided:
        used = "fits, if none above does"
    elif step.decides:
        used = "would decide today" if endpoint.level_source == SERVER else "decides"
    yield f"{step.rule.rule_name}, level {step.rule.level}: {used}"


def _format_misses(step: Step) -> Iterable[str]:
    for miss in step.near_misses:
        asked = f"{format_code(miss.criterion)} {miss.asks_for}"
        yield f"{miss.rule_name} (level {miss.level}) asks for the {asked}"
    if step.more_near_misses:
        yield f"... and {step.more_near_misses} more with a near name"
    for time in step.at_other_times:
        end = ", not seen any more at " if time.first_seen else " up to "
        until = "" if time.valid_to is None else f"{end}{format_instant(time.valid_to)}"
        since = "is first seen at" if time.first_seen else "is valid from"
        yield f"{time.rule_name} (level {time.level}) {since} {format_instant(time.valid_from)}{until}"


def _format_outcome(outcome: Outcome) -> str:
    if outcome.rule_name is None:
        return f"level {outcome.level}, the default, as no rule matches"
    return f"level {outcome.level} by {outcome.rule_name} at step {outcome.ladder_step}"


def _format_server_outcome(endpoint: Endpoint) -> str:
    """A level of the server's, with the rule that gave it, or those that may have."""
    given = endpoint.given
    level = f"level {given.level}, the server's own"
    if given.rule_name is not None:
        around = "as the rules before and after its creation show"
        return f"{level}, by {given.rule_name} at step {given.ladder_step}, {around}"
    if endpoint.candidates:
        names = [f"{each.level}: {each.rule_name}" for each in endpoint.candidates]
        then = "it was" if len(names) == 1 else "they were"
        return f"{level}; which rule gave it is not known ({format_list(names)}, if {then} there then)"
    if endpoint.is_given_known:
        return f"{level}, and the default, as no rule matched before and after its creation"
    if given.level == DEFAULT_LEVEL and not any(step.decides for step in endpoint.steps):
        return f"{level}, and the default today, as no rule matches"
    return f"{level}; no rule gives the endpoint this level today"

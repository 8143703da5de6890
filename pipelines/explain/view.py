"""Explanations as text on a terminal."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from pipelines.blocks.tables import KIND_COLUMNS, Column, Table, column
from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import queue_text
from pipelines.config.rules.statements import CRITERIA, DEFAULT_LEVEL
from pipelines.console.invocation import command_line
from pipelines.console.tables import print_answer
from pipelines.console.terminal import Terminal, open_console
from pipelines.console.wording import finding_lines, format_count, format_database, format_list
from pipelines.explain.endpoint import LISTED_STEPS, SERVER, Endpoint, Outcome, Step
from pipelines.explain.explanations import Conversation, Message
from pipelines.explain.positions import AheadCount, Group, ReceivePosition, TransmissionPosition

CREATED = {"lifetime": " as its lifetime says", "snapshot": " or before"}
"""What is to be said of the moment of a creation that is not logged."""
STATES = {
    "CD": "CLOSED (CD): both sides have ended, and the server still keeps it",
    "DI": "DISCONNECTED_INBOUND (DI): the far side has ended, and this one has not",
    "DO": "DISCONNECTED_OUTBOUND (DO): this side has ended, and the far one has not acknowledged it",
    "ER": "ERROR (ER): an error has come to it, and it can neither send nor receive more messages",
}
NOT_KNOWN = "not known"
UNKNOWN_SIDE = "a side that is not known"
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
CONVERSATIONS = Table(
    "conversations",
    "",
    [
        column("Conversation", "id", "conversation_id"),
        column("Endpoint", "text", "side"),
        column("Level", "level", "priority"),
        column("Ready messages", "count", "messages"),
        column("Oldest arrival", "moment", "oldest_arrival"),
        Column(
            "Decides",
            "text",
            lambda row: "gives the group its level" if row["decides"] else None,
            ("decides",),
        ),
    ],
)
"""The conversations of a group."""
Explanation: TypeAlias = Conversation | Message | tuple[Group, ...]


def print_explanation(found: Explanation, as_of: datetime, *, wide: bool = False) -> None:
    """Print an explanation to standard output."""
    console = open_console(wide=wide)
    if isinstance(found, Conversation):
        print_conversation(console, found)
    elif isinstance(found, Message):
        print_message(console, found)
    else:
        print_groups(console, found, as_of)


def print_conversation(console: Terminal, found: Conversation) -> None:
    """Print both endpoints with their steps, and the groups that have ready messages."""
    console.write_line(f"Conversation {found.conversation_id} at {format_instant(found.as_of)}")
    for finding in found.findings:
        for line in finding_lines(finding):
            console.write_line(line)
    for endpoint in found.endpoints:
        _print_endpoint(console, endpoint)
    if len(found.endpoints) == 1:
        other = "target" if found.endpoints[0].is_initiator else "initiator"
        if found.endpoints[0].side_known is False:
            other = "other"
        console.print()
        console.write_line(f"The {other} endpoint is not known: no event created it, and none lets infer it.")
    for group in found.groups:
        _print_group(
            console, group, sides_known=all(each.side_known is not False for each in found.endpoints)
        )
    if not found.groups:
        console.print()
        console.write_line("Neither endpoint has ready messages in a queue at as_of.")


def print_message(console: Terminal, found: Message) -> None:
    """Print where a message stands, what is ahead of it, and the endpoint whose level decides."""
    number = (
        "unsequenced" if found.message_sequence_number is None else f"number {found.message_sequence_number}"
    )
    direction = "the initiator to the target" if found.sent_by_initiator else "the target to the initiator"
    if any(endpoint.side_known is False for endpoint in found.endpoints):
        direction = UNKNOWN_SIDE
    console.write_line(f"Message {found.message_id} at {format_instant(found.as_of)}")
    console.write_line(
        f"{found.message_type}, {number} of conversation {found.conversation_id}, from {direction}; "
        f"sent {_format_time(found.sent_at)}, arrived {_format_time(found.arrived_at)}."
    )
    console.write_line(found.state)
    if found.rolled_back is not None:
        back = found.rolled_back
        console.write_line(
            f"It was received and rolled back {format_count(back['rollbacks'], 'time')}, last at "
            f"{_format_time(back['last_received_at'])} in transaction {back['last_transaction_id']}."
        )
    if found.receive is not None:
        _print_receive(console, found.receive)
    for place in found.transmissions:
        _print_transmission(console, place)
    for kind, reason in found.missing.items():
        console.print()
        console.write_line(f"The {kind} schedule can't place it: {reason}.")
    if found.group is not None:
        _print_group(console, found.group, sides_known=direction != UNKNOWN_SIDE)
    for endpoint in found.endpoints:
        _print_endpoint(console, endpoint)


def print_groups(console: Terminal, found: Iterable[Group], as_of: datetime) -> None:
    """Print a group's level and place in each queue."""
    for group in found:
        console.write_line(f"Group {group.conversation_group_id} at {format_instant(as_of)}")
        _print_group(console, group)


def _print_endpoint(console: Terminal, endpoint: Endpoint) -> None:
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
        names = format_list([f"the {_words(name)}" for name in CRITERIA if name in unknown])
        return f"{level}; which rule fits{' today' if by_server else ''} depends on {names}, not known"
    if endpoint.by_present_rules is None:
        return level
    return _format_server_outcome(endpoint) if by_server else _format_outcome(endpoint.given)


def _words(criterion: str) -> str:
    return criterion.replace("_", " ")


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
        names = [f"the {_words(criterion)} is {name}" for criterion, name in each.asks_for.items()]
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
        yield f"{miss.rule_name} (level {miss.level}) asks for the {_words(miss.criterion)} {miss.asks_for}"
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


def _print_group(console: Terminal, group: Group, *, sides_known: bool = True) -> None:
    place = "not placed" if group.position is None else f"position {group.position} among the queue's groups"
    console.print()
    console.write_line(
        f"Group {group.conversation_group_id} in {_format_queue(group)}: level "
        f"{group.priority}, from conversation {group.deciding_conversation_id}; {group.state}, {place}; "
        f"{format_count(group.messages, 'ready message')} of "
        f"{format_count(group.conversations, 'conversation')}"
    )
    for period in group.was_off:
        sentence = period.sentence()
        console.write_line(f"While its messages waited, {sentence}.")
    _print_ahead(console, "groups", group.ahead)
    rows = [
        {**asdict(one), "side": ("initiator" if one.is_initiator else "target") if sides_known else NOT_KNOWN}
        for one in group.listed
    ]
    print_answer(console, CONVERSATIONS, rows)
    if group.conversations > len(group.listed):
        console.write_line(
            f"... and {format_count(group.conversations - len(group.listed), 'more conversation')}"
        )


def _format_queue(at: Group | ReceivePosition) -> str:
    return queue_text((at.instance, at.database, at.queue))


def _print_receive(console: Terminal, place: ReceivePosition) -> None:
    where = _format_queue(place)
    if place.position is None:
        console.print()
        console.write_line(f"Receive: in {where}, without a position: {place.state}")
        return
    console.print()
    console.write_line(
        f"Receive: position {place.position} of {where}, RECEIVE number {place.receive_number}, of a group "
        f"with level {place.group_priority} then; the receiving endpoint has {place.priority}"
    )
    _print_ahead(console, "messages", place.ahead)


def _print_transmission(console: Terminal, place: TransmissionPosition) -> None:
    target = place.destination_instance or place.destination_of or "unknown"
    shown = "no level is shown" if place.priority is None else f"level {place.priority} is shown"
    if place.waits_for is not None:
        console.print()
        console.write_line(
            f"Transmission: no position, as {place.waits_for} is off; held by {place.database}; {shown}"
        )
        _print_status(console, place)
        return
    console.print()
    console.write_line(
        f"Transmission: position {place.position} of {place.instance}, held by {place.database}, to "
        f"{target}; {shown}, {place.transmit_priority} counts: {place.reason}"
    )
    _print_status(console, place)
    _print_ahead(console, "messages", place.ahead)


def _print_status(console: Terminal, place: TransmissionPosition) -> None:
    if place.why_still_here is not None:
        console.write_line(f"Why it is still here, as the server says: {place.why_still_here}")


def _print_ahead(console: Terminal, what: str, ahead: tuple[AheadCount, ...]) -> None:
    if ahead:
        levels = ", ".join(f"{one.count} at level {one.level}" for one in ahead)
        console.write_line(f"Ahead of it: {sum(one.count for one in ahead)} {what}, {levels}.")
        console.write_line("No server promises an order between different conversations of one level.")


def _format_time(moment: datetime | None) -> str:
    return NOT_KNOWN if moment is None else format_instant(moment)

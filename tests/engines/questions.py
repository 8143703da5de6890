"""The command lines that are played on a warehouse, and what of the commands is not played.

Words in braces are filled in from the input and its tables: see `names_in`.
"""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter

from tests.engines.inputs import Input
from tests.support.factories import Row

QUEUE_OF = itemgetter("instance", "database", "queue")
BOTH = ("nasty", "captures")
READING: dict[str, Sequence[str]] = {
    "why --format json": ["nasty"],
    "why --transmission --as-of {first}": ["captures"],
    "why --queue {queue} --instance {instance} --database {database} --contract {contract} "
    "--service {service} --remote-service {remote_service} --conversation {conversation} "
    "--as-of {second} --limit 2": ["captures"],
    "next --queue {queue} --instance {instance} --database {database} --as-of {second} --format json": BOTH,
    "next --instance {sender} --transmission --limit 3 --wide": ["nasty"],
    "waiting --format json": BOTH,
    "waiting --by contract,local_service,level --limit 7 --as-of {first} --wide": ["captures"],
    "expect --format json": BOTH,
    "expect --as-of {backfill}": ["captures"],
    "explain --message {message} --format json": BOTH,
    "explain --conversation {conversation} --wide": ["captures"],
    "explain --group {group} --as-of {second}": ["nasty"],
    "coverage --format json": BOTH,
    "coverage --as-of {first}": ["captures"],
    "leaks --days 1 --format json": BOTH,
    "leaks --limit 3 --grace 1min --script leaks.sql --as-of {first} --wide": ["captures"],
    "differences --limit 40 --as-of {second} --format json": ["captures"],
    "differences --as-of {first}": ["captures"],
    "changes --as-of {second} --format json": ["captures"],
    "changes --since {first} --as-of {second}": ["nasty"],
    "metrics": ["nasty"],
    "metrics --as-of {second} --out metrics.prom": ["captures"],
    "rejected --limit 50 --format json": BOTH,
    "rejected --wide": ["captures"],
    "lint --format json": BOTH,
    "lint --as-of latest --fail-on error --format sarif": ["captures"],
    "whatif --change change.yaml --out whatif --format json": ["nasty"],
    "whatif --change change.yaml --baseline recorded --format json": ["captures"],
    "whatif --rules change.yaml --as-if 2026-01-01T00:00:00Z --as-of {first} --out whatif --limit 3 --wide": [
        "captures"
    ],
    "replay --from {since} --to {until} --proposed proposed.yaml --out replay --format json": ["nasty"],
    "replay --from {since} --to {until} --queue {queue} --readers 1..3 --top 2 --drain --limit 4 "
    "--change change.yaml --as-if {first}": ["captures"],
    "conformance --out conformance --format json": ["nasty"],
    "conformance --window-hours 0.25 --tolerance-ms 0 --as-of {second} --out conformance --limit 9 --wide": [
        "captures"
    ],
    "activation --queue {monitored} --as-of {watched} --format json": ["nasty"],
    "activation --queue {monitored} --as-of {watched}": ["captures"],
    "report --as-of {second} --whatif whatif --conformance conformance --replay replay --out page.html": [
        "nasty"
    ],
}
"""Lines that change no table, by input; CI plays the nasty one alone, so each command has a line on it."""
WRITING: dict[str, Sequence[str]] = {
    "rules": BOTH,
    "ingest --as-of {second}": ["captures"],
    "reassign --from {since} --to {until} --dry-run": ["nasty"],
    "reassign --from {since} --to {until} --apply": ["captures"],
    "schedules --as-of {first}": ["captures"],
    "activation --as-of {second}": ["captures"],
    "maintain --keep-days 1 --keep-event-days 1 --keep-hours 0 --dry-run": ["captures"],
    "maintain --keep-days 1 --keep-event-days 1 --keep-hours 0": ["nasty"],
}
"""Lines that are played with one rule more, by input; tables are compared behind the last one."""
DAMAGED = "next --queue {queue}"
"""What is asked where a table has lost a commit."""
NIGHTS: dict[str, tuple[str, Sequence[str]]] = {
    "first": ("nightly --as-of {first} --quiet", BOTH),
    "second": ("nightly --as-of {second} --no-expect --wide --metrics night.prom", BOTH),
    "rerun": ("nightly --as-of {second} --fail-on unresolved --quiet --format json", ["captures"]),
    "backfill": ("nightly --as-of {backfill} --quiet", BOTH),
}
"""Nights in their order, by input; tables are compared behind each of them."""

NOT_PLAYED = {
    "capture": "reads a server",
    "init": "writes settings",
    "check": "reads settings, inputs and the machine",
    "version": "says what is installed",
    "completion": "is of a shell",
    "--help": "is of the parser",
    "--verbose": "logs seconds and files",
    "--config": "names the input, in every line",
    "replay --rules": "is read as that of whatif",
    "whatif --proposed": "is read as that of replay",
    "lint --static": "looks at no warehouse",
    "lint FILE": "looks at no warehouse",
    "rules --print-sql": "looks at no warehouse",
}
"""Commands and options that read no warehouse, and why."""


def played_on(name: str, lines: Mapping[str, Sequence[str]]) -> list[str]:
    """The lines that are played on the input of this name."""
    return [line for line, inputs in lines.items() if name in inputs]


def lines_of(name: str) -> list[str]:
    """All lines that are played on the input of this name, in their order."""
    return [*nights_of(name).values(), *played_on(name, READING), *played_on(name, WRITING), DAMAGED]


def nights_of(name: str) -> dict[str, str]:
    """The nights of the input of this name."""
    return {night: line for night, (line, inputs) in NIGHTS.items() if name in inputs}


def words_of(line: str, names: Mapping[str, str]) -> list[str]:
    """The words of a line with the names filled in."""
    return [word.format_map(names) for word in shlex.split(line)]


def names_in(tables: Mapping[str, Sequence[Row]], input: Input) -> dict[str, str]:
    """Names from the tables of the nights: the fullest queue, a message in it, who sends, a watched queue."""
    waiting = [row for row in tables["receive_schedule"] if row["as_of"] == input.second]
    places = Counter(map(QUEUE_OF, waiting))
    place = min(places, key=lambda each: (-places[each], each))
    row = min(
        (row for row in waiting if QUEUE_OF(row) == place),
        key=lambda each: (-each["priority"], each["message_id"]),
    )
    sent = [row["instance"] for row in tables["transmission_schedule"] if row["as_of"] == input.second]
    busiest = max(tables["activation_summary"], key=lambda each: (each["most_ready"], QUEUE_OF(each)))
    return {
        "instance": row["instance"],
        "database": row["database"],
        "queue": row["queue"],
        "contract": row["contract"],
        "service": row["local_service"],
        "remote_service": row["remote_service"],
        "message": row["message_id"],
        "conversation": row["conversation_id"],
        "group": row["conversation_group_id"],
        "sender": min(sent, default=row["instance"]),
        "monitored": ".".join(f"[{name}]" for name in QUEUE_OF(busiest)),
        "watched": busiest["as_of"].isoformat(),
    }

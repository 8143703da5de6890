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
ALL = ("sample", "nasty", "captures")
READING: dict[str, Sequence[str]] = {
    "why --format json": ["nasty"],
    "why --transmission --as-of {first}": ["sample"],
    "why --queue {queue} --instance {instance} --database {database} --contract {contract} "
    "--service {service} --remote-service {remote_service} --conversation {conversation} "
    "--as-of {second} --limit 2": ["captures"],
    "next --queue {queue} --instance {instance} --database {database} --as-of {second} --format json": ALL,
    "next --instance {sender} --transmission --limit 3 --wide": ["sample", "nasty"],
    "waiting --format json": ALL,
    "waiting --by contract,local_service,level --limit 7 --as-of {first} --wide": ["nasty"],
    "expect --format json": ALL,
    "expect --as-of {backfill}": ["sample"],
    "explain --message {message} --format json": ALL,
    "explain --conversation {conversation} --wide": ["captures"],
    "explain --group {group} --as-of {second}": ["nasty"],
    "coverage --format json": ALL,
    "coverage --as-of {first}": ["sample"],
    "leaks --days 1 --format json": ALL,
    "leaks --limit 3 --grace 1min --script leaks.sql --as-of {first} --wide": ["nasty"],
    "differences --limit 40 --as-of {second} --format json": ["captures"],
    "differences --as-of {first}": ["captures"],
    "changes --as-of {second} --format json": ALL,
    "changes --since {first} --as-of {second}": ["nasty"],
    "metrics": ALL,
    "metrics --as-of {second} --out metrics.prom": ["nasty"],
    "rejected --limit 50 --format json": ALL,
    "rejected --wide": ["nasty"],
    "lint --format json": ALL,
    "lint --as-of latest --fail-on error --format sarif": ["nasty"],
    "whatif --change change.yaml --out whatif --format json": ["nasty"],
    "whatif --change change.yaml --baseline recorded --format json": ["sample"],
    "whatif --rules change.yaml --as-if 2026-01-01T00:00:00Z --as-of {first} --out whatif --limit 3 --wide": [
        "captures"
    ],
    "replay --from {since} --to {until} --proposed proposed.yaml --out replay --format json": ["nasty"],
    "replay --from {since} --to {until} --queue {queue} --readers 1..3 --top 2 --drain --limit 4 "
    "--change change.yaml --as-if {first}": ["sample"],
    "conformance --out conformance --format json": ["nasty"],
    "conformance --window-hours 0.25 --tolerance-ms 0 --as-of {second} --out conformance --limit 9 --wide": [
        "sample"
    ],
    "activation --queue {monitored} --as-of {watched} --format json": ALL,
    "activation --queue {monitored} --as-of {watched}": ["nasty"],
    "report --as-of {second} --whatif whatif --conformance conformance --replay replay --out page.html": [
        "nasty"
    ],
}
"""Lines that change no table, by input; what takes Apache Spark long is played on one."""
WRITING: dict[str, Sequence[str]] = {
    "rules": ALL,
    "ingest --as-of {second}": ["sample"],
    "reassign --from {since} --to {until} --dry-run": ["captures"],
    "reassign --from {since} --to {until} --apply": ["sample"],
    "schedules --as-of {first}": ["captures"],
    "activation --as-of {second}": ["sample"],
    "maintain --keep-days 1 --keep-event-days 1 --keep-hours 0 --dry-run": ["captures"],
    "maintain --keep-days 1 --keep-event-days 1 --keep-hours 0": ["nasty"],
}
"""Lines that are played with one rule more, by input; tables are compared behind the last one."""
DAMAGED = "next --queue {queue}"
"""What is asked where a table has lost a commit."""
NIGHTS = {
    "first": "nightly --as-of {first} --quiet",
    "second": "nightly --as-of {second} --no-expect --wide --metrics night.prom",
    "rerun": "nightly --as-of {second} --fail-on unresolved --quiet --format json",
    "backfill": "nightly --as-of {backfill} --quiet",
}
"""Tables are compared behind each of them."""

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
    return [*NIGHTS.values(), *played_on(name, READING), *played_on(name, WRITING), DAMAGED]


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

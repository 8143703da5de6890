"""What causes have in common: a condition on open messages, the columns of their details, and words.

A new cause is a subclass in one of the modules beside this one, listed in `causes/__init__.py`. Its docstring
is its part of docs/findings.md (`make docs`): when it holds, and what to do.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from pyspark.sql import DataFrame

from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import queue_text
from pipelines.console.wording import format_count
from pipelines.lint.pairs import suggested_rule
from pipelines.rules.tsql_script import quote_name, quote_queue
from pipelines.why.places import Place, Row
from schemas.keys import ENDPOINT_NAMES, QUEUE

STOPPED, BLOCKED, MISCONFIGURED, ORDER = SEVERITIES = ("stopped", "blocked", "misconfigured", "order")
"""The severities of causes, the worst first."""
HOLDER = ENDPOINT_NAMES
OF_ENDPOINT = {"instance": "endpoint_instance", "database": "endpoint_database"}
"""Where the holding endpoint is, by the columns of `with_endpoints`."""
OF_ONE = {
    **{"have": "has", "stand": "stands", "are": "is", "wait": "waits", "were": "was"},
    **{"they are": "it is", "their": "its", "them": "it"},
}
"""Words about one message, by those about several."""
KEEP_LEVEL = "conversations that exist keep their level"
STATEMENT = re.compile(r"(?:USE \[|ALTER DATABASE \[).*", re.DOTALL)
"""The statement of an action."""


@dataclass(frozen=True)
class Explained:
    """The open messages of an as_of.

    Attributes:
        rows: `placed_rows` `with_order` and `unresolved_rows`, with all that causes depend on, and `causes`,
            the bits of each: see `pipelines.why.cause_bits`.
        near: the near misses of their kinds, the columns of NEAR.
        locks: `locks_of` of groups, as few answers ask for it.
        queues_off: `queues_off_at`.
        off: of these queues: their names, `is_seen` (only a snapshot shows it), `is_unknown` (since
            when is not known) and `poison_message_id`, by name as printed.
        tasks: activated tasks that the newest snapshot shows, by queue as printed; null if not known.
        not_activated: queues whose activation is off, as printed.
        of_databases: `find_of_databases`, and `find_standing` where no message has the cause.
        groups: conversation groups with messages, by queue as printed, as few answers ask for it.
    """

    rows: DataFrame
    near: DataFrame
    locks: Callable[[DataFrame], DataFrame]
    queues_off: Sequence[Row]
    off: Mapping[str, Mapping[str, Any]]
    tasks: Mapping[str, int | None]
    not_activated: Collection[str]
    of_databases: Sequence[tuple[Place, Row]]
    groups: Callable[[], Mapping[str, int]]


@dataclass(frozen=True)
class Teller:
    """What the words about causes depend on beside their rows.

    Attributes:
        command: a command line, from the name of the command and its options.
        stopped_before: a queue from which nothing was received for a message that is older is stopped.
        seen_in_snapshots: (instance, database) whose rules only snapshots show.
        place_of_rule: where a rule is written: file and line, from instance, database and name; None if not
            known.
        honors: whether a database honors priorities, from instance and name; None if not known.
        procedure_of: the activation procedure of a queue, from instance, database and name; None without one.
        schema_of_queue: the schema of a queue, from instance, database and name; None if not known.
    """

    command: Callable[..., str]
    stopped_before: datetime
    seen_in_snapshots: Collection[tuple[str, str]] = ()
    place_of_rule: Callable[[str, str, str], str | None] = field(default=lambda *_: None)
    honors: Callable[[str, str], bool | None] = field(default=lambda *_: None)
    procedure_of: Callable[[str, str, str], str | None] = field(default=lambda *_: None)
    schema_of_queue: Callable[[str, str, str], str | None] = field(default=lambda *_: None)


@dataclass(frozen=True)
class Occurrence:
    """A cause at a place.

    Attributes:
        messages: messages of the place that have the cause.
        conversations: of these messages.
        example_message_id: the one that has waited longest.
        details: the first rows of its details.
        kind: the kind of the place; None for places of several kinds together.
        teller: what the words depend on.
        is_forwarded: whether all these messages are only forwarded.
    """

    messages: int
    conversations: int
    example_message_id: str
    details: Sequence[Row]
    kind: str | None
    teller: Teller
    is_forwarded: bool = False

    @property
    def first(self) -> Row:
        """The first row of details, of which the sentence speaks."""
        return self.details[0]

    @property
    def is_sent(self) -> bool:
        """Whether the messages wait to be sent."""
        return self.kind == "transmission"

    def more(self, what: str = "kinds") -> str:
        """What tells of how many messages the first row of details is not; of what the rows are."""
        if len(self.details) < 2:
            return ""
        others = self.messages - self.first["messages"]
        return (
            f" (and {format_count(others, 'message')} of other {what})"
            if others > 0
            else f" (and more {what})"
        )

    def count(self, verb: str = "") -> str:
        """How many messages there are, with a verb that is given for several."""
        counted = format_count(self.messages, "message")
        return f"{counted} {self.word(verb)}" if verb else counted

    def word(self, of_several: str) -> str:
        """A word about the messages, which is given for several."""
        return OF_ONE[of_several] if self.messages == 1 else of_several

    def count_first(self, verb: str = "") -> str:
        """How many messages are of the first row of details, with a verb that is given for several."""
        of_first = self.first["messages"]
        if len(self.details) < 2 or of_first >= self.messages:
            return self.count(verb)
        told = OF_ONE[verb] if verb and of_first == 1 else verb
        return f"{of_first:,} of {self.count()} {told}".rstrip()


class Cause:
    """Why open messages wait.

    Attributes:
        code: its name in answers.
        severity: one of SEVERITIES, unless `severity_of` says otherwise; those of the severity order only say
            where in the order a message stands.
        condition: an SQL expression over the rows of `explained_rows`; null does not hold.
        columns: of its details, each with an SQL expression over `rows_of_details`.
        holds_without_broker: whether it says something of a message whose database has Service Broker off.
        is_of_place: whether it holds for a place, also where no message waits.
        are_details_few: whether details are of kinds of messages; else of single groups, messages or texts.
        most_details: rows of details at most; None for no limit but that of the answer.
        greatest: the column whose greatest values come first in details, where messages do not decide.
    """

    code: ClassVar[str]
    severity: ClassVar[str]
    condition: ClassVar[str]
    columns: ClassVar[Mapping[str, str]]
    holds_without_broker: ClassVar[bool] = False
    is_of_place: ClassVar[bool] = False
    are_details_few: ClassVar[bool] = True
    most_details: ClassVar[int | None] = None
    greatest: ClassVar[str | None] = None

    @property
    def holds(self) -> str:
        """An SQL expression over the rows of `explained_rows`: whether a message has the cause."""
        if self.holds_without_broker:
            return self.condition
        return f"({self.condition}) and broker_off_at is null"

    def severity_of(self, oldest: datetime, teller: Teller) -> str:
        """The severity at a place, from the moment since which its oldest message is known to have it."""
        return self.severity

    def rows_of_details(self, found: Explained, rows: DataFrame) -> DataFrame:
        """The messages that details count: those that have the cause, unless it counts others."""
        return rows

    def more_of_details(self, found: Explained, details: Row) -> Row:
        """What the sentence needs beside a row of details, and no answer shows."""
        return {}

    def sentence(self, at: Occurrence) -> str:
        """What holds, of how many messages."""
        raise NotImplementedError

    def action(self, at: Occurrence) -> str:
        """What to do. A statement that can be pasted stands at the end: see `split_action`."""
        raise NotImplementedError

    def command(self, at: Occurrence) -> tuple[str, ...]:
        """The command that shows more, with its options."""
        return ("explain", "--message", at.example_message_id)


def same(*names: str) -> dict[str, str]:
    """Columns of details that rows have under the same name."""
    return {name: name for name in names}


def format_names(row: Mapping[str, Any], kind: str | None) -> str:
    """Contract, sender and receiver of messages, from the names of the endpoint that holds them.

    Args:
        row: contract, local_service and remote_service.
        kind: of the place: what waits to be sent is held by its sender. Of None, several kinds, it is not
            known who sends.
    """
    contract, local, remote = (
        row[name] or "unknown" for name in ("contract", "local_service", "remote_service")
    )
    if kind is None:
        return f"{contract} between {local} and {remote}"
    sender, receiver = (local, remote) if kind == "transmission" else (remote, local)
    return f"{contract} from {sender} to {receiver}"


def format_database_of(row: Row) -> str:
    """The database of a row of details."""
    return queue_text([row["instance"], row["database"]])


def format_time(moment: datetime | None) -> str:
    """The moment to the second, if it is known."""
    return "an unknown time" if moment is None else format_instant(moment.replace(microsecond=0))


def format_statement(row: Row, level: int) -> str:
    """The statement that would give endpoints with the names of a row a level, on one line.

    A name that is not known is ANY.
    """
    names = (row["contract"] or None, row["local_service"] or None, row["remote_service"] or None)
    return re.sub(r"\n\s*", " ", suggested_rule((row["instance"], row["database"]), names, level))


def alter_queue(at: Occurrence, *changes: str) -> str:
    """USE, and an ALTER QUEUE for each change, with the schema if a snapshot shows it."""
    instance, database, queue = (at.first[name] for name in QUEUE)
    name = quote_queue(queue, at.teller.schema_of_queue(instance, database, queue))
    altered = [f"ALTER QUEUE {name} WITH {change}" for change in changes]
    return "; ".join([f"USE {quote_name(database)}", *altered])


def split_action(action: str) -> tuple[str, str]:
    """The words of an action, and the statement at its end; either may be empty."""
    found = STATEMENT.search(action)
    return (action[: found.start()].rstrip(" :"), found[0]) if found else (action, "")


def place_columns() -> dict[str, str]:
    """A queue as columns of details, null where the place has none."""
    return {name: f"nullif({name}, '')" for name in QUEUE}

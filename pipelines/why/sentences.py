"""Causes in words: a sentence, what to do, and the command that shows more."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime

from pipelines.activation.queues_off import SINCE_UNKNOWN
from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import queue_text
from pipelines.config.rules.statements import DEFAULT_LEVEL
from pipelines.config.rules.tsql_script import quote_name
from pipelines.console.wording import format_count, format_list
from pipelines.lint.pairs import suggested_rule
from pipelines.why.situation import Place, Row

Details = list[Row]
SILENCE = {
    "no_monitor": "no monitor starts a reader: the catalog has neither activation nor event notification",
    "activation_off": "activation is off",
    "max_queue_readers": "all of MAX_QUEUE_READERS were busy at the monitor's last check",
    "no_reader_started": "the monitor's last check called for a reader, and none received",
    "notified": "the application was notified and did not RECEIVE",
    "not_due": "the monitor had no reason to start a reader since",
    None: "why no reader was started is not known",
}
"""Why nothing was received, by the reason of `not_received`."""
MOST_TOLD = 3
"""Rows of details that a sentence may name."""
OF_ONE = {"have": "has", "stand": "stands", "are": "is", "wait": "waits", "were": "was"}
"""Verbs for one message, by those for several."""
NEW_LEVEL = 9
"""The level of a rule that a proposed statement gives where no other endpoint shows one."""


@dataclass(frozen=True)
class Teller:
    """Writes about causes.

    Attributes:
        command: a command line, from the name of the command and its options.
        seen_in_snapshots: (instance, database) whose rules only snapshots show.
        place_of_rule: where a rule is written: file and line, from instance, database and name; None if not
            known.
    """

    command: Callable[..., str]
    seen_in_snapshots: Collection[tuple[str, str]] = ()
    place_of_rule: Callable[[str, str, str], str | None] = field(default=lambda *_: None)

    def tell(self, cause: Row, place: Place | None, limit: int) -> Row:
        """The cause with `sentence`, `action` and `command`, and its details up to a limit."""
        details = cause["details"]
        kind = None if place is None else place[0]
        write: Callable[[Row, Details, str | None], tuple[str, str]] = getattr(self, f"_{cause['code']}")
        sentence, action = write(cause, details, kind)
        return {
            **{name: cause[name] for name in ("code", "messages", "conversations", "example_message_id")},
            "sentence": sentence,
            "action": action,
            "command": self.command(*_command_of(cause, details)),
            "details": [
                {name: value for name, value in row.items() if not name.startswith("_")}
                for row in details[:limit]
            ],
        }

    def _rule_newer_than_endpoint(self, cause: Row, details: Details, kind: str | None) -> tuple[str, str]:
        first = details[0]
        return (
            f"{_hold(cause, first)}: rule {first['rule']!r} would give {first['level']}, but it "
            f"{self._began(first, 'began', 'was first seen')}, after these conversations{_more(details)}",
            "end these conversations and begin them anew; a rule does not reach existing ones",
        )

    def _rule_changed_since(self, cause: Row, details: Details, kind: str | None) -> tuple[str, str]:
        first = details[0]
        what = f"rule {first['rule']!r}" if first["rule"] else "the default"
        since = self._began(first, "changed", "was first seen so") if first["since"] else ""
        change = f"the rules {since}" if since else "the rules were other ones when the conversations began"
        return (
            f"{_hold(cause, first)}: today {what} gives {first['level']}; {change}{_more(details)}",
            "end these conversations and begin them anew; a change of rules does not reach existing ones",
        )

    def _near_miss(self, cause: Row, details: Details, kind: str | None) -> tuple[str, str]:
        first = details[0]
        where = self.place_of_rule(first["instance"], first["database"], first["rule"])
        return (
            f"{_messages(cause)} would have level {first['level']} by rule {first['rule']!r}, but its "
            f"{first['criterion']} is {first['rule_has']!r} and the endpoint's is {first['endpoint_has']!r}"
            f"{_more(details)}",
            f"correct the name in {where or 'the rule'}; conversations that exist keep their level",
        )

    def _other_side_only(self, cause: Row, details: Details, kind: str | None) -> tuple[str, str]:
        first = details[0]
        other = queue_text([first["other_instance"], first["other_database"]])
        return (
            f"{_messages(cause, 'have')} level {DEFAULT_LEVEL} as no rule of "
            f"{_database(first)} fits their endpoint; the other endpoint, in {other}, has "
            f"{first['other_level']} by {first['other_rule']!r}{_more(details)}",
            f"add the rule for this side: {_statement(first, first['other_level'])}",
        )

    def _more_specific_rule(self, cause: Row, details: Details, kind: str | None) -> tuple[str, str]:
        first = details[0]
        return (
            f"{_messages(cause, 'have')} the level of rule {first['winning_rule']!r} "
            f"({first['winning_level']}, step {first['winning_step']}), which goes before rule "
            f"{first['rule']!r} ({first['level']}, step {first['step']}){_more(details)}",
            f"raise {first['winning_rule']!r}, or drop it; conversations that exist keep their level",
        )

    def _no_rule(self, cause: Row, details: Details, kind: str | None) -> tuple[str, str]:
        first = details[0]
        return (
            f"{_messages(cause, 'have')} level {DEFAULT_LEVEL} as no rule of {_database(first)} fits, "
            f"while others beside them have a higher level by a rule{_more(details)}",
            f"add a rule if they are to go first: {_statement(first, NEW_LEVEL)}",
        )

    def _outranked(self, cause: Row, details: Details, kind: str | None) -> tuple[str, str]:
        by = format_list([f"{row['messages']:,} of {_names(row)}" for row in details])
        return (
            f"{_messages(cause, 'stand')} behind messages of a higher level: {by}",
            "raise their level by a rule, or lower that of the others; try it with what-if",
        )

    def _own_group_first(self, cause: Row, details: Details, kind: str | None) -> tuple[str, str]:
        unit = "conversation" if kind == "transmission" else "conversation or group"
        return (
            f"{_messages(cause, 'stand')} behind messages of their own {unit}",
            "one group is served by one reader at a time; split the work into more conversations",
        )

    def _older_first(self, cause: Row, details: Details, kind: str | None) -> tuple[str, str]:
        by = format_list([f"{row['messages']:,} of {_names(row)}" for row in details])
        return (
            f"{_messages(cause, 'stand')} behind messages of the same level that go first: {by}",
            "start more readers, or tell them apart by a rule",
        )

    def _first_in_line(self, cause: Row, details: Details, kind: str | None) -> tuple[str, str]:
        if kind == "transmission":
            return (
                f"{_messages(cause)} would be sent next; no log says why they are still there",
                "look at the network, the routes and the far instance; a snapshot shows transmission_status",
            )
        return (
            f"{_messages(cause)} would be taken by the next RECEIVE",
            "only a reader is missing; see the readers of the queue",
        )

    def _group_locked(self, cause: Row, details: Details, kind: str | None) -> tuple[str, str]:
        first = details[0]
        if first["transaction_id"] is None:
            return (
                f"{_messages(cause, 'are')} of locked groups, such as {first['conversation_group_id']}; no "
                "event names the transaction",
                "end the transaction that holds the group",
            )
        session = "" if first["session_id"] is None else f" of session {first['session_id']}"
        since = f"since {_time(first['since'])}" if first["since"] else f"({SINCE_UNKNOWN})"
        return (
            f"{_messages(cause, 'are')} of groups that open transactions lock: group "
            f"{first['conversation_group_id']} by transaction {first['transaction_id']}{session} {since}"
            f"{_more(details)}",
            "end that transaction: commit it, or roll it back",
        )

    def _queue_off(self, cause: Row, details: Details, kind: str | None) -> tuple[str, str]:
        first = details[0]
        queue = queue_text([first[name] for name in ("instance", "database", "queue")])
        is_off = f"is off since {_time(first['since'])}" if first["since"] else "is off by the catalog"
        if first["_is_unknown"]:
            is_off = f"is off ({SINCE_UNKNOWN})"
        elif first["_is_seen"]:
            is_off = f"was seen off at {_time(first['since'])}"
        poison = first["poison_message_id"]
        behind = f"; message {poison} was rolled back five times or more" if poison else ""
        first_do = f"take message {poison} out or mend its reader, then " if poison else ""
        name = quote_name(first["queue"])
        return (
            f"{_messages(cause, 'wait')} for queue {queue}, which {is_off}{behind}{_more(details)}",
            f"{first_do}ALTER QUEUE {name} WITH STATUS = ON",
        )

    def _not_received(self, cause: Row, details: Details, kind: str | None) -> tuple[str, str]:
        first = details[0]
        queue = queue_text([first[name] for name in ("instance", "database", "queue")])
        last = f"the last RECEIVE was at {_time(first['last_receive'])}" if first["last_receive"] else ""
        never = "no RECEIVE is known"
        return (
            f"nothing was received from {queue} since {_messages(cause)} arrived ({last or never}): "
            f"{SILENCE[first['reason']]}{_more(details)}",
            "see why no reader runs: activation of the queue, its procedure, the application's log",
        )

    def _rolled_back(self, cause: Row, details: Details, kind: str | None) -> tuple[str, str]:
        first = details[0]
        return (
            f"{_messages(cause, 'were')} received and rolled back: message {first['message_id']} "
            f"{format_count(first['times'], 'time')}, last by transaction {first['last_transaction_id']}",
            "mend the reader that rolls back; after five rollbacks in a row the server turns the queue off",
        )

    def _honor_off(self, cause: Row, details: Details, kind: str | None) -> tuple[str, str]:
        first = details[0]
        return (
            f"{_messages(cause, 'are')} sent at level {DEFAULT_LEVEL}, below their own: database "
            f"{_database(first)} does not honor priorities{_more(details)}",
            f"ALTER DATABASE {quote_name(first['database'])} SET HONOR_BROKER_PRIORITY ON",
        )

    def _transmission_status(self, cause: Row, details: Details, kind: str | None) -> tuple[str, str]:
        return (
            f"{_messages(cause, 'are')} still there, and the server says why: {details[0]['text']}"
            f"{_more(details)}",
            "do what the text asks for; it is the server's own",
        )

    def _endpoint_unknown(self, cause: Row, details: Details, kind: str | None) -> tuple[str, str]:
        return (
            f"{_messages(cause)} can't be placed: no input shows the creation of their endpoint before as_of"
            f"{_of_first(details)}",
            "add the endpoint events or a snapshot of that database",
        )

    def _service_not_in_catalog(self, cause: Row, details: Details, kind: str | None) -> tuple[str, str]:
        return (
            f"{_messages(cause)} can't be placed: the catalog has no queue for their service"
            f"{_of_first(details)}",
            "add the service and its queue to the catalog; the command prints the lines",
        )

    def _handle_unknown(self, cause: Row, details: Details, kind: str | None) -> tuple[str, str]:
        return (
            f"{_messages(cause)} can't be placed: a snapshot shows them under handles that no endpoint has"
            f"{_of_first(details)}",
            "take a capture with a login that has VIEW DEFINITION",
        )

    def _began(self, row: Row, began: str, seen: str) -> str:
        verb = seen if (row["instance"], row["database"]) in self.seen_in_snapshots else began
        return f"{verb} at {_time(row['since'])}"


def _command_of(cause: Row, details: Details) -> tuple[str, ...]:
    """The command that shows more, with its options."""
    code, first = cause["code"], details[0] if details else {}
    if code in ("endpoint_unknown", "service_not_in_catalog", "handle_unknown", "transmission_status"):
        return ("waiting",)
    if code in ("not_received", "first_in_line") and first.get("queue"):
        name = queue_text([first[name] for name in ("instance", "database", "queue")])
        return ("activation", "--queue", name) if code == "not_received" else ("next", "--queue", name)
    if code == "queue_off":
        return ("waiting",)
    return ("explain", "--message", cause["example_message_id"])


def _messages(cause: Row, verb: str = "") -> str:
    """How many messages there are, with a verb that is given for several."""
    counted = format_count(cause["messages"], "message")
    return f"{counted} {OF_ONE[verb] if cause['messages'] == 1 else verb}" if verb else counted


def _hold(cause: Row, first: Row) -> str:
    conversations = format_count(cause["conversations"], "conversation")
    verb = "holds" if cause["messages"] == 1 else "hold"
    return f"{_messages(cause)} of {conversations} {verb} level {first['was_level']}"


def _more(details: Details) -> str:
    """What tells that the first row of details is not the only one."""
    return " (and more kinds)" if len(details) > 1 else ""


def _names(row: Row) -> str:
    contract, local, remote = (
        row[name] or "unknown" for name in ("contract", "local_service", "remote_service")
    )
    return f"{contract} from {remote} to {local}"


def _of_first(details: Details) -> str:
    first = details[0]
    return f", service {first['local_service']}" if first["local_service"] else ""


def _database(row: Row) -> str:
    return queue_text([row["instance"], row["database"]])


def _time(moment: datetime | None) -> str:
    return "an unknown time" if moment is None else format_instant(moment)


def _statement(row: Row, level: int) -> str:
    """The statement that would give endpoints with the names of a row a level, on one line."""
    names = (row["contract"], row["local_service"], row["remote_service"])
    return re.sub(r"\n\s*", " ", suggested_rule((row["instance"], row["database"]), names, level))

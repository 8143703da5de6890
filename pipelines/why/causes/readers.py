"""Causes that lie in readers and queues."""

from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.activation.queues_off import SINCE_UNKNOWN
from pipelines.console.wording import format_count, format_queue
from pipelines.engine.frames import small_frame
from pipelines.rules.tsql_script import quote_name, quote_queue
from pipelines.schedules.ready import queue_name
from pipelines.why.causes.cause import (
    BLOCKED,
    ORDER,
    STOPPED,
    Cause,
    Explained,
    Occurrence,
    Teller,
    alter_queue,
    format_time,
    same,
)
from pipelines.why.places import Row
from schemas.ids import is_guid
from schemas.keys import GROUP, QUEUE

SILENCE = {
    "no_monitor": "no monitor starts a reader: the catalog has neither activation nor event notification",
    "activation_off": "activation is off",
    "max_queue_readers": "all of MAX_QUEUE_READERS ran at the last check of the replayed monitor",
    "no_reader_started": "the replayed monitor called for a reader at its last check, and none received",
    "notified": "the application was notified and did not RECEIVE",
    "receives_occurring": (
        "the monitor is RECEIVES_OCCURRING, and no message left the queue between the last complete snapshots"
    ),
    "not_due": "the replayed monitor had no reason to start a reader since then",
    None: "why no reader was started is not known",
}
"""Why nothing was received, by the reason of `not_received`."""
UNKNOWN_POISON = (
    "look in the error log, and for the event Broker:Queue Disabled, whether five rollbacks turned it off: "
    "the same message would do it again; then "
)
OFF = "off_name string, off_instance string, off_database string, off_queue string, poison_message_id string"


class GroupLocked(Cause):
    """An open transaction holds the group. The details have the transaction, its session and since when.

    To do: see what that session does, and let it commit.
    """

    code = "group_locked"
    are_details_few = False
    severity = BLOCKED
    condition = "state = 'group_locked'"
    columns = {
        **same("instance", "database", "queue", "conversation_group_id", "transaction_id", "session_id"),
        "since": "held_since",
    }

    def rows_of_details(self, found: Explained, rows: DataFrame) -> DataFrame:
        return rows.join(found.locks(rows.select(*GROUP).distinct()), GROUP, "left")

    def sentence(self, at: Occurrence) -> str:
        lock = at.first
        group, transaction = lock["conversation_group_id"], lock["transaction_id"]
        if transaction is None:
            return f"{at.count('wait')} in locked groups, such as {group}; no event names the transaction"
        session = "" if lock["session_id"] is None else f" of session {lock['session_id']}"
        since = f"since {format_time(lock['since'])}" if lock["since"] else f"({SINCE_UNKNOWN})"
        return (
            f"{at.count('wait')} in groups that open transactions lock: group {group} by transaction "
            f"{transaction}{session} {since}{at.more('groups')}"
        )

    def action(self, at: Occurrence) -> str:
        if at.first["transaction_id"] is None:
            return "find the session that holds the group (sys.dm_tran_locks), and let it commit"
        if at.first["session_id"] is None:
            return (
                "find the session of that transaction (sys.dm_tran_session_transactions); the group is free "
                "once it commits or rolls back"
            )
        return "see what that session does; the group is free once it commits or rolls back"


class OfReaders(Cause):
    """A cause whose first row of details names the queue that is not served."""

    def command(self, at: Occurrence) -> tuple[str, ...]:
        return ("activation", "--queue", format_queue(at.first))


class MonitorDropped(OfReaders):
    """A snapshot shows the monitor of the queue in state DROPPED, and no other one: it starts no reader.

    Not where activation of the queue is known to be off.

    To do: turn its activation off and on, and see whether a monitor appears ("sys.dm_broker_queue_monitors").
    Where an event notification calls a program, see whether it is still there ("sys.event_notifications").
    """

    code = "monitor_dropped"
    is_of_place = True
    severity = STOPPED
    condition = "kind = 'receive' and monitor_is_dropped"
    columns = {**same(*QUEUE), "seen_at": "monitor_seen_at"}

    def sentence(self, at: Occurrence) -> str:
        return (
            f"{at.count('wait')} in {format_queue(at.first)}, whose monitor is DROPPED (snapshot of "
            f"{format_time(at.first['seen_at'])}): it starts no reader{at.more('queues')}"
        )

    def action(self, at: Occurrence) -> str:
        if _procedure_of(at) is None:
            return (
                "see whether the event notification that calls its program is still there "
                "(sys.event_notifications), or turn its activation off and on if a procedure reads it"
            )
        return _turn_on_again(at)


class MonitorMissing(MonitorDropped):
    """Activation is on, and the complete view of monitors has none of the queue: no reader is started.

    To do: that of monitor_dropped.
    """

    code = "monitor_missing"
    condition = "state in ('ready', 'group_locked') and monitor_is_missing"

    def sentence(self, at: Occurrence) -> str:
        return (
            f"{at.count('wait')} in {format_queue(at.first)}; its activation is on, and it has no queue "
            f"monitor (snapshot of {format_time(at.first['seen_at'])}){at.more('queues')}"
        )

    def action(self, at: Occurrence) -> str:
        return _turn_on_again(at)


class QueueOff(Cause):
    """The queue is off, or the message waits to be sent to a queue of the same instance that is off.

    Five rollbacks in a row turn a queue off ("Poison Message Detection"); the details name the message.

    To do: mend the reader of that message, then turn the queue on.
    """

    code = "queue_off"
    severity = STOPPED
    holds_without_broker = True
    condition = "state = 'queue_off' or waits_for is not null"
    columns = {
        **{name: f"off_{name}" for name in QUEUE},
        "since": "held_since",
        **same("poison_message_id"),
    }

    def rows_of_details(self, found: Explained, rows: DataFrame) -> DataFrame:
        names = (*QUEUE, "poison_message_id")
        values = [(name, *(row[key] for key in names)) for name, row in found.off.items()]
        off = F.broadcast(small_frame(rows.sparkSession, values, OFF))
        # The message's own queue, or the one that it waits for.
        return rows.withColumn("off_name", F.coalesce("waits_for", queue_name())).join(off, "off_name")

    def more_of_details(self, found: Explained, details: Row) -> Row:
        about = found.off[format_queue(details)]
        return {name: about[name] for name in ("is_seen", "is_unknown")}

    def sentence(self, at: Occurrence) -> str:
        queue = at.first
        is_off = "is off by the catalog"
        if queue["since"]:
            is_off = f"has been off since {format_time(queue['since'])}"
        if queue["_is_unknown"]:
            is_off = f"is off ({SINCE_UNKNOWN})"
        elif queue["_is_seen"]:
            is_off = f"was seen off at {format_time(queue['since'])}"
        poison = queue["poison_message_id"]
        behind = f"; message {poison} was rolled back five times or more" if poison else ""
        where = {"receive": "in", "transmission": "for"}.get(at.kind or "", "in or for")
        name = format_queue(queue)
        return f"{at.count_first('wait')} {where} queue {name}, which {is_off}{behind}{at.more('queues')}"

    def action(self, at: Occurrence) -> str:
        if not at.messages:
            return f"turn it on, if it is to receive: {alter_queue(at, 'STATUS = ON')}"
        poison = at.first["poison_message_id"]
        mend = f"first mend the reader of message {poison}, else it turns the queue off again; then "
        return f"{mend if poison else UNKNOWN_POISON}{alter_queue(at, 'STATUS = ON')}"

    def command(self, at: Occurrence) -> tuple[str, ...]:
        return ("waiting",)


class NotReceived(OfReaders):
    """Nothing was received from the queue since the message arrived.

    It is known where the log has receives of the instance, or snapshots show the monitor as NOTIFIED, or as
    RECEIVES_OCCURRING while no message left the queue. The reason is `notified`, `receives_occurring`,
    `no_monitor`, `activation_off`, `max_queue_readers`, `no_reader_started` or `not_due`, by the
    [monitor](activation.md) as it is replayed. The queue is stopped if a message has waited
    `why.stopped_after` of the [settings](settings.md); before that, it may be a matter of order.

    To do: see why no reader runs: activation of the queue, its procedure, the log of the application.
    """

    code = "not_received"
    severity = STOPPED
    condition = "is_silent"
    columns = {**same("instance", "database", "queue", "last_receive"), "reason": "silence_reason"}

    def severity_of(self, oldest: datetime, teller: Teller) -> str:
        return STOPPED if oldest <= teller.stopped_before else ORDER

    def sentence(self, at: Occurrence) -> str:
        queue = at.first
        if not at.messages:
            return f"activation of {format_queue(queue)} is off, and {at.count('wait')} there"
        last = queue["last_receive"]
        known = f"the last RECEIVE was at {format_time(last)}" if last else "no RECEIVE is known"
        silence, procedure = SILENCE[queue["reason"]], _procedure_of(at)
        if queue["reason"] == "notified" and procedure is not None:
            silence = f"the monitor is NOTIFIED: procedure {procedure} was started and did not RECEIVE"
        return (
            f"nothing was received from {format_queue(queue)} since {at.count_first()} arrived ({known}): "
            f"{silence}{at.more()}"
        )

    def action(self, at: Occurrence) -> str:
        queue = at.first
        procedure = _procedure_of(at)
        if queue["reason"] == "activation_off":
            return (
                "turn its activation on, unless another program is to read the queue: "
                f"{alter_queue(at, 'ACTIVATION (STATUS = ON)')}"
            )
        if queue["reason"] == "receives_occurring":
            return (
                "see what the tasks of the queue do (sys.dm_broker_activated_tasks): one may hold messages "
                "in an open transaction"
            )
        if queue["reason"] == "max_queue_readers":
            return "see what the readers that run are busy with; raise MAX_QUEUE_READERS if more can help"
        if queue["reason"] == "not_due":
            return (
                "see which sessions wait in a RECEIVE of the queue (tasks_waiting of "
                "sys.dm_broker_queue_monitors), and why they do not get these messages"
            )
        if procedure is not None:
            return (
                f"read the error log of the server, and run the procedure {procedure} by hand to see whether "
                "it fails; it receives messages as a reader does"
            )
        if queue["reason"] == "notified":
            return "look at the external application that was notified, and at the error log of the server"
        return "see whether the application that reads the queue runs, and read its log"


class RolledBack(Cause):
    """A message of a queue was received and rolled back.

    To do: mend the reader. After five rollbacks in a row the server turns the queue off, unless its
    POISON_MESSAGE_HANDLING is off ("CREATE QUEUE"). The action has a SELECT that shows the group's messages.
    """

    code = "rolled_back"
    are_details_few = False
    severity = BLOCKED
    condition = "times is not null"
    columns = {
        **same("message_id", "times", "last_transaction_id"),
        **{f"_{name}": name for name in GROUP},
    }
    greatest = "times"

    def sentence(self, at: Occurrence) -> str:
        message = at.first
        which = "most often " if message["times"] > 1 else "such as "
        of_several = which if at.messages > 1 else ""
        return (
            f"{at.count('were')} received and rolled back: {of_several}message {message['message_id']} "
            f"{format_count(message['times'], 'time')}, last by transaction {message['last_transaction_id']}"
        )

    def action(self, at: Occurrence) -> str:
        mend = (
            "mend the reader that rolls back; after five rollbacks in a row the server turns the queue off, "
            "unless POISON_MESSAGE_HANDLING of the queue is off"
        )
        instance, database, queue, group = (at.first[f"_{name}"] for name in GROUP)
        if not is_guid(group):
            return mend
        name = quote_queue(queue, at.teller.schema_of_queue(instance, database, queue))
        return (
            f"{mend}; a SELECT shows the messages of its group, and takes none: USE {quote_name(database)}; "
            f"SELECT * FROM {name} WITH (NOLOCK) WHERE conversation_group_id = '{group}'"
        )


class TooManyTasks(OfReaders):
    """A snapshot shows more activated tasks of the queue than MAX_QUEUE_READERS.

    To do: see what these tasks do ("sys.dm_broker_activated_tasks"). They end with their procedure.
    """

    code = "too_many_tasks"
    is_of_place = True
    severity = BLOCKED
    condition = "kind = 'receive' and tasks_running > max_readers"
    columns = {
        **same(*QUEUE, "tasks_running", "max_readers", "dropped_monitors"),
        "seen_at": "monitor_seen_at",
    }

    def sentence(self, at: Occurrence) -> str:
        queue = at.first
        dropped = queue["dropped_monitors"]
        because = (
            f"; {format_count(dropped, 'monitor')} of it in state DROPPED may still have tasks"
            if dropped
            else ""
        )
        return (
            f"{at.count('wait')} in {format_queue(queue)}, where {queue['tasks_running']:,} activated "
            f"tasks run and MAX_QUEUE_READERS is {queue['max_readers']:,}{because}{at.more('queues')}"
        )

    def action(self, at: Occurrence) -> str:
        return "look at what these tasks do (sys.dm_broker_activated_tasks); they end with their procedure"


def _procedure_of(at: Occurrence) -> str | None:
    return at.teller.procedure_of(*[at.first[name] for name in QUEUE])


def _turn_on_again(at: Occurrence) -> str:
    # It is a change from off to on that starts procedures.
    alter = alter_queue(at, "ACTIVATION (STATUS = OFF)", "ACTIVATION (STATUS = ON)")
    return f"turn its activation off and on, and look whether a monitor appears: {alter}"

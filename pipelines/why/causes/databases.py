"""Causes that lie in a database."""

from pipelines.console.wording import format_count
from pipelines.rules.tsql_script import quote_name
from pipelines.why.causes.cause import STOPPED, Cause, Occurrence, format_database_of, format_time, same

ROUTES = (
    "in the databases that send to it, change the routes that name the old broker id (ALTER ROUTE), then "
    "begin new conversations"
)
CHANGED = "has changed (NEW_BROKER)"


class BrokerDisabled(Cause):
    """A snapshot shows that Service Broker is off in the database (is_broker_enabled 0).

    It sends nothing and gets nothing. No cause about order, readers or rules holds beside it.

    To do: turn it on with ENABLE_BROKER, which needs an exclusive lock on the database. In a copy beside its
    original use NEW_BROKER, which ends all its conversations ("ALTER DATABASE SET Options").
    """

    code = "broker_disabled"
    is_of_place = True
    severity = STOPPED
    condition = "kind <> 'unresolved' and broker_off_at is not null"
    columns = {**same("instance"), "database": "broker_database", "seen_at": "broker_off_at"}
    holds_without_broker = True

    def sentence(self, at: Occurrence) -> str:
        return (
            f"{at.count_first('wait')}, and Service Broker is off in {format_database_of(at.first)} "
            f"(is_broker_enabled 0, snapshot of {format_time(at.first['seen_at'])}): what it sends stays in "
            f"its transmission queue, and nothing is delivered to it{at.more('databases')}"
        )

    def action(self, at: Occurrence) -> str:
        database = quote_name(at.first["database"])
        return (
            "a copy that stays beside its original takes SET NEW_BROKER, which ends all its conversations; "
            "else turn it on, which waits until no other session uses the database: "
            f"ALTER DATABASE {database} SET ENABLE_BROKER"
        )

    def command(self, at: Occurrence) -> tuple[str, ...]:
        return ("waiting",)


class OfDatabase(Cause):
    """What has happened to a database: no open message has it, and `pipelines.why.databases` finds it."""

    condition = "false"
    severity = STOPPED

    def command(self, at: Occurrence) -> tuple[str, ...]:
        return ("differences",)


class BrokerChanged(OfDatabase):
    """A snapshot of the day before as_of shows another service_broker_guid than the one before it.

    NEW_BROKER removes all conversations of the database without a message to the far sides.

    To do: in the databases that send to it, change the routes that name the old id, then start new
    conversations. The far sides keep their endpoints until they are ended there.
    """

    code = "broker_changed"
    columns = same("instance", "database", "before", "seen_at", "old", "new")

    def sentence(self, at: Occurrence) -> str:
        row = at.first
        return (
            f"the broker id of {format_database_of(row)} {CHANGED}: it was {row['old']} in the snapshot of "
            f"{format_time(row['before'])}, and is {row['new']} in that of "
            f"{format_time(row['seen_at'])}"
        )

    def action(self, at: Occurrence) -> str:
        return f"{ROUTES}; the far sides were not told, and keep their endpoints until they are ended there"


class ConversationsGone(OfDatabase):
    """All open endpoints of a database, at least five, are gone between two complete snapshots.

    The later one is of the day before as_of. At least one message was unread.

    To do: find out who ended them, or whether the database was restored, before new ones are started.
    """

    code = "conversations_gone"
    columns = same("instance", "database", "before", "seen_at", "conversations", "unread", "broker_changed")

    def sentence(self, at: Occurrence) -> str:
        row = at.first
        conversations = format_count(row["conversations"], "conversation")
        unread = format_count(row["unread"], "unread message")
        sentence = (
            f"all {conversations} of {format_database_of(row)} and {unread} are gone since the snapshot of "
            f"{format_time(row['before'])}, in that of {format_time(row['seen_at'])}"
        )
        return f"{sentence}; the broker id {CHANGED}" if row["broker_changed"] else sentence

    def action(self, at: Occurrence) -> str:
        if at.first["broker_changed"]:
            return ROUTES
        return "find out who ended them, or whether the database was restored, before you begin new ones"

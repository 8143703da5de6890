"""Find conversations that are never ended: the server keeps their endpoints until an END CONVERSATION."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.instants import format_instant
from pipelines.console.wording import format_count
from pipelines.ingest.snapshots.validation import STATES as ALL_STATES
from pipelines.ingest.snapshots.view_events import CLOSED, ERROR, SYSTEM
from pipelines.questions.endpoint_states import FAR_END_STATE, find_shown_states
from pipelines.server.snapshots.views import ENDPOINTS as VIEW
from pipelines.state.endpoints import SIDE
from pipelines.state.events_before import events_before
from pipelines.storage.collect import collect_first, collect_rows
from pipelines.storage.pruned_days import require_days_before, require_left
from pipelines.storage.warehouse import Warehouse
from schemas.events import END_WITH_CLEANUP, END_WITH_ERROR, ENDPOINT_FACTS, ENDS, MESSAGES
from schemas.keys import QUEUE
from schemas.ledger import ENDPOINTS
from schemas.outputs import RECEIVE_SCHEDULE, SNAPSHOTS, TRANSMISSION_SCHEDULE

DAYS = 7
"""Days without traffic that make a leak by default: longer than a weekend and a holiday."""
GRACE = timedelta(hours=1)
"""How long an application may take to end its side, unless an option says otherwise."""
NOT_ACKNOWLEDGED = timedelta(days=1)
"""How long the far side may take to acknowledge an end."""
CLOSED_LIFETIME = timedelta(minutes=30)
"""How long a server keeps an endpoint that is closed."""
UNACKNOWLEDGED = "DO"
"""The state of an endpoint that has ended, and whose far side has not acknowledged it."""
OF_STATE = {
    FAR_END_STATE: "far_side_ended",
    ERROR: "error",
    UNACKNOWLEDGED: "not_acknowledged",
    CLOSED: "closed",
}
"""The reason of an endpoint that stays in one of these states."""
STATES = {state: name for name, state in ALL_STATES.items() if state in OF_STATE}
LIFETIME_OVER, NO_TRAFFIC = "lifetime_over", "no_traffic"
SINCE_NOT_KNOWN = "since_not_known"
"""Of endpoints in one of these states since an unknown moment: they may be no leaks."""
TRAFFIC_NOT_KNOWN = "traffic_not_known"
"""The reason of endpoints whose traffic no log covers: they may be no leaks."""
ENDED_BY_SCRIPT = (FAR_END_STATE, ERROR)
"""States in which nothing but the end of this side is missing."""
DOUBTFUL = (SINCE_NOT_KNOWN, TRAFFIC_NOT_KNOWN)
ENDINGS = (f"{SYSTEM}EndDialog", f"{SYSTEM}Error")
"""The types of the messages that tell the far side of an end."""

LEAK_KEY = ("instance", "database", "contract", "local_service", "remote_service", "state", "reason")
ENDPOINT_COLUMNS = (
    *LEAK_KEY[:2],
    "queue",
    *LEAK_KEY[2:5],
    "conversation_handle",
    "created_at",
    "created_by",
    "expires_at",
)
SHOWN_COLUMNS = {"shown_state": "string", "shown_at": "timestamp", "first_seen": "timestamp"}
ENDING_COLUMNS = {"unread_since": "timestamp", "unsent_since": "timestamp"}
NAMES = LEAK_KEY[2:5]
GROUP_COLUMNS = (*LEAK_KEY, "maker", "names", "endpoints", "oldest", "oldest_days", "a_day")
GUID = "[0-9A-Fa-f]{8}[-_]?([0-9A-Fa-f]{4}[-_]?){3}[0-9A-Fa-f]{12}"
MAKERS = ("query notifications", "event notifications", "SqlTableDependency", "fire and forget")
TOLD = {
    "far_side_ended": "as the far side has ended and this side has not",
    "error": "as the conversation failed and this side has not ended",
    "not_acknowledged": "as the far side has not acknowledged the end",
    "closed": "as the server has not removed them",
    LIFETIME_OVER: "as their lifetime is over",
    NO_TRAFFIC: "as they have no traffic",
}
"""Why endpoints leak, by reason."""
DAY = 86_400_000_000
"""Microseconds."""


def find_leaks(
    endpoints: DataFrame,
    endpoint_events: DataFrame,
    message_events: DataFrame,
    *,
    as_of: datetime,
    days: float | None = DAYS,
    grace: timedelta = GRACE,
    shown: DataFrame | None = None,
    endings: DataFrame | None = None,
    knows_before: bool = False,
) -> DataFrame:
    """Find the endpoints that no application ends, and those that the server does not remove.

    Args:
        endpoints: `endpoints` rows that may matter at as_of.
        endpoint_events: endpoint events that may matter at as_of.
        message_events: all message events that are left, closed ones too.
        as_of: the instant.
        days: a conversation without traffic for this many days counts as idle; None leaves these out.
        grace: how long an application may take to end its side.
        shown: the rows of `find_shown_states`; `endpoints` has theirs. None without snapshots.
        endings: `read_endings`. None for none.
        knows_before: whether the log had messages before these days that `message_events` lacks.

    Returns:
        One row per endpoint that leaks, or may; key (conversation_id, is_initiator): where it lives, its
        names and handle, `created_at`, `created_by`, `age_days` since then, `expires_at`, `state` (DI, ER,
        DO, CD, by the newest snapshot or else the log; of others that of the newest snapshot), `reason`,
        `since` when the reason holds, `far_ended_at` (when the other side ended; null if it has not),
        `far_ended_by` (log, or snapshot if only one shows that it had by then), `last_traffic`, and
        ENDING_COLUMNS.

    See docs/commands.md#which-conversations-are-never-ended. The state of a snapshot is measured up to that
    snapshot. Traffic is a message event of either direction, or the creation, and not that a message is gone
    which a snapshot no longer shows. The vendor's documentation says that a conversation lives until both
    sides have ended it.
    """
    at = F.lit(as_of)
    rows = _with(endpoints.where(F.col("created_at") < at), shown, SHOWN_COLUMNS)
    is_gone = F.col("ended_at").isNotNull() & (F.col("ended_at") < at)
    is_kept = F.coalesce(F.col("shown_state").isin(UNACKNOWLEDGED, CLOSED), F.lit(False))
    rows = rows.where(~is_gone | is_kept).select(*SIDE, *ENDPOINT_COLUMNS, *SHOWN_COLUMNS)
    rows = _with(rows, endings, ENDING_COLUMNS).join(_far_ends(endpoint_events, as_of), SIDE, "left")
    rows = _with_state(rows, at, grace)
    is_over = F.col("expires_at") <= at
    reason = F.when(F.col("is_long"), F.col("of_state")).when(is_over, LIFETIME_OVER)
    reason = reason.when(F.col("of_state").isNotNull() & F.col("since").isNull(), SINCE_NOT_KNOWN)
    # Of all others nothing leaks, and their traffic need not be looked up.
    is_old = F.lit(False) if days is None else F.col("created_at") <= F.lit(as_of - timedelta(days=days))
    rows = rows.where(F.col("of_state").isNotNull() | is_over | is_old)
    rows = _with_traffic(rows, message_events, as_of, days, knows_before)
    reason = reason.when(F.col("of_state").isNull(), F.col("idle"))
    since = (
        F.when(F.col("reason") == LIFETIME_OVER, F.col("expires_at"))
        .when(F.col("reason") == NO_TRAFFIC, F.col("last_traffic"))
        .when(F.col("reason").isin(*OF_STATE.values()), F.col("since"))
    )
    return (
        rows.withColumn("reason", reason)
        .where("reason is not null")
        .withColumns({"since": since, "age_days": F.round(_days(F.col("created_at"), as_of), 2)})
        .drop("of_state", "is_long", "idle")
    )


def _with(rows: DataFrame, more: DataFrame | None, columns: Mapping[str, str]) -> DataFrame:
    """Add what is known of endpoints; null where nothing is."""
    if more is None:
        return rows.withColumns({name: F.lit(None).cast(type) for name, type in columns.items()})
    return rows.join(more.select(*SIDE, *columns), SIDE, "left")


def _far_ends(endpoint_events: DataFrame, as_of: datetime) -> DataFrame:
    """The first end of the other side of each endpoint, and the first that a log has."""
    is_logged = F.col("seen_at").isNull()
    return (
        events_before(endpoint_events, as_of)
        .where(F.col("event_type").isin(*ENDS))
        .groupBy("conversation_id", (~F.col("is_initiator")).alias("is_initiator"))
        .agg(
            F.min("event_time").alias("far_ended_at"),
            F.when(F.min_by(is_logged, "event_time"), "log").otherwise("snapshot").alias("far_ended_by"),
            F.min(F.when(is_logged, F.col("event_time"))).alias("logged_far_end"),
            F.min_by("event_type", "event_time").alias("far_end"),
        )
    )


def _with_state(rows: DataFrame, at: Column, grace: timedelta) -> DataFrame:
    """Add `state`, `since` when it is so, `of_state` (the reason of that state), and `is_long`.

    An end of the far side that a log has after the newest snapshot of the endpoint is newer than its state.
    Of an endpoint that no snapshot shows, all ends of the far side count.
    """
    shown = F.col("shown_state")
    is_shown = F.coalesce(shown.isin(*OF_STATE), F.lit(False))
    is_newer = F.coalesce(shown.isNull() | (F.col("logged_far_end") >= F.col("shown_at")), F.lit(False))
    has_far_end = F.col("far_ended_at").isNotNull() & is_newer
    far_state = F.when(F.col("far_end") == END_WITH_ERROR, ERROR).otherwise(FAR_END_STATE)
    ending = F.when(is_shown, shown).when(has_far_end, far_state)
    # An end with cleanup tells the other side nothing.
    is_told = F.col("far_end") != END_WITH_CLEANUP
    far_end = F.when(is_shown, F.col("logged_far_end")).otherwise(F.col("far_ended_at"))
    first_seen = F.when(is_shown, F.col("first_seen"))
    since = (
        F.when(ending.isin(FAR_END_STATE, ERROR), F.least(first_seen, far_end, "unread_since"))
        .when(ending == UNACKNOWLEDGED, F.least(first_seen, "unsent_since"))
        .when(ending == CLOSED, first_seen)
    )
    until = F.when(is_shown & F.col("logged_far_end").isNull(), F.col("shown_at")).otherwise(at)
    passed = F.unix_micros("until") - F.unix_micros("since")
    is_long = (
        F.when(F.col("ending") == CLOSED, passed > _micros(CLOSED_LIFETIME))
        .when(F.col("ending") == UNACKNOWLEDGED, passed >= _micros(NOT_ACKNOWLEDGED))
        .otherwise(passed >= _micros(grace))
    )
    reason = F.col("ending")
    for state, name in OF_STATE.items():
        reason = F.when(F.col("ending") == state, name).otherwise(reason)
    return (
        rows.withColumns(
            {
                "ending": ending,
                "since": since,
                "until": until,
                "state": F.when(~is_shown & has_far_end & is_told, far_state).otherwise(shown),
            }
        )
        .withColumns({"of_state": reason, "is_long": F.coalesce(is_long, F.lit(False))})
        .drop("ending", "until", *SHOWN_COLUMNS, "logged_far_end", "far_end")
    )


def _with_traffic(
    rows: DataFrame, message_events: DataFrame, as_of: datetime, days: float | None, knows_before: bool
) -> DataFrame:
    """Add `last_traffic` and `idle`, the reason of an endpoint without traffic in these days."""
    if days is None:
        nothing = F.lit(None)
        return rows.withColumns({"last_traffic": nothing.cast("timestamp"), "idle": nothing.cast("string")})
    at, since = F.lit(as_of), F.lit(as_of - timedelta(days=days))
    traffic = (
        events_before(message_events, as_of)
        .where("inferred is null")
        .join(rows.select("conversation_id").distinct(), "conversation_id", "left_semi")
        .groupBy("conversation_id")
        .agg(F.max("event_time").alias("last_message"))
    )
    logged = message_events.where("seen_at is null").agg(
        (F.count_if((F.col("event_time") > since) & (F.col("event_time") < at)) > 0).alias("knows_now"),
        ((F.count_if(F.col("event_time") <= since) > 0) | F.lit(knows_before)).alias("knows_before"),
    )
    is_known = F.col("knows_now") & F.col("knows_before")
    return (
        rows.join(traffic, "conversation_id", "left")
        .crossJoin(F.broadcast(logged))
        .withColumn("last_traffic", F.greatest("created_at", "last_message"))
        .withColumn(
            "idle",
            F.when(
                F.col("last_traffic") <= since,
                F.when(is_known, NO_TRAFFIC).otherwise(TRAFFIC_NOT_KNOWN),
            ),
        )
        .drop("last_message", "knows_now", "knows_before")
    )


def count_leaks(leaking: DataFrame, *, as_of: datetime) -> DataFrame:
    """Count the rows of `find_leaks` by LEAK_KEY.

    Returns:
        One row per combination: `endpoints`, the `oldest` creation, `oldest_days` since then, and `a_day`:
        endpoints a day since then, the first day counted whole.
    """
    return leaking.groupBy(*LEAK_KEY).agg(*_counts(as_of))


def _counts(as_of: datetime) -> list[Column]:
    oldest_days = _days(F.min("created_at"), as_of)
    return [
        F.count(F.lit(1)).alias("endpoints"),
        F.min("created_at").alias("oldest"),
        F.round(oldest_days, 2).alias("oldest_days"),
        F.round(F.count(F.lit(1)) / F.greatest(oldest_days, F.lit(1.0)), 2).alias("a_day"),
    ]


def group_leaks(leaking: DataFrame, *, as_of: datetime) -> DataFrame:
    """Count the rows of `find_leaks` as `count_leaks`, names that differ in GUIDs or digits as one.

    Returns:
        One row per group: LEAK_KEY, parts in which its names differ as {guid} or {n}; `maker`, the feature
        or habit that is known to leave such conversations (null: none is); `names`, how many there are; and
        the counts of `count_leaks`.
    """
    patterns = {f"pattern_{name}": _pattern(name) for name in NAMES}
    by = ("instance", "database", *patterns, "state", "reason", "maker")
    names = [F.min(name).alias(f"first_{name}") for name in NAMES]
    names += [F.max(name).alias(f"last_{name}") for name in NAMES]
    grouped = (
        leaking.withColumns({**patterns, "maker": _maker()})
        .groupBy(*by)
        .agg(
            *names,
            F.count_distinct(F.struct(*NAMES)).alias("names"),
            *_counts(as_of),
        )
    )
    shown = {
        name: F.when(F.col(f"first_{name}") == F.col(f"last_{name}"), F.col(f"first_{name}")).otherwise(
            F.col(f"pattern_{name}")
        )
        for name in NAMES
    }
    return grouped.withColumns(shown).select(*GROUP_COLUMNS)


def _pattern(name: str) -> Column:
    return F.regexp_replace(F.regexp_replace(name, GUID, "{guid}"), "[0-9]+", "{n}")


def _maker() -> Column:
    """The feature or habit that is known to leave conversations with these names, or in this state."""
    contract, own, far = (F.col(name) for name in NAMES)

    def is_named(pattern: str) -> Column:
        return own.rlike(pattern) | far.rlike(pattern)

    return (
        F.when(contract.endswith("/PostQueryNotification") | is_named("QueryNotificationService"), MAKERS[0])
        .when(contract.endswith("/PostEventNotification") | is_named("EventNotificationService"), MAKERS[1])
        .when(is_named(f"_{GUID}_(Sender|Receiver)$"), MAKERS[2])
        .when(F.col("is_initiator") & (F.col("state") == UNACKNOWLEDGED), MAKERS[3])
    )


def read_leaks(
    warehouse: Warehouse, as_of: datetime, *, days: float = DAYS, grace: timedelta = GRACE
) -> DataFrame:
    """Find the leaks of the tables at a published as_of.

    Raises:
        ConfigError: the `days` before as_of have a pruned day.
    """
    _require_days_left(warehouse, as_of, days)
    knows_before = warehouse.first_day is not None
    return _find_leaks(warehouse, as_of, days, warehouse.read(MESSAGES), knows_before, grace)


def read_leaking(warehouse: Warehouse, as_of: datetime, *, days: float = DAYS) -> DataFrame:
    """Find the endpoints that `read_leaks` lists by the messages of the `days` before as_of.

    The cost is that of these days, and not of the history: `last_traffic` before them is the creation. If one
    of the days was pruned, endpoints without traffic are left out.
    """
    since = as_of - timedelta(days=days)
    # A closed row has no event after the day on which it was closed.
    messages = warehouse.read_left(MESSAGES, since)
    earlier = warehouse.read(MESSAGES).where(
        F.col("seen_at").isNull() & (F.col("event_time") <= F.lit(since))
    )
    knows_before = warehouse.first_day is not None or not earlier.isEmpty()
    asked = None if warehouse.is_pruned(since) else days
    return _find_leaks(warehouse, as_of, asked, messages, knows_before, GRACE)


def only_known(found: DataFrame) -> DataFrame:
    """The rows of `find_leaks` that are known to leak."""
    return found.where(~F.col("reason").isin(*DOUBTFUL))


def _find_leaks(
    warehouse: Warehouse,
    as_of: datetime,
    days: float | None,
    messages: DataFrame,
    knows_before: bool,
    grace: timedelta,
) -> DataFrame:
    shown = find_shown_states(warehouse, as_of)
    # The ledger has ended a closed endpoint that the server still keeps.
    since = as_of if shown is None else min(as_of, shown.since)
    return find_leaks(
        warehouse.read_left(ENDPOINTS, since),
        warehouse.read_left(ENDPOINT_FACTS, as_of),
        messages,
        as_of=as_of,
        days=days,
        grace=grace,
        shown=None if shown is None else shown.rows,
        endings=read_endings(warehouse, as_of),
        knows_before=knows_before,
    )


def read_endings(warehouse: Warehouse, as_of: datetime) -> DataFrame:
    """Read since when an EndDialog or Error waits, by the endpoint that has to read it, or has sent it.

    Returns:
        One row per endpoint with any, by SIDE, with ENDING_COLUMNS: `unread_since`, the first arrival of one
        in its queue; `unsent_since`, the first of one that waits to be sent.
    """
    is_ending = F.col("message_type").isin(*ENDINGS)
    unread = warehouse.read_as_of(RECEIVE_SCHEDULE, as_of).where(is_ending)
    unsent = warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of).where(is_ending & ~F.col("forwarded"))
    nothing = F.lit(None).cast("timestamp")
    rows = unread.select(*SIDE, F.col("arrived_at").alias("unread_since"), nothing.alias("unsent_since"))
    own = F.col("sent_by_initiator").alias("is_initiator")
    sent = F.col("sendable_at").alias("unsent_since")
    rows = rows.unionByName(unsent.select("conversation_id", own, nothing.alias("unread_since"), sent))
    return rows.groupBy(*SIDE).agg(*[F.min(name).alias(name) for name in ENDING_COLUMNS])


def _require_days_left(warehouse: Warehouse, as_of: datetime, days: float) -> None:
    subject = f"command line: --as-of {format_instant(as_of)}"
    require_left(warehouse.first_day, as_of, subject=subject, moment=as_of)
    subject = f"command line: --days {days:g}"
    require_days_before(warehouse.first_day, as_of, days, subject=subject, shorter="name --days")


def report_leaks(
    warehouse: Warehouse, *, as_of: datetime, days: float, limit: int, grace: timedelta = GRACE
) -> dict[str, Any]:
    """Report the leaks at an as_of.

    Args:
        warehouse: what to read.
        as_of: an as_of that was published.
        days: a conversation without traffic for this many days counts as idle.
        limit: rows of each part.
        grace: how long an application may take to end its side.

    Returns:
        `as_of`, `days`, `grace_seconds`, `endpoints` (leaks), `states` (`count_states`), `not_known` (state
        and endpoints in it since an unknown moment), `traffic_not_known` (endpoints whose traffic no log
        covers), `unread` (queue, and conversations that wait for their EndDialog or Error to be read in it),
        `kinds` (`count_leaks`, the oldest first), `groups` (`group_leaks`, the largest first) with their
        number `groups_in_all`, and `oldest` (`find_leaks`). Kinds, groups and the oldest have the endpoints
        of unknown traffic, too. `unread_in_all`, `kinds_in_all` and `oldest_in_all` are without a limit.
        `full_captures`: `read_full_views`.
    """
    with warehouse.materialized(read_leaks(warehouse, as_of, days=days, grace=grace)) as found:
        states = count_states(found)
        listed = found.where(F.col("reason") != SINCE_NOT_KNOWN)
        unread = listed.where(F.col("reason").isin(*OF_STATE.values()) & F.col("unread_since").isNotNull())
        conversations = F.count_distinct("conversation_id").alias("conversations")
        largest = [F.desc("endpoints"), *map(F.col, LEAK_KEY)]
        of_queues = unread.groupBy(*QUEUE).agg(conversations).orderBy(F.desc("conversations"), *QUEUE)
        unread_first, unread_in_all = collect_first(of_queues, limit, "conversations")
        kinds, kinds_in_all = collect_first(
            count_leaks(listed, as_of=as_of).orderBy(*leak_order()), limit, "endpoints"
        )
        groups = group_leaks(listed, as_of=as_of)
        return {
            "as_of": as_of,
            "days": days,
            "grace_seconds": int(grace.total_seconds()),
            "endpoints": sum(row["endpoints"] for row in _known(states)),
            "states": _known(states),
            "not_known": [
                {"state": row["state"], "endpoints": row["endpoints"]}
                for row in states
                if row["reason"] == SINCE_NOT_KNOWN
            ],
            "traffic_not_known": sum(
                row["endpoints"] for row in states if row["reason"] == TRAFFIC_NOT_KNOWN
            ),
            "unread": unread_first,
            "unread_in_all": unread_in_all,
            "kinds": kinds,
            "kinds_in_all": kinds_in_all,
            "groups": collect_rows(groups.orderBy(*largest).limit(limit)),
            "groups_in_all": groups.count(),
            "oldest": collect_rows(listed.orderBy("created_at", *SIDE).limit(limit)),
            "oldest_in_all": {
                "rows": sum(row["endpoints"] for row in states if row["reason"] != SINCE_NOT_KNOWN)
            },
            "full_captures": read_full_views(warehouse, as_of, limit=limit),
        }


def read_full_views(warehouse: Warehouse, as_of: datetime, *, limit: int) -> list[dict[str, Any]]:
    """Read where the newest capture does not show all endpoints, so that an earlier one is used.

    Returns:
        instance and `taken_at` of the newest complete views before, and the number of their `databases`.
    """
    older = _older_full_views(warehouse, as_of).groupBy("instance", "taken_at")
    return collect_rows(
        older.agg(F.count(F.lit(1)).alias("databases")).orderBy("instance", "taken_at").limit(limit)
    )


def name_full_views(warehouse: Warehouse, as_of: datetime) -> str:
    """Say by which captures endpoints are counted: "by the full capture of ..."; empty if by the newest."""
    span = F.min("taken_at").alias("first"), F.max("taken_at").alias("last")
    [row] = collect_rows(_older_full_views(warehouse, as_of).agg(*span))
    if row["first"] is None:
        return ""
    first, last = format_instant(row["first"]), format_instant(row["last"])
    return f"by the full capture of {first}" if first == last else f"by full captures of {first} to {last}"


def _older_full_views(warehouse: Warehouse, as_of: datetime) -> DataFrame:
    """The databases whose newest capture lacks endpoints, with `taken_at` of the newest one that has all."""
    views = warehouse.read(SNAPSHOTS).where((F.col("view") == VIEW) & (F.col("taken_at") <= F.lit(as_of)))
    newest = views.groupBy("instance", "database").agg(
        F.max("taken_at").alias("newest"),
        F.max(F.when(F.col("complete"), F.col("taken_at"))).alias("taken_at"),
    )
    return newest.where("taken_at < newest")


def read_known_leaks(
    warehouse: Warehouse, as_of: datetime, *, days: float, grace: timedelta
) -> list[dict[str, Any]]:
    """The endpoints that are known to leak, by instance, database and age."""
    found = only_known(read_leaks(warehouse, as_of, days=days, grace=grace))
    return collect_rows(found.orderBy("instance", "database", "created_at", *SIDE))


def count_states(found: DataFrame) -> list[dict[str, Any]]:
    """Count the rows of `find_leaks` by state and reason, most endpoints first."""
    counted = found.groupBy("state", "reason").agg(F.count(F.lit(1)).alias("endpoints"))
    return collect_rows(counted.orderBy(F.desc("endpoints"), "reason", "state"))


def leak_sentences(states: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say how many endpoints leak by state, and of how many that is not known.

    Args:
        states: `count_states`.
    """
    known = _known(states)
    lines = []
    if known:
        endpoints = sum(row["endpoints"] for row in known)
        told = "; ".join(f"{row['endpoints']:,}{_in_state(row)} {TOLD[row['reason']]}" for row in known)
        verb = "leaks" if endpoints == 1 else "leak"
        lines.append(f"{format_count(endpoints, 'endpoint')} {verb}: {told}")
    doubtful = [row for row in states if row["reason"] == SINCE_NOT_KNOWN]
    if doubtful:
        told = "; ".join(f"{row['state']}, since when not known: {row['endpoints']:,}" for row in doubtful)
        lines.append(f"Endpoints that may leak: {told}; a second capture will tell")
    return lines


def _in_state(row: Mapping[str, Any]) -> str:
    return f" in state {row['state']} ({STATES[row['state']]})" if row["state"] in STATES else ""


def _known(states: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [row for row in states if row["reason"] not in DOUBTFUL]


def leak_order() -> list[Column]:
    """Return the order of `count_leaks`: total, so that the same leaks give the same rows."""
    return [F.col("oldest"), *map(F.col, LEAK_KEY)]


def _micros(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1)


def _days(since: Column, as_of: datetime) -> Column:
    return (F.unix_micros(F.lit(as_of)) - F.unix_micros(since)) / F.lit(DAY)

"""Find what has happened to databases in the day before as_of: another broker, no conversations left."""

from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from pipelines.engine.frames import small_frame
from pipelines.ladder.ladder import is_in_period
from pipelines.questions.changes import find_changes
from pipelines.settings.load import Settings
from pipelines.state.messages import shown_last
from pipelines.storage.collect import collect_rows
from pipelines.why.causes.databases import BrokerChanged, ConversationsGone, OfDatabase
from pipelines.why.places import Place, Row
from pipelines.why.read import PublishedTables
from schemas.events import MESSAGES
from schemas.ledger import ENDPOINTS

LATELY = timedelta(days=1)
"""How long a change is told."""
LEAST_GONE = 5
"""Fewer conversations may all have ended by themselves."""
DATABASE = ["instance", "database"]
PERIODS = "instance string, database string, number int, since timestamp, until timestamp"
GONE = "instance string, database string, before timestamp, seen_at timestamp"

Moments = dict[tuple[str, str], list[datetime]]
"""When snapshots were taken, by instance and database."""


def find_of_databases(tables: PublishedTables, settings: Settings) -> list[tuple[Place, Row]]:
    """Find what has happened to databases, as places without queue and causes with one row of details.

    `messages` and `conversations` of these rows count what is gone.
    """
    as_of = tables.as_of
    changed = [
        {**row, "seen_at": row["at"]}
        for row in find_changes(settings, as_of)
        if row["attribute"] == "broker_guid" and row["at"] > as_of - LATELY and row["old"] and row["new"]
    ]
    found = [_finding(BrokerChanged(), row) for row in changed]
    for row in _find_gone(tables):
        is_new = any(
            all(each[name] == row[name] for name in DATABASE) and row["before"] < each["at"] <= row["seen_at"]
            for each in changed
        )
        found.append(_finding(ConversationsGone(), {**row, "broker_changed": is_new}))
    return found


def _finding(cause: OfDatabase, row: Row) -> tuple[Place, Row]:
    return ("receive", row["instance"], row["database"], ""), {
        "code": cause.code,
        "severity": cause.severity,
        "messages": row.get("unread", 0),
        "conversations": row.get("conversations", 0),
        "example_message_id": "",
        "since": row["before"],
        "details": [{name: row[name] for name in cause.columns}],
    }


def _find_gone(tables: PublishedTables) -> list[Row]:
    """The databases whose endpoints are all gone between two complete views that follow each other."""
    moments = _complete_views(tables)
    if not moments:
        return []
    first = min(each[0] for each in moments.values())
    endpoints = tables.left(ENDPOINTS, first)
    all_gone = []
    for row in collect_rows(_with_all_gone(endpoints, _periods(tables.spark, moments))):
        place = (row["instance"], row["database"])
        # Endpoints that ended after the newest view up to as_of are missing in a later view alone.
        if row["gone"] < len(moments[place]):
            all_gone.append((*place, *moments[place][row["gone"] - 1 :][:2]))
    if not all_gone:
        return []
    gone = small_frame(tables.spark, all_gone, GONE)
    ended = endpoints.join(gone, DATABASE).where(
        "created_at < before and ended_at >= before and ended_at < seen_at"
    )
    key = (*DATABASE, "before", "seen_at")
    conversations = ended.groupBy(*key).agg(F.count_distinct("conversation_id").alias("conversations"))
    shown = tables.left(MESSAGES, first).where("event_type = 'DELIVERED'")
    sights = [F.col("seen_at").alias("shown_at"), shown_last().alias("shown_last")]
    shown = shown.select(*DATABASE, "message_id", *sights).join(gone, DATABASE)
    then, now = (shown.where(f"{moment} between shown_at and shown_last") for moment in ("before", "seen_at"))
    unread = (
        then.join(now, [*key, "message_id"], "left_anti")
        .groupBy(*key)
        .agg(F.count_distinct("message_id").alias("unread"))
    )
    return collect_rows(conversations.join(unread, list(key)).orderBy(*key))


def _complete_views(tables: PublishedTables) -> Moments:
    """When complete views of endpoints were taken in the day before as_of, and the last one before that.

    Databases with fewer than two are left out.
    """
    moments: Moments = {}
    views, since = tables.complete_views_of_endpoints(), F.lit(tables.as_of - LATELY)
    before = views.where(F.col("taken_at") <= since).groupBy(*DATABASE)
    of_day = views.where((F.col("taken_at") > since) & (F.col("taken_at") <= F.lit(tables.as_of)))
    newest = before.agg(F.max("taken_at").alias("taken_at")).unionByName(of_day)
    for row in collect_rows(newest.orderBy("taken_at")):
        moments.setdefault((row["instance"], row["database"]), []).append(row["taken_at"])
    return {place: taken for place, taken in moments.items() if len(taken) > 1}


def _periods(spark: SparkSession, moments: Moments) -> DataFrame:
    """The periods between views: that of number n ends with the view of that number."""
    rows = [
        (*place, number, since, until)
        for place, taken in moments.items()
        for number, (since, until) in enumerate(zip([None, *taken], [*taken, None], strict=True))
    ]
    return small_frame(spark, rows, PERIODS)


def _with_all_gone(endpoints: DataFrame, periods: DataFrame) -> DataFrame:
    """The databases with the number of a view, `gone`, that shows none of those of the view before it."""

    def number_of(name: str) -> DataFrame:
        return F.broadcast(
            periods.select(
                *DATABASE, *[F.col(each).alias(f"{name}_{each}") for each in ("number", "since", "until")]
            )
        )

    def is_in(name: str) -> Column:
        return is_in_period(F.col(f"{name}_at"), F.col(f"{name}_since"), F.col(f"{name}_until"))

    created = endpoints.join(number_of("created"), DATABASE).where(is_in("created"))
    open_ones = created.where("ended_at is null").select(*DATABASE, "created_number")
    ended = (
        created.where("ended_at is not null")
        .join(number_of("ended"), DATABASE)
        .where(is_in("ended"))
        .where("created_number < ended_number")
        .groupBy(*DATABASE, "created_number", "ended_number")
        .agg(F.count(F.lit(1)).alias("endpoints"))
    )
    candidates = (
        ended.groupBy(*DATABASE, F.col("ended_number").alias("gone"))
        .agg(F.sum("endpoints").alias("endpoints"))
        .where(F.col("endpoints") >= LEAST_GONE)
    )
    still_open = open_ones.groupBy(*DATABASE).agg(F.min("created_number").alias("oldest_open"))
    later = ended.select(*DATABASE, "created_number", "ended_number").distinct()
    survived = candidates.join(later, DATABASE).where("created_number < gone and ended_number > gone")
    return (
        candidates.join(still_open, DATABASE, "left")
        .where("oldest_open is null or oldest_open >= gone")
        .join(survived.select(*DATABASE, "gone").distinct(), [*DATABASE, "gone"], "left_anti")
        .select(*DATABASE, "gone")
    )

"""Count what each version of a rule decides: endpoints, conversations, messages."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.frames import small_frame
from pipelines.ladder.ladder import is_in_period
from pipelines.rules.ladder import (
    NO_RULES,
    Ladder,
    Names,
    decisions,
    ladders_of,
    level_of,
    may_have_given,
    names_of,
)
from pipelines.rules.statements import DEFAULT_LEVEL
from pipelines.state.messages import ARRIVALS, order_of_events
from pipelines.storage.collect import collect_rows
from pipelines.storage.histories import RuleSnapshots, read_rule_snapshots, stored_versions
from pipelines.storage.pruned_days import warn_of_pruned
from pipelines.storage.warehouse import Warehouse
from schemas.events import MESSAGES
from schemas.keys import ENDPOINT_NAMES
from schemas.ledger import ENDPOINTS
from schemas.outputs import PRIORITY_RULES, RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE

VERSION = ("instance", "database", "rule_name", "valid_from")
"""A version of a rule; a null rule_name is the default of the database, or no rule."""
OF_SERVER = "of_server"
"""Whether the level is the server's, and which version gave it is not known; rule_name is null then."""
ENDPOINT = ("conversation_id", "is_initiator")
SUMS = ("endpoints", "conversations", "messages", "open_messages")
FIRST_SEEN = "first_seen"
"""Whether only a snapshot shows the version, which may be older: valid_from is when it was taken."""
CANDIDATES = "candidates"
"""Of the levels of the server's: the rules that give such a level, if they were there then; else empty."""
COLUMNS = (*VERSION, FIRST_SEEN, "level", *SUMS, "first_use", "last_use", CANDIDATES)
DECIDED = (
    "instance string, database string, contract string, local_service string, remote_service string, "
    "since timestamp, until timestamp, decided_level int, decided_by string, decided_from timestamp"
)


def report_coverage(warehouse: Warehouse, as_of: datetime) -> list[dict[str, Any]]:
    """Count what the rule versions have decided before an as_of.

    All endpoints are read, and the messages and schedules of the night.

    Returns:
        COLUMNS by name, ordered by VERSION with nulls first: one row per version that began before as_of,
        used or not, or that a snapshot of as_of shows, and one per database with rules or endpoints for its
        default, without valid_from. Endpoints whose level is the server's, and of which it is not known which
        version gave it, have a row with neither rule_name nor level, after the default's: `candidates` has
        the rules that give such a level.
        `first_seen` says that only a snapshot shows a version, first at valid_from.
        The counts are those of `count_rule_uses`. A rule that is not in the history at that moment has a row
        without valid_from and level.
    """
    warn_of_pruned(warehouse.first_day, "the counts of endpoints")
    versions = stored_versions(warehouse.read(PRIORITY_RULES))
    shown = read_rule_snapshots(warehouse)
    endpoints = warehouse.read(ENDPOINTS)
    ladders = ladders_of(versions)
    kinds = _kinds_of_server(endpoints, as_of)
    uses = count_rule_uses(
        endpoints,
        warehouse.read_open(MESSAGES, as_of - timedelta(days=1)),
        warehouse.read_as_of(RECEIVE_SCHEDULE, as_of),
        warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of),
        warehouse.read(PRIORITY_RULES),
        small_frame(warehouse.spark, _decisions(kinds, ladders, shown), DECIDED),
        as_of=as_of,
    )
    used = {tuple(row[name] for name in (*VERSION, OF_SERVER)): row for row in collect_rows(uses)}
    levels: dict[tuple[Any, ...], int | None] = dict.fromkeys(used)
    levels |= {(*key[:2], None, None, False): DEFAULT_LEVEL for key in used}
    for version in versions:
        levels[version.instance, version.database, None, None, False] = DEFAULT_LEVEL
        key = (*version.key, False)
        moments = shown.get((version.instance, version.database), ())
        is_shown = version.valid_from == as_of and as_of in moments
        if version.valid_from < as_of or is_shown or key in used:
            levels[key] = version.level
    unused = dict.fromkeys(SUMS, 0) | dict.fromkeys(("first_use", "last_use"))
    candidates = _candidates(kinds, ladders)
    found = []
    for key in sorted(levels, key=_nulls_first):
        row = dict(zip(VERSION, key[:-1], strict=True)) | {"level": levels[key]} | unused | used.get(key, {})
        row[FIRST_SEEN] = key[3] in shown.get(key[:2], ())
        row[CANDIDATES] = candidates.get(key[:2], []) if key[-1] else []
        found.append({name: row[name] for name in COLUMNS})
    return found


def count_rule_uses(
    endpoints: DataFrame,
    message_events: DataFrame,
    received: DataFrame,
    transmitted: DataFrame,
    rules: DataFrame,
    decided: DataFrame,
    *,
    as_of: datetime,
) -> DataFrame:
    """Count the endpoints that have their level from each version, and the messages to them.

    An endpoint counts at the version of its rule that was valid when it was created; if its level is the
    server's, at the one of `decided`, if that has this level. Endpoints without a rule count at the default
    of their database, and those of the server's levels that `decided` lacks by themselves.

    Args:
        endpoints: all `endpoints` rows.
        message_events: all events of the messages that have one on the UTC day before as_of's or later;
            others may be among them.
        received: `receive_schedule` of as_of.
        transmitted: `transmission_schedule` of as_of.
        rules: `priority_rules`.
        decided: the versions that decide kinds of endpoints, DECIDED.
        as_of: the instant.

    Returns:
        One row per version with endpoints, key VERSION and OF_SERVER (see `with_version`): `endpoints` and
        `conversations`, created from `first_use` to `last_use`; `messages` to these endpoints, begun before
        as_of, that have an event on the UTC day before as_of's or later; `open_messages`, those in a
        schedule.
    """
    traffic = _count_messages(message_events, received, transmitted, as_of=as_of)
    versions = with_version(endpoints.where(F.col("created_at") < F.lit(as_of)), rules, decided)
    return (
        versions.join(traffic, list(ENDPOINT), "left")
        .groupBy(*VERSION, OF_SERVER)
        .agg(
            F.count(F.lit(1)).alias("endpoints"),
            F.count_distinct("conversation_id").alias("conversations"),
            F.coalesce(F.sum("messages"), F.lit(0)).alias("messages"),
            F.coalesce(F.sum("open_messages"), F.lit(0)).alias("open_messages"),
            F.min("created_at").alias("first_use"),
            F.max("created_at").alias("last_use"),
        )
    )


def with_version(endpoints: DataFrame, rules: DataFrame, decided: DataFrame) -> DataFrame:
    """Find the version that gave each endpoint its level.

    Args:
        endpoints: any `endpoints` rows.
        rules: the rule history (`priority_rules`); few.
        decided: DECIDED; few.

    Returns:
        VERSION, OF_SERVER, ENDPOINT and created_at, a row per row; `valid_from` is null where no rule is
        named, and where the history has no version of the rule for that moment.
    """
    by_server = F.coalesce(F.col("level_source") == "server", F.lit(False))
    created_at, is_of_server = F.col("endpoint.created_at"), F.col("endpoint.by_server")
    same_rule = (
        ~is_of_server
        & (F.col("endpoint.instance") == F.col("rule.instance"))
        & (F.col("endpoint.database") == F.col("rule.database"))
        & (F.col("endpoint.rule_name") == F.col("rule.name"))
        & is_in_period(created_at, F.col("rule.valid_from"), F.col("rule.valid_to"))
    )
    is_decided = (
        is_of_server
        & (F.col("endpoint.priority") == F.col("kind.decided_level"))
        & is_in_period(created_at, F.col("kind.since"), F.col("kind.until"))
    )
    for name in ENDPOINT_NAMES:
        is_decided &= F.col(f"endpoint.{name}") == F.col(f"kind.{name}")
    return (
        endpoints.withColumn("by_server", by_server)
        .alias("endpoint")
        .join(F.broadcast(rules).alias("rule"), same_rule, "left")
        .join(F.broadcast(decided).alias("kind"), is_decided, "left")
        .select(
            *[f"endpoint.{name}" for name in ("instance", "database", "created_at", *ENDPOINT)],
            F.when(is_of_server, F.col("kind.decided_by"))
            .otherwise(F.col("endpoint.rule_name"))
            .alias("rule_name"),
            F.coalesce("kind.decided_from", "rule.valid_from").alias("valid_from"),
            (is_of_server & F.col("kind.decided_level").isNull()).alias(OF_SERVER),
        )
    )


def _kinds_of_server(endpoints: DataFrame, as_of: datetime) -> list[tuple[tuple[str, str], Names, int]]:
    """The database, names and level of the endpoints whose level is the server's; they are few."""
    of_server = endpoints.where((F.col("level_source") == "server") & (F.col("created_at") < F.lit(as_of)))
    rows = collect_rows(of_server.select(*ENDPOINT_NAMES, "priority").distinct())
    return [((row["instance"], row["database"]), names_of(row), row["priority"]) for row in rows]


def _decisions(
    kinds: Sequence[tuple[tuple[str, str], Names, int]],
    ladders: Mapping[tuple[str, str], Ladder],
    shown: RuleSnapshots,
) -> Iterator[tuple[Any, ...]]:
    """Rows of DECIDED for these kinds."""
    for place, names in {(place, names): None for place, names, _ in kinds}:
        periods = decisions(ladders.get(place, NO_RULES), names, shown.get(place, ()))
        for since, until, version in periods:
            by = (None, None) if version is None else (version.name, version.valid_from)
            yield *place, *names, since, until, level_of(version), *by


def _candidates(
    kinds: Sequence[tuple[tuple[str, str], Names, int]],
    ladders: Mapping[tuple[str, str], Ladder],
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The rules that give endpoints of these kinds their level at some time: level and name, by database."""
    found: dict[tuple[str, str], set[tuple[int, str]]] = {}
    for place, names, level in kinds:
        rules = may_have_given(ladders.get(place, NO_RULES), names, level)
        found.setdefault(place, set()).update((level, rule) for rule in rules)
    return {
        place: [{"level": level, "rule_name": name} for level, name in sorted(rules)]
        for place, rules in found.items()
    }


def _nulls_first(key: tuple[Any, ...]) -> list[tuple[bool, Any]]:
    return [(part is not None, part) for part in key]


def _count_messages(
    message_events: DataFrame, received: DataFrame, transmitted: DataFrame, *, as_of: datetime
) -> DataFrame:
    """Count messages by the endpoint whose level decides: the receiver, for transmission the sender."""
    since = as_of.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)
    begins = F.col("event_type").isin("SENT", *ARRIVALS)
    one, none = F.lit(1).cast("bigint"), F.lit(0).cast("bigint")
    messages = (
        message_events.withColumn("place", order_of_events())
        .groupBy("message_id")
        .agg(
            F.min_by("conversation_id", "place").alias("conversation_id"),
            F.min_by("sent_by_initiator", "place").alias("sent_by_initiator"),
            F.min(F.when(begins, F.col("event_time"))).alias("begun_at"),
            F.max("event_time").alias("last_event"),
        )
        .where((F.col("begun_at") < F.lit(as_of)) & (F.col("last_event") >= F.lit(since)))
    )
    to_receiver = (~F.col("sent_by_initiator")).alias("is_initiator")
    of_sender = F.col("sent_by_initiator").alias("is_initiator")
    counted = [
        (messages.select("conversation_id", to_receiver), one, none),
        (received.select(*ENDPOINT), none, one),
        (transmitted.where("not forwarded").select("conversation_id", of_sender), none, one),
    ]
    first, second, third = (
        rows.select(*ENDPOINT, message.alias("messages"), open_message.alias("open_messages"))
        for rows, message, open_message in counted
    )
    return (
        first.unionByName(second)
        .unionByName(third)
        .groupBy(*ENDPOINT)
        .agg(F.sum("messages").alias("messages"), F.sum("open_messages").alias("open_messages"))
    )

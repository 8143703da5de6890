"""Compare snapshots of a server with the settings and the ledger: rules, catalog and levels."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.config.catalog import Catalog, Database
from pipelines.config.errors import ConfigError
from pipelines.engine.frames import small_frame
from pipelines.ladder.ladder import undecided, with_priority
from pipelines.questions.changes import find_changes
from pipelines.rules.history import RuleVersion
from pipelines.rules.ladder import stands_at
from pipelines.server.snapshots.history import over_database
from pipelines.server.snapshots.server import ServerSnapshot
from pipelines.server.snapshots.views import PRIORITIES, QUEUES, SERVICES
from pipelines.settings.load import Settings
from pipelines.settings.rule_sources import KnownRules
from pipelines.storage.collect import collect_first, collect_rows
from pipelines.storage.pruned_days import warn_of_pruned
from pipelines.storage.warehouse import Warehouse
from schemas.keys import ENDPOINT_NAMES
from schemas.ledger import ENDPOINTS
from schemas.outputs import PRIORITY_RULES, UNRESOLVED

Row = dict[str, Any]
DIFFERENCE_COLUMNS = ("instance", "database", "taken_at", "what", "name", "server", "here")
LEVEL_COLUMNS = (*ENDPOINT_NAMES, "level_source", "server", "here", "endpoints")
ROUND_NUMBER = 100
"""A view whose rows are a multiple of this may have been cut by TOP: such numbers are round ones."""


def require_snapshots(settings: Settings) -> None:
    """Require that the settings name snapshots.

    Raises:
        ConfigError: they name none.
    """
    if not settings.snapshots:
        raise ConfigError(f"{settings.path}: snapshots: there are none to compare with; name some")


def report_differences(warehouse: Warehouse, settings: Settings, *, as_of: datetime, limit: int) -> Row:
    """Compare the snapshots of the settings with rules, catalog and ledger.

    Args:
        warehouse: what to read.
        settings: snapshots, catalog and rules.
        as_of: an as_of that was published, for the messages whose handle no endpoint has.
        limit: rows of changes, and of levels.

    Returns:
        `changes`: the newest of `find_changes`; `rules` and `catalog`: one row for each entry that a snapshot
        shows otherwise, with both values as text, null where one is missing; `levels`: counts of endpoints
        whose level on the server differs, most endpoints first; `changes_in_all` and `levels_in_all` without
        the limit; `rules_not_known`: databases of snapshots
        whose rules, or some of them, no input has, so that their levels are not compared; `handles_unknown`:
        messages whose handle no endpoint has; `maybe_cut`: views whose number of rows looks like a TOP, where
        handles are unknown.
    """
    snapshots = [each for each in settings.snapshots if each.taken_at <= as_of]
    known = settings.known_rules(as_of)
    catalog = settings.written_catalog
    unknown = warehouse.read_as_of(UNRESOLVED, as_of).where("reason = 'handle_unknown'").count()
    warn_of_pruned(warehouse.first_day, "the counts of levels")
    counted = count_level_differences(
        warehouse.read(ENDPOINTS).where(F.col("created_at") < F.lit(as_of)),
        warehouse.read(PRIORITY_RULES),
        known,
        as_of=as_of,
    )
    counted = counted.orderBy(F.desc("endpoints"), *LEVEL_COLUMNS[:-1])
    levels, levels_in_all = collect_first(counted, limit, "endpoints")
    changes = find_changes(settings, as_of)
    places = sorted({snapshot.database_key for snapshot in snapshots})
    return {
        "as_of": as_of,
        "changes": changes[:limit],
        "changes_in_all": {"rows": len(changes)},
        "rules_not_known": [
            {"instance": instance, "database": database}
            for instance, database in places
            if not known.has(instance, database)
        ],
        "rules": [row for snapshot in snapshots for row in _compare_rules(snapshot, settings.rule_history)],
        "catalog": [row for snapshot in snapshots for row in _compare_catalog(snapshot, catalog)],
        "levels": levels,
        "levels_in_all": levels_in_all,
        "handles_unknown": unknown,
        "maybe_cut": _find_round_counts(warehouse, settings) if unknown else [],
    }


def count_level_differences(
    endpoints: DataFrame, rules: DataFrame, known: KnownRules, *, as_of: datetime
) -> DataFrame:
    """Count the endpoints whose level on the server differs from the level by the rules.

    Args:
        endpoints: `endpoints` rows.
        rules: the rule history.
        known: whose rules are known; endpoints of other databases have no rows.
        as_of: the moment of today's rules.

    Returns:
        One row per names, level_source and pair of levels: `server`, `here` and `endpoints`. If the
        level comes from the server, `here` is the level by the rules of today. Where that depends on a name
        that is not known, there is no row.
    """
    by_server = F.col("level_source") == "server"
    reported = endpoints.where("logged_priority is not null").withColumnRenamed("priority", "given")
    today = with_priority(reported.withColumn("created_at", F.lit(as_of)), rules)
    here = F.when(by_server, F.col("priority")).otherwise(F.col("given"))
    differing = today.withColumns({"here": here, "server": F.col("logged_priority")}).where("here <> server")
    return (
        _of_known_rules(differing, known)
        .join(F.broadcast(undecided(differing, rules)), list(ENDPOINT_NAMES), "left_anti")
        .groupBy(*LEVEL_COLUMNS[:-1])
        .agg(F.count(F.lit(1)).alias("endpoints"))
    )


def _of_known_rules(endpoints: DataFrame, known: KnownRules) -> DataFrame:
    """The endpoints of databases whose rules are known."""
    spark = endpoints.sparkSession
    instances = small_frame(spark, [(name,) for name in known.instances], "instance string")
    others = [key for key in known.databases if key[0] not in known.instances]
    databases = small_frame(spark, others, "instance string, database string")
    return endpoints.join(F.broadcast(instances), ["instance"], "left_semi").unionByName(
        endpoints.join(F.broadcast(databases), ["instance", "database"], "left_semi")
    )


def _compare_rules(snapshot: ServerSnapshot, history: Sequence[RuleVersion]) -> Iterator[Row]:
    if PRIORITIES not in snapshot.small:
        return
    moment = snapshot.taken_at
    held = {
        version.name: _format_rule(*version.triple, version.level)
        for version in history
        if (version.instance, version.database) == snapshot.database_key
        and stands_at(version, moment)
        and not (snapshot.leaves_out_any and None in version.triple[:2])
    }
    shown = {
        name: _format_rule(contract, local, remote, level)
        for name, contract, local, remote, level in snapshot.priorities() or []
    }
    yield from _compare(snapshot, "rule", shown, held)


def _format_rule(contract: str | None, local: str | None, remote: str | None, level: int) -> str:
    names = ["ANY" if name is None else repr(name) for name in (contract, local, remote)]
    return f"contract {names[0]}, local service {names[1]}, remote service {names[2]}, level {level}"


def _compare_catalog(snapshot: ServerSnapshot, catalog: Catalog) -> Iterator[Row]:
    """Compare a snapshot with the catalog file; a database or a key that the file lacks has no rows."""
    shown = snapshot.database()
    if shown is None or snapshot.database_key not in {row[:2] for row in catalog.database_rows()}:
        return
    written = next(
        database
        for instance in catalog.instances
        for database in instance.databases
        if (instance.name, database.name) == snapshot.database_key
    )
    held = over_database(written, shown)
    if shown.honor_broker_priority is not None:
        one, other = ({"": _on_or_off(bool(each.honor_broker_priority))} for each in (shown, held))
        yield from _compare(snapshot, "honor_broker_priority", one, other)
    if QUEUES in snapshot.small:
        named = {queue.name for queue in written.queues}
        in_file = held.model_copy(update={"queues": [each for each in held.queues if each.name in named]})
        status, known = (
            {queue.name: _on_or_off(queue.status) for queue in one.queues} for one in (shown, in_file)
        )
        yield from _compare(snapshot, "queue", status, known)
        yield from _compare(snapshot, "activation", _format_activation(shown), _format_activation(in_file))
    if SERVICES in snapshot.small:
        bound, known = ({each.name: each.queue for each in one.services} for one in (shown, written))
        yield from _compare(snapshot, "service", bound, known)


def _format_activation(database: Database) -> dict[str, str]:
    return {
        queue.name: f"{_on_or_off(queue.activation.status)}, {queue.activation.procedure}, "
        f"max_queue_readers {queue.activation.max_queue_readers}"
        for queue in database.queues
        if queue.activation
    }


def _on_or_off(is_on: bool) -> str:
    return "on" if is_on else "off"


def _compare(
    snapshot: ServerSnapshot, what: str, shown: dict[str, str], held: dict[str, str]
) -> Iterator[Row]:
    """Yield the names that only one of the two has, or that differ."""
    for name in sorted(shown.keys() | held.keys()):
        if shown.get(name) != held.get(name):
            values = (*snapshot.database_key, snapshot.taken_at, what, name, shown.get(name), held.get(name))
            yield dict(zip(DIFFERENCE_COLUMNS, values, strict=True))


def _find_round_counts(warehouse: Warehouse, settings: Settings) -> list[Row]:
    """Find the databases whose snapshots show a round number of endpoints."""
    of_place = warehouse.read(ENDPOINTS).where("level_source = 'server'").groupBy("instance", "database")
    places = {snapshot.database_key for snapshot in settings.snapshots}
    return [
        row
        for row in collect_rows(of_place.agg(F.count(F.lit(1)).alias("rows")).orderBy("instance", "database"))
        if (row["instance"], row["database"]) in places and row["rows"] % ROUND_NUMBER == 0
    ]

"""Which rows of a snapshot's views state no fact, and the names that small views have for their ids."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.frames import row_hash
from pipelines.ingest.snapshots.view_events import ENDED, OPEN

HANDLE = "conversation_handle"
REPEATED = "repeated_handle"
REPEATED_KEY = ("instance", "database", "taken_at", HANDLE)
"""What identifies a row of endpoints among those of several views."""
STATES = {
    "STARTED_OUTBOUND": "SO",
    "STARTED_INBOUND": "SI",
    "CONVERSING": "CO",
    "DISCONNECTED_INBOUND": "DI",
    "DISCONNECTED_OUTBOUND": "DO",
    "CLOSED": "CD",
    "ERROR": "ER",
}
"""The states of endpoints by what `state_desc` calls them."""


def validate_endpoints(view: DataFrame, contracts: DataFrame, services: DataFrame) -> DataFrame:
    """Validate the rows of `conversation_endpoints` of several snapshots.

    Args:
        view: their rows, with `snapshot`, `names`, and `reasons`, null for a valid row.
        contracts: (names, service_contract_id, contract); few.
        services: (names, service_id, local_service); few.

    Returns:
        The same rows with `contract` and `local_service`, and reasons added where there were none.
    """
    # The small sides stand on the left, which are held in memory.
    named = F.broadcast(contracts).join(view, ["names", "service_contract_id"], "right")
    named = F.broadcast(services).join(named, ["names", "service_id"], "right")
    rows = _repeated_handles(view).join(named, ["snapshot", HANDLE], "right")
    rows = rows.withColumns(
        {
            "contract": F.coalesce("service_contract_name", "contract"),
            "local_service": F.coalesce("service_name", "local_service"),
            "state": _state(),
        }
    )
    return _with_reasons(
        rows,
        {
            REPEATED: F.col("is_repeated").isNotNull(),
            "unknown_contract": F.col("contract").isNull(),
            "unknown_service": F.col("local_service").isNull(),
            "unknown_state": ~F.col("state").isin(*ENDED, *OPEN),
            "priority_out_of_range": ~F.col("priority").between(1, 10),
        },
    ).drop("is_repeated")


def _state() -> Column:
    """The state, by its code or its description, of `state` or else `state_desc`; else what stands there."""
    described = F.upper(F.trim(F.coalesce("state", "state_desc")))
    state = described
    for name, code in STATES.items():
        state = F.when(described == name, F.lit(code)).otherwise(state)
    return state


def validate_queue_events(view: DataFrame, queues: DataFrame) -> DataFrame:
    """Judge the rows of views of monitors or tasks.

    Args:
        view: their rows, with `names`, `reasons`, and `own_id`, the number of the database; null if it
            is not known.
        queues: (names, queue_id, queue); few.

    Returns:
        The same rows with `queue`, and reasons added where there were none; without those of other databases,
        for the views are of the whole server.
    """
    view = view.where(F.coalesce(F.col("database_id") == F.col("own_id"), F.lit(True)))
    rows = F.broadcast(queues).join(view, ["names", "queue_id"], "right")
    rows = rows.withColumn("queue", F.coalesce("queue_name", "queue"))
    return _with_reasons(rows, {"unknown_queue": F.col("queue").isNull()})


def _repeated_handles(view: DataFrame) -> DataFrame:
    """The handles that several rows of a snapshot have, unique, with `is_repeated`: few, if any.

    A hash of 8 bytes finds candidates; only candidates are compared by all columns.
    """
    key = ("snapshot", HANDLE)
    handles = view.select(*key, row_hash(*map(F.col, key)).alias("identity"))
    shared = handles.groupBy("identity").agg(F.count(F.lit(1)).alias("rows")).where("rows > 1")
    several = handles.join(shared, "identity", "left_semi").groupBy(*key).agg(F.count(F.lit(1)).alias("rows"))
    return several.where("rows > 1").select(*key, F.lit(True).alias("is_repeated"))


def find_equal_rows(rows: DataFrame) -> DataFrame:
    """The rows of endpoints that stand in their view several times, equal in all columns.

    A scan at READ UNCOMMITTED can give a row twice.

    Args:
        rows: `validate_endpoints` of several views, with `REPEATED_KEY`.

    Returns:
        One row each, without reasons, with `rows`, how many there are. A handle with different rows has none.
    """
    flagged = rows.where(F.col("reasons") == REPEATED).drop("reasons")
    key, each = list(REPEATED_KEY), flagged.distinct()
    times = flagged.groupBy(*key).agg(F.count(F.lit(1)).alias("rows"))
    alike = each.groupBy(*key).agg(F.count(F.lit(1)).alias("kinds")).where("kinds = 1").select(*key)
    return (
        each.join(times, key, "inner")
        .join(alike, key, "left_semi")
        .withColumn("reasons", F.lit(None).cast("string"))
    )


def _with_reasons(rows: DataFrame, verdicts: Mapping[str, Column]) -> DataFrame:
    """Add reasons where a row has none yet."""
    wrong = F.concat_ws(",", *[F.when(flag, F.lit(name)) for name, flag in verdicts.items()])
    return rows.withColumn("reasons", F.coalesce("reasons", F.nullif(wrong, F.lit(""))))

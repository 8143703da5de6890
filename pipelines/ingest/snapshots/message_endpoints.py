"""Endpoints that only their messages show: rows of queues, without a view of endpoints.

Such a row names the handle, group, level, service and contract of the endpoint that receives or sends it. It
does not say which conversation that is, so the handle stands for the conversation; nor on which side the
endpoint is: one that receives counts as the target, one that only sends as the initiator.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.ingest.snapshots.event_rows import event_rows, seen_in
from pipelines.ingest.snapshots.view_events import row_id
from pipelines.server.snapshots.places import OWN
from pipelines.server.snapshots.views import READY
from pipelines.state.events_before import just_before
from schemas.events import CREATIONS, ENDPOINT_FACTS

ATTRIBUTES = ("group", "contract", "local_service", "remote_service", "level")
ENDING = "endpoint"
"""What the ids of such rows end with."""
UNKNOWN_SERVICE = ""
"""The far service of a receiver: no column of a queue names the sender."""


def endpoints_of_messages(ready: DataFrame | None, waiting: DataFrame | None) -> DataFrame:
    """The endpoints of messages in snapshots that have no view of endpoints.

    Args:
        ready: rows of queues; None if there are none.
        waiting: rows of transmission queues; None if there are none. One of both is given.

    Returns:
        Rows of `endpoint_events` without batch: a creation just before the snapshot for each handle whose
        rows name service, contract and level. A sender without rows in a queue has its handle for a group.
    """
    sides = []
    if ready is not None:
        sides.append(
            ready.where(F.col("status") == READY).select(
                *_common("service_name", is_initiator=False),
                F.col("conversation_group_id").alias("group"),
                F.lit(UNKNOWN_SERVICE).alias("remote_service"),
            )
        )
    if waiting is not None:
        sides.append(
            waiting.select(
                *_common("from_service_name", is_initiator=True),
                F.lit(None).cast("string").alias("group"),
                F.col("to_service_name").alias("remote_service"),
            )
        )
    rows = reduce(DataFrame.unionByName, sides)
    key = ("instance", "database", "taken_at", "conversation_handle")
    each = rows.groupBy(*key).agg(
        F.min("is_initiator").alias("is_initiator"),
        F.min("view").alias("view"),
        *[F.max(name).alias(name) for name in (*OWN, *ATTRIBUTES)],
    )
    is_known = [F.col(name).isNotNull() for name in ("contract", "local_service", "remote_service")]
    known = each.where(reduce(Column.__and__, is_known) & F.col("level").between(1, 10))
    return event_rows(
        known,
        ENDPOINT_FACTS,
        "is_initiator",
        "conversation_handle",
        "contract",
        "local_service",
        "remote_service",
        **seen_in(),
        event_id=row_id(F.col("conversation_handle"), F.lit(ENDING)),
        event_time=just_before("taken_at"),
        event_type=F.when(F.col("is_initiator"), "BEGIN_DIALOG").otherwise("DIALOG_CREATED"),
        conversation_id=F.col("conversation_handle"),
        conversation_group_id=F.coalesce("group", "conversation_handle"),
        logged_priority=F.col("level").cast("int"),
    )


def without_known(conversations: DataFrame, others: DataFrame) -> DataFrame:
    """Leave out the endpoints of messages that are known by their conversation.

    Args:
        conversations: rows of `endpoint_events` that snapshots show.
        others: rows of `endpoint_events`, which may know endpoints by handle.

    Returns:
        `conversations` without creations that `endpoints_of_messages` made of a handle that another creation
        of the instance has.
    """
    is_made = made_of_messages()
    key = ["instance", "conversation_handle"]
    made = conversations.where(is_made)
    known = (
        others.where(F.col("event_type").isin(*CREATIONS) & ~is_made)
        .select(*key)
        .join(made.select(*key).distinct(), key, "left_semi")
        .distinct()
    )
    unknown = made.join(known, key, "left_anti")
    return conversations.where(~is_made).unionByName(unknown)


def made_of_messages() -> Column:
    """Whether a row of `endpoint_events` is one of `endpoints_of_messages`."""
    return F.col("event_id").startswith("snapshot/") & F.col("event_id").endswith(f"/{ENDING}")


def _common(service: str, *, is_initiator: bool) -> list[Column]:
    return [
        *map(F.col, ("instance", "database", *OWN, "taken_at", "view", "conversation_handle")),
        F.lit(is_initiator).alias("is_initiator"),
        F.col("service_contract_name").alias("contract"),
        F.col(service).alias("local_service"),
        F.col("priority").alias("level"),
    ]

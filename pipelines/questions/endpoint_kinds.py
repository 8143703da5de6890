"""Endpoints counted by what rules ask for; from these few rows the lint goes on in plain Python."""

from datetime import datetime

from pyspark.sql import DataFrame, functions as F

NAMES = ("instance", "database", "contract", "local_service", "remote_service")


def endpoint_kinds(endpoints: DataFrame, *, before: datetime | None) -> DataFrame:
    """Count the endpoints of each kind.

    Args:
        endpoints: the `endpoints` table; five columns of names and created_at are read.
        before: only endpoints created before it count; None counts all.

    Returns:
        instance, database, contract, local_service, remote_service (the key) and `endpoints`.
    """
    counted = endpoints if before is None else endpoints.where(F.col("created_at") < F.lit(before))
    return counted.groupBy(*NAMES).agg(F.count(F.lit(1)).alias("endpoints"))


def queued_before(
    endpoints: DataFrame, received: DataFrame, transmitted: DataFrame, changes: DataFrame
) -> DataFrame:
    """Count the endpoints with open messages that are older than their database's last change of rules.

    Args:
        endpoints: the `endpoints` rows that may have open messages.
        received: `receive_schedule` of one as_of; a message is its receiving endpoint's.
        transmitted: `transmission_schedule` of the same as_of; a message is its sending endpoint's.
        changes: (instance, database, changed_at), one row a database, few.

    Returns:
        instance, database, contract, local_service, remote_service, priority (the key), `endpoints`,
        and `oldest`, the first created_at among them.
    """
    sent = transmitted.where("not forwarded").withColumnRenamed("sent_by_initiator", "is_initiator")
    key = ["conversation_id", "is_initiator"]
    queued = received.select(*key).union(sent.select(*key)).distinct()
    return (
        endpoints.join(F.broadcast(changes), ["instance", "database"])
        .where("created_at < changed_at")
        .join(queued, key, "left_semi")
        .groupBy(*NAMES, "priority")
        .agg(F.count(F.lit(1)).alias("endpoints"), F.min("created_at").alias("oldest"))
    )

"""The queue that a service is bound to."""

from pyspark.sql import DataFrame, functions as F


def with_queue(endpoints: DataFrame, bindings: DataFrame) -> DataFrame:
    """Add the queue of each endpoint's local service.

    Args:
        endpoints: any frame with instance, database and local_service; any grain.
        bindings: the catalog's (instance, database, service, queue), unique by the first three.

    Returns:
        The same rows with `queue`, null where the catalog has no such service.
    """
    # The small side stands on the left: the embedded engine holds that one in memory.
    lookup = F.broadcast(bindings.withColumnRenamed("service", "local_service"))
    return lookup.join(endpoints, ["instance", "database", "local_service"], "right")

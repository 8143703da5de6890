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
    lookup = F.broadcast(bindings.withColumnRenamed("service", "local_service"))
    return endpoints.join(lookup, ["instance", "database", "local_service"], "left")

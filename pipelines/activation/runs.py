"""The rows of the table `activation`."""

from pyspark.sql import DataFrame, functions as F

from schemas.keys import QUEUE

MOMENTS = ("first_check", "last_check", "until")


def activation(replayed: DataFrame, monitors: DataFrame) -> DataFrame:
    """Name the queues of the runs.

    Args:
        replayed: see `pipelines.activation.workers.replayed`.
        monitors: (queue_number, instance, database, queue, mode, ...), unique by the first.

    Returns:
        The `activation` table without as_of.
    """
    runs = replayed.where("ordinal > 0").select("queue_number", "ordinal", "run.*")
    named = runs.join(F.broadcast(monitors.select("queue_number", *QUEUE, "mode")), "queue_number", "inner")
    return named.withColumns({name: F.timestamp_micros(name) for name in MOMENTS}).drop("queue_number")

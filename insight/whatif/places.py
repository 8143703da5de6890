"""Queues and instances whose orders a proposal may change: only these are numbered anew."""

from dataclasses import dataclass

from pyspark.sql import DataFrame, functions as F

from pipelines.schedules.orders import Orders
from pipelines.state.endpoints import SIDE
from schemas.keys import QUEUE


def changed_places(before: DataFrame, after: DataFrame) -> DataFrame:
    """The queues with an endpoint that has open messages and another level.

    Args:
        before: endpoints with open messages, with `queue` and `priority`.
        after: the same with the proposed `priority`.

    Returns:
        instance, database, queue, unique; the queue is null where no queue is bound to the service.
    """
    proposed = after.select(*SIDE, F.col("priority").alias("proposed"))
    return before.join(proposed, list(SIDE)).where("priority <> proposed").select(*QUEUE).distinct()


def messages_of(messages: DataFrame, forwarding: DataFrame, places: DataFrame) -> DataFrame:
    """The messages that the orders of these places need.

    Args:
        messages: `placed_messages`.
        forwarding: `state.forwarding`: an instance may forward messages of others.
        places: `changed_places`.
    """
    queues = places.select(*(F.col(name).alias(f"receiver_{name}") for name in QUEUE))
    instances = places.select(F.col("instance").alias("sender_instance")).distinct()
    forwarded = forwarding.select("message_id").distinct()
    marked = messages
    for number, needed in enumerate((F.broadcast(queues), F.broadcast(instances), forwarded)):
        marked = marked.join(needed.withColumn(f"needed_{number}", F.lit(True)), needed.columns, "left")
    return marked.where("needed_0 or needed_1 or needed_2").drop("needed_0", "needed_1", "needed_2")


@dataclass(frozen=True)
class Anew:
    """Orders that were made anew.

    Attributes:
        orders: by the proposal.
        places: `changed_places`, the only ones whose orders these are; None if they are of all places.
    """

    orders: Orders
    places: DataFrame | None

    def over(self, before: Orders) -> Orders:
        """The orders before, with these in place of those of the same places."""
        if self.places is None:
            return self.orders
        instances = self.places.select("instance").distinct()
        return Orders(
            groups=_merged(before.groups, self.orders.groups, self.places),
            received=_merged(before.received, self.orders.received, self.places),
            sent=_merged(before.sent, self.orders.sent, instances),
        )


def _merged(before: DataFrame, anew: DataFrame, of: DataFrame) -> DataFrame:
    stays = before.join(F.broadcast(of), of.columns, "left_anti")
    comes = anew.join(F.broadcast(of), of.columns, "left_semi")
    return stays.unionByName(comes)

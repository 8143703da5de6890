"""The moments of a message, as expressions over the columns of its conversation.

Turn k of a conversation is sent at a moment that only depends on the conversation and k, and a message is
received shortly before the reply to it is sent. So no turn has to know how the turn before it went.

Expressions that use a moment several times take the name of a column: an expression in its place would be
computed several times, and nested ones exponentially often.
"""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.generate.plan import BATCH, Plan
from pipelines.generate.world import SECOND

CATCH_UP = 20
"""What came in while a queue was off is worked off so many times faster than it came."""


def planned(plan: Plan, turn: Column) -> Column:
    """When a turn is sent if nothing is in its way."""
    drift = plan.volume.draws.uniform("turn", F.col("c"), turn) * 0.3
    return F.col("begin") + F.floor(F.col("pace") * (turn + drift)) + 3_000


def reopened(moment: str) -> Column:
    """The moment at which the target queue lets something happen: itself, or after the queue was off."""
    off, until = F.col("off_from"), F.col("off_until")
    return (
        F.when(off.isNull() | (F.col(moment) < off), F.col(moment))
        .when(F.col(moment) < until, until + F.floor((F.col(moment) - off) / CATCH_UP))
        .otherwise(F.col(moment) + F.floor((until - off) / CATCH_UP))
    )


def with_moments(frame: DataFrame, plan: Plan) -> DataFrame:
    """Add the moments of the turns, as if every turn came to be and was taken.

    Args:
        frame: conversations with `turn`.
        plan: how much of what.

    Returns:
        `frame` with `by_initiator` (the direction), `batch` and `last_of_batch` (the first and the last turn
        that one RECEIVE takes), `answered` (the next turn is the reply to this one), `sent_at`,
        `next_sent_at` (of the reply, else null), `arrives_at`, `batch_ready` (the last one of the batch has
        arrived) and `taken_at`.
    """
    c, turn, draws = F.col("c"), F.col("turn"), plan.volume.draws
    to_target = F.col("by_initiator")
    frame = frame.withColumn("by_initiator", _by_initiator(turn))
    frame = frame.withColumns(
        {"batch": _batch(turn), "last_of_batch": _last_of_batch(turn), "answered": _answered(turn)}
    )
    frame = frame.withColumns(
        {
            "planned": planned(plan, turn),
            "next_planned": F.when(F.col("answered"), planned(plan, turn + 1)),
            "last_planned": F.when(F.col("last_of_batch") > turn, planned(plan, F.col("last_of_batch"))),
        }
    )
    waits_for_turn = F.col("alternates") & (turn > 0)
    frame = frame.withColumns(
        {
            "sent_at": F.when(waits_for_turn, reopened("planned")).otherwise(F.col("planned")),
            "next_sent_at": reopened("next_planned"),
        }
    )
    frame = frame.withColumns(
        {
            "reaches_at": F.col("sent_at") + F.col("way"),
            "last_reaches_at": F.coalesce("last_planned", "sent_at") + F.col("way"),
        }
    )
    frame = frame.withColumns(
        {
            "arrives_at": F.when(to_target, reopened("reaches_at")).otherwise(F.col("reaches_at")),
            "batch_ready": F.when(to_target, reopened("last_reaches_at")).otherwise(F.col("last_reaches_at")),
        }
    )
    lag = F.floor(F.col("lag") * (draws.uniform("lag", c, F.col("batch")) + 0.2))
    frame = frame.withColumn("ready_at", F.col("batch_ready") + lag)
    looks = (F.floor(F.col("ready_at") / F.col("poll")) + 1) * F.col("poll") + draws.below(
        2 * SECOND, "poll", c
    )
    frame = frame.withColumn(
        "looks_at", F.when((F.col("poll") > 0) & to_target, looks).otherwise(F.col("ready_at"))
    )
    work = draws.below(18_000, "work", c, turn) + 2_000
    before_reply = F.greatest(F.col("next_sent_at") - work, F.col("arrives_at") + 100)
    alone = F.when(to_target, reopened("looks_at")).otherwise(F.col("looks_at"))
    return frame.withColumn("taken_at", F.when(F.col("answered"), before_reply).otherwise(alone))


def _by_initiator(turn: Column) -> Column:
    """The direction: dialogs alternate, a stream's last message comes back, the backlog goes one way."""
    dialog = F.col("shape") == "dialog"
    stalled = (F.col("pending_from") == 0) | (turn < F.col("pending_from")) | ~dialog
    stream = (F.col("shape") == "oneway") | (turn < F.col("n") - 1)
    return F.when(F.col("stalled"), stalled).when(dialog, F.pmod(turn, F.lit(2)) == 0).otherwise(stream)


def _batch(turn: Column) -> Column:
    """Dialogs are received turn by turn, others several at once."""
    several = (F.col("shape") != "dialog") & F.col("by_initiator")
    return F.when(several, F.floor(turn / BATCH) * BATCH).otherwise(turn)


def _last_of_batch(turn: Column) -> Column:
    goodbye = F.when((F.col("shape") == "stream") & ~F.col("stalled"), 1).otherwise(0)
    last_request = F.greatest(F.col("n") - 1 - goodbye, F.lit(0))
    several = (F.col("shape") != "dialog") & F.col("by_initiator")
    return F.when(several, F.least((F.floor(turn / BATCH) + 1) * BATCH - 1, last_request)).otherwise(turn)


def _answered(turn: Column) -> Column:
    first_of_stalled = (
        (F.col("shape") == "dialog") & (turn == 0) & F.coalesce(F.col("pending_from") == 1, F.lit(False))
    )
    return (F.col("alternates") | first_of_stalled) & (turn < F.col("n") - 1)


def sequence(turn: Column) -> Column:
    """The number of a turn among those of its direction, from 0."""
    to_target = F.col("by_initiator")
    stalled = F.when(to_target, turn).otherwise(turn - F.col("pending_from"))
    one_sided = F.when(to_target, turn).otherwise(turn - F.col("n") + 1)
    return F.when(F.col("stalled"), stalled).when(F.col("alternates"), F.floor(turn / 2)).otherwise(one_sided)

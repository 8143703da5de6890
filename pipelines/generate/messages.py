"""One row per message: where it comes from and goes to, and every moment of its life."""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.generate import timeline
from pipelines.generate.plan import Plan
from pipelines.generate.world import MINUTE, SECOND

SYSTEM_TYPE = "http://schemas.microsoft.com/SQL/ServiceBroker/"

POISON_ATTEMPTS = 5
"""Rollbacks in a row after which the engine switches a queue off."""


def messages(conversations: DataFrame, *, plan: Plan) -> DataFrame:
    """Let the conversations send.

    Returns:
        One row per message of `conversations`, in their order: its turns, then the Error message of a side
        that ended with an error and the DialogTimer message of a conversation timer. Moments that never come
        are null, all of them for a turn that never comes; moments after the end of the log stay.
    """
    n, none = F.col("n"), F.array().cast("array<bigint>")
    turns = F.concat(
        F.sequence(F.lit(0).cast("bigint"), n - 1),
        F.when(F.col("with_error"), F.array(n)).otherwise(none),
        F.when(F.col("timer") & ~(F.coalesce("undelivered_from", F.lit(1)) == 0), F.array(n + 1)).otherwise(
            none
        ),
    )
    frame = conversations.withColumn("turn", F.explode(turns))
    frame = timeline.with_moments(frame, plan)
    frame = _system_messages(frame, plan)
    frame = _only_sent(frame, plan)
    frame = _receiving(frame, plan)
    return _identity(_sides(frame), plan)


def _system_messages(frame: DataFrame, plan: Plan) -> DataFrame:
    """Replace the moments of the messages that are no turns: the Error message and the DialogTimer."""
    n, c = F.col("n"), F.col("c")
    is_turn, is_error = F.col("turn") < n, F.col("turn") == n
    late = F.lit(plan.volume.end_us) - plan.volume.draws.below(10 * MINUTE, "timer at", c)
    timer_at = F.when(F.col("stalled"), F.greatest(F.col("first_arrival") + SECOND, late)).otherwise(
        F.col("sent_at") + SECOND
    )
    error_at = F.col("done_at") - SECOND
    arrives = F.when(is_error, error_at + F.col("way")).otherwise(timer_at)

    def own(name: str, other: Column) -> Column:
        return F.when(is_turn, F.col(name)).otherwise(other)

    frame = frame.withColumn("arrives_at", own("arrives_at", arrives))
    return frame.withColumns(
        {
            "by_initiator": own("by_initiator", ~is_error),
            "answered": F.col("answered") & is_turn,
            "sent_at": own("sent_at", F.when(is_error, error_at)),
            "taken_at": own("taken_at", F.col("arrives_at") + SECOND // 2),
            "batch": own("batch", F.col("turn")),
            "last_of_batch": own("last_of_batch", F.col("turn")),
            "batch_ready": own("batch_ready", F.col("arrives_at")),
        }
    )


def _only_sent(frame: DataFrame, plan: Plan) -> DataFrame:
    """Take the moments from turns that don't come to be: after the cut, or in answer to what nobody took."""
    moment = F.coalesce("sent_at", "arrives_at")
    free = (F.col("turn") == 0) | (F.col("by_initiator") & ~F.col("alternates"))
    answered = F.col("blocked_from").isNull() | (moment < F.col("blocked_from"))
    frame = frame.withColumn("exists", (moment < plan.volume.cut_us) & (free | answered))
    return frame.withColumns(
        {name: F.when(F.col("exists"), F.col(name)) for name in ("sent_at", "arrives_at", "taken_at")}
    )


def _receiving(frame: DataFrame, plan: Plan) -> DataFrame:
    """Add what becomes of the message at its receiver: delivered or not, taken, rolled back, left."""
    c, batch, draws = F.col("c"), F.col("batch"), plan.volume.draws
    to_blocked = F.col("by_initiator") & F.col("blocked_from").isNotNull()
    left = F.col("stalled") & (F.col("turn") >= F.col("pending_from"))
    pending = (
        F.coalesce(left, F.lit(False))
        | F.col("poison")
        | (to_blocked & (F.col("taken_at") >= F.col("blocked_from")))
    )
    held = (F.col("turn") < F.col("n")) & (F.col("turn") >= F.col("undelivered_from"))
    refused = to_blocked & F.col("blocked_off") & (F.col("arrives_at") >= F.col("blocked_from"))
    delivered = ~(F.coalesce(held, F.lit(False)) | F.coalesce(refused, F.lit(False)))
    poison = F.col("poison") & (F.col("turn") == 0)
    while_off = (F.col("batch_ready") < F.col("off_until")) & (F.col("taken_at") >= F.col("off_from"))
    fails = draws.chance(0.03, "fails", c, batch) & ~F.coalesce(while_off, F.lit(False))
    failed = F.when(poison, POISON_ATTEMPTS).when(fails, 1).otherwise(0)
    # pending_from is the beginning of a batch.
    opens = F.col("in_flight") & (batch == F.col("pending_from")) & (F.col("turn") < F.col("n"))
    open_from = F.lit(plan.volume.end_us) - draws.below(8 * MINUTE, "opens", c)
    work = draws.below(25_000, "commit", c, batch) + 2_000
    replied = F.greatest("next_sent_at", "received_at") + 1_000 + F.pmod(work, F.lit(4_000))
    commits = F.when(F.col("answered"), replied).otherwise(F.col("received_at") + work)
    tries = F.col("failed") + 1
    until = F.coalesce("received_at", F.col("batch_ready") + 10 * SECOND * tries)
    return (
        frame.withColumn("arrived_at", F.when(delivered, F.col("arrives_at")))
        .withColumn("received_at", F.when(~F.coalesce(pending, F.lit(False)), F.col("taken_at")))
        .withColumn("failed", F.when(F.col("arrived_at").isNotNull(), failed).otherwise(0))
        .withColumn("attempt_every", F.floor((until - F.col("batch_ready")) / tries))
        .withColumn(
            "open_at",
            F.when(
                opens & F.col("arrived_at").isNotNull(),
                F.greatest(F.col("batch_ready") + 30 * SECOND, open_from),
            ),
        )
        .withColumn("autocommit", draws.chance(plan.volume.autocommit, "autocommit", c, batch))
        .withColumn("committed_at", F.when(~F.col("autocommit"), commits))
    )


def _sides(frame: DataFrame) -> DataFrame:
    """Add the sender's and the receiver's names: instance, database, queue, clock, sessions, group."""
    sides = {}
    for name in ("instance", "database", "skew"):
        sides[f"sender_{name}"] = _either(f"initiator_{name}", f"target_{name}")
    for name in ("instance", "database", "queue", "skew", "session", "readers"):
        sides[f"receiver_{name}"] = _either(f"target_{name}", f"initiator_{name}")
    moved = F.coalesce(F.col("received_at") >= F.col("moves_at"), F.lit(True)) & F.col("moves_at").isNotNull()
    own = F.when(moved, F.col("moved_group")).otherwise(F.col("initiator_group"))
    sides["receiver_group"] = F.when(F.col("by_initiator"), F.col("target_group")).otherwise(own)
    return frame.withColumns(sides)


def _identity(frame: DataFrame, plan: Plan) -> DataFrame:
    """Add the message's id, sequence number, type and size."""
    c, turn, draws = F.col("c"), F.col("turn"), plan.volume.draws
    is_turn = turn < F.col("n")
    said_goodbye = (F.col("shape") == "stream") & ~F.col("by_initiator")
    kind = _either("request_type", "reply_type")
    system = F.when(turn == F.col("n"), SYSTEM_TYPE + "Error").otherwise(SYSTEM_TYPE + "DialogTimer")
    size = F.floor(F.col("size") * (F.pow(draws.uniform("size", c, turn), 3) * 5 + 0.3))
    return (
        frame.withColumn("message_id", draws.uuid("message", c, turn))
        .withColumn("sequence", F.when(is_turn, timeline.sequence(turn)))
        .withColumn(
            "message_type",
            F.when(~is_turn, system).when(said_goodbye, SYSTEM_TYPE + "EndDialog").otherwise(kind),
        )
        .withColumn("size_bytes", F.when(is_turn & ~said_goodbye, size).otherwise(F.lit(0)).cast("bigint"))
    )


def _either(if_by_initiator: str, if_by_target: str) -> Column:
    return F.when(F.col("by_initiator"), F.col(if_by_initiator)).otherwise(F.col(if_by_target))

"""One row per conversation: what kind it is, when it begins, how long it gets, and what becomes of it."""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.generate import clock, timeline
from pipelines.generate.plan import BATCH, LENGTHS, Plan
from pipelines.generate.world import MINUTE, SECOND

HOT_EVERY = 16
"""With a skewed queue every so many-th kind is one that goes to it."""

FINISHED = 0.985
"""Share of the conversations that nothing keeps from ending and that do end."""


def conversations(ids: DataFrame, slots: DataFrame, *, plan: Plan) -> DataFrame:
    """Draw the conversations.

    Args:
        ids: one row per conversation, `id` counting from 0: the drawn ones, then the scenes.
        slots: the table of kinds (`slot`, then the fields of Kind); small, it is broadcast.
        plan: how much of what.

    Returns:
        One row per conversation in the order of `ids`. `c` is its number; times are microseconds since
        the epoch; moments that never come are null.
    """
    frame = ids.select(F.col("id").alias("c")).withColumn("slot", _slot(plan))
    frame = frame.join(F.broadcast(slots), "slot", "inner").drop("slot")
    frame = _length(frame, plan)
    frame = _course(frame, plan)
    frame = _fate(frame, plan)
    return _names(frame, plan)


def hot_kinds(plan: Plan) -> int:
    """How many kinds are reserved for the skewed queue; 0 without a skew."""
    return len(plan.world.kinds) // _hot_step(plan) if _hot_share(plan) > 0 else 0


def _hot_share(plan: Plan) -> float:
    return max(plan.volume.queue_skew, plan.volume.group_skew)


def _hot_step(plan: Plan) -> int:
    return min(HOT_EVERY, len(plan.world.kinds))


def _slot(plan: Plan) -> Column:
    """Which row of the table of kinds: by weight or by a zipf law, the scenes one each."""
    c, draws = F.col("c"), plan.volume.draws
    if plan.world.weights:
        drawn = draws.below(plan.slots, "kind", c)
    else:
        drawn = _zipf(draws.uniform("kind", c), plan.slots, plan.volume.skew)
    if _hot_share(plan) > 0:
        step = _hot_step(plan)
        hot = step * (draws.below(hot_kinds(plan), "hot kind", c) + 1) - 1
        reserved = F.pmod(drawn, F.lit(step)) == step - 1
        cold = F.when(reserved, drawn - 1).otherwise(drawn)
        drawn = F.when(draws.chance(_hot_share(plan), "hot", c), hot).otherwise(cold)
    return F.when(c < plan.drawn, drawn).otherwise(c - plan.drawn + plan.slots)


def _zipf(uniform: Column, ranks: int, exponent: float) -> Column:
    """The rank, from 0, that a bounded power law gives a uniform number: no table, any number of ranks."""
    if abs(exponent - 1) < 1e-9:
        rank = F.pow(F.lit(float(ranks + 1)), uniform)
    else:
        power = 1 - exponent
        rank = F.pow(1 + uniform * ((ranks + 1) ** power - 1), F.lit(1 / power))
    return F.least(F.floor(rank) - 1, F.lit(ranks - 1))


def _length(frame: DataFrame, plan: Plan) -> DataFrame:
    """Add `n`, the messages of the conversation, and whether it is left with its last ones unreceived."""
    c, draws = F.col("c"), plan.volume.draws
    lengths = F.array(*[F.lit(length) for length in LENGTHS])
    drawn = F.get(lengths, F.pmod(c, F.lit(len(LENGTHS))).cast("int"))
    if plan.last_length is not None:
        drawn = F.when(c == plan.drawn - 1, plan.last_length).otherwise(drawn)
    left = draws.chance(F.lit(plan.stalled) * F.col("backlog"), "stalled", c)
    stalled = F.col("stall") | (left & F.col("begin_at").isNull() & ~F.col("poison"))
    answered = draws.chance(plan.answered_first, "answered", c) & (F.col("shape") == "dialog")
    taken = F.when(F.col("stall"), F.floor(F.col("n") / (2 * BATCH)) * BATCH).otherwise(
        answered.cast("bigint")
    )
    return (
        frame.withColumn("n", F.coalesce("messages", drawn).cast("bigint"))
        .withColumn("stalled", stalled)
        .withColumn("pending_from", F.when(F.col("stalled"), taken))
    )


def _course(frame: DataFrame, plan: Plan) -> DataFrame:
    """Add `begin`, `pace` (the time of a turn) and how long a message is on its way."""
    c, draws = F.col("c"), plan.volume.draws
    begin = (
        F.when(F.col("begin_at").isNotNull(), F.col("begin_at"))
        .when(F.col("stalled"), clock.backlog_begin(plan, c))
        .otherwise(clock.begin(plan, c))
    )
    slow = F.when(draws.chance(0.06, "slow", c) & F.col("begin_at").isNull(), 25).otherwise(1)
    pace = F.floor(F.col("gap") * (draws.uniform("pace", c) + 0.5) * slow)
    # What still waits at the end has been sent by then.
    hurried = F.floor((F.lit(plan.volume.end_us) - F.col("begin")) * 0.8 / (F.col("n") + 1))
    remote = F.col("initiator_instance") != F.col("target_instance")
    passed_on = remote & F.col("relay").isNotNull()
    way = F.when(remote, draws.below(60_000, "way", c) + 5_000).otherwise(draws.below(800, "way", c) + 100)
    return (
        frame.withColumn("begin", begin)
        .withColumn("pace", F.when(F.col("stalled"), F.least(pace, hurried)).otherwise(pace))
        .withColumn("remote", remote)
        .withColumn("alternates", (F.col("shape") == "dialog") & ~F.col("stalled"))
        .withColumn("relayed", passed_on)
        .withColumn("way", way + F.when(passed_on, 40_000).otherwise(0))
    )


def _fate(frame: DataFrame, plan: Plan) -> DataFrame:
    """Add what goes wrong, and when each side ends."""
    c, draws = F.col("c"), plan.volume.draws
    first_turn = F.lit(0).cast("bigint")
    outcome = draws.uniform("outcome", c)
    with_error, with_cleanup = outcome < 0.012, (outcome >= 0.012) & (outcome < 0.02)
    last_turn = F.col("last_turn") + F.floor(F.col("lag") * 1.5) + 2 * F.col("poll")
    done = (
        ~F.col("stalled")
        & (F.col("blocked_from").isNull() | (last_turn < F.col("blocked_from")))
        & (outcome < FINISHED)
        & ~F.col("poison")
    )
    undelivered = (
        F.col("remote") & draws.chance(plan.volume.waiting, "waiting", c) & F.col("begin_at").isNull()
    )
    half = F.col("pending_from") + F.floor((F.col("n") - F.col("pending_from")) / 2)
    first = F.when(draws.chance(0.6, "waits whole", c), F.col("pending_from")).otherwise(half)
    # A few give up on what nobody reads: the receiver ends and what waits is gone.
    gives_up = F.col("stalled") & draws.chance(0.01, "gives up", c) & ~F.col("stall")
    fate = draws.uniform("in flight", c)
    refused = F.col("blocked_off") & (F.col("arrives_first") >= F.col("blocked_from"))
    never = F.coalesce(refused, F.lit(False)) | F.coalesce(F.col("undelivered_from") == 0, F.lit(False))
    return (
        frame.withColumns(
            {
                "planned": timeline.planned(plan, F.col("n")),
                "reaches": timeline.planned(plan, first_turn) + F.col("way"),
            }
        )
        .withColumns(
            {"last_turn": timeline.reopened("planned"), "arrives_first": timeline.reopened("reaches")}
        )
        .withColumn("done_at", F.when(done, last_turn))
        .withColumn("with_error", done & with_error & (F.col("n") > 1))
        .withColumn("with_cleanup", (done & with_cleanup) | gives_up)
        .withColumn(
            "gives_up_at", F.when(gives_up, F.lit(plan.volume.end_us) - draws.below(2 * MINUTE, "up", c))
        )
        .withColumn("undelivered_from", F.when(F.col("stalled") & undelivered, first))
        .withColumn(
            "first_arrival",
            F.when(~never, F.col("arrives_first")),
        )
        .withColumn("timer", draws.chance(0.004, "timer", c) & (F.col("n") > 1) & ~F.col("stall"))
        .withColumn("in_flight", F.col("stalled") & (F.col("stall") | (fate < 0.04)))
        .withColumn("locked", F.col("stalled") & ~F.col("stall") & (fate >= 0.04) & (fate < 0.06))
        .withColumn("moves_at", F.when(draws.chance(0.005, "moves", c), F.col("begin") + F.lit(SECOND)))
        .withColumn("created_logged", ~draws.chance(0.08, "creation lost", c) | F.lit(_hot_share(plan) > 0))
        .drop("planned", "reaches", "last_turn", "arrives_first")
    )


def _names(frame: DataFrame, plan: Plan) -> DataFrame:
    """Add the ids of the conversation, its handles and its groups."""
    c, draws = F.col("c"), plan.volume.draws
    block = F.floor(c / F.greatest("group_block", F.lit(1)))
    initiator_group = F.when(F.col("group_block") > 0, draws.uuid("related", F.col("kind"), block)).otherwise(
        draws.uuid("initiator group", c)
    )
    target_group = draws.uuid("target group", c)
    if plan.volume.group_skew > 0:
        # Of the conversations with the skewed queue, those that share its one giant group.
        hot = F.pmod(F.col("kind"), F.lit(_hot_step(plan))) == _hot_step(plan) - 1
        giant = hot & draws.chance(plan.volume.group_skew / _hot_share(plan), "giant", c)
        target_group = F.when(giant, draws.uuid("giant group")).otherwise(target_group)
    return (
        frame.withColumn("conversation_id", draws.uuid("conversation", c))
        .withColumn("initiator_handle", draws.uuid("initiator handle", c))
        .withColumn("target_handle", draws.uuid("target handle", c))
        .withColumn("initiator_group", initiator_group)
        .withColumn("moved_group", F.when(F.col("moves_at").isNotNull(), draws.uuid("moved", c)))
        .withColumn("target_group", target_group)
    )

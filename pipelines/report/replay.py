"""What the page shows of a replay: how long messages waited, and how many, in both scenarios."""

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.replay.tables import OFF, TOO_WIDE, UNKNOWN, find_verdicts
from pipelines.replay.view import WAITS, describe_calibration
from pipelines.report.cells import format_name
from pipelines.report.tables import PageData, PageTable, read_table
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.keys import QUEUE
from schemas.replay import REPLAY_CALIBRATION, REPLAY_MESSAGES, REPLAY_WAITS

WAITS_SHOWN = 200
VERDICTS = 4
LEVELS = 10
SCENARIOS = 2
STEPS = 100
"""Points of a distribution: each stands for an equal share of its messages."""
MOMENTS = 240
"""At which the waiting messages are counted, evenly spread."""


def read_replay_tables(answers: Warehouse) -> dict[str, PageTable]:
    """Read what the page shows of the tables that `priorities replay --out` wrote.

    Returns:
        Tables by name: `replay_waits`, `replay_verdicts` (queues by verdict), `replay_place` (the
        queue whose messages waited longest in sum), and of it `replay_shares` (by scenario and level: which
        share of the messages had started after `seconds`) and `replay_lengths` (messages that wait).
    """
    messages = answers.read(REPLAY_MESSAGES)
    waits = answers.read(REPLAY_WAITS)
    of_queues = find_verdicts(answers.read(REPLAY_CALIBRATION))
    verdicts = of_queues.groupBy("verdict").agg(F.count(F.lit(1)).alias("queues"))
    place = _find_longest_waiting(messages)
    none = PageTable((), [], 0)
    of_place = {"replay_shares": none, "replay_lengths": none}
    if place is not None:
        own = messages
        for name, value in place.items():
            own = own.where(F.col(name) == F.lit(value))
        levels = [F.col("scenario"), F.desc("level"), F.col("seconds"), F.col("share")]
        of_place = {
            "replay_shares": read_table(
                _compute_shares(own), order=levels, limit=SCENARIOS * LEVELS * (STEPS + 2)
            ),
            "replay_lengths": read_table(
                _compute_lengths(own),
                order=[F.col("scenario"), F.col("moment")],
                limit=SCENARIOS * (MOMENTS + 2),
            ),
        }
    return {
        "replay_waits": read_table(
            waits.join(F.broadcast(of_queues), QUEUE, "left")
            .withColumn("verdict", F.coalesce("verdict", F.lit(UNKNOWN)))
            .select(*WAITS.keys),
            order=[*map(F.col, QUEUE), F.desc("level"), F.col("scenario")],
            limit=WAITS_SHOWN,
        ),
        "replay_verdicts": read_table(verdicts, order=[F.col("verdict")], limit=VERDICTS),
        "replay_place": PageTable(QUEUE, [list(place.values())] if place else [], 1 if place else 0),
        **of_place,
    }


def _find_longest_waiting(messages: DataFrame) -> dict[str, str] | None:
    """The queue whose messages waited longest in sum, in either scenario; None if nothing was played."""
    waited = F.unix_micros("started_at") - F.unix_micros("arrived_at")
    sums = messages.groupBy(*QUEUE).agg(
        F.coalesce(F.sum(waited), F.lit(0)).alias("waited"), F.count(F.lit(1)).alias("messages")
    )
    first = collect_rows(sums.orderBy(F.desc("waited"), F.desc("messages"), *QUEUE).select(*QUEUE).limit(1))
    return first[0] if first else None


def _compute_shares(messages: DataFrame) -> DataFrame:
    """Which share of a level's messages had started after `seconds`; messages never started count as left."""
    of_level = Window.partitionBy("scenario", "level")
    seconds = (F.unix_micros("started_at") - F.unix_micros("arrived_at")) / F.lit(1_000_000)
    ranked = messages.select(
        "scenario",
        "level",
        seconds.alias("seconds"),
        F.row_number().over(of_level.orderBy(F.asc_nulls_last(seconds), "message_id")).alias("number"),
        F.count(F.lit(1)).over(of_level).alias("messages"),
        F.count("started_at").over(of_level).alias("served"),
    ).where("seconds is not null")
    step = F.greatest(F.ceil(F.col("served") / F.lit(STEPS)), F.lit(1))
    shown = (F.col("number") % step == 0) | (F.col("number") == F.col("served"))
    share = (F.col("number") / F.col("messages")).alias("share")
    return ranked.where(shown).select("scenario", "level", "seconds", share)


def _compute_lengths(messages: DataFrame) -> DataFrame:
    """How many messages wait at evenly spread moments: arrived, and not started."""
    both = F.array(
        *(
            F.struct(F.unix_micros(name).alias("micros"), F.lit(by).alias("by"))
            for name, by in (("arrived_at", 1), ("started_at", -1))
        )
    )
    steps = messages.select("scenario", F.explode(both).alias("step")).select("scenario", "step.*")
    steps = steps.where("micros is not null")
    [ends] = collect_rows(steps.agg(F.min("micros").alias("first"), F.max("micros").alias("last")))
    width = max(1, -(-(ends["last"] - ends["first"]) // MOMENTS))
    first = F.lit(ends["first"])
    until = first + (F.floor((F.col("micros") - first) / F.lit(width)) + 1) * F.lit(width)
    changed = steps.withColumn("until", until).groupBy("scenario", "until").agg(F.sum("by").alias("by"))
    so_far = Window.partitionBy("scenario").orderBy("until")
    moment = F.timestamp_micros("until").alias("moment")
    return changed.select("scenario", moment, F.sum("by").over(so_far).alias("waiting"))


def describe_verdicts(data: PageData) -> str:
    """Say how far the scenario actual follows the log."""
    queues = {row["verdict"]: row["queues"] for row in data.rows("replay_verdicts")}
    counts = [queues.get(name, 0) for name in (OFF, UNKNOWN, TOO_WIDE)]
    told = describe_calibration(sum(queues.values()), *counts)
    return f"{told[:1].upper()}{told[1:]}."


def describe_pictures(data: PageData) -> tuple[str, str, str] | None:
    """Return the queue of the pictures, and the captions of shares and of lengths; None without messages."""
    for place in data.rows("replay_place"):
        queue, instance, database = (format_name(place[key]) for key in ("queue", "instance", "database"))
        return (
            queue,
            f"{queue} of {instance} · {database}, where messages waited longest in sum. Which share of a "
            "level's messages a reader had taken after so long; each ten times as long is as wide. "
            f"{_describe_lines(data, 'replay_shares')} A line that ends below 100% left messages waiting.",
            "Messages of the same queue that have arrived and no reader has taken. "
            f"{_describe_lines(data, 'replay_lengths')}",
        )
    return None


def _describe_lines(data: PageData, name: str) -> str:
    if len({row["scenario"] for row in data.rows(name)}) > 1:
        return "Dashed: as it was (actual); drawn through: the proposal."
    return "The scenario actual: the log's own rules."

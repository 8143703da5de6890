"""When conversations begin: a working day with an evening, and a backlog from the last hours."""

from pyspark.sql import Column, functions as F

from pipelines.generate.plan import Plan
from pipelines.generate.world import DAY, HOUR, MINUTE

HOURLY = (1, 1, 1, 1, 1, 2, 4, 7, 10, 12, 12, 11, 9, 10, 11, 11, 10, 9, 8, 8, 9, 8, 5, 2)
"""How many conversations begin in each hour of a day, relative to each other."""

STEPS = 96
"""Pieces of the day's curve; between them it is a line."""


def begin(plan: Plan, conversation: Column) -> Column:
    """When a drawn conversation begins, in microseconds; later conversations begin later."""
    draws, volume = plan.volume.draws, plan.volume
    day_share = (conversation + draws.uniform("begin", conversation)) * (volume.days / plan.drawn)
    day = F.least(F.floor(day_share), F.lit(volume.days - 1))
    step = (day_share - day) * STEPS
    whole = F.greatest(F.least(F.floor(step), F.lit(STEPS - 1)), F.lit(0))
    quantiles = F.array(*[F.lit(moment) for moment in _quantiles()])
    before, after = (F.get(quantiles, (whole + add).cast("int")) for add in (0, 1))
    within = before + (step - whole) * (after - before)
    return F.lit(volume.start_us) + day * DAY + F.floor(within)


def backlog_begin(plan: Plan, conversation: Column) -> Column:
    """When a conversation begins whose messages still wait at the end: in the last hours, mostly late."""
    ago = F.pow(plan.volume.draws.uniform("backlog begin", conversation), 1.3) * (5 * HOUR)
    return F.lit(plan.volume.end_us - 5 * MINUTE) - F.floor(ago)


def _quantiles() -> list[int]:
    """The time of day, in microseconds, by which each share of the day's conversations has begun."""
    total, moments, hour, begun = sum(HOURLY), [], 0, 0.0
    for step in range(STEPS):
        wanted = total * step / STEPS
        while begun + HOURLY[hour] <= wanted:
            begun += HOURLY[hour]
            hour += 1
        moments.append(int(hour * HOUR + (wanted - begun) / HOURLY[hour] * HOUR))
    return [*moments, DAY]

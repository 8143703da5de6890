"""The begins of conversations: a working day with an evening, and a backlog from the last hours."""

import numpy as np

from dev.generator.frame import Array
from dev.generator.plan import Plan
from dev.generator.power import floor_of_power
from dev.generator.world import DAY, HOUR, MINUTE

HOURLY = (1, 1, 1, 1, 1, 2, 4, 7, 10, 12, 12, 11, 9, 10, 11, 11, 10, 9, 8, 8, 9, 8, 5, 2)
"""Weights of the hours of a day by the conversations that begin in them."""

STEPS = 96
"""Pieces of the day's curve; between them it is a line."""


def begin(plan: Plan, conversation: Array) -> Array:
    """The begin of a drawn conversation, in microseconds; conversations are in the order of their begins."""
    draws, volume = plan.volume.draws, plan.volume
    day_share = (conversation + draws.uniform("begin", conversation)) * (volume.days / plan.drawn)
    day = np.minimum(day_share.astype(np.int64), volume.days - 1)
    step = (day_share - day) * STEPS
    whole = np.clip(step.astype(np.int64), 0, STEPS - 1)
    quantiles = np.array(_quantiles())
    within = quantiles[whole] + (step - whole) * (quantiles[whole + 1] - quantiles[whole])
    moment: Array = volume.start_us + day * DAY + within.astype(np.int64)
    return moment


def backlog_begin(plan: Plan, conversation: Array) -> Array:
    """The begin of a conversation whose messages still wait at the end: in the last hours, mostly late."""
    ago = floor_of_power(plan.volume.draws.uniform("backlog begin", conversation), 1.3, times=5 * HOUR)
    return plan.volume.end_us - 5 * MINUTE - ago


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

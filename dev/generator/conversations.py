"""One row per conversation: what kind it is, when it begins, how long it gets, and what becomes of it."""

import numpy as np

from dev.generator import clock, timeline
from dev.generator.frame import NEVER, Array, Frame, comes
from dev.generator.names import NO_NAME
from dev.generator.plan import BATCH, LENGTHS, Plan
from dev.generator.world import MINUTE, SECOND

FINISHED = 0.985
"""Share of the conversations that nothing keeps from ending and that do end."""


def conversations(numbers: Array, *, plan: Plan) -> Frame:
    """Draw conversations.

    Args:
        numbers: which ones, counting from 0: the drawn ones, then the scenes.
        plan: how much of what.

    Returns:
        One row per conversation in the order of `numbers`, with its kind as parent. `c` is its number;
        times are microseconds since the epoch; moments that never come are NEVER.
    """
    frame = plan.world.kind_table.children(plan.world.slots[_slot(numbers, plan)], c=numbers)
    for shape in ("dialog", "stream", "oneway"):
        frame[shape] = frame["shape"] == plan.world.names.code(shape)
    _add_length(frame, plan)
    _add_course(frame, plan)
    _add_fate(frame, plan)
    _add_names(frame, plan)
    return frame


def _slot(c: Array, plan: Plan) -> Array:
    """The slots of conversations: by weight or by a Zipf law; each scene has one."""
    draws = plan.volume.draws
    if plan.world.weights:
        drawn = draws.below(plan.slots, "kind", c)
    else:
        drawn = _zipf(draws.uniform("kind", c), plan.slots, plan.volume.skew)
    return np.where(c < plan.drawn, drawn, c - plan.drawn + plan.slots)


def _zipf(uniform: Array, ranks: int, exponent: float) -> Array:
    """The rank, from 0, that a bounded power law gives a uniform number: no table, any number of ranks."""
    if abs(exponent - 1) < 1e-9:
        rank = np.power(float(ranks + 1), uniform)
    else:
        power = 1 - exponent
        rank = np.power(1 + uniform * ((ranks + 1) ** power - 1), 1 / power)
    return np.minimum(rank.astype(np.int64) - 1, ranks - 1)


def _add_length(frame: Frame, plan: Plan) -> None:
    """Add `n`, the messages of the conversation, and whether it is left with its last ones unreceived."""
    c, draws = frame["c"], plan.volume.draws
    drawn = np.array(LENGTHS)[c % len(LENGTHS)]
    if plan.last_length is not None:
        drawn = np.where(c == plan.drawn - 1, plan.last_length, drawn)
    frame["n"] = np.where(comes(frame["messages"]), frame["messages"], drawn)
    left = draws.chance(plan.stalled * frame["backlog"], "stalled", c)
    frame["stalled"] = frame["stall"] | (left & ~comes(frame["begin_at"]) & ~frame["poison"])
    answered = draws.chance(plan.answered_first, "answered", c) & frame["dialog"]
    taken = np.where(frame["stall"], frame["n"] // (2 * BATCH) * BATCH, answered)
    frame["pending_from"] = np.where(frame["stalled"], taken, NEVER)


def _add_course(frame: Frame, plan: Plan) -> None:
    """Add `begin`, `pace` (the time of a turn) and how long a message is on its way."""
    c, draws, scripted = frame["c"], plan.volume.draws, comes(frame["begin_at"])
    begin = np.where(frame["stalled"], clock.backlog_begin(plan, c), clock.begin(plan, c))
    frame["begin"] = np.where(scripted, frame["begin_at"], begin)
    slow = np.where(draws.chance(0.06, "slow", c) & ~scripted, 25, 1)
    pace = (frame["gap"] * (draws.uniform("pace", c) + 0.5) * slow).astype(np.int64)
    # What still waits at the end has been sent by then.
    hurried = np.floor((plan.volume.end_us - frame["begin"]) * 0.8 / (frame["n"] + 1)).astype(np.int64)
    frame["pace"] = np.where(frame["stalled"], np.minimum(pace, hurried), pace)
    frame["remote"] = remote = frame["initiator_instance"] != frame["target_instance"]
    frame["alternates"] = frame["dialog"] & ~frame["stalled"]
    frame["relayed"] = remote & (frame["relay"] != NO_NAME)
    way = np.where(remote, draws.below(60_000, "way", c) + 5_000, draws.below(800, "way", c) + 100)
    frame["way"] = way + np.where(frame["relayed"], 40_000, 0)


def _add_fate(frame: Frame, plan: Plan) -> None:
    """Add what goes wrong, and when each side ends."""
    c, n, draws = frame["c"], frame["n"], plan.volume.draws
    stalled, stall, pending_from = frame["stalled"], frame["stall"], frame["pending_from"]
    planned_last, planned_first = (timeline.planned(frame, turn, plan) for turn in (n, np.zeros_like(n)))
    last_turn = timeline.reopened(frame, planned_last)
    last_turn = last_turn + (frame["lag"] * 1.5).astype(np.int64) + 2 * frame["poll"]
    arrives_first = timeline.reopened(frame, planned_first + frame["way"])
    outcome = draws.uniform("outcome", c)
    done = ~stalled & (last_turn < frame["blocked_from"]) & (outcome < FINISHED) & ~frame["poison"]
    frame["done_at"] = np.where(done, last_turn, NEVER)
    frame["with_error"] = done & (outcome < 0.012) & (n > 1)
    # A few receivers end although messages wait, which removes the messages.
    gives_up = stalled & draws.chance(0.01, "gives up", c) & ~stall
    frame["with_cleanup"] = (done & (outcome >= 0.012) & (outcome < 0.02)) | gives_up
    up_at = plan.volume.end_us - draws.below(2 * MINUTE, "up", c)
    frame["gives_up_at"] = np.where(gives_up, up_at, NEVER)
    waiting = draws.chance(plan.volume.waiting, "waiting", c) & ~comes(frame["begin_at"])
    half = pending_from + (n - pending_from) // 2
    first = np.where(draws.chance(0.6, "waits whole", c), pending_from, half)
    frame["undelivered_from"] = np.where(stalled & frame["remote"] & waiting, first, NEVER)
    refused = frame["blocked_off"] & (arrives_first >= frame["blocked_from"])
    never = refused | (frame["undelivered_from"] == 0)
    frame["first_arrival"] = np.where(never, NEVER, arrives_first)
    frame["timer"] = draws.chance(0.004, "timer", c) & (n > 1) & ~stall
    fate = draws.uniform("in flight", c)
    frame["in_flight"] = stalled & (stall | (fate < 0.04))
    frame["locked"] = stalled & ~stall & (fate >= 0.04) & (fate < 0.06)
    frame["moves_at"] = np.where(draws.chance(0.005, "moves", c), frame["begin"] + SECOND, NEVER)
    frame["created_logged"] = ~draws.chance(0.08, "creation lost", c)


def _add_names(frame: Frame, plan: Plan) -> None:
    """Add the ids of the conversation, its handles and its groups."""
    c, draws = frame["c"], plan.volume.draws
    shared = frame["group_block"] > 0
    block = c // np.maximum(frame["group_block"], 1)
    frame["conversation_id"] = draws.id("conversation", c)
    frame["initiator_handle"] = draws.id("initiator handle", c)
    frame["target_handle"] = draws.id("target handle", c)
    frame["initiator_group"] = np.where(
        shared[:, None], draws.id("related", frame["kind"], block), draws.id("initiator group", c)
    )
    frame["moved_group"] = draws.id("moved", c)
    frame["target_group"] = draws.id("target group", c)

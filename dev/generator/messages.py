"""One row per message: where it comes from and goes to, and every moment of its life."""

import numpy as np

from dev.generator import timeline
from dev.generator.frame import NEVER, Array, Frame, comes
from dev.generator.plan import Plan
from dev.generator.world import MINUTE, SECOND

SYSTEM_TYPE = "http://schemas.microsoft.com/SQL/ServiceBroker/"

POISON_ATTEMPTS = 5
"""Rollbacks in a row after which the engine switches a queue off."""


def messages(conversations: Frame, *, plan: Plan) -> Frame:
    """Let conversations send.

    Returns:
        One row per message, with its conversation as parent and in their order: the conversation's turns,
        then the Error message of a side that ended with an error and the DialogTimer message of a
        conversation timer. Moments that never come are NEVER, all of them for a turn that never comes;
        moments after the end of the log stay.
    """
    frame = _turns(conversations)
    timeline.add_moments(frame, plan)
    _replace_system_messages(frame, plan)
    _leave_only_sent(frame, plan)
    _add_receiving(frame, plan)
    _add_sides(frame)
    _add_identity(frame, plan)
    return frame


def _turns(conversations: Frame) -> Frame:
    """Turn n is the Error message, turn n + 1 the DialogTimer."""
    n, has_error = conversations["n"], conversations["with_error"]
    has_timer = conversations["timer"] & (conversations["undelivered_from"] != 0)
    count = n + has_error + has_timer
    of = np.repeat(np.arange(len(n)), count)
    position = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
    without_error = (position == n[of]) & ~has_error[of]
    return conversations.children(of, turn=position + without_error)


def _replace_system_messages(frame: Frame, plan: Plan) -> None:
    """Replace the moments of the messages that are no turns: the Error message and the DialogTimer."""
    n, turn, first_arrival = frame["n"], frame["turn"], frame["first_arrival"]
    is_turn, is_error = turn < n, turn == n
    late = plan.volume.end_us - plan.volume.draws.below(10 * MINUTE, "timer at", frame["c"])
    late = np.where(comes(first_arrival), np.maximum(first_arrival + SECOND, late), late)
    timer_at = np.where(frame["stalled"], late, frame["sent_at"] + SECOND)
    error_at = frame["done_at"] - SECOND
    arrives_at = np.where(is_error, error_at + frame["way"], timer_at)
    replacements = {
        "by_initiator": ~is_error,
        "sent_at": np.where(is_error, error_at, NEVER),
        "arrives_at": arrives_at,
        "taken_at": arrives_at + SECOND // 2,
        "batch": turn,
        "last_of_batch": turn,
        "batch_ready": arrives_at,
    }
    for name, replacement in replacements.items():
        frame[name] = np.where(is_turn, frame[name], replacement)
    frame["answered"] = frame["answered"] & is_turn


def _leave_only_sent(frame: Frame, plan: Plan) -> None:
    """Remove the moments of turns that do not take place: after the cut, or as answers to unread messages."""
    moment = np.where(comes(frame["sent_at"]), frame["sent_at"], frame["arrives_at"])
    free = (frame["turn"] == 0) | (frame["by_initiator"] & ~frame["alternates"])
    exists = (moment < plan.volume.cut_us) & (free | (moment < frame["blocked_from"]))
    for name in ("sent_at", "arrives_at", "taken_at"):
        frame[name] = np.where(exists, frame[name], NEVER)


def _add_receiving(frame: Frame, plan: Plan) -> None:
    """Add what becomes of the message at its receiver: delivered or not, taken, rolled back, left."""
    c, turn, batch, draws = frame["c"], frame["turn"], frame["batch"], plan.volume.draws
    taken_at, arrives_at, blocked_from = frame["taken_at"], frame["arrives_at"], frame["blocked_from"]
    is_turn = turn < frame["n"]
    pending = (
        (frame["stalled"] & (turn >= frame["pending_from"]))
        | frame["poison"]
        | (frame["by_initiator"] & (taken_at >= blocked_from))
    )
    held = is_turn & (turn >= frame["undelivered_from"])
    refused = frame["by_initiator"] & frame["blocked_off"] & (arrives_at >= blocked_from)
    frame["arrived_at"] = arrived_at = np.where(held | refused, NEVER, arrives_at)
    frame["received_at"] = received_at = np.where(pending, NEVER, taken_at)
    _add_attempts(frame, plan)
    # pending_from is the beginning of a batch.
    opens = frame["in_flight"] & (batch == frame["pending_from"]) & is_turn & comes(arrived_at)
    open_from = plan.volume.end_us - draws.below(8 * MINUTE, "opens", c)
    open_at = np.maximum(frame["batch_ready"] + 30 * SECOND, open_from)
    frame["open_at"] = np.where(opens, open_at, NEVER)
    frame["autocommit"] = draws.chance(plan.volume.autocommit, "autocommit", c, batch)
    work = draws.below(25_000, "commit", c, batch) + 2_000
    reply = np.maximum(frame["next_sent_at"], np.where(comes(received_at), received_at, 0))
    commits = np.where(frame["answered"], reply + 1_000 + work % 4_000, received_at + work)
    frame["committed_at"] = np.where(frame["autocommit"], NEVER, commits)


def _add_attempts(frame: Frame, plan: Plan) -> None:
    """Add how often receiving the message is rolled back first, and the time between the attempts."""
    batch_ready, received_at = frame["batch_ready"], frame["received_at"]
    poison = frame["poison"] & (frame["turn"] == 0)
    while_off = (batch_ready < frame["off_until"]) & (frame["taken_at"] >= frame["off_from"])
    fails = plan.volume.draws.chance(0.03, "fails", frame["c"], frame["batch"]) & ~while_off
    failed = np.where(poison, POISON_ATTEMPTS, fails)
    frame["failed"] = np.where(comes(frame["arrived_at"]), failed, 0)
    tries = frame["failed"] + 1
    until = np.where(comes(received_at), received_at, batch_ready + 10 * SECOND * tries)
    frame["attempt_every"] = (until - batch_ready) // tries


def _add_sides(frame: Frame) -> None:
    """Add the sender's and the receiver's names: instance, database, queue, clock, sessions, group."""
    by_initiator = frame["by_initiator"]
    for name in ("instance", "database", "skew"):
        frame[f"sender_{name}"] = either(by_initiator, frame, name)
    for name in ("instance", "database", "queue", "skew", "session", "readers"):
        frame[f"receiver_{name}"] = either(~by_initiator, frame, name)
    moved = comes(frame["moves_at"]) & (frame["received_at"] >= frame["moves_at"])
    own = np.where(moved[:, None], frame["moved_group"], frame["initiator_group"])
    frame["receiver_group"] = np.where(by_initiator[:, None], frame["target_group"], own)


def _add_identity(frame: Frame, plan: Plan) -> None:
    """Add the message's id, sequence number, type and size."""
    c, turn, draws, code = frame["c"], frame["turn"], plan.volume.draws, plan.world.names.code
    is_turn = turn < frame["n"]
    said_goodbye = frame["stream"] & ~frame["by_initiator"]
    kind = np.where(frame["by_initiator"], frame["request_type"], frame["reply_type"])
    kind = np.where(said_goodbye, code(SYSTEM_TYPE + "EndDialog"), kind)
    error, timer = code(SYSTEM_TYPE + "Error"), code(SYSTEM_TYPE + "DialogTimer")
    share = draws.uniform("size", c, turn)
    size = (frame["size"] * (share * share * share * 5 + 0.3)).astype(np.int64)
    frame["message_id"] = draws.id("message", c, turn)
    frame["sequence"] = np.where(is_turn, timeline.sequence(frame), NEVER)
    frame["message_type"] = np.where(is_turn, kind, np.where(turn == frame["n"], error, timer))
    frame["size_bytes"] = np.where(is_turn & ~said_goodbye, size, 0)


def either(is_initiator: Array, frame: Frame, name: str) -> Array:
    """The value of a name of the initiator, else of the target."""
    return np.where(is_initiator, frame[f"initiator_{name}"], frame[f"target_{name}"])

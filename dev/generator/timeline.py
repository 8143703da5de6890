"""The moments of a message, from the columns of its conversation.

Turn k of a conversation is sent at a moment that only depends on the conversation and k, and a message is
received shortly before the reply to it is sent. So no turn has to know how the turn before it went.
"""

import numpy as np

from dev.generator.frame import NEVER, Array, Frame
from dev.generator.plan import BATCH, Plan
from dev.generator.world import SECOND

CATCH_UP = 20
"""Messages that arrived while a queue was off are received this many times faster than they arrived."""


def planned(frame: Frame, turn: Array, plan: Plan) -> Array:
    """The moment at which a turn is sent without delays."""
    drift = plan.volume.draws.uniform("turn", frame["c"], turn) * 0.3
    return frame["begin"] + (frame["pace"] * (turn + drift)).astype(np.int64) + 3_000


def reopened(frame: Frame, moment: Array) -> Array:
    """The moment at which the target queue lets something happen: itself, or after the queue was off."""
    off, until = frame["off_from"], frame["off_until"]
    afterwards = np.where(
        moment < until, until + (moment - off) // CATCH_UP, moment + (until - off) // CATCH_UP
    )
    return np.where(moment < off, moment, afterwards)


def add_moments(frame: Frame, plan: Plan) -> None:
    """Add the moments of the turns, as if every turn came to be and was taken.

    Args:
        frame: conversations' children with `turn`. It gets `by_initiator` (the direction), `batch` and
            `last_of_batch` (the first and the last turn that one RECEIVE takes), `answered` (the next turn
            is the reply to this one), `sent_at`, `next_sent_at` (of the reply, else never), `arrives_at`,
            `batch_ready` (the last one of the batch has arrived) and `taken_at`.
        plan: how much of what.
    """
    c, turn, draws = frame["c"], frame["turn"], plan.volume.draws
    frame["by_initiator"] = to_target = _by_initiator(frame)
    _add_batch(frame)
    frame["answered"] = answered = _answered(frame)
    sent = planned(frame, turn, plan)
    frame["sent_at"] = np.where(frame["alternates"] & (turn > 0), reopened(frame, sent), sent)
    reply = reopened(frame, planned(frame, turn + 1, plan))
    frame["next_sent_at"] = np.where(answered, reply, NEVER)
    last = frame["last_of_batch"]
    last_sent = np.where(last > turn, planned(frame, last, plan), frame["sent_at"])
    reaches, last_reaches = frame["sent_at"] + frame["way"], last_sent + frame["way"]
    frame["arrives_at"] = np.where(to_target, reopened(frame, reaches), reaches)
    frame["batch_ready"] = np.where(to_target, reopened(frame, last_reaches), last_reaches)
    lag = frame["lag"] * (draws.uniform("lag", c, frame["batch"]) + 0.2)
    ready = frame["batch_ready"] + lag.astype(np.int64)
    poll = np.maximum(frame["poll"], 1)
    looks = (ready // poll + 1) * poll + draws.below(2 * SECOND, "poll", c)
    looks = np.where((frame["poll"] > 0) & to_target, looks, ready)
    work = draws.below(18_000, "work", c, turn) + 2_000
    before_reply = np.maximum(frame["next_sent_at"] - work, frame["arrives_at"] + 100)
    alone = np.where(to_target, reopened(frame, looks), looks)
    frame["taken_at"] = np.where(answered, before_reply, alone)


def sequence(frame: Frame) -> Array:
    """The number of a turn among those of its direction, from 0."""
    to_target, turn = frame["by_initiator"], frame["turn"]
    stalled = np.where(to_target, turn, turn - frame["pending_from"])
    one_sided = np.where(to_target, turn, turn - frame["n"] + 1)
    return np.where(frame["stalled"], stalled, np.where(frame["alternates"], turn // 2, one_sided))


def _by_initiator(frame: Frame) -> Array:
    """The direction: dialogs alternate, a stream's last message comes back, the backlog goes one way."""
    dialog, turn, pending_from = frame["dialog"], frame["turn"], frame["pending_from"]
    stalled = (pending_from == 0) | (turn < pending_from) | ~dialog
    stream = frame["oneway"] | (turn < frame["n"] - 1)
    return np.where(frame["stalled"], stalled, np.where(dialog, turn % 2 == 0, stream))


def _add_batch(frame: Frame) -> None:
    """Dialogs are received turn by turn, others several at once."""
    turn, several = frame["turn"], ~frame["dialog"] & frame["by_initiator"]
    goodbye = frame["stream"] & ~frame["stalled"]
    last_request = np.maximum(frame["n"] - 1 - goodbye, 0)
    last = np.minimum((turn // BATCH + 1) * BATCH - 1, last_request)
    frame["batch"] = np.where(several, turn // BATCH * BATCH, turn)
    frame["last_of_batch"] = np.where(several, last, turn)


def _answered(frame: Frame) -> Array:
    turn = frame["turn"]
    first_of_stalled = frame["dialog"] & (turn == 0) & (frame["pending_from"] == 1)
    answered: Array = (frame["alternates"] | first_of_stalled) & (turn < frame["n"] - 1)
    return answered

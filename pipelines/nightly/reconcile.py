"""The sums of a run: nothing may be lost between the events and the tables."""

from collections.abc import Mapping

from pipelines.config.errors import ReconciliationError


def reconcile(
    events: Mapping[str, int], open_messages: Mapping[str, int], written: Mapping[str, int]
) -> dict[str, int]:
    """Add up what came in and what is open, against what was written.

    Args:
        events: events, accepted, duplicates and rejected, over all batches.
        open_messages: open_receive, open_transmission and open_forwarded at as_of, counted in the ledger.
        written: rows of this as_of by table, counted in the tables.

    Returns:
        All the numbers that were compared.

    Raises:
        ReconciliationError: a sum does not add up; the message has the sum.
    """
    sent = written["transmission_schedule"] - written["transmission_schedule_forwarded"]
    sums = {
        "events = accepted + duplicates + rejected": (
            events["events"],
            events["accepted"] + events["duplicates"] + events["rejected"],
        ),
        "open to receive = scheduled + unresolved": (
            open_messages["open_receive"],
            written["receive_schedule"] + written["unresolved_receive"],
        ),
        "open to transmit = scheduled + unresolved": (
            open_messages["open_transmission"],
            sent + written["unresolved_transmission"],
        ),
        "being forwarded = scheduled": (
            open_messages["open_forwarded"],
            written["transmission_schedule_forwarded"],
        ),
    }
    wrong = [f"{name}: {left} is not {right}" for name, (left, right) in sums.items() if left != right]
    if wrong:
        raise ReconciliationError(
            "the run's sums do not add up, nothing is published: "
            + "; ".join(wrong)
            + "; please report this as a fault"
        )
    return {
        **events,
        **open_messages,
        **{name: count for name, count in written.items() if name != "group_priorities"},
    }

"""Queue events that fit some traffic: transactions with their ends, locks, switches, waits and tasks."""

from datetime import datetime

from hypothesis import strategies as st

from tests.support.factories import queue_event

from .base import GROUPS, TRANSACTIONS, Clock, Row, one_of, seldom
from .catalogs import Place
from .conversations import Traffic

OUTCOMES: tuple[tuple[str, ...], ...] = (("COMMIT",), ("ROLLBACK",), (), (), ("COMMIT", "ROLLBACK"))
LOCKS = ("RECEIVE", "GET_CONVERSATION_GROUP")
OTHERS = ("WAIT_STARTED", "WAIT_ENDED", "TASK_STARTED", "TASK_EXITED")


@st.composite
def queue_events(draw: st.DrawFn, clock: Clock, places: list[Place], traffic: Traffic) -> list[Row] | None:
    """Queue events; now and then none at all, as an empty table or as no table."""
    if seldom(draw, 6):
        return one_of(draw, (None, []))
    rows = []
    begun: dict[tuple[str, str], datetime] = {}
    for event in traffic.message_events:
        if event["transaction_id"] is not None:
            begun[event["instance"], event["transaction_id"]] = event["event_time"]

    for _ in range(draw(st.integers(0, 3))):
        place, moment = one_of(draw, places), clock.any(draw)
        transaction = None if seldom(draw) else one_of(draw, (*TRANSACTIONS, "lock"))
        row = _row(one_of(draw, LOCKS), place, moment)
        group = None if seldom(draw) else one_of(draw, GROUPS)
        rows.append({**row, "transaction_id": transaction, "conversation_group_id": group, "row_count": 1})
        if transaction is not None:
            begun.setdefault((place.instance, transaction), moment)

    for (instance, transaction), moment in begun.items():
        here = [place for place in places if place.instance == instance] or places
        for event_type in one_of(draw, OUTCOMES):
            row = _row(event_type, one_of(draw, here), clock.after(draw, moment))
            rows.append({**row, "instance": instance, "transaction_id": transaction})

    for _ in range(draw(st.sampled_from((0, 0, 1, 2)))):
        status = one_of(draw, ("OFF", "ON", None))
        row = _row("QUEUE_ALTERED", one_of(draw, places), clock.any(draw))
        rows.append({**row, "queue_status": status})
    for _ in range(draw(st.integers(0, 2))):
        row = _row(one_of(draw, OTHERS), one_of(draw, places), clock.any(draw))
        rows.append({**row, "session_id": draw(st.integers(51, 52)), "has_where": one_of(draw, (None, True))})
    return rows


def _row(event_type: str, place: Place, moment: datetime) -> Row:
    where = {"instance": place.instance, "database": place.database, "queue": place.queue}
    return queue_event(event_type, event_time=moment, **where)

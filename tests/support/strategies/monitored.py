"""Logs of monitored queues: a window of seconds around midnight, full of ties, and days of history before."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tests.support.factories import endpoint_event, message_event, queue_event

from .base import Row, numbered, one_of, seldom
from .logs import Log

AS_OF = datetime(2026, 11, 21, 0, 0, 10, tzinfo=UTC)
WINDOW_SECONDS = 20
SECONDS = (-20, -19, -15, -15, -14, -10, -10, -10, -8, -7, -5, -5, -4, -2, -1, 0)
HISTORY = (-4 * 86400, -2 * 86400 - 30, -86400 + 3, -3600, -29, -25, -22, -21)
TRANSACTIONS = ("t1", "t2", "t3")
SESSIONS = (51, 52, None)
OTHER_SIDES: tuple[Row, ...] = ({"conversation_id": "c1"}, {"sent_by_initiator": False})
ENDS = ("END_CONVERSATION", "END_CONVERSATION_WITH_ERROR", "END_CONVERSATION_WITH_CLEANUP")


@dataclass(frozen=True)
class Timing:
    """The activation settings of a log, and the timeout of its external monitors."""

    check_seconds: float
    empty_seconds: float
    window_hours: float = WINDOW_SECONDS / 3600

    @property
    def settings(self) -> dict[str, Any]:
        """The section of the settings file."""
        return {
            "check_seconds": self.check_seconds,
            "empty_seconds": self.empty_seconds,
            "window_hours": self.window_hours,
        }


TIMINGS = (Timing(5.0, 5.0), Timing(1.0, 2.5), Timing(0.7, 3.0), Timing(3.0, 0.0), Timing(60.0, 30.0))


@st.composite
def monitored_logs(draw: st.DrawFn) -> Log:
    """A log of two queues of one database, of which at least one has a monitor."""
    queues = [{"name": "Work", **draw(_monitor(sure=True))}, {"name": "Other", **draw(_monitor(sure=False))}]
    for queue in queues:
        if seldom(draw, 5):
            queue["status"] = one_of(draw, ("off", False, "on"))
    target = {
        "name": "B",
        "queues": queues,
        "services": [{"name": "S", "queue": "Work"}, {"name": "T", "queue": "Other"}],
    }
    origin = {"name": "A", "queues": [{"name": "Q"}], "services": [{"name": "I", "queue": "Q"}]}
    endpoint_events: list[Row] = []
    message_events: list[Row] = []
    queue_events: list[Row] = []
    for number in range(1, draw(st.integers(1, 3)) + 1):
        service = "T" if seldom(draw, 3) else "S"
        endpoint_events += draw(_endpoint_events(f"c{number}", service))
        for message in range(draw(st.integers(1, 4))):
            message_events += draw(_message_events(f"c{number}", f"c{number}/{message}"))
        if seldom(draw, 3):
            received_twice, rollback = draw(_given_back(f"c{number}", f"c{number}/back", service))
            message_events += received_twice
            queue_events.append(rollback)
    queue_events += [draw(_queue_event()) for _ in range(draw(st.sampled_from((3, 8, 12, 16))))]
    return Log(
        endpoint_events=numbered(draw, endpoint_events),
        message_events=numbered(draw, message_events),
        queue_events=numbered(draw, queue_events),
        catalog={"instances": [{"name": "SQL1", "databases": [origin, target]}]},
        rules=[],
        as_of=AS_OF,
        top=None,
        starvation=None,
        blocks=None,
    )


def moment(draw: st.DrawFn) -> datetime:
    """A moment of the window, now and then one before it or one that is off the whole second."""
    seconds = one_of(draw, HISTORY) if seldom(draw, 4) else one_of(draw, SECONDS)
    micros = one_of(draw, (0, 0, 0, 0, 1, -1, 700_000))
    return AS_OF + timedelta(seconds=seconds, microseconds=micros)


@st.composite
def _monitor(draw: st.DrawFn, sure: bool) -> Row:
    kind = one_of(draw, ("internal", "external") if sure else ("none", "off", "internal", "external"))
    if kind == "external":
        return {"event_notification": {"timeout_seconds": one_of(draw, (4.0, 0.5, 7.3, 30.0))}}
    readers = {"max_queue_readers": one_of(draw, (1, 2, 0, 3))}
    if kind == "internal":
        return {"activation": one_of(draw, (readers, {**readers, "status": "on"}, {"status": True}))}
    return {"activation": {**readers, "status": "off"}} if kind == "off" else {}


@st.composite
def _endpoint_events(draw: st.DrawFn, conversation: str, service: str) -> list[Row]:
    begun = AS_OF - timedelta(days=5)
    rows = [_endpoint_event("BEGIN_DIALOG", conversation, True, begun, service)]
    if not seldom(draw, 4):
        created = AS_OF + timedelta(seconds=1) if seldom(draw, 10) else begun if seldom(draw, 2) else None
        time = created or moment(draw)
        rows.append(_endpoint_event("DIALOG_CREATED", conversation, False, time, service))
    while seldom(draw, 4):
        end = _endpoint_event(one_of(draw, ENDS), conversation, not seldom(draw, 4), moment(draw), service)
        rows.append({**end, "is_initiator": not end["is_initiator"]})
    return rows


def _endpoint_event(
    event_type: str, conversation: str, is_initiator: bool, time: datetime, service: str
) -> Row:
    local, remote = ("I", service) if is_initiator else (service, "I")
    return endpoint_event(
        event_type,
        conversation,
        is_initiator=is_initiator,
        event_time=time,
        conversation_handle=None,
        conversation_group_id=f"g {conversation}",
        local_service=local,
        remote_service=remote,
    )


@st.composite
def _message_events(draw: st.DrawFn, conversation: str, message_id: str) -> list[Row]:
    types = [] if seldom(draw, 6) else ["DELIVERED"]
    types += ["DELIVERED"] if seldom(draw, 8) else []
    types += ["RECEIVED"] * one_of(draw, (0, 0, 0, 1, 1, 2, 3))
    return [
        {
            **_message_event(event_type, conversation, message_id, moment(draw)),
            "transaction_id": one_of(draw, (*TRANSACTIONS, None)) if event_type == "RECEIVED" else None,
            # No server logs this; the earliest event decides.
            **(one_of(draw, OTHER_SIDES) if seldom(draw, 12) else {}),
        }
        for event_type in types
    ]


@st.composite
def _given_back(draw: st.DrawFn, conversation: str, message_id: str, service: str) -> tuple[list[Row], Row]:
    """A message that a transaction receives, then another one or none, and the first one's ROLLBACK."""
    transaction = f"t {message_id}"
    arrival, first, second, back = sorted(moment(draw) for _ in range(4))
    steps = [
        ("DELIVERED", arrival, None),
        ("RECEIVED", first, transaction),
        ("RECEIVED", second, one_of(draw, (None, *TRANSACTIONS))),
    ]
    events = [
        {**_message_event(event_type, conversation, message_id, time), "transaction_id": by}
        for event_type, time, by in steps
    ]
    queue = "Other" if service == "T" else "Work"
    return events, queue_event("ROLLBACK", event_time=back, queue=queue, transaction_id=transaction)


def _message_event(event_type: str, conversation: str, message_id: str, time: datetime) -> Row:
    unknown = dict.fromkeys(("message_sequence_number", "size_bytes"))
    return message_event(event_type, f"{conversation}/0", message_id=message_id, event_time=time, **unknown)


QUEUE_EVENT_TYPES = (
    *("RECEIVE",) * 6,
    "GET_CONVERSATION_GROUP",
    *("ROLLBACK",) * 5,
    "COMMIT",
    *("WAIT_STARTED", "WAIT_ENDED", "WAIT_ENDED"),
    *("TASK_STARTED", "TASK_STARTED", "TASK_EXITED") * 3,
    "QUEUE_ALTERED",
)


@st.composite
def _queue_event(draw: st.DrawFn) -> Row:
    event_type = one_of(draw, QUEUE_EVENT_TYPES)
    statement = event_type in ("RECEIVE", "GET_CONVERSATION_GROUP")
    in_transaction = statement or event_type in ("COMMIT", "ROLLBACK")
    of_session = event_type.startswith(("WAIT", "TASK"))
    altered = event_type == "QUEUE_ALTERED"
    time, queue = moment(draw), one_of(draw, ("Work", "Work", "Work", "Other"))
    return queue_event(
        event_type,
        event_time=time,
        queue=queue,
        session_id=one_of(draw, SESSIONS) if of_session else None,
        transaction_id=one_of(draw, (*TRANSACTIONS, None)) if in_transaction else None,
        has_where=one_of(draw, (None, False, False, True)) if statement or of_session else None,
        row_count=one_of(draw, (0, 1, 1, None, -1)) if statement else None,
        queue_status=one_of(draw, ("ON", "OFF", "ON", "ON", None)) if altered else None,
    )

"""The log of a rush: rows of the three inputs, in the order of time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from dev.generator.columns import BIGINT, INT, MOMENT, id_texts
from dev.generator.draws import Draws
from dev.generator.plan import Plan
from dev.generator.rush import Station, Step
from dev.generator.rush_demand import Talk
from dev.generator.world import SECOND, Rush
from schemas.events import CONTRACTS

TYPES = {"string": pa.string(), "boolean": pa.bool_(), "int": INT, "bigint": BIGINT, "timestamp": MOMENT}
ANSWER_WAY, ANSWER_TAKEN = 300, 50_000
"""From the SEND of an answer to its arrival, and to its RECEIVE."""
ANSWER_BYTES = 400
END_APART, END_WAY = 5 * SECOND, 400
"""From the end of one conversation to that of the next, and from one of its endpoints to the other."""

Row = dict[str, Any]


def rush_tables(rush: Rush, *, plan: Plan) -> Iterator[tuple[str, pa.Table]]:
    """Play a rush, and give its rows of each input, with all columns of the contract."""
    station = Station(rush, plan.volume.draws)
    station.play()
    collected = _RushRows(rush, plan)
    for talk in station.talks:
        collected.add_talk(talk)
    for step in station.steps:
        if step.what == "SENT":
            collected.add_answer(step)
        else:
            collected.add_step(step)
    for source, rows in collected.rows.items():
        yield source, _table(source, rows, plan.volume.draws)


class _RushRows:
    """Rows by input, as they are told."""

    def __init__(self, rush: Rush, plan: Plan) -> None:
        self.rows: dict[str, list[Row]] = {source: [] for source in CONTRACTS}
        self._rush, self._start, self._draws = rush, plan.volume.start_us, plan.volume.draws
        self._ids: dict[tuple[str, *tuple[int, ...]], str] = {}

    def add_talk(self, talk: Talk) -> None:
        """The events of a conversation without readers: it begins, sends and ends."""
        ends = self._rush.ended_from + talk.number * END_APART
        arrives_at, levels = talk.messages[0].arrives_at, (talk.level, self._rush.initiator_level)
        for by_initiator, at, what in (
            (True, talk.begin, "BEGIN_DIALOG"),
            (False, arrives_at, "DIALOG_CREATED"),
            (True, ends, "END_CONVERSATION"),
            (False, ends + END_WAY, "END_CONVERSATION"),
        ):
            row = self._endpoint(talk, by_initiator) | {"event_time": at, "event_type": what}
            if what != "END_CONVERSATION":
                services = self._rush.target[0], self._rush.initiator[0]
                row |= {
                    "conversation_group_id": self._group(talk, by_initiator),
                    "contract": talk.contract,
                    "local_service": services[by_initiator],
                    "remote_service": services[not by_initiator],
                    "logged_priority": levels[by_initiator],
                }
            self.rows["endpoint_events"].append(row)
        for message in talk.messages:
            row = self._message(talk, True, message.turn) | {"size_bytes": message.size}
            self._send(row, message.sent_at, message.arrives_at)

    def add_answer(self, step: Step) -> None:
        """A conversation's only answer: sent, delivered, and received at once."""
        assert step.talk is not None
        row = self._message(step.talk, False, 0) | {"size_bytes": ANSWER_BYTES}
        arrives_at = step.at + ANSWER_WAY
        self._send(row, step.at, arrives_at)
        taken = {"event_time": arrives_at + ANSWER_TAKEN, "database": self._rush.initiator[1]}
        self.rows["message_events"].append(row | taken | {"event_type": "RECEIVED"})
        received = {
            "queue": self._rush.initiator[2],
            "event_type": "RECEIVE",
            "session_id": self._rush.session - 1,
            "conversation_group_id": self._group(step.talk, True),
            "has_where": False,
            "row_count": 1,
        }
        self.rows["queue_events"].append({"instance": self._rush.instance, **taken, **received})

    def add_step(self, step: Step) -> None:
        """The statement of a session on the queue, and its result."""
        _, database, queue = self._rush.target
        common = {"event_time": step.at, "instance": self._rush.instance, "database": database}
        transaction = None if step.transaction is None else self._id("transaction", step.transaction)
        row: Row = {"queue": queue, "event_type": step.what, "session_id": step.session}
        if step.what in ("RECEIVE", "WAIT_STARTED"):
            row["has_where"] = step.has_where
        if step.what == "RECEIVE":
            row["conversation_group_id"] = step.talk and self._group(step.talk, False)
            row["row_count"] = len(step.messages)
        self.rows["queue_events"].append(common | row | {"transaction_id": transaction})
        for message in step.messages:
            taken = self._message(message.talk, True, message.turn) | {"size_bytes": message.size}
            received = {"event_type": "RECEIVED", "transaction_id": transaction}
            self.rows["message_events"].append(taken | common | received)

    def _endpoint(self, talk: Talk, is_initiator: bool) -> Row:
        return {
            "instance": self._rush.instance,
            "database": (self._rush.initiator if is_initiator else self._rush.target)[1],
            "conversation_id": self._id("conversation", talk.number),
            "is_initiator": is_initiator,
            "conversation_handle": self._id("handle", talk.number, is_initiator),
        }

    def _message(self, talk: Talk, by_initiator: bool, sequence: int) -> Row:
        subject = talk.contract.removesuffix("Contract")
        return {
            "instance": self._rush.instance,
            "message_id": self._id("message", talk.number, by_initiator, sequence),
            "conversation_id": self._id("conversation", talk.number),
            "sent_by_initiator": by_initiator,
            "message_sequence_number": sequence,
            "message_type": f"{subject}{'Request' if by_initiator else 'Reply'}",
        }

    def _send(self, row: Row, sent_at: int, arrives_at: int) -> None:
        places = (self._rush.target[1], self._rush.initiator[1])
        by_initiator = row["sent_by_initiator"]
        sent = {"event_time": sent_at, "event_type": "SENT", "database": places[by_initiator]}
        arrived = {
            "event_time": arrives_at,
            "event_type": "DELIVERED",
            "database": places[not by_initiator],
            "queuing_order": arrives_at - self._start,
        }
        self.rows["message_events"] += [row | sent, row | arrived]

    def _group(self, talk: Talk, of_initiator: bool) -> str:
        return self._id("group", talk.number, of_initiator)

    def _id(self, what: str, *numbers: int) -> str:
        found = self._ids.get((what, *numbers))
        if found is None:
            pairs = self._draws.id(f"rush {what}", *(np.array([int(number)]) for number in numbers))
            found = self._ids[what, *numbers] = str(id_texts(pairs)[0])
        return found


def _table(source: str, rows: list[Row], draws: Draws) -> pa.Table:
    """The columns of the contract, in the order of time; each row gets an id."""
    rows = sorted(rows, key=lambda row: row["event_time"])
    events = id_texts(draws.id(f"rush {source}", np.arange(len(rows))))
    columns = {
        column.name: pa.array([row.get(column.name) for row in rows], TYPES[column.type])
        for column in CONTRACTS[source].columns
    }
    return pa.table({**columns, "event_id": events})

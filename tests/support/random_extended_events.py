"""Random Extended Events, written from docs/exporting.md: their rows, and what each row means."""

import random
from datetime import timedelta
from xml.sax.saxutils import escape

from tests.support.random_traces import DATABASES, QUEUES, START, Fact, Meaning, TraceRow, Values, fact

INSTANCE = "SQL3"
ACTIONS = {
    1: ("SEND Message", "SEND", "SEND_MESSAGE"),
    2: ("END CONVERSATION", "END_CONVERSATION"),
    3: ("END CONVERSATION WITH ERROR", "END_CONVERSATION_WITH_ERROR"),
    4: ("Broker Initiated Error",),
    5: ("Terminate Dialog", "TERMINATE_DIALOG"),
    6: ("Received Sequenced Message", "RECEIVED_SEQUENCED_MESSAGE"),
    11: ("BEGIN DIALOG", "BEGIN_DIALOG"),
    12: ("Dialog Created", "DIALOG_CREATED"),
    13: ("END CONVERSATION WITH CLEANUP", "END_CONVERSATION_WITH_CLEANUP"),
}
ENDS = {
    2: "END_CONVERSATION",
    3: "END_CONVERSATION_WITH_ERROR",
    5: "END_CONVERSATION_WITH_ERROR",
    13: "END_CONVERSATION_WITH_CLEANUP",
}
STATES = {1: ("Started", "Start"), 2: ("Ended", "End"), 3: ("Aborted", "Abort"), 4: ("Notified",)}
ACKNOWLEDGEMENTS = {
    1: ("Message with Acknowledgement Sent", "MESSAGE_WITH_ACKNOWLEDGEMENT_SENT"),
    2: ("Acknowledgement Sent", "ACKNOWLEDGEMENT_SENT"),
    3: ("Message with Acknowledgement Received", "MESSAGE_WITH_ACKNOWLEDGEMENT_RECEIVED"),
    4: ("Acknowledgement Received", "ACKNOWLEDGEMENT_RECEIVED"),
}
COUNTED = {
    "broker_remote_message_acknowledgement": "acknowledgements",
    "broker_conversation_group": "conversation_groups",
    "broker_forwarded_message_dropped": "forwarding_dropped",
    "broker_message_undeliverable": "undeliverable",
    "sql_batch_completed": "other_events",
}
OF_SERVER = ("server_instance_name", "database_id", "database_name")
"""Actions; all else are data of the event."""


class Events:
    """Random events of one instance, in the order of their times."""

    def __init__(self, seed: int, *, count: int) -> None:
        """Draw events, the same for the same seed."""
        self.seed, self.rng = seed, random.Random(seed)
        moments = sorted(self.rng.randrange(4 * 3_600_000) for _ in range(count))
        self.rows = [self._row(number, moment) for number, moment in enumerate(moments)]

    def _row(self, number: int, milliseconds: int) -> TraceRow:
        rng = self.rng
        at = START + timedelta(milliseconds=milliseconds)
        database = rng.choice([*DATABASES, None])
        values: Values = {
            "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", rng.choice(["Z", ""])),
            "server_instance_name": rng.choice([INSTANCE, INSTANCE.lower()]),
            "database_id": database,
            "database_name": DATABASES[database] if database is not None and rng.random() < 0.5 else None,
        }
        where = {"instance": INSTANCE, "database": DATABASES.get(database), "event_time": at}
        makers = [
            self._conversation,
            self._conversation,
            self._activation,
            self._forwarded,
            self._acknowledged,
        ]
        make = rng.choice(makers)
        if rng.random() < 0.2:
            name = rng.choice([*COUNTED])
            said, meaning = {"name": name}, Meaning(counted=COUNTED[name])
        else:
            said, meaning = make(f"1A1B2C3D-0000-0000-0000-{number:012X}", where)
        return TraceRow(at, said | values, meaning)

    def _meaning(self, table: str, values: Values, label: str, *, is_whole: bool = True) -> Meaning:
        """An event, unless a name is missing."""
        if not is_whole or values["database"] is None:
            return Meaning(counted=f"incomplete_{label}")
        said: Fact = fact(table, values)
        return Meaning(fact=said)

    def _conversation(self, id: str, where: Values) -> tuple[Values, Meaning]:
        rng = self.rng
        action, is_initiator = rng.choice([*ACTIONS]), rng.choice([True, False])
        spelled = rng.choice([str(action), *ACTIONS[action]])
        values = {
            "name": "broker_conversation",
            "conversation_action": spelled,
            "conversation_id": rng.choice([id, id.lower()]),
            "conversation_handle": id.replace("1A1B", "2A2B"),
            "conversation_group_id": id.replace("1A1B", "3A3B"),
            "is_initiator": rng.choice([str(is_initiator).lower(), str(int(is_initiator))]),
            "service_contract_name": rng.choice([None, "//C"]),
        }
        is_known = action in ENDS or action == 11 or (action == 12 and not is_initiator)
        if not is_known:
            return values, Meaning(counted="other_events")
        # No event has the services of a conversation, and nothing else shows them.
        label = f"broker_conversation_{action}"
        if action in (11, 12):
            return values, Meaning(counted=f"incomplete_{label}")
        said = where | {
            "event_type": ENDS[action],
            "conversation_id": id,
            "is_initiator": is_initiator,
            "conversation_handle": values["conversation_handle"],
            "conversation_group_id": values["conversation_group_id"],
            **dict.fromkeys(("logged_priority", "contract", "local_service", "remote_service")),
        }
        return values, self._meaning("endpoint_events", said, label)

    def _activation(self, id: str, where: Values) -> tuple[Values, Meaning]:
        rng = self.rng
        state, queue = rng.choice([*STATES]), rng.choice([*QUEUES, 99])
        running = rng.choice([None, 0, 3])
        values = {
            "name": "broker_activation",
            "activation_state": rng.choice([str(state), STATES[state][0]]),
            "queue_id": queue,
            "active_task_count": running,
        }
        if state == 4:
            return values, Meaning(counted="other_events")
        said = where | {
            "queue": QUEUES.get(queue),
            "event_type": "TASK_STARTED" if state == 1 else "TASK_EXITED",
            "running_tasks": running,
            "queue_status": None,
        }
        label = f"broker_activation_{state}"
        return values, self._meaning("queue_events", said, label, is_whole=queue in QUEUES)

    def _forwarded(self, id: str, where: Values) -> tuple[Values, Meaning]:
        rng = self.rng
        number, message_type = rng.choice([None, 0, 12]), rng.choice([None, "//Type<a>&b"])
        is_initiator = rng.choice([True, False])
        values = {
            "name": "broker_forwarded_message_sent",
            "conversation_id": id,
            "is_initiator": str(is_initiator).lower(),
            "message_sequence": number,
            "message_type_name": message_type,
        }
        side = "initiator" if is_initiator else "target"
        said = where | {
            "event_type": "FORWARDED",
            "message_id": f"{id}/{side}/{number}",
            "conversation_id": id,
            "sent_by_initiator": is_initiator,
            "message_sequence_number": number,
            "message_type": message_type,
        }
        is_whole = number is not None and message_type is not None
        return values, self._meaning(
            "message_events", said, "broker_forwarded_message_sent", is_whole=is_whole
        )

    def _acknowledged(self, id: str, where: Values) -> tuple[Values, Meaning]:
        """An acknowledgement in one of three conversations: others of it may come before or after."""
        rng = self.rng
        kind, is_initiator = rng.choice([*ACKNOWLEDGEMENTS]), rng.choice([True, False])
        id = f"4A1B2C3D-0000-0000-{self.seed:04X}-{rng.randrange(3):012X}"
        number, fragment = rng.randrange(2), rng.choice([None, 0, 1])
        values: Values = {
            "name": "broker_remote_message_acknowledgement",
            "acknowledgement_type": rng.choice([str(kind), *ACKNOWLEDGEMENTS[kind]]),
            "conversation_id": rng.choice([id, id.lower()]),
            "is_initiator": rng.choice([str(is_initiator).lower(), str(int(is_initiator))]),
        }
        if kind == 2:
            return values, Meaning(counted="acknowledgements")
        if kind != 1:
            message = (where["instance"], id, not is_initiator, number)
            return values | {"message_sequence": number}, Meaning(message=message, time=where["event_time"])
        values |= {"acknowlegment_message_sequence": number, "acknowledgement_fragment_number": fragment}
        said = {
            "instance": where["instance"],
            "conversation_id": id,
            "sent_by_initiator": is_initiator,
            "message_sequence_number": number,
            "fragment": fragment or 0,
            "sent_at": where["event_time"],
            "database": where["database"],
            **dict.fromkeys(("level", "honor", "elevated")),
        }
        return values, Meaning(fact=fact("sends", said))


def as_xml(row: TraceRow) -> TraceRow:
    """The row as a file target has it: an action has a number and a text, which counts."""
    elements = ""
    for name, value in row.values.items():
        if name in ("name", "timestamp") or value is None:
            continue
        kind = "action" if name in OF_SERVER else "data"
        said = f"<value>{escape(str(value))}</value>"
        if name.endswith("_action"):
            said = f"<value>1</value><text>{escape(str(value))}</text>"
        elements += f'<{kind} name="{name}">{said}</{kind}>'
    head = f'name="{row.values["name"]}" package="sqlserver" timestamp="{row.values["timestamp"]}"'
    return TraceRow(row.at, {"event_data": f"<event {head}>{elements}</event>"}, row.meaning)

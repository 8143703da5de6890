"""What messages are, from events that do not always agree."""

from collections import defaultdict
from datetime import timedelta
from random import Random

import pytest
from pyspark.sql import SparkSession

from pipelines.engine.frames import small_frame
from pipelines.state.messages import ARRIVALS, OF_ANY_EVENT, describe_messages
from pipelines.storage.collect import collect_rows
from schemas.events import MESSAGES
from tests.support.factories import Row, at, message_event
from tests.support.harness import same

MESSAGE_COUNT, EVENTS = 60, 240
KINDS = {"SENT": 0, "DELIVERED": 1, "RECEIVED": 2, "FORWARD_ACCEPTED": 3, "FORWARDED": 3}
NAMES = ["message_id", *OF_ANY_EVENT, "sent_at", "arrived_at"]


def some_events(random: Random) -> list[Row]:
    """Events of few messages; of half of the messages all say the same."""
    events = []
    for number in range(EVENTS):
        message = random.randrange(MESSAGE_COUNT)
        event = message_event(
            random.choice(list(KINDS)),
            f"c{message % 7}/{message}",
            event_id=f"{random.random()} {number}",
            event_time=at(0) + timedelta(seconds=random.randrange(20)),
        )
        if message % 2:
            event["sent_by_initiator"] = random.choice([True, False])
            for name in ("message_type", "message_sequence_number", "size_bytes", "queuing_order"):
                value = f"T{random.randrange(3)}" if name == "message_type" else random.randrange(3)
                event[name] = random.choice([None, value])
        events.append(event)
    return events


def expected(events: list[Row]) -> list[Row]:
    """Each value of the earliest event that has it."""
    of_messages = defaultdict(list)
    for event in events:
        of_messages[event["message_id"]].append(event)
    told = []
    for message_id, own in of_messages.items():
        own.sort(key=lambda event: (event["event_time"], KINDS[event["event_type"]], event["event_id"]))
        row: Row = {"message_id": message_id}
        for name in OF_ANY_EVENT:
            row[name] = next((event[name] for event in own if event.get(name) is not None), None)
        for name, kinds in (("sent_at", ("SENT",)), ("arrived_at", ARRIVALS)):
            row[name] = next((event["event_time"] for event in own if event["event_type"] in kinds), None)
        told.append(row)
    return sorted(told, key=lambda row: row["message_id"])


@pytest.mark.spark
@pytest.mark.parametrize("way", ["all", "half"])
def test_the_earliest_event_that_has_a_value_tells_it(session: SparkSession, way: str) -> None:
    events = some_events(Random(way))
    rows = small_frame(
        session, [[event.get(name) for name in MESSAGES.names] for event in events], MESSAGES.struct
    )
    half = rows.where("message_sequence_number % 3 = 0 or message_sequence_number is null")
    ids = half.select("message_id").distinct()
    described = {
        "all": lambda: describe_messages(rows, same),
        "half": lambda: describe_messages(rows, same, ids=ids),
    }[way]().select(*NAMES)
    asked = {row["message_id"] for row in collect_rows(ids)}
    found = sorted(collect_rows(described), key=lambda row: row["message_id"])
    told = [row for row in expected(events) if way != "half" or row["message_id"] in asked]
    assert found == told
    assert len(told) > MESSAGE_COUNT / 3

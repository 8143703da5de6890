"""From what has happened to both schedules: the backlog of a moment and its orders."""

from datetime import datetime
from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.sql import functions as F

from pipelines.config.model import Blocks, Receive, Transmission
from pipelines.schedules.orders import Backlog, Catalog, Orders, backlog, on_their_way, orders, queued
from pipelines.settings.load import Settings
from pipelines.state.ledger import Ledger
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS
from schemas.ledger import ENDPOINTS
from schemas.outputs import GROUP_PRIORITIES, RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE
from tests.support.drawn import Draw
from tests.support.factories import at

EVENTS = {"instance": "SQL1", "event_id": "e"}


class Company:
    """Services in SQL1: Orders in database A with queue P, Stock in B with queue Q."""

    def __init__(
        self, draw: Draw, *, endpoints: str, messages: str, queues: str = "event_type\n WAIT"
    ) -> None:
        self.keep = draw.keep
        catalog = draw("""
            instance | database | service | queue | is_on boolean
            SQL1     | A        | Orders  | P     | true
            SQL1     | B        | Stock   | Q     | true
        """)
        self.catalog = Catalog(
            bindings=catalog.drop("is_on"),
            honoring=catalog.select("instance", "database", F.col("is_on").alias("honors")),
            queues=catalog.drop("service"),
        )
        services = {"instance": "SQL1", "contract": "Gold", "created_at": at(0), "is_initiator": False}
        stock = {"database": "B", "local_service": "Stock", "remote_service": "Orders"}
        sent = {"message_type": "Order", "sent_by_initiator": True, "message_sequence_number": 0}
        self.ledger = Ledger(
            message_events=draw.rows(MESSAGES, **EVENTS, **sent)(messages),
            endpoint_events=draw.rows(ENDPOINT_FACTS)("event_type\n BEGIN_DIALOG"),
            queue_events=draw.rows(QUEUE_FACTS, **EVENTS, database="B", queue="Q")(queues),
            endpoints=draw.rows(ENDPOINTS, **services, **stock)(endpoints),
            has_queue_events=True,
        )

    def backlog(self, as_of: datetime) -> Backlog:
        return backlog(self.ledger, self.catalog, as_of=as_of, known=None, materialize=self.keep)

    def orders(self, as_of: datetime, blocks: Blocks | None = None) -> Orders:
        waiting = self.backlog(as_of)
        settings = SimpleNamespace(receive=Receive(), transmission=Transmission(blocks=blocks))
        return orders(
            self.keep(queued(waiting)),
            self.keep(on_their_way(waiting)),
            waiting,
            self.catalog,
            as_of=as_of,
            settings=cast(Settings, settings),
            materialize=self.keep,
        )


def test_a_message_is_sent_at_its_senders_level_and_received_at_its_receivers(draw: Draw) -> None:
    """Conversation priorities (the vendor's page): each side has its own level; so have replies."""
    company = Company(
        draw,
        endpoints="""
        conversation_id | is_initiator | database | local_service | remote_service | priority | first_group_id
        c1              | true         | A        | Orders        | Stock          | 10       | g1
        c1              | false        | B        | Stock         | Orders         | 1        | g2
        c2              | true         | A        | Orders        | Stock          | 5        | g3
        """,
        messages="""
        message_id | conversation_id | sent_by_initiator | message_sequence_number | event_type | event_time
        forth 0    | c1              | true              | 0                       | SENT       | 12:01
        forth 0    | c1              | true              | 0                       | DELIVERED  | 12:02
        forth 1    | c1              | true              | 1                       | SENT       | 12:03
        back 0     | c1              | false             | 0                       | DELIVERED  | 12:04
        back 1     | c1              | false             | 1                       | SENT       | 12:05
        received   | c2              | false             | 0                       | RECEIVED   | 12:05
        unknown    | c3              | false             | 1                       | SENT       | 12:05
        """,
    )
    waiting = company.backlog(at(60))
    draw.require(waiting.endpoints)("conversation_id | is_initiator boolean\n c1 | true\n c1 | false")
    draw.require(queued(waiting))("message_id | queue\n forth 0 | Q\n back 0 | P")
    draw.require(on_their_way(waiting))("""
        message_id | sender_database | receiver_database
        forth 1    | A               | B
        back 1     | B               | A
        unknown    | -               | -
    """)
    found = company.orders(at(60))
    draw.require(found.sent, TRANSMISSION_SCHEDULE)("""
        message_id | priority | transmit_priority | position | database | destination_database | block
        forth 1    | 10       | 10                | 1        | A        | B                    | -
        back 1     | 1        | 1                 | 2        | B        | A                    | -
    """)
    draw.require(found.received, RECEIVE_SCHEDULE)("""
        message_id | queue | conversation_group_id | priority | position | state
        forth 0    | Q     | g2                    | 1        | 1        | ready
        back 0     | P     | g1                    | 10       | 1        | ready
    """)
    assert {*found.received.columns} == {*RECEIVE_SCHEDULE.names} - {"as_of", "as_of_key"}
    in_blocks = company.orders(at(60), Blocks(fragment_bytes=1, fragments=9)).sent
    draw.require(in_blocks)("message_id | block bigint\n forth 1 | 1\n back 1 | 1")


@pytest.mark.slow
def test_groups_as_time_goes_by(draw: Draw) -> None:
    """Only conversations with messages count; an open transaction holds a group; last, the queue is off."""
    company = Company(
        draw,
        endpoints="""
        conversation_id | priority | first_group_id
        high            | 10       | mixed
        low             | 2        | mixed
        other           | 9        | single
        """,
        messages="""
        message_id | conversation_id | event_type | event_time | transaction_id
        m1         | high            | DELIVERED  | 12:10      | -
        m2         | low             | DELIVERED  | 12:09      | -
        m3         | other           | DELIVERED  | 12:08      | -
        m1         | high            | RECEIVED   | 13:00      | t1
        """,
        queues="""
        event_type             | transaction_id | event_time | conversation_group_id | queue_status
        COMMIT                 | t1             | 14:00      | -                     | -
        GET_CONVERSATION_GROUP | t2             | 14:00      | single                | -
        QUEUE_ALTERED          | -              | 15:00      | -                     | OFF
        """,
    )
    for as_of, drawing in {
        at(60): "mixed | 10 | 1 | ready \n single | 9 | 2 | ready",
        at(120): "mixed | 2 | - | group_locked \n single | 9 | 1 | ready",
        at(180): "mixed | 2 | 1 | ready \n single | 9 | - | group_locked",
        at(181): "mixed | 2 | - | queue_off \n single | 9 | - | queue_off",
    }.items():
        draw.require(company.orders(as_of).groups, GROUP_PRIORITIES)(
            f"conversation_group_id | priority | position | state \n {drawing}"
        )

"""From what has happened to both schedules: the backlog of a moment and its orders."""

from datetime import datetime
from types import SimpleNamespace
from typing import cast

from pyspark.sql import DataFrame

from pipelines.config.load import Settings
from pipelines.config.model import Blocks, Receive, Transmission
from pipelines.schedules.orders import Backlog, Catalog, Orders, backlog, on_their_way, orders, queued
from pipelines.state.ledger import Ledger
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS
from schemas.ledger import ENDPOINTS
from schemas.outputs import GROUP_PRIORITIES, RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE
from tests.support.drawn import Draw
from tests.support.factories import at
from tests.support.frames import assert_same

FIRST, SECOND = at(60), at(120)


class Company:
    """Services in SQL1: Orders in database A with queue P, Stock in B with queue Q."""

    def __init__(self, draw: Draw, endpoints: str, messages: str, queues: str = "event_type\n WAIT") -> None:
        self.keep = draw.keep
        bindings = draw("""
            instance | database | service | queue
            SQL1     | A        | Orders  | P
            SQL1     | B        | Stock   | Q
        """)
        self.catalog = Catalog(
            bindings=bindings,
            honoring=bindings.select("instance", "database"),
            queues=draw(
                "instance | database | queue | is_on boolean\n SQL1 | A | P | true\n SQL1 | B | Q | true"
            ),
        )
        services = {"instance": "SQL1", "contract": "Gold", "created_at": at(0)}
        self.ledger = Ledger(
            message_events=draw.rows(MESSAGES, instance="SQL1", event_id="e", message_type="Order")(messages),
            endpoint_events=draw.rows(ENDPOINT_FACTS)("event_type\n BEGIN_DIALOG"),
            queue_events=draw.rows(QUEUE_FACTS, instance="SQL1", database="B", queue="Q", event_id="e")(
                queues
            ),
            endpoints=draw.rows(ENDPOINTS, **services)(endpoints),
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


BOTH_ENDS = """
    conversation_id | is_initiator | database | local_service | remote_service | priority | first_group_id
    c1              | true         | A        | Orders        | Stock          | 10       | g1
    c1              | false        | B        | Stock         | Orders         | 1        | g2
"""


def test_a_message_is_sent_at_its_senders_level_and_received_at_its_receivers(draw: Draw) -> None:
    """Conversation priorities (the vendor's page): each side has its own level; so have replies."""
    company = Company(
        draw,
        BOTH_ENDS,
        """
        message_id | conversation_id | sent_by_initiator | message_sequence_number | event_type | event_time
        forth 0    | c1              | true              | 0                       | SENT       | 12:01
        forth 0    | c1              | true              | 0                       | DELIVERED  | 12:02
        forth 1    | c1              | true              | 1                       | SENT       | 12:03
        back 0     | c1              | false             | 0                       | DELIVERED  | 12:04
        back 1     | c1              | false             | 1                       | SENT       | 12:05
        nobody's   | c2              | false             | 1                       | SENT       | 12:05
        nobody's 2 | c2              | false             | 1                       | DELIVERED  | 12:05
        """,
    )
    found = company.orders(FIRST)
    sent = draw.columns(TRANSMISSION_SCHEDULE)("""
        message_id | priority | transmit_priority | position | database | destination_database | block
        forth 1    | 10       | 10                | 1        | A        | B                    | -
        back 1     | 1        | 1                 | 2        | B        | A                    | -
    """)
    assert_same(found.sent.select(*sent.columns), sent)
    received = draw.columns(RECEIVE_SCHEDULE)("""
        message_id | queue | conversation_group_id | priority | position | state
        forth 0    | Q     | g2                    | 1        | 1        | ready
        back 0     | P     | g1                    | 10       | 1        | ready
    """)
    assert_same(found.received.select(*received.columns), received)
    assert {*found.received.columns} == {*RECEIVE_SCHEDULE.names} - {"as_of", "as_of_key"}
    blocks = draw("message_id | block bigint\n forth 1 | 1\n back 1 | 1")
    assert_same(
        company.orders(FIRST, Blocks(fragment_bytes=1, fragments=9)).sent.select("message_id", "block"),
        blocks,
    )


GROUP = """
    conversation_id | is_initiator | database | local_service | priority | first_group_id
    high            | false        | B        | Stock         | 10       | mixed
    low             | false        | B        | Stock         | 2        | mixed
    other           | false        | B        | Stock         | 9        | single
"""
ARRIVALS = """
    message_id | conversation_id | sent_by_initiator | event_type | event_time | transaction_id
    m1         | high            | true              | DELIVERED  | 12:10      | -
    m2         | low             | true              | DELIVERED  | 12:09      | -
    m3         | other           | true              | DELIVERED  | 12:08      | -
    m1         | high            | true              | RECEIVED   | 13:30      | t
"""


def groups(found: Orders, draw: Draw, drawing: str) -> None:
    expected = draw.columns(GROUP_PRIORITIES)(drawing)
    assert_same(found.groups.select(*expected.columns), expected)


def test_a_group_falls_when_its_high_conversation_is_drained(draw: Draw) -> None:
    """Conversation priorities: only conversations that have messages in the queue count."""
    company = Company(draw, GROUP, ARRIVALS, "event_type | transaction_id | event_time\n COMMIT | t | 13:30")
    groups(
        company.orders(FIRST),
        draw,
        """
        conversation_group_id | priority | position | state
        mixed                 | 10       | 1        | ready
        single                | 9        | 2        | ready
    """,
    )
    groups(
        company.orders(SECOND),
        draw,
        """
        conversation_group_id | priority | position | state
        single                | 9        | 1        | ready
        mixed                 | 2        | 2        | ready
    """,
    )


def test_a_group_is_locked_by_an_open_receive_or_by_its_name(draw: Draw) -> None:
    """What happens at as_of has not happened: the group is free before, and the queue is on."""
    names = """
        event_type             | transaction_id | event_time | conversation_group_id | queue_status
        GET_CONVERSATION_GROUP | u              | 12:20      | single                | -
        ROLLBACK               | u              | 13:00      | -                     | -
        QUEUE_ALTERED          | -              | 14:00      | -                     | OFF
    """
    company = Company(draw, GROUP, ARRIVALS, names)
    groups(
        company.orders(FIRST),
        draw,
        """
        conversation_group_id | priority | position | state
        mixed                 | 10       | 1        | ready
        single                | 9        | -        | group_locked
    """,
    )
    groups(
        company.orders(SECOND),
        draw,
        """
        conversation_group_id | priority | position | state
        mixed                 | 2        | -        | group_locked
        single                | 9        | 1        | ready
    """,
    )
    groups(
        company.orders(at(180)),
        draw,
        """
        conversation_group_id | priority | position | state
        mixed                 | 2        | -        | queue_off
        single                | 9        | -        | queue_off
    """,
    )


def test_a_backlog_has_the_endpoints_that_matter(draw: Draw) -> None:
    """A message in a queue needs its receiver; one on its way, also its sender."""
    company = Company(
        draw,
        BOTH_ENDS + "    c2 | true | A | Orders | Stock | 5 | g3\n",
        """
        message_id | conversation_id | sent_by_initiator | event_type       | event_time
        queued     | c1              | true              | DELIVERED        | 12:02
        passing    | c1              | true              | FORWARD_ACCEPTED | 12:02
        received   | c2              | false             | RECEIVED         | 12:02
    """,
    )
    waiting = company.backlog(FIRST)

    def same_rows(found: DataFrame, drawing: str) -> None:
        expected = draw(drawing)
        assert_same(found.select(*expected.columns), expected)

    same_rows(waiting.endpoints, "conversation_id | is_initiator boolean\n c1 | true\n c1 | false")
    same_rows(queued(waiting), "message_id | queue\n queued | Q")
    same_rows(on_their_way(waiting), "message_id | sender_database | receiver_database\n passing | A | B")

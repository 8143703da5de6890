"""Each measure, on drawn tables of an as_of."""

from typing import Any

from pipelines.config.expectations import FURTHER_KEYS, Expectation, ExpectEntry
from pipelines.expectations.measure import (
    Measures,
    measure_leaks,
    measure_messages,
    measure_unresolved,
)
from pipelines.questions.open_messages import RECEIVE, TRANSMISSION, with_common_columns
from schemas.outputs import RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE, UNRESOLVED
from tests.support.drawn import Draw
from tests.support.factories import at

AS_OF = at(60)
Expected = tuple[dict[str, Any], float | None, int | None, bool]
"""An entry of the settings, its value, the messages that were measured, and whether it is met."""


def require(cases: list[Expected], measures: Measures) -> None:
    found = []
    for each, (entry, *_) in zip(expectations(cases), cases, strict=True):
        measured = measures[each.name]
        value = None if measured.value is None else round(measured.value, 6)
        found.append((entry, value, measured.messages, each.is_met(measured.value, measured.messages)))
    assert found == cases


def expectations(cases: list[Expected]) -> list[Expectation]:
    return [
        Expectation(str(number), next(key for key in FURTHER_KEYS if key in entry), ExpectEntry(**entry))
        for number, (entry, *_) in enumerate(cases)
    ]


def test_messages_in_queues(draw: Draw) -> None:
    """Waits are 1200 and 600 s at level 9, 1800 and 0 s at level 5."""
    rows = draw.rows(RECEIVE_SCHEDULE, instance="SQL1", database="B", queue="Q", local_service="Stock")("""
        contract | priority | arrived_at | remote_service
        Gold     | 9        | 12:40      | Orders
        Gold     | 9        | 12:50      | Orders
        Plain    | 5        | 12:30      | Orders
        Plain    | 5        | 12:59:59.9 | Shop
    """)
    cases: list[Expected] = [
        ({"oldest_wait": "30 min"}, 1800, 4, True),
        ({"oldest_wait": "1799 s"}, 1800, 4, False),
        ({"oldest_wait": "1 h", "contract": "Gold"}, 1200, 2, True),
        ({"oldest_wait": "1 h", "level": 9}, 1200, 2, True),
        ({"oldest_wait": "1 h", "queue": "Q"}, 1800, 4, True),
        ({"oldest_wait": "1 h", "queue": "SQL1.B.Q"}, 1800, 4, True),
        ({"oldest_wait": "1 h", "queue": "SQL2.B.Q"}, None, 0, True),
        ({"oldest_wait": "1 h", "queue": "Q", "instance": "SQL2"}, None, 0, True),
        ({"oldest_wait": "1 h", "database": "B", "service": "Stock", "remote_service": "Shop"}, 0, 1, True),
        ({"oldest_wait": "1 h", "service": "Orders"}, None, 0, True),
        ({"oldest_wait": "1 h", "contract": "Gold", "min_messages": 2}, 1200, 2, True),
        ({"oldest_wait": "1 h", "contract": "Gold", "min_messages": 3}, 1200, 2, False),
        ({"oldest_wait": "1 h", "contract": "gold", "min_messages": 1}, None, 0, False),
        # The rank is 0.95 * 3 = 2.85, between 1200 and 1800.
        ({"p95_wait": "1710 s"}, 1710, 4, True),
        ({"p95_wait": "1709 s"}, 1710, 4, False),
        ({"p95_wait": "1 h", "contract": "Gold"}, 1170, 2, True),
        ({"level_at_least": 9, "share": 0.5}, 0.5, 4, True),
        ({"level_at_least": 9}, 0.5, 4, False),
        ({"level_at_least": 5}, 1, 4, True),
        ({"level_at_least": 10, "contract": "Gold"}, 0, 2, False),
        ({"level_at_least": 9, "contract": "gold"}, None, 0, True),
    ]
    require(cases, measure_messages(with_common_columns(rows, RECEIVE), expectations(cases), as_of=AS_OF))


def test_messages_that_wait_to_be_sent(draw: Draw) -> None:
    """The level is the one that counts for sending; of a message without a contract no filter holds."""
    rows = draw.rows(TRANSMISSION_SCHEDULE, priority=9, from_service="Orders", to_service="Stock")("""
        instance | contract | transmit_priority | sendable_at
        SQL1     | Plain    | 5                 | 12:20
        SQL2     | -        | 6                 | 12:25
    """)
    cases: list[Expected] = [
        ({"transmission_age": "40 min"}, 2400, 2, True),
        ({"transmission_age": "39.9 min"}, 2400, 2, False),
        ({"transmission_age": "1 h", "instance": "SQL2"}, 2100, 1, True),
        ({"transmission_age": "1 h", "level": 6}, 2100, 1, True),
        (
            {"transmission_age": "1 h", "service": "Orders", "remote_service": "Stock", "contract": "Plain"},
            2400,
            1,
            True,
        ),
        ({"transmission_age": "1 h", "service": "Stock"}, None, 0, True),
        ({"transmission_age": "1 h", "level": 9}, None, 0, True),
    ]
    require(
        cases, measure_messages(with_common_columns(rows, TRANSMISSION), expectations(cases), as_of=AS_OF)
    )


def test_messages_that_no_schedule_has(draw: Draw) -> None:
    cases: list[Expected] = [({"unresolved": 1}, 2, 2, False), ({"unresolved": 2}, 2, 2, True)]
    require(cases, measure_unresolved(draw.rows(UNRESOLVED)("id\n m1\n m2"), expectations(cases)))


def test_a_conversation_leaks_once_whichever_of_its_endpoints_do(draw: Draw) -> None:
    rows = draw("""
        conversation_id | instance | database | contract | local_service | remote_service | reason
        c1              | SQL1     | A        | Gold     | Orders        | Stock          | error
        c1              | SQL1     | B        | Gold     | Stock         | Orders         | error
        c2              | SQL1     | B        | Plain    | Stock         | Orders         | no_traffic
        c3              | SQL1     | B        | Plain    | Stock         | Orders         | traffic_not_known
        c4              | SQL1     | B        | Plain    | Stock         | Orders         | since_not_known
    """)
    cases: list[Expected] = [
        ({"leaked_conversations": 2}, 2, None, True),
        ({"leaked_conversations": 1, "service": "Stock"}, 2, None, False),
        ({"leaked_conversations": 0, "database": "A"}, 1, None, False),
        ({"leaked_conversations": 0, "contract": "Plain"}, 1, None, False),
        ({"leaked_conversations": 0, "instance": "SQL2"}, 0, None, True),
    ]
    require(cases, measure_leaks(rows, expectations(cases)))

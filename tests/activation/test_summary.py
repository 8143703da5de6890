"""The summary of a window: figures of each monitored queue, and queues that the catalog lacks."""

from pyspark.sql import functions as F

from pipelines.activation.evidence import Evidence
from pipelines.activation.monitor import RESULTS
from pipelines.activation.ready import PERIODS
from pipelines.activation.summary import (
    COUNTED,
    SummaryParts,
    count_events,
    most_ready,
    of_unknown_queues,
    summary,
)
from pipelines.activation.write import NAMED
from pipelines.storage.collect import micros
from schemas.events import QUEUE_FACTS
from schemas.outputs import ACTIVATION_SUMMARY
from tests.support.drawn import Draw, in_micros
from tests.support.factories import at
from tests.support.frames import assert_same

FIELDS = {"queue_number": "int"} | RESULTS
REPLAY = ", ".join(f"{name} {type}" for name, type in FIELDS.items())
NOTHING = dict.fromkeys((*COUNTED, "ordinal"), 0) | {"is_on": True}
EVENT_COUNTS = "instance string, database string, queue string, events bigint, negative_row_counts bigint"
LOGGED = "instance string, has_queue_events boolean, has_receives boolean, has_outcomes boolean"
GROUPS = "queue_number int, groups_ready bigint, groups_free bigint, conversations bigint"


def test_the_figures_of_a_window(draw: Draw) -> None:
    """P was short of readers, Q is off, R quiet; snapshots show S NOTIFIED, and T off."""
    monitors = draw.rows(NAMED, instance="SQL1", database="B", mode="internal", is_on=True)("""
        queue_number | queue | max_queue_readers
        0            | P     | 1
        1            | Q     | 2
        2            | R     | 3
        3            | S     | 4
        4            | T     | 5
    """)
    runs = draw.rows(REPLAY)("""
        queue_number | ordinal | first_check | until    | checks | occurs | suppressed_by
        0            | 1       | 0           | 500000   | 1      | true   | -
        0            | 2       | 500000      | 70500000 | 14     | false  | max_queue_readers
        0            | 3       | 80000000    | 80000001 | 3      | true   | -
    """)
    totals = draw.rows(REPLAY, **NOTHING)("""
        queue_number | ready | takes | most_ready | most_ready_at timestamp | is_on | off_since timestamp
        0            | 7     | 3     | 9          | 12:01                   | true  | -
        1            | 0     | 0     | 0          | -                       | false | 12:00:01
        3            | 2     | 0     | 0          | -                       | true  | -
        4            | 1     | 0     | 0          | -                       | false | 12:05
    """).withColumn("exits_without_start", F.expr("bigint(if(queue_number = 0, 2, 0))"))
    seen_off = draw("queue_number int | off_since timestamp | off_seen_at timestamp\n 4 | 12:05 | 12:10")
    parts = SummaryParts(
        replay=runs.unionByName(in_micros(totals, "most_ready_at", "off_since")),
        groups=draw.columns(GROUPS)(
            "queue_number | groups_ready | groups_free | conversations\n 0 | 4 | 3 | 5"
        ),
        periods=draw.rows(PERIODS)("queue_number | not_ready\n 0 | 1\n 0 | 2\n 1 | 0"),
        event_counts=draw.rows(EVENT_COUNTS, instance="SQL1", database="B")(
            "queue | negative_row_counts\n P | 6\n Z | 6"
        ),
        evidence=Evidence(
            logged=draw.rows(LOGGED, has_queue_events=True, has_receives=True)("instance\n SQL1"),
            seen_off=in_micros(seen_off, "off_since"),
            notified=draw("""
                queue_number int | notified_at timestamp | notified_since timestamp | tasks_running bigint
                3                | 12:10                 | 12:09                    | 1
            """),
        ),
    )
    found = draw.keep(summary(monitors, parts, start=micros(at(0))))
    expected = draw.lines("""
        queue string            | P                       | Q         | R        | S            | T
        mode string             | internal                | internal  | internal | internal     | internal
        max_queue_readers int   | 1                       | 2         | 3        | 4            | 5
        need_seconds double     | 70.500001               | 0         | 0        | 0            | 0
        short_seconds double    | 70                      | 0         | 0        | 0            | 0
        activations bigint      | 4                       | 0         | 0        | 0            | 0
        most_ready bigint       | 9                       | 0         | 0        | 0            | 0
        most_ready_at timestamp | 12:01                   | -         | -        | -            | -
        groups_ready bigint     | 4                       | 0         | 0        | 0            | 0
        groups_free bigint      | 3                       | 0         | 0        | 0            | 0
        ready_at_end bigint     | 7                       | 0         | 0        | 2            | 1
        is_on boolean           | true                    | false     | true     | true         | false
        off_since timestamp     | -                       | 12:00:01  | -        | -            | -
        advice string           | raise_max_queue_readers | queue_off | keeps_up | not_received | queue_off
    """)
    assert_same(found.select(*expected.columns), expected)
    assert {*found.columns} == {*ACTIVATION_SUMMARY.names} - {"as_of", "as_of_key"}
    [off] = found.where("queue = 'T'").select("sentence").collect()
    assert off[0].startswith("The queue was seen off at 2026-11-20T12:10:00Z by a snapshot.")
    draw.require(found.select("queue", F.explode("oddities").alias("oddity", "count")))("""
        queue | oddity                   | count bigint
        P     | exits_without_start      | 2
        P     | received_while_not_ready | 3
        P     | negative_row_counts      | 6
    """)


def test_the_moment_of_a_queues_peak(draw: Draw) -> None:
    totals = draw.rows(REPLAY)("""
        queue_number | ordinal | most_ready_at
        0            | 0       | 17
        0            | 1       | 18
        1            | 0       | -
    """)
    assert_same(most_ready(totals), draw("queue_number int | moment bigint\n 0 | 17"))


def test_events_are_counted_by_the_queue_that_they_name(draw: Draw) -> None:
    events = draw.rows(QUEUE_FACTS, instance="SQL1", database="B")("""
        queue | row_count
        P     | -1
        P     | 0
        P     | -
        Q     | 1
    """)
    expected = draw.columns(EVENT_COUNTS)("""
        instance | database | queue | events | negative_row_counts
        SQL1     | B        | P     | 3      | 1
        SQL1     | B        | Q     | 1      | 0
    """)
    assert_same(count_events(events), expected)


def test_queues_that_the_catalog_lacks(draw: Draw) -> None:
    counts = draw.rows(EVENT_COUNTS, instance="SQL1", database="B")("queue | events\n P | 3\n p | 2000")
    expected = draw.lines("""
        queue string            | p
        mode string             | -
        max_queue_readers int   | -
        need_seconds double     | 0
        short_seconds double    | 0
        activations bigint      | 0
        most_ready bigint       | 0
        most_ready_at timestamp | -
        groups_ready bigint     | 0
        groups_free bigint      | 0
        ready_at_end bigint     | 0
        is_on boolean           | true
        off_since timestamp     | -
        advice string           | not_in_catalog
        sentence string         | 2,000 queue events name this queue and the catalog does not: add it, with its monitor.
    """)  # noqa: E501
    found = of_unknown_queues(counts, draw("instance | database | queue\n SQL1 | B | P"))
    assert_same(found.drop("instance", "database", "oddities"), expected)
    oddities = draw("oddity | count bigint\n queue_not_in_catalog | 2000")
    assert_same(found.select(F.explode("oddities").alias("oddity", "count")), oddities)

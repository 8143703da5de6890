"""What queue monitors play: events by name, at a second and its rank. The window begins at second 10."""

from datetime import timedelta

from pyspark.sql import DataFrame, functions as F

from pipelines.activation import timeline as codes
from pipelines.activation.ready import PERIODS
from pipelines.activation.timeline import period_rows, queue_event_rows
from pipelines.queue_machine.workers import KIND
from pipelines.storage.collect import micros
from schemas.events import QUEUE_FACTS
from tests.support.drawn import Draw
from tests.support.factories import at
from tests.support.frames import assert_same

FACTS = ", ".join(f"{column.name} {column.type}" for column in QUEUE_FACTS.columns)
MOMENT = timedelta(microseconds=1)
KINDS = (
    *("ARRIVAL", "TAKEN", "REDELIVERED", "READY_BEFORE", "RECEIVE", "EMPTY_RECEIVE", "EMPTY_GET_GROUP"),
    *("ROLLBACK", "WAIT_STARTED", "WAIT_ENDED", "TASK_STARTED", "TASK_EXITED", "TURNED_ON", "TURNED_OFF"),
    "ALTERED",
)


def by_name(rows: DataFrame) -> DataFrame:
    """The rows with names in place of codes, and positions apart."""
    kinds = F.create_map(*[F.lit(each) for name in KINDS for each in (getattr(codes, name), name)])
    return rows.withColumns(
        {
            "kind": kinds[F.col("kind")],
            "time": F.expr(f"position div {KIND + 1}"),
            "rank": F.expr(f"int(position % {KIND + 1})"),
        }
    )


def test_the_events_of_periods(draw: Draw) -> None:
    # 0    5    10   15   20
    #      [====|====)           ready before
    # [=========)               ready before, taken at once
    # [========)|               gone
    #           |    [====)      arrives, taken
    #           [==============  arrives
    #           |  <=======)     given back
    periods = draw.rows(PERIODS, queue_number=0, not_ready=0)("""
        queue_number | ready_from | ready_until | redelivered_by
        0            | 5          | 15          | -
        0            | 0          | 10          | -
        0            | 0          | 9           | -
        0            | 15         | 20          | -
        0            | 10         | -           | -
        0            | 13         | 20          | back
        0            | -          | -           | -
        1            | 9          | -           | before
    """)
    draw.require(by_name(period_rows(periods, start=10)))("""
        queue_number int | time bigint | rank int | tie  | kind         | number bigint
        0                | 9           | 0        | ''   | READY_BEFORE | 2
        1                | 9           | 0        | ''   | READY_BEFORE | 1
        0                | 15          | 0        | ''   | ARRIVAL      | 1
        0                | 10          | 0        | ''   | ARRIVAL      | 1
        0                | 13          | 3        | back | REDELIVERED  | 1
        0                | 10          | 1        | ''   | TAKEN        | 1
        0                | 15          | 1        | ''   | TAKEN        | 1
        0                | 20          | 1        | ''   | TAKEN        | 1
        0                | 20          | 1        | ''   | TAKEN        | 1
    """)


def test_the_events_of_queues(draw: Draw) -> None:
    """A statement with WHERE shows no idle reader. The number of an event is its session."""
    drawn = draw.rows(f"{FACTS}, kind string", event_time=at(0))("""
        event_id | event_type    | row_count | has_where | queue_status | session_id | kind
        a        | RECEIVE       | 0         | -         | -            | -          | EMPTY_RECEIVE
        b        | RECEIVE       | 0         | true      | -            | 51         | RECEIVE
        c        | RECEIVE       | -         | false     | -            | 51         | RECEIVE
        d        | GET_GROUP     | 0         | false     | -            | 51         | EMPTY_GET_GROUP
        e        | GET_GROUP     | 1         | false     | -            | 51         | -
        f        | GET_GROUP     | 0         | true      | -            | 51         | -
        g        | ROLLBACK      | -         | -         | -            | 51         | ROLLBACK
        h        | COMMIT        | -         | -         | -            | 51         | -
        i        | WAIT_STARTED  | -         | -         | -            | 52         | WAIT_STARTED
        j        | WAIT_STARTED  | -         | true      | -            | 52         | WAIT_ENDED
        k        | WAIT_ENDED    | -         | true      | -            | 52         | WAIT_ENDED
        l        | TASK_STARTED  | -         | -         | -            | -1         | TASK_STARTED
        m        | TASK_EXITED   | -         | -         | -            | 52         | TASK_EXITED
        n        | QUEUE_ALTERED | -         | -         | -            | 51         | ALTERED
        o        | QUEUE_ALTERED | -         | -         | off          | 51         | TURNED_OFF
        p        | QUEUE_ALTERED | -         | -         | ON           | 51         | TURNED_ON
    """)
    drawn = drawn.replace("GET_GROUP", "GET_CONVERSATION_GROUP", ["event_type"])
    events = drawn.drop("kind").withColumn("queue_number", F.lit(0))
    expected = drawn.where("kind is not null").select("event_id", "kind", F.col("session_id").alias("number"))
    found = by_name(queue_event_rows(events, start=micros(at(0))))
    no_session = F.when(F.col("number") != codes.NO_SESSION, F.col("number")).alias("number")
    assert_same(found.select(F.col("tie").alias("event_id"), "kind", no_session), expected)
    assert found.where("rank <> 3").isEmpty()


def test_before_the_window_only_what_decides_its_state_counts(draw: Draw) -> None:
    events = draw.rows(QUEUE_FACTS, row_count=1, event_time=at(0) - MOMENT)("""
        queue_number int | event_id | event_type    | queue_status
        0                | a        | RECEIVE       | -
        0                | b        | ROLLBACK      | -
        0                | c        | QUEUE_ALTERED | -
        0                | d        | QUEUE_ALTERED | OFF
        0                | e        | TASK_STARTED  | -
    """)
    draw.require(queue_event_rows(events, start=micros(at(0))))("tie\n d\n e")

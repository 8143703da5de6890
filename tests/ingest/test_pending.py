"""Rows with a handle: whose endpoint it is, and which rows wait until one has it."""

from datetime import timedelta

from pyspark.sql import functions as F

from pipelines.config.mapping import MappedColumn
from pipelines.ingest.pending import is_given_up, resolve_handles, select_pending
from pipelines.storage.inputs.mapped_rows import SourceMapping
from tests.support.drawn import Draw
from tests.support.frames import assert_same, instant

TAKEN = {name: MappedColumn.model_validate({"from": name}) for name in ("event_id", "conversation_handle")}
MAPPING = SourceMapping("message_events/audit", TAKEN)
COLUMNS = ", ".join(f"{column.name} {column.type}" for column in MAPPING.mapped)


def test_whose_endpoint_a_handle_is(draw: Draw) -> None:
    """The one of the row's database, else the only one of its instance."""
    known = draw("""
        instance | database | conversation_handle | conversation_id | is_initiator boolean
        SQL1     | A        | H1                  | c1              | true
        SQL1     | B        | H2                  | c1              | false
        SQL1     | C        | H3                  | c3              | true
        SQL1     | D        | H3                  | c4              | true
        SQL2     | A        | H9                  | c9              | true
    """)
    drawn = draw.rows(f"{COLUMNS}, broken boolean, payload string", instance="SQL1")("""
        event_id      | database | event_type | conversation_handle | conversation_id | broken | found | by_initiator boolean | reason
        sent          | A        | SENT       | H1                  | -               | false  | c1    | true                 | -
        arrived       | B        | DELIVERED  | H2                  | -               | false  | c1    | true                 | -
        came back     | A        | RECEIVED   | H1                  | -               | false  | c1    | false                | -
        passed on     | A        | FORWARDED  | H1                  | -               | false  | c1    | -                    | -
        from anywhere | B        | SENT       | H1                  | -               | false  | c1    | true                 | -
        of this one   | C        | SENT       | H3                  | -               | false  | c3    | true                 | -
        of several    | A        | SENT       | H3                  | -               | false  | ''    | false                | handle_unknown
        of nobody     | A        | SENT       | H9                  | -               | false  | ''    | false                | handle_unknown
        has a name    | A        | SENT       | H9                  | c7              | false  | c7    | false                | handle_unknown
        no handle     | A        | SENT       | -                   | -               | false  | -     | -                    | -
        broken        | A        | SENT       | H1                  | -               | true   | -     | -                    | -
    """)  # noqa: E501
    found = resolve_handles(drawn.drop("found", "by_initiator", "reason"), known, MAPPING)
    expected = drawn.select(
        "event_id",
        F.col("found").alias("conversation_id"),
        F.col("by_initiator").alias("sent_by_initiator"),
        F.col("reason").alias("pending_reason"),
    )
    assert_same(found.select(*expected.columns), expected)
    assert found.where("(payload is null) <> (pending_reason is null)").isEmpty()


def test_each_event_waits_once(draw: Draw) -> None:
    rows = draw("""
        event_id | event_time timestamp | pending_reason | payload | first_seen timestamp | reasons
        twice    | 12:01                | handle_unknown | b       | -                    | -
        twice    | 12:00                | handle_unknown | a       | 11-21 00:00          | -
        known    | 12:00                | -              | a       | -                    | -
        rejected | 12:00                | handle_unknown | a       | -                    | missing_queue
    """)
    expected = draw("""
        event_id | event_time timestamp | reason         | payload | first_seen timestamp | rows bigint
        twice    | 12:00                | handle_unknown | a       | 11-21 00:00          | 2
    """)
    assert_same(select_pending(rows), expected)


def test_a_row_is_given_up_after_31_days(draw: Draw) -> None:
    expected = draw("""
        event_time timestamp | is_given_up boolean
        11:59:59.999999      | true
        12:00                | false
    """)
    rows = expected.select("event_time")
    newest = instant("12:00") + timedelta(days=31)
    assert_same(rows.withColumn("is_given_up", is_given_up(newest)), expected)
    assert rows.where(is_given_up(None)).isEmpty()

"""What a database shows of its own wins over the far side's state, and over a log's ends and receives."""

import pytest
from pyspark.sql import functions as F

from pipelines.ingest.snapshots.contradictions import overrule_ends, undo_receives
from pipelines.state.ledger import Ledger
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS
from tests.support.drawn import Draw
from tests.support.frames import assert_same

OWN_ROWS = """
    conversation_id | event_type     | event_time | seen_at         | state | conversation_handle
    same moment     | DIALOG_CREATED | 08:00      | 12:00           | CO    | H
    later           | DIALOG_CREATED | 08:00      | 11:00           | SO    | H
    later           | DIALOG_CREATED | 08:00      | 13:00           | ER    | H
    before          | DIALOG_CREATED | 08:00      | 11:00           | CO    | H
    also ended      | DIALOG_CREATED | 08:00      | 13:00           | DO    | H
    also far ended  | DIALOG_CREATED | 08:00      | 13:00           | DI    | H
    not said        | DIALOG_CREATED | 08:00      | 13:00           | -     | H
    log, a minute   | DIALOG_CREATED | 08:00      | 12:01           | CO    | H
    log, longer     | DIALOG_CREATED | 08:00      | 12:01:00.000001 | SI    | H
    restored        | DIALOG_CREATED | 08:00      | 13:00           | CO    | H
    restored, DI    | DIALOG_CREATED | 08:00      | 13:00           | DI    | H
    log, then DI    | DIALOG_CREATED | 08:00      | 13:00           | DI    | H
    said again      | DIALOG_CREATED | 08:00      | 12:30           | CO    | H
"""
ENDS = """
    conversation_id | event_type                  | event_time      | seen_at | conversation_handle | wins
    same moment     | END_CONVERSATION            | 11:59:59.999999 | 12:00   | -                   | yes
    later           | END_CONVERSATION            | 11:59:59.999999 | 12:00   | -                   | yes
    before          | END_CONVERSATION            | 11:59:59.999999 | 12:00   | -                   | -
    also ended      | END_CONVERSATION            | 11:59:59.999999 | 12:00   | -                   | -
    also far ended  | END_CONVERSATION            | 11:59:59.999999 | 12:00   | -                   | -
    not said        | END_CONVERSATION            | 11:59:59.999999 | 12:00   | -                   | -
    log, a minute   | END_CONVERSATION_WITH_ERROR | 12:00           | -       | H                   | -
    log, longer     | END_CONVERSATION_WITH_ERROR | 12:00           | -       | H                   | yes
    restored        | END_CONVERSATION            | 11:59:59.999999 | 12:00   | H                   | yes
    restored        | END_CONVERSATION            | 13:29:59.999999 | 13:30   | H                   | -
    restored, DI    | END_CONVERSATION            | 11:59:59.999999 | 12:00   | H                   | yes
    log, then DI    | END_CONVERSATION            | 12:00           | -       | H                   | -
    said again      | END_CONVERSATION            | 11:59:59.999999 | 12:00   | -                   | yes
    said again      | END_CONVERSATION            | 12:59:59.999999 | 13:00   | -                   | yes
    ready then      | END_CONVERSATION            | 11:59:59.999999 | 12:00   | H                   | -
    ready later     | END_CONVERSATION            | 11:59:59.999999 | 12:00   | H                   | yes
    far, ready then | END_CONVERSATION            | 11:59:59.999999 | 12:00   | -                   | yes
    log, ready      | END_CONVERSATION            | 12:00           | -       | H                   | -
    log, ready long | END_CONVERSATION            | 12:00           | -       | H                   | yes
    far side ready  | END_CONVERSATION            | 12:00           | -       | H                   | -
    retained        | END_CONVERSATION            | 12:00           | -       | H                   | -
"""
OF_QUEUES = """
    conversation_id | event_type | seen_at         | shown_until     | sent_by_initiator | inferred
    ready then      | DELIVERED  | 12:00           | -               | true              | -
    ready later     | DELIVERED  | 11:00           | 12:00:00.000001 | true              | -
    far, ready then | DELIVERED  | 12:00           | -               | true              | -
    log, ready      | DELIVERED  | 12:01           | -               | true              | -
    log, ready long | DELIVERED  | 12:01:00.000001 | -               | true              | -
    far side ready  | DELIVERED  | 13:00           | -               | false             | -
    log, ready      | SENT       | 13:00           | -               | true              | -
    log, ready      | DELIVERED  | -               | -               | true              | -
    retained        | DELIVERED  | 13:00           | -               | true              | true
"""


def test_ends_that_the_own_database_contradicts(draw: Draw) -> None:
    """Judged again, with what the first judgement left, the ends are the same."""
    own = draw.rows(ENDPOINT_FACTS, is_initiator=False)(OWN_ROWS)
    drawn = draw.rows(ENDPOINT_FACTS, is_initiator=False)(ENDS)
    of_queues = draw.keep(draw.rows(MESSAGES)(OF_QUEUES))
    judged = overrule_ends(draw.keep(own.unionByName(drawn.drop("wins"))), of_queues, draw.keep)
    wins = F.when(F.col("wins") == "yes", "OVERRULED_").otherwise("")
    expected = drawn.withColumn("event_type", F.concat(wins, "event_type")).drop("wins")
    for found in (judged, overrule_ends(draw.keep(judged), of_queues, draw.keep)):
        assert_same(found, own.unionByName(expected).select(*found.columns))


SIGHTS = """
    message_id    | event_type | event_time | seen_at         | shown_until | event_id
    a minute      | DELIVERED  | 08:00      | 12:01           | -           | v1
    longer        | DELIVERED  | 08:00      | 12:01:00.000001 | -           | v2
    still there   | DELIVERED  | 08:00      | 11:00           | 13:00       | v3
    before        | DELIVERED  | 08:00      | 11:00           | -           | v4
    sent again    | SENT       | 08:00      | 13:00           | -           | v5
    received anew | DELIVERED  | 08:00      | 13:00           | -           | v6
    commit before | DELIVERED  | 08:00      | 13:00           | -           | v7
    commit after  | DELIVERED  | 08:00      | 13:00           | -           | v8
    no outcome    | DELIVERED  | 08:00      | 13:00           | -           | v9
    by a view     | DELIVERED  | 08:00      | 13:00           | -           | v0
"""
RECEIVES = """
    message_id    | event_time | transaction_id | seen_at | event_id | undone | undone_alone boolean
    a minute      | 12:00      | -              | -       | r1       | -      | -
    longer        | 12:00      | -              | -       | r2       | true   | true
    still there   | 12:00      | -              | -       | r3       | true   | true
    before        | 12:00      | -              | -       | r4       | -      | -
    sent again    | 12:00      | -              | -       | r5       | -      | -
    received anew | 12:00      | -              | -       | r6       | true   | true
    received anew | 14:00      | -              | -       | r7       | -      | -
    commit before | 12:00      | before         | -       | r8       | true   | true
    commit after  | 12:00      | after          | -       | r9       | -      | true
    no outcome    | 12:00      | open           | -       | r0       | -      | true
    by a view     | 12:00      | -              | 12:00   | k0       | -      | -
"""
COMMITS = """
    event_type | event_time | transaction_id
    COMMIT     | 12:30      | before
    COMMIT     | 13:30      | after
"""


@pytest.mark.parametrize("has_queue_events", [True, False])
def test_receives_that_a_queue_contradicts(draw: Draw, has_queue_events: bool) -> None:
    """Judged again, also with what the first judgement left, they are the same."""
    sights = draw.rows(MESSAGES, instance="SQL1")(SIGHTS)
    drawn = draw.rows(MESSAGES, instance="SQL1", event_type="RECEIVED")(RECEIVES)
    if not has_queue_events:
        drawn = drawn.withColumn("undone", F.col("undone_alone"))
    expected = sights.unionByName(drawn.drop("undone_alone"))
    commits = draw.rows(QUEUE_FACTS, instance="SQL1")(COMMITS)
    nothing = sights.limit(0)
    for undone in (F.lit(None).cast("boolean"), F.lit(True), F.col("undone")):
        messages = draw.keep(expected.withColumn("undone", undone))
        found = undo_receives(Ledger(messages, nothing, commits, nothing, has_queue_events), draw.keep)
        assert_same(found, expected.select(*found.columns))

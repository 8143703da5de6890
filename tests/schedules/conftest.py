"""Frames are drawn; messages in queues have their order of arrival."""

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame

from pipelines.schedules.ready import with_arrival_order
from tests.support.drawn import Draw

READY = (
    "instance string, database string, queue string, conversation_group_id string, conversation_id string, "
    "is_initiator boolean, priority int, message_id string, message_sequence_number bigint, "
    "message_type string, arrived_at timestamp, queuing_order bigint, state string"
)


@pytest.fixture
def ready(draw: Draw) -> Callable[[str], DataFrame]:
    """Draw messages that are ready for the target of c1 in group g1 of SQL1.B.Q, unless drawn otherwise."""
    rows = draw.rows(
        READY,
        instance="SQL1",
        database="B",
        queue="Q",
        conversation_group_id="g1",
        conversation_id="c1",
        is_initiator=False,
        priority=5,
        message_type="Order",
        state="ready",
    )
    return lambda drawing: with_arrival_order(rows(drawing))

"""What closes is all that does not stay open, in whichever way it is named."""

from datetime import timedelta
from itertools import product

from pyspark.sql import SparkSession

from pipelines.ingest.retention import (
    SETTLING,
    CloseAt,
    select_closing_conversations,
    select_open_conversations,
)
from tests.support.factories import at

NEWEST = at(0)
UNTIL = CloseAt.at(None, NEWEST)
SETTLED, LATE = NEWEST - 2 * SETTLING, NEWEST - SETTLING
SIDES = (
    "conversation_id string, initiator_known boolean, target_known boolean, initiator_ended_at timestamp, "
    "target_ended_at timestamp, first_arrived_at timestamp, last_event_at timestamp"
)


def test_a_conversation_closes_or_stays_open(session: SparkSession) -> None:
    """Every combination of what is known of two sides, each with an open message and without."""
    moments = (None, SETTLED, UNTIL.state_at + timedelta(hours=1))
    known = product((True, False), (True, False), moments, moments, (None, SETTLED), (None, SETTLED, LATE))
    rows = [(f"c{number}", *values) for number, values in enumerate(known)]
    names = SIDES.replace(",", "").split()[::2]
    sides = session.createDataFrame(rows, SIDES)
    with_message = {name for name, *_ in rows if int(name[1:]) % 3 == 0} | {"of no side"}
    messages = session.createDataFrame([(name,) for name in sorted(with_message)], "conversation_id string")

    def stays(row: dict[str, object]) -> bool:
        """The design's words: a known endpoint lives, a message is open, or an event is young."""
        over = {side: row[f"{side}_ended_at"] == SETTLED for side in ("initiator", "target")}
        target = row["target_known"] or (row["initiator_known"] and row["first_arrived_at"])
        return bool(
            row["conversation_id"] in with_message
            or row["last_event_at"] == LATE
            or (row["initiator_known"] and not over["initiator"])
            or (target and not over["target"])
        )

    told = [dict(zip(names, row, strict=True)) for row in rows]
    still_open = sorted({str(row["conversation_id"]) for row in told if stays(row)} | {"of no side"})
    closing = sorted(str(row["conversation_id"]) for row in told if not stays(row))
    found = [
        sorted(row.conversation_id for row in make(sides, messages, UNTIL).collect())
        for make in (select_open_conversations, select_closing_conversations)
    ]
    assert (len(closing) > 10, found) == (True, [still_open, closing])

"""What closes is all that does not stay open, in whichever way it is named."""

from datetime import UTC, date, datetime, timedelta
from itertools import product

import pytest
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


@pytest.mark.parametrize(
    ("as_of", "newest", "first_day", "closes"),
    [
        # Without an as_of, what is settled at the end of the log's newest day.
        (None, "20 12:00", None, ("20", "21 00:00", "20 11:45")),
        # Midnight: the log goes on for four minutes.
        ("21 00:00", "21 00:04", None, ("20", "21 00:00", "20 23:49")),
        # An older moment closes less: what has an event since stays open.
        ("20 06:00", "20 12:00", None, ("20", "20 06:00", "20 06:00")),
        ("20 00:00", "20 12:00", None, ("19", "20 00:00", "20 00:00")),
        # Far ahead of the log: rows get no day on which nothing happened.
        ("28 00:00", "20 12:00", None, ("20", "21 00:00", "20 11:45")),
        # Rows of the day before were pruned.
        ("20 00:00", "20 12:00", "20", ("20", "20 00:00", "20 00:00")),
    ],
)
def test_the_moments_by_which_a_night_closes(
    as_of: str | None, newest: str, first_day: str | None, closes: tuple[str, str, str]
) -> None:
    def moment(text: str) -> datetime:
        return datetime.strptime(f"2026-11-{text}", "%Y-%m-%d %H:%M").replace(tzinfo=UTC)

    found = CloseAt.at(
        as_of and moment(as_of), moment(newest), date(2026, 11, int(first_day)) if first_day else None
    )
    day, state_at, settled_before = closes
    assert found == CloseAt(date(2026, 11, int(day)), moment(state_at), moment(settled_before))

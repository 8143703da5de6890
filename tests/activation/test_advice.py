"""The advice of a summary, by its figures, and its sentence."""

from typing import Any

import pytest
from pyspark.sql import functions as F

from pipelines.activation.advice import advice, advice_sentence
from tests.support.drawn import Draw
from tests.support.factories import at
from tests.support.frames import assert_same

FIGURES = (
    "instance string, mode string, max_queue_readers int, is_on boolean, was_off_before boolean, "
    "off_since timestamp, off_seen_at timestamp, notified_at timestamp, notified_since timestamp, "
    "tasks_running bigint, has_queue_events boolean, has_receives boolean, has_outcomes boolean, "
    "need_seconds double, short_seconds double, activations bigint, takes bigint, rollbacks bigint, "
    "exits bigint, exits_with_ready bigint, most_ready bigint, groups_ready bigint, groups_free bigint, "
    "conversations bigint, ready bigint, ready_at_end bigint, "
    "advice string"
)
QUIET: dict[str, Any] = {
    **dict.fromkeys(("need_seconds", "short_seconds", "activations", "rollbacks", "exits"), 0),
    **dict.fromkeys(("exits_with_ready", "groups_free", "ready", "ready_at_end"), 0),
    **{"instance": "SQL1", "mode": "internal", "max_queue_readers": 2, "is_on": True, "takes": 1},
    **{"has_queue_events": True, "has_receives": True, "has_outcomes": True},
    **{"most_ready": 1, "groups_ready": 1, "conversations": 1, "was_off_before": False},
}
"""A queue whose readers keep up."""


CASES = {
    "what is known of the queue": """
        is_on | notified_at | ready | has_queue_events | has_receives | short_seconds | takes | advice
        false | 12:00       | 1     | false            | false        | 60            | 0     | queue_off
        true  | 12:00       | 1     | false            | false        | 60            | 0     | not_received
        true  | 12:00       | 0     | true             | true         | 0             | 1     | keeps_up
        true  | -           | 1     | false            | true         | 60            | 1     | not_known
        true  | -           | 1     | true             | false        | 60            | 1     | not_known
        true  | -           | 1     | true             | true         | 60            | 0     | not_known
        true  | -           | 1     | true             | true         | 59.9          | 0     | keeps_up
    """,
    "groups and readers": """
        short_seconds | most_ready | groups_ready | ready | groups_free | advice
        0             | 2          | 1            | 1     | 1           | more_readers_wont_help
        0             | 2          | 1            | 0     | 1           | keeps_up
        0             | 1          | 1            | 1     | 1           | keeps_up
        0             | 2          | 2            | 1     | 1           | keeps_up
        60            | 2          | 2            | 0     | 0           | more_readers_wont_help
        60            | 2          | 2            | 0     | 1           | raise_max_queue_readers
        59.9          | 2          | 2            | 0     | 1           | keeps_up
    """,
    "applications and procedures": """
        need_seconds | short_seconds | mode     | exits_with_ready | groups_free | advice
        60           | 60            | external | 1                | 1           | raise_max_queue_readers
        60           | 0             | external | 1                | 0           | answers_late
        59.9         | 0             | external | 1                | 0           | keeps_up
        60           | 0             | internal | 1                | 0           | reader_exits_early
        59.9         | 0             | internal | 1                | 0           | keeps_up
        60           | 0             | internal | 0                | 0           | keeps_up
    """,
}


@pytest.mark.parametrize("case", CASES)
def test_the_first_advice_that_fits(draw: Draw, case: str) -> None:
    """A reader was needed whenever there were too few."""
    drawn = draw.rows(FIGURES, **QUIET | {"need_seconds": None})(CASES[case])
    expected = drawn.withColumns(
        {"need_seconds": F.coalesce("need_seconds", "short_seconds"), "ready_at_end": F.col("ready")}
    )
    assert_same(expected.withColumn("advice", advice()), expected)


OFF = {"advice": "queue_off", "is_on": False, "off_since": at(5.6), "rollbacks": 5}
NOTIFIED = {
    **{"advice": "not_received", "notified_at": at(10), "notified_since": at(9)},
    **{"ready": 2, "tasks_running": 1},
}
UNKNOWN = {"advice": "not_known"}


SENTENCES: dict[str, dict[str, Any]] = {
    """The queue has been off since 2026-11-20T12:05:36Z. The window has 5 rollbacks. Find what
    could not be read, then turn the queue on.""": OFF,
    """The queue was seen off at 2026-11-20T12:06:00Z by a snapshot. The window has 1
    rollback; 1 message is left in it: find what could not be read, then turn the queue on.""": {
        **OFF,
        "off_seen_at": at(6),
        "ready": 1,
        "rollbacks": 1,
    },
    """The catalog says that the queue is off. 2,000 messages are left in it. Find what could not be
    read, then turn the queue on.""": {**OFF, "off_since": None, "ready": 2000, "was_off_before": True},
    """The queue has been off since 2026-11-20T12:05:36Z. How many rollbacks there were is not known: the
    log has no COMMIT and no ROLLBACK of SQL1 in the window. Find what could not be read, then
    turn the queue on.""": {**OFF, "has_outcomes": False},
    """2 messages stand in the queue and nothing has been received since 2026-11-20T12:09:00 (zone not
    documented); the monitor is NOTIFIED: the procedure was started and did not RECEIVE; 1 activated
    task runs (snapshot of 2026-11-20T12:10:00Z).""": NOTIFIED,
    """1 message stands in the queue and nothing has been received; the monitor is NOTIFIED: the
    procedure was started and did not RECEIVE; 2 activated tasks run (snapshot of
    2026-11-20T12:10:00Z).""": {**NOTIFIED, "notified_since": None, "ready": 1, "tasks_running": 2},
    """2 messages stand in the queue and nothing has been received since 2026-11-20T12:09:00 (zone not
    documented); the monitor is NOTIFIED: the application was notified and did not RECEIVE (snapshot
    of 2026-11-20T12:10:00Z).""": {**NOTIFIED, "mode": "external"},
    "What readers did is not known: the log has no queue events of SQL1 in the window.": {
        **UNKNOWN,
        "has_queue_events": False,
    },
    """What readers did is not known: the log has no RECEIVE and no RECEIVED of SQL1 in the window.
    1 message waited at the end of the window.""": {**UNKNOWN, "has_receives": False, "ready": 1},
    """What readers did is not known: one was needed for 1 min, and the log has no RECEIVED of this
    queue in the window; either none came, or the log lacks what they received.""": {
        **UNKNOWN,
        "need_seconds": 61.0,
        "takes": 0,
    },
    """More readers won't help: of 50 ready messages, the most at any time, all were in 1
    conversation group (1 conversation), 0 of them free, and a group has one reader at a time.""": {
        "advice": "more_readers_wont_help",
        "most_ready": 50,
    },
    """All readers that max_queue_readers = 2 allows ran for 2 h 2 min while messages waited, at most
    1 ready message in 3 conversation groups, 2 of them free: raise max_queue_readers.""": {
        "advice": "raise_max_queue_readers",
        "short_seconds": 7325.9,
        "groups_ready": 3,
        "groups_free": 2,
    },
    """Messages waited for a reader for 1 min, in which a monitor sends 1 notification, at most 1
    ready message in 1 conversation group, 0 of them free: the application answers late.""": {
        "advice": "answers_late",
        "need_seconds": 60.0,
        "activations": 1,
    },
    """A reader was needed for 1 min, and 1 of 2 exits came while messages were ready, at most 1
    ready message in 1 conversation group, 0 of them free: let the procedure receive until the
    queue is empty.""": {
        "advice": "reader_exits_early",
        "need_seconds": 90.0,
        "exits": 2,
        "exits_with_ready": 1,
    },
    """The readers keep up: one was needed for 59 s, at most 1 ready message in 1 conversation group,
    0 of them free.""": {"advice": "keeps_up", "need_seconds": 59.9},
}
"""What is said, and the figures of the queue that differ from QUIET."""


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_sentence_of_an_advice(draw: Draw, sentence: str) -> None:
    row = draw.rows(FIGURES, **QUIET | SENTENCES[sentence])("row int\n 1")
    [found] = row.select(advice_sentence().alias("sentence")).collect()
    assert found["sentence"] == " ".join(sentence.split())

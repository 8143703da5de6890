"""How many messages and conversations have each cause, in each place and in all."""

from pipelines.why.causes.cause import BLOCKED, ORDER, STOPPED, Teller
from pipelines.why.counts import count_causes
from pipelines.why.report import Findings
from tests.support.drawn import Draw
from tests.support.factories import Row, at
from tests.support.why_answers import with_causes

TELLER = Teller(lambda *words: " ".join(words), stopped_before=at(10))
ROWS = """
    kind                  | receive      | receive                | receive   | receive   | unresolved
    instance              | S            | S                      | S         | S         |
    database              | B            | B                      | B         | B         |
    queue                 | Q            | Q                      | R         | R         |
    message_id            | m1           | m2                     | m3        | m4        | m5
    conversation_id       | c1           | c1                     | c1        | c2        | -
    state                 | ready        | ready                  | forwarded | ready     | -
    codes                 | not_received | outranked not_received | outranked | outranked | handle_unknown
    since timestamp       | 12:05        | 12:06                  | 12:04     | 12:04     | 12:09
    known_since timestamp | 12:20        | -                      | -         | -         | -
"""


def test_messages_and_conversations_are_counted_by_place_and_in_all(draw: Draw) -> None:
    rows = with_causes(draw.lines(ROWS))
    counts = count_causes(rows, TELLER)
    found = {
        (None if place is None else place[3], row["code"]): (
            row["messages"],
            row["conversations"],
            row["example_message_id"],
            row["severity"],
        )
        for place, row in counts.causes
    }
    assert {key: row for key, row in found.items() if key[0] is not None} == {
        ("Q", "not_received"): (2, 1, "m1", STOPPED),
        ("Q", "outranked"): (1, 1, "m2", ORDER),
        ("R", "outranked"): (2, 2, "m3", ORDER),
        ("", "handle_unknown"): (1, 0, "m5", STOPPED),
    }
    forwarded = {(place and place[3], row["code"]): row["forwarded"] for place, row in counts.causes}
    assert [forwarded[key] for key in (("Q", "outranked"), ("R", "outranked"), (None, "outranked"))] == [
        0,
        1,
        1,
    ]
    assert found[None, "outranked"] == (3, 2, "m3", ORDER)
    assert found[None, "not_received"] == (2, 1, "m1", STOPPED)
    assert {place and place[3]: count for place, count in counts.conversations.items()} == {
        "Q": 1,
        "R": 2,
        None: 2,
    }
    only_places = count_causes(rows, TELLER, are_all_counted=False).causes
    assert [place for place, _ in only_places if place is None] == []


def test_findings_that_are_not_told_are_counted_with_their_codes() -> None:
    off, silent, locked, first = (
        {"severity": severity, "code": code}
        for severity, code in (
            (STOPPED, "queue_off"),
            (STOPPED, "not_received"),
            (BLOCKED, "group_locked"),
            (ORDER, "first_in_line"),
        )
    )
    counted = [off, silent, silent, locked, first]

    def more(*told: Row) -> str:
        return Findings("", counted, [*told], [], []).more

    assert more(off) == "and 3 more findings (2 stopped: not received; 1 blocked: group locked)"
    assert more(silent, silent, locked) == "and 1 more finding (1 stopped: queue off)"
    assert more(*counted) == more(*counted[:-1]) == ""

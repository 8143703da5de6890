"""How many messages wait where, how long and at which levels, and what is ahead of them."""

from pipelines.why.situation import describe_ahead, describe_places
from pipelines.why.write import measure_waits
from tests.support.drawn import Draw
from tests.support.factories import Row, at

AS_OF = at(60)
ROWS = """
    kind                | receive | receive | receive      | receive   | transmission | unresolved
    instance            | S       | S       | S            | S         | S            | ''
    database            | B       | B       | B            | B         | ''           | ''
    queue               | Q       | Q       | Q            | Q         | ''           | ''
    message_id          | m1      | m2      | m3           | m4        | m5           | m6
    state               | ready   | ready   | group_locked | queue_off | forwarded    | unresolved
    since timestamp     | 12:50   | 12:40   | 12:30        | 12:59:59.5| 12:00        | 12:10
    level int           | 9       | 5       | 5            | 5         | 7            | -
    position bigint     | 1       | 2       | -            | 3         | 1            | -
    receive_number bigint | 1     | 1       | -            | 2         | -            | -
    contract            | Gold    | Plain   | Plain        | -         | Gold         | -
    local_service       | to      | to      | to           | to        | from         | -
    remote_service      | from    | from    | from         | from      | to           | -
"""
QUEUE, SENDING, UNPLACED = (
    ("receive", "S", "B", "Q"),
    ("transmission", "S", "", ""),
    ("unresolved", "", "", ""),
)


def kinds(*counts: tuple[str | None, int]) -> list[Row]:
    """Kinds of messages to the queue's service, by contract."""
    services = {"local_service": "to", "remote_service": "from"}
    return [{"contract": contract, **services, "messages": count} for contract, count in counts]


def levels(*counts: tuple[int, int]) -> list[Row]:
    return [{"level": level, "messages": count} for level, count in counts]


def test_places_and_all_together(draw: Draw) -> None:
    conversations = {QUEUE: 3, SENDING: 1, None: 4}
    found = describe_places(draw.lines(ROWS), conversations, AS_OF, 2)
    states = dict.fromkeys(
        ("ready", "queue_off", "group_locked", "transmission", "forwarded", "unresolved"), 0
    )
    assert found[QUEUE] == {
        "messages": 4,
        "conversations": 3,
        "states": states | {"ready": 2, "group_locked": 1, "queue_off": 1},
        "oldest": at(30),
        "oldest_seconds": 1800,
        # The waits are 0, 600, 1200 and 1800 s, and the rank is 0.95 * 3 = 2.85.
        "p95_seconds": 1710.0,
        "levels": levels((9, 1), (5, 3)),
        "kinds": kinds(("Plain", 2), ("Gold", 1)),
    }
    total = found[None]
    assert [total[name] for name in ("messages", "conversations", "oldest_seconds")] == [6, 4, 3600]
    assert total["levels"] == levels((9, 1), (7, 1), (5, 3))
    sent = {"contract": "Gold", "local_service": "from", "remote_service": "to", "messages": 1}
    assert total["kinds"] == [*kinds(("Plain", 2)), sent]
    unplaced = found[UNPLACED]
    assert [unplaced[name] for name in ("messages", "conversations", "levels")] == [1, 0, []]


def test_what_is_ahead_of_the_first_and_of_the_median(draw: Draw) -> None:
    rows = draw.keep(draw.lines(ROWS))
    nothing = {"messages": 0, "kinds": []}
    first = {"message_id": "m1", "receives": 0, **nothing}
    second = {"message_id": "m2", "messages": 1, "receives": 0, "kinds": kinds(("Gold", 1))}
    sent = {"message_id": "m5", "receives": None, **nothing}
    assert describe_ahead(rows, rows) == {
        QUEUE: {"first": first, "median": second},
        SENDING: {"first": sent, "median": sent},
    }
    last = {"message_id": "m4", "messages": 2, "receives": 1, "kinds": kinds(("Gold", 1), ("Plain", 1))}
    assert describe_ahead(rows, rows.where("message_id = 'm4'")) == {QUEUE: {"first": last, "median": last}}
    of_two = describe_ahead(rows, rows.where("message_id in ('m2', 'm4')"))
    assert of_two == {QUEUE: {"first": second, "median": second}}


def test_waits_by_place_and_level(draw: Draw) -> None:
    """Messages that a queue or a group holds back are counted alone, and their waits with the others."""
    found = measure_waits(draw.lines(ROWS), AS_OF)
    columns = ("kind", "database", "level", "ready", "held", "oldest_seconds", "p95_seconds")
    assert sorted(tuple(row[name] for name in columns) for row in found) == [
        ("receive", "B", 5, 1, 2, 1800, 1740.0),
        ("receive", "B", 9, 1, 0, 600, 600.0),
        ("transmission", None, 7, 1, 0, 3600, 3600.0),
    ]

"""Gains and losses by dimension, pairs that overtake each other, and what is counted of a what-if."""

from pyspark.sql import SparkSession, functions as F

from pipelines.whatif.answers import answers_frame, counts, read_answers
from pipelines.whatif.request import reordered_scenarios, reordered_scopes, rows_of_scopes
from pipelines.whatif.summary import pairs, summary
from tests.support.frames import assert_same, frame, instant

MOVES = """
    kind         | database | queue | contract | local_service | position_before bigint | position_after bigint | moved bigint | level_before int
    receive      | B        | Q]    | Gold     | Target        | 1                      | 3                     | -2           | 8
    receive      | B        | Q]    | Lead     | Target        | 2                      | 1                     | 1            | 5
    receive      | B        | Q]    | Lead     | Target        | 3                      | 2                     | 1            | 5
    receive      | B        | Q]    | Lead     | Target        | -                      | -                     | -            | 5
    receive      | B        | R     | -        | Target        | 1                      | 1                     | 0            | 5
    transmission | A        | -     | Gold     | Initiator     | 1                      | 2                     | -1           | 8
    transmission | A        | -     | Gold     | Initiator     | 2                      | 1                     | 1            | 8
"""  # noqa: E501
SUMMARY = """
    kind         | dimension     | name            | messages bigint | gained bigint | lost bigint | positions_gained bigint | positions_lost bigint | largest_gain bigint | largest_loss bigint | median_moved double
    receive      | queue         | [SQL1].[B].[Q]]] | 3              | 2             | 1           | 2                       | 2                     | 1                   | 2                   | 1.0
    receive      | queue         | [SQL1].[B].[R]  | 1               | 0             | 0           | 0                       | 0                     | 0                   | 0                   | 0.0
    receive      | contract      | Gold            | 1               | 0             | 1           | 0                       | 2                     | 0                   | 2                   | -2.0
    receive      | contract      | Lead            | 2               | 2             | 0           | 2                       | 0                     | 1                   | 0                   | 1.0
    receive      | contract      | -               | 1               | 0             | 0           | 0                       | 0                     | 0                   | 0                   | 0.0
    receive      | local_service | Target          | 4               | 2             | 1           | 2                       | 2                     | 1                   | 2                   | 0.5
    receive      | level         | 8               | 1               | 0             | 1           | 0                       | 2                     | 0                   | 2                   | -2.0
    receive      | level         | 5               | 3               | 2             | 0           | 2                       | 0                     | 1                   | 0                   | 1.0
    transmission | instance      | [SQL1]          | 2               | 1             | 1           | 1                       | 1                     | 1                   | 1                   | 0.0
    transmission | contract      | Gold            | 2               | 1             | 1           | 1                       | 1                     | 1                   | 1                   | 0.0
    transmission | local_service | Initiator       | 2               | 1             | 1           | 1                       | 1                     | 1                   | 1                   | 0.0
    transmission | level         | 8               | 2               | 1             | 1           | 1                       | 1                     | 1                   | 1                   | 0.0
"""  # noqa: E501


def test_gains_and_losses(session: SparkSession) -> None:
    """Messages without a position are not counted."""
    moves = frame(session, MOVES).withColumn("instance", F.lit("SQL1"))
    assert_same(summary(moves), frame(session, SUMMARY))


def test_pairs_that_overtake(session: SparkSession) -> None:
    """In queue Q both messages of level 5 pass the one of level 8; a queue without moves has no row."""
    moves = frame(session, MOVES).withColumn("instance", F.lit("SQL1"))
    expected = """
        instance | database | queue | passing_level int | passed_level int | pairs bigint
        SQL1     | B        | Q]    | 5                 | 8                | 2
    """
    assert_same(pairs(moves), frame(session, expected))


COUNTED = {
    "endpoints": {"proposal": 7, "drift": 0},
    "messages": {"messages": 6, "gained": 3, "lost": 2},
}


def test_what_changes_is_counted(session: SparkSession) -> None:
    kinds = frame(session, "cause | endpoints bigint\nproposal | 3\nproposal | 4")
    assert counts(kinds, frame(session, MOVES)) == COUNTED
    nothing = {"endpoints": {"proposal": 0, "drift": 0}, "messages": dict.fromkeys(COUNTED["messages"], 0)}
    assert counts(kinds.limit(0), frame(session, MOVES).limit(0)) == nothing


def test_answers_as_a_table(session: SparkSession) -> None:
    other = {"endpoints": {"proposal": 1, "drift": 2}, "messages": {"messages": 6, "gained": 0, "lost": 1}}
    as_if = instant("10:00")
    by_answer = {"deployment": COUNTED, "always": other, "instant": other}
    table = answers_frame(session, by_answer, as_if)
    expected = """
        answer     | as_if timestamp | proposal bigint | drift bigint | messages bigint | gained bigint | lost bigint
        deployment | -               | 7               | 0            | 6               | 3             | 2
        always     | -               | 1               | 2            | 6               | 0             | 1
        instant    | 10:00           | 1               | 2            | 6               | 0             | 1
    """  # noqa: E501
    assert_same(table, frame(session, expected))
    assert read_answers(table) == (by_answer, as_if)
    assert read_answers(table.where("answer <> 'instant'"))[1] is None


LEVELS = """
    queue | message_id | level int | level_before int | level_after int
    same  | m1         | 5         | 5                | 5
    after | m1         | 5         | 5                | 5
    after | m2         | 5         | 5                | 9
    both  | m1         | 5         | 6                | 9
"""


def test_queues_whose_order_is_another(session: SparkSession) -> None:
    rows = frame(session, LEVELS)
    nowhere = {"before": False, "after": False}
    scopes = reordered_scopes(rows, ["queue"], nowhere)
    expected = "queue | before boolean | after boolean\nafter | false | true\nboth | true | true"
    assert_same(scopes, frame(session, expected))
    assert reordered_scenarios(scopes) == ["before", "after"]
    assert reordered_scenarios(scopes.where("queue = 'after'")) == ["after"]
    assert reordered_scenarios(scopes.limit(0)) == []
    assert_same(rows_of_scopes(rows, scopes, "before"), rows.where("queue = 'both'"))
    assert_same(rows_of_scopes(rows, scopes, "after"), rows.where("queue <> 'same'"))
    everywhere = reordered_scopes(rows, ["queue"], nowhere | {"before": True})
    expected = (
        "queue | before boolean | after boolean\nsame | true | false\nafter | true | true\nboth | true | true"
    )
    assert_same(everywhere, frame(session, expected))

"""What is ahead of each message in its place."""

from pyspark.sql import functions as F

from pipelines.engine.frames import small_frame
from pipelines.why.order import FLAGS, LEVEL_ORDER, LevelOrder, find_order, with_order, with_own_first
from pipelines.why.places import OF_PLACE, PLACE, Place
from tests.support.drawn import Draw

QUEUE: Place = ("receive", "S", "B", "Q")
POSITIONS = """
kind         | instance | database | queue | id | position bigint | counts_as int | unit | block bigint
receive      | S        | B        | Q     | m1 | 1               | 9             | g1   | -
receive      | S        | B        | Q     | m2 | 2               | 9             | g1   | -
receive      | S        | B        | Q     | m3 | 3               | 5             | g2   | -
receive      | S        | B        | Q     | m4 | 4               | 5             | g1   | -
receive      | S        | B        | Q     | m5 | -               | 5             | g3   | -
transmission | S        |          |       | m6 | 1               | 5             | c1   | 1
transmission | S        |          |       | m7 | 2               | 8             | c2   | 2
transmission | S        |          |       | m8 | 3               | 5             | c1   | 2
"""


def test_the_first_positions_of_a_place_and_level(draw: Draw) -> None:
    positions = draw(POSITIONS).where("position is not null and block is null")
    assert find_order(positions) == {
        (QUEUE, 9): LevelOrder(first=1, first_unit="g1", second=None, top_unit="g1", first_other=3),
        (QUEUE, 5): LevelOrder(first=3, first_unit="g2", second=4, top_unit="g1", first_other=3),
    }


def test_first_positions_and_counts_say_what_is_ahead(draw: Draw) -> None:
    """In blocks a lower level may be ahead, and messages are counted."""
    rows = draw.keep(draw(POSITIONS))
    of_levels = small_frame(
        draw.session,
        [(*QUEUE, 9, 1, "g1", None, "g1", 3), (*QUEUE, 5, 3, "g2", 4, "g1", 3)],
        f"{OF_PLACE}, counts_as int, {LEVEL_ORDER}",
    )
    own = with_own_first(rows, rows.where("position is not null"))
    found = with_order(own.join(of_levels, [*PLACE, "counts_as"], "left"), has_blocks=True)
    flags = [F.when(F.col(name), name.removeprefix("is_")) for name in FLAGS]
    draw.require(found.select("id", F.concat_ws(" ", *flags).alias("ahead")))("""
        id | ahead
        m1 | ''
        m2 | behind_own
        m3 | outranked
        m4 | behind_own behind_older
        m5 | ''
        m6 | ''
        m7 | behind_older
        m8 | outranked behind_own
    """)

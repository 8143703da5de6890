"""Open messages beside the newest complete view of their queue."""

from pipelines.schedules.view_sums import with_views
from pipelines.storage.snapshots.newest import SummedView
from tests.support.drawn import Draw
from tests.support.factories import at
from tests.support.frames import assert_same


def test_whether_the_view_of_its_queue_shows_a_message(draw: Draw) -> None:
    views = [
        SummedView("receive", "SQL1", "B", "Q", at(0), rows=0),
        SummedView("transmission", "SQL1", "A", None, at(0), rows=0),
    ]
    expected = draw("""
        kind         | instance | database | queue | shown_instance | shown_database | shown_queue | last_shown_at timestamp | view int | is_shown boolean
        receive      | SQL1     | B        | Q     | SQL1           | B              | Q           | 12:00                   | 0        | true
        receive      | SQL1     | B        | Q     | SQL1           | B              | Q           | 11:59                   | 0        | false
        receive      | SQL1     | B        | Q     | SQL1           | B              | P           | 12:00                   | 0        | false
        receive      | SQL1     | B        | Q     | -              | -              | -           | -                       | 0        | false
        receive      | SQL1     | B        | P     | SQL1           | B              | P           | 12:00                   | -        | false
        transmission | SQL1     | A        | ''    | SQL1           | A              | -           | 12:00                   | 1        | true
        transmission | SQL1     | B        | ''    | SQL1           | B              | -           | 12:00                   | -        | false
    """)  # noqa: E501
    found = with_views(expected.drop("view", "is_shown").replace("", None, ["queue"]), views)
    assert_same(found.select(*expected.columns), expected)

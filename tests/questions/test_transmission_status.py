"""Messages on their way, by the kind of their transmission_status."""

import pytest
from pyspark.sql import SparkSession, functions as F

from pipelines.console.tables import print_cut
from pipelines.console.terminal import open_console
from pipelines.questions.transmission_status import count_statuses, kind_of_status
from pipelines.storage.collect import collect_first
from tests.support.frames import assert_same, frame

SCHEDULE = """
instance | message_id | position bigint | sendable_at timestamp | why_still_here
B        | b/1        | 1               | 12:00                 | user 7 may not send to '//b'
A        | a/2        | 1               | 12:00                 | user 12 may not send to '//a'
A        | a/1        | 2               | 12:01                 | user 3 may not send to '//a'
A        | a/4        | 3               | 12:01                 | no route
A        | a/3        | 4               | 12:05                 | -
"""


def test_texts_of_one_kind_count_together_and_show_the_one_that_has_waited_longest(
    session: SparkSession,
) -> None:
    """Positions are of an instance: of two that began to wait together it is the first by id."""
    expected = """
    messages bigint | why_still_here                | oldest timestamp | example_message_id
    3               | user 12 may not send to '//a' | 12:00            | a/2
    1               | no route                      | 12:01            | a/4
    1               | -                             | 12:05            | a/3
    """
    assert_same(count_statuses(frame(session, SCHEDULE)), frame(session, expected))


@pytest.mark.parametrize(
    ("limit", "said"), [(1, "  and 2 more kinds, 2 messages: --limit prints more\n"), (3, ""), (9, "")]
)
def test_what_is_cut_is_counted(
    session: SparkSession, limit: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = count_statuses(frame(session, SCHEDULE)).orderBy(F.desc("messages"))
    rows, in_all = collect_first(kinds, limit)
    assert in_all == {"rows": 3, "messages": 5}
    print_cut(open_console(), rows, in_all, "kind")
    print_cut(open_console(), rows, {"rows": len(rows) + 1}, "row")
    assert capsys.readouterr().out == f"{said}  and 1 more row: --limit prints more\n"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("failed with '10060(no answer)'", "failed with '10061(refused)'"),
        ("lost at 2026-11-20 09:05:13.25", "lost at 2026-11-21 10:06:14"),
        ("no key 0F8FAD5B-D9CB-469F-A165-70867728950E", "no key 7C9E6679-7425-40DE-944B-E07FC1F90AE7"),
        ("no answer of tcp://far.example:4022", "no answer of tcp://10.1.2.3:4022"),
        ("no answer of fe80::1ff:fe23:4567:890a", "no answer of 2001:db8::1"),
    ],
)
def test_what_texts_of_one_kind_differ_in(session: SparkSession, one: str, other: str) -> None:
    texts = session.createDataFrame([(one,), (other,), ("no answer",)], "text string")
    kinds = [row[0] for row in texts.select(kind_of_status("text")).collect()]
    assert kinds[0] == kinds[1] != kinds[2]

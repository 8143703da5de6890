"""What no input says is not known: no finding, no advice and no difference rests on it."""

from pathlib import Path

from pyspark.sql import SparkSession

from tests.field.running import Case


def test_whether_a_database_honors_priorities_is_not_known(session: SparkSession, tmp_path: Path) -> None:
    case = Case.copied("field-33-honor-unknown", tmp_path / "case")
    night, why, lint = case.published("latest"), case.job("why"), case.job("lint")
    said = "hether MILL1.PressDB honors priorities is not known; the order to send holds if it does"
    assert said in night.out
    assert said in why.out
    assert [text for text in (night.out, why.out, lint.out) if "ALTER DATABASE" in text] == []
    columns = ("message_id", "position", "honored", "priority", "transmit_priority")
    rows = [tuple(row.values()) for row in case.table("transmission_schedule", columns)]
    handle = "22222222-AAAA-4BBB-8CCC-00000000000"
    assert sorted(rows) == [
        (f"{handle}1/initiator/0", 2, None, 3, 3),
        (f"{handle}2/initiator/0", 3, None, 3, 3),
        (f"{handle}3/initiator/0", 1, None, 8, 8),
    ]

"""How old the data of each database is, and which databases their server has no more."""

import json
from pathlib import Path

from pyspark.sql import SparkSession

from tests.field.running import Case

LATER = "2026-11-20T12:30:00Z"
OTHER = {"instance": "MILL1", "database": "OtherDB", "newest": "2026-11-20T10:00:00Z", "age_seconds": 9_000}
LINES = (
    "MILL1.PressDB: gone since 2026-11-20T10:00:00Z, as captures of its server no longer list it; its "
    "figures are those of 2026-11-19T10:00:00Z",
    "MILL1.OtherDB: the newest capture is 2 h older than 2026-11-20T12:30:00Z, of 2026-11-20T10:00:00Z",
)


def two_days(to: Path, **sections: object) -> Case:
    """The server's captures of two days; the second one has OtherDB in place of PressDB."""
    case = Case.copied("field-46-normal-day", to)
    newest = to / "captures" / "MILL1-20261120T100000Z.jsonl"
    newest.write_text(newest.read_text().replace('"PressDB"', '"OtherDB"'))
    case.configure(**sections)
    return case


def test_what_is_old_and_what_is_gone_goes_first(session: SparkSession, tmp_path: Path) -> None:
    case = two_days(tmp_path / "case", expect=[{"data_age": "2 h"}, {"data_age": "3 h", "instance": "MILL1"}])
    night = case.nightly(LATER)
    assert night.code == 6
    assert tuple(night.out.splitlines()[:2]) == LINES
    for job in (["why"], ["waiting"], ["leaks"], ["expect"], ["next", "--queue", "MILL1.PressDB.JobQueue"]):
        told = case.job(*job)
        assert tuple(told.out.splitlines()[:2]) == LINES, job
        plain = case.job(*job, "--format", "json")
        assert plain.json["stale"] == [OTHER], job
    of_queue = case.job("why", "--queue", "MILL1.PressDB.JobQueue")
    assert (LINES[0] in of_queue.out, LINES[1] in of_queue.out) == (True, False)
    assert case.ask("why", "--queue", "MILL1.PressDB.JobQueue")["stale"] == []
    measured = {row["name"]: row for row in case.job("expect", "--format", "json").json["expectations"]}
    assert [(row["value"], row["met"], row["messages"]) for row in measured.values()] == [
        (9_000, False, None),
        (9_000, True, None),
    ]
    page = tmp_path / "page.html"
    assert case.job("report", "--out", page).code == 0
    assert LINES[0] in page.read_text(encoding="utf-8")
    [run] = case.table("runs", ["newest_facts", "databases_gone"])
    assert [name for name, _ in run["newest_facts"]] == ["[MILL1].[OtherDB]", "[MILL1].[PressDB]"]
    assert [name for name, _ in run["databases_gone"]] == ["[MILL1].[PressDB]"]


def test_fresh_data_is_no_word_worth(session: SparkSession, tmp_path: Path) -> None:
    case = Case.copied("field-46-normal-day", tmp_path / "case")
    night = case.published("2026-11-20T11:00:00Z")
    assert "older" not in night.out
    assert json.loads(case.job("why", "--format", "json").out)["stale"] == []
    case.configure(expect=[{"data_age": "2 h", "database": "PresDB"}])
    night = case.nightly("2026-11-20T11:00:00Z")
    assert night.code == 2
    assert "no database of that name has data; did you mean 'PressDB'?" in night.err

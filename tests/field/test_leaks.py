"""Leaks by state, as captures of servers show them."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case

pytestmark = pytest.mark.slow


def add_light(captures: Path) -> None:
    """Add a light capture of five minutes later: it lacks endpoints."""
    text = (captures / "P01SQL-20261120T100000Z.jsonl").read_text()
    light = [json.loads(line) for line in text.replace("2026-11-20T10:00:", "2026-11-20T10:05:").splitlines()]
    id = light[0]["id"].replace("AF1BD09D", "BF1BD09D")
    light = [line for line in light if not ("row" in line and line["view"] == "conversation_endpoints")]
    for line in light:
        if line.get("view") == "conversation_endpoints":
            line |= {"count": 0, "complete": False}
    light[0] |= {"id": id, "light": True}
    light[-1] |= {"id": id, "rows": sum("row" in line for line in light)}
    file = captures / "P01SQL-20261120T100500Z.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in light))


@pytest.fixture(scope="module")
def stuck(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A night behind a light capture, which leaves the states of the full one."""
    case = Case.copied("field-42-stuck-outbound", tmp_path_factory.mktemp("stuck") / "case")
    add_light(case.folder / "captures")
    case.configure(expect=[{"name": "leaks", "leaked_conversations": 43}])
    (case.folder / "night.txt").write_text(case.published("latest").out)
    return case


def test_a_night_and_leaks_count_the_same_leaks_by_state(stuck: Case) -> None:
    night = (stuck.folder / "night.txt").read_text()
    line = "43 endpoints leak: 40 in state DO (DISCONNECTED_OUTBOUND) as the far side has not acknowledged"
    assert line in night
    out = stuck.job("leaks").out
    assert line in out
    assert "3 conversations wait for their EndDialog or Error to be read in P01SQL.SiteDB.SyncQueue." in out
    found = stuck.ask("leaks")
    kinds = {(row["state"], row["reason"], row["endpoints"]) for row in found["kinds"]}
    assert kinds == {("DO", "not_acknowledged", 40), ("ER", "error", 3)}
    by = "by the full capture of 2026-11-20T10:00:00Z"
    assert f" ({by}): " in next(each for each in night.splitlines() if line in each)
    page = stuck.folder / "page.html"
    assert stuck.job("report", "--out", page).code == 0
    assert f"endpoints that leak are counted {by}" in page.read_text()
    [full] = found["full_captures"]
    assert (found["endpoints"], full["taken_at"]) == (43, "2026-11-20T10:00:00Z")
    [measured] = stuck.ask("expect")["expectations"]
    assert (measured["value"], measured["met"]) == (43, True)


def test_the_script_ends_what_failed_and_nothing_that_is_not_acknowledged(stuck: Case) -> None:
    file = stuck.folder / "end.sql"
    assert stuck.job("leaks", "--script", file).code == 0
    lines = [line for line in file.read_text().splitlines() if "END CONVERSATION '" in line]
    ends = [line for line in lines if not line.startswith("--")]
    assert len(lines) == 43
    assert len(ends) == 3
    assert all("state = 'ER') AND NOT EXISTS (SELECT * FROM [dbo].[SyncQueue]" in line for line in ends)


def test_a_second_capture_tells_since_when(session: SparkSession, tmp_path: Path) -> None:
    case = Case.copied("field-42-stuck-outbound", tmp_path / "case")
    capture = case.folder / "captures" / "P01SQL-20261120T100000Z.jsonl"
    rows = [line for line in capture.read_text().splitlines() if '"row":{"enqueue_time":"2026-10' not in line]
    text = "\n".join(rows).replace('"count":85', '"count":5').replace('"rows":148', '"rows":68') + "\n"
    capture.write_text(text)
    # A day later they are still so; one whose far side has just ended is none.
    later = text.replace("2026-11-20T10:00:", "2026-11-21T11:00:").replace("AF1BD09D", "BF1BD09D")
    next_day = case.folder / "captures" / "P01SQL-20261121T110000Z.jsonl"
    next_day.write_text(later.replace('"state":"CO"', '"state":"DI"', 1))
    assert "43 endpoints leak: 40 in state DO (DISCONNECTED_OUTBOUND)" in case.published("latest").out
    found = case.ask("leaks", "--limit", "50")
    assert (found["endpoints"], found["not_known"]) == (43, [])
    since = {row["since"] for row in found["oldest"] if row["state"] == "DO"}
    assert since == {"2026-11-20T10:00:00Z"}

"""How a night with expectations ends, what it writes, and what `expect` and `metrics` say of it."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from pipelines.commands import nightly
from tests.commands.conftest import MET, NOTHING, Night
from tests.field.running import Case
from tests.support.factories import at
from tests.support.small_project import project_in

pytestmark = pytest.mark.slow

AS_OF = "2026-11-20T13:00:00Z"
MISSED_LINE = (
    "published, but not met: expectation 'p95_wait: 10 min': 58 min (4 messages); the settings ask for "
    "at most 10 min"
)


def test_a_night_is_published_before_it_ends_with_6(night: Night) -> None:
    """It tells both conditions."""
    assert night.outcome.code == 6
    told = [line for line in night.outcome.err.splitlines() if line.startswith(("error", "warning"))]
    assert told[0] == f"error: {MISSED_LINE}"
    assert told[1].startswith(
        "error: --fail-on unresolved: published, but 1 open message is not matched to a queue"
    )
    assert len(told) == 2
    assert night.case.job("waiting", "--as-of", AS_OF).code == 0


def test_how_a_published_night_ends(published: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """The night itself is left out: what it published is there."""
    found = SimpleNamespace(as_of=at(60), findings=[], ages={})
    monkeypatch.setattr(nightly, "night", lambda *_, **__: found)
    plain = published.nightly(AS_OF, "--quiet")
    assert (plain.code, plain.err.splitlines()[-1]) == (6, f"error: {MISSED_LINE}")
    tells = published.nightly(AS_OF, "--quiet", "--no-expect")
    assert (tells.code, tells.err.splitlines()[-1]) == (0, f"warning: {MISSED_LINE}")
    assert published.nightly(AS_OF, "--quiet", "--fail-on", "unresolved", "--no-expect").code == 6


def test_the_summary_as_json(night: Night) -> None:
    case, found = night.case, night.outcome.json
    assert list(found) == ["as_of", "verdict", "findings", "stale", "changes", "counts"]
    assert (found["as_of"], found["changes"], found["stale"]) == (AS_OF, None, [])
    assert found["verdict"].endswith(".")
    assert found["findings"] == case.ask("why")["findings"]
    assert {each["severity"] for each in found["findings"]} >= {"order"}
    assert found["counts"] == {
        row["source"]: {name: row[name] for name in ("events", "accepted", "duplicates", "rejected")}
        | {"pending": 0}
        for row in case.table("batches")
    }


def test_expect_prints_what_the_night_wrote_in_the_order_of_the_settings(published: Case) -> None:
    done = published.job("expect", "--as-of", AS_OF, "--format", "json")
    assert (done.code, done.json["as_of"]) == (6, AS_OF)
    columns = ["name", "value", "limit", "met", "messages"]
    assert {tuple(row) for row in done.json["expectations"]} == {tuple(columns)}
    assert [list(row.values()) for row in done.json["expectations"]] == [
        ["waits", 3480, 3600, True, 4],
        ["p95_wait: 10 min", 3480, 600, False, 4],
        ["contract: Misspelt, oldest_wait: 1 h", None, 3600, True, 0],
    ]
    shown = published.job("expect")
    assert shown.code == 6
    assert "nothing to measure" in shown.out
    assert "at most 10 min" in shown.out
    absent = published.job("expect", "--as-of", "2026-11-19")
    assert absent.code == 1
    assert "--as-of 2026-11-19T00:00:00Z was not published" in absent.err


@pytest.mark.slow
def test_other_moments_and_other_expectations(copied: Case) -> None:
    """`schedules` writes what a night does, and ends with 0."""
    assert copied.job("schedules", "--as-of", at(50).isoformat()).code == 0
    done = copied.job("expect", "--as-of", at(50).isoformat(), "--format", "json")
    assert done.code == 6
    assert [row["value"] for row in done.json["expectations"]] == [2880, 2880, None]

    copied.configure(expect=[MET, NOTHING])
    met = copied.nightly(AS_OF)
    assert (met.code, "not met" in met.err) == (0, False)
    assert f"Expectations at {AS_OF}" in met.out
    assert "nothing to measure" in met.out
    assert copied.job("expect").code == 0


def test_the_night_writes_the_metrics_that_the_command_prints(published: Case, tmp_path: Path) -> None:
    printed = published.job("metrics")
    assert printed.code == 0, printed.err
    assert (published.folder / "night.prom").read_text() == printed.out
    assert 'service_broker_expectation_met{name="p95_wait: 10 min"} 0\n' in printed.out
    assert printed.out.endswith("# EOF\n")
    out = tmp_path / "own.prom"
    written = published.job("metrics", "--as-of", AS_OF, "--out", out)
    assert (written.code, written.out, out.read_text()) == (0, "", printed.out)


def test_a_night_that_fails_leaves_the_old_metrics(copied: Case) -> None:
    old = copied.folder / "night.prom"
    before = old.read_text()
    failed = copied.job("nightly", "--as-of", "2001-01-01T00:00:00Z", "--quiet", "--metrics", old)
    assert (failed.code, old.read_text()) == (2, before)


def test_metrics_that_can_not_be_written_are_refused_at_the_start(published: Case, tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "a.prom"
    night = published.job("nightly", "--as-of", AS_OF, "--metrics", missing)
    assert night.code == 2
    assert "--metrics" in night.err
    assert "its folder is not there" in night.err
    assert len(published.table("runs")) == 1
    assert published.job("metrics", "--out", missing).code == 2


def test_metrics_of_what_was_not_published_are_2(published: Case, tmp_path: Path) -> None:
    assert published.job("metrics", "--as-of", "2026-11-20T12:00:00Z").code == 2
    nothing = Case(project_in(tmp_path).folder).job("metrics")
    assert nothing.code == 2
    assert "no run was published yet" in nothing.err

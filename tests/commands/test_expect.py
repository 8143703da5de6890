"""Exit codes and texts of `nightly` and `expect` where the settings expect something."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession

from pipelines.commands import nightly
from tests.field.running import Case, Outcome
from tests.support.factories import Row, at
from tests.support.small_project import a_bit_of_everything, project_in

pytestmark = pytest.mark.slow

AS_OF = "2026-11-20T13:00:00Z"
MET, MISSED = {"name": "waits", "oldest_wait": "1 h"}, {"p95_wait": "10 min"}
NOTHING = {"contract": "Misspelt", "oldest_wait": "1 h"}
MISSED_LINE = (
    "published, but not met: expectation 'p95_wait: 10 min': 58 min 0 s (4 messages); the settings ask for "
    "at most 10 min 0 s"
)


def case_in(folder: Path, *expect: Row) -> Case:
    """A small project whose log has events of each kind."""
    project_in(folder).add(a_bit_of_everything())
    case = Case(folder)
    case.configure(expect=list(expect))
    return case


@pytest.fixture(scope="module")
def missed(embedded: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, Outcome]:
    """A published night with an expectation that is not met."""
    case = case_in(tmp_path_factory.mktemp("missed"), MET, MISSED, NOTHING)
    return case, case.nightly(AS_OF, "--fail-on", "unresolved")


def test_a_night_is_published_before_it_ends_with_6(missed: tuple[Case, Outcome]) -> None:
    """It tells both conditions."""
    case, done = missed
    assert done.code == 6
    told = [line for line in done.err.splitlines() if line.startswith(("error", "warning"))]
    assert told[0] == f"error: {MISSED_LINE}"
    assert told[1].startswith(
        "error: --fail-on unresolved: published, but 1 open message is not matched to a queue"
    )
    assert len(told) == 2
    assert f"Expectations at {AS_OF}" in done.out
    assert "nothing to measure" in done.out
    assert case.job("waiting", "--as-of", AS_OF).code == 0


def test_how_a_published_night_ends(missed: tuple[Case, Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    """The night itself is left out: what it published is there."""
    case, _ = missed
    published = SimpleNamespace(as_of=at(60), findings=[], ages={})
    monkeypatch.setattr(nightly, "night", lambda *_, **__: published)
    plain = case.nightly(AS_OF, "--quiet")
    assert (plain.code, plain.err.splitlines()[-1]) == (6, f"error: {MISSED_LINE}")
    tells = case.nightly(AS_OF, "--quiet", "--no-expect")
    assert (tells.code, tells.err.splitlines()[-1]) == (0, f"warning: {MISSED_LINE}")
    assert case.nightly(AS_OF, "--quiet", "--fail-on", "unresolved", "--no-expect").code == 6


def test_expect_prints_what_the_night_wrote_in_the_order_of_the_settings(
    missed: tuple[Case, Outcome],
) -> None:
    case, _ = missed
    done = case.job("expect", "--as-of", AS_OF, "--format", "json")
    assert (done.code, done.json["as_of"]) == (6, AS_OF)
    assert [tuple(row.items()) for row in done.json["expectations"]] == [
        tuple(zip(("name", "value", "limit", "met", "messages"), row, strict=True))
        for row in (
            ("waits", 3480, 3600, True, 4),
            ("p95_wait: 10 min", 3480, 600, False, 4),
            ("contract: Misspelt, oldest_wait: 1 h", None, 3600, True, 0),
        )
    ]
    shown = case.job("expect")
    assert shown.code == 6
    assert "nothing to measure" in shown.out
    assert "at most 10 min 0 s" in shown.out
    absent = case.job("expect", "--as-of", "2026-11-19")
    assert absent.code == 1
    assert "--as-of 2026-11-19T00:00:00Z was not published" in absent.err


def test_schedules_writes_the_same_and_ends_with_0(missed: tuple[Case, Outcome]) -> None:
    case, _ = missed
    assert case.job("schedules", "--as-of", at(50).isoformat()).code == 0
    done = case.job("expect", "--as-of", at(50).isoformat(), "--format", "json")
    assert done.code == 6
    assert [row["value"] for row in done.json["expectations"]] == [2880, 2880, None]


def test_what_is_met_ends_with_0_and_nothing_is_expected(embedded: SparkSession, tmp_path: Path) -> None:
    case = case_in(tmp_path, MET)
    done = case.nightly(AS_OF, "--quiet")
    assert done.code == 0
    assert "not met" not in done.err
    assert case.job("expect").code == 0
    case.configure(expect=[])
    assert case.job("schedules", "--as-of", AS_OF).code == 0
    assert case.lines("expect") == [
        f"Nothing was expected at {AS_OF}: the settings of that run had no expect."
    ]

"""`priorities metrics`, `nightly --metrics` and `nightly --format json`."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case, Outcome
from tests.support.small_project import a_bit_of_everything, project_in

pytestmark = pytest.mark.slow
AS_OF = "2026-11-20T13:00:00Z"


@pytest.fixture(scope="module")
def published(embedded: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, Outcome]:
    """A night that published, and ended with 6."""
    folder = tmp_path_factory.mktemp("outputs")
    project_in(folder).add(a_bit_of_everything())
    case = Case(folder)
    case.configure(expect=[{"p95_wait": "10 min"}])
    nothing = case.job("metrics")
    assert nothing.code == 2
    assert "no run was published yet" in nothing.err
    night = case.job("nightly", "--as-of", AS_OF, "--metrics", folder / "night.prom", "--format", "json")
    assert night.code == 6, night.err
    return case, night


@pytest.fixture(scope="module")
def case(published: tuple[Case, Outcome]) -> Case:
    return published[0]


def test_the_summary_as_json(published: tuple[Case, Outcome]) -> None:
    case, night = published
    found = night.json
    assert list(found) == ["as_of", "verdict", "findings", "stale", "changes", "counts"]
    assert (found["as_of"], found["changes"]) == (AS_OF, None)
    assert found["verdict"].endswith(".")
    assert found["findings"] == case.ask("why")["findings"]
    assert {each["severity"] for each in found["findings"]} >= {"order"}
    assert found["counts"] == {
        row["source"]: {name: row[name] for name in ("events", "accepted", "duplicates", "rejected")}
        | {"pending": 0}
        for row in case.table("batches")
    }
    assert found["stale"] == []
    assert "not met: expectation" in night.err


def test_the_night_writes_what_the_command_prints(case: Case) -> None:
    printed = case.job("metrics")
    assert printed.code == 0, printed.err
    assert (case.folder / "night.prom").read_text() == printed.out
    assert 'service_broker_expectation_met{name="p95_wait: 10 min"} 0\n' in printed.out
    assert printed.out.endswith("# EOF\n")
    out = case.folder / "own.prom"
    written = case.job("metrics", "--as-of", AS_OF, "--out", out)
    assert (written.code, written.out, out.read_text()) == (0, "", printed.out)


def test_a_night_that_fails_leaves_the_old_file(case: Case) -> None:
    old = case.folder / "old.prom"
    old.write_text("as it was")
    failed = case.job("nightly", "--as-of", "2001-01-01T00:00:00Z", "--quiet", "--metrics", old)
    assert (failed.code, old.read_text()) == (2, "as it was")


def test_a_folder_that_is_missing_is_refused_before_the_start(case: Case, tmp_path: Path) -> None:
    runs = len(case.table("runs"))
    night = case.job("nightly", "--as-of", AS_OF, "--metrics", tmp_path / "missing" / "a.prom")
    assert night.code == 2
    assert "--metrics" in night.err
    assert "its folder is not there" in night.err
    assert len(case.table("runs")) == runs
    assert case.job("metrics", "--out", tmp_path / "missing" / "a.prom").code == 2


def test_an_as_of_that_was_not_published_is_2(case: Case) -> None:
    assert case.job("metrics", "--as-of", "2026-11-20T12:00:00Z").code == 2

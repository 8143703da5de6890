"""`--as-of latest` of all commands, and the line that says how old the data of an as_of is."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case, Outcome
from tests.support.factories import at
from tests.support.small_project import a_bit_of_everything, project_in

pytestmark = pytest.mark.slow

OLD = "the newest data is 47 h older than as_of: it is of 2026-11-20T12:50:00Z, as_of is 2026-11-22T12:00:00Z"
TWO_DAYS_LATER = at(day=2).isoformat()


@pytest.fixture(scope="module")
def case(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A warehouse with two published moments; the one that data is close to was run last."""
    project = project_in(tmp_path_factory.mktemp("project"))
    project.add(a_bit_of_everything())
    project.run(session, at(day=2))
    project.run(session, at(60))
    return Case(project.folder)


def ages(outcome: Outcome) -> list[str]:
    return [line for line in outcome.err.splitlines() if "newest data" in line]


@pytest.mark.parametrize(
    "question",
    [
        ("waiting",),
        ("coverage",),
        ("leaks",),
        ("next", "--queue", "SQL1.B.TargetQueue"),
        ("explain", "--conversation", "c1"),
        ("conformance",),
        ("activation", "--queue", "SQL1.B.TargetQueue"),
    ],
    ids=lambda question: question[0],
)
def test_a_question_says_how_old_the_data_is_beside_its_answer(case: Case, question: tuple[str, ...]) -> None:
    asked = (*question, "--format", "json")
    newest, latest = case.job(*asked), case.job(*asked, "--as-of", "latest")
    assert (newest.code, latest.code) == (0, 0), newest.err + latest.err
    assert (ages(newest), ages(latest)) == ([OLD], [OLD])
    assert newest.json == latest.json
    assert "newest data" not in newest.out
    near = case.job(*asked, "--as-of", at(60).isoformat())
    assert (near.code, ages(near)) == (0, [])


def test_the_page_the_summary_activation_and_lint_say_the_same(case: Case, tmp_path: Path) -> None:
    page = case.job("report", "--out", tmp_path / "page.html")
    assert (page.code, ages(page)) == (0, [OLD])
    caveat = f"{OLD}; what happened since is not known"
    assert caveat in (tmp_path / "page.html").read_text()
    night = case.published(TWO_DAYS_LATER)
    assert ages(night) == []
    assert f"- {caveat}" in night.out.splitlines()
    window = case.job("activation", "--as-of", "latest")
    assert (window.code, ages(window)) == (0, [OLD])
    done = case.job("lint", "--as-of", "latest", "--fail-on", "error")
    assert (done.code, ages(done)) == (0, [OLD])
    assert done.out == case.job("lint", "--as-of", TWO_DAYS_LATER, "--fail-on", "error").out


def test_a_night_of_the_latest_says_its_moment(case: Case) -> None:
    done = case.published("latest")
    moment = "2026-11-20T12:50:00.000001Z"
    assert f"as_of is {moment}, the latest" in done.err.splitlines()
    assert f"Waiting at {moment}" in done.out
    assert "newest data" not in done.out + done.err


def test_a_night_before_all_data_is_exit_code_2(case: Case) -> None:
    for job in ("nightly", "schedules"):
        done = case.job(job, "--as-of", "2026-11-20")
        assert done.code == 2
        assert done.err.splitlines()[-1] == (
            "error: --as-of 2026-11-20T00:00:00Z: no snapshot or event counts yet, the first is of "
            "2026-11-20T12:00:00Z; name a later moment, or --as-of latest"
        )

"""`--as-of latest` of all commands, and the line that says how old the data of an as_of is."""

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.commands.conftest import Night, copy_of
from tests.field.running import Case, Outcome
from tests.support.factories import at

pytestmark = pytest.mark.slow

OLD = "the newest data is 47 h older than as_of: it is of 2026-11-20T12:50:00Z, as_of is 2026-11-22T12:00:00Z"
TWO_DAYS_LATER = at(day=2).isoformat()
LATEST = "2026-11-20T12:50:00.000001Z"
QUEUE = "--queue SQL1.B.TargetQueue"
OF_DATABASES = "the newest event of its instance is 47 h older than 2026-11-22T12:00:00Z"
"""What questions that tell the age of each database say first."""


class Nights(NamedTuple):
    """A warehouse with two more published moments; the one that data is close to was run last."""

    case: Case
    later: Outcome
    latest: Outcome


@pytest.fixture(scope="module")
def nights(night: Night, tmp_path_factory: pytest.TempPathFactory) -> Nights:
    case = copy_of(night.case, tmp_path_factory.mktemp("nights") / "copied")
    case.configure(expect=[])
    return Nights(case, case.published(TWO_DAYS_LATER), case.published("latest"))


def ages(outcome: Outcome) -> list[str]:
    return [line for line in outcome.err.splitlines() if "newest data" in line]


def test_a_question_says_how_old_the_data_is_beside_its_answer(nights: Nights) -> None:
    """Without `--as-of` it is of the latest moment that was published, whichever was run last."""
    asked = ("coverage", "--format", "json")
    newest, latest = nights.case.job(*asked), nights.case.job(*asked, "--as-of", "latest")
    assert (newest.code, ages(newest)) == (latest.code, ages(latest)) == (0, [OLD])
    assert newest.json == latest.json
    near = nights.case.job(*asked, "--as-of", LATEST)
    assert (near.code, ages(near)) == (0, [])


@pytest.mark.parametrize("question", ["leaks", f"next {QUEUE}", "waiting", "why"])
def test_a_question_about_what_waits_says_it_of_each_database_first(nights: Nights, question: str) -> None:
    done = nights.case.job(*question.split())
    assert (done.code, ages(done)) == (0, [])
    assert OF_DATABASES in done.out.splitlines()[0]


def test_the_age_of_each_database_as_json(nights: Nights) -> None:
    stale = nights.case.ask("waiting")["stale"]
    assert {row["newest"] for row in stale} == {"2026-11-20T12:50:00Z"}


@pytest.mark.parametrize(
    "question", ["explain --conversation c1", "conformance", f"activation {QUEUE}", "lint --fail-on error"]
)
def test_each_question_takes_latest(nights: Nights, question: str) -> None:
    done = nights.case.job(*question.split(), "--as-of", "latest")
    assert (done.code, ages(done)) == (0, [OLD])
    assert "newest data" not in done.out


def test_the_page_and_the_summary_say_the_same(nights: Nights, tmp_path: Path) -> None:
    page = nights.case.job("report", "--out", tmp_path / "page.html")
    assert (page.code, ages(page)) == (0, [OLD])
    assert ": data up to " in (tmp_path / "page.html").read_text()
    assert ages(nights.later) == []
    assert OF_DATABASES in nights.later.out.splitlines()[0]


def test_a_night_of_the_latest_says_its_moment(nights: Nights) -> None:
    assert f"as_of is {LATEST}, the latest" in nights.latest.err.splitlines()
    assert f"Waiting at {LATEST}" in nights.latest.out
    assert "newest data" not in nights.latest.out + nights.latest.err
    assert nights.case.ask("waiting", "--as-of", LATEST)["stale"] == []


def test_nothing_was_expected(nights: Nights) -> None:
    said = f"Nothing was expected at {LATEST}: the settings of that run had no expect."
    assert nights.case.lines("expect", "--as-of", LATEST) == [said]

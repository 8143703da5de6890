"""`priorities why` on the sample of an insurer whose gold claims wait."""

import shutil

import pytest
from pyspark.sql import SparkSession

from pipelines.config.instants import parse_instant
from pipelines.why.causes.cause import split_action
from pipelines.why.view import print_why
from tests.field.running import parts_of
from tests.support.capture_project import CaptureProject
from tests.support.processes import ROOT

pytestmark = pytest.mark.slow

GOLD = (
    "64 messages of 40 conversations have level 5: rule 'GoldClaims' would give 9, but it was first seen at "
    "2026-11-24T07:30:00Z, after these conversations"
)
DRAIN_FIRST = (
    "existing conversations keep their level until they end; let readers drain them first; only then end "
    "them and start new ones; ending them now deletes 64 unread messages"
)
FIRST_TO_LOOK_AT = (
    (GOLD, DRAIN_FIRST),
    (
        "14 messages have level 5 as no rule of SQL1.Claims fits, while others beside them have a higher "
        "level by a rule",
        "add a rule if they are to go first (level 9 is an example); conversations that exist keep their "
        "level: USE [Claims]; CREATE BROKER PRIORITY [SubmitClaim "
        "//acme/claims/Intake //acme/portal/Standard] FOR CONVERSATION SET (CONTRACT_NAME = [SubmitClaim], "
        "LOCAL_SERVICE_NAME = [//acme/claims/Intake], REMOTE_SERVICE_NAME = N'//acme/portal/Standard', "
        "PRIORITY_LEVEL = 9);",
    ),
)
"""Sentences and actions of the causes that night, page and answer tell first."""
Night = tuple[CaptureProject, list[str]]


@pytest.fixture(scope="module")
def night(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Night:
    """A night of the sample, and what it printed."""
    project = CaptureProject(tmp_path_factory.mktemp("gold"))
    shutil.copytree(ROOT / "pipelines" / "capture" / "sample", project.captures, dirs_exist_ok=True)
    return project, project.published("latest").out.splitlines()


def test_gold_waits_as_its_rule_is_younger(night: Night) -> None:
    project, _ = night
    lines = project.lines("why", "--queue", "ClaimIntakeQueue", "--remote-service", "//acme/portal/Gold")
    # The age of databases that the newest captures lack comes first.
    begin = lines.index("Queue SQL1.Claims.ClaimIntakeQueue")
    assert lines[begin + 1 : begin + 4] == [
        "64 messages of 40 conversations wait at 2026-11-24T07:30:00Z: 64 of contract SubmitClaim from "
        "//acme/portal/Gold to //acme/claims/Intake. The oldest has waited 1 h 19 min, and 95 of 100 at "
        "most 1 h 13 min. Levels: 64 at level 5. Ahead of the first are 90 messages in 30 RECEIVEs: 90 of "
        "contract SubmitClaim from //acme/feed/Nightly to //acme/claims/Intake. Ahead of the median one are "
        "121 messages in 45 RECEIVEs: 90 of contract SubmitClaim from //acme/feed/Nightly to "
        "//acme/claims/Intake and 31 of contract SubmitClaim from //acme/portal/Gold to "
        "//acme/claims/Intake.",
        f"- {GOLD}.",
        f"  To do: {DRAIN_FIRST}",
    ]


def test_night_page_and_answer_agree(night: Night) -> None:
    project, summary = night
    first = summary.index("Look at first")
    assert summary[first + 1 : first + 5] == [
        line
        for sentence, action in FIRST_TO_LOOK_AT
        for line in (
            f"- Misconfigured. Queue SQL1.Claims.ClaimIntakeQueue: {sentence}.",
            f"  To do: {action}",
        )
    ]
    page = project.folder / "page.html"
    assert project.job("report", "--out", page).code == 0
    assert [(card["sentence"], card["words"], card["statement"]) for card in parts_of(page)["findings"]] == [
        (sentence, *split_action(action)) for sentence, action in FIRST_TO_LOOK_AT
    ]
    answer = project.ask("why")
    by_code = {cause["code"]: cause for cause in answer["causes"]}
    newer = by_code["rule_newer_than_endpoint"]
    found = [(each["sentence"], each["action"]) for each in (newer, by_code["no_rule"])]
    assert found == list(FIRST_TO_LOOK_AT)
    where = {"instance": "SQL1", "database": "Claims"}
    levels = {"rule": "GoldClaims", "level": 9, "was_rule": None, "was_level": 5}
    assert newer["details"] == [{**where, **levels, "since": "2026-11-24T07:30:00Z", "messages": 64}]
    waiting = sum(len(project.table(name)) for name in ("receive_schedule", "transmission_schedule"))
    assert sum(place["situation"]["messages"] for place in answer["places"]) == waiting == 173


def test_explain_begins_with_the_same_findings(night: Night) -> None:
    """Then come the steps that have a rule, and the order of which nothing is promised."""
    lines = night[0].lines("explain", "--conversation", "D1CFD97F-5E87-9363-DDF4-12F5DC02750E")
    found = GOLD.replace("64 messages of 40 conversations", "2 messages of 1 conversation")
    begin = lines.index(f"- {found.replace('these conversations', 'this conversation')}.")
    assert lines[begin + 1] == f"  To do: {DRAIN_FIRST.replace('64', '2')}"
    steps = [
        lines.index(f"No rule at {which}.")
        for which in ("any of the eight steps", "steps 2, 3, 4, 5, 6, 7, 8")
    ]
    order = lines.index("No server promises an order between different conversations of one level.")
    assert [begin, *steps, order] == sorted([begin, *steps, order])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--remote-service", "//acme/portal/Gol"],
            "there is no such service; did you mean '//acme/portal/Gold'?",
        ),
        (["--transmission", "--database", "Claims"], "--database is of queues"),
        (["--transmission", "--queue", "ClaimIntakeQueue"], "not allowed with argument"),
    ],
)
def test_names_that_nothing_has_are_refused(night: Night, options: list[str], said: str) -> None:
    outcome = night[0].job("why", *options)
    assert outcome.code == 2
    assert said in outcome.err


def test_a_filter_that_fits_nothing(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    """The names are known, and no open message has them together."""
    answer = night[0].ask("why", "--queue", "GoldReplyQueue", "--contract", "SubmitClaim")
    assert (answer["situation"]["messages"], answer["causes"], answer["places"]) == (0, [], [])
    print_why({**answer, "as_of": parse_instant(answer["as_of"])})
    assert capsys.readouterr().out == "No open message fits at 2026-11-24T07:30:00Z.\n"

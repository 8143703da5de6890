"""`priorities why` on the sample of an insurer whose gold claims wait."""

import json
import shutil
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest

from pipelines.commands import nightly, report, why
from pipelines.commands.launch import outcome_of
from pipelines.config.errors import ConfigError
from pipelines.config.instants import parse_instant
from pipelines.why.causes.cause import split_action
from pipelines.why.view import print_why
from tests.field.running import parts_of
from tests.support.processes import ROOT

SETTINGS = "warehouse: warehouse\nsnapshots:\n  - path: captures\n"
GOLD = (
    "64 messages of 40 conversations hold level 5: rule 'GoldClaims' would give 9, but it was first seen at "
    "2026-11-24T07:30:00Z, after these conversations"
)
DRAIN_FIRST = (
    "existing conversations keep their level until they end; let readers drain them first; only then end "
    "them and start new ones; 64 unread messages would be lost now"
)


FIRST_TO_LOOK_AT = (
    (GOLD, DRAIN_FIRST),
    (
        "14 messages have level 5 as no rule of SQL1.Claims fits, while others beside them have a higher "
        "level by a rule",
        "add a rule if they are to go first; conversations that exist keep their level: USE [Claims]; "
        "CREATE BROKER PRIORITY [SubmitClaim "
        "//acme/claims/Intake //acme/portal/Standard] FOR CONVERSATION SET (CONTRACT_NAME = [SubmitClaim], "
        "LOCAL_SERVICE_NAME = [//acme/claims/Intake], REMOTE_SERVICE_NAME = N'//acme/portal/Standard', "
        "PRIORITY_LEVEL = 9);",
    ),
)
"""Sentences and actions of the causes that night, page and answer tell first."""


@dataclass(frozen=True)
class Night:
    """Settings of a warehouse with a night of the sample, and what the night printed."""

    config: str
    summary: str


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Night:
    folder = tmp_path_factory.mktemp("gold")
    shutil.copytree(ROOT / "pipelines" / "capture" / "sample", folder / "captures")
    (folder / "priorities.yaml").write_text(SETTINGS)
    path = str(folder / "priorities.yaml")
    with redirect_stdout(StringIO()) as printed:
        assert nightly.main(["--config", path, "--as-of", "latest"]) == 0
    return Night(path, printed.getvalue())


@pytest.fixture(scope="module")
def config(night: Night) -> str:
    return night.config


def ask(config: str, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    capsys.readouterr()
    assert why.main(["--config", config, *options]) == 0
    return capsys.readouterr().out


def test_gold_waits_as_its_rule_is_younger(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = ask(config, capsys, "--queue", "ClaimIntakeQueue", "--remote-service", "//acme/portal/Gold")
    lines = told.splitlines()
    # The age of databases that the newest captures lack comes first.
    begin = lines.index("Queue SQL1.Claims.ClaimIntakeQueue")
    assert lines[begin : begin + 4] == [
        "Queue SQL1.Claims.ClaimIntakeQueue",
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


def test_night_page_and_answer_agree(
    night: Night, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = night.summary.splitlines()
    first = summary.index("Look at first")
    assert summary[first + 1 : first + 5] == [
        line
        for sentence, action in FIRST_TO_LOOK_AT
        for line in (
            f"- Misconfigured. Queue SQL1.Claims.ClaimIntakeQueue: {sentence}",
            f"  To do: {action}",
        )
    ]
    assert report.main(["--config", night.config, "--out", str(tmp_path / "page.html")]) == 0
    cards = parts_of(tmp_path / "page.html")["findings"]
    assert [(card["sentence"], card["words"], card["statement"]) for card in cards] == [
        (sentence, *split_action(action)) for sentence, action in FIRST_TO_LOOK_AT
    ]
    answer = json.loads(ask(night.config, capsys, "--format", "json"))
    by_code = {cause["code"]: cause for cause in answer["causes"]}
    cause = by_code["rule_newer_than_endpoint"]
    found = [(each["sentence"], each["action"]) for each in (cause, by_code["no_rule"])]
    assert found == list(FIRST_TO_LOOK_AT)
    assert cause["details"] == [
        {
            "instance": "SQL1",
            "database": "Claims",
            "rule": "GoldClaims",
            "level": 9,
            "was_rule": None,
            "was_level": 5,
            "since": "2026-11-24T07:30:00Z",
            "messages": 64,
        }
    ]
    assert sum(place["situation"]["messages"] for place in answer["places"]) == 173


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--remote-service", "//acme/portal/Gol"],
            "there is no such service; did you mean '//acme/portal/Gold'?",
        ),
        (["--queue", "NoQueue"], "there is no such queue"),
        (["--transmission", "--database", "Claims"], "--database is of queues"),
        (["--transmission", "--queue", "ClaimIntakeQueue"], "not allowed with argument"),
    ],
)
def test_names_that_nothing_has_are_refused(config: str, options: list[str], said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        why.main(["--config", config, *options])
    code, line = outcome_of(raised.value)
    assert code == 2
    assert said in line


def test_a_filter_that_fits_nothing(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The names are known, and no open message has them together."""
    options = ["--queue", "GoldReplyQueue", "--contract", "SubmitClaim", "--format", "json"]
    answer = json.loads(ask(config, capsys, *options))
    assert (answer["situation"]["messages"], answer["causes"], answer["places"]) == (0, [], [])
    print_why({**answer, "as_of": parse_instant(answer["as_of"])})
    assert capsys.readouterr().out == "No open message fits at 2026-11-24T07:30:00Z.\n"

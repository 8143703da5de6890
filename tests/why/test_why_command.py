"""`priorities why` on the sample of an insurer whose gold claims wait."""

import json
import shutil
from pathlib import Path

import pytest

from pipelines.commands import nightly, report, why
from pipelines.commands.launch import outcome_of
from pipelines.config.errors import ConfigError
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


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Settings of a warehouse with a night of the sample."""
    folder = tmp_path_factory.mktemp("gold")
    shutil.copytree(ROOT / "pipelines" / "capture" / "sample", folder / "captures")
    (folder / "priorities.yaml").write_text(SETTINGS)
    path = str(folder / "priorities.yaml")
    assert nightly.main(["--config", path, "--as-of", "latest", "--quiet"]) == 0
    return path


def ask(config: str, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    capsys.readouterr()
    assert why.main(["--config", config, *options]) == 0
    return capsys.readouterr().out


def test_gold_waits_as_its_rule_is_younger(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ask(config, capsys, "--queue", "ClaimIntakeQueue", "--remote-service", "//acme/portal/Gold")
    assert lines.splitlines()[:4] == [
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


def test_night_page_and_answer_agree(config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert nightly.main(["--config", config, "--as-of", "latest"]) == 0
    summary = capsys.readouterr().out.splitlines()
    first = summary.index("Look at first")
    assert summary[first + 1 : first + 3] == [
        f"- Queue SQL1.Claims.ClaimIntakeQueue: {GOLD}",
        f"  {DRAIN_FIRST}",
    ]
    assert report.main(["--config", config, "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.index(GOLD.replace("'", "&#39;")) < page.index('id="overview"')
    answer = json.loads(ask(config, capsys, "--format", "json"))
    [cause] = [each for each in answer["causes"] if each["code"] == "rule_newer_than_endpoint"]
    assert (cause["sentence"], cause["action"]) == (GOLD, DRAIN_FIRST)
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
        (["--contract", "SubmitClaims"], "there is no such contract; did you mean 'SubmitClaim'?"),
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
    options = ["--queue", "GoldReplyQueue", "--contract", "SubmitClaim"]
    assert ask(config, capsys, *options) == "No open message fits at 2026-11-24T07:30:00Z.\n"
    answer = json.loads(ask(config, capsys, *options, "--format", "json"))
    assert (answer["situation"]["messages"], answer["causes"], answer["places"]) == (0, [], [])

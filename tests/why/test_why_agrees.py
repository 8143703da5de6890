"""The night, the page and `why` say the same of the largest causes, and the same numbers as the tables."""

import html
import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from deltalake import DeltaTable

from pipelines.commands import nightly, report, why
from pipelines.why.causes import CODES, OF_ORDER
from pipelines.why.places import KINDS
from pipelines.why.report import FIRST
from pipelines.why.view import format_place
from tests.support.factories import Row
from tests.support.processes import ROOT
from tests.support.random_logs import project_of
from tests.support.strategies.backlog_snapshots import joined_backlogs

pytestmark = pytest.mark.long


Said = tuple[str, str, str]
"""Place, sentence and action."""
GOLD: list[Said] = [
    (
        "Queue SQL1.Claims.ClaimIntakeQueue",
        "64 messages of 40 conversations hold level 5: rule 'GoldClaims' would give 9, but it was first seen "
        "at 2026-11-24T07:30:00Z, after these conversations",
        "existing conversations keep their level until they end; let readers drain them first; only then end "
        "them and start new ones; 64 unread messages would be lost now",
    ),
    (
        "Queue SQL1.Claims.ClaimIntakeQueue",
        "14 messages have level 5 as no rule of SQL1.Claims fits, while others beside them have a higher "
        "level by a rule",
        "add a rule if they are to go first: USE [Claims]; CREATE BROKER PRIORITY [SubmitClaim "
        "//acme/claims/Intake //acme/portal/Standard] FOR CONVERSATION SET (CONTRACT_NAME = [SubmitClaim], "
        "LOCAL_SERVICE_NAME = [//acme/claims/Intake], REMOTE_SERVICE_NAME = N'//acme/portal/Standard', "
        "PRIORITY_LEVEL = 9);",
    ),
]
STORY = [
    "64 messages of 40 conversations wait at 2026-11-24T07:30:00Z: 64 of contract SubmitClaim from "
    "//acme/portal/Gold to //acme/claims/Intake",
    "The oldest has waited 1 h 19 min, and 95 of 100 at most 1 h 13 min",
    "Levels: 64 at level 5",
    "Ahead of the first are 90 messages in 30 RECEIVEs: 90 of contract SubmitClaim from //acme/feed/Nightly "
    "to //acme/claims/Intake",
    GOLD[0][1],
]
"""Why gold customers wait, in five sentences."""


class Answers:
    """A night, a page and an answer of `why` on the same settings."""

    def __init__(self, config: str, as_of: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        capsys.readouterr()
        assert nightly.main(["--config", config, "--as-of", as_of]) == 0
        self.summary = capsys.readouterr().out
        assert report.main(["--config", config, "--out", str(folder / "page.html")]) == 0
        self.page = (folder / "page.html").read_text("utf-8")
        capsys.readouterr()
        assert why.main(["--config", config, "--format", "json", "--limit", "100000"]) == 0
        self.answer: Row = json.loads(capsys.readouterr().out)

    def of_night(self) -> list[Said]:
        """What the summary tells to look at first."""
        lines = iter(self.summary.splitlines())
        assert "Look at first" in lines
        found = []
        for line in lines:
            if not line.startswith("- "):
                break
            place, _, sentence = line.removeprefix("- ").partition(": ")
            found.append((place, sentence, next(lines).removeprefix("  ")))
        return found

    def of_page(self) -> list[Said]:
        """What the first section of the page tells."""
        section = self.page[self.page.index('<section id="') :].partition("</section>")[0]
        assert section.startswith('<section id="verdict"')
        item = r"<li><strong>(.*?)</strong>: (.*?)\. <a href=[^>]*>.*?</a><p>To do: (.*?)</p></li>"
        return [
            (html.unescape(place), html.unescape(sentence), html.unescape(action))
            for place, sentence, action in re.findall(item, section, re.DOTALL)
        ]

    def of_why(self) -> list[Said]:
        """The largest pairs of place and cause but those of the order; ties by cause, then by place."""

        def key(place: Row, cause: Row) -> tuple[object, ...]:
            names = [(place[name] or "").encode() for name in ("instance", "database", "queue")]
            return -cause["messages"], CODES.index(cause["code"]), KINDS.index(place["kind"]), *names

        pairs = [
            (place, cause)
            for place in self.answer["places"]
            for cause in place["causes"]
            if cause["code"] not in OF_ORDER
        ]
        pairs.sort(key=lambda pair: key(*pair))
        return [(format_place(place), cause["sentence"], cause["action"]) for place, cause in pairs[:FIRST]]


def table(warehouse: Path, name: str, as_of: str) -> list[Row]:
    """The rows of an as_of."""
    rows = DeltaTable(str(warehouse / name)).to_pyarrow_table().to_pylist()
    return [row for row in rows if f"{row['as_of']:%Y-%m-%dT%H:%M:%SZ}" == as_of]


def require_figures_of_tables(answer: Row, warehouse: Path) -> None:
    """Require that the situation's figures are sums over the tables."""
    received, sent, unresolved = (
        table(warehouse, name, answer["as_of"])
        for name in ("receive_schedule", "transmission_schedule", "unresolved")
    )
    situation = answer["situation"]
    states = Counter(row["state"] for row in received)
    states.update("forwarded" if row["forwarded"] else "transmission" for row in sent)
    states["unresolved"] = len(unresolved)
    assert situation["states"] == {state: states[state] for state in situation["states"]}
    assert situation["messages"] == len(received) + len(sent) + len(unresolved)
    levels = Counter([row["priority"] for row in received] + [row["transmit_priority"] for row in sent])
    assert {row["level"]: row["messages"] for row in situation["levels"]} == levels
    queues = Counter((row["instance"], row["database"], row["queue"]) for row in received)
    assert queues == {
        (place["instance"], place["database"], place["queue"]): place["situation"]["messages"]
        for place in answer["places"]
        if place["kind"] == "receive"
    }


def test_the_sample_is_told_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(ROOT / "pipelines" / "capture" / "sample", tmp_path / "captures")
    config = tmp_path / "priorities.yaml"
    config.write_text("warehouse: warehouse\nsnapshots:\n  - path: captures\n")
    answers = Answers(str(config), "latest", tmp_path, capsys)
    assert answers.of_night() == GOLD
    assert answers.of_page() == GOLD
    assert answers.of_why() == GOLD
    require_figures_of_tables(answers.answer, tmp_path / "warehouse")
    options = ["--queue", "ClaimIntakeQueue", "--remote-service", "//acme/portal/Gold"]
    assert why.main(["--config", str(config), *options]) == 0
    text = capsys.readouterr().out
    places = [text.index(f"{sentence}.") for sentence in STORY]
    assert places == sorted(places)


def test_a_backlog_with_every_cause_is_told_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, _ = joined_backlogs(range(12))
    project = project_of(tmp_path / "p", log)
    project.add(log.events)
    answers = Answers(project.config, log.as_of.isoformat(), tmp_path, capsys)
    expected = answers.of_why()
    assert len(expected) == FIRST
    assert answers.of_night() == expected
    assert answers.of_page() == expected
    require_figures_of_tables(answers.answer, tmp_path / "p" / "warehouse")

"""`priorities why`: night and page say the same of the largest causes, and the tables have the numbers."""

import html
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from deltalake import DeltaTable

from pipelines.why.codes import CODES, KINDS, OF_ORDER
from pipelines.why.report import FIRST
from pipelines.why.view import format_place
from tests.field.running import Case, Row
from tests.support.processes import ROOT
from tests.support.random_logs import project_of
from tests.support.strategies.backlog_snapshots import joined_backlogs

Said = tuple[str, str, str]
"""Place, sentence and action."""
GOLD: list[Said] = [
    (
        "Queue SQL1.Claims.ClaimIntakeQueue",
        "64 messages of 40 conversations hold level 5: rule 'GoldClaims' would give 9, but it was first seen "
        "at 2026-11-24T07:30:00Z, after these conversations",
        "end these conversations and begin them anew; a rule does not reach existing ones",
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


class Answers:
    """A night, a page and an answer of `why` on the same settings."""

    def __init__(self, config: str, as_of: str, folder: Path) -> None:
        self.case = Case(folder, config)
        self.summary = self.case.published(as_of).out
        self.case.lines("report", "--out", folder / "page.html")
        self.page = (folder / "page.html").read_text("utf-8")
        self.answer: Row = self.case.ask("why", "--limit", "100000")

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
    """See that the situation's figures are sums over the tables."""
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


@pytest.fixture(scope="module")
def sample(session: object, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """The sample of an insurer whose gold claims wait."""
    folder = tmp_path_factory.mktemp("sample")
    shutil.copytree(ROOT / "samples" / "capture", folder / "captures")
    (folder / "priorities.yaml").write_text("warehouse: warehouse\nsnapshots:\n  - path: captures\n")
    return Answers("priorities.yaml", "latest", folder)


def test_the_sample_is_told_alike(sample: Answers) -> None:
    assert sample.of_night() == GOLD
    assert sample.of_page() == GOLD
    assert sample.of_why() == GOLD
    require_figures_of_tables(sample.answer, sample.case.folder / "warehouse")
    [cause] = [each for each in sample.answer["causes"] if each["code"] == "rule_newer_than_endpoint"]
    assert (cause["sentence"], cause["action"]) == GOLD[0][1:]
    [detail] = cause["details"]
    assert detail == {
        **{"instance": "SQL1", "database": "Claims", "rule": "GoldClaims", "level": 9, "messages": 64},
        **{"was_rule": None, "was_level": 5, "since": "2026-11-24T07:30:00Z"},
    }
    assert sum(place["situation"]["messages"] for place in sample.answer["places"]) == 173


def test_gold_waits_as_its_rule_is_younger(sample: Answers) -> None:
    asked = ("why", "--queue", "ClaimIntakeQueue", "--remote-service", "//acme/portal/Gold")
    assert sample.case.lines(*asked)[:4] == [
        "Queue SQL1.Claims.ClaimIntakeQueue",
        "64 messages of 40 conversations wait at 2026-11-24T07:30:00Z: 64 of contract SubmitClaim from "
        "//acme/portal/Gold to //acme/claims/Intake. The oldest has waited 1 h 19 min, and 95 of 100 at "
        "most 1 h 13 min. Levels: 64 at level 5. Ahead of the first are 90 messages in 30 RECEIVEs: 90 of "
        "contract SubmitClaim from //acme/feed/Nightly to //acme/claims/Intake. Ahead of the median one are "
        "121 messages in 45 RECEIVEs: 90 of contract SubmitClaim from //acme/feed/Nightly to "
        "//acme/claims/Intake and 31 of contract SubmitClaim from //acme/portal/Gold to "
        "//acme/claims/Intake.",
        f"- {GOLD[0][1]}.",
        f"  To do: {GOLD[0][2]}",
    ]


def test_names_that_nothing_has_are_refused_and_a_filter_may_fit_nothing(sample: Answers) -> None:
    for options, said in (
        (
            ("--remote-service", "//acme/portal/Gol"),
            "there is no such service; did you mean '//acme/portal/Gold'?",
        ),
        (("--contract", "SubmitClaims"), "there is no such contract; did you mean 'SubmitClaim'?"),
        (("--queue", "NoQueue"), "there is no such queue"),
        (("--transmission", "--database", "Claims"), "--database is of queues"),
        (("--transmission", "--queue", "ClaimIntakeQueue"), "not allowed with argument"),
    ):
        refused = sample.case.job("why", *options)
        assert refused.code == 2
        assert said in refused.err
    # The names are known, and no open message has them together.
    asked = ("why", "--queue", "GoldReplyQueue", "--contract", "SubmitClaim")
    assert sample.case.lines(*asked) == ["No open message fits at 2026-11-24T07:30:00Z."]
    answer = sample.case.ask(*asked)
    assert (answer["situation"]["messages"], answer["causes"], answer["places"]) == (0, [], [])


def test_a_backlog_with_every_cause_is_told_alike(session: object, tmp_path: Path) -> None:
    log, _ = joined_backlogs(range(12))
    project_of(tmp_path, log).add(log.events)
    answers = Answers("settings.yaml", log.as_of.isoformat(), tmp_path)
    expected = answers.of_why()
    assert len(expected) == FIRST
    assert answers.of_night() == expected
    assert answers.of_page() == expected
    require_figures_of_tables(answers.answer, tmp_path / "warehouse")

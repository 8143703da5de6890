"""The night, the page and `why` say the same of the largest causes, and the same numbers as the tables."""

import json
from collections import Counter
from pathlib import Path

import pytest
from deltalake import DeltaTable

from pipelines.commands import nightly, report, why
from pipelines.why.causes.cause import ORDER, split_action
from pipelines.why.report import FIRST
from pipelines.why.view import format_place
from tests.field.running import parts_of
from tests.support.factories import Row
from tests.support.random_logs import project_of
from tests.support.strategies.backlog_snapshots import joined_backlogs

pytestmark = pytest.mark.long


Said = tuple[str, str, str]
"""Place, sentence and action."""


class Answers:
    """A night, a page and an answer of `why` on the same settings."""

    def __init__(self, config: str, as_of: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        capsys.readouterr()
        assert nightly.main(["--config", config, "--as-of", as_of]) == 0
        self.summary = capsys.readouterr().out
        assert report.main(["--config", config, "--out", str(folder / "page.html")]) == 0
        self.page = folder / "page.html"
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
            place, _, sentence = line.partition(". ")[2].partition(": ")
            found.append((place, sentence, next(lines).removeprefix("  To do: ")))
        return found

    def of_page(self) -> list[tuple[str, ...]]:
        """What the first cards of the page tell, with the statement apart."""
        columns = ("place", "sentence", "words", "statement")
        return [tuple(row[name] for name in columns) for row in parts_of(self.page)["findings"][:FIRST]]

    def of_why(self) -> list[Said]:
        """The first findings but those of the order."""
        found = [each for each in self.answer["findings"] if each["severity"] != ORDER]
        return [(format_place(each), each["sentence"], each["action"]) for each in found[:FIRST]]


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


def test_a_backlog_with_every_cause_is_told_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, _ = joined_backlogs(range(12))
    project = project_of(tmp_path / "p", log)
    project.add(log.events)
    answers = Answers(project.config, log.as_of.isoformat(), tmp_path, capsys)
    expected = answers.of_why()
    assert len(expected) == FIRST
    assert answers.of_night() == expected
    assert answers.of_page() == [(*said, *split_action(action)) for *said, action in expected]
    require_figures_of_tables(answers.answer, tmp_path / "p" / "warehouse")

"""Random days of two simulated servers with traces and procedures' tables: they agree with the captures."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.nightly.test_simulated_days import MOMENTS, SEED, WORLDS, Simulated
from tests.support.simulation import logs
from tests.support.simulation.days import Days
from tests.support.simulation.servers import Step
from tests.support.simulation.truth import Truth

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("session")]


class Logged(Simulated):
    """A project of captures, of a trace and of a table with what was received."""

    def __init__(self, folder: Path, worlds: list[Days]) -> None:
        super().__init__(folder, worlds)
        self.configure(inputs=logs.inputs())
        self.told: list[list[Step]] = [[] for _ in worlds]
        for name in ("trace", "received"):
            (folder / name).mkdir()

    @property
    def truths(self) -> list[Truth]:
        """What has to come out, with the ends that the trace has."""
        given = zip(self.worlds, self.taken, self.told, strict=True)
        return [Truth(world, shots, logs.ends(steps)) for world, shots, steps in given]

    def log(self, night: int) -> None:
        """Write what happened before the newest capture of each server."""
        for number, world in enumerate(self.worlds):
            moments = {shot.server: shot.taken_at for shot in self.taken[number]}
            known = {id(step) for step in self.told[number]}
            until = [*logs.steps_until(world.servers.steps, moments)]
            steps = [step for step in until if id(step) not in known]
            first = len(self.told[number])
            self.told[number] += steps
            self._write("trace", f"{night}-{number}", logs.trace(steps, first=first))
            self._write("received", f"{night}-{number}", logs.received(steps))

    def _write(self, folder: str, name: str, rows: Iterable[dict[str, Any]]) -> None:
        lines = [json.dumps(row) + "\n" for row in rows]
        if lines:
            (self.folder / folder / f"{name}.json").write_text("".join(lines))

    def messages(self) -> Counter[str]:
        """How many messages of the logs are known, by type; each was sent, arrived or received."""
        expected = Counter(
            (logs.TYPES[step.what], *logs.message(step))
            for told in self.told
            for step in told
            if step.what in logs.TYPES
        )
        columns = (
            "conversation_id",
            "sent_by_initiator",
            "message_sequence_number",
            "message_type",
            "event_time",
        )
        found = Counter(
            (row["event_type"], *[row[name] for name in columns])
            for row in self.table("message_events")
            if row["seen_at"] is None and not row["inferred"] and row["event_type"] in logs.TYPES.values()
        )
        assert found - expected == Counter()
        return Counter(type for type, *_ in found.elements())


def test_logs_agree_with_captures(tmp_path: Path) -> None:
    worlds = [Days(SEED + number, number, MOMENTS, without=("change_rule",)) for number in range(WORLDS)]
    project = Logged(tmp_path / "project", worlds)
    for night, moment in enumerate(MOMENTS):
        project.take_until(moment)
        project.log(night)
        project.require(moment)
        found = project.messages()
    assert min(found[type] for type in logs.TYPES.values()) > 0

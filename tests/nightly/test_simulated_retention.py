"""Random days of two simulated servers whose queues have RETENTION = ON, with views by hand."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.nightly.test_simulated_days import MOMENTS, SEED, WORLDS, Simulated
from tests.support.server import declaration, write_views
from tests.support.simulation import logs
from tests.support.simulation.database import COPY, RETAINED
from tests.support.simulation.days import Days
from tests.support.simulation.shots import Shot, views_of

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("session")]

WITHOUT = ("back_up", "restore", "new_broker", "fail_over", "change_rule", "notify")
TYPES = {RETAINED: "RECEIVED", COPY: "SENT"}


def whole(shot: Shot) -> Shot:
    """The capture with all endpoints, and all rows of queues, of the databases that are writable there."""
    shown = {
        name: replace(each, endpoints=[*each.database.endpoints.values()], has_retained=True)
        for name, each in shot.shown.items()
        if each.writable
    }
    return replace(shot, light=False, shown=shown)


class ByHand(Simulated):
    """A project of views by hand."""

    def take(self, world: int, shots: Iterable[Shot]) -> None:
        """Write the views of the databases that are writable there."""
        path = self.folder / self.settings
        settings = yaml.safe_load(path.read_text())
        declared = [each for each in settings["snapshots"] if each["path"] != "captures"]
        for shot in shots:
            for name, each in shot.shown.items():
                folder = f"snap/{shot.server}-{name}-{shot.taken_at:%d%H%M%S}"
                views = views_of(each)
                write_views(self.folder / folder, views, "csv")
                declared.append(declaration(folder, (shot.server, name), shot.taken_at, "csv", [*views]))
            self.taken[world].append(shot)
        path.write_text(yaml.safe_dump(settings | {"snapshots": declared}))

    def require_retained(self) -> None:
        """Require that kept rows say what no other row does, in the bounds that views give."""
        expected = {
            (row.id, TYPES[row.status])
            for shots in self.taken
            for shot in shots
            for shown in shot.shown.values()
            for row in shown.database.queued
            if row.status in TYPES
        }
        happened = {
            (step.row.id, logs.TYPES[step.what]): step.at
            for world in self.worlds
            for step in world.servers.steps
            if step.row is not None and step.what in ("sent", "received")
        }
        rows = self.table("message_events")
        told = {(row["message_id"], row["event_type"]): row for row in rows if _is_kept(row)}
        timed = {(row["message_id"], row["event_type"]) for row in rows if not row["inferred"]}
        assert told.keys() <= expected <= told.keys() | timed
        for key in told.keys() & happened.keys():
            assert told[key]["not_before"] is None or told[key]["not_before"] <= happened[key]
            assert happened[key] <= told[key]["event_time"]


def _is_kept(row: dict[str, Any]) -> bool:
    return bool(row["inferred"]) and row["event_id"].startswith("snapshot/")


def test_retained_rows_are_received_and_sent(tmp_path: Path) -> None:
    worlds = [
        Days(SEED + number, number, MOMENTS, without=WITHOUT, retention=0.7) for number in range(WORLDS)
    ]
    for world in worlds:
        world.shots = [whole(shot) for shot in world.shots]
    project = ByHand(tmp_path / "project", worlds)
    for moment in MOMENTS:
        project.take_until(moment)
        project.require(moment)
        project.require_retained()

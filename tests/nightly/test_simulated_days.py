"""Random days of two simulated servers: each as_of says what their captures say, whenever it is asked."""

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pipelines.config.instants import format_instant
from tests.support.capture_project import CaptureProject, require_equal
from tests.support.harness import difference
from tests.support.simulation import histories
from tests.support.simulation.days import Days
from tests.support.simulation.shots import Shot
from tests.support.simulation.truth import Truth

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("session")]

START = datetime(2026, 11, 16, 6, tzinfo=UTC)
WORLDS = int(os.environ.get("SIMULATED_WORLDS", "2"))
"""Pairs of servers that share nights."""
SEED = int(os.environ.get("SIMULATED_SEED", "1"))
"""Of the first pair; the next has the next one."""
MOMENTS = [START + timedelta(hours=5 * at) for at in range(int(os.environ.get("SIMULATED_MOMENTS", "3")))]
HOURS = [START + timedelta(hours=at) for at in range(int(os.environ.get("SIMULATED_HOURS", "4")))]
"""Of the nights whose captures are also taken in one."""
QUARTER = timedelta(minutes=15)
TOLD = 2
"""How many messages of each fate are explained."""

Row = dict[str, Any]


class Simulated(CaptureProject):
    """A project of the captures of some worlds."""

    def __init__(self, folder: Path, worlds: Sequence[Days]) -> None:
        partners = {each.alias: [f"{each.first}.PressDB", f"{each.second}.PressDB"] for each in worlds}
        copies = [f"{each.first}.PressDB_Test" for each in worlds]
        entry = {"path": "captures", "leave_out": copies}
        super().__init__(folder, aliases=partners, snapshots=[entry])
        self.worlds = worlds
        self.taken: list[list[Shot]] = [[] for _ in worlds]

    def take(self, world: int, shots: Iterable[Shot]) -> None:
        """Put captures of a world into the folder."""
        for shot in shots:
            self.add(shot.lines, shot.name)
            self.taken[world].append(shot)

    def take_until(self, moment: datetime) -> None:
        """Put the captures up to a moment into the folder that are not there yet."""
        for number, world in enumerate(self.worlds):
            known = self.taken[number]
            self.take(number, [each for each in world.shots if each.taken_at <= moment and each not in known])

    @property
    def truths(self) -> list[Truth]:
        """What has to come out."""
        return [Truth(world, shots) for world, shots in zip(self.worlds, self.taken, strict=True)]

    def require(self, as_of: datetime) -> None:
        """Run the night of an as_of, and compare all that is known of it."""
        self.run(as_of)
        truths = self.truths
        expected = {
            "receive_schedule": [row for truth in truths for row in truth.receive_schedule(as_of)],
            "transmission_schedule": [row for truth in truths for row in truth.transmission_schedule(as_of)],
            "priority_rules": [row for truth in truths for row in histories.rules(truth)],
            "catalog_history": [row for truth in truths for row in histories.catalog(truth)],
        }
        faults = [f"as_of {as_of}"]
        for name, rows in expected.items():
            found = [row for row in self.table(name) if row.get("as_of", as_of) == as_of]
            faults += [f"{name}: {line}" for line in _differences(found, rows)]
        unplaced = {row["id"] for row in self.table("unresolved") if row["as_of"] == as_of}
        for truth in truths:
            unplaced = (unplaced - truth.restored(as_of)) ^ truth.unresolved(as_of)
        faults += [f"unresolved: {id}" for id in sorted(unplaced)]
        assert len(faults) == 1, "\n".join(faults)

    def require_changes(self, since: datetime, as_of: datetime) -> None:
        """Compare what has changed between two as_ofs that were published."""
        moments = ["--since", format_instant(since), "--as-of", format_instant(as_of)]
        found = self.ask("changes", *moments)
        for name, changes in (("rules", histories.rule_changes), ("catalog", histories.catalog_changes)):
            expected = [row for truth in self.truths for row in changes(truth, since, as_of)]
            assert _differences(found[name], expected) == []

    def require_fates(self, as_of: datetime) -> None:
        """Compare what became of some messages that are gone."""
        told: dict[str, int] = {}
        for row in [row for truth in self.truths for row in histories.gone(truth)]:
            told[row["fate"]] = told.get(row["fate"], 0) + 1
            if told[row["fate"]] > TOLD:
                continue
            found = self.ask("explain", "--message", row["message_id"], "--as-of", format_instant(as_of))
            expected = {"from": format_instant(row["from"]), "to": format_instant(row["to"])}
            assert found["gone_between"] == {**expected, "fate": row["fate"]}, row["message_id"]


def _differences(found: Sequence[Row], expected: Sequence[Row]) -> list[str]:
    """What differs; positions only where nothing is missing and nothing is too much."""
    columns = {*expected[0]} if expected else {*found[0]} if found else set()

    def without(*names: str) -> list[str]:
        kept = columns - {*names}
        rows = [[{name: row[name] for name in kept} for row in side] for side in (found, expected)]
        return difference(*rows)

    return without("position") or without()


@pytest.fixture(scope="module")
def worlds() -> list[Days]:
    """The days of all worlds."""
    return [Days(SEED + number, number, MOMENTS) for number in range(WORLDS)]


def test_an_as_of_asked_at_once_and_after_later_captures(worlds: list[Days], tmp_path: Path) -> None:
    project = Simulated(tmp_path / "project", worlds)
    for moment in MOMENTS:
        project.take_until(moment)
        project.require(moment)
    for moment in MOMENTS[:-1]:
        project.require(moment)
    for since, as_of in pairwise(MOMENTS):
        project.require_changes(since, as_of)
    project.require_fates(MOMENTS[-1])


def test_captures_that_come_in_random_order(worlds: list[Days], tmp_path: Path) -> None:
    project, random = Simulated(tmp_path / "project", worlds), Random(SEED)
    waiting = [(number, shot) for number, world in enumerate(worlds) for shot in world.shots]
    random.shuffle(waiting)
    half = len(waiting) // 2
    for part in (waiting[:half], waiting[half:]):
        for number, shot in part:
            project.take(number, [shot])
        project.run(MOMENTS[-1])
    for moment in random.sample(MOMENTS, len(MOMENTS)):
        project.require(moment)


def test_captures_in_one_night_and_in_a_night_each_hour(tmp_path: Path) -> None:
    """Captures of each quarter of an hour, half of them light."""
    world = Days(5, 0, [HOURS[0] + number * QUARTER for number in range(4 * len(HOURS) - 3)])
    assert sum(shot.light for shot in world.shots) > len(world.shots) / 3
    hourly, once = (Simulated(tmp_path / name, [world]) for name in ("hourly", "once"))
    for hour in HOURS:
        hourly.take_until(hour)
        hourly.run(hour)
    once.take_until(HOURS[-1])
    once.require(HOURS[-1])
    require_equal(_of_last_hour(hourly), _of_last_hour(once))


def _of_last_hour(project: Simulated) -> dict[str, list[Row]]:
    """The tables; rows say whether they are closed, as the day is that of the night which closed them.

    A closed endpoint keeps the queue that its service had when it closed.
    """
    tables = {
        name: [_without_day(row) for row in rows if row.get("as_of", HOURS[-1]) == HOURS[-1]]
        for name, rows in project.comparable().items()
    }
    endpoints = [{**row, "queue": None} if row["closed_on"] else row for row in tables["endpoints"]]
    return {**tables, "endpoints": endpoints}


def _without_day(row: Row) -> Row:
    return {**row, "closed_on": row["closed_on"] is not None} if "closed_on" in row else row

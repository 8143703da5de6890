"""Many nights in a row, with housekeeping: a night costs what it brings, not what was there before.

ATTACK_NIGHTS=400 tries that many.
"""

import json
import os
import time
from pathlib import Path
from statistics import mean

from pyspark.sql import SparkSession

from pipelines.commands.upkeep import run_maintain
from tests.support.factories import Events, at, by_source, ends_of, message_event, short_talk
from tests.support.harness import Project
from tests.support.small_project import project_in

NIGHTS = int(os.environ.get("ATTACK_NIGHTS", 70))
WEEK, KEPT_DAYS = 7, 14
DAY = 24 * 60 * 60
SOME = NIGHTS // 4


class Added:
    """What the commits of a project add, night by night."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.known: set[Path] = set()

    def by_last_night(self) -> tuple[int, int]:
        """Data files and their bytes."""
        files = size = 0
        for commit in self._commits() - self.known:
            added = [json.loads(line).get("add") for line in commit.read_text().splitlines()]
            files += sum(each is not None for each in added)
            size += sum(each["size"] for each in added if each)
        return files, size

    def age(self) -> None:
        """The last night is over, with what was done after it: the tables' logs become a day older.

        Delta keeps a log for thirty days. If all nights were of one day, nothing of it would ever go.
        """
        self.known = self._commits()
        for file in self.project.folder.glob("warehouse/*/_delta_log/*"):
            modified = file.stat().st_mtime - DAY
            os.utime(file, (modified, modified))

    def _commits(self) -> set[Path]:
        return set(self.project.folder.glob("warehouse/*/_delta_log/*.json"))


def events_of(day: int) -> Events:
    """Two conversations that end, a third one that stays open for a night, and an old event once more."""
    ends = [short_talk(f"d{day}.{number}", day, ends=True) for number in range(2)]
    left = short_talk(f"d{day}.left", day, ends=False)
    events = {source: [row for each in (*ends, left) for row in each[source]] for source in left}
    if day:
        yesterday = f"d{day - 1}.left"
        received = message_event("RECEIVED", f"{yesterday}/0", event_time=at(5, day=day))
        events["message_events"].append(received)
        events["endpoint_events"] += ends_of(yesterday, at(6, day=day))
    before = max(0, day - 3)
    late = by_source(message_event("SENT", f"d{before}.0/0", event_time=at(day=before)))
    events["message_events"] += late["message_events"]
    return events


def test_a_night_stays_what_it_is(session: SparkSession, tmp_path: Path) -> None:
    attacked = project_in(tmp_path)
    added = Added(attacked)
    costs: list[tuple[float, ...]] = []
    for day in range(NIGHTS):
        attacked.add(events_of(day))
        began = time.process_time()
        attacked.run(session, at(60, day=day))
        costs.append((*added.by_last_night(), time.process_time() - began))
        if day % WEEK == WEEK - 1:
            options = ["--config", attacked.config, "--keep-days", str(KEPT_DAYS), "--keep-hours", "0"]
            assert run_maintain(options) == 0
        added.age()
    for name, each in zip(("files", "bytes", "seconds"), zip(*costs, strict=True), strict=True):
        early, late = mean(each[SOME : 2 * SOME]), mean(each[-SOME:])
        print(f"{name} of a night: {early:,.1f} at first, {late:,.1f} at last")
        if name != "seconds":
            assert late < 1.1 * early, name
    assert len(attacked.table("endpoints")) == 6 * NIGHTS
    kept_from = NIGHTS - NIGHTS % WEEK - 1 - KEPT_DAYS
    assert {row["as_of"] for row in attacked.table("receive_schedule")} == {
        at(60, day=day) for day in range(kept_from, NIGHTS)
    }

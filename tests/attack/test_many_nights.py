"""Hundreds of nights in a row, with housekeeping: a night costs what it brings, not what was there before.

ATTACK_NIGHTS=400 tries that many. With ATTACK_FOLDER they are kept in that folder, and a test that was broken
off goes on where it was.
"""

import json
import os
import time
from datetime import datetime
from pathlib import Path
from statistics import mean

from pyspark.sql import SparkSession

from pipelines.commands import maintain
from tests.support.factories import Events, at, by_source, ends_of, message_event, short_talk
from tests.support.harness import SOURCES, Project
from tests.support.processes import finish
from tests.support.scene import ENGINE, project

NIGHTS = int(os.environ.get("ATTACK_NIGHTS", 200))
FOLDER = os.environ.get("ATTACK_FOLDER")
WEEK, KEPT_DAYS = 7, 14
DAY = 24 * 60 * 60
SOME = NIGHTS // 4


class Nights:
    """What the nights so far have written and taken, kept beside their project."""

    def __init__(self, project: Project) -> None:
        self.project, self.file = project, project.folder / "nights.json"
        self.files: list[int] = []
        self.sizes: list[int] = []
        self.seconds: list[float] = []
        self.known: set[Path] = set()
        if self.file.exists():
            self.files, self.sizes, self.seconds = json.loads(self.file.read_text())
            last = self.file.stat().st_mtime
            self.known = {commit for commit in self._commits() if commit.stat().st_mtime <= last}

    def add(self, seconds: float) -> None:
        """Another night, with the data files and their bytes that its commits have added."""
        files = size = 0
        for commit in self._commits() - self.known:
            added = [json.loads(line).get("add") for line in commit.read_text().splitlines()]
            files += sum(each is not None for each in added)
            size += sum(each["size"] for each in added if each)
        self.files.append(files)
        self.sizes.append(size)
        self.seconds.append(seconds)

    def materialize(self) -> None:
        """The last night is over, with what was done after it: the tables' logs become a day older.

        Delta keeps a log for thirty days. If all nights were of one day, nothing of it would ever go.
        """
        self.known = self._commits()
        self.file.write_text(json.dumps([self.files, self.sizes, self.seconds]))
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


def alone(project: Project, as_of: datetime) -> float:
    """Processor seconds of a night with nothing new that is a process of its own, as nights are."""
    before = os.times()
    finish(ENGINE, project, as_of)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def test_a_night_stays_what_it_is(session: SparkSession, tmp_path: Path) -> None:
    attacked = project(Path(FOLDER) if FOLDER else tmp_path)
    nights = Nights(attacked)
    for day in range(len(nights.files), NIGHTS):
        # What a broken-off night may have taken stays as it is.
        if not all((attacked.folder / source / f"{day + 1:03d}.jsonl").exists() for source in SOURCES):
            attacked.nights = day
            attacked.add(events_of(day))
        began = time.process_time()
        attacked.run(session, at(60, day=day))
        nights.add(time.process_time() - began)
        if day in (SOME, NIGHTS - 1):
            print(f"night {day + 1} again, in a process of its own: {alone(attacked, at(60, day=day)):.2f} s")
        if day % WEEK == WEEK - 1:
            options = ["--config", attacked.config, "--keep-days", str(KEPT_DAYS), "--keep-hours", "0"]
            assert maintain.main(options) == 0
            seconds, size = mean(nights.seconds[-WEEK:]), mean(nights.sizes[-WEEK:])
            print(f"night {day + 1}: {seconds:.2f} s, {size:,.0f} bytes", flush=True)
        nights.materialize()
    for name, each in (("files", nights.files), ("bytes", nights.sizes), ("seconds", nights.seconds)):
        early, late = mean(each[SOME : 2 * SOME]), mean(each[-SOME:])
        print(f"{name} of a night: {early:,.1f} at first, {late:,.1f} at last")
        if name != "seconds":
            assert late < 1.1 * early, name
    assert len(attacked.table("endpoints")) == 6 * NIGHTS
    kept_from = NIGHTS - NIGHTS % WEEK - 1 - KEPT_DAYS
    assert {row["as_of"] for row in attacked.table("receive_schedule")} == {
        at(60, day=day) for day in range(kept_from, NIGHTS)
    }

"""Hundreds of nights in a row, with housekeeping: a night costs what it brings, not what was there before.

ATTACK_NIGHTS=400 tries that many.
"""

import json
import os
import time
from datetime import datetime
from pathlib import Path
from statistics import mean

import pytest
from pyspark.sql import SparkSession

from jobs import maintain
from tests.attack.scene import ENGINE, project
from tests.factories import at, by_source, ends_of, message_event, short_talk
from tests.harness import Project
from tests.jobs.processes import finish

pytestmark = pytest.mark.spark

NIGHTS = int(os.environ.get("ATTACK_NIGHTS", 40 if ENGINE == "spark" else 200))
WEEK, KEPT_DAYS = 7, 14
SOME = NIGHTS // 4


def written(project: Project, known: set[Path]) -> tuple[int, int]:
    """Data files and their bytes that the commits since the last look have added."""
    files = size = 0
    for log in project.folder.glob("warehouse/*/_delta_log/*.json"):
        if log not in known:
            known.add(log)
            added = [json.loads(line).get("add") for line in log.read_text().splitlines()]
            files += sum(each is not None for each in added)
            size += sum(each["size"] for each in added if each)
    return files, size


def spent() -> float:
    """Processor seconds, whatever else runs; of Apache Spark, another process, seconds by the clock."""
    return time.monotonic() if ENGINE == "spark" else time.process_time()


def alone(project: Project, as_of: datetime) -> float:
    """Processor seconds of a night with nothing new that is a process of its own, as nights are."""
    before = os.times()
    finish(ENGINE, project, as_of)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def test_a_night_stays_what_it_is(session: SparkSession, tmp_path: Path) -> None:
    """Each night ends two conversations, leaves a third one open for a night, and repeats an old event."""
    attacked = project(tmp_path)
    known: set[Path] = set()
    files, sizes, seconds = [], [], []
    for day in range(NIGHTS):
        ends = [short_talk(f"d{day}.{number}", day, ends=True) for number in range(2)]
        left = short_talk(f"d{day}.left", day, ends=False)
        events = {source: [row for each in (*ends, left) for row in each[source]] for source in left}
        if day:
            yesterday = f"d{day - 1}.left"
            received = message_event("RECEIVED", f"{yesterday}/0", event_time=at(5, day=day))
            events["message_events"].append(received)
            events["endpoint_events"] += ends_of(yesterday, at(6, day=day))
        late = by_source(message_event("SENT", f"d{max(0, day - 3)}.0/0", event_time=at(day=max(0, day - 3))))
        events["message_events"] += late["message_events"]
        attacked.add(events)
        began = spent()
        attacked.run(session, at(60, day=day))
        seconds.append(spent() - began)
        count, size = written(attacked, known)
        files.append(count)
        sizes.append(size)
        if day in (SOME, NIGHTS - 1):
            print(f"night {day + 1} again, in a process of its own: {alone(attacked, at(60, day=day)):.2f} s")
            written(attacked, known)
        if day % WEEK == WEEK - 1:
            options = ["--config", attacked.config, "--keep-days", str(KEPT_DAYS), "--keep-hours", "0"]
            assert maintain.main(options) == 0
            written(attacked, known)
            print(
                f"night {day + 1}: {mean(seconds[-WEEK:]):.2f} s, {mean(sizes[-WEEK:]):,.0f} bytes",
                flush=True,
            )
    for name, each in (("files", files), ("bytes", sizes), ("seconds", seconds)):
        early, late_ones = mean(each[SOME : 2 * SOME]), mean(each[-SOME:])
        print(f"{name} of a night: {early:,.1f} at first, {late_ones:,.1f} at last")
        if name != "seconds":
            assert late_ones < 1.1 * early, name
    assert len(attacked.table("endpoints")) == 6 * NIGHTS
    kept_from = NIGHTS - NIGHTS % WEEK - 1 - KEPT_DAYS
    assert {row["as_of"] for row in attacked.table("receive_schedule")} == {
        at(60, day=day) for day in range(kept_from, NIGHTS)
    }

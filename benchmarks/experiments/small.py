"""A small night, the common case: what a process costs that has next to nothing to do."""

import shutil
from datetime import timedelta

from benchmarks.bench import Bench, Case
from benchmarks.experiments.history import FIRST_DAY, bring, empty_inputs

MESSAGES = 4_000
"""Over two nights; a message makes five events."""


PROFILES = ("small", "local")
"""Of spark-submit.sh: the one for such nights, and the one that nobody has to choose."""


def run(bench: Bench) -> None:
    """A first night of about 10,000 events and a second one on top; the notes say where the seconds go."""
    log = bench.log(MESSAGES, "--days", "2", "--history", "daily", "--services", "40", "--kinds", "100")
    for _ in range(bench.rounds):
        for profile in PROFILES:
            folder = bench.folder / "runs" / f"small-{profile}"
            shutil.rmtree(folder, ignore_errors=True)
            inputs = empty_inputs(folder)
            for number, name in enumerate(("first night", "second night")):
                case = Case(bench, "small", f"{name}, profile {profile}", log, inputs, at=folder)
                day = FIRST_DAY + timedelta(days=number)
                as_of = day + timedelta(days=1)
                new = bring(log / f"night={day:%Y-%m-%d}", inputs)
                ours = case.pipeline(as_of, profile=profile, new=new)
                if bench.peer:
                    theirs = case.peer(as_of)
                    case.require_equal(as_of)
                    bench.add(theirs)
                bench.add(ours)
                # It copies the whole warehouse, which is what a first night writes.
                if bench.floor and number == 0:
                    bench.add(case.floor(profile=profile, new=new))
            if not bench.keep:
                shutil.rmtree(folder)

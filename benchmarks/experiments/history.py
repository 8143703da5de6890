"""Nights in a row: what a night costs when there is a history, and what starting over would cost."""

import os
import shutil
from datetime import timedelta
from pathlib import Path

from benchmarks.bench import LAST_MIDNIGHT, SOURCES, Bench, Case

FIRST_DAY = LAST_MIDNIGHT - timedelta(days=1)


def run(bench: Bench) -> None:
    """One run a night; the peer takes all nights at once, as of the last one.

    The log has `--messages` in all, spread evenly over the nights.
    """
    log = bench.log(bench.messages, "--days", str(bench.nights), "--history", "daily")
    folder = bench.folder / "runs" / "history"
    shutil.rmtree(folder, ignore_errors=True)
    inputs = empty_inputs(folder)
    for number in range(1, bench.nights + 1):
        night = FIRST_DAY + timedelta(days=number - 1)
        new = bring(log / f"night={night:%Y-%m-%d}", inputs)
        case = Case(bench, "history", f"night {number} of {bench.nights}", log, inputs, at=folder)
        bench.add(case.pipeline(night + timedelta(days=1), new=new))
    if bench.peer:
        as_of = FIRST_DAY + timedelta(days=bench.nights)
        bench.add(case.peer(as_of))
        case.require_equal(as_of)
    if not bench.keep:
        shutil.rmtree(folder)


def empty_inputs(folder: Path) -> dict[str, Path]:
    """Make a folder for each input, without files."""
    inputs = {source: folder / source for source in SOURCES}
    for path in inputs.values():
        path.mkdir(parents=True)
    return inputs


def bring(night: Path, inputs: dict[str, Path]) -> list[Path]:
    """Put the files of a night into the inputs, as links; return them."""
    brought = []
    for source, folder in inputs.items():
        for file in sorted((night / source).glob("*.parquet")):
            os.link(file, folder / file.name)
            brought.append(folder / file.name)
    return brought

"""The tables: on the terminal, as JSON and as Markdown."""

import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table as Grid

from dev.benchmarks.measure import Measure, Results
from dev.benchmarks.targets import HEADINGS, rows

RUNS = (
    "experiment",
    "case",
    "system",
    "events",
    "in",
    "out",
    "seconds",
    "x DuckDB",
    "processor",
    "x DuckDB's",
    "peak memory",
    "read",
    "commits",
    "jobs",
)
PACKAGES = ("pyspark", "pysail", "deltalake", "duckdb")


def machine() -> str:
    """What the figures depend on besides the code."""
    memory = psutil.virtual_memory().total / 2**30
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{os.cpu_count()} cores ({_processor()}), {memory:.0f} GiB, {platform.system()}; "
        f"Python {platform.python_version()}, {versions}"
    )


def show(measures: Sequence[Measure]) -> None:
    """Print the targets, and below them the runs."""
    results = Results(measures)
    console = Console()
    wide = console if console.is_terminal else Console(width=200)
    wide.print(machine())
    for headings, lines, left in (
        (HEADINGS, [row.cells() for row in rows(results)], 2),
        (RUNS, [run_cells(results, each) for each in results.all()], 3),
    ):
        grid = Grid()
        for number, name in enumerate(headings):
            grid.add_column(name, justify="left" if number < left else "right")
        for line in lines:
            grid.add_row(*line)
        wide.print(grid)


def run_cells(results: Results, measure: Measure) -> tuple[str, ...]:
    """A run as text, in the order of `RUNS`."""
    times = results.times_the_peer(measure)
    of_processor = results.times_the_peers_processor(measure)
    return (
        measure.experiment,
        measure.case,
        measure.system,
        f"{measure.events:,}",
        _bytes(measure.bytes_in),
        _bytes(measure.bytes_out),
        f"{measure.seconds:.1f}",
        f"{times:.1f}" if times else "-",
        f"{measure.cpu_seconds:.1f}",
        f"{of_processor:.1f}" if of_processor else "-",
        _bytes(measure.peak_bytes),
        _bytes(measure.bytes_read),
        str(measure.commits or "-"),
        "-" if measure.jobs is None else str(measure.jobs),
    )


def keep(measures: Sequence[Measure], folder: Path) -> list[Path]:
    """Write results.json, with every single run, and results.md; return their paths.

    Runs of other experiments and cases that the folder has already stay: a table may come of several calls,
    as long as the machine is the same.
    """
    folder.mkdir(parents=True, exist_ok=True)
    as_json = folder / "results.json"
    again = {measure.key[:2] for measure in measures}
    whole = [measure for measure in _kept(as_json) if measure.key[:2] not in again] + list(measures)
    content = {"machine": machine(), "measures": [asdict(measure) for measure in whole]}
    as_json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    as_markdown = folder / "results.md"
    as_markdown.write_text("\n".join(_markdown(Results(whole))) + "\n", encoding="utf-8")
    return [as_json, as_markdown]


def _kept(path: Path) -> list[Measure]:
    if not path.exists():
        return []
    content = json.loads(path.read_text(encoding="utf-8"))
    if content["machine"] != machine():
        return []
    return [Measure(**measure) for measure in content["measures"]]


def _markdown(results: Results) -> Iterable[str]:
    yield machine()
    yield ""
    yield from _table(HEADINGS, [row.cells() for row in rows(results)], left=2)
    yield "Every run; medians where there were several rounds:"
    yield ""
    yield from _table(RUNS, [run_cells(results, each) for each in results.all()], left=3)
    yield "Seconds by step, and when and of which commit:"
    yield ""
    for each in results.all():
        said = ", ".join(f"{step} {seconds:g}" for step, seconds in each.steps.items())
        yield f"- {', '.join(each.key)} ({each.of}): {said or '-'}"


def _table(headings: Sequence[str], lines: Sequence[Sequence[str]], *, left: int) -> Iterable[str]:
    yield f"| {' | '.join(headings)} |"
    yield "|" + "---|" * left + "---:|" * (len(headings) - left)
    yield from (f"| {' | '.join(line)} |" for line in lines)
    yield ""


def _processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _bytes(value: float) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if value >= size:
            return f"{value / size:.1f} {unit}"
    return f"{value:.0f} B"

"""The table: on the terminal, as JSON and as Markdown."""

import json
import os
import platform
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table as Grid

from benchmarks.figure import draw
from benchmarks.measure import Line, Measure, lines

COLUMNS = (
    "experiment",
    "case",
    "events",
    "in",
    "out",
    "seconds",
    "processor",
    "events/s/core",
    "peak memory",
    "shuffled",
    "spilled",
    "peer",
    "x peer",
    "floor",
    "x floor",
)


def machine() -> dict[str, str]:
    """What the figures depend on besides the code."""
    memory = psutil.virtual_memory().total / 2**30
    load = os.getloadavg()[0]
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{os.cpu_count()} cores ({_processor()}), {memory:.0f} GiB, {platform.system()}",
        "load": f"{load:.1f} when the report was written",
        "versions": f"Python {platform.python_version()}, pyspark {version('pyspark')}, "
        f"delta-spark {version('delta-spark')}, duckdb {version('duckdb')}",
    }


def row(line: Line) -> list[str]:
    """A line as text, in the order of COLUMNS; a dash where there is nothing to say."""
    return [
        line.experiment,
        line.case,
        f"{line.events:,}",
        _bytes(line.bytes_in),
        _bytes(line.bytes_out),
        f"{line.seconds:.1f}",
        f"{line.cpu_seconds:.1f}",
        _number(line.rate, ",.0f"),
        _bytes(line.peak_bytes),
        _bytes(line.work.get("bytes_shuffled")),
        _bytes(line.work.get("bytes_spilled")),
        _number(line.peer_seconds, ".1f"),
        _number(line.to_peer, ".1f"),
        _number(line.floor_seconds, ".1f"),
        _number(line.to_floor, ".1f"),
    ]


def show(measures: Sequence[Measure]) -> None:
    """Print the table."""
    grid = Grid(title="Medians over the rounds; seconds from process start to exit")
    for name in COLUMNS:
        grid.add_column(name, justify="left" if name in COLUMNS[:2] else "right")
    for line in lines(measures):
        grid.add_row(*row(line))
    console = Console()
    (console if console.is_terminal else Console(width=200)).print(grid)


def keep(measures: Sequence[Measure], folder: Path) -> list[Path]:
    """Write results.json, with every single measure, results.md and results.svg; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    about = machine()
    content = {**about, "measures": [measure.as_dict() for measure in measures]}
    as_json, as_markdown = folder / "results.json", folder / "results.md"
    as_json.write_text(json.dumps(content, indent=1, default=str) + "\n", encoding="utf-8")
    as_markdown.write_text("\n".join(_markdown(measures, about)) + "\n", encoding="utf-8")
    picture = folder / "results.svg"
    return [as_json, as_markdown, *([picture] if draw(lines(measures), picture) else [])]


def _markdown(measures: Sequence[Measure], about: dict[str, str]) -> Iterable[str]:
    yield from (f"- {name}: {value}" for name, value in about.items())
    yield ""
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|---|---|" + "---:|" * (len(COLUMNS) - 2)
    summed = lines(measures)
    yield from (f"| {' | '.join(row(line))} |" for line in summed)
    yield ""
    yield "Seconds by step:"
    yield ""
    for line in summed:
        said = ", ".join(f"{step} {seconds:.1f}" for step, seconds in line.steps.items())
        yield f"- {line.experiment}, {line.case}: {said or '-'}"
    yield ""
    yield "What else Spark's event log says:"
    yield ""
    for line in summed:
        yield f"- {line.experiment}, {line.case}: {_work(line)}"
    yield from _notes(summed)


def _work(line: Line) -> str:
    work = line.work
    if not work:
        return "-"
    share = _number(work.get("heaviest_share"), ".0%")
    return (
        f"{work['jobs']:,.0f} jobs, {work['stages']:,.0f} stages, {work['tasks']:,.0f} tasks; read "
        f"{_bytes(work['bytes_read'])}, longest task {work['longest_task_seconds']:.1f} s, "
        f"the heaviest task of a long stage took {share} of it"
    )


def _notes(summed: Sequence[Line]) -> Iterable[str]:
    for line in summed:
        timeline = line.notes.get("timeline", ()) if line.experiment == "small" else ()
        if timeline:
            yield from ("", f"Where the seconds of {line.experiment}, {line.case} went (first round):", "")
            yield from (f"- {what}: {seconds:.1f}" for what, seconds in timeline)
        for name, value in line.notes.items():
            if name != "timeline":
                yield from ("", f"{line.experiment}, {line.case}: {name}: {value}")


def _processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as lines_of_file:
        names = [line.split(":", 1)[1].strip() for line in lines_of_file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _bytes(value: Any) -> str:
    if value is None:
        return "-"
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if value >= size:
            return f"{value / size:.1f} {unit}"
    return f"{value:.0f} B"

"""The figure: seconds of pipeline, peer and floor, case by case."""

from collections.abc import Sequence
from math import isnan, nan
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

from benchmarks.measure import Line


def draw(lines: Sequence[Line], path: Path) -> bool:
    """Draw a bar per case: seconds of pipeline, peer and floor side by side.

    Args:
        lines: of a report; those without a peer and without a floor are left out.
        path: where the picture goes, an .svg.

    Returns:
        Whether there was something to draw.
    """
    shown = [line for line in lines if line.peer_seconds or line.floor_seconds]
    if not shown:
        return False
    height = 0.8 / 3
    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.9 * len(shown)), layout="constrained")
    systems = (
        ("pipeline", [line.seconds for line in shown], "#1f5a96"),
        ("DuckDB", [line.peer_seconds or nan for line in shown], "#e0a030"),
        ("Spark without work", [line.floor_seconds or nan for line in shown], "#9aa5b1"),
    )
    for place, (system, seconds, colour) in enumerate(systems):
        bars = axes.barh(
            [row + (place - 1) * height for row in range(len(shown))],
            seconds,
            height,
            label=system,
            color=colour,
        )
        axes.bar_label(bars, ["" if isnan(value) else f"{value:.0f} s" for value in seconds], padding=3)
    axes.set_yticks(range(len(shown)), [f"{line.experiment}\n{line.case}" for line in shown])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("seconds, process start to exit; each step to the right is ten times as long")
    axes.legend()
    axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return True

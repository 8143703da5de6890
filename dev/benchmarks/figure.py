"""The figure: seconds of both engines and DuckDB, case by case."""

from math import isnan, nan
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

from dev.benchmarks.measure import DUCKDB, EMBEDDED, SPARK, Results

COLOURS = {
    EMBEDDED: "#1f5a96",
    SPARK: "#c2452d",
    DUCKDB: "#e0a030",
}


def draw(results: Results, path: Path) -> bool:
    """Draw the seconds of each case's systems as bars side by side.

    Args:
        results: what was measured; cases without the peer are left out.
        path: where the picture goes, an .svg.

    Returns:
        Whether there was something to draw.
    """
    cases = [measure.key[:2] for measure in results.all() if measure.system == DUCKDB]
    if not cases:
        return False
    height = 0.85 / len(COLOURS)
    figure, axes = plt.subplots(figsize=(9, 1.2 + 1.1 * len(cases)), layout="constrained")
    for place, (system, colour) in enumerate(COLOURS.items()):
        found = [results.of(*case, system) for case in cases]
        seconds = [measure.seconds if measure else nan for measure in found]
        middles = [row + (place - (len(COLOURS) - 1) / 2) * height for row in range(len(cases))]
        bars = axes.barh(middles, seconds, height, label=system, color=colour)
        axes.bar_label(bars, ["" if isnan(value) else f"{value:.1f} s" for value in seconds], padding=3)
    axes.set_yticks(range(len(cases)), ["\n".join(case) for case in cases])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("seconds, process start to exit; each step to the right is ten times as long")
    axes.legend()
    axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return True

"""The picture of training larger than memory: relative function value difference against seconds, a panel a data set.

    python benchmarks/outofcore/curves.py benchmarks/results/outofcore.jsonl [--write benchmarks/results/outofcore.png]

Needs matplotlib. Block methods begin when the file is split.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from methods import OURS
from tables import best_bound, one_of

sys.path.insert(0, str(Path(__file__).parents[1]))

from panels import save

METHODS = (*OURS, "Vowpal Wabbit")
COLUMNS = 3
FLOOR = 1e-5


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", type=Path)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    runs = [json.loads(line) for line in options.runs.read_text().splitlines()]
    draw(runs, options.write or options.runs.with_suffix(".png"))


def draw(runs: list[dict], picture: Path) -> None:
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(run["data"] for run in runs))
    lines = -(-len(names) // COLUMNS)
    figure, axes = plt.subplots(lines, COLUMNS, figsize=(13.0, 3.4 * lines + 0.8), squeeze=False)
    for axis, name in zip(axes.flat, names, strict=False):
        fill(axis, runs, name)
    save(figure, axes, "seconds, splitting included", "relative function value difference", picture)


def fill(axis, runs: list[dict], name: str) -> None:
    """One curve a method, in the same colour in every panel."""
    best = best_bound(runs, name)
    for place, method in enumerate(METHODS):
        points = one_of(runs, name, method).get("history", [])
        if points:
            seconds = [max(at, 0.1) for at, _ in points]
            above = [max(primal / best - 1.0, FLOOR) for _, primal in points]
            axis.loglog(seconds, above, color=f"C{place}", marker="o", markersize=3, label=method, linewidth=1.5)
    axis.axhline(1e-3, color="grey", linewidth=0.7, linestyle=":")
    axis.set_title(name, fontsize=10)
    axis.grid(alpha=0.3)
    axis.tick_params(labelsize=8)


if __name__ == "__main__":
    main()

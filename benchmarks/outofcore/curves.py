"""The picture of training larger than memory: relative function value difference against seconds, a panel a data set.

    python benchmarks/outofcore/curves.py benchmarks/results/outofcore.jsonl [--write benchmarks/results/outofcore.png]

Needs matplotlib. Block methods begin when the file is split.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from methods import OURS
from tables import best_bound, one_of

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
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    shown = {label: line for axis in axes.flat for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(shown.values(), shown.keys(), loc="upper center", ncols=len(shown), fontsize=10, frameon=False)
    figure.supxlabel("seconds, splitting included", fontsize=10)
    figure.supylabel("relative function value difference", fontsize=10)
    figure.tight_layout(rect=(0.01, 0.0, 1.0, 1.0 - 0.4 / figure.get_figheight()))
    figure.savefig(picture, dpi=100)
    plt.close(figure)
    print(f"drawn to {picture}")


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

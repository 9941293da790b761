"""The picture of the race: suboptimality against seconds, one panel for each data set and C; hinge, no bias.

    python benchmarks/linear/curves.py benchmarks/results/linear.jsonl [--write benchmarks/results/linear.png]

Needs matplotlib.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import records
from contenders import CONTENDERS

FLOOR = 1e-9
COLUMNS = 6
WIDTH = 16.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", type=Path)
    parser.add_argument("--write", type=Path, default=None)
    options = parser.parse_args()
    draw(options.runs, options.write or options.runs.with_suffix(".png"))


def draw(kept: Path, picture: Path) -> None:
    """Nothing is drawn where there is no such problem."""
    import matplotlib.pyplot as plt

    panels = {key: runs for key, runs in records.read(kept).items() if key[1:3] == ("hinge", "none")}
    if not panels:
        return
    columns = min(COLUMNS, len(panels))
    lines = -(-len(panels) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(WIDTH, 2.6 * lines + 1.2), squeeze=False, sharey=True)
    for axis, (key, runs) in zip(axes.flat, panels.items(), strict=False):
        fill(axis, key, runs)
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    finish(figure, axes)
    figure.savefig(picture, dpi=100)
    plt.close(figure)
    print(f"drawn to {picture}")


def fill(axis, key: records.Problem, runs: records.Runs) -> None:
    from matplotlib.ticker import NullFormatter

    best = records.best_bound(runs)
    for who in records.contenders(runs):
        found = sorted((run["seconds"], max(records.above(run, best), FLOOR)) for run in records.of(runs, who))
        if found:
            axis.loglog(*zip(*found, strict=True), **look(who))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_title(f"{key[0]}, C = {key[3]}", fontsize=10)
    axis.set_ylim(FLOOR / 2, 2.0)
    axis.grid(alpha=0.3)
    axis.tick_params(labelsize=8)


def look(who: str) -> dict:
    """The same colour for a contender in every panel; ours on top."""
    place = list(CONTENDERS).index(who)
    ours = who == records.OURS
    return {"color": f"C{place}", "marker": "o", "markersize": 4, "label": who,
            "linewidth": 2.5 if ours else 1.2, "zorder": 3 if ours else 2}  # fmt: skip


def finish(figure, axes) -> None:
    """One legend for all, and the names of the axes at the edges."""
    shown = {label: line for axis in axes.flat for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(shown.values(), shown.keys(), loc="upper center", ncols=len(shown), fontsize=10, frameon=False)
    figure.supxlabel("seconds", fontsize=10)
    figure.supylabel("suboptimality, as a part of the objective", fontsize=10)
    figure.tight_layout(rect=(0.01, 0.0, 1.0, 1.0 - 0.5 / figure.get_figheight()))


if __name__ == "__main__":
    main()

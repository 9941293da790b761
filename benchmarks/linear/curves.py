"""The picture of the race: suboptimality against seconds, one panel for each data set and C; hinge, no bias.

    python benchmarks/linear/curves.py benchmarks/results/linear.jsonl [--write benchmarks/results/linear.png]

Needs matplotlib.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import records
from contenders import CONTENDERS

sys.path.insert(0, str(Path(__file__).parents[1]))

from panels import save

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
    save(figure, axes, "seconds", "suboptimality, as a part of the objective", picture)


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


if __name__ == "__main__":
    main()

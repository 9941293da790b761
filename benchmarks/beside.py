"""Two versions of maxmargin beside each other: the same cases in processes that take turns, the best time of each.

A benchmark of this kind has a function `measured(data)` that yields (case, seconds) and calls `main(title, measured)`.

    python benchmarks/NAME.py --beside FOLDER [--data FOLDER] [--rounds 3] [--write FILE]

FOLDER is a checkout of the other version: git worktree add FOLDER REVISION.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from report import DATA, ROOT, heading, publish, table


def main(title: str, measured: Callable[[Path], Iterator[tuple[str, float]]]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(dict(measured(options.data))))
        return
    if options.beside is None:
        raise SystemExit("--beside: name a checkout of the version to compare with")
    now, before = {}, {}
    for _ in range(options.rounds):
        for folder, best in ((ROOT, now), (options.beside, before)):
            for case, seconds in seconds_of(folder, options.data).items():
                best[case] = min(seconds, best.get(case, np.inf))
    ratios = [now[case] / before[case] for case in now]
    script = Path(sys.argv[0]).name
    text = heading(title, f"python benchmarks/{script} --beside FOLDER --rounds {options.rounds}")
    text += f"\nNow: commit {commit(ROOT)}; before: commit {commit(options.beside)}; best of {options.rounds} rounds. "
    text += f"Geometric mean of the ratios: {np.exp(np.mean(np.log(ratios))):.2f}.\n\n"
    lines = [[case, shown(before[case]), shown(now[case]), f"{now[case] / before[case]:.2f}"] for case in now]
    publish(text + table(["case", "before", "now", "now / before"], lines), options.write)


def shown(seconds: float) -> str:
    return f"{1e6 * seconds:,.0f} µs" if seconds < 1e-3 else f"{1e3 * seconds:,.1f} ms"


def commit(folder: Path) -> str:
    command = ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def seconds_of(folder: Path, data: Path) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    command = [sys.executable, sys.argv[0], "--one", "--data", str(data)]
    return json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)

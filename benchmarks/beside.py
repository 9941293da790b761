"""Two versions of maxmargin beside each other: each case in two processes that take turns, the best time of each.

A benchmark of this kind has a function `measured(data)` that yields a case and a function that returns its seconds, and
calls `main(title, measured)`.

    python benchmarks/NAME.py --beside FOLDER [--data FOLDER] [--rounds 3] [--cases REGEX] [--write FILE]

FOLDER is a checkout of the other version: git worktree add FOLDER REVISION. The versions alternate within a case, since
the speed of a machine may change from one minute to the next.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from report import DATA, ROOT, heading, publish, table

Measured = Callable[[Path], Iterator[tuple[str, Callable[[], float]]]]
END = "end"


def main(title: str, measured: Measured) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", default="", help="a regular expression: only cases whose name it is found in")
    parser.add_argument("--write")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        answer(measured(options.data), options.cases)
        return
    if options.beside is None:
        raise SystemExit("--beside: name a checkout of the version to compare with")
    before, now = {}, {}
    versions = [Version(options.beside, options, before), Version(ROOT, options, now)]
    while (case := versions[0].next_case()) == versions[1].next_case() != END:
        for _ in range(options.rounds):
            for version in versions:
                version.measure(case)
        print(case, shown(before[case]), shown(now[case]), file=sys.stderr)
    ratios = [now[case] / before[case] for case in now]
    script = Path(sys.argv[0]).name
    chosen = f" --cases '{options.cases}'" if options.cases else ""
    text = heading(title, f"python benchmarks/{script} --beside FOLDER --rounds {options.rounds}{chosen}")
    text += f"\nNow: commit {commit(ROOT)}; before: commit {commit(options.beside)}; best of {options.rounds} rounds. "
    text += f"Geometric mean of the ratios: {np.exp(np.mean(np.log(ratios))):.2f}.\n\n"
    lines = [[case, shown(before[case]), shown(now[case]), f"{now[case] / before[case]:.2f}"] for case in now]
    publish(text + table(["case", "before", "now", "now / before"], lines), options.write)


def answer(cases: Iterator[tuple[str, Callable[[], float]]], wanted: str) -> None:
    """Name each case on standard output, then its seconds as often as standard input asks for them."""
    for case, run in cases:
        if re.search(wanted, case):
            print(case, flush=True)
            while sys.stdin.readline().strip() == "run":
                print(run(), flush=True)
    print(END, flush=True)


class Version:
    """A process that measures one version, and the best seconds of each case."""

    def __init__(self, folder: Path, options: argparse.Namespace, best: dict[str, float]) -> None:
        environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
        command = [sys.executable, sys.argv[0], "--one", "--data", str(options.data), "--cases", options.cases]
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.best, self.begun = best, False

    def next_case(self) -> str:
        """The name of the next case, or END."""
        if self.begun:
            self.send("next")
        self.begun = True
        return self.read()

    def measure(self, case: str) -> None:
        """Measure the case once more."""
        self.send("run")
        self.best[case] = min(float(self.read()), self.best.get(case, np.inf))

    def send(self, word: str) -> None:
        """Ask the process for something."""
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def read(self) -> str:
        """What it answers."""
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a version has ended early: see above")
        return line.strip()


def shown(seconds: float) -> str:
    return f"{1e6 * seconds:,.0f} µs" if seconds < 1e-3 else f"{1e3 * seconds:,.1f} ms"


def commit(folder: Path) -> str:
    command = ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

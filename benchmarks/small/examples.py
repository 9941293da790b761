"""Programs like scikit-learn's examples: seconds of both packages, how the fits ended, the scores."""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from typing import Any

from cells import MODULES, OURS, THEIRS
from datasets import load
from programs import PROGRAMS
from report import table

ABOUT = """\
Programs in the manner of scikit-learn's examples (`programs.py`), written anew. Seconds of one run each, one process.
"""
REDUCED = "Here with a share of {share:g} of their repetitions.\n"


def report(share: float, names: list[str]) -> str:
    columns = ["program", "ours", "scikit-learn's", "ratio", "our fits ended", "theirs", "our scores", "theirs"]
    rows = []
    for name in names:
        runs = {who: run(name, who, share) for who in MODULES}
        print(name, runs, file=sys.stderr, flush=True)
        ours, theirs = runs[OURS], runs[THEIRS]
        ends, scores = ([show(one[place]) for one in (ours, theirs)] for place in (1, 2))
        rows.append([name, f"{ours[0]:.2f}", f"{theirs[0]:.2f}", f"{ours[0] / theirs[0]:.2f}", *ends, *scores])
    about = ABOUT + (REDUCED.format(share=share) if share < 1 else "")
    described = "\n".join(f"- {name}: {PROGRAMS[name].__doc__}" for name in names)
    return f"## Example programs\n\n{about}\n{described}\n\n{table(columns, rows)}"


def run(name: str, who: str, share: float) -> tuple[float, Counter, dict[str, float]]:
    """Return the seconds of a program, how often its fits ended in which way, and its scores."""
    kind, ends = counted(MODULES[who].SVC)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kernel in ("rbf", "linear"):
            kind(kernel=kernel).fit(*load("iris"))  # compiles
        ends.clear()
        began = time.perf_counter()
        scores = PROGRAMS[name](kind, share)
        return time.perf_counter() - began, ends, scores


def counted(kind: Any) -> tuple[Any, Counter]:
    """Return the class with a counter of how its fits end."""
    ends: Counter = Counter()

    class Counted(kind):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            super().fit(X, y, sample_weight)
            ends[status(self)] += 1
            return self

    return Counted, ends


def status(fitted: Any) -> str:
    if hasattr(fitted, "result_"):
        return str(fitted.result_.status.value)
    return "iteration limit" if fitted.fit_status_ else "converged"


def show(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value:,}"
                     for name, value in values.items())  # fmt: skip

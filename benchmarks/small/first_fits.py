"""The first fit in a fresh process, with compiled code in the cache and without."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from report import table

LOAD = "import sklearn.svm; from sklearn.datasets import load_iris; X, y = load_iris(return_X_y=True)"
FITS = {
    "LinearSVC": "LinearSVC(loss='squared_hinge').fit(X, y)",
    "SVC": "SVC().fit(X, y)",
}
CACHED_TARGET, EMPTY_TARGET = "0.3", "2"
ABOUT = """\
Seconds of a whole process that fits iris once, beyond one that only imports `sklearn.svm` and loads iris: medians of
{repeat} processes each, in turns. "empty cache": nothing has been compiled on this machine before.
"""


def report(repeat: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        filled = {"MAXMARGIN_CACHE_DIR": tempfile.mkdtemp(dir=folder)}
        for fit in FITS.values():
            seconds(ours(fit), filled)
        found = {
            name: medians(fit, repeat, filled, lambda: {"MAXMARGIN_CACHE_DIR": tempfile.mkdtemp(dir=folder)})
            for name, fit in FITS.items()
        }
    columns = ["estimator", "cached", "target: under", "empty cache", "target: under", "scikit-learn's"]
    rows = [
        [name, f"{cached:.3f}", CACHED_TARGET, f"{empty:.2f}", EMPTY_TARGET, f"{theirs:.3f}"]
        for name, (cached, empty, theirs) in found.items()
    ]
    return f"## First fit in a process\n\n{ABOUT.format(repeat=repeat)}\n{table(columns, rows)}"


def medians(fit: str, repeat: int, filled: dict[str, str], empty: Callable[[], dict[str, str]]) -> list[float]:
    """Return the seconds beyond the imports: code cached, empty cache, scikit-learn's."""
    rounds = [
        [
            seconds(LOAD, filled),
            seconds(ours(fit), filled),
            seconds(ours(fit), empty()),
            seconds(f"{LOAD}; from sklearn.svm import *; {fit}", filled),
        ]
        for _ in range(repeat)
    ]
    base, *others = map(statistics.median, zip(*rounds, strict=True))
    print("first fit", fit, base, *others, file=sys.stderr, flush=True)
    return [value - base for value in others]


def ours(fit: str) -> str:
    return f"{LOAD}; from maxmargin import LinearSVC, SVC; {fit}"


def seconds(program: str, environment: dict[str, str]) -> float:
    own = {**os.environ, **environment}
    own.pop("PYTHONDONTWRITEBYTECODE", None)  # users have compiled bytecode
    began = time.perf_counter()
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, env=own)
    return time.perf_counter() - began

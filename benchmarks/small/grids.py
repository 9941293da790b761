"""GridSearchCV and cross_val_score, with one and with two processes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from cells import MODULES, OURS, SQUARED_HINGE, SVC, THEIRS, Kind
from datasets import load
from fits import geometric_mean
from joblib.externals.loky import get_reusable_executor
from report import table
from sklearn.model_selection import GridSearchCV, cross_val_score
from timing import Times, alternate, ratio, timed

SETS = ("iris", "breast cancer", "digits", "1000×20")
C = np.logspace(-3, 3, 7)
ABOUT = """\
Seconds, ours / scikit-learn's. GridSearchCV: 7 values of C from 1e-3 to 1e3 × 5 folds, and the last fit.
"2 processes" is `n_jobs=2` with warm workers; "first call" starts the workers too. "best score" is the mean accuracy of
the best C. "warned": searches with a ConvergenceWarning, of ours / scikit-learn's.
"""


def report(budget: float) -> str:
    columns = ["estimator", "data", "1 process", "ratio", "2 processes", "ratio", "first call", "best score", "warned"]
    rows, ratios = [], []
    for kind in (SQUARED_HINGE, SVC):
        for data in SETS:
            one, two, first = measured(lambda who, jobs, kind=kind, data=data: search(kind, data, who, jobs), budget)
            ratios += [ratio(one), ratio(two)]
            scores, warned = both(one, lambda times: f"{times.value:.4f}"), both(one, warned_in)
            shown = [in_seconds(one), f"{ratio(one):.2f}", in_seconds(two), f"{ratio(two):.2f}"]
            rows.append([str(kind), data, *shown, both(first, lambda times: f"{times.first:.2f}"), scores, warned])
            print("search", *rows[-1], file=sys.stderr, flush=True)
    mean = f"Geometric mean {geometric_mean(ratios):.2f} (target: at most 1.0), worst {max(ratios):.2f}.\n"
    return f"## GridSearchCV\n\n{ABOUT}\n{table(columns, rows)}\n{mean}\n{scores_report(budget)}"


def scores_report(budget: float) -> str:
    columns = ["estimator", "data", "1 process", "ratio", "2 processes", "ratio", "first call", "score"]
    rows = []
    for kind in (SQUARED_HINGE, SVC):
        for data in SETS:
            one, two, first = measured(lambda who, jobs, kind=kind, data=data: scored(kind, data, who, jobs), budget)
            shown = [in_seconds(one), f"{ratio(one):.2f}", in_seconds(two), f"{ratio(two):.2f}"]
            starts, scores = both(first, lambda times: f"{times.first:.2f}"), both(one, lambda t: f"{t.value:.4f}")
            rows.append([str(kind), data, *shown, starts, scores])
            print("scores", *rows[-1], file=sys.stderr, flush=True)
    return f"## cross_val_score\n\nSeconds of 5 folds, as above.\n\n{table(columns, rows)}"


def measured(call: Callable[[str, int], float], budget: float) -> tuple[dict[str, Times], ...]:
    """Return the times with one process, with two warm ones, and of the first call with two."""
    one = alternate({who: lambda who=who: call(who, 1) for who in MODULES}, budget)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = {who: Times(first=timed(lambda who=who: afresh(call, who), Times())) for who in MODULES}
    two = alternate({who: lambda who=who: quietly(call, who) for who in MODULES}, budget)
    return one, two, first


def afresh(call: Callable[[str, int], float], who: str) -> float:
    get_reusable_executor().shutdown(wait=True)
    return quietly(call, who)


def quietly(call: Callable[[str, int], float], who: str) -> float:
    """Call with two processes, whose warnings nobody counts: scikit-learn gives them the filters of this one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(who, 2)


def search(kind: Kind, data: str, who: str, jobs: int) -> float:
    X, y = load(data)
    return float(GridSearchCV(kind.make(who), {"C": C}, cv=5, n_jobs=jobs).fit(X, y).best_score_)


def scored(kind: Kind, data: str, who: str, jobs: int) -> float:
    X, y = load(data)
    return float(np.mean(cross_val_score(kind.make(who), X, y, cv=5, n_jobs=jobs)))


def both(times: dict[str, Times], show: Callable[[Times], Any]) -> str:
    return " / ".join(str(show(times[who])) for who in (OURS, THEIRS))


def in_seconds(times: dict[str, Times]) -> str:
    return both(times, lambda one: f"{one.median:.3f}")


def warned_in(times: Times) -> str:
    return f"{times.warned} of {len(times.all)}"

"""Single fits in milliseconds, beside how good the two models are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from cells import KINDS, MODULES, OURS, TARGET_KINDS, TARGET_SETS, THEIRS, Kind
from datasets import load
from objectives import objective, scale_of
from report import table
from timing import Times, alternate, ratio

ABOUT = """\
Milliseconds of a fit with the defaults of each package, ours / scikit-learn's: medians of fits that alternate, after a
first fit off the clock. "breast cancer" and "wine standardised" have mean 0 and variance 1; "digits" are divided by 16.
"""
ABOUT_CELLS = """\
"best" is the ratio of the shortest times. "relative gap" is our certificate. "their objective" is the primal objective
of scikit-learn's model minus that of ours, relative to ours (for OneClassSVM, whose optimum may be 0, to ½ν² n ΣK_ii):
positive means that ours is better. It is left out where the problems differ: without `intercept_scaling` our intercept
is not regularised. "warned": fits of scikit-learn with a ConvergenceWarning.
"""


class Cell(NamedTuple):
    """The times of both contenders on one data set."""

    kind: Kind
    data: str
    times: dict[str, Times]


def measure(budget: float) -> list[Cell]:
    found = []
    for kind in KINDS:
        for data in kind.sets if is_known(kind) else ():
            calls = {who: fitting(kind, who, data) for who in MODULES}
            found.append(Cell(kind, data, alternate(calls, budget)))
            print(kind, data, in_milliseconds(found[-1].times), file=sys.stderr, flush=True)
    return found


def fitting(kind: Kind, who: str, data: str) -> Callable[[], Any]:
    X, y = load(data)
    return lambda: kind.make(who).fit(X, y)


def is_known(kind: Kind) -> bool:
    """Whether our estimator has the parameters."""
    try:
        kind.make(OURS)
    except TypeError as error:
        print(f"left out: {kind}: {error}", file=sys.stderr)
        return False
    return True


def report(budget: float) -> str:
    cells = measure(budget)
    columns = ["data", "ours / theirs", "ratio", "best", "status", "relative gap", "their objective", "warned"]
    text = f"## Single fits\n\n{ABOUT}\n{target_table(cells)}\n{ABOUT_CELLS}"
    for kind in KINDS:
        own = [cell for cell in cells if cell.kind is kind]
        if own:
            mean = geometric_mean([ratio(cell.times) for cell in own])
            text += f"\n### {kind}\n\nGeometric mean {mean:.2f}.\n\n{table(columns, list(map(row, own)))}"
        else:
            text += f"\n### {kind}\n\nNot measured: our estimator does not have these parameters.\n"
    return text


def target_table(cells: list[Cell]) -> str:
    by_place = {(cell.data, str(cell.kind)): cell.times for cell in cells}
    rows = [[data, *(both(by_place[data, str(kind)]) for kind in TARGET_KINDS)] for data in TARGET_SETS]
    own = {place: ratio(by_place[place]) for place in by_place if is_target(place)}
    place, worst = max(own.items(), key=lambda item: item[1])
    above = sum(value > 1.5 for value in own.values())
    return (
        f"{table(['ms, ours / theirs (ratio)', *map(str, TARGET_KINDS)], rows)}\n"
        f"Geometric mean of the ratios {geometric_mean(list(own.values())):.2f} (target: at most 1.0); worst cell "
        f"{worst:.2f}, {place[1]} on {place[0]} (target: at most 1.5); above 1.5: {above} of {len(own)}.\n"
    )


def is_target(place: tuple[str, str]) -> bool:
    return place[0] in TARGET_SETS and place[1] in map(str, TARGET_KINDS)


def both(times: dict[str, Times]) -> str:
    return f"{in_milliseconds(times)} ({ratio(times):.2f})"


def row(cell: Cell) -> list[str]:
    ours, theirs = cell.times[OURS], cell.times[THEIRS]
    fitted = ours.value
    return [
        cell.data,
        in_milliseconds(cell.times),
        f"{ratio(cell.times):.2f}",
        f"{ours.best / theirs.best:.2f}",
        str(fitted.result_.status.value),
        f"{fitted.certificate_.relative_gap:.1e}",
        excess(cell) if cell.kind.is_same_problem else "",
        f"{theirs.warned} of {len(theirs.all)}" if theirs.warned else "",
    ]


def excess(cell: Cell) -> str:
    """Return how far the objective of scikit-learn's model is above ours."""
    X, y = load(cell.data)
    ours, theirs = (objective(cell.times[who].value, X, y) for who in (OURS, THEIRS))
    return f"{(theirs - ours) / scale_of(cell.times[OURS].value, X, ours):+.1e}"


def in_milliseconds(times: dict[str, Times]) -> str:
    return " / ".join(shown(1e3 * times[who].median) for who in (OURS, THEIRS))


def shown(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def geometric_mean(values: Any) -> float:
    return float(np.exp(np.mean(np.log(values))))

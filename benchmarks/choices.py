"""Whether auto chooses well: its time beside every other solver of maxmargin, and a path over C beside separate fits.

    python benchmarks/choices.py [--write FILE] [--names a,b] [--losses a,b] [--C 0.01,1,100] [--bias none,free]
                                 [--data FOLDER] [--only choices|paths]

Tolerance 1e-4. After a fit that compiles, the best of several fits with `auto`. Every other solver then gets as long as
`auto` took: one that is certified within that time is faster, and the table says by how much; one that is not is
slower. Data are of three groups: `rules` are those that the first rules were made on, `tuned` those that the estimates
of `costs.py` were fitted to, `held back` those that were only measured. Of several labels, every second one is the
positive class. The second table is `maxmargin.path` over nine C from 0.01 to 100 beside nine separate fits (hinge, data
that take less than five seconds a fit).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "linear"))

from datasets import FILES, GENERATED, found, load
from report import DATA, heading, publish, table

import maxmargin

RIVALS = (
    "dual_coordinate", "second_order", "interior_point", "newton", "lbfgs", "dual_pairs", "small_newton", "small_smo"
)  # fmt: skip
TUNED = (
    "zero_one", "mushrooms", "usps", "higgs_7000", "dna.scale", "madelon.all", "news20.multiclass", "rcv1_vw_1000"
)  # fmt: skip
HELD_BACK = ("splice", "german.numer_scale", "leukemia_allaml", "url_2000", "svmguide1")
CS = np.logspace(-2, 2, 9)
QUICK = 5.0
REPEATED_SECONDS = 1.0  # fits are repeated for so long, REPEATS at most
REPEATS = 7


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write")
    parser.add_argument("--names", default=",".join([*TUNED, *HELD_BACK, *FILES, *(set(GENERATED) - set(TUNED))]))
    parser.add_argument("--losses", default="hinge,squared_hinge,logistic")
    parser.add_argument("--C", default="0.01,1,100")
    parser.add_argument("--bias", default="none")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--only", choices=("choices", "paths"))
    options = parser.parse_args()
    names = [name for name in options.names.split(",") if name in GENERATED or found(name, options.data)]
    rows, ratios, paths = [], dict[str, list[float]](), []
    for name in names:
        X, y = load(name, options.data, Path(tempfile.gettempdir()) / "maxmargin-bench")
        cases = product(options.losses.split(","), options.bias.split(","), options.C.split(","))
        for loss, bias, C in cases if options.only != "paths" else ():
            cells, ratio = choice(X, y, {"loss": loss, "bias": bias, "C": float(C)})
            rows.append([name, group(name), loss, bias, C, *cells])
            ratios.setdefault(group(name), []).append(ratio)
            print(*rows[-1], file=sys.stderr, flush=True)
        if "hinge" in options.losses and options.only == "paths":
            paths.append([name, *path(X, y)])
            print(*paths[-1], file=sys.stderr, flush=True)
        if options.write:  # what is measured so far is kept if the run is interrupted
            Path(options.write).write_text(report(rows, ratios, paths))
    publish(report(rows, ratios, paths), options.write)


def report(rows: list[list[str]], ratios: dict[str, list[float]], paths: list[list[str]]) -> str:
    """Return the page."""
    text = heading("Choices", " ".join(["python benchmarks/choices.py", *sys.argv[1:]]), "scipy")
    text += f"\n{__doc__.split(chr(10) * 2)[2]}\n\n" + summary(ratios) + "\n"
    text += table(
        ["data", "group", "loss", "bias", "C", "auto takes", "seconds", "fastest other", "its seconds", "auto / best"],
        rows,
    )
    return text + ("\n" + table(["data", "nine fits, s", "path, s", "path / fits"], paths) if paths else "")


def group(name: str) -> str:
    """Return whether the choice was made on these data."""
    return "tuned" if name in TUNED else "held back" if name in HELD_BACK else "rules"


def summary(ratios: dict[str, list[float]]) -> str:
    """Return the table of the groups: problems, geometric mean and largest ratio, problems within 1.3 and within 2."""
    rows = [
        [name, str(len(found)), f"{np.exp(np.mean(np.log(found))):.2f}", f"{max(found):.2f}",
         str(sum(ratio <= 1.3 for ratio in found)), str(sum(ratio <= 2.0 for ratio in found))]
        for name, found in ratios.items()
    ]  # fmt: skip
    return table(["group", "problems", "geometric mean", "largest", "within 1.3", "within 2"], rows)


def choice(X, y, same: dict) -> tuple[list[str], float]:
    """What auto takes and its seconds; the fastest of the others, if it was faster."""
    took, seconds = best_of(X, y, "auto", same, np.inf)
    others = {name: best_of(X, y, name, same, seconds)[1] for name in RIVALS if name != took}
    fastest = min(others, key=others.get)
    if others[fastest] >= seconds:
        return [took, f"{seconds:.4f}", "none", "", "1.00"], 1.0
    seconds = min(seconds, best_of(X, y, "auto", same, np.inf)[1])  # the machine may have been busy
    ratio = max(seconds / others[fastest], 1.0)
    return [took, f"{seconds:.4f}", fastest, f"{others[fastest]:.4f}", f"{ratio:.2f}"], ratio


def best_of(X, y, solver: str, same: dict, limit: float) -> tuple[str, float]:
    """The solvers that ran, and the best of a few times; ∞ if it refuses, or is not certified within the limit."""
    compiled = few(y)
    seconds: list[float] = []
    took = solver
    try:
        maxmargin.train(X[compiled], y[compiled], solver=solver, max_epochs=20, **same)
        maxmargin.train(X, y, solver=solver, max_seconds=2.0 * limit if limit < np.inf else None, **same)
        while len(seconds) < REPEATS and sum(seconds) < REPEATED_SECONDS:
            began = time.perf_counter()
            result = maxmargin.train(X, y, solver=solver, max_seconds=limit if limit < np.inf else None, **same)
            seconds.append(time.perf_counter() - began)
            took = "+".join(result.parts[0].solvers or (result.solver,))
            if result.status is not maxmargin.Status.CONVERGED:
                return took, np.inf
    except maxmargin.RefusedError:
        return took, np.inf
    return took, min(seconds)


def few(y: np.ndarray) -> np.ndarray:
    """Some of either class, to compile with."""
    return np.concatenate([np.flatnonzero(y > 0)[:300], np.flatnonzero(y < 0)[:300]])


def path(X, y) -> list[str]:
    """Nine fits one by one, and as a path; the best of two each."""
    fits, paths = [], []
    for _ in range(2):
        began = time.perf_counter()
        for C in CS:
            maxmargin.train(X, y, C=C, bias="none")
            if time.perf_counter() - began > QUICK * len(CS):
                return ["too long", "", ""]
        fits.append(time.perf_counter() - began)
        began = time.perf_counter()
        maxmargin.path(X, y, Cs=CS, bias="none")
        paths.append(time.perf_counter() - began)
    return [f"{min(fits):.2f}", f"{min(paths):.2f}", f"{min(paths) / min(fits):.2f}"]


if __name__ == "__main__":
    main()

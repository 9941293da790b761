"""The same problem in another form has the same optimum: certified intervals [dual, primal] must overlap.

order         rows in another order
scale         X by s, C by 1/s²: the objective by 1/s² (a regularised bias by B·s)
duplicates    every row twice is weight 2
flip          labels exchanged
shift         columns moved, with a free bias or a Gaussian kernel
storage       dense = sparse = file = streamed file
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from fuzz.problems import KERNEL_SECONDS, MAX_SECONDS, KernelCase, LinearCase, kernel_case, linear_case
from fuzz.tally import Finding, Tally, place_of

EPOCHS = 50.0
STREAMED = ("cached_loops", "block_minimization", "selective_blocks")
Interval = tuple[float, float]


def linear_interval(case: LinearCase, X: Any = None, **settings: Any) -> Interval:
    """The certified interval of a linear problem; X may be a file, which brings its labels."""
    import maxmargin

    data = (case.given, case.y) if X is None else (X, None)
    c = maxmargin.train(
        *data, loss=case.loss, C=case.C, bias=case.bias, weights=case.weights,
        **({"bias_scale": case.bias_scale} if case.bias == "regularised" else {}),
        tol=case.tol, max_seconds=MAX_SECONDS, max_epochs=EPOCHS, threads=1, **settings,
    ).certificate  # fmt: skip
    return c.dual, c.primal


def kernel_interval(case: KernelCase) -> Interval:
    """The certified interval of a C-SVC."""
    import maxmargin

    c = maxmargin.train(
        case.given, case.y, C=case.C, bias=case.bias, weights=case.weights, tol=case.tol, max_seconds=KERNEL_SECONDS,
        threads=1, **case.kernel_parameters,
    ).certificate  # fmt: skip
    return c.dual, c.primal


def given(case: Any, X: np.ndarray, **changes: Any) -> Any:
    """The same problem on other rows."""
    return replace(case, X=X, given=X, **changes)


def permuted(case: Any, rng: np.random.Generator) -> Any:
    """Rows in another order."""
    order = rng.permutation(len(case.y))
    X = case.X[order]
    if getattr(case, "kernel", "") == "precomputed":
        X = X[:, order]
    return given(case, X, y=case.y[order], weights=None if case.weights is None else case.weights[order])


def shifted(case: Any, rng: np.random.Generator) -> Any | None:
    """Columns moved by whole numbers, if that changes no digit."""
    offsets = rng.choice([1.0, -64.0, 1e3, 2.0**20], size=case.X.shape[1])
    X = case.X + offsets
    return given(case, X) if np.array_equal(X - offsets, case.X) else None


def linear_forms(case: LinearCase, rng: np.random.Generator) -> Iterator[tuple[str, LinearCase, float]]:
    """Other forms of a linear problem, and what the objective is multiplied by."""
    yield "order", permuted(case, rng), 1.0
    yield "flip", replace(case, y=-case.y), 1.0
    s = float(rng.choice([0.25, 2.0, 8.0]))
    same = case.kind == "unregularised_logistic"
    scaled = given(case, s * case.X, C=case.C / s**2, bias_scale=case.bias_scale * s)
    yield "scale", scaled, 1.0 if same else 1.0 / s**2
    if case.effective_bias == "free" and (moved := shifted(case, rng)) is not None:
        yield "shift", moved, 1.0
    yield "dense", given(case, case.X), 1.0
    yield "sparse", replace(case, given=sparse.csr_array(case.X)), 1.0


def kernel_forms(case: KernelCase, rng: np.random.Generator) -> Iterator[tuple[str, KernelCase, float]]:
    """Other forms of a C-SVC."""
    yield "order", permuted(case, rng), 1.0
    yield "flip", replace(case, y=-case.y), 1.0
    if case.kernel == "gaussian" and (moved := shifted(case, rng)) is not None:
        yield "shift", moved, 1.0
    if case.kernel != "precomputed":
        yield "sparse", replace(case, given=sparse.csr_array(case.X)), 1.0


@dataclass
class InvarianceRunner:
    """One problem in all its forms."""

    name: str = "invariances"
    limit_seconds: float = 120.0

    def prepare(self) -> None:
        """Compile."""
        for seed in range(16):
            self.run(-seed, Tally())

    def run(self, seed: int, tally: Tally) -> bool:
        """Compare the problem with its other forms."""
        self.tally, self.seed = tally, f"{self.name}:{seed}"
        rng = np.random.default_rng([abs(seed), 5])
        if seed % 4:
            self.compare_linear(linear_case(abs(seed)), rng)
        else:
            case = replace(kernel_case(abs(seed)), formulation="C-SVC")
            case = replace(case, y=np.where(case.y > np.median(case.y), 1.0, -1.0), weights=None)
            if len(np.unique(case.y)) == 2:
                self.compare(case, kernel_interval, list(kernel_forms(case, rng)))
        return True

    def compare_linear(self, case: LinearCase, rng: np.random.Generator) -> None:
        """All forms of a linear problem."""
        self.compare(case, linear_interval, list(linear_forms(case, rng)))
        twice = given(
            case, np.repeat(case.X, 2, axis=0), y=np.repeat(case.y, 2),
            weights=None if case.weights is None else np.repeat(case.weights, 2),
        )  # fmt: skip
        weights = np.ones(len(case.y)) if case.weights is None else case.weights
        self.compare(replace(case, weights=2.0 * weights), linear_interval, [("duplicates", twice, 1.0)])
        if case.weights is None and np.inf > case.C and rng.random() < 0.3:
            self.compare_files(case, rng)

    def compare_files(self, case: LinearCase, rng: np.random.Generator) -> None:
        """The same rows from a file, read at once and streamed."""
        import maxmargin

        folder = Path(tempfile.mkdtemp(prefix="maxmargin-invariances-"))
        path = folder / "data.svm"
        maxmargin.write(path, case.X, case.y)
        own = self.interval("memory", lambda: linear_interval(case))
        streamed = {"solver": str(rng.choice(STREAMED)), "memory": "8MB"}
        for form, settings in (("file", {}), (f"streamed by {streamed['solver']}", streamed)):
            self.overlap(form, case, own, self.interval(form, lambda s=settings: linear_interval(case, path, **s)), 1.0)
        shutil.rmtree(folder)

    def compare(self, case: Any, interval: Any, forms: list[tuple[str, Any, float]]) -> None:
        """The problem and its other forms."""
        own = self.interval("itself", lambda: interval(case))
        for form, other, factor in forms:
            self.overlap(form, case, own, self.interval(form, lambda other=other: interval(other)), factor)

    def interval(self, form: str, fit: Any) -> Interval | None:
        """What is certified; None of what is refused."""
        from maxmargin import MaxmarginError

        try:
            found: Interval = fit()
            return found
        except MaxmarginError:
            self.tally.count("refused")
        except Exception as error:
            self.tally.report(Finding(place_of(error), self.seed, f"{form}: {str(error)[:200]}", 1.0))
        return None

    def overlap(self, form: str, case: Any, own: Interval | None, other: Interval | None, factor: float) -> None:
        """Two intervals, the second of an objective that is `factor` times the first."""
        if own is None or other is None:
            return
        self.tally.count("comparisons")
        dual, primal = factor * own[0], factor * own[1]
        distance = max(dual - other[1], other[0] - primal)
        if distance > 0:
            size = distance / max(abs(primal), abs(other[1]), 1e-300)
            text = f"{form}: [{dual:.17g}, {primal:.17g}] and [{other[0]:.17g}, {other[1]:.17g}] [{case}]"
            self.tally.report(Finding(f"no overlap: {form.split(maxsplit=1)[0]}", self.seed, text, size))

    def save(self, seed: int, reason: str) -> str:
        """The seed says it all."""
        return ""

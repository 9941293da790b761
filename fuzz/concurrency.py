"""Training beside other trainings gives the same bits as training alone: on threads, after a fork, under joblib."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuzz.tally import Finding, Tally, place_of

THREADS = 8
SETTINGS: tuple[dict[str, Any], ...] = (
    {"loss": "hinge"},
    {"loss": "hinge", "solver": "dual_coordinate", "bias": "regularised"},
    {"loss": "squared_hinge"},
    {"loss": "logistic"},
    {"solver": "second_order"},
    {"solver": "sgd"},
    {"kernel": "gaussian"},
    {"kernel": "polynomial", "coef0": 1.0},
)


def trained(seed: int, number: int, threads: int = 1) -> str:
    """A digest of all that a training returns."""
    import maxmargin

    rng = np.random.default_rng([seed, number, 6])
    X = rng.normal(size=(120, 6))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=120) > 0, 1, -1)
    result = maxmargin.train(X, y, C=3.0, max_epochs=30, threads=threads, seed=seed, **SETTINGS[number % len(SETTINGS)])
    model: Any = result.model
    numbers = [result.alpha, model.b, model.dual_coef, [result.certificate.primal, result.certificate.dual]]
    digest = hashlib.blake2b(digest_size=12)
    for array in numbers:
        digest.update(np.ascontiguousarray(array, dtype=np.float64).tobytes())
    return digest.hexdigest()


def on_threads(seed: int) -> list[str]:
    """All at once, on eight threads."""
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(lambda number: trained(seed, number), range(THREADS)))


def after_fork(seed: int) -> list[str]:
    """In a process that was forked from one that has trained."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, " ".join(trained(seed, number) for number in range(THREADS)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        found = stream.read().split()
    os.waitpid(child, 0)
    return found


def under_joblib(seed: int) -> list[str]:
    """In two processes of joblib."""
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor

    found = list(Parallel(n_jobs=2)(delayed(trained)(seed, number) for number in range(THREADS)))
    get_reusable_executor().shutdown(wait=True)  # a worker leaves without a farewell
    return found


def many_threads(seed: int) -> list[str]:
    """One after the other, each asking for two threads."""
    return [trained(seed, number, threads=2) for number in range(THREADS)]


WAYS = {"threads": on_threads, "fork": after_fork, "joblib": under_joblib, "two threads each": many_threads}


@dataclass
class ConcurrencyRunner:
    """Eight trainings in every way."""

    name: str = "concurrency"
    limit_seconds: float = 300.0

    def prepare(self) -> None:
        """Compile."""
        for number in range(THREADS):
            trained(0, number)

    def run(self, seed: int, tally: Tally) -> bool:
        """Compare with training alone."""
        alone = [trained(seed, number) for number in range(THREADS)]
        for way, train in WAYS.items():
            try:
                found = train(seed)
            except Exception as error:
                tally.report(Finding(f"{way}: {place_of(error)}", f"{self.name}:{seed}", str(error)[:200], 1.0))
                continue
            tally.count("trainings beside others", len(found))
            differ = [str(SETTINGS[k]) for k in range(THREADS) if k >= len(found) or found[k] != alone[k]]
            if differ:
                tally.report(Finding(f"other bits: {way}", f"{self.name}:{seed}", "; ".join(differ), 1.0))
        return True

    def save(self, seed: int, reason: str) -> str:
        """The seed says it all."""
        return ""

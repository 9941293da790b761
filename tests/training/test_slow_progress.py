"""Dual steps from files that are too slow: another method goes on, or the run ends early."""

import numpy as np

import maxmargin
from maxmargin.loop.record import Reading, Record
from maxmargin.problems.certificate import Certificate
from maxmargin.status import Status
from maxmargin.training import slow_progress
from maxmargin.training.slow_progress import LEAST_PASSES, ProgressWatch


def raw(n=400, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.array([1.0, 30.0, 1000.0, 0.1, 5.0, 200.0])[:d] + 2.0
    score = X @ (rng.normal(size=d) / X.std(axis=0)) + rng.normal(size=n)
    return X, np.where(score > np.median(score), 1, -1)


def test_each_problem_is_judged_by_its_own_passes():
    watch = ProgressWatch(1e-4)
    for problem, gap_at in (("1", lambda k: 0.1 * 0.3**k), ("2", lambda k: 0.1 * 0.999**k)):
        for k in range(LEAST_PASSES):
            found = Certificate(1.0, 1.0 - gap_at(k))
            asked = watch(record_of(problem, found, passes=k + 1))
        assert bool(asked) == watch.slow == (problem == "2")


def record_of(problem, found, passes):
    reading = Reading(**{**dict.fromkeys(Reading.__dataclass_fields__, 0), "passes": passes})
    return Record(problem, float(passes), 0.0, found, found, reading=reading)


def test_hopeless_dual_steps_end_early_as_stalled(tmp_path, monkeypatch):
    monkeypatch.setattr(slow_progress, "LEAST_EPOCHS", 100.0)
    monkeypatch.setattr(slow_progress, "HOPELESS", 2.0)
    maxmargin.write(tmp_path / "rows.svm", *raw())
    result = maxmargin.train(
        tmp_path / "rows.svm", solver="cached_loops", memory="8MB", threads=1, max_epochs=200_000,
        options={"go_on": False},
    )  # fmt: skip
    assert result.status is Status.STALLED
    assert "use another solver" in result.advice
    assert result.epochs < 100_000


def test_a_limit_too_small_for_newton_steps_is_named(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 450)) * 10.0 ** rng.uniform(0, 4, 450)
    maxmargin.write(tmp_path / "rows.svm", X, np.where(rng.normal(size=600) > 0, 1, -1))
    result = maxmargin.train(tmp_path / "rows.svm", memory="5MB", threads=1, max_epochs=30)
    assert result.status is Status.EPOCH_LIMIT
    assert "memory limit of 8.2MB or more" in result.advice


def test_many_epochs_in_few_passes_with_a_large_gap_are_too_slow():
    watch = ProgressWatch(tol=1e-4)
    gaps = iter([1.0, 0.999, 0.998, 0.997])
    for number in range(1, 5):
        gap = next(gaps)
        certificate = Certificate(1.0, 1.0 - gap)
        watch(Record("a", 50.0 * number, 1.0, certificate, certificate, reading=Reading(0, 1, number, 0.0, 0, 0.0)))
    assert watch.slow

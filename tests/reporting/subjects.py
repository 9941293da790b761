"""One model of each kind with its report, for tests of the page."""

import numpy as np
import pandas as pd

import maxmargin
from maxmargin.tuning.table import Candidate
from maxmargin.tuning.tuning import Tuning

NASTY = "<script>window.hacked=1</script>\"'&</td>"
KINDS = (
    "binary",
    "multiclass",
    "regression",
    "novelty",
    "kernel",
    "nasty",
    "training only",
    "tuned",
    "race",
    "calibrated classes",
    "kernel of classes",
    "many classes",
)

# What each report must draw.
DRAWN = {
    "binary": {"confusion", "decision-values", "margins", "roc", "precision-recall", "calibration", "weights",
               "boundary", "objective-seconds", "gap-seconds", "objective-epochs", "gap-epochs"},
    "multiclass": {"confusion", "margins", "roc", "weights", "boundary", "objective-seconds", "gap-epochs"},
    "regression": {"predictions", "residuals", "residuals-over-predictions", "weights"},
    "novelty": {"values", "weights", "boundary"},
    "kernel": {"confusion", "roc", "calibration", "weights", "boundary"},
    "calibrated classes": {"roc", "calibration", "class-calibration", "weights", "boundary"},
    "kernel of classes": {"confusion", "margins", "roc", "calibration", "class-calibration", "boundary"},
    "many classes": {"confusion", "margins", "calibration", "class-calibration"},
    "nasty": {"confusion", "weights", "boundary"},
    "training only": {"weights", "objective-seconds", "gap-seconds"},
    "tuned": {"tuning"},
    "race": {"above-seconds", "gap-seconds", "error-seconds", "above-epochs"},
}  # fmt: skip


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(40, 10, n).round(), "income": rng.lognormal(8, 1, n).round(),
                          "town": rng.choice(["Bern", "Basel", "Chur"], n)})  # fmt: skip
    frame.loc[::17, "income"] = np.nan
    score = (frame.age - 40) / 10 + (frame.town == "Chur") + rng.normal(size=n)
    frame["pays"] = np.where(score > 0, "yes", "no")
    return frame


def tuning():
    """Return a search that has its best score inside the values of C, and at the end of those of γ."""
    found = [
        Candidate(C, gamma, [mean - 0.05 * j, mean, mean + 0.02], 1e-5, 0.1)
        for C, mean in [(0.1, 0.7), (1.0, 0.9), (10.0, 0.8)]
        for j, gamma in enumerate([0.1, 1.0])
    ]
    dropped = [Candidate(100.0, gamma, [None] * 3, dropped="at most 0.7, less than C=1") for gamma in (0.1, 1.0)]
    return Tuning([*found, *dropped], "accuracy", "one_standard_error", 3, "stratified", seconds=3.2)


def binary(frame):
    result = maxmargin.train(frame, label="pays", solver="dual_coordinate", tol=1e-6)
    return maxmargin.report(result, table(seed=5))


def training_only(frame):
    return maxmargin.report(maxmargin.train(frame, label="pays", solver="dual_coordinate", tol=1e-6))


def tuned(frame):
    result = maxmargin.train(frame, label="pays")
    result.model.training["tuning"] = tuning().saved()
    return maxmargin.report(result)


def multiclass(frame):
    result = maxmargin.train(frame.drop(columns="pays"), label="town", solver="dual_coordinate", tol=1e-8)
    return maxmargin.report(result, frame)


def regression(frame):
    frame["pays"] = frame.age * 3 + np.random.default_rng(1).normal(size=len(frame))
    return maxmargin.report(maxmargin.train(frame, label="pays", task="regress"), frame)


def race(frame):
    X, y = frame[["age"]].to_numpy() / 10, frame.pays.to_numpy()
    solvers = ["dual_coordinate", "newton", ("pegasos", {"batch": 8})]
    return maxmargin.report(maxmargin.race(X, y, solvers=solvers, max_epochs=20, max_seconds=None))


def nasty(frame):
    frame["town"] = frame.town + NASTY
    frame = frame.rename(columns={"age": NASTY, "town": f"town {NASTY}"})
    frame["pays"] = frame.pays + NASTY
    result = maxmargin.train(frame, label="pays")
    result.model.training["command"] = NASTY
    return maxmargin.report(result, frame, projection=(NASTY, "income"))


def novelty(frame):
    X = np.random.default_rng(1).normal(size=(300, 2))
    return maxmargin.report(maxmargin.train(X, task="novelty", kernel="gaussian", nu=0.1), X)


def kernel(frame):
    X = np.random.default_rng(1).normal(size=(300, 2))
    y = np.hypot(*X.T) > 1.0
    return maxmargin.report(maxmargin.train(X, y, kernel="gaussian", probability=True), X, y)


def rings(count, n=400):
    """Return points on a plane whose class is their distance from 0, some of them wrong."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 2))
    radius = np.hypot(*X.T) + 0.1 * rng.normal(size=n)
    return X, np.array([f"ring {k}" for k in range(count)])[np.argsort(np.argsort(radius)) * count // n]


def calibrated_classes(frame):
    frame["town"] = np.where(frame.pays == "yes", "Chur", frame.town)
    return maxmargin.report(maxmargin.train(frame, label="town", probability=True), frame)


def kernel_of_classes(frame):
    X, y = rings(3)
    return maxmargin.report(maxmargin.train(X, y, kernel="gaussian", probability=True), X, y)


def many_classes(frame):
    X, y = rings(10)
    return maxmargin.report(maxmargin.train(X, y, kernel="gaussian", probability=True, C=100.0), X, y)


def report_of(kind):
    return globals()[kind.replace(" ", "_")](table())

"""Every door leads through `train`: shells hold no mathematics and know no solver."""

import ast
from pathlib import Path

import numpy as np
import pytest

import maxmargin
from maxmargin import estimators
from maxmargin.estimators import base

SOURCE = Path(maxmargin.__file__).parent
SHELLS = ("cli", "estimators")
INSIDE = ("maxmargin.solvers", "maxmargin.problems", "maxmargin.loop.solve", "maxmargin.multiclass")
X = np.random.default_rng(0).normal(size=(30, 3))
y = np.where(X[:, 0] > 0, 1, -1)


def imported(path):
    """The modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


@pytest.mark.parametrize("path", [p for shell in SHELLS for p in sorted((SOURCE / shell).glob("*.py"))], ids=str)
def test_no_shell_imports_a_solver_or_a_problem(path):
    assert [name for name in imported(path) if name.startswith(INSIDE)] == []


def test_that_check_can_fail():
    assert any(name.startswith(INSIDE) for name in imported(SOURCE / "training" / "linear.py"))


@pytest.mark.parametrize(
    "estimator",
    [maxmargin.LinearSVC, maxmargin.SVC, maxmargin.NuSVC, maxmargin.SVR, maxmargin.NuSVR, maxmargin.OneClassSVM],
)
def test_every_estimator_fits_by_one_call_of_train(estimator, monkeypatch):
    calls = []
    monkeypatch.setattr(base, "train", lambda *given, **named: calls.append(named) or maxmargin.train(*given, **named))
    estimator(tol=1e-2).fit(X, y)
    assert [call["task"] for call in calls] == [estimator.task]


def test_every_estimator_is_tried():
    found = {path.stem for path in Path(estimators.__file__).parent.glob("*.py")}
    shared = {
        "__init__",
        "base",
        "callbacks",
        "exchange",
        "function",
        "kernel",
        "names",
        "polynomial_map",
        "validation",
    }
    assert found - shared == {"linear_svc", "one_class_svm", "svc", "svr", "tuned"}

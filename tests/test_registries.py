"""What is registered takes part everywhere: no list of names is forgotten, and nothing is asked for by its name."""

import re

import numpy as np
import pytest
from problems import EVERY_BIAS, overlapping, posed

import maxmargin
from maxmargin.choose import choose
from maxmargin.data.files import WAYS as WAYS_TO_READ
from maxmargin.kernels.approximation import NAMES as APPROXIMATIONS
from maxmargin.kernels.functions import KERNELS, Gaussian
from maxmargin.kernels.landmarks import WAYS as LANDMARKS
from maxmargin.problems.losses import LOSSES
from maxmargin.settings.checks import TASKS
from maxmargin.settings.parameters import PARAMETERS
from maxmargin.solvers import SOLVERS, refusal


def own(table):
    """The names of a table that the package has registered itself; other tests register more."""
    return [name for name, item in table.items() if item.__module__.startswith("maxmargin.")]


@pytest.mark.parametrize(
    ("parameter", "names"),
    [
        ("task", TASKS),
        ("loss", own(LOSSES)),
        ("bias", EVERY_BIAS),
        ("kernel", own(KERNELS)),
        ("approx", APPROXIMATIONS),
        ("landmarks", LANDMARKS),
        ("on_bad_line", WAYS_TO_READ),
    ],
)
def test_the_help_of_an_option_names_every_value(parameter, names):
    missing = set(names) - set(re.findall(r"\w+", PARAMETERS[parameter].help))
    assert not missing, f"add {missing} to the help of {parameter} in src/maxmargin/settings/parameters.py"


@pytest.fixture(params=sorted(own(LOSSES)))
def twins(request, monkeypatch):
    """The name of a loss, and that of a copy of it."""
    copied = type("Copied", (type(LOSSES[request.param]),), {"name": "copied"})()
    monkeypatch.setitem(LOSSES, "copied", copied)
    return request.param, "copied"


def test_a_copy_of_a_loss_under_another_name_is_trained_in_the_same_way(twins):
    for seed, (bias, C) in enumerate((bias, C) for bias in EVERY_BIAS for C in (1e-3, 1.0, 1e3, np.inf)):
        rng = np.random.default_rng(seed)
        X, y = overlapping(n=int(rng.integers(20, 400)), d=int(rng.integers(1, 40)), seed=seed)
        original, copy = (posed(X, y, loss=name, bias=bias, C=C) for name in twins)
        for solver in SOLVERS.values():
            of_any = original.loss.smooth or len(solver.takes.losses) > 1  # some are made for hinge
            if of_any and not solver.takes.only_named:
                assert (refusal(solver, original) is None) == (refusal(solver, copy) is None)
        assert refusal(SOLVERS[choose(copy)[0]], copy) is None
        if original.loss.smooth:
            assert choose(original, small=False) == choose(copy, small=False)


@pytest.mark.parametrize("solver", ["dual_coordinate", "dual_pairs", "newton", "second_order", "sgd"])
def test_a_copy_of_a_loss_under_another_name_gives_the_same_bits(solver, twins):
    X, y = overlapping(n=80, seed=1)
    if solver == "newton" and not LOSSES[twins[0]].smooth:
        return
    original, copy = (maxmargin.train(X, y, loss=name, solver=solver, max_epochs=50) for name in twins)
    assert np.array_equal(original.model.w, copy.model.w)
    assert original.certificate == copy.certificate
    assert hasattr(maxmargin.LinearSVC(loss=twins[0]), "predict_proba") is LOSSES[twins[0]].probabilities
    assert hasattr(maxmargin.LinearSVC(loss=twins[1]), "predict_proba") is LOSSES[twins[0]].probabilities


def test_a_copy_of_a_loss_under_another_name_is_certified_from_files(twins, tmp_path):
    maxmargin.write(tmp_path / "rows", *overlapping(n=300, d=6))
    given = {"solver": "cached_loops", "memory": "8MB", "tol": 1e-3, "threads": 1}
    original, copy = (maxmargin.train(tmp_path / "rows", loss=name, **given).certificate for name in twins)
    assert original == copy


def test_a_kernel_from_outside_has_its_parameters_in_an_estimator(monkeypatch):
    monkeypatch.setitem(KERNELS, "copied", type("Copied", (Gaussian,), {"name": "copied"}))
    X, y = overlapping(n=60)
    copy, original = (maxmargin.SVC(kernel=kernel, gamma=0.3).fit(X, y) for kernel in ("copied", "gaussian"))
    assert copy.result_.model.kernel.gamma == 0.3
    assert copy.certificate_.primal == pytest.approx(original.certificate_.primal, rel=1e-3)

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from maxmargin.best_bias import best_bias
from maxmargin.losses import LOSSES


def objective(b, f, y, C, loss):
    return float(np.sum(C * loss.value(y * (f + b))))


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30), spread=st.sampled_from([1e-3, 1.0, 1e3]))
def test_no_other_bias_is_better(loss, seed, n, spread):
    rng = np.random.default_rng(seed)
    f, C = spread * rng.normal(size=n), rng.random(n) + 0.01
    y = rng.choice([-1.0, 1.0], size=n)
    y[:2] = -1.0, 1.0
    found = objective(best_bias(f, y, C, loss), f, y, C, loss)
    others = np.concatenate([y - f, np.linspace(np.min(y - f), np.max(y - f), 200)])
    assert found <= min(objective(b, f, y, C, loss) for b in others) * (1 + 1e-12) + 1e-12
    search = minimize_scalar(objective, bracket=(-1.0, 1.0), args=(f, y, C, loss), tol=1e-12)
    assert found <= search.fun * (1 + 1e-9) + 1e-12


def test_hinge_bias_is_the_weighted_quantile_of_the_kinks():
    f = np.zeros(5)
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    assert best_bias(f, y, np.ones(5), LOSSES["hinge"]) == 1.0
    assert best_bias(f, y, np.array([1.0, 1.0, 1.0, 9.0, 9.0]), LOSSES["hinge"]) == -1.0


def test_logistic_bias_without_scores_is_the_log_odds_of_the_classes():
    y = np.array([1.0] * 3 + [-1.0] * 12)
    b = best_bias(np.zeros(15), y, np.ones(15), LOSSES["logistic"])
    assert b == pytest.approx(np.log(3 / 12), abs=1e-14)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("offset", [1e17, -1e18, 1e300])
def test_scores_beyond_the_whole_numbers_of_float64_end_too(loss, offset):
    f = offset + np.zeros(4)
    b = best_bias(f, np.array([1.0, -1.0, 1.0, -1.0]), np.ones(4), loss)
    assert b == pytest.approx(-offset, rel=1e-9)

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import SMOOTH_LOSSES
from scipy.optimize import minimize_scalar

from maxmargin.problems.best_bias import LONG, best_bias, best_constant
from maxmargin.problems.losses import LOSSES


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


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("guess", [0.0, 3.0, -1e6])
def test_a_guess_changes_nothing_but_the_way(loss, guess):
    rng = np.random.default_rng(1)
    f, C, y = 3.0 * rng.normal(size=500), rng.random(500) + 0.01, rng.choice([-1.0, 1.0], size=500)
    assert best_bias(f, y, C, loss, guess) == pytest.approx(best_bias(f, y, C, loss), abs=1e-12)


@pytest.mark.parametrize("weights", ["even", "uneven", "sorted", "one heavy"])
@pytest.mark.parametrize("positive", [0.001, 0.5, 0.97])
def test_the_quantile_of_many_kinks_is_that_of_all_of_them_sorted(weights, positive):
    rng = np.random.default_rng(2)
    n = 2 * LONG
    f, y = rng.normal(size=n), np.where(rng.random(n) < positive, 1.0, -1.0)
    C = {"even": np.ones(n), "uneven": rng.random(n) ** 8 + 1e-6, "sorted": np.linspace(1e-6, 1.0, n)}.get(weights)
    if C is None:
        C = np.where(np.arange(n) == n // 3, n, 1.0)
    kinks, order = y - f, np.argsort(y - f)
    place = np.searchsorted(np.cumsum(C[order]), np.sum(C[y > 0]) * (1 - 1e-12))
    assert best_bias(f, y, C, LOSSES["hinge"]) == kinks[order[place]]


def test_where_every_score_is_zero_only_the_weights_of_the_classes_count():
    y, C = np.array([1.0, 1.0, -1.0]), np.array([1.0, 2.0, 4.0])
    for loss in LOSSES.values():
        assert best_constant(y, C, loss) == pytest.approx(best_bias(np.zeros(3), y, C, loss), abs=1e-12)


@pytest.mark.parametrize("loss", SMOOTH_LOSSES)
def test_threads_share_the_sum_and_change_no_bit_of_it(loss, monkeypatch):
    rng = np.random.default_rng(3)
    f, C, y = 3.0 * rng.normal(size=1000), rng.random(1000) + 0.01, rng.choice([-1.0, 1.0], size=1000)
    whole = best_bias(f, y, C, LOSSES[loss])
    monkeypatch.setattr("maxmargin.problems.best_bias.CHUNK", 64)
    parts = [best_bias(f, y, C, LOSSES[loss], threads=threads) for threads in (1, 2, 3)]
    assert parts[0] == parts[1] == parts[2] == pytest.approx(whole, rel=1e-12)

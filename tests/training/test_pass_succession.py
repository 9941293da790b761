"""Which solver by passes goes on where another one is slow."""

from types import SimpleNamespace

import numpy as np
import pytest

import maxmargin
from maxmargin.problems.losses import find_loss
from maxmargin.status import Status
from maxmargin.training import pass_costs, pass_succession
from maxmargin.training.pass_costs import Place, Sizes, cost_of
from maxmargin.training.pass_succession import BY_MATRIX, PassSuccession


@pytest.mark.parametrize(("n", "d", "name"), [(2600, 500, "interior_point"), (100_000, 20, "second_order")])
def test_few_rows_for_each_feature_make_interior_point_cheaper(n, d, name):
    sizes, disk = Sizes(n, d, d, 1e5 * d), Place(1000.0, 2, 2)
    assert min(BY_MATRIX[False], key=lambda one: cost_of(one, sizes, disk, 1.0, find_loss("hinge")).total) == name


def test_a_crawling_second_order_is_followed_and_a_hopeless_run_ends():
    hinge, rule = SimpleNamespace(loss=find_loss("hinge"), n=500, d=10), PassSuccession()
    assert rule.follower(hinge, ("second_order",)).name == "interior_point"
    assert rule.follower(hinge, ("interior_point",)).name == "second_order"
    assert rule.follower(hinge, ("second_order", "interior_point")) is None
    assert rule.follower(SimpleNamespace(loss=find_loss("logistic"), d=10), ("newton",)) is None
    assert rule.too_slow(hinge, ("second_order",), 60.0, np.inf, 1e-2)
    many_rows = SimpleNamespace(loss=find_loss("hinge"), n=50_000, d=10)
    assert not rule.too_slow(many_rows, ("second_order",), 400.0, np.inf, 1e-2)
    assert not rule.too_slow(hinge, ("second_order",), 60.0, 20.0, 1e-3)
    assert not rule.too_slow(hinge, ("second_order",), 10.0, np.inf, 1e-2)
    assert not rule.too_slow(hinge, ("second_order", "interior_point"), 100.0, np.inf, 1e-3)
    assert rule.too_slow(hinge, ("second_order", "interior_point"), 400.0, np.inf, 1e-3)


def test_second_order_that_auto_began_goes_on_as_interior_point(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 40)) * 10.0 ** rng.uniform(-1, 3, 40)
    maxmargin.write(tmp_path / "rows.svm", X, np.where(rng.normal(size=4000) + X[:, 0] / X[:, 0].std() > 0, 1, -1))
    monkeypatch.setattr(pass_costs, "ROUND_PASSES", (1.0, 0.0, 0.0))
    monkeypatch.setattr(pass_succession, "PASS_OF_INTERIOR_POINT", 0.0)
    given = {"memory": "6MB", "threads": 1, "tol": 1e-7}
    result = maxmargin.train(tmp_path / "rows.svm", checkpoint=tmp_path / "kept", **given)
    assert result.status is Status.CONVERGED
    assert result.parts[0].solvers == ("second_order", "interior_point")
    assert "went on with interior_point" in result.why
    again = maxmargin.train(tmp_path / "rows.svm", checkpoint=tmp_path / "kept", resume=True, **given)
    assert np.array_equal(again.model.w, result.model.w)

"""Certificates of streamed problems, of rows whose scores float64 can hardly add up, against exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from definitions import DEFINITIONS
from exact import fractions

from maxmargin.data.take import take
from maxmargin.errors import RefusedError
from maxmargin.problems.losses import LOSSES, Hinge, find_loss
from maxmargin.problems.streamed import Streamed, StreamedCertificate


class SteepHinge(Hinge):
    """1000 max(0, 1 − m)."""

    name = "steep_hinge"

    def value(self, m):
        return 1000.0 * super().value(m)

    def upper(self, C):
        return 1000.0 * super().upper(C)


def cancelling(seed, n=20):
    """Rows whose two large parts leave a score of about 0.9."""
    rng = np.random.default_rng(seed)
    large = 1e8 * rng.uniform(1.0, 2.0, n)
    return np.column_stack([large, 0.3 * rng.uniform(1.0, 2.0, n) - large * (1.0 + 1e-9 * rng.normal(size=n))])


def primal_of(rows, w, C, loss):
    problem = Streamed(None, C, loss, "none")
    certificate = StreamedCertificate(problem, w, 0.0, 1.0, np.zeros(len(w)))
    certificate.add(take(rows), np.ones(len(rows)), np.zeros(len(rows)), 0)
    return certificate.certificate()


def exact_primal(rows, w, C, loss, times=1):
    scores = [sum(a * b for a, b in zip(fractions(x), fractions(w), strict=True)) for x in rows]
    norm = sum((a * a for a in fractions(w)), Fraction(0)) / 2
    return norm + Fraction(C) * times * sum(DEFINITIONS[loss].exact_value(m) for m in scores)


@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("C", [1e-12, 1e-6, 1.0, 1e6])
def test_the_primal_is_never_below_the_exact_one(loss, C):
    w = np.array([0.7, 0.7]) * min(1.0, np.sqrt(C))  # a norm that leaves the losses their digits
    for seed in range(20):
        rows = cancelling(seed) / min(1.0, np.sqrt(C))
        assert exact_primal(rows, w, C, loss) <= Fraction(primal_of(rows, w, C, find_loss(loss)).primal)


def test_a_steeper_loss_has_a_larger_bound():
    rows, w = cancelling(0), np.array([0.7, 0.7])
    steep, hinge = primal_of(rows, w, 1.0, SteepHinge()), primal_of(rows, w, 1000.0, Hinge())
    assert steep.primal_rounding == pytest.approx(hinge.primal_rounding)
    for seed in range(20):
        rows = cancelling(seed)
        assert exact_primal(rows, w, 1.0, "hinge", 1000) <= Fraction(primal_of(rows, w, 1.0, SteepHinge()).primal)


def test_a_loss_without_any_bound_is_not_streamed(tmp_path, monkeypatch):
    import maxmargin

    class Boundless(type(find_loss("squared_hinge"))):
        name = "boundless"
        largest_curvature = np.inf

    monkeypatch.setitem(LOSSES, "boundless", Boundless())
    maxmargin.write(tmp_path / "rows.svm", np.eye(4), [1, -1, 1, -1])
    with pytest.raises(RefusedError, match=r"boundless.*a bound on its slope or its curvature"):
        maxmargin.train(tmp_path / "rows.svm", solver="cached_loops", loss="boundless")

"""Real data sets, where they are at hand: certified, and as good as LIBLINEAR's own answer."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import maxmargin
from maxmargin.problems.losses import LOSSES

DATA = Path(__file__).parents[2] / "shared" / "data"
NAMES = ["heart_scale", "a9a", "w8a", "ijcnn1", "reuters_money-fx", "url_2000"]

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"needs data sets beside the repository, in {DATA.name}")


@pytest.fixture(scope="module", params=NAMES)
def data(request):
    return maxmargin.read(DATA / f"{request.param}.xz")


def liblinear(loss, bias):
    common = {"fit_intercept": bias == "regularised", "random_state": 0, "max_iter": 2000}
    if loss == "logistic":
        return LogisticRegression(solver="liblinear", tol=1e-5, **common)
    return LinearSVC(loss=loss, dual=loss == "hinge", tol=1e-4, **common)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("bias", ["none", "regularised", "free"])
def test_certified_and_no_worse_than_liblinear(data, loss, bias):
    X, y = data
    result = maxmargin.train(X, y, loss=loss, bias=bias)
    assert result.status is maxmargin.Status.CONVERGED
    assert result.certificate.relative_gap <= 1e-4
    if bias == "free" or X.shape[1] > 10**6:
        return  # LIBLINEAR has no free bias, and takes its time over millions of columns
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = liblinear(loss, bias).fit(X, y)
    w, b = peer.coef_[0], float(np.ravel(peer.intercept_)[0])
    signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
    extra = 0.5 * b * b if bias == "regularised" else 0.0
    theirs = 0.5 * w @ w + extra + LOSSES[loss].value(signs * (X @ w + b)).sum()
    assert result.certificate.primal <= theirs * (1 + 1e-4)
    assert result.certificate.dual <= theirs

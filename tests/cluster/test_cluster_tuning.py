"""tune on a cluster: every score is that of a model trained without the fold."""

import numpy as np
import pytest

import maxmargin
from maxmargin.data.folds import folds_of_numbers

da = pytest.importorskip("dask.array")


def test_every_score_is_that_of_a_model_trained_without_the_fold(data, client):
    X, y = data
    parts = da.from_array(X, chunks=(250, 8)), da.from_array(y, chunks=250)
    tuned = maxmargin.tune(*parts, Cs=[0.01, 1.0], folds=3, client=client, tol=1e-6, rule="best")
    fold = np.tile(folds_of_numbers(np.arange(250), 3), 4)  # of row numbers within each partition
    for one in tuned.candidates:
        assert one.gap <= 1e-5
        for k in range(3):
            model = maxmargin.train(X[fold != k], y[fold != k], C=one.C, tol=1e-6).model
            assert one.scores[k] == pytest.approx(np.mean(model.predict(X[fold == k]) == y[fold == k]), abs=0.01)
    assert tuned.result.status is maxmargin.Status.CONVERGED
    assert tuned.model.training["rounds"] > 0
    assert tuned.model.training["tuning"]["kind"] == "random"

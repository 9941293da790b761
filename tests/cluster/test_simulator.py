"""The logical workers of the simulator: the objective of one machine, and counts that do not depend on the machine."""

import sys
from pathlib import Path

import numpy as np
import pytest

import maxmargin
from maxmargin.settings.settings import settings_of
from maxmargin.training.on_cluster import trained

sys.path.append(str(Path(__file__).parents[2] / "benchmarks" / "dask"))  # the benchmarks are no part of the package

from logical import cut


def on_workers(data, loss, workers):
    X, y = data
    rows = cut(X, y, workers)
    return rows, trained(rows, settings_of("train", X, {"loss": loss}), 0.0)


@pytest.mark.parametrize("workers", [1, 7, 64])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_logical_workers_find_the_objective_of_one_machine(data, loss, workers):
    rows, found = on_workers(data, loss, workers)
    alone = maxmargin.train(*data, loss=loss, tol=1e-6)
    assert found.certificate.relative_gap <= 1e-4
    assert found.certificate.dual <= alone.certificate.primal
    assert alone.certificate.dual <= found.certificate.primal
    assert found.certificate.primal == pytest.approx(alone.certificate.primal, rel=2e-4)
    assert rows.rounds == found.model.training["rounds"] > 0


def test_a_round_counts_one_message_down_and_one_up(data):
    rows, _ = on_workers(data, "logistic", 4)
    assert rows.sent == 4 * rows.counts.down
    assert rows.counts.down >= rows.rounds * 8 * rows.facts.d
    assert rows.counts.up >= rows.rounds * 8 * rows.facts.d


def test_vectors_of_all_rows_come_back_in_their_order(data):
    rows = cut(*data, 7)
    values = np.arange(float(rows.facts.n))
    rows.put("alpha", values)
    rows.keep("alpha", "copy")
    assert np.array_equal(rows.vector("copy"), values)

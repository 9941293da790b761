"""One cluster of two processes for all tests of the folder."""

import logging

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="session")
def client():
    for name in ("distributed.nanny", "distributed.scheduler", "distributed.worker", "distributed.core"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # killed workers are what the tests want
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=logging.CRITICAL
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


@pytest.fixture(scope="session")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 8))
    y = np.where(X[:, 0] + rng.normal(size=1000) > 0, 1, -1)
    return X, y

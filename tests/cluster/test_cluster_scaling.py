"""scale=True on a cluster: the divisors, the model and its certificate are those of one machine."""

import numpy as np
import pytest

import maxmargin
from maxmargin.cluster.intake import rows_on_cluster
from maxmargin.cluster.partition import Partition
from maxmargin.data.files import Files
from maxmargin.errors import DataError, ParameterError

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
sparse = pytest.importorskip("scipy.sparse")

SIZES = np.logspace(-3, 4, 8)


@pytest.fixture(scope="module")
def uneven(data):
    X, y = data
    return X * SIZES, y


def arrays(X, y):
    return da.from_array(X, chunks=(300, 8)), da.from_array(y, chunks=300)


def as_blocks(X, y):
    parts = [(X[:400], y[:400]), (X[400:], y[400:])]
    return [(dask.delayed(sparse.csr_array(rows)), dask.delayed(labels)) for rows, labels in parts], None


def as_frame(X, y):
    return dd.from_pandas(pd.DataFrame(X, columns=list("abcdefgh")).assign(y=y), npartitions=3), "y"


def as_files(X, y, folder):
    for part in range(3):
        maxmargin.write(folder / f"part-{part}.svm", X[part::3], y[part::3])
    return folder / "part-*", None


@pytest.mark.parametrize("form", [arrays, as_blocks, as_frame, as_files], ids=["arrays", "blocks", "frame", "files"])
def test_the_model_is_that_of_one_machine(uneven, form, client, tmp_path):
    X, y = uneven
    given = {"encode": "none"} if form is as_frame else {}
    known = maxmargin.train(X, y, scale=True, tol=1e-6)
    rows = form(X, y, tmp_path) if form is as_files else form(X, y)
    found = maxmargin.train(*rows, client=client, scale=True, tol=1e-6, **given)
    assert found.model.training["scale"] == known.model.training["scale"]
    assert found.certificate.primal == pytest.approx(known.certificate.primal, rel=3e-6)
    assert found.certificate.dual <= known.certificate.primal
    frame = pd.DataFrame(X, columns=list("abcdefgh")) if form is as_frame else X
    np.testing.assert_allclose(found.model.decide(frame), known.model.decide(X), atol=0.02)


def test_a_partition_that_is_streamed_is_scaled(uneven, tmp_path):
    X, y = uneven
    maxmargin.write(tmp_path / "t.svm", X, y)
    rows = Partition(0, files=Files(tmp_path / "t.svm", divisors=np.abs(X).max(axis=0))).executor(1)
    assert rows.facts.squares == pytest.approx(np.sum((X / np.abs(X).max(axis=0)) ** 2))


def test_a_partition_is_scaled_again_after_the_loss_of_its_actor(uneven, client):
    rows = rows_on_cluster(*arrays(*uneven), None, client, scale=True)
    before = rows.facts.squares
    rows.actors.pop()
    assert sum(one.squares for one, *_ in rows.ask("facts", ()).values()) == pytest.approx(before)


def test_what_cannot_be_scaled_is_refused(uneven, client):
    X, y = uneven
    with pytest.raises(ParameterError, match="scaled already"):
        maxmargin.train(*as_frame(X, y), client=client, scale=True)
    X = X.astype(object)
    X[700, 3] = "text"
    with pytest.raises(DataError, match="partition 2"):
        maxmargin.train(*arrays(X, y), client=client, scale=True)


def test_a_search_scales_too(uneven, client):
    X, y = uneven
    tuned = maxmargin.tune(*arrays(X, y), Cs=[0.1, 1.0], folds=3, client=client, scale=True)
    assert tuned.model.training["scale"] == maxmargin.train(X, y, scale=True).model.training["scale"]

"""Every form of input, and every fault of it: handled, or one clear error, never a hang."""

import os
import sys

import numpy as np
import pytest
from cluster_passes import Sums
from scipy import sparse

import maxmargin
from maxmargin.cluster import connection
from maxmargin.cluster.cluster_rows import ClusterRows
from maxmargin.cluster.connection import check_workers, connected
from maxmargin.cluster.intake import rows_on_cluster
from maxmargin.cluster.origin import FileParts
from maxmargin.cluster.partition import from_file
from maxmargin.errors import ClusterError, DataError, FileError

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask")
pd = pytest.importorskip("pandas")
W = np.linspace(-1.0, 1.0, 8)


def total(rows):
    found = rows.reduce([Sums(W)])[0]
    assert found[1][0] == 1000.0
    return found[0]


def whole(data):
    X, _ = data
    return X.T @ (X @ W)


def frame(data):
    X, y = data
    found = pd.DataFrame(X, columns=[f"x{k}" for k in range(8)])
    return found.assign(outcome=y)


def blocks(*pairs):
    return [tuple(dask.delayed(one) for one in pair) for pair in pairs]


def test_columns_in_several_chunks_and_labels_cut_elsewhere(data, client):
    X, y = data
    rows = rows_on_cluster(da.from_array(X, chunks=(300, 3)), da.from_array(y, chunks=170), None, client)
    np.testing.assert_allclose(total(rows), whole(data))


def test_labels_in_this_process(data, client):
    X, y = data
    rows = rows_on_cluster(da.from_array(X, chunks=(300, 8)), y, np.arange(1000.0), client)
    np.testing.assert_allclose(total(rows), whole(data))
    assert rows.facts.most_weight == 999.0


def test_chunks_of_sparse_matrices(data, client):
    X, y = data
    array = da.from_array(X, chunks=(300, 8)).map_blocks(sparse.csr_matrix)
    rows = rows_on_cluster(array, da.from_array(y, chunks=300), None, client)
    np.testing.assert_allclose(total(rows), whole(data))
    assert rows.sample(50, np.random.default_rng(0)).rows.d == 8


def test_unknown_chunk_sizes_and_partitions_without_rows(data, client):
    X, y = data
    array, labels = da.from_array(X, chunks=(250, 8)), da.from_array(y, chunks=250)
    chosen = da.from_array(np.arange(1000) < 500, chunks=250)
    rows = rows_on_cluster(array[chosen], labels[chosen], None, client)
    assert [one.n for one in rows.partition_facts] == [250, 250, 0, 0]
    assert rows.reduce([Sums(W)])[0][1][0] == 500.0
    assert rows.facts.classes.dtype == y.dtype


def test_data_frames_with_a_column_of_labels_or_a_series(data, client):
    table = dd.from_pandas(frame(data), npartitions=3)
    np.testing.assert_allclose(total(rows_on_cluster(table, "outcome", None, client)), whole(data))
    features = table.drop(columns=["outcome"]).clear_divisions()
    np.testing.assert_allclose(total(rows_on_cluster(features, table["outcome"], None, client)), whole(data))
    with pytest.raises(DataError, match="X has no column 'other': its columns are x0"):
        rows_on_cluster(table, "other", None, client)


def test_data_frames_of_unknown_divisions_and_types_that_differ(data, client):
    X, y = data
    table = dd.from_pandas(pd.DataFrame(X, columns=list("pqrstuvw")).assign(y=y), npartitions=3).clear_divisions()
    assert not table.known_divisions
    rows = rows_on_cluster(table[table["y"] != 0], "y", None, client)
    np.testing.assert_allclose(total(rows), whole(data))


def test_files_of_a_pattern_with_rows_of_different_widths(data, client, tmp_path):
    X, y = data
    maxmargin.write(tmp_path / "part-0.svm", X[:400, :5], y[:400])
    maxmargin.write(tmp_path / "part-1.svm.gz", X[400:], y[400:])
    rows = rows_on_cluster(tmp_path / "part-*", None, None, client)
    assert rows.facts.d == 8
    expected = np.pad(X[:400, :5], ((0, 0), (0, 3)))
    np.testing.assert_allclose(total(rows), expected.T @ (expected @ W) + X[400:].T @ (X[400:] @ W))


def test_parquet_files(data, client, tmp_path):
    for part in range(3):
        frame(data)[part::3].to_parquet(tmp_path / f"part-{part}.parquet")
    rows = rows_on_cluster(
        [tmp_path / f"part-{part}.parquet" for part in range(3)], None, None, client, label="outcome"
    )
    np.testing.assert_allclose(total(rows), whole(data))


def test_a_file_that_exceeds_its_share_of_memory_is_streamed(client, tmp_path):
    X = np.random.default_rng(1).normal(size=(100_000, 8))
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(8)]).assign(y=np.arange(len(X)) % 2)
    table.to_parquet(tmp_path / "t.parquet", row_group_size=10_000)
    limit = next(iter(client.scheduler_info()["workers"].values()))["memory_limit"]
    origin = FileParts([tmp_path / "t.parquet"], [{}], int(0.5 * limit / 20e6))
    assert client.submit(
        lambda *given: from_file(*given).files is not None, 0, origin.paths[0], {}, origin.share
    ).result()
    rows = ClusterRows(client, origin)
    found = rows.reduce([Sums(W)])[0]
    np.testing.assert_allclose(found[0], X.T @ (X @ W))
    assert found[1].tolist() == [100_000.0, 100_000.0]
    assert len(rows.sample(100, np.random.default_rng(0)).labels) > 0


def test_delayed_blocks_of_one_class_each(data, client):
    X, y = data
    rows = rows_on_cluster(blocks((X[y > 0], y[y > 0]), (X[y < 0], y[y < 0])), None, None, client)
    np.testing.assert_allclose(total(rows), whole(data))
    np.testing.assert_array_equal(rows.facts.classes, [-1, 1])


X2, Y2 = np.ones((4, 2)), np.array([0, 1, 0, 1])
BAD = np.array([[1.0, 2.0], [3.0, np.nan], [1.0, 1.0], [1.0, 1.0]])
FAULTS = {
    "widths": (blocks((X2, Y2), (np.ones((4, 3)), Y2)), "partition 1 has 3 features, partition 0 2"),
    "forms": (blocks((X2, Y2), (sparse.csr_matrix(X2), Y2)), "partition 1 is sparse, partition 0 dense"),
    "lengths": (blocks((X2, Y2), (X2, Y2[:3])), "partition 1: y has 3 labels, but X has 4 rows"),
    "nan": (blocks((X2, Y2), (BAD, Y2)), r"partition 1: X: row 1, column 1 \(counted from 0\) is NaN"),
    "inf": (blocks((np.where(np.isnan(BAD), np.inf, BAD), Y2)), "partition 0: X: row 1, column 1 .* is inf"),
    "text": (blocks((X2, Y2), (X2, np.array(list("abab")))), "y of partition 1 is text, that of partition 0 numbers"),
    "mixed": (blocks((X2, np.array([1, "a", 1, "a"], dtype=object))), "partition 0: y mixes text and numbers"),
    "labels": (blocks((X2, np.array([0.0, np.nan, 0.0, 1.0]))), r"partition 0: y\[1\] is nan"),
    "empty": (blocks((X2[:0], Y2[:0])), "X has 0 rows in all partitions"),
    "weights": (blocks((X2, Y2, -np.ones(4))), r"partition 0: weights\[0\] is -1"),
    "words": (blocks((np.array([["a", "b"]] * 4), Y2)), "partition 0: X holds values of type"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_a_partition_is_one_line_that_names_it(name, client):
    given, message = FAULTS[name]
    with pytest.raises(DataError, match=message) as caught:
        rows_on_cluster(given, None, None, client)
    assert "\n" not in str(caught.value)


def test_types_of_numbers_may_differ(client):
    given = blocks((X2.astype(np.float32), Y2), (X2, Y2.astype(float)), (X2.astype(np.int8), Y2.astype(np.int8)))
    rows = rows_on_cluster(given, None, None, client)
    assert (rows.facts.n, rows.facts.squares) == (12, 24.0)


def test_a_graph_that_fails_is_one_line(client):
    def fails():
        raise RuntimeError("the disk\nis on fire")

    with pytest.raises(ClusterError, match="a partition could not be made: RuntimeError: the disk is on fire"):
        rows_on_cluster([(dask.delayed(fails)(), dask.delayed(Y2))], None, None, client)


def test_collections_that_do_not_fit_together(data, client):
    X, y = data
    array = da.from_array(X, chunks=(300, 8))
    with pytest.raises(DataError, match="y has 900 entries, but X has 1000 rows"):
        rows_on_cluster(array, da.from_array(y[:900], chunks=300), None, client)
    with pytest.raises(DataError, match="y is missing"):
        rows_on_cluster(array, None, None, client)
    with pytest.raises(DataError, match="X is a ndarray in this process: leave client out"):
        rows_on_cluster(X, y, None, client)
    unknown = array[da.from_array(np.ones(1000, dtype=bool), chunks=300)]
    with pytest.raises(DataError, match="y has 2 partitions, but X has 4"):
        rows_on_cluster(unknown, da.from_array(y, chunks=500), None, client)


@pytest.mark.skipif(sys.platform != "linux", reason="uses /proc")
def test_a_file_that_only_some_workers_see_is_named_with_the_worker(client):
    pids = client.run(os.getpid)
    seeing, blind = sorted(pids)
    path = f"/proc/self/task/{pids[seeing]}/comm"
    with pytest.raises(FileError, match=f"{path}: worker {blind} cannot read it"):
        rows_on_cluster(path, None, None, client)


def test_a_file_that_no_worker_sees(client, tmp_path):
    with pytest.raises(FileError, match="no worker finds such a file"):
        rows_on_cluster(tmp_path / "none-*.svm", None, None, client)


def test_a_file_of_a_list_that_no_worker_sees_is_named(data, client, tmp_path):
    maxmargin.write(tmp_path / "here.svm", *data)
    with pytest.raises(FileError, match=r"missing\.svm: no worker finds such a file"):
        maxmargin.train([tmp_path / "here.svm", tmp_path / "missing.svm"], client=client)


def test_blocks_of_which_some_have_weights_are_refused(data, client):
    X, y = data
    blocks = [(dask.delayed(X), dask.delayed(y), dask.delayed(np.ones(len(y)))), (dask.delayed(X), dask.delayed(y))]
    with pytest.raises(DataError, match="partition 1 has no weights, partition 0 has: give weights for all or for"):
        maxmargin.train(blocks, client=client)


def test_an_unreachable_scheduler_is_named_with_the_time_waited():
    with (
        pytest.raises(ClusterError, match=r"no Dask scheduler answers at tcp://127.0.0.1:1: waited 0\.5 s"),
        connected("tcp://127.0.0.1:1", 0.5),
    ):
        pass


def test_workers_without_the_package_or_with_another_version(client, monkeypatch):
    with pytest.raises(ClusterError, match=r"worker tcp.* has no no_such_package"):
        check_workers(client, 10.0, "no_such_package")
    monkeypatch.setattr(connection.maxmargin, "__version__", "9.9")
    with pytest.raises(ClusterError, match=r"worker tcp.* has maxmargin .*, this process 9\.9"):
        check_workers(client, 10.0)


def test_without_dask_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"pip install maxmargin\[dask\]"), connected(None, 1.0):
        pass

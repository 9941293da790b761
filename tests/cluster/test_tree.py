"""The tree of totals and the messages do not change a bit."""

import numpy as np
import pytest

from maxmargin.cluster.packing import SparseArray, dense_of, pack, sparse_or_dense, unpack
from maxmargin.cluster.tree import leaves, merged, root
from maxmargin.data.reduction import in_a_tree


def totals(count):
    rng = np.random.default_rng(count)
    return [(rng.normal(size=3) * 10.0 ** rng.integers(-8, 8),) for _ in range(count)]


def copied(found):
    return [tuple(one.copy() for one in total) for total in found]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 11, 16, 33])
@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_any_sharing_among_workers_gives_the_bits_of_one_tree(count, workers):
    found = totals(count)
    expected = in_a_tree(copied(found))
    shares = np.random.default_rng(workers).integers(0, workers, count)
    nodes = {}
    for worker in range(workers):
        own = {number: [one] for number, one in enumerate(copied(found)) if shares[number] == worker}
        nodes.update(merged(leaves(own), count))
    whole = merged(nodes, count)
    assert list(whole) == [root(count)]
    assert whole[root(count)][0][0].tobytes() == expected[0].tobytes()


def test_a_worker_with_all_partitions_sends_one_node():
    found = {number: [one] for number, one in enumerate(totals(13))}
    assert list(merged(leaves(found), 13)) == [root(13)]


def test_sparse_totals_are_sent_without_their_zeros_and_keep_minus_zero():
    total = np.zeros((2, 2000))
    total[1, 3], total[0, 5] = 2.5, -0.0
    short = sparse_or_dense(total)
    assert isinstance(short, SparseArray)
    assert len(short.values) == 2
    assert dense_of(short).tobytes() == total.tobytes()
    assert sparse_or_dense(np.ones(2000)).shape == (2000,)


def test_packed_arrays_are_not_copied_into_the_pickled_bytes():
    w = np.arange(1e5)
    packed = pack([w])
    assert len(packed.head) < 1000
    assert packed.nbytes >= w.nbytes
    np.testing.assert_array_equal(unpack(packed)[0], w)

"""Passes over the rows of a cluster: the bits of one machine, whatever happens to the workers."""

import logging
import os
import signal
import threading
import time

import numpy as np
import pytest
from cluster_passes import Broken, Sums
from two_workers import both_back

from maxmargin.cluster import cluster_rows
from maxmargin.cluster.intake import rows_on_cluster
from maxmargin.data.memory_rows import MemoryRows
from maxmargin.data.reduction import PassStoppedError, in_a_tree
from maxmargin.data.take import take
from maxmargin.errors import ClusterError

da = pytest.importorskip("dask.array")
W = np.linspace(-1.0, 1.0, 8)


def rows_of(data, client, chunk=200, **options):
    X, y = data
    return rows_on_cluster(da.from_array(X, chunks=(chunk, 8)), da.from_array(y, chunks=chunk), None, client, **options)


def expected(data, chunk=200):
    X, y = data
    parts = [MemoryRows(take(X[k : k + chunk]), y[k : k + chunk]) for k in range(0, len(X), chunk)]
    return in_a_tree([part.reduce([Sums(W)])[0] for part in parts])


def kill_one(client, rows):
    """Kill the process of a worker that holds partitions; it was started by the cluster of the tests."""
    pids = client.run(os.getpid)
    os.kill(pids[rows.actors[0].worker], signal.SIGKILL)


@pytest.mark.parametrize("chunk", [200, 150, 1000])
def test_the_totals_have_the_bits_of_the_same_partitions_in_memory(data, client, chunk):
    rows = rows_of(data, client, chunk)
    found = rows.reduce([Sums(W)])[0]
    assert found[0].tobytes() == expected(data, chunk)[0].tobytes()
    assert found[1].tolist() == [1000.0, 1000.0]
    assert (rows.facts.n, rows.facts.d, rows.facts.counts.sum()) == (1000, 8, 1000)
    assert rows.sent > 0
    assert rows.received > 0


def test_vectors_stay_on_the_workers_between_rounds(data, client):
    rows = rows_of(data, client)
    for turn in (1, 2, 3):
        assert rows.reduce([Sums(W)])[0][1][1] == 1000.0 * turn
    rows.keep("visits", "copy")
    rows.put("visits", np.arange(1000.0))
    np.testing.assert_array_equal(rows.vector("visits"), np.arange(1000.0))
    np.testing.assert_array_equal(rows.vector("copy"), np.full(1000, 3.0))


def test_a_sample_depends_on_the_seed_and_the_partitions_only(data, client):
    X, _ = data
    parts = [rows_of(data, client).sample(100, np.random.default_rng(5)) for _ in range(2)]
    np.testing.assert_array_equal(parts[0].rows.values, parts[1].rows.values)
    drawn = {row.tobytes() for row in parts[0].rows.values}
    assert len(drawn) == 100
    assert drawn <= {row.tobytes() for row in X}


def test_a_worker_killed_in_mid_round_changes_no_sum(data, client):
    rows = rows_of(data, client)
    rows.reduce([Sums(W)])
    rows.save("visits")
    lost = sorted(rows.actors[0].numbers)
    threading.Timer(0.2, kill_one, (client, rows)).start()
    found = rows.reduce([Sums(W, nap=0.2)])[0]
    assert found[0].tobytes() == expected(data)[0].tobytes()
    assert found[1].tolist() == [1000.0, 2000.0]  # vectors of the lost partitions begin at what was saved
    assert rows.restored == lost
    both_back(client)
    found = rows.reduce([Sums(W)])[0]
    assert found[0].tobytes() == expected(data)[0].tobytes()
    assert found[1][0] == 1000.0


def test_a_worker_killed_between_rounds_changes_no_sum(data, client):
    rows = rows_of(data, client)
    kill_one(client, rows)
    found = rows.reduce([Sums(W)])[0]
    assert found[0].tobytes() == expected(data)[0].tobytes()
    assert found[1].tolist() == [1000.0, 1000.0]
    both_back(client)


@pytest.fixture
def in_tree(monkeypatch):
    """Let workers add up totals of any size among themselves."""
    monkeypatch.setattr(cluster_rows, "LEAST_IN_TREE", 1)
    monkeypatch.setattr(cluster_rows, "BYTES_FOR_A_STEP", 0.0)


@pytest.mark.parametrize("chunk", [100, 150, 200])
def test_workers_that_add_up_among_themselves_give_the_same_bits(data, client, in_tree, chunk):
    rows = rows_of(data, client, chunk)
    assert rows.adds_on_workers([Sums(W)])
    for turn in (1, 2):
        found = rows.reduce([Sums(W), Sums(2.0 * W)])
        assert found[0][0].tobytes() == expected(data, chunk)[0].tobytes()
        assert found[1][1].tolist() == [1000.0, 2000.0 * turn]
    assert rows.received == 2 * 2 * (8 + 2) * 8  # one sum for each round, from one worker


@pytest.mark.parametrize("who", [0, 1])
def test_a_worker_killed_before_the_sums_are_added_changes_no_sum(data, client, in_tree, monkeypatch, who):
    rows = rows_of(data, client)
    add_up = rows.added_on_workers

    def killed_before(number, stop):
        victim = sorted(rows.actors, key=lambda actor: min(actor.numbers))[who]
        os.kill(client.run(os.getpid)[victim.worker], signal.SIGKILL)
        found = add_up(number, stop)
        assert found is None
        return found

    monkeypatch.setattr(rows, "added_on_workers", killed_before)
    found = rows.reduce([Sums(W)])[0]
    assert found[0].tobytes() == expected(data)[0].tobytes()
    assert found[1].tolist() == [1000.0, 1000.0]  # rows of the living worker are not visited again
    both_back(client)


def test_totals_of_an_abandoned_round_are_never_added(data, client, in_tree):
    rows = rows_of(data, client)
    began = time.monotonic()
    with pytest.raises(PassStoppedError):
        rows.reduce([Sums(3.0 * W, nap=1.0)], lambda: time.monotonic() - began > 0.2)
    found = rows.reduce([Sums(W)])[0]
    assert found[0].tobytes() == expected(data)[0].tobytes()


def test_a_request_to_stop_ends_a_round_and_the_next_one_is_right(data, client):
    rows = rows_of(data, client)
    began = time.monotonic()
    with pytest.raises(PassStoppedError):
        rows.reduce([Sums(W, nap=1.0)], lambda: time.monotonic() - began > 0.2)
    found = rows.reduce([Sums(W)])[0]
    assert found[0].tobytes() == expected(data)[0].tobytes()


def test_a_slow_worker_is_waited_for_up_to_the_timeout(data, client):
    rows = rows_of(data, client, 1000)
    rows.timeout = 30.0
    assert rows.reduce([Sums(W, nap=0.3)])[0][1][0] == 1000.0
    assert rows.restored == []
    rows.timeout = 0.3
    with pytest.raises(ClusterError, match=r"no answer within 0\.3 s of worker tcp"):
        rows.reduce([Sums(W, nap=0.5)])


def test_an_error_of_a_pass_is_raised_here(data, client):
    rows = rows_of(data, client)
    with pytest.raises(ZeroDivisionError, match="this pass is broken"):
        rows.reduce([Broken(W)])
    assert rows.reduce([Sums(W)])[0][1][0] == 1000.0


def test_a_lost_scheduler_is_one_clear_error(data):
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0")
    other = distributed.Client(cluster, set_as_default=False)
    rows = rows_of(data, other)
    cluster.close()
    try:
        with pytest.raises(ClusterError, match="resume from the checkpoint"):
            rows.reduce([Sums(W)])
    finally:
        other.close()


@pytest.mark.parametrize("default", [False, True])
def test_a_worker_that_joins_takes_over_the_partitions_of_one_that_dies(data, default, request):
    if default:
        request.getfixturevalue("client")  # of another cluster
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=logging.CRITICAL
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as other,
    ):
        rows = rows_of(data, other)
        first = rows.actors[0].worker
        assert rows.actors[0].proxy.client is other  # not the default client, if there is one
        assert rows.reduce([Sums(W)])[0][1][0] == 1000.0
        cluster.scale(2)
        other.wait_for_workers(2, timeout=30)
        assert rows.reduce([Sums(W)])[0][1][0] == 1000.0
        assert {actor.worker for actor in rows.actors} == {first}
        joined = set(other.scheduler_info()["workers"]) - {first}
        kill_one(other, rows)
        found = rows.reduce([Sums(W)])[0]
        assert found[0].tobytes() == expected(data)[0].tobytes()
        workers = {actor.worker for actor in rows.actors}
        assert first not in workers
        assert workers & joined  # beside the one that Dask may have started anew

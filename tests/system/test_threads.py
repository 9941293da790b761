"""Work shared among threads, and memory that is lent again."""

import gc
import threading
import time
from collections import Counter

import numpy as np
import pytest

import maxmargin
from maxmargin.system import threads as cores
from maxmargin.system.buffers import MOST_REUSED_BYTES, Lender, room
from maxmargin.system.threads import free_memory, in_order, on_threads


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 1000])
def test_every_item_is_done_once(threads, count):
    done = Counter()
    lock = threading.Lock()

    def work(item):
        with lock:
            done[item] += 1

    on_threads(threads, work, range(count))
    assert done == Counter(range(count))


def blas_threads():
    return {library["num_threads"] for library in cores.libraries().info() if library["user_api"] == "blas"}


def test_blas_has_one_thread_while_training_and_more_where_it_is_alone():
    before, seen = blas_threads(), []

    def note(_):
        seen.append(blas_threads())

    X = np.random.default_rng(0).normal(size=(50, 2))
    maxmargin.train(X, np.sign(X[:, 0]), callback=note)
    assert seen
    assert set.union(*seen) == {1}
    with cores.blas_on_one_thread:
        with cores.blas_on(2):
            assert blas_threads() == {2}
        assert blas_threads() == {1}
        with cores.blas_on(1):
            assert blas_threads() == {1}
    assert blas_threads() == before


def test_two_threads_work_at_the_same_time():
    """Either waits for the other: alone none would come to an end."""
    meeting = threading.Barrier(2, timeout=20)
    on_threads(2, lambda item: meeting.wait(), range(2))


def test_an_error_reaches_the_caller_after_all_threads_have_stopped():
    """Item 0 fails when three others have begun: they end, nothing new begins, and only then does the caller go on."""
    begun, ended, everybody = [], [], threading.Barrier(4, timeout=20)

    def work(item):
        begun.append(item)
        if len(begun) <= 4:
            everybody.wait()
        if item == 0:
            raise ValueError("item 0")
        time.sleep(0.1)
        ended.append(item)

    with pytest.raises(ValueError, match="item 0"):
        on_threads(4, work, range(100))
    assert len(begun) < 20
    assert len(ended) == len(begun) - 1


@pytest.mark.parametrize("helpers", [0, 1, 3])
def test_answers_come_in_order_and_not_far_ahead_of_who_takes_them(helpers):
    drawn, asked = [], []

    def items():
        for item in range(20):
            drawn.append(item)
            yield item

    def slow_at_first(item):
        asked.append(item)
        time.sleep(0.01 if item < 3 else 0.0)
        return item * item

    for taken, (item, answer) in enumerate(in_order(slow_at_first, items(), helpers)):
        assert (item, answer) == (taken, taken * taken)
        assert len(drawn) <= taken + 1 + helpers
    assert sorted(asked) == list(range(20))


@pytest.mark.parametrize("helpers", [0, 1, 3])
def test_an_error_of_an_answer_comes_in_its_turn_and_an_early_end_leaves_no_thread(helpers):
    before = threading.active_count()
    answers = in_order(lambda item: 1 // (item - 3), iter(range(10)), helpers)
    assert [next(answers)[1] for _ in range(3)] == [-1, -1, -1]
    with pytest.raises(ZeroDivisionError):
        next(answers)
    early = in_order(str, iter(range(10)), helpers)
    next(early)
    early.close()
    assert threading.active_count() == before


def test_work_that_shares_work_comes_to_an_end():
    done = Counter()

    def outer(item):
        on_threads(2, lambda inner: done.update([(item, inner)]), range(3))

    on_threads(2, outer, range(8))
    assert set(done) == {(a, b) for a in range(8) for b in range(3)}


class Borrower:
    """Somebody to lend to."""


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_lent_again_and_never_to_two_at_once():
    lender, one, two = Lender(), Borrower(), Borrower()
    a, b = lender.lend(one, 1000, np.float64), lender.lend(two, 1000, np.float32)
    assert (a.dtype, b.dtype, len(a), len(b)) == (np.float64, np.float32, 1000, 1000)
    assert not np.shares_memory(a, b)
    place = address(a)
    del a, one
    gc.collect()
    three = Borrower()
    assert address(lender.lend(three, 500, np.float32)) == place
    four = Borrower()
    assert address(lender.lend(four, 500, np.float32)) != place


def test_memory_of_pairs_is_lent_as_long_as_a_part_of_one_of_them_lives():
    lender = Lender(4)
    values, indices = lender.lend_pairs(1000, np.float32, np.int32)
    values[:], indices[:] = 1.0, np.arange(1000)
    part = indices[10:20].reshape(2, 5)
    place = address(values)
    del values, indices
    gc.collect()
    others = [lender.lend_pairs(1000, np.float32, np.int32) for _ in range(3)]
    for other in others:
        other[0][:], other[1][:] = -1.0, -1
    assert np.array_equal(part.ravel(), np.arange(10, 20))
    del part
    gc.collect()
    assert address(lender.lend_pairs(900, np.float32, np.int32)[0]) == place


def test_memory_that_is_far_too_large_is_not_kept():
    lender = Lender(4, waste=8)
    lender.lend(None, 1 << 20, np.uint8)
    gc.collect()
    assert lender.held(1 << 10) is None
    assert not lender.free


def test_memory_of_an_odd_size_is_lent_for_another_type():
    lender, one, two = Lender(), Borrower(), Borrower()
    lender.lend(one, 9, np.float32)
    del one
    gc.collect()
    assert len(lender.lend(two, 4, np.float64)) == 4


def test_memory_that_is_not_there_is_out_of_memory():
    with pytest.raises(MemoryError, match="smaller cache"):
        Lender().lend(Borrower(), 1 << 58, np.float64)


def test_large_memory_goes_back_to_the_system():
    lender, one = Lender(), Borrower()
    lender.lend(one, MOST_REUSED_BYTES // 8 + 1, np.float64)
    del one
    gc.collect()
    assert not lender.free
    assert not lender.returned


def test_rooms_of_different_types_are_apart():
    a, b = room("test", (3, 4), np.dtype(np.float32)), room("test", (3, 4), np.dtype(np.float64))
    assert (a.shape, a.dtype, b.dtype) == ((3, 4), np.float32, np.float64)
    assert not np.shares_memory(a, b)
    assert np.shares_memory(a, room("test", (2, 2), np.dtype(np.float32)))


@pytest.mark.parametrize(("limit", "used"), cores.CONTAINER_USAGE.items())
def test_a_container_has_no_more_memory_than_it_is_allowed(limit, used, tmp_path, monkeypatch):
    monkeypatch.setattr(cores, "CONTAINER_LIMITS", (tmp_path / limit, tmp_path / "none" / limit))
    whole = free_memory()
    (tmp_path / limit).write_text("1000000\n")
    (tmp_path / used).write_text("400000\n")
    assert free_memory() == 600_000
    (tmp_path / used).write_text("2000000\n")
    assert free_memory() == 0
    (tmp_path / limit).write_text("max\n")
    assert free_memory() > 0.5 * whole


@pytest.mark.parametrize("limit", cores.CONTAINER_USAGE)
def test_the_memory_of_a_container_is_its_limit(limit, tmp_path, monkeypatch):
    monkeypatch.setattr(cores, "CONTAINER_LIMITS", (tmp_path / limit, tmp_path / "none" / limit))
    assert cores.total_memory() == cores.physical_memory()
    (tmp_path / limit).write_text("1000000\n")
    assert cores.total_memory() == 1_000_000
    (tmp_path / limit).write_text("max\n")
    assert cores.total_memory() == cores.physical_memory()


@pytest.mark.parametrize(
    ("given", "expected"), [("1", 1), ("2,1", 2), ("", 4), ("0", 4), ("many", 4), ("9", 4), (None, 4)]
)
def test_the_default_number_of_threads_respects_openmps_limit(monkeypatch, given, expected):
    """joblib sets OMP_NUM_THREADS in its worker processes."""
    monkeypatch.setattr(cores, "all_cores", lambda: 4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if given is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", given)
    assert cores.thread_count(None) == expected
    assert cores.thread_count(3) == 3

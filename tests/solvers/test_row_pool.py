"""Rows that come and go in a bounded memory: what is held is what was given, and no place is lost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from maxmargin.data.reader import Block
from maxmargin.data.take import take
from maxmargin.solvers.streaming.dual_variables import HELD, spelt_out, variables_of
from maxmargin.solvers.streaming.row_cache import RowCache
from maxmargin.solvers.streaming.row_pool import SHORT, SIZES, size_of
from maxmargin.solvers.streaming.row_slots import SLOT

LENGTHS = np.arange(1, 5000)


def test_places_are_few_sizes_and_little_is_wasted():
    places, sizes = np.array([size_of(int(length)) for length in LENGTHS]).T
    assert np.all(places >= LENGTHS)
    assert np.all(places % 4 == 0)
    assert np.all(places[SHORT:] <= 1.125 * LENGTHS[SHORT:] + 1)
    assert np.all(places - LENGTHS < 4, where=LENGTHS <= SHORT)
    assert len({*zip(places.tolist(), sizes.tolist(), strict=True)}) == len(set(sizes.tolist()))
    assert size_of(0)[0] == 0
    assert size_of(2**31)[1] < SIZES


def rows_of_any_length(rng, n, d):
    lengths = np.where(rng.random(n) < 0.5, rng.integers(0, 8, n), rng.integers(0, d + 1, n))
    X = np.zeros((n, d), dtype=np.float32)
    for row, length in zip(X, lengths, strict=True):
        row[rng.choice(d, length, replace=False)] = rng.integers(1, 100, length)
    return X


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_rows_of_any_length_come_and_go(seed):
    rng = np.random.default_rng(seed)
    n, d = 240, 150
    X = rows_of_any_length(rng, n, d)
    variables = variables_of(np.zeros(n, dtype=np.uint8), np.arange(float(n)), 2.0 * n)
    cache = RowCache(40_000, take(sparse.csr_array(X)))
    for _ in range(40):
        first = int(rng.integers(0, n - 20))
        part = take(sparse.csr_array(X[first : first + 20]))
        cache.take_in(Block(part, np.ones(20), first, 0), variables, rng, rng.random(20) < 0.8)
        if rng.random() < 0.3:
            cache.give_up(int(rng.random() * cache.live), variables, rng)
        if rng.random() < 0.1:
            cache.keep(rng.random(cache.count) < 0.5, variables)
        check(cache, X, variables)


def check(cache, X, variables):
    spans, examples = cache.slots.rows, cache.slots.example[: cache.count]
    assert np.array_equal(np.sort(examples), np.flatnonzero(variables.marks & HELD))
    for k, i in enumerate(examples):
        row, part = np.zeros(X.shape[1]), slice(spans.start[k], spans.stop[k])
        row[spans.indices[part]] = spans.values[part]
        assert np.array_equal(row, X[i])
    places = [
        size_of(int(stop - start))[0] for start, stop in zip(spans.start, spans.stop[: cache.count], strict=False)
    ]
    assert cache.live == cache.count * SLOT + cache.width * sum(places) <= cache.limit
    assert cache.used * cache.width + cache.count * SLOT <= cache.limit
    assert np.array_equal(spelt_out(variables, slice(None)), np.arange(float(len(X))))


def test_a_place_that_was_given_up_serves_the_next_row_of_its_size():
    X = np.ones((300, 10), dtype=np.float32)
    variables = variables_of(np.zeros(300, dtype=np.uint8), np.zeros(300), 1.0)
    cache, rng = RowCache(20_000, take(sparse.csr_array(X))), np.random.default_rng(0)
    used = []
    for first in range(0, 300, 30):
        cache.take_in(Block(take(sparse.csr_array(X[first : first + 30])), np.ones(30), first, 0), variables, rng)
        used.append(cache.used)
    assert used[-1] == used[-3] == max(used)


@pytest.mark.parametrize("huge", [False, True])
def test_huge_pages_change_nothing_else(huge):
    X = rows_of_any_length(np.random.default_rng(1), 50, 20)
    variables = variables_of(np.zeros(50, dtype=np.uint8), np.arange(50.0), 100.0)
    cache = RowCache(40_000, take(sparse.csr_array(X)), huge)
    cache.take_in(Block(take(sparse.csr_array(X)), np.ones(50), 0, 0), variables, np.random.default_rng(0))
    check(cache, X, variables)
    assert cache.count == 50

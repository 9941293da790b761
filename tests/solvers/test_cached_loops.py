"""Dual cached loops: the cache, the certificate of a pass, memory, faults, going on after a kill."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import overlapping
from scipy import sparse

import maxmargin
from maxmargin.data import source as source_module
from maxmargin.data.open_source import open_source
from maxmargin.data.reader import Block
from maxmargin.data.rows import Dense
from maxmargin.data.tables.block_file import convert
from maxmargin.data.take import take
from maxmargin.data.text.source import TextSource
from maxmargin.errors import DataError, FileError, ParameterError, RefusedError
from maxmargin.problems import stream
from maxmargin.problems.certificate import Point, certify
from maxmargin.problems.linear import pose
from maxmargin.problems.losses import find_loss
from maxmargin.problems.streamed import Streamed, StreamedCertificate
from maxmargin.solvers.streaming.cached_loops import CacheTrainer
from maxmargin.solvers.streaming.dual_variables import HELD, spelt_out, variables_of
from maxmargin.solvers.streaming.row_cache import RowCache
from maxmargin.system import budget
from maxmargin.system.budget import LEAST, Budget, checked_memory, shown_size
from maxmargin.system.buffers import FileMap, memory_of
from maxmargin.system.rounding import margin_error

TIGHT = "4.2MB"
LOSSES = ("hinge", "squared_hinge", "logistic")
BIASES = ("none", "regularised", "free")
PAIRS = list(product(LOSSES, BIASES))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """6,000 sparse rows: a tight budget holds about a third of them."""
    rng = np.random.default_rng(0)
    n, d = 6000, 400
    X = sparse.random(n, d, 0.1, "csr", rng=rng, data_rvs=lambda size: np.round(rng.normal(size=size) * 64) / 64)
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0.3, 1, -1)
    path = tmp_path_factory.mktemp("rows") / "rows.svm"
    maxmargin.write(path, X, y)
    return path


@pytest.mark.parametrize(("loss", "bias"), PAIRS)
def test_it_reaches_the_optimum_that_is_reached_in_memory(file, loss, bias):
    exact = maxmargin.train(file, loss=loss, bias=bias, C=0.1, tol=1e-7).certificate
    for threads in (1, 2):
        result = maxmargin.train(
            file, solver="cached_loops", memory=TIGHT, loss=loss, bias=bias, C=0.1, tol=1e-3, threads=threads
        )
        assert result.status is maxmargin.Status.CONVERGED
        assert result.certificate.relative_gap <= 1e-3
        assert result.certificate.dual <= exact.primal * (1 + 1e-9)
        assert exact.dual * (1 - 1e-9) <= result.certificate.primal <= exact.primal * (1 + 1.1e-3)


@pytest.mark.parametrize("solver", ["block_minimization", "selective_blocks"])
@pytest.mark.parametrize(("loss", "bias"), PAIRS)
def test_its_forerunners_reach_the_optimum_too(file, loss, bias, solver):
    exact = maxmargin.train(file, loss=loss, bias=bias, C=0.1, tol=1e-7).certificate
    result = maxmargin.train(file, solver=solver, memory=TIGHT, loss=loss, bias=bias, C=0.1, tol=1e-3, max_seconds=200)
    assert result.status is maxmargin.Status.CONVERGED
    assert result.certificate.dual <= exact.primal * (1 + 1e-9)
    assert exact.dual * (1 - 1e-9) <= result.certificate.primal <= exact.primal * (1 + 1.1e-3)
    assert result.model.training["splitting"] > 0.0
    assert result.seconds > result.model.training["splitting"]


@pytest.mark.parametrize("solver", ["block_minimization", "selective_blocks"])
def test_its_forerunners_go_on_from_a_checkpoint(file, solver, tmp_path):
    same = {"solver": solver, "memory": TIGHT, "C": 0.1, "checkpoint": tmp_path / "kept"}
    first = maxmargin.train(file, tol=1e-2, **same)
    again = maxmargin.train(file, tol=1e-4, resume=True, **same)
    assert again.status is maxmargin.Status.CONVERGED
    assert again.history[: len(first.history)] == first.history
    assert again.certificate.relative_gap <= 1e-4


@pytest.mark.parametrize(("loss", "bias"), PAIRS)
def test_what_it_certifies_is_what_a_pass_in_memory_certifies(file, loss, bias):
    X, y = maxmargin.read(file)
    result = maxmargin.train(
        file, solver="cached_loops", memory=TIGHT, loss=loss, bias=bias, C=0.1, tol=1e-2, threads=1
    )
    problem = pose(take(X), y.astype(float), loss=loss, C=0.1, bias=bias)
    again = certify(problem, Point(result.model.w[0], float(result.model.b[0]), result.alpha)).certificate
    if bias == "free":
        assert again.primal <= result.certificate.primal * (1 + 1e-12)
        assert again.primal == pytest.approx(result.certificate.primal, rel=1e-3)
    else:
        assert again.primal == pytest.approx(result.certificate.primal, rel=1e-10)
    assert again.dual == pytest.approx(result.certificate.dual, rel=1e-9)
    assert np.all(result.alpha >= 0.0)


@pytest.mark.parametrize("evict", ["active", "random"])
def test_one_thread_gives_the_same_bits_again(file, evict):
    runs = [
        maxmargin.train(file, solver="cached_loops", memory=TIGHT, tol=1e-2, threads=1, options={"evict": evict})
        for _ in range(2)
    ]
    assert np.array_equal(runs[0].model.w, runs[1].model.w)
    assert np.array_equal(runs[0].alpha, runs[1].alpha)
    assert runs[0].certificate == runs[1].certificate


def test_the_cache_neither_clogs_nor_empties(file):
    result = maxmargin.train(
        file, solver="cached_loops", memory=TIGHT, C=0.1, tol=1e-9, threads=2,
        callback=lambda record: record.reading.passes >= 8,
    )  # fmt: skip
    passes = [record.reading for record in result.history]
    assert len(passes) == 8
    assert all(0.5 < reading.fill <= 1.0 for reading in passes)
    assert passes[-1].evicted > 1000


def test_active_eviction_needs_fewer_passes_than_random(file):
    passes = {}
    for evict in ("active", "random"):
        result = maxmargin.train(
            file, solver="cached_loops", memory=TIGHT, tol=1e-3, threads=1, C=1.0, bias="none", options={"evict": evict}
        )
        passes[evict] = result.model.training["passes"]
    assert passes["active"] < passes["random"]


@pytest.mark.parametrize("storage", [np.float32, np.float64, "sparse"])
def test_the_cache_holds_what_it_is_given_and_each_row_once(storage):
    X, _ = overlapping(n=500, d=20)
    rows = take(sparse.csr_array(X)) if storage == "sparse" else take(X.astype(storage))
    cache = RowCache(40_000, rows)
    variables = variables_of(np.zeros(500, dtype=np.uint8), np.arange(500.0), 300.0)
    rng = np.random.default_rng(0)
    held = set()
    for first in (*range(0, 500, 50), *range(0, 500, 50)):
        part = slice(first, first + 50)
        block = take(sparse.csr_array(X[part])) if storage == "sparse" else take(X[part].astype(storage))
        cache.take_in(Block(block, np.ones(50), first, 0), variables, rng)
        assert cache.live <= cache.limit
        held = set(cache.slots.example[: cache.count].tolist())
        assert len(held) == cache.count
        assert held == set(np.flatnonzero(variables.marks & HELD).tolist())
        for k in range(0, cache.count, 7):
            i = int(cache.slots.example[k])
            assert np.array_equal(row_of(cache, k, 20), X[i])
            assert cache.slots.Q[k] == pytest.approx(float(X[i] @ X[i]))
            assert cache.slots.alpha[k] == i
        assert np.array_equal(spelt_out(variables, slice(0, 500)), np.arange(500.0))
    assert 20 < len(held) < 500


def row_of(cache, k, d):
    rows = cache.slots.rows
    if isinstance(rows, Dense):
        return rows.values[k]
    row, part = np.zeros(d), slice(rows.start[k], rows.stop[k])
    row[rows.indices[part]] = rows.values[part]
    return row


@pytest.mark.parametrize(("loss", "bias"), PAIRS)
def test_a_streamed_certificate_adds_up_both_objectives(loss, bias, tmp_path):
    X, y = overlapping(n=300, d=6)
    maxmargin.write(tmp_path / "a", X, y)
    problem = Streamed(open_source(tmp_path / "a", capacity=400), 0.7, find_loss(loss), bias, 2.0)
    whole = pose(take(X), y, loss=loss, C=0.7, bias=bias, bias_scale=2.0)
    rng = np.random.default_rng(1)
    w, alpha = rng.normal(size=6), 0.7 * rng.random(300)
    if bias == "free":
        alpha[y > 0] *= alpha[y < 0].sum() / alpha[y > 0].sum()
    b = 0.3 if bias != "none" else 0.0
    streamed = StreamedCertificate(problem, w, b, 0.5, np.zeros(6))
    for block in problem.source.blocks():
        part = slice(block.first, block.first + len(block.labels))
        streamed.add(block.rows, block.labels.astype(float), alpha[part], block.first)
    found = streamed.certificate()
    total = whole.dual(alpha, (alpha * y) @ X, whole.bias_square * float(alpha @ y))
    assert found.dual == pytest.approx(total, rel=1e-12)
    assert found.primal == pytest.approx(whole.primal(w, streamed.b, y * (X @ w + streamed.b)), rel=1e-12)
    assert found.primal <= whole.primal(w, b, y * (X @ w + b)) + 1e-9


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_rounding_of_a_streamed_certificate_covers_what_errors_of_the_margins_cost(loss, C):
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(50, 2000)), np.where(np.arange(50) % 2, 1.0, -1.0), rng.normal(size=2000)
    streamed = StreamedCertificate(Streamed(None, C, find_loss(loss), "none"), w, 0.0, 1.0, np.zeros(2000))
    streamed.add(take(X), y, np.zeros(50), 0)
    slope, constant = margin_error(2000, np.linalg.norm(w), 0.0)
    errors = slope * np.linalg.norm(X, axis=1) + constant
    least = C * float(errors @ -find_loss(loss).slope(y * (X @ w)))  # the losses are convex
    assert streamed.certificate().primal_rounding >= least


def test_an_alpha_that_is_not_balanced_bounds_nothing_for_a_free_bias(tmp_path):
    X, y = overlapping(n=50)
    maxmargin.write(tmp_path / "a", X, y)
    problem = Streamed(open_source(tmp_path / "a"), 1.0, find_loss("hinge"), "free")
    streamed = StreamedCertificate(problem, np.zeros(5), 0.0, 1.0, np.zeros(5))
    for block in problem.source.blocks():
        streamed.add(block.rows, block.labels.astype(float), np.where(y > 0, 1.0, 0.0), block.first)
    assert streamed.certificate().dual == -np.inf


def test_more_than_two_classes_are_trained_one_after_another(tmp_path):
    X, _ = overlapping(n=600, d=8)
    y = np.argmax(X[:, :3] + 0.1, axis=1) * 10
    maxmargin.write(tmp_path / "a", X, y)
    here = maxmargin.train(X, y, tol=1e-6)
    result = maxmargin.train(tmp_path / "a", solver="cached_loops", memory="8MB", tol=1e-3, threads=1)
    assert result.model.classes.tolist() == [0, 10, 20]
    assert result.certificate.primal == pytest.approx(here.certificate.primal, rel=1.1e-3)
    assert np.mean(result.model.predict(X) == here.model.predict(X)) > 0.98


@pytest.mark.parametrize("solver", ["cached_loops", "selective_blocks"])
def test_blocks_of_a_block_file_may_be_larger_than_the_cache(file, tmp_path, solver):
    convert(open_source(file), tmp_path / "rows.arrow")
    result = maxmargin.train(tmp_path / "rows.arrow", solver=solver, memory=TIGHT, C=0.1, tol=1e-3, threads=1)
    exact = maxmargin.train(file, C=0.1, tol=1e-6).certificate
    assert exact.dual * (1 - 1e-9) <= result.certificate.primal <= exact.primal * (1 + 1.1e-3)


def test_lam_counts_the_rows_first(file):
    by_lam = maxmargin.train(file, solver="cached_loops", memory=TIGHT, lam=1 / 600, tol=1e-2, threads=1)
    by_C = maxmargin.train(file, solver="cached_loops", memory=TIGHT, C=0.1, tol=1e-2, threads=1)
    assert by_lam.model.training["C"] == pytest.approx(0.1)
    assert np.array_equal(by_lam.model.w, by_C.model.w)


def test_auto_streams_a_file_that_does_not_fit_and_reads_one_that_does(file):
    assert maxmargin.train(file, memory=TIGHT, tol=1e-2).solver == "cached_loops"
    assert maxmargin.train(file, memory="1GB", tol=1e-2).solver != "cached_loops"


def test_dual_variables_go_to_a_file_when_memory_is_short(file, monkeypatch):
    monkeypatch.setattr(Budget, "on_disk", lambda self, n, d: True)
    result = maxmargin.train(file, solver="cached_loops", memory=TIGHT, C=0.1, tol=1e-3, threads=1)
    assert result.status is maxmargin.Status.CONVERGED


def test_features_that_come_late_may_send_the_dual_variables_to_a_file(tmp_path):
    rng = np.random.default_rng(0)
    n, d = 20_000, 100_000
    X = sparse.csr_array(rng.normal(size=(n, 3)).round(3))
    X.resize(n, d)
    X = sparse.vstack([X, sparse.csr_array(([1.0], ([0], [d - 1])), (1, d))], "csr")
    path = tmp_path / "late.svm"
    maxmargin.write(path, X, np.where(X[:, [0]].toarray()[:, 0] > 0, 1, -1))
    result = maxmargin.train(path, solver="cached_loops", memory="8MB", C=0.1, tol=1e-2, threads=1)
    assert result.status is maxmargin.Status.CONVERGED
    assert isinstance(memory_of(result.alpha), FileMap)
    exact = maxmargin.train(X, np.where(X[:, [0]].toarray()[:, 0] > 0, 1, -1), C=0.1, tol=1e-6).certificate
    assert exact.dual <= result.certificate.primal <= exact.primal * (1 + 1.1e-2)


@given(n=st.integers(1, 10**8), d=st.integers(1, 10**8), more=st.floats(1.0, 100.0))
def test_more_memory_is_never_too_little(n, d, more):
    least = Budget(LEAST).least(n, d)
    assert Budget(int(least * more)).for_rows(n, d) > 0
    assert least <= LEAST or not Budget(int(least / 1.2)).holds(n, d)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": "lots"}, "is not a size"),
        ({"memory": "1kB"}, "must be at least"),
        ({"memory": -5}, "is not a size"),
        ({"memory": True}, "is not a size"),
        ({"options": {"evict": "all"}}, "evict='all' is not known"),
        ({"options": {"speed": 2}}, "has no option 'speed'"),
        ({"C": np.inf}, r"C=inf \(lam=0\) is not for files"),
        ({"kernel": "gaussian"}, "kernel is not for files"),
        ({"weights": np.ones(6000)}, "cached_loops has no weights"),
    ],
)
def test_what_cannot_be_is_refused(file, options, message):
    with pytest.raises((ParameterError, RefusedError), match=message):
        maxmargin.train(file, solver="cached_loops", **options)


@pytest.mark.parametrize(
    ("solver", "options", "message"),
    [
        ("block_minimization", {"sweeps": 0}, "sweeps=0 must be"),
        ("selective_blocks", {"sweeps": 1.5}, r"sweeps=1\.5 must be"),
        ("selective_blocks", {"keep": 1.0}, r"keep=1\.0 must be"),
    ],
)
def test_wrong_options_of_its_forerunners_are_refused(file, solver, options, message):
    with pytest.raises(ParameterError, match=message):
        maxmargin.train(file, solver=solver, options=options)


def test_rows_in_memory_are_refused():
    with pytest.raises(RefusedError, match="reads rows from files"):
        maxmargin.train([[0.0], [1.0]], [0, 1], solver="cached_loops")


def test_a_budget_too_small_for_the_features_names_one_that_works(tmp_path):
    path = tmp_path / "wide.svm"
    path.write_text("1 1:1 900000:1\n-1 2:1\n" * 200)
    with pytest.raises(
        ParameterError, match=r"memory=5MB is too little for 900,000 features.* at least ([0-9.]+MB)"
    ) as said:
        maxmargin.train(path, solver="cached_loops", memory="5MB")
    enough = str(said.value).rsplit(" ", 1)[1]
    assert maxmargin.train(path, solver="cached_loops", memory=enough, tol=1e-2).status is maxmargin.Status.CONVERGED


def test_sizes_are_read_as_people_write_them():
    for text, size in (("500MB", 500e6), ("1.5 GiB", 1.5 * 2**30), (5_000_000, 5e6), ("8e6", 8e6), ("5m", 5e6)):
        assert checked_memory(text).total == int(size)
    assert checked_memory(None) is None
    assert [shown_size(size) for size in (12_345_678, 5_000_000, 999, 2e9)] == ["12.4MB", "5MB", "999B", "2GB"]


def test_a_wrong_line_deep_in_the_file_is_named_and_the_checkpoint_stays_usable(file, tmp_path):
    copy, kept = tmp_path / "rows.svm", tmp_path / "kept"
    copy.write_bytes(file.read_bytes())
    same = {"solver": "cached_loops", "memory": TIGHT, "C": 0.1, "threads": 2, "checkpoint": kept}
    first = maxmargin.train(copy, tol=1e-12, callback=lambda record: record.reading.passes >= 3, **same)
    assert first.status is maxmargin.Status.INTERRUPTED
    before, text = kept.read_bytes(), copy.read_bytes()
    lines = text.splitlines(keepends=True)
    bad = lines[5000].replace(b":", b";", 1)
    copy.write_bytes(b"".join([*lines[:5000], bad, *lines[5001:]]))
    with pytest.raises(DataError, match=r"rows\.svm:5001: "):
        maxmargin.train(copy, tol=1e-12, resume=True, **same)
    assert kept.read_bytes() == before
    copy.write_bytes(text)
    result = maxmargin.train(copy, tol=1e-3, resume=True, **same)
    assert result.status is maxmargin.Status.CONVERGED
    assert result.model.training["passes"] > first.model.training["passes"]


def test_a_checkpoint_of_another_training_is_refused(file, tmp_path):
    kept = tmp_path / "kept"
    maxmargin.train(file, solver="cached_loops", memory=TIGHT, C=0.1, tol=1e-2, checkpoint=kept)
    with pytest.raises(FileError, match=r"C was 0\.1, now 0\.2"):
        maxmargin.train(file, solver="cached_loops", memory=TIGHT, C=0.2, checkpoint=kept, resume=True)


@pytest.fixture(params=[False, True], ids=["alone", "helped"])
def helped(request, monkeypatch):
    """Whether other threads parse, also where the trainer is not without rows and memory is small."""
    if request.param:
        monkeypatch.setattr(budget, "BYTES_PER_PARSER", 1)
        monkeypatch.setattr(stream, "STARVED", -1.0)
    return request.param


def test_other_threads_parse_where_the_trainer_is_without_rows(file, helped, monkeypatch):
    block_at, threads = TextSource.block_at, set()

    def noting(self, place):
        threads.add(threading.current_thread().name)
        return block_at(self, place)

    monkeypatch.setattr(TextSource, "block_at", noting)
    result = maxmargin.train(file, solver="cached_loops", memory=TIGHT, C=0.1, tol=1e-3, threads=2)
    assert result.status is maxmargin.Status.CONVERGED
    if helped:
        assert threads
        assert "maxmargin-reader" not in threads


def test_many_support_vectors_are_in_a_file(file, monkeypatch):
    monkeypatch.setattr(Budget, "too_many", lambda self, n: True)
    result = maxmargin.train(file, solver="cached_loops", memory=TIGHT, C=0.1, tol=1e-3, threads=1)
    support, signed = result.model.support, result.model.dual_coef[0]
    assert isinstance(memory_of(support), FileMap)
    y = maxmargin.read(file)[1]
    assert np.array_equal(support, np.flatnonzero(result.alpha > 0.0))
    np.testing.assert_array_equal(signed, result.alpha[support] * y[support])


@pytest.mark.parametrize("kept_open", [0, 64])
def test_several_files_share_memory_and_few_stay_open(file, kept_open, tmp_path, monkeypatch):
    monkeypatch.setattr(source_module, "OPEN", kept_open)
    lines = file.read_text().splitlines(keepends=True)
    for part in range(6):
        (tmp_path / f"{part}.svm").write_text("".join(lines[1000 * part : 1000 * (part + 1)]))
    source = open_source(str(tmp_path / "*.svm"), capacity=1 << 15)
    places = [block.place for block in source.blocks()]
    for place in places:
        source.block_at(place)
    assert len({id(part.lender) for part in source.parts}) == 1
    assert len({id(part.task.spare) for part in source.parts}) == 1
    assert sum(len(part.streams) for part in source.parts) == (6 if kept_open else 0)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_reader_that_dies_ends_the_training_with_its_error(file, threads, helped, monkeypatch):
    block_at, calls = TextSource.block_at, []

    def dying(self, place):
        calls.append(place)
        if len(calls) == 40:
            raise OSError(5, "Input/output error")
        return block_at(self, place)

    monkeypatch.setattr(TextSource, "block_at", dying)
    with pytest.raises(OSError, match="Input/output error"):
        maxmargin.train(file, solver="cached_loops", memory=TIGHT, C=0.1, tol=1e-9, threads=threads)
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name == "maxmargin-reader" or name.startswith("maxmargin-helper")]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_file_that_shrinks_or_grows_while_training_is_an_error(file, threads, helped, tmp_path):
    for change in (lambda text: text[: len(text) // 2], lambda text: text + b"1 1:1\n"):
        copy = tmp_path / "rows.svm"
        copy.write_bytes(file.read_bytes())

        def once(record, copy=copy, change=change):
            if record.reading.passes >= 2 and copy.stat().st_size == file.stat().st_size:
                copy.write_bytes(change(file.read_bytes()))

        with pytest.raises((FileError, DataError), match=r"rows\.svm"):
            maxmargin.train(
                copy, solver="cached_loops", memory=TIGHT, C=10.0, tol=1e-12, threads=threads, callback=once,
                max_seconds=200,
            )  # fmt: skip


def test_a_checkpoint_of_other_labels_is_refused(tmp_path):
    X, y = overlapping(n=300)
    np.save(tmp_path / "X.npy", X)
    same = {"solver": "cached_loops", "memory": "8MB", "checkpoint": tmp_path / "kept", "threads": 1}
    maxmargin.train(tmp_path / "X.npy", y, **same)
    with pytest.raises(FileError, match="the checkpoint is of another run: file was"):
        maxmargin.train(tmp_path / "X.npy", -y, resume=True, **same)
    again = maxmargin.train(tmp_path / "X.npy", y, resume=True, **same)
    assert again.status is maxmargin.Status.CONVERGED
    assert again.certificate.relative_gap <= 1e-4
    once = maxmargin.train(tmp_path / "X.npy", y, resume=True, tol=1e-15, callback=lambda record: True, **same)
    assert once.status is maxmargin.Status.INTERRUPTED
    assert once.certificate.relative_gap <= 1e-3


def test_limits_leave_something_proved(file):
    result = maxmargin.train(file, solver="cached_loops", memory=TIGHT, C=0.1, tol=1e-12, threads=1, max_epochs=1)
    assert result.status is maxmargin.Status.EPOCH_LIMIT
    assert np.isfinite(result.certificate.relative_gap)
    loose = maxmargin.train(file, solver="cached_loops", memory=TIGHT, C=0.1, tol=2.0, threads=1)
    assert loose.certificate.relative_gap <= 2.0


def test_a_callback_sees_every_certificate(file):
    seen = []
    result = maxmargin.train(
        file,
        solver="cached_loops",
        memory=TIGHT,
        C=0.1,
        tol=1e-2,
        threads=1,
        callback=seen.append,
    )
    assert [record for record in seen if record in result.history] == result.history


def test_a_disk_that_is_full_leaves_the_old_checkpoint(file, tmp_path, monkeypatch):
    kept = tmp_path / "kept"
    maxmargin.train(file, solver="cached_loops", memory=TIGHT, C=0.1, tol=1e-2, threads=1, checkpoint=kept)
    before = kept.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(maxmargin.CheckpointWarning, match="No space left"):
        maxmargin.train(file, solver="cached_loops", memory=TIGHT, C=0.1, tol=1e-4, checkpoint=kept, resume=True)
    assert kept.read_bytes() == before
    assert list(tmp_path.iterdir()) == [kept]


def test_a_training_that_is_killed_goes_on_from_its_checkpoint(file, tmp_path):
    kept, model = tmp_path / "kept", tmp_path / "model"
    command = [
        sys.executable, "-c",
        "from maxmargin import cli; from maxmargin.loop import saving; saving.CHECKPOINT_SECONDS = 0.05; "
        "saving.SHARE = 0.0; cli.main()",
        "train", str(file), "--solver", "cached_loops", "--memory", TIGHT, "-c", "0.1", "--checkpoint", str(kept),
        "--model", str(model), "--quiet", "--json",
    ]  # fmt: skip
    child = subprocess.Popen([*command, "--tol", "1e-12"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not kept.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert kept.exists()
    assert not model.exists()
    done = subprocess.run([*command, "--tol", "1e-3", "--resume"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["relative_gap"] <= 1e-3
    exact = maxmargin.train(file, C=0.1, tol=1e-7).certificate
    assert found["primal"] <= exact.primal * (1 + 1.1e-3)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 3), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_with_a_model_and_a_checkpoint(file, tmp_path, number, code):
    kept, model = tmp_path / "kept", tmp_path / "model"
    child = subprocess.Popen(
        [
            sys.executable, "-m", "maxmargin", "train", str(file), "--solver", "cached_loops", "--memory", TIGHT,
            "-c", "10", "--tol", "1e-13", "--checkpoint", str(kept), "--model", str(model),
        ],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    lines = []
    for line in child.stderr:
        lines.append(line)
        if "pass " in line and "pass 1 " not in line and "pass 2 " not in line:
            break
    child.send_signal(number)
    said, errors = child.communicate(timeout=60)
    assert child.returncode == code, (lines, errors)
    assert "interrupted" in said
    assert kept.exists()
    assert np.isfinite(maxmargin.load(model).certificate.primal)


@pytest.mark.parametrize("solver", ["cached_loops", "block_minimization", "selective_blocks"])
def test_memory_is_kept(solver, tmp_path):
    rng = np.random.default_rng(0)
    n, d = 60_000, 3000
    X = sparse.random(n, d, 0.02, "csr", rng=rng)
    y = np.where(X @ rng.normal(size=d) > 0, 1, -1)
    path, small = tmp_path / "rows.svm", tmp_path / "small.svm"
    maxmargin.write(path, X, y)
    maxmargin.write(small, X[:300], y[:300])
    code = """
import sys, maxmargin
from pathlib import Path
def most():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
same = dict(solver=sys.argv[4], memory=sys.argv[3], C=0.1, bias="none", threads=2)
maxmargin.train(sys.argv[2], tol=1e-2, **same)
Path("/proc/self/clear_refs").write_text("5")
before = most()
result = maxmargin.train(sys.argv[1], tol=1e-2, max_seconds=200, **same)
print(most() - before, result.status.name)
"""
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("the peak of memory is asked of Linux")
    budget = 12_000_000
    assert path.stat().st_size > 4 * budget
    command = [sys.executable, "-c", code, str(path), str(small), str(budget), solver]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    taken, status = done.stdout.split()
    assert status == "CONVERGED"
    assert int(taken) <= 1.1 * budget


def test_steps_in_the_cache_go_with_what_they_gain():
    trainer = CacheTrainer(None, np.random.default_rng(0), active=True)
    counts = {}
    for held in (0.4, 0.6):
        trainer.from_coming, trainer.from_held = 1.0, held
        counts[held] = [trainer.steps_for(1000) for _ in range(100)]
    assert counts[0.4] == sorted(counts[0.4], reverse=True)
    assert counts[0.4][-1] == 125
    assert counts[0.6] == sorted(counts[0.6])
    assert counts[0.6][-1] == 8000

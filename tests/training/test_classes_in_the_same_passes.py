"""Several classes from a file that does not fit in memory: dual steps for all of them in the same passes."""

import time
from threading import enumerate as all_threads

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin
from maxmargin.data.shared_reader import SharedReader
from maxmargin.errors import FileError
from maxmargin.problems.stream import Stream
from maxmargin.status import Status
from maxmargin.system.budget import LEAST
from maxmargin.training import streamed
from maxmargin.training.streamed import classes_at_once

GIVEN = {"memory": 4 * LEAST, "solver": "cached_loops", "options": {"go_on": False}}


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random_array((3000, 50), density=0.1, rng=rng, format="csr")
    y = np.argmax(X @ rng.normal(size=(50, 4)) + 0.1 * rng.normal(size=(3000, 4)), axis=1)
    maxmargin.write(tmp_path / "rows.svm", X, y)
    return tmp_path / "rows.svm"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_four_classes_take_the_passes_of_the_slowest(path, threads, loss):
    result = maxmargin.train(path, loss=loss, threads=threads, **GIVEN)
    alone = maxmargin.train(*maxmargin.read(path), loss=loss, tol=1e-6)
    assert result.status is Status.CONVERGED
    assert result.certificate.primal == pytest.approx(alone.certificate.primal, rel=2e-3)
    assert result.certificate.dual <= alone.certificate.primal
    passes = [part.history[-1].reading.passes for part in result.parts]
    assert result.model.training["passes"] <= max(passes) + 1


def test_with_one_thread_the_same_seed_gives_the_same_bits(path):
    first, second = (maxmargin.train(path, threads=1, seed=3, **GIVEN) for _ in range(2))
    assert first.model.w.tobytes() == second.model.w.tobytes()


def test_fewer_classes_share_the_passes_where_memory_is_short(path, monkeypatch):
    monkeypatch.setattr(streamed, "classes_at_once", lambda *_: 2)
    assert maxmargin.train(path, **GIVEN).status is Status.CONVERGED


def test_as_many_classes_share_the_passes_as_memory_holds():
    budget = streamed.Budget(4 * LEAST)
    assert classes_at_once(budget, 1000, 10, 3) == 3
    assert classes_at_once(budget, 1000, 10, 30) == 4
    assert classes_at_once(budget, 1000, 10**9, 30) == 1


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_of_one_class_ends_all(path, threads, monkeypatch):
    """A class whose pass fails leaves no other class waiting for it."""
    calls, end_pass = [], Stream.end_pass

    def fail_later(self, end):
        calls.append(self.name)
        if len(calls) == 6:
            raise FileError("the file is gone")
        end_pass(self, end)

    monkeypatch.setattr(Stream, "end_pass", fail_later)
    with pytest.raises(FileError, match="the file is gone"):
        maxmargin.train(path, threads=threads, tol=1e-9, **GIVEN)
    assert not any(thread.name == "maxmargin-reader" for thread in all_threads())


def test_a_problem_that_cannot_begin_ends_all(path, monkeypatch):
    begun, own = [], Stream.__init__

    def fail_third(self, *given, **named):
        begun.append(self)
        if len(begun) == 3:
            raise FileError("no memory for the third class")
        own(self, *given, **named)

    monkeypatch.setattr(Stream, "__init__", fail_third)
    with pytest.raises(FileError, match="third class"):
        maxmargin.train(path, tol=1e-9, max_seconds=60.0, **GIVEN)


def test_an_error_of_the_file_reaches_the_user(path, monkeypatch):
    blocks = SharedReader.next_of
    calls = []

    def fail_later(self, items):
        calls.append(1)
        if len(calls) > 10:
            raise FileError("cannot be read")
        return blocks(self, items)

    monkeypatch.setattr(SharedReader, "next_of", fail_later)
    with pytest.raises(FileError, match="cannot be read"):
        maxmargin.train(path, tol=1e-9, **GIVEN)


def test_a_callback_ends_all_classes(path):
    result = maxmargin.train(path, tol=1e-9, callback=lambda record: record.reading.passes >= 2, **GIVEN)
    assert result.status is Status.INTERRUPTED
    assert len(result.parts) == 4


def test_each_class_is_resumed_from_its_own_checkpoint(path, tmp_path):
    given = {**GIVEN, "checkpoint": tmp_path / "kept", "tol": 1e-4}
    early = maxmargin.train(path, callback=lambda record: record.reading.passes >= 3, **given)
    assert early.status is Status.INTERRUPTED
    assert sorted(one.name for one in tmp_path.glob("kept.*")) == [f"kept.{k}" for k in range(4)]
    assert maxmargin.train(path, resume=True, **given).status is Status.CONVERGED


def test_the_time_of_classes_that_share_passes_is_counted_once(path):
    began = time.perf_counter()
    result = maxmargin.train(path, threads=2, **GIVEN)
    assert result.seconds <= time.perf_counter() - began


def test_rows_sorted_by_class_are_learned_from_a_file_that_is_read_in_order(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(8), 150)
    centres = (rng.random((8, 400)) < 0.05) * rng.normal(size=(8, 400))
    X = sp.csr_array(centres[y] + (rng.random((1200, 400)) < 0.1) * rng.normal(size=(1200, 400)))
    maxmargin.write(tmp_path / "rows.svm.gz", X, y)
    given = {**GIVEN, "memory": 8 * LEAST}
    for threads in (1, 2):
        assert maxmargin.train(tmp_path / "rows.svm.gz", threads=threads, **given).status is Status.CONVERGED

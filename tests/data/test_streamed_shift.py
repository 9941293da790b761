"""Columns far from 0 in files that are streamed: found, shifted, kept in model and checkpoint."""

from fractions import Fraction

import numpy as np
import pytest
from exact import fractions, linear_dual, linear_primal
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import EVERY_LOSS, timestamps
from scipy import sparse

import maxmargin
from maxmargin.cli import run
from maxmargin.data.columns import centre_of, shifted
from maxmargin.data.far_columns import Shift, first_far
from maxmargin.data.open_source import open_source
from maxmargin.data.tables.block_file import convert
from maxmargin.data.take import take
from maxmargin.errors import FileError
from maxmargin.loop import checkpoint
from maxmargin.problems.losses import find_loss
from maxmargin.problems.streamed import Streamed, find_shift
from maxmargin.status import Status
from maxmargin.system.tensor_file import read_tensors, write_tensors
from maxmargin.training import streamed

SOLVERS = ("cached_loops", "block_minimization", "selective_blocks")
KINDS = ("svm", "svm.zst", "csv", "parquet", "arrow", "npy")
SAME = {"solver": "cached_loops", "memory": "8MB", "threads": 1}
NEVER = bool  # a `stop` that is false whenever it is asked


def written(folder, kind, X, y):
    """The rows in a file of that kind, and what `train` needs beside its name."""
    path = folder / f"rows.{kind}"
    if kind.startswith("svm"):
        maxmargin.write(path, X, y)
    elif kind == "npy":
        np.save(path, X)
        return {"X": path, "y": y}
    elif kind == "arrow":
        maxmargin.write(folder / "rows.svm", X, y)
        convert(open_source(folder / "rows.svm", capacity=1 << 10), path)
    elif kind == "csv":
        lines = [",".join(map(repr, [int(label), *row.tolist()])) for row, label in zip(X, y, strict=True)]
        path.write_text("\n".join(["label,time,b,c,d", *lines, ""]))
    else:
        frame(X, y).to_parquet(path)
    return {"X": path}


def frame(X, y):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(X, columns=["time", "b", "c", "d"]).assign(label=y)


def streamed_problem(path, bias="free", capacity=1 << 10, **options):
    return Streamed(open_source(path, capacity=capacity, **options), 1.0, find_loss("hinge"), bias)


def check_exactly(result, X, y, tol=1e-4):
    """In exact arithmetic P ≤ primal, dual ≤ P* and P − P* ≤ tol P; P* lies between the objectives found in memory."""
    known, C = maxmargin.train(X, y, tol=1e-9, threads=1), np.ones(len(y))
    above = linear_primal(known.model, X, y, C, "hinge", "free")
    below = linear_dual(known.alpha, X, y, C, "hinge", "free")
    primal = linear_primal(result.model, X, y, C, "hinge", "free")
    decided = linear_primal(result.model, X, y, C, "hinge", "free", scores=fractions(result.model.decide(X)))
    assert max(primal, decided) <= Fraction(result.certificate.primal)
    assert Fraction(result.certificate.dual) <= above
    assert primal - below <= Fraction(tol) * primal


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_timestamp_in_a_file_converges_to_a_true_gap(solver, kind, tmp_path):
    X, y = timestamps(26)
    data = written(tmp_path, kind, X, y)
    for threads in (1, 2):
        result = maxmargin.train(**data, solver=solver, memory="8MB", threads=threads, encode="none")
        assert result.status is Status.CONVERGED
        assert np.flatnonzero(result.model.centre).tolist() == [0]
        assert result.model.centre[0] == centre_of(take(X))[0]
        check_exactly(result, X, y)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", EVERY_LOSS)
def test_it_decides_like_the_model_that_was_trained_in_memory(solver, loss, tmp_path):
    X, y = timestamps(27)
    maxmargin.write(tmp_path / "rows.svm", X, y)
    here = maxmargin.train(X, y, loss=loss, tol=1e-9).model
    there = maxmargin.train(
        tmp_path / "rows.svm", loss=loss, tol=1e-8, solver=solver, memory="8MB", threads=1
    )  # fmt: skip
    assert there.status is Status.CONVERGED
    np.testing.assert_allclose(there.model.decide(X), here.decide(X), atol=5e-3)
    np.testing.assert_allclose(there.model.decide(sparse.csr_array(X)), there.model.decide(X), rtol=1e-12)


def test_files_are_predicted_and_scored_by_a_model_with_a_centre(tmp_path, capsys):
    X, y = timestamps(26)
    maxmargin.write(tmp_path / "rows.svm", X, y)
    model, out = tmp_path / "model", tmp_path / "values.txt"
    assert run(["train", str(tmp_path / "rows.svm"), "--solver", "cached_loops", "--model", str(model), "-q"]) == 0
    assert run(["predict", str(model), str(tmp_path / "rows.svm"), "--what", "decisions", "-o", str(out)]) == 0
    assert run(["score", str(model), str(tmp_path / "rows.svm")]) == 0
    np.testing.assert_allclose(np.loadtxt(out), maxmargin.load(model).decide(X), rtol=1e-12)


def test_more_than_two_classes_share_one_centre(tmp_path, monkeypatch):
    X, _ = timestamps(28)
    y = np.argmax(X[:, 1:], axis=1)
    maxmargin.write(tmp_path / "rows.svm", X, y)
    found, readings = streamed.find_shift, []

    def noting(*given):
        readings.append(found(*given))
        return readings[-1]

    monkeypatch.setattr(streamed, "find_shift", noting)
    there = maxmargin.train(tmp_path / "rows.svm", tol=1e-7, **SAME)
    here = maxmargin.train(X, y, tol=1e-9)
    assert there.status is Status.CONVERGED
    assert len(readings) == 2  # once until a third class was seen, once for the three
    np.testing.assert_array_equal(there.model.centre, here.model.centre)
    np.testing.assert_allclose(there.model.decide(X), here.model.decide(X), atol=1e-2)


def test_a_class_that_was_stopped_before_it_knew_the_centre_decides_as_it_did(tmp_path, monkeypatch):
    X, _ = timestamps(28)
    y = np.argmax(X[:, 1:], axis=1)
    convert_to = tmp_path / "rows.arrow"
    maxmargin.write(tmp_path / "rows.svm", X, y)
    convert(open_source(tmp_path / "rows.svm"), convert_to)
    found, answers = streamed.find_shift, [None]
    monkeypatch.setattr(streamed, "find_shift", lambda *given: answers.pop() if answers else found(*given))
    result = maxmargin.train(convert_to, max_epochs=200, options={"go_on": False}, **SAME)
    assert result.parts[0].certificate.primal == np.inf
    assert result.certificate.primal == np.inf
    values = X @ result.parts[0].w + result.parts[0].b - result.model.centre @ result.parts[0].w
    np.testing.assert_allclose(result.model.decide(X)[:, 0], values, atol=1e-3 * np.abs(X).max() * 1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_run_that_was_interrupted_goes_on_around_its_centre(solver, tmp_path, monkeypatch):
    X, y = timestamps(26)
    maxmargin.write(tmp_path / "rows.svm", X, y)
    same = {"solver": solver, "memory": "8MB", "threads": 1, "checkpoint": tmp_path / "kept"}
    first = maxmargin.train(tmp_path / "rows.svm", tol=1e-12, callback=lambda r: r.reading.passes >= 3, **same)
    assert first.status is Status.INTERRUPTED
    assert first.model.centre is not None

    def again(*_):
        raise AssertionError("the checkpoint knows the centre")

    monkeypatch.setattr(streamed, "find_shift", again)
    result = maxmargin.train(tmp_path / "rows.svm", resume=True, **same)
    assert result.status is Status.CONVERGED
    assert result.history[: len(first.history)] == first.history
    np.testing.assert_array_equal(result.model.centre, first.model.centre)
    check_exactly(result, X, y)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("shifted", np.array([7])),
        ("shifted", np.array([-1])),
        ("shifted", np.array([0.0])),
        ("shifted", np.array([0, 1])),
        ("centre", np.array([np.nan])),
        ("centre", np.array([0.0])),
    ],
)
def test_a_checkpoint_with_a_wrong_centre_is_refused(name, wrong, tmp_path):
    X, y = timestamps(26)
    maxmargin.write(tmp_path / "rows.svm", X, y)
    kept = tmp_path / "kept"
    maxmargin.train(tmp_path / "rows.svm", checkpoint=kept, **SAME)
    tensors, words = read_tensors(kept, checkpoint.KIND)
    write_tensors(kept, checkpoint.KIND, {**tensors, f"state.{name}": wrong}, words)
    with pytest.raises(FileError, match="was not written by maxmargin"):
        maxmargin.train(tmp_path / "rows.svm", checkpoint=kept, resume=True, **SAME)


def test_a_checkpoint_that_shifts_without_a_free_bias_is_refused(tmp_path):
    X, y = timestamps(26)
    maxmargin.write(tmp_path / "rows.svm", X - [1.7e12, 0, 0, 0], y)
    kept, same = tmp_path / "kept", {"solver": "cached_loops", "bias": "none", "threads": 1, "max_epochs": 3}
    maxmargin.train(tmp_path / "rows.svm", checkpoint=kept, **same)
    tensors, words = read_tensors(kept, checkpoint.KIND)
    shift = {"state.shifted": np.array([0]), "state.centre": np.array([40.0])}
    write_tensors(kept, checkpoint.KIND, {**tensors, **shift}, words)
    with pytest.raises(FileError, match="was not written by maxmargin"):
        maxmargin.train(tmp_path / "rows.svm", checkpoint=kept, resume=True, **same)


def test_a_centre_that_does_not_fit_the_rows_is_an_error(tmp_path):
    X, y = timestamps(26)
    maxmargin.write(tmp_path / "rows.svm", X, y)
    kept = tmp_path / "kept"
    maxmargin.train(tmp_path / "rows.svm", checkpoint=kept, **SAME)
    tensors, words = read_tensors(kept, checkpoint.KIND)
    write_tensors(kept, checkpoint.KIND, {**tensors, "state.centre": np.array([1e12])}, words)
    with pytest.raises(FileError, match="far from 0 is not so now: the file has changed"):
        maxmargin.train(tmp_path / "rows.svm", checkpoint=kept, resume=True, tol=1e-9, **SAME)


def blocks_read(problem, monkeypatch):
    """How many blocks are read to look for a shift, and the shift."""
    blocks, count = problem.source.blocks, []

    def counting():
        for block in blocks():
            count.append(block)
            yield block

    monkeypatch.setattr(problem.source, "blocks", counting)
    shift = find_shift(problem, np.inf, NEVER)
    return len(count), shift


def test_an_ordinary_file_is_read_no_further_than_its_first_block(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) * [1.0, 1e9, 1.0, 1.0]
    X[:, 3] = 1.0  # far from 0, and too small to matter
    maxmargin.write(tmp_path / "rows.svm", X, np.sign(X[:, 0]))
    assert blocks_read(streamed_problem(tmp_path / "rows.svm"), monkeypatch) == (1, None)


@pytest.mark.parametrize("late", [0.0, 2e12, -1.7e12])
def test_a_value_that_comes_late_shows_that_a_column_is_not_far_from_0(late, tmp_path, monkeypatch):
    X, y = timestamps(26)
    X[50, 0] = late
    for rows in (X, sparse.csr_array(X)):
        maxmargin.write(tmp_path / "rows.svm", rows, y)
        count, shift = blocks_read(streamed_problem(tmp_path / "rows.svm"), monkeypatch)
        assert count > 2
        assert shift is None


def test_a_column_that_is_not_far_from_0_leaves_the_others_shifted(tmp_path):
    X, y = timestamps(26)
    X[:, 2] = 5e8 + np.arange(60) * 1e7  # in order: any few of them are alike
    maxmargin.write(tmp_path / "rows.svm", X, y)
    shift = find_shift(streamed_problem(tmp_path / "rows.svm"), np.inf, NEVER)
    assert shift.columns.tolist() == [0]


def test_columns_are_shifted_for_a_free_bias_only(tmp_path):
    X, y = timestamps(26)
    maxmargin.write(tmp_path / "rows.svm", X, y)
    for bias in ("none", "regularised"):
        assert find_shift(streamed_problem(tmp_path / "rows.svm", bias), np.inf, NEVER) is None


def test_a_time_limit_ends_the_search_for_columns_far_from_0(tmp_path):
    X, y = timestamps(26)
    maxmargin.write(tmp_path / "rows.svm", X, y)
    asked = []
    assert find_shift(streamed_problem(tmp_path / "rows.svm"), np.inf, lambda: asked.append(1) or True) is None
    assert len(asked) == 1
    result = maxmargin.train(tmp_path / "rows.svm", max_seconds=1e-9, **SAME)
    assert result.status is Status.TIME_LIMIT
    assert result.model.centre is None
    assert result.certificate.gap == np.inf


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([np.float32, np.float64]))
def test_blocks_are_shifted_exactly_and_like_all_rows_at_once(seed, dtype):
    rng = np.random.default_rng(seed)
    X = (rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(3, 12) + rng.normal(size=(30, 4))).astype(dtype)
    X[:, 1] = rng.normal(size=30)
    for kind in (np.asarray, sparse.csr_array):
        found = first_far(take(kind(X[:10])))
        for part in (X[10:11], X[11:]):
            found = found.narrowed(take(kind(part)))
        centre = centre_of(take(X))
        assert np.array_equal(found.shift.centre(4), centre)
        moved = found.shift.apply(take(kind(X)))
        assert moved.values.dtype == dtype
        assert np.array_equal(moved.values, shifted(take(kind(X)), centre).values)
        back = moved.values.reshape(X.shape).astype(np.longdouble) + centre
        assert np.array_equal(back.astype(dtype), X)


def test_rows_that_a_shift_does_not_fit_are_told():
    X = np.array([[1e9, 1.0], [1e9 + 1, 2.0]])
    shift = Shift(np.array([0]), np.array([1e9]))
    assert shift.apply(take(X)).values.tolist() == [[0.0, 1.0], [1.0, 2.0]]
    assert X[0, 0] == 1e9
    for wrong in ([[0.0, 1.0]], [[2e9, 1.0]], [[-1e9, 1.0]]):
        for kind in (np.asarray, sparse.csr_array):
            assert shift.apply(take(kind(np.array([*X.tolist(), *wrong])))) is None
    assert Shift(np.array([1]), np.array([1e9])).apply(take(X[:, :1])) is None


def test_neither_narrower_rows_nor_huge_values_end_the_search_with_an_error():
    far = np.array([[1e9, 1e9], [1e9, 1e9]])
    assert first_far(take(far)).narrowed(take(far[:, :1])).columns.tolist() == [0]
    assert first_far(take(np.array([[1e308, 1e9], [-1e308, 1e9]]))).columns.tolist() == [1]


def test_features_made_on_the_fly_are_shifted_too(tmp_path):
    X, y = timestamps(26)
    maxmargin.write(tmp_path / "rows.svm", X, y)
    there = maxmargin.train(tmp_path / "rows.svm", expand="hash:16", tol=1e-7, **SAME)
    here = maxmargin.train(X, y, expand="hash:16", tol=1e-9)
    assert there.status is Status.CONVERGED
    np.testing.assert_array_equal(np.flatnonzero(there.model.centre), np.flatnonzero(here.model.centre))
    np.testing.assert_allclose(there.model.decide(X), here.model.decide(X), atol=1e-2)


@pytest.mark.parametrize(("kind", "named"), [("svm", "column 0 (counted from 0)"), ("parquet", "column 0 'time'")])
def test_rounding_names_the_column_of_a_file(kind, named, tmp_path):
    X, y = timestamps(26)
    X[:, 0] -= 1.7e12 - 2000.0
    data = written(tmp_path, kind, X, y)
    result = maxmargin.train(**data, bias="regularised", C=1e-6, tol=1e-14, encode="none", **SAME)
    assert result.status is Status.ROUNDING
    assert f"{named} lies around 2e+03: subtract its mean" in result.advice

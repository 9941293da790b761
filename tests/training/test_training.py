import gzip

import numpy as np
import pandas as pd
import pytest
from problems import EVERY_BIAS, EVERY_LOSS, overlapping, posed
from scipy import sparse

import maxmargin
from maxmargin.data.labels import encode
from maxmargin.errors import DataError, FileError, ParameterError, RefusedError
from maxmargin.multiclass import each_against_rest


@pytest.mark.parametrize("loss", EVERY_LOSS)
@pytest.mark.parametrize("bias", EVERY_BIAS)
def test_every_loss_and_bias_is_certified_by_auto(loss, bias):
    X, y = overlapping(n=300)
    result = maxmargin.train(X, y, loss=loss, bias=bias, tol=1e-6)
    assert result.status is maxmargin.Status.CONVERGED
    assert result.certificate.relative_gap <= 1e-6
    assert result.certificate.gap == pytest.approx(result.certificate.primal - result.certificate.dual)
    assert result.solver in result.model.training.values()
    assert result.why
    assert result.seconds > 0
    assert result.epochs > 0
    assert result.alpha.shape == (300,)
    assert result.history[-1].best == result.certificate
    assert (bias == "none") == (result.model.b[0] == 0)


def test_a_file_and_its_arrays_give_the_same_model(tmp_path):
    X, y = overlapping()
    maxmargin.write(tmp_path / "data.svm.gz", sparse.csr_array(X), y)
    from_file = maxmargin.train(tmp_path / "data.svm.gz")
    from_text = maxmargin.train(str(tmp_path / "data.svm.gz"))
    from_arrays = maxmargin.train(sparse.csr_array(X), y)
    assert np.array_equal(from_file.model.w, from_arrays.model.w)
    assert np.array_equal(from_file.model.w, from_text.model.w)


def test_read_gives_what_write_was_given(tmp_path):
    X, y = overlapping()
    maxmargin.write(tmp_path / "data.svm", X, y.astype(int))
    X_back, y_back = maxmargin.read(tmp_path / "data.svm")
    assert np.array_equal(X_back.toarray(), X)
    assert np.array_equal(y_back, y)
    with pytest.raises(DataError, match="3 labels, but X has 60 rows"):
        maxmargin.write(tmp_path / "data.svm", X, [1, 2, 3])


def test_more_than_two_classes_are_one_against_the_rest_each_certified():
    X, _ = overlapping(n=200)
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5])
    result = maxmargin.train(X, y, tol=1e-5)
    assert result.model.w.shape == (3, 5)
    assert result.alpha.shape == (3, 200)
    assert len(result.parts) == 3
    for k, part in enumerate(result.parts):
        alone = maxmargin.train(X, y == k, tol=1e-5)
        assert part.certificate.relative_gap <= 1e-5
        assert np.array_equal(alone.model.w[0], part.w)
    assert result.certificate.primal == pytest.approx(sum(part.certificate.primal for part in result.parts), rel=1e-14)
    assert np.mean(result.model.predict(X) == y) > 0.6
    assert {record.problem for record in result.history} == {f"{k} against the rest" for k in range(3)}


def test_the_problem_of_a_class_is_made_when_it_is_asked_for():
    X, y = overlapping(n=30)
    problem, codes = posed(X, y), np.arange(30) % 3
    problems = each_against_rest(problem, np.array(["a", "b", "c"]), codes)
    assert len(problems) == len(list(problems)) == 3
    assert problems[0] is not problems[0]
    assert problems[-1].name == "c against the rest"
    assert np.array_equal(problems[1].y, np.where(codes == 1, 1.0, -1.0))
    assert problems[1].squared_norms is problem.squared_norms


def test_a_time_limit_is_shared_among_classes():
    X, _ = overlapping(n=3000, d=20)
    y = np.arange(3000) % 4
    maxmargin.train(X, y, max_epochs=1, solver="dual_pairs")
    result = maxmargin.train(X, y, tol=1e-15, C=1e4, max_seconds=0.8, solver="dual_pairs")
    assert result.status is maxmargin.Status.TIME_LIMIT
    assert all(part.epochs > 1 for part in result.parts)


def test_an_interrupt_leaves_the_other_classes_certified_at_their_start():
    X, _ = overlapping(n=500, d=20)
    result = maxmargin.train(X, np.arange(500) % 3, C=1e3, tol=1e-12, callback=lambda record: True)
    assert result.status is maxmargin.Status.INTERRUPTED
    assert [part.epochs > 0 for part in result.parts] == [True, False, False]
    assert np.all(np.isfinite(result.model.decide(X)))
    assert "2 of 3 classes had not begun" in result.advice


def test_checkpoints_of_several_classes_resume_to_the_same_model(tmp_path):
    X, _ = overlapping(n=300)
    y = np.arange(300) % 3
    whole = maxmargin.train(X, y, tol=1e-6)
    path = tmp_path / "run"
    stopped = maxmargin.train(X, y, tol=1e-6, max_epochs=0.1, checkpoint=path)
    assert stopped.status is maxmargin.Status.EPOCH_LIMIT
    resumed = maxmargin.train(X, y, tol=1e-6, checkpoint=path, resume=True)
    assert np.array_equal(whole.model.w, resumed.model.w)


def test_weights_are_repetitions():
    X, y = overlapping(n=30)
    counts = np.arange(30) % 3
    weighted = maxmargin.train(X, y, weights=counts)
    repeated = maxmargin.train(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.certificate.primal == pytest.approx(repeated.certificate.primal, rel=1e-10)
    np.testing.assert_allclose(weighted.model.w, repeated.model.w, atol=1e-6)


def test_a_warm_start_saves_epochs():
    X, y = overlapping(n=3000, d=20)
    cold = maxmargin.train(X, y, C=10.0, tol=1e-6)
    warm = maxmargin.train(X, y, C=10.0, tol=1e-6, warm=cold)
    assert warm.epochs < cold.epochs / 2
    nearby = maxmargin.train(X, y, C=9.0, tol=1e-6, warm=cold)
    assert nearby.certificate.relative_gap <= 1e-6
    with pytest.raises(ParameterError, match="warm is of 3000 rows"):
        maxmargin.train(X[:100], y[:100], warm=cold)
    with pytest.raises(ParameterError, match=r"warm is of \d+ features"):
        maxmargin.train(X[:, :2], y, warm=cold)


def test_data_frames_and_lists_are_welcome():
    X, y = overlapping()
    named = pd.Series(np.where(y > 0, "yes", "no"))
    model = maxmargin.train(pd.DataFrame(X), named, encode="none").model
    assert set(model.predict(X)) <= {"yes", "no"}
    assert np.array_equal(maxmargin.train(X.tolist(), named.tolist()).model.w, model.w)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"C": -1.0}, "C=-1.0 must be a positive"),
        ({"C": 0.0}, "C=0.0 must be a positive"),
        ({"C": np.nan}, "C=nan must be"),
        ({"C": "big"}, "C='big' must be"),
        ({"lam": -1.0}, "lam=-1.0 must be"),
        ({"lam": 1.0, "C": 2.0}, "give one of them"),
        ({"tol": 0.0}, "tol=0.0 must be"),
        ({"tol": -1e-3}, "tol=-0.001 must be"),
        ({"tol": np.nan}, "tol=nan must be"),
        ({"max_seconds": 0}, "max_seconds=0 must be"),
        ({"max_epochs": -1}, "max_epochs=-1 must be"),
        ({"seed": -1}, "seed=-1 must be"),
        ({"seed": 1.5}, "seed=1.5 must be"),
        ({"threads": 0}, "threads=0 must be"),
        ({"loss": "hinges"}, "choose one of hinge"),
        ({"bias": "yes"}, "choose one of none, regularised, free"),
        ({"bias_scale": 0.0}, "bias_scale=0.0 must be"),
        ({"bias_scale": "a"}, "bias_scale='a' must be"),
        ({"C": True}, "C=True must be"),
        ({"solver": "magic"}, "choose auto or one of"),
        ({"resume": True}, "needs checkpoint"),
        ({"loss": ["hinge"]}, "choose one of hinge"),
        ({"bias_scale": 1e200}, r"bias_scale=1e\+200 must be"),
        ({"lam": 1e308}, r"makes C = 1/\(n lam\) = 0.0"),
        ({"seed": True}, "seed=True must be"),
        ({"warm": 3}, "warm=3 must be"),
        ({"solver": "pegasos", "options": {"size": 3}}, "no option 'size'"),
    ],
)
def test_a_bad_parameter_is_named_with_its_value(options, words):
    with pytest.raises(ParameterError, match=words):
        maxmargin.train(*overlapping(), **options)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.ones((3, 2)), [1, 1, 1], "1 class only, 1"),
        (np.ones((3, 2)), [1, -1], "2 labels, but X has 3 rows"),
        (np.ones((3, 2)), None, "y is missing"),
        (np.ones((0, 2)), [], "0 rows"),
        (np.ones((2, 2)), [1.0, np.nan], r"y\[1\] is nan"),
        (np.ones((2, 2)), ["a", None], r"y\[1\] is None"),
        (np.ones((2, 2)), np.array(["a", 1], dtype=object), "mixes text and numbers"),
        (np.ones((2, 2)), [[1, 0], [0, 1]], "shape"),
        ([[1.0, np.nan], [1.0, 2.0]], [0, 1], "row 0, column 1"),
        (sparse.csr_array([[1.0, 0.0, 2.0], [0.0, 0.0, np.inf]]), [0, 1], "row 1, column 2"),
        (np.ones((3, 2)), ["a", "b", float("nan")], r"y\[2\] is nan"),
        (np.ones((2, 2)), [1, "a"], "mixes text and numbers"),
        (np.ones((2, 2)), np.array(["a", np.float32("nan")], dtype=object), r"y\[1\] is nan"),
        (np.ones((2, 2)), [b"a", b"b"], "cannot be kept in a model"),
        (np.ones((2, 2)), [2**70, 2**71], "cannot be kept in a model"),
        (np.ones((2, 2)), np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"), "cannot be kept"),
        (np.ones((2, 2)), ["a", "\ud800"], "not valid Unicode"),
        (np.array([[1.0, 2.0], [1e160, 0.0]]), [0, 1], "row 1 .* squares overflow"),
        (np.ma.masked_array(np.ones((2, 2)), [[0, 1], [0, 0]]), [0, 1], "masked"),
    ],
)
def test_bad_data_are_refused(X, y, words):
    with pytest.raises(DataError, match=words):
        maxmargin.train(X, y)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0, 2.0], "shape"),
        (["a"] * 4, "not numbers"),
        ([1.0, -1.0, 1.0, 1.0], r"weights\[1\]"),
        ([0.0, 0.0, 1.0, 1.0], "one class are zero"),
    ],
)
def test_bad_weights_are_refused(weights, words):
    with pytest.raises(DataError, match=words):
        maxmargin.train(np.eye(4), [0, 0, 1, 1], weights=weights)


def test_a_solver_that_cannot_says_which_can():
    with pytest.raises(RefusedError, match="dual_coordinate"):
        maxmargin.train(*overlapping(), bias="free", solver="pegasos")


def test_labels_beside_a_file_are_refused(tmp_path):
    with pytest.raises(DataError, match="brings its own labels"):
        maxmargin.train(tmp_path / "x.svm", [1, 2])


def test_a_checkpoint_that_cannot_be_written_is_refused_before_training(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        maxmargin.train(*overlapping(), checkpoint=tmp_path / "nowhere" / "run")


def test_a_compressed_file_cut_short_is_refused(tmp_path):
    whole = gzip.compress(b"1 1:2 3:4\n-1 2:5\n" * 2000)
    (tmp_path / "cut.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match="cut short"):
        maxmargin.train(tmp_path / "cut.gz")


def test_the_file_of_a_single_class_is_refused(tmp_path):
    (tmp_path / "one.svm").write_text("1 1:2\n1 2:3\n")
    with pytest.raises(DataError, match="1 class only, 1"):
        maxmargin.train(tmp_path / "one.svm")


def test_a_constant_column_of_any_size_ends():
    X, y = overlapping(n=50)
    X[:, 2] = 1e17
    for loss in EVERY_LOSS:
        assert maxmargin.train(X, y, loss=loss, max_seconds=2).status in set(maxmargin.Status)


@pytest.mark.parametrize("loss", EVERY_LOSS)
@pytest.mark.parametrize("C", [1e-200, 1e-8])
def test_a_tiny_C_is_certified(loss, C):
    certificate = maxmargin.train(*overlapping(), loss=loss, C=C).certificate
    assert -1e-9 <= certificate.relative_gap <= 1e-4


def test_auto_takes_newton_where_it_is_fast():
    X, y = overlapping(n=2400, d=5)
    assert maxmargin.train(X, y, loss="logistic").solver == "newton"
    assert maxmargin.train(X, y, loss="hinge").solver == "second_order"
    assert maxmargin.train(X[:200], y[:200], loss="logistic").solver == "small_newton"
    assert maxmargin.train(X[:3], y[:3], loss="logistic").solver == "small_newton"
    assert maxmargin.train(X[:40] + 20, y[:40], loss="hinge").solver == "small_smo"


@pytest.mark.parametrize("y", [[2, -3, 2], [0.5, 0.5, -1.0], np.array([7, 9, 9], "u1"), [1, 2, 3], [4, 4, 4.5]])
def test_labels_are_numbered_as_if_they_were_sorted(y):
    classes, codes = encode(y, 3)
    expected_classes, expected_codes = np.unique(y, return_inverse=True)
    assert classes.dtype == np.asarray(y).dtype
    assert np.array_equal(classes, expected_classes)
    assert np.array_equal(codes, expected_codes)

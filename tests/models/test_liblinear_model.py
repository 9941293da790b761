"""LIBLINEAR's model files: written, read back, read as a person would read them, and refused when damaged."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris

import maxmargin
from maxmargin import FileError, MaxmarginError, ParameterError
from maxmargin.models.liblinear_text import CLASSIFIERS

iris = load_iris()
X, y = iris.data - iris.data.mean(axis=0), iris.target
new = np.vstack([X[::2] + 0.1, np.zeros((1, 4))])
LABELS = [(-1, 1), (1, 2), (7, 3), (0, 1, 2), (5, -2, 9)]
TWO = "solver_type L2R_L2LOSS_SVC\nnr_class 2\nlabel 3 7\nnr_feature 2\nbias 2\nw\n0.5 \n-1 \n0.25 \n"
THREE = "solver_type L2R_LR\nnr_class 3\nlabel 7 -3 4\nnr_feature 2\nbias -1\nw\n1 2 3 \n4 5 6 \n"
CRAMMER_SINGER = "solver_type MCSVM_CS\nnr_class 2\nlabel 1 2\nnr_feature 1\nbias -1\nw\n1 -1 \n"
REGRESSION = "solver_type L2R_L2LOSS_SVR\nnr_class 2\nnr_feature 2\nbias 1\nw\n2 \n3 \n-1 \n"
ONE_CLASS = "solver_type ONECLASS_SVM\nnr_class 2\nnr_feature 2\nbias -1\nrho 1.5\nw\n1 \n1 \n"


def load(folder, text):
    (folder / "x.model").write_bytes(text if isinstance(text, bytes) else text.encode())
    return maxmargin.load(folder / "x.model")


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("bias", ["free", "none", "regularised"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_a_model_comes_back(tmp_path, labels, loss, bias, storage):
    some = y < len(labels)
    model = maxmargin.train(storage(X[some]), np.array(labels)[y[some]], loss=loss, bias=bias).model
    maxmargin.write_liblinear_model(model, tmp_path / "x.model")
    again = maxmargin.load(tmp_path / "x.model")
    assert again.decide(storage(new)) == pytest.approx(model.decide(new), abs=1e-12)
    assert np.array_equal(again.predict(storage(new)), model.predict(new))
    assert again.classes.tolist() == sorted(labels)
    assert again.certificate.gap == np.inf  # LIBLINEAR's files hold none
    if loss == "logistic":
        assert again.probabilities(storage(new)) == pytest.approx(model.probabilities(new), abs=1e-12)
    first = (tmp_path / "x.model").read_bytes()
    maxmargin.write_liblinear_model(again, tmp_path / "x.model")
    assert (tmp_path / "x.model").read_bytes() == first


@pytest.mark.parametrize("kind", [maxmargin.SVR, maxmargin.NuSVR, maxmargin.OneClassSVM])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_a_function_with_a_linear_kernel_comes_back(tmp_path, kind, storage):
    model = kind(kernel="linear").fit(storage(X + 3.0), X[:, 0]).model_
    maxmargin.write_liblinear_model(model, tmp_path / "x.model")
    again = maxmargin.load(tmp_path / "x.model")
    assert again.decide(storage(new)) == pytest.approx(model.decide(new), abs=1e-9)
    again.save(tmp_path / "x.safetensors")
    assert np.array_equal(maxmargin.load(tmp_path / "x.safetensors").decide(new), again.decide(new))


def test_the_first_of_two_labels_is_the_positive_one(tmp_path):
    model = load(tmp_path, TWO)
    x = np.array([[1.0, 10.0], [10.0, 1.0]])
    values = 0.5 * x[:, 0] - 1.0 * x[:, 1] + 2 * 0.25
    assert model.decide(x) == pytest.approx(-values)
    assert model.predict(x).tolist() == [7, 3]
    assert model.loss == "squared_hinge"


def test_labels_in_any_order_are_put_in_order(tmp_path):
    model = load(tmp_path, THREE)
    assert model.classes.tolist() == [-3, 4, 7]
    assert model.decide([[1.0, 10.0]])[0] == pytest.approx([52.0, 63.0, 41.0])
    assert model.probabilities([[0.0, 0.1]])[0] == pytest.approx(
        np.array([1 / (1 + np.exp(-v)) for v in (0.5, 0.6, 0.4)]) / sum(1 / (1 + np.exp(-v)) for v in (0.5, 0.6, 0.4))
    )


def test_rows_of_zeros_get_the_label_that_liblinear_gives_them(tmp_path):
    zeros = np.zeros((1, 2))
    assert load(tmp_path, THREE).predict(zeros).tolist() == [7]  # the first of three
    for labels, last in (("3 7", 7), ("7 3", 3)):  # the second of two
        text = f"solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel {labels}\nnr_feature 2\nbias -1\nw\n1 \n2 \n"
        assert load(tmp_path, text).predict(zeros).tolist() == [last]


def test_other_kinds_of_models_are_read(tmp_path):
    assert load(tmp_path, CRAMMER_SINGER).predict([[1.0], [-1.0]]).tolist() == [1, 2]
    assert load(tmp_path, REGRESSION).predict([[1.0, 1.0]]).tolist() == [4.0]
    assert load(tmp_path, ONE_CLASS).predict([[1.0, 1.0], [0.5, 0.5]]).tolist() == [1, -1]
    for name, loss in CLASSIFIERS.items():
        if name != "MCSVM_CS":
            assert load(tmp_path, THREE.replace("L2R_LR", name)).loss == loss
    empty = "solver_type L2R_LR\nnr_class 2\nlabel 1 2\nnr_feature 0\nbias 1\nw\n-1 \n"
    assert load(tmp_path, empty).predict(np.zeros((1, 0))).tolist() == [2]


def test_what_liblinear_does_not_know_is_refused(tmp_path):
    some = y < 2
    target = tmp_path / "x.model"
    for model, words in (
        (maxmargin.train(X[some], np.where(y[some] == 0, "no", "yes")).model, "whole numbers as labels"),
        (maxmargin.train(X[some], y[some] + 2**40).model, "whole numbers as labels"),
        (maxmargin.train(X[some], y[some], expand="poly2").model, "expand='poly2'"),
        (maxmargin.train(X[some], y[some], kernel="linear").model, "write_libsvm_model"),
        (maxmargin.SVR().fit(X, y).model_, "write_libsvm_model"),
    ):
        with pytest.raises(ParameterError, match=words) as caught:
            maxmargin.write_liblinear_model(model, target)
        assert "\n" not in str(caught.value)
    assert not target.exists()


def test_only_a_liblinear_model_is_replaced(tmp_path):
    model = maxmargin.train(X, y).model
    (tmp_path / "x.model").write_text("notes of mine\n")
    with pytest.raises(FileError, match="not a LIBLINEAR model"):
        maxmargin.write_liblinear_model(model, tmp_path / "x.model")
    maxmargin.write_liblinear_model(model, tmp_path / "x.model", force=True)
    with pytest.raises(FileError, match="is a LIBLINEAR model"):
        model.save(tmp_path / "x.model")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("L2R_L2LOSS_SVC", "L2R_CUBIC", r":6: solver_type 'L2R_CUBIC' is not one of L2R_LR"),
        ("nr_class 2", "nr_class 3", "nr_class is 3, and label names 2"),
        ("nr_class 2", "nr_class two", "nr_class 'two' is not a whole number"),
        ("nr_class 2\nlabel 3 7", "nr_class 1\nlabel 3", "nr_class is 1"),
        ("label 3 7", "label 3 3", "label names 1"),
        ("label 3 7", "label 3 1e3", "label '1e3' is not a whole number"),
        ("label 3 7", "label 3 99999999999", "is not a whole number from"),
        ("label 3 7\n", "", "label names 0"),
        ("nr_feature 2\n", "", "nr_feature is missing"),
        ("nr_feature 2", "nr_feature 2 3", ":4: nr_feature is followed by 2 values"),
        ("nr_feature 2", "nr_feature -1", "nr_feature '-1' is not a whole number from 0"),
        ("nr_feature 2", "nr_feature 2147483647", "cannot be in the"),
        ("nr_feature 2", "nr_feature 2\nnr_feature 2", ":5: nr_feature is there twice"),
        ("nr_feature 2", "nr_feature 1", "text after the weights"),
        ("bias 2", "bias inf", "bias 'inf' is not a finite number"),
        ("bias 2", "bias 2\nrho 1", "rho belongs to ONECLASS_SVM"),
        ("bias 2", "colour 2", ":5: 'colour' is not part of a header"),
        ("-1 ", "nan ", ":8: weight 'nan' is not a finite number"),
        ("-1 ", "1_0 ", ":8: weight '1_0' is not a finite number"),
        ("-1 ", "-1 2 ", ":8: 2 weights"),
        ("-1 ", "", ":8: 0 weights"),
        ("0.25 \n", "0.2", ":9: the file ends within a line"),
        ("bias 2", "bias 1e308", "not finite: train again"),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(tmp_path, old, new, words):
    text = TWO.replace(old, new).replace("0.25", "25") if "308" in new else TWO.replace(old, new)
    with pytest.raises(FileError, match=words) as caught:
        load(tmp_path, text)
    assert str(tmp_path / "x.model") in str(caught.value)
    assert "\n" not in str(caught.value)


WHOLE = [TWO, THREE, CRAMMER_SINGER, REGRESSION, ONE_CLASS]
EDGES = st.sampled_from([b"", b"-1", b"0", b"1e309", b"nan", b"2147483648", b"1_0", b"\xff", b"\n", b" ", b"9" * 40])


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(WHOLE), st.integers(0, 200), st.integers(0, 12), EDGES)
def test_a_mutated_file_is_read_or_refused_in_one_line(tmp_path_factory, text, start, length, edge):
    data = text.encode()
    mutant = data[: start % len(data)] + edge + data[start % len(data) + length :]
    folder = tmp_path_factory.mktemp("mutant")
    refused = ""
    try:
        model = load(folder, mutant)
        model.predict(np.zeros((1, min(model.d, 9))))
    except MaxmarginError as error:
        refused = str(error)
    assert "\n" not in refused


@pytest.mark.parametrize("text", WHOLE)
def test_a_truncated_file_is_refused(tmp_path, text):
    for end in range(len("solver_type"), len(text) - 1):
        with pytest.raises(FileError):
            load(tmp_path, text[:end])


@pytest.mark.parametrize("labels", LABELS, ids=str)
@pytest.mark.parametrize("bias", [-1, 2])
@pytest.mark.parametrize("solver", range(8))
def test_liblinear_itself_predicts_the_same(tmp_path, solver, bias, labels):
    liblinear = pytest.importorskip("liblinear.liblinearutil")
    some, path = y < len(labels), str(tmp_path / "x.model")
    theirs = liblinear.train(np.array(labels)[y[some]], X[some], f"-s {solver} -B {bias} -q")
    liblinear.save_model(path, theirs)
    model = maxmargin.load(path)
    expected, _, _ = liblinear.predict([], new, theirs, "-q")
    assert model.predict(new).tolist() == expected
    maxmargin.write_liblinear_model(model, path)
    found, _, _ = liblinear.predict([], new, liblinear.load_model(path), "-q")
    assert found == expected

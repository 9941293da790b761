"""LIBSVM's model files: written, read back, and read as a person would read them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

import maxmargin
from maxmargin import FileError, ParameterError

digits = load_digits()
X, y = digits.data[:300] / 16.0, digits.target[:300]
test = digits.data[300:500] / 16.0
KERNELS = [
    {"kernel": "gaussian", "gamma": 0.3},
    {"kernel": "linear"},
    {"kernel": "polynomial", "degree": 2, "gamma": 0.1, "coef0": 1.0},
    {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.0},
]


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("settings", KERNELS, ids=lambda settings: settings["kernel"])
def test_a_model_comes_back(tmp_path, settings, storage):
    some = y < 4
    model = maxmargin.train(storage(X[some]), y[some], **settings).model
    maxmargin.write_libsvm_model(model, tmp_path / "model")
    again = maxmargin.load(tmp_path / "model")
    assert again.decide_pairs(sparse.csr_matrix(test)) == pytest.approx(model.decide_pairs(test), abs=1e-12)
    assert np.array_equal(again.predict(sparse.csr_matrix(test)), model.predict(test))
    assert again.certificate.gap == np.inf  # LIBSVM's files hold none


def test_labels_in_any_order_are_put_in_order(tmp_path):
    """The same machine with its classes, pairs, coefficients and rho as LIBSVM writes them, worked out by hand."""
    text = (
        "svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 3\nrho 0.5 -1 2\nlabel 7 -3 4\nnr_sv 1 1 1\nSV\n"
        "1 2 1:1\n-1 3 2:1\n-2 -3 1:1 3:1\n"
    )
    (tmp_path / "model").write_text(text)
    model = maxmargin.load(tmp_path / "model")
    assert model.classes.tolist() == [-3, 4, 7]
    x = np.array([1.0, 10.0, 100.0])
    seven_three = 1 * x[0] - 1 * x[1] - 0.5
    seven_four = 2 * x[0] - 2 * (x[0] + x[2]) + 1
    three_four = 3 * x[1] - 3 * (x[0] + x[2]) - 2
    assert model.decide_pairs(x[None, :])[0] == pytest.approx([three_four, -seven_three, -seven_four])


CIRCLE = (
    "svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 3\nrho -1 1 -1\nlabel 7 -3 4\nnr_sv 1 1 1\nSV\n"
    "1 1 1:1\n-1 1 1:1\n-1 -1 1:1\n"
)


def test_a_tie_goes_to_the_first_label_of_the_file(tmp_path):
    (tmp_path / "model").write_text(CIRCLE)  # 7 beats -3, 4 beats 7, -3 beats 4: a vote for each
    model = maxmargin.load(tmp_path / "model")
    assert model.predict([[0.0]]).tolist() == [7]
    model.save(tmp_path / "safe")
    assert maxmargin.load(tmp_path / "safe").predict([[0.0]]).tolist() == [7]
    maxmargin.write_libsvm_model(model, tmp_path / "model")
    assert "label 7 -3 4\n" in (tmp_path / "model").read_text()
    assert maxmargin.load(tmp_path / "model").predict([[0.0]]).tolist() == [7]
    for wrong in ([0, 0, 1], [0, 1], "210", [True, 0, 2], None):
        model.training["tie_order"] = wrong
        model.save(tmp_path / "safe")
        with pytest.raises(FileError, match="tie_order"):
            maxmargin.load(tmp_path / "safe")


@pytest.mark.parametrize("kind", [maxmargin.SVR, maxmargin.NuSVR, maxmargin.OneClassSVM])
def test_a_function_comes_back_twice(tmp_path, kind):
    model = kind(gamma=0.3).fit(X, y).model_
    for _ in range(2):
        maxmargin.write_libsvm_model(model, tmp_path / "model")
        again = maxmargin.load(tmp_path / "model")
        assert again.decide(sparse.csr_matrix(test)) == pytest.approx(model.decide(test), abs=1e-10)
        assert again.formulation == model.formulation
        model = again


@pytest.mark.filterwarnings("ignore:The `probability` parameter is deprecated:FutureWarning")
@pytest.mark.parametrize("kind", [maxmargin.SVC, maxmargin.NuSVC])
def test_probabilities_come_back(tmp_path, kind):
    some = y < 3
    settings = {"nu": 0.1} if kind is maxmargin.NuSVC else {}
    model = kind(probability=True, **settings).fit(X[some], y[some]).result_.model
    maxmargin.write_libsvm_model(model, tmp_path / "model")
    again = maxmargin.load(tmp_path / "model")
    assert again.training["formulation"] == model.training["formulation"]
    assert again.probabilities(sparse.csr_matrix(test)) == pytest.approx(model.probabilities(test), abs=1e-10)


def test_what_is_written_is_what_libsvm_reads(tmp_path):
    some = y < 2
    model = maxmargin.train(X[some], y[some], kernel="gaussian", gamma=0.3).model
    maxmargin.write_libsvm_model(model, tmp_path / "model")
    lines = (tmp_path / "model").read_text().splitlines()
    facts = {line.split()[0]: line.split()[1:] for line in lines[: lines.index("SV")]}
    assert facts["svm_type"] == ["c_svc"]
    assert facts["kernel_type"] == ["rbf"]
    assert facts["label"] == ["0", "1"]
    total = -float(facts["rho"][0]) * np.ones(len(test))
    for line in lines[lines.index("SV") + 1 :]:
        coefficient, *pairs = line.split()
        vector = np.zeros(64)
        for pair in pairs:
            index, value = pair.split(":")
            vector[int(index) - 1] = float(value)
        total += float(coefficient) * np.exp(-0.3 * ((test - vector) ** 2).sum(axis=1))
    assert total == pytest.approx(-model.decide(test), abs=1e-10)  # LIBSVM's is above zero for the first label


def test_a_precomputed_kernel_is_written_by_row_numbers(tmp_path):
    some = y < 3
    K = X[some] @ X[some].T
    model = maxmargin.train(K, y[some], kernel="precomputed").model
    maxmargin.write_libsvm_model(model, tmp_path / "model")
    again = maxmargin.load(tmp_path / "model")
    wide = (test @ X[some].T)[:, : again.d]
    assert again.decide_pairs(wide) == pytest.approx(model.decide_pairs(test @ X[some].T), abs=1e-10)


def test_what_libsvm_does_not_know_is_refused(tmp_path):
    some = y < 2
    names = np.where(y[some] == 0, "no", "yes")
    with pytest.raises(ParameterError, match="whole numbers as labels"):
        maxmargin.write_libsvm_model(maxmargin.train(X[some], names, kernel="linear").model, tmp_path / "model")
    custom = maxmargin.train(X[some], y[some], kernel=lambda A, B: A @ B.T).model
    with pytest.raises(ParameterError, match="knows no kernel"):
        maxmargin.write_libsvm_model(custom, tmp_path / "model")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("svm_type c_svc\n", "no line SV"),
        ("svm_type two_class\nSV\n", "type two_class"),
        ("svm_type c_svc\nkernel_type rbf\nSV\n", "no whole LIBSVM model"),
        ("svm_type c_svc\nkernel_type cubic\nrho 0\nlabel 1 2\nnr_sv 1 1\nSV\n1 1:1\n-1 1:2\n", "cubic"),
        ("svm_type c_svc\nkernel_type linear\nrho 0\nlabel 1 2\nnr_sv 1 2\nSV\n1 1:1\n-1 1:2\n", "do not fit together"),
        ("svm_type c_svc\nkernel_type linear\nrho 0\nlabel 1 2\nnr_sv 1 1\nSV\n1 1:a\n-1 1:2\n", "no whole"),
        ("svm_type c_svc\nkernel_type linear\nrho 0\nlabel 1 2\nnr_sv 1 1\nSV\n1 0:1\n-1 1:2\n", "counted from 1"),
    ],
)
def test_a_file_that_is_no_whole_model_is_refused(tmp_path, text, words):
    (tmp_path / "model").write_text(text)
    with pytest.raises(FileError, match=words):
        maxmargin.load(tmp_path / "model")

"""Regression, novelty detection and weights of classes, through `train` and on the command line."""

import json

import numpy as np
import pytest
from problems import overlapping
from sklearn import svm

import maxmargin
from maxmargin.cli import run

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
z = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=80)
LABELS = np.array(["no", "yes"])[(X[:, 0] + 0.5 * rng.normal(size=80) > 0.3).astype(int)]


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_regression_is_that_of_libsvm(kernel):
    found = maxmargin.train(X, z, task="regress", kernel=kernel, C=3.0, epsilon=0.05, tol=1e-8)
    known = svm.SVR(kernel=kernel.replace("gaussian", "rbf"), C=3.0, epsilon=0.05, tol=1e-8).fit(X, z)
    assert found.status is maxmargin.Status.CONVERGED
    np.testing.assert_allclose(found.model.predict(X), known.predict(X), atol=1e-4)
    assert found.model.training["task"] == "regress"


def test_regression_and_novelty_detection_are_linear_without_a_kernel():
    for given in ({"y": z, "task": "regress"}, {"task": "novelty", "nu": 0.2}):
        plain, linear = maxmargin.train(X, **given), maxmargin.train(X, **given, kernel="linear")
        np.testing.assert_array_equal(plain.model.decide(X), linear.model.decide(X))


def test_nu_takes_the_place_of_epsilon_and_of_c():
    found = maxmargin.train(X, z, task="regress", kernel="rbf", nu=0.4, tol=1e-8).model
    known = svm.NuSVR(nu=0.4, tol=1e-8).fit(X, z)
    np.testing.assert_allclose(found.predict(X), known.predict(X), atol=1e-4)
    found = maxmargin.train(X, LABELS, kernel="rbf", nu=0.4, tol=1e-8).model
    known = svm.NuSVC(nu=0.4, tol=1e-8).fit(X, LABELS)
    np.testing.assert_allclose(found.decide(X), known.decision_function(X), atol=1e-3)


def test_novelty_detection_is_that_of_libsvm():
    found = maxmargin.train(X, task="novelty", kernel="gaussian", nu=0.2, tol=1e-8).model
    known = svm.OneClassSVM(nu=0.2, tol=1e-8).fit(X)
    np.testing.assert_allclose(found.decide(X), known.decision_function(X), atol=1e-4)
    assert maxmargin.train(X, task="novelty").model.training["nu"] == 0.5


@pytest.mark.parametrize("given", [
    {}, {"loss": "logistic"}, {"kernel": "gaussian", "gamma": 0.5},
    {"kernel": "rbf", "gamma": 0.5, "approx": "nystrom", "components": 20},
])  # fmt: skip
def test_weights_of_classes_are_weights_of_their_examples(given):
    weights = np.where(LABELS == "yes", 3.0, 0.5)
    one = maxmargin.train(X, LABELS, class_weight={"yes": 3.0, "no": 0.5}, tol=1e-8, **given)
    other = maxmargin.train(X, LABELS, weights=weights, tol=1e-8, **given)
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-6)
    count = np.where(LABELS == "yes", np.sum(LABELS == "yes"), np.sum(LABELS == "no"))
    balanced = maxmargin.train(X, LABELS, class_weight="balanced", tol=1e-8)
    assert balanced.certificate.primal == pytest.approx(
        maxmargin.train(X, LABELS, weights=80 / (2 * count), tol=1e-8).certificate.primal, rel=1e-6
    )


@pytest.mark.parametrize(("given", "reason"), [
    ({"y": LABELS, "task": "regress"}, "a regression needs a number for each row"),
    ({"y": [*z[:-1], np.nan], "task": "regress"}, r"y\[79\] is nan"),
    ({"task": "regress"}, "y is missing"),
    ({"y": z[:-1], "task": "regress"}, "79 labels, but X has 80 rows"),
    ({"y": LABELS, "class_weight": {"maybe": 2.0}}, "class_weight names the class maybe"),
    ({"y": LABELS, "class_weight": {"yes": -2.0}}, "class_weight of class 'yes' is -2.0"),
])  # fmt: skip
def test_what_a_task_cannot_use_is_refused(given, reason):
    with pytest.raises(maxmargin.MaxmarginError, match=reason):
        maxmargin.train(X, **given)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ["a,b,c,target", *(",".join(map(str, [*row, value])) for row, value in zip(X, z, strict=True))]
    (tmp_path / "numbers.csv").write_text("\n".join(lines) + "\n")
    maxmargin.write("rows.svm", X, np.where(LABELS == "yes", 1, -1))


def test_the_command_line_regresses_predicts_and_scores(files, capsys):
    assert (
        run(
            [
                *[
                    "train",
                    "numbers.csv",
                    "--task",
                    "regress",
                    "--epsilon",
                    "0.01",
                    "-c",
                    "10",
                    "--encode",
                    "none",
                    "-q",
                    "--json",
                ]
            ]
        )
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert told["status"] == "CONVERGED"
    assert "classes" not in told
    assert run(["score", "numbers.safetensors", "numbers.csv", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    predicted = maxmargin.load("numbers.safetensors").predict(X)
    assert figures["mae"] == pytest.approx(np.mean(np.abs(predicted - z)))
    assert figures["r2"] == pytest.approx(1.0 - np.mean((predicted - z) ** 2) / np.var(z))
    assert run(["score", "numbers.safetensors", "numbers.csv"]) == 0
    assert "mean absolute error" in capsys.readouterr().out
    assert run(["predict", "numbers.safetensors", "numbers.csv"]) == 0
    assert np.allclose([float(line) for line in capsys.readouterr().out.split()], predicted)
    assert run(["inspect", "numbers.safetensors"]) == 0
    assert "epsilon-SVR" in capsys.readouterr().out


def test_the_command_line_finds_outliers(files, capsys):
    assert run(["train", "rows.svm", "--task", "novelty", "--kernel", "gaussian", "--nu", "0.2", "-q"]) == 0
    capsys.readouterr()
    assert run(["score", "rows.safetensors", "rows.svm", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    outside = int(np.sum(maxmargin.load("rows.safetensors").predict(X) < 0))
    right = float(np.mean(maxmargin.load("rows.safetensors").predict(X) == np.where(LABELS == "yes", 1, -1)))
    assert figures == {"outliers": outside, "share": outside / 80, "n": 80, "accuracy": right}
    assert run(["score", "rows.safetensors", "rows.svm"]) == 0
    assert capsys.readouterr().out.startswith("outliers ")


def test_the_command_line_weighs_classes(files, capsys):
    for weight in ("balanced", "1=2,-1=0.5"):
        assert run(["train", "rows.svm", "--class-weight", weight, "-q", "--force"]) == 0
        assert maxmargin.load("rows.safetensors").training["weighted"]
    assert run(["train", "rows.svm", "--class-weight", "7=2", "-q", "--force"]) == 1
    assert "class_weight names the class 7" in capsys.readouterr().err


def test_a_task_for_rows_that_do_not_fit_is_refused(files):
    with pytest.raises(maxmargin.RefusedError, match="task='regress' is not for files that do not fit"):
        maxmargin.train("numbers.csv", task="regress", solver="cached_loops")


def test_several_classes_have_weights():
    X, _ = overlapping()
    labels = np.arange(len(X)) % 3
    weights = np.array([1.0, 2.0, 0.5])
    one = maxmargin.train(X, labels, class_weight=dict(enumerate(weights)), tol=1e-8).certificate.primal
    other = maxmargin.train(X, labels, weights=weights[labels], tol=1e-8).certificate.primal
    assert one == pytest.approx(other, rel=1e-6)

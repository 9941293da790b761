"""Ordinary programs run with maxmargin in the place of `sklearn.svm`: only the module of the classes changes.

Each program receives the module as `svm` and returns a score, outputs whose shapes must agree, and predictions. Where
both packages solve the same problem, the predictions must agree too. They may differ for LinearSVC: our intercept is
not regularised, unless `intercept_scaling` is given.
"""

import warnings
from typing import Any, NamedTuple

import joblib
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import sklearn.svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.inspection import DecisionBoundaryDisplay, permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, learning_curve, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import maxmargin

NOISE = 0.02  # of a score: three of 150 examples
SAME = 0.98  # of the predictions, where the problem is the same: scikit-learn's tolerance leaves ties undecided
CLOSE = 0.01  # of the range of predicted numbers


class Outcome(NamedTuple):
    """What a program computes."""

    score: float
    predictions: Any
    outputs: tuple = ()
    is_same_problem: bool = True


def split_iris():
    return train_test_split(*load_iris(return_X_y=True), test_size=0.4, random_state=0)


def split_cancer():
    return train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)


def pipeline(svm, folder):
    X, X_test, y, y_test = split_cancer()
    model = make_pipeline(StandardScaler(), svm.SVC(gamma="auto"))
    model.fit(X, y)
    return Outcome(model.score(X_test, y_test), model.predict(X_test), (model.decision_function(X_test),))


def grid_search(svm, folder):
    X, X_test, y, _ = split_iris()
    model = Pipeline([("scale", StandardScaler()), ("svm", svm.SVC())])
    grid = [
        {"svm__kernel": ["rbf"], "svm__gamma": [1e-2, 1e-1, "scale"], "svm__C": [1, 10, 100]},
        {"svm__kernel": ["linear"], "svm__C": [1, 10, 100]},
    ]
    search = GridSearchCV(model, grid, cv=5, scoring="f1_macro").fit(X, y)
    outputs = (search.cv_results_["mean_test_score"], search.decision_function(X_test))
    return Outcome(search.best_score_, [], outputs)


def cross_validation(svm, folder):
    X, y = load_iris(return_X_y=True)
    model = svm.LinearSVC(dual="auto", random_state=0, max_iter=5000)
    scores = cross_val_score(model, X, y, cv=5)
    return Outcome(scores.mean(), cross_val_predict(model, X, y, cv=5), (scores,), is_same_problem=False)


def calibration(svm, folder):
    X, X_test, y, y_test = split_cancer()
    model = make_pipeline(StandardScaler(), CalibratedClassifierCV(svm.LinearSVC(random_state=0), cv=3)).fit(X, y)
    return Outcome(model.score(X_test, y_test), model.predict(X_test), (model.predict_proba(X_test),), False)


def one_vs_rest(svm, folder):
    X, X_test, y, y_test = split_iris()
    names = load_iris().target_names
    model = OneVsRestClassifier(svm.SVC(kernel="linear", C=0.5)).fit(X, names[y])
    outputs = (model.decision_function(X_test), model.estimators_[0].coef_, model.estimators_[0].intercept_)
    return Outcome(model.score(X_test, names[y_test]), model.predict(X_test), outputs)


def voting(svm, folder):
    X, X_test, y, y_test = split_iris()
    models = [
        ("kernel", svm.SVC(C=1.0, kernel="poly", degree=2, random_state=0)),
        ("linear", make_pipeline(StandardScaler(), svm.LinearSVC("l2", "hinge", C=1.0, max_iter=10_000))),
        ("tree", DecisionTreeClassifier(max_depth=4, random_state=0)),
    ]
    model = VotingClassifier(models, voting="hard").fit(X, y)
    return Outcome(model.score(X_test, y_test), model.predict(X_test), (model.transform(X_test),), False)


def importances(svm, folder):
    X, X_test, y, y_test = split_iris()
    model = svm.NuSVC(nu=0.2, max_iter=-1, verbose=False).fit(X, y)
    found = permutation_importance(model, X_test, y_test, n_repeats=5, random_state=0)
    outputs = (found.importances, model.support_vectors_[:0], model.n_support_)
    return Outcome(model.score(X_test, y_test), model.predict(X_test), outputs)


def curve(svm, folder):
    X, y = load_digits(return_X_y=True)
    model = svm.SVC(gamma=0.001, cache_size=500)
    sizes, trained, tested = learning_curve(model, X[:600], y[:600], train_sizes=[0.3, 1.0], cv=3)
    return Outcome(tested[-1].mean(), [], (sizes, trained, tested))


def text(svm, folder):
    documents, labels = messages()
    model = make_pipeline(TfidfVectorizer(sublinear_tf=True), svm.LinearSVC(C=1.0, penalty="l2", tol=1e-3))
    model.fit(documents[:200], labels[:200])
    weights = model[-1].coef_
    score = model.score(documents[200:], labels[200:])
    return Outcome(score, model.predict(documents[200:]), (weights, model[-1].intercept_, model[-1].classes_), False)


def boundary(svm, folder):
    X, y = load_iris(return_X_y=True)
    mpl.use("Agg")
    model = svm.SVC(kernel="rbf", gamma=0.7, C=1.0).fit(X[:, :2], y)
    shown = DecisionBoundaryDisplay.from_estimator(model, X[:, :2], response_method="predict", grid_resolution=40)
    mpl.pyplot.close(shown.figure_)
    return Outcome(model.score(X[:, :2], y), shown.response.ravel(), (shown.xx0, shown.response))


def data_frame(svm, folder):
    frame, bought = customers()
    columns = ColumnTransformer(
        [("numbers", StandardScaler(), ["age", "income"]), ("words", OneHotEncoder(), ["town"])]
    )  # fmt: skip
    model = Pipeline([("columns", columns), ("svm", svm.SVC(class_weight="balanced"))])
    X, X_test, y, y_test = train_test_split(frame, bought, random_state=0)
    model.fit(X, y)
    named = svm.SVC().fit(frame[["age", "income"]], bought)
    outputs = (model.decision_function(X_test), named.feature_names_in_)
    return Outcome(model.score(X_test, y_test), model.predict(X_test), outputs)


def stored(svm, folder):
    X, X_test, y, y_test = train_test_split(*load_diabetes(return_X_y=True), random_state=0)
    model = make_pipeline(StandardScaler(), svm.SVR(C=100, epsilon=5, max_iter=100_000)).fit(X, y)
    joblib.dump(model, folder / "model.joblib")
    loaded = joblib.load(folder / "model.joblib")
    assert np.array_equal(loaded.predict(X_test), model.predict(X_test))
    return Outcome(loaded.score(X_test, y_test), loaded.predict(X_test), (loaded[-1].dual_coef_[:, :1],))


def transformed_target(svm, folder):
    X, X_test, y, y_test = train_test_split(*load_diabetes(return_X_y=True), random_state=0)
    regressor = make_pipeline(StandardScaler(), svm.NuSVR(nu=0.4, kernel="linear"))
    model = TransformedTargetRegressor(regressor, transformer=StandardScaler()).fit(X, y)
    return Outcome(model.score(X_test, y_test), model.predict(X_test))


def novelty(svm, folder):
    random = np.random.default_rng(0)
    X, usual, outliers = (random.normal(scale=scale, size=(200, 2)) for scale in (0.3, 0.3, 3.0))
    model = svm.OneClassSVM(nu=0.1, kernel="rbf", gamma=0.1).fit(X)
    predicted = np.concatenate([model.predict(usual), model.predict(outliers)])
    right = np.repeat([1, -1], 200)
    return Outcome(np.mean(predicted == right), predicted, (model.score_samples(usual), model.offset_))


def messages():
    """Return 300 short messages and their topics."""
    random = np.random.default_rng(0)
    words = {
        "sport": ["match", "goal", "team", "league", "coach", "win", "season"],
        "space": ["orbit", "launch", "moon", "rocket", "probe", "planet", "crew"],
        "food": ["bread", "oven", "salt", "recipe", "taste", "butter", "dinner"],
    }
    common = ["the", "a", "was", "today", "first", "new", "great", "people", "time", "still"]
    labels = random.choice(list(words), 300)
    documents = [" ".join([*random.choice(words[topic], 2), *random.choice(common, 8)]) for topic in labels]
    return documents, labels


def customers():
    """Return a data frame of 200 customers, and who bought."""
    random = np.random.default_rng(0)
    age, income = random.integers(18, 80, 200), random.lognormal(10, 0.5, 200)
    town = random.choice(["Ghent", "Lyon", "Turin"], 200)
    bought = np.where((age > 45) ^ (town == "Lyon"), "yes", "no")
    return pd.DataFrame({"age": age, "income": income, "town": town}), bought


PROGRAMS = (
    pipeline, grid_search, cross_validation, calibration, one_vs_rest, voting, importances, curve, text, boundary,
    data_frame, stored, transformed_target, novelty,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_runs_as_well_with_our_classes(program, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # scikit-learn's LinearSVC stops at max_iter
        theirs = program(sklearn.svm, tmp_path)
    ours = program(maxmargin, tmp_path)
    assert ours.score >= theirs.score - NOISE
    assert list(map(np.shape, ours.outputs)) == list(map(np.shape, theirs.outputs))
    assert np.shape(ours.predictions) == np.shape(theirs.predictions)
    if ours.is_same_problem and len(theirs.predictions):
        assert np.mean(agree(ours.predictions, theirs.predictions)) >= SAME


def agree(predictions, others):
    """Tell for each prediction whether it is the other one: the label, or a number close to it."""
    if others.dtype.kind != "f":
        return predictions == others
    return np.abs(predictions - others) <= CLOSE * np.ptp(others)

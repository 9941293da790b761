"""tune and cross_validate: every score is that of a model trained without the fold, and the choice follows the rule."""

import json
import os
import signal
from itertools import product

import numpy as np
import pandas as pd
import pytest
from problems import overlapping
from scipy import sparse
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold, cross_val_score
from sklearn.svm import SVR, NuSVC

import maxmargin
from maxmargin.data.examples import examples_of
from maxmargin.tuning import kernel_fits
from maxmargin.tuning.dropping import cannot_be_chosen, far_behind
from maxmargin.tuning.splits import splits_of
from maxmargin.tuning.table import Candidate, chosen_of
from maxmargin.tuning.tuning import tuning_in

CLOSE = 1e-7  # tol: folds are fitted to ten times it


def three_classes(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.array(["a", "b", "c"])[np.argmax(X[:, :3] + 0.7 * rng.normal(size=(n, 3)), axis=1)]


def splitter(y):
    return StratifiedKFold(4, shuffle=True, random_state=0)


def by_hand(X, y, folds, C, weights=None, **options):
    """The accuracies of models that are trained on the rows of each fold alone."""
    found = []
    for train, test in folds:
        own = None if weights is None else weights[train]
        model = maxmargin.train(X[train], y[train], C=C, weights=own, tol=1e-8, **options).model
        found.append(np.mean(model.predict(X[test]) == y[test]))
    return found


CASES = {
    "hinge": {},
    "squared_hinge": {"loss": "squared_hinge", "bias": "regularised"},
    "logistic": {"loss": "logistic", "bias": "none"},
    "gaussian": {"kernel": "gaussian", "gamma": 0.3},
    "polynomial": {"kernel": "polynomial", "gamma": 0.3, "coef0": 1.0},
    "without bias": {"kernel": "gaussian", "gamma": 0.3, "bias": "none"},
    "balanced": {"class_weight": "balanced"},
    "balanced gaussian": {"class_weight": "balanced", "kernel": "gaussian", "gamma": 0.3},
    "expanded": {"expand": "poly2"},
}


@pytest.mark.parametrize("data", ["two", "three", "sparse"])
@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_every_score_is_that_of_a_model_trained_without_the_fold(options, data):
    X, y = three_classes() if data == "three" else overlapping(n=120, d=4)
    X = sparse.csr_array(X) if data == "sparse" else X
    folds = list(splitter(y).split(X, y))
    tuned = maxmargin.tune(X, y, Cs=[0.1, 5.0], folds=folds, tol=CLOSE, refit=False, **options)
    assert [one.C for one in tuned.candidates] == [0.1, 5.0]
    for one in tuned.candidates:
        assert one.gap <= 10 * CLOSE
        assert one.scores == pytest.approx(by_hand(X, y, folds, one.C, **options))


def test_weights_count_in_training_and_not_in_scores():
    X, y = overlapping(n=120, d=4)
    weights = np.random.default_rng(0).random(120) * (np.arange(120) % 7 > 0)
    folds = list(splitter(y).split(X, y))
    for options in ({}, {"kernel": "gaussian", "gamma": 0.5}):
        found = maxmargin.cross_validate(X, y, folds=folds, weights=weights, tol=CLOSE, **options)
        assert found.scores == pytest.approx(by_hand(X, y, folds, 1.0, weights, **options))


def test_the_scores_agree_with_scikit_learn_for_the_other_formulations():
    X, y = overlapping(n=150, d=4)
    folds = list(splitter(y).split(X, y))
    ours = maxmargin.cross_validate(X, y, kernel="gaussian", gamma=0.3, nu=0.4, folds=folds, tol=CLOSE)
    assert ours.scores == pytest.approx(cross_val_score(NuSVC(nu=0.4, gamma=0.3, tol=1e-8), X, y, cv=folds))
    z = X @ np.arange(4.0) + np.sin(X[:, 0])
    folds = list(KFold(4).split(X))
    ours = maxmargin.cross_validate(X, z, task="regress", kernel="gaussian", gamma=0.3, C=5.0, folds=folds, tol=CLOSE)
    theirs = cross_val_score(SVR(C=5.0, gamma=0.3, tol=1e-8), X, z, cv=folds)
    assert ours.scores == pytest.approx(theirs, abs=1e-4)


def test_features_are_scaled_once_for_all_folds():
    X, y = overlapping(n=120, d=4)
    X *= [1.0, 100.0, 0.01, 1.0]
    for options in ({}, {"kernel": "gaussian"}):
        ours = maxmargin.tune(X, y, scale=True, **options)
        by_hand = maxmargin.tune(X / np.abs(X).max(axis=0), y, **options)
        assert [one.scores for one in ours.candidates] == [one.scores for one in by_hand.candidates]
        assert np.array_equal(ours.model.predict(X), by_hand.model.predict(X / np.abs(X).max(axis=0)))


def test_a_precomputed_kernel_gives_the_scores_of_its_kernel():
    X, y = three_classes()
    folds = list(splitter(y).split(X, y))
    ours = maxmargin.cross_validate(X @ X.T, y, kernel="precomputed", folds=folds, tol=CLOSE)
    assert ours.scores == maxmargin.cross_validate(X, y, kernel="linear", folds=folds, tol=CLOSE).scores


def test_scorers_of_scikit_learn_see_values_and_probabilities():
    X, y = overlapping(n=150, d=4)
    folds = list(splitter(y).split(X, y))
    for scoring, options in product(["roc_auc", "f1_macro", "balanced_accuracy"], [{}, {"kernel": "linear"}]):
        ours = maxmargin.cross_validate(X, y, scoring=scoring, folds=folds, tol=CLOSE, **options)
        theirs = cross_val_score(maxmargin.SVC(kernel="linear", tol=CLOSE), X, y, cv=folds, scoring=scoring)
        assert ours.scores == pytest.approx(theirs, abs=1e-3)
    ours = maxmargin.cross_validate(X, y, loss="logistic", scoring="neg_log_loss", folds=folds, tol=CLOSE)
    logistic = maxmargin.LinearSVC(loss="logistic", tol=CLOSE)
    assert ours.scores == pytest.approx(cross_val_score(logistic, X, y, cv=folds, scoring="neg_log_loss"), abs=1e-5)


def test_scores_do_not_depend_on_whether_the_kernel_matrix_is_held(monkeypatch):
    X, y = three_classes(n=200)
    options = {"kernel": "gaussian", "Cs": [0.1, 10.0], "gammas": [0.1, 1.0], "tol": CLOSE, "refit": False,
               "every_fold": True}  # fmt: skip
    held = maxmargin.tune(X, y, **options)
    monkeypatch.setattr(kernel_fits, "MATRIX_PART", 0.0)
    by_rows = maxmargin.tune(X, y, **options)
    assert [one.scores for one in held.candidates] == [one.scores for one in by_rows.candidates]


def test_repetition_does_not_change_a_bit():
    X, y = three_classes()
    for options in ({}, {"kernel": "gaussian"}):
        found = [
            maxmargin.tune(X, y, threads=threads, refit=False, **options).saved()["table"] for threads in (1, 1, 2, 2)
        ]
        for table in found:
            for row in table:
                del row["seconds"]
        assert found[0] == found[1]
        assert found[2] == found[3]


@pytest.mark.parametrize("rule", ["best", "one_standard_error"])
def test_the_rule_chooses_and_the_model_is_trained_on_all_rows(rule):
    X, y = overlapping(n=200, d=5)
    tuned = maxmargin.tune(X, y, Cs=[0.001, 0.01, 0.1, 1.0, 10.0], rule=rule)
    best = max(one.mean for one in tuned.candidates if one.complete)
    assert tuned.best.mean == best
    least = best - (tuned.best.error if rule == "one_standard_error" else 0.0)
    assert min(one.C for one in tuned.candidates if one.complete and one.mean >= least) == tuned.C
    alone = maxmargin.train(X, y, C=tuned.C)
    assert tuned.result.certificate.relative_gap <= 1e-4
    assert tuned.result.certificate.primal == pytest.approx(alone.certificate.primal, rel=2e-4)
    assert tuned.model is tuned.result.model


@pytest.mark.parametrize("threads", [1, 2])
def test_dropping_candidates_does_not_change_the_choice(threads):
    X, y = three_classes(n=300)
    for rule, options in product(["best", "one_standard_error"], [{}, {"kernel": "gaussian"}]):
        short, whole = (
            maxmargin.tune(X, y, rule=rule, refit=False, threads=threads, every_fold=every_fold, **options)
            for every_fold in (False, True)
        )
        assert (short.C, short.gamma) == (whole.C, whole.gamma)
        assert all(one.complete and not one.dropped for one in whole.candidates)
        assert all(one.complete != bool(one.dropped) for one in short.candidates)
        if options:  # a large γ learns the rows by heart
            assert any(one.dropped and " behind " in one.dropped for one in short.candidates)


def candidate(C, *scores):
    return Candidate(C, None, list(scores))


def test_ties_go_to_the_smaller_C_and_incomplete_candidates_are_not_chosen():
    table = [candidate(0.1, 0.8, 0.8), candidate(1.0, 0.9, 0.9), candidate(10.0, 0.9, 0.9), candidate(100.0, 1.0, None)]
    assert chosen_of(table, "best").C == 1.0
    assert chosen_of([candidate(1.0, None, 0.9)], "best") is None
    spread = [candidate(0.1, 0.80, 0.90), candidate(1.0, 0.82, 0.92)]
    assert chosen_of(spread, "one_standard_error").C == 0.1
    assert chosen_of(spread, "best").C == 1.0


def test_a_candidate_is_dropped_only_if_it_is_further_behind_than_chance_explains():
    complete = [candidate(C, 0.90, 0.92, 0.88, 0.91, 0.89) for C in (0.1, 1.0, 10.0)]  # a standard deviation of 0.0158
    one = candidate(100.0, None, None, None, None, None)
    for scores, rule, dropped in [
        ([0.84, None], False, False),  # 3 x 0.0158 x sqrt(2) = 0.067 on one fold
        ([0.83, None], False, True),
        ([0.83, None], True, False),  # one standard error, 0.007, more
        ([0.82, None], True, True),
        ([0.87, 0.86], False, False),  # 0.047 on two folds
        ([0.86, 0.86], False, True),
        ([None, None], False, False),
    ]:
        assert bool(far_behind(one, scores, complete, [1000] * 5, rule)) is dropped
    assert not far_behind(
        one, [0.1], complete[:2], [1000] * 5, False
    )  # two candidates tell too little of the deviation
    assert "1 fold" in far_behind(one, [0.1], complete, [1000] * 5, False)
    assert not far_behind(one, [0.77], complete, [60] * 5, False)  # 8 rows of 60


def test_a_candidate_is_dropped_if_a_simpler_one_is_as_good_as_it_can_become():
    simple, one = candidate(1.0, 0.9, 0.9), candidate(10.0, None, None)
    assert cannot_be_chosen(one, [0.8, None], [simple], 1.0)
    assert not cannot_be_chosen(one, [0.81, None], [simple], 1.0)
    assert not cannot_be_chosen(candidate(0.1, None, None), [0.1, None], [simple], 1.0)
    assert not cannot_be_chosen(one, [0.1, None], [simple], np.inf)


def test_groups_stay_together_and_a_column_of_groups_is_no_feature(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 3)), columns=["p", "q", "r"])
    frame["who"] = [f"person {k // 6}" for k in range(90)]
    frame["label"] = np.where(frame.p + rng.normal(size=90) > 0, "yes", "no")
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet")
    from_frame = maxmargin.tune(frame, label="label", groups="who", folds=3)
    assert from_frame.kind == "grouped"
    assert "who" not in [
        column["name"] for column in from_frame.model.training["encoder"]["columns"] if column.get("kind") != "left out"
    ]
    for name in ("people.csv", "people.parquet"):
        found = maxmargin.tune(tmp_path / name, groups="who", folds=3)
        assert [one.scores for one in found.candidates] == [one.scores for one in from_frame.candidates]
    X, y = overlapping(n=90, d=3)
    data = examples_of(X, y, "classify", 1)
    who = np.arange(90) // 6
    for fold in splits_of(data, 3, who, "random", 0).folds:
        assert not set(who[fold.train]) & set(who[fold.test])
    given = maxmargin.tune(X, y, folds=GroupKFold(3), groups=who, refit=False)
    assert given.kind == "given"


def test_in_time_order_each_fold_is_later_than_the_rows_it_is_trained_on():
    X, y = overlapping(n=90, d=3)
    data = examples_of(X, y, "classify", 1)
    for fold in splits_of(data, 4, None, "time", 0).folds:
        assert fold.train.max() < fold.test.min()
    assert maxmargin.tune(X, y, order="time", folds=3, refit=False).kind == "time"


def test_a_class_that_a_fold_is_trained_without_is_never_predicted_there():
    X, y = three_classes(n=60)
    first = np.flatnonzero(y == "c")
    folds = [(np.setdiff1d(np.arange(60), first), first), (np.arange(0, 60, 2), np.arange(1, 60, 2))]
    assert maxmargin.cross_validate(X, y, folds=folds).scores[0] == 0.0
    with pytest.raises(maxmargin.DataError, match="weight"):  # pairs of classes need rows of both
        maxmargin.cross_validate(X, y, folds=folds, kernel="gaussian")


def test_a_time_limit_ends_the_search_and_the_best_so_far_is_trained():
    X, y = overlapping(n=2000, d=20)
    tuned = maxmargin.tune(X, y, kernel="gaussian", max_seconds=0.7)
    assert tuned.ended == "time limit"
    assert "time limit" in tuned.advice
    if tuned.chosen is not None:
        assert tuned.result is not None


def test_a_callback_that_returns_true_ends_the_search():
    X, y = overlapping(n=200, d=5)
    seen = []
    tuned = maxmargin.tune(X, y, threads=1, callback=lambda tuning: seen.append(tuning.progress) or len(seen) == 7)
    assert (tuned.ended, len(seen)) == ("interrupted", 7)
    assert tuned.C == tuned.candidates[0].C  # five folds of the first C are done, two of the second
    assert tuned.result.status.name == "CONVERGED"


def test_ctrl_c_ends_the_search_and_trains_with_the_best_so_far():
    X, y = overlapping(n=200, d=5)

    def press(tuning):
        if sum(len(one.known) for one in tuning.candidates) == 12:
            os.kill(os.getpid(), signal.SIGINT)

    tuned = maxmargin.tune(X, y, callback=press)
    assert tuned.ended == "interrupted"
    assert tuned.result.status.name == "CONVERGED"


def test_a_saved_model_keeps_the_whole_table(tmp_path):
    X, y = overlapping(n=100, d=3)
    tuned = maxmargin.tune(X, y, kernel="gaussian", Cs=[1.0, 10.0], gammas=[0.1, 0.5])
    tuned.model.save(tmp_path / "model.safetensors")
    kept = maxmargin.load(tmp_path / "model.safetensors").training["tuning"]
    json.dumps(kept, allow_nan=False)
    again = tuning_in(kept)
    assert [(one.C, one.gamma, one.scores) for one in again.candidates] == [
        (one.C, one.gamma, one.scores) for one in tuned.candidates
    ]
    assert (again.C, again.gamma) == (tuned.C, tuned.gamma)
    for damaged in ({}, {**kept, "table": 3}, {**kept, "table": [{"C": "x"}]}, 7):
        with pytest.raises(maxmargin.FileError, match="damaged"):
            tuning_in(damaged)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 1.0}, "tune takes no C"),
        ({"warm": 1}, "tune takes no warm"),
        ({"Cs": []}, "Cs is empty"),
        ({"Cs": [0.0]}, "each C must be a positive number"),
        ({"gammas": [1.0]}, "gammas need a kernel with gamma"),
        ({"gammas": [], "kernel": "gaussian"}, "gammas is empty"),
        ({"gammas": [-1.0], "kernel": "gaussian"}, "each gamma must be a positive number"),
        ({"folds": 1}, "folds=1 must be at least 2"),
        ({"folds": "five"}, "folds='five' must be a whole number"),
        ({"folds": []}, "folds is empty"),
        ({"folds": [([0], [])]}, "fold 1 has 1 rows to train on and 0 to score"),
        ({"folds": [([0, 2], [1])]}, "would be trained on class"),
        ({"groups": np.zeros(5)}, "groups have shape"),
        ({"groups": np.zeros(100)}, "hold 1 different values, fewer than the 5 folds"),
        ({"groups": "who"}, "X is no table"),
        ({"order": "backwards"}, "order='backwards' is not known"),
        ({"scoring": "beauty"}, "scoring='beauty' is not known"),
        ({"scoring": "neg_log_loss"}, "needs probabilities"),
        ({"rule": "worst"}, "rule='worst' is not known"),
        ({"max_seconds": 0}, "max_seconds=0 must be a number above 0"),
        ({"task": "novelty"}, "needs labels to score"),
        ({"colour": "red"}, "unexpected keyword argument 'colour'"),
    ],
    ids=str,
)
def test_wrong_input_is_one_line_with_a_remedy(options, message):
    X, y = overlapping(n=100, d=3)
    y[:100:2] = y[0]
    y[1] = -y[0]
    with pytest.raises((maxmargin.MaxmarginError, TypeError), match=message) as found:
        maxmargin.tune(X, y, **options)
    assert "\n" not in str(found.value)


def test_a_class_with_one_row_is_refused_and_one_with_few_is_noted():
    X, y = overlapping(n=100, d=3)
    labels = np.where(np.arange(100) == 3, "rare", y.astype(str))
    with pytest.raises(maxmargin.DataError, match="class rare has 1 row"):
        maxmargin.tune(X, labels)
    labels[[5, 8]] = "rare"
    assert "class rare has 3 rows, fewer than the 5 folds" in maxmargin.tune(X, labels, refit=False).note


def test_advice_names_the_end_of_the_grid_that_is_too_short():
    X, y = overlapping(n=400, d=20)
    advice = maxmargin.tune(X, y, Cs=[1e-6, 1e-5, 1e-4], rule="best", scoring="roc_auc").advice
    assert "at the end of the grid" in advice


def test_estimators_choose_as_grid_search_does():
    X, y = three_classes(n=200)
    cv = list(splitter(y).split(X, y))
    ours = maxmargin.LinearSVCCV(Cs=[0.01, 1.0, 100.0], cv=cv, tol=CLOSE).fit(X, y)
    theirs = GridSearchCV(maxmargin.LinearSVC(tol=CLOSE), {"C": [0.01, 1.0, 100.0]}, cv=cv).fit(X, y)
    assert theirs.best_params_["C"] == ours.C_
    complete = np.isfinite(ours.cv_results_["split3_test_score"])
    assert ours.cv_results_["mean_test_score"][complete] == pytest.approx(
        theirs.cv_results_["mean_test_score"][complete]
    )
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=0.01)
    grid = {"C": [0.1, 10.0], "gamma": [0.05, 0.5]}
    ours = maxmargin.SVCCV(grid["C"], grid["gamma"], cv=cv, tol=CLOSE).fit(X, y)
    theirs = GridSearchCV(maxmargin.SVC(tol=CLOSE), grid, cv=cv).fit(X, y)
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    assert ours.best_params_ == {"C": ours.C_, "gamma": ours.gamma_}
    assert ours.cv_results_["rank_test_score"].min() == 1


def test_no_end_of_the_grid_is_better_if_every_model_predicts_the_largest_class():
    rng = np.random.default_rng(0)
    tuned = maxmargin.tune(rng.normal(size=(200, 2)), np.arange(200) % 10 == 0, Cs=[0.001, 0.01], refit=False)
    assert tuned.advice.startswith("All candidates have the same accuracy. If it is the share of the largest class")
    assert tuned.ends == []
    assert not maxmargin.tune(*overlapping(n=100), Cs=[0.001, 10.0], refit=False).advice.startswith("All")

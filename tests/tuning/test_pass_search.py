"""Searches on rows that do not fit in memory: every score is that of a model trained without the fold."""

import numpy as np
import pytest

import maxmargin
from maxmargin.data.folds import folds_of_numbers
from maxmargin.training import encoded_copy
from maxmargin.tuning import pass_search


def table(n=4000, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), 4)
    return X, np.digitize(X @ np.ones(d) + 1.5 * rng.normal(size=n), [-1.0, 1.5])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("search")
    X, y = table()
    maxmargin.write(path / "two.svm", X, np.minimum(y, 1))
    maxmargin.write(path / "three.svm", X, y)
    return path


@pytest.fixture(autouse=True)
def streamed(monkeypatch):
    """Small files do not fit in 4 MiB."""
    monkeypatch.setattr("maxmargin.data.files.COPIES", 1000.0)


@pytest.mark.parametrize("name", ["two", "three"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_every_score_is_that_of_a_model_trained_without_the_fold(folder, name, loss):
    X, y = table()
    y = np.minimum(y, 1) if name == "two" else y
    given = {"loss": loss, "class_weight": {0: 2.0}, "tol": 1e-6}
    tuned = maxmargin.tune(folder / f"{name}.svm", memory="5MB", Cs=[0.001, 1.0], folds=3, rule="best", **given)
    fold = folds_of_numbers(np.arange(len(X)), 3)
    assert tuned.kind == "random"
    assert "passes" in tuned.model.training
    for one in tuned.candidates:
        assert one.gap <= 1e-5
        for k in range(3):
            model = maxmargin.train(X[fold != k], y[fold != k], C=one.C, **given).model
            assert one.scores[k] == pytest.approx(np.mean(model.predict(X[fold == k]) == y[fold == k]), abs=2e-3)
    assert tuned.C == max(tuned.candidates, key=lambda one: one.mean).C
    assert tuned.result.certificate.relative_gap <= 1e-6
    assert tuned.model.training["tuning"]["chosen"] == [tuned.C, None]


def test_weights_and_cross_validation(folder):
    X, y = table()
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    found = maxmargin.cross_validate(folder / "two.svm", memory="5MB", C=0.1, weights=weights, folds=2, tol=1e-6)
    counted, fold = weights > 0, folds_of_numbers(np.arange(len(X)), 2)
    for k in range(2):
        own, other = counted & (fold != k), counted & (fold == k)
        model = maxmargin.train(X[own], np.minimum(y[own], 1), C=0.1, tol=1e-7).model
        assert found.scores[k] == pytest.approx(np.mean(model.predict(X[other]) == np.minimum(y[other], 1)), abs=2e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": [([0], [1])]}, "must be a whole number above 1 for rows that do not fit in memory"),
        ({"groups": np.zeros(4000)}, "groups is for rows in memory"),
        ({"order": "time"}, "order='time' is for rows in memory"),
        ({"kernel": "gaussian"}, "kernel is not for files that do not fit in memory"),
        ({"scoring": "neg_log_loss"}, "needs probabilities"),
    ],
    ids=str,
)
def test_what_needs_rows_in_memory_is_refused(folder, options, message):
    with pytest.raises(maxmargin.MaxmarginError, match=message):
        maxmargin.tune(folder / "two.svm", memory="5MB", **options)


def test_a_time_limit_and_a_callback_end_the_search(folder):
    ended = maxmargin.tune(folder / "two.svm", memory="5MB", max_seconds=1e-3, refit=False)
    assert ended.ended == "time limit"
    seen = []
    ended = maxmargin.tune(folder / "two.svm", memory="5MB", refit=False, callback=lambda one: seen.append(one) or True)
    assert ended.ended == "interrupted"
    assert len(seen) == 1


def test_folds_that_each_hold_a_class_are_scored_by_constants(tmp_path, monkeypatch):
    monkeypatch.setattr("maxmargin.data.files.COPIES", 1e9)
    X, _ = table(50)
    fold = folds_of_numbers(np.arange(50), 2)
    maxmargin.write(tmp_path / "sorted.svm", X, fold)
    tuned = maxmargin.tune(tmp_path / "sorted.svm", memory="5MB", Cs=[0.1, 1.0], folds=2)
    assert [one.scores for one in tuned.candidates] == [[0.0, 0.0]] * 2
    assert tuned.C == 0.1


def test_a_streamed_table_is_encoded_once_for_all_folds(folder, monkeypatch):
    X, y = table(n=2000)
    names = np.array(["red", "green", "blue"])
    lines = [f"{a},{names[i % 3]},{'yes' if b else 'no'}" for i, (a, b) in enumerate(zip(X[:, 0], y > 0, strict=True))]
    (folder / "shop.csv").write_text("price,colour,sold\n" + "\n".join(lines) + "\n")
    seen, task_of_files = [], pass_search.task_of_files

    def watched(settings, files, *other):
        seen.append(files.encoded_copy)
        return task_of_files(settings, files, *other)

    monkeypatch.setattr(pass_search, "task_of_files", watched)
    options = {"label": "sold", "memory": "5MB", "Cs": [0.1, 1.0], "folds": 3, "refit": False, "threads": 1}
    copied = maxmargin.tune(folder / "shop.csv", **options)
    assert seen[0] is not None
    assert not seen[0].exists()
    monkeypatch.setattr(encoded_copy, "folder_with_room", lambda size: None)
    plain = maxmargin.tune(folder / "shop.csv", **options)
    assert seen[1] is None
    assert [one.scores for one in copied.candidates] == [one.scores for one in plain.candidates]

"""The numbers of a report are those of scikit-learn and of plain definitions."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics

import maxmargin
from maxmargin.data.take import take
from maxmargin.errors import FileError
from maxmargin.reporting.facts.calibration import calibration, wilson
from maxmargin.reporting.facts.classes import balanced_accuracy, confusion, thresholds
from maxmargin.reporting.facts.convergence import MOST, curves, restored, stored
from maxmargin.reporting.facts.decisions import class_numbers, decisions, margins, margins_of_pairs
from maxmargin.reporting.facts.errors import errors_of
from maxmargin.reporting.facts.explanations import explanations
from maxmargin.reporting.facts.histograms import BINS, histogram, window
from maxmargin.reporting.facts.kept_rows import KeptRows
from maxmargin.reporting.facts.planes import Map, bands, crossings
from maxmargin.reporting.facts.ranking import bands as bootstrap
from maxmargin.reporting.facts.ranking import ranking, thinned
from maxmargin.reporting.facts.row_hashes import repeats, row_hashes
from maxmargin.reporting.facts.sensitivity import sensitivity
from maxmargin.reporting.facts.support import is_support
from maxmargin.reporting.intake import gathered
from maxmargin.reporting.subject import subject_of

RNG = np.random.default_rng(7)


def scored(n=500, ties=False):
    positive = RNG.random(n) < 0.3
    values = RNG.normal(size=n) + positive
    return (np.round(values, 1) if ties else values), positive


@pytest.mark.parametrize("ties", [False, True])
def test_areas_are_those_of_scikit_learn(ties):
    values, positive = scored(ties=ties)
    found = ranking(values, positive)
    assert found.area == pytest.approx(metrics.roc_auc_score(positive, values), rel=1e-12)
    assert found.average_precision == pytest.approx(metrics.average_precision_score(positive, values), rel=1e-12)


def test_points_of_both_curves_are_those_of_scikit_learn():
    values, positive = scored(ties=True)
    found = ranking(values, positive)
    fallout, recall, _ = metrics.roc_curve(positive, values, drop_intermediate=False)
    assert np.allclose(np.append(0, found.false / found.negatives), fallout)
    assert np.allclose(np.append(0, found.true / found.positives), recall)
    precision, recall, _ = metrics.precision_recall_curve(positive, values)
    assert np.allclose((found.true / (found.true + found.false))[::-1], precision[:-1])
    assert np.allclose((found.true / found.positives)[::-1], recall[:-1])


def test_bootstrap_bands_hold_the_curve_and_narrow_with_more_rows():
    widths = []
    for n in (200, 20000):
        values, positive = scored(n)
        ranked = ranking(values, positive)
        found = bootstrap(ranked)
        assert found.area[0] < ranked.area < found.area[1]
        assert found.average_precision[0] < ranked.average_precision < found.average_precision[1]
        assert np.all(found.roc.low <= found.roc.high)
        widths.append(found.area[1] - found.area[0])
    assert widths[1] < 0.3 * widths[0]


def test_bootstrap_interval_agrees_with_resampled_rows():
    values, positive = scored(300)
    found = bootstrap(ranking(values, positive)).area
    rng, areas = np.random.default_rng(1), []
    yes, no = np.flatnonzero(positive), np.flatnonzero(~positive)
    for _ in range(400):
        rows = np.append(rng.choice(yes, len(yes)), rng.choice(no, len(no)))
        areas.append(metrics.roc_auc_score(positive[rows], values[rows]))
    assert np.allclose(found, np.quantile(areas, [0.025, 0.975]), atol=0.012)


def test_thresholds_count_as_the_model_predicts():
    values, positive = scored(ties=True)
    found = thresholds(values, positive)
    assert found.values[found.own] == 0.0
    for threshold, counts in zip(found.values, found.counts, strict=True):
        (tn, fp), (fn, tp) = metrics.confusion_matrix(positive, values > threshold, labels=[False, True])
        assert counts.tolist() == [tp, fp, fn, tn]


def test_confusion_and_balanced_accuracy_are_those_of_scikit_learn():
    true, predicted = RNG.integers(0, 4, 300), RNG.integers(0, 4, 300)
    found = confusion(true, predicted, 4)
    assert np.array_equal(found, metrics.confusion_matrix(true, predicted))
    assert balanced_accuracy(found) == pytest.approx(metrics.balanced_accuracy_score(true, predicted))


def test_calibration_groups_are_those_of_scikit_learn():
    from sklearn.calibration import calibration_curve

    scores = RNG.random(1000)
    events = RNG.random(1000) < scores
    found = calibration(scores, events)
    shares, means = calibration_curve(events, scores, n_bins=10, strategy="quantile")
    assert np.allclose(found.shares, shares)
    assert np.allclose(found.scores, means)
    assert found.counts.sum() == 1000
    assert np.all((found.low <= found.shares) & (found.shares <= found.high))


def test_calibration_of_equal_scores_is_one_group():
    found = calibration(np.full(20, 0.5), np.arange(20) < 5)
    assert found.shares.tolist() == [0.25]


def test_wilson_interval_is_that_of_scipy():
    from scipy.stats import binomtest

    low, high = wilson(np.array([0.3]), np.array([40]))
    known = binomtest(12, 40).proportion_ci(method="wilson")
    assert (low[0], high[0]) == (pytest.approx(known.low, rel=1e-6), pytest.approx(known.high, rel=1e-6))


def test_errors_are_those_of_scikit_learn():
    targets, values = RNG.normal(size=50), RNG.normal(size=50)
    found = errors_of(values, targets)
    assert found.r2 == pytest.approx(metrics.r2_score(targets, values))
    assert found.mae == pytest.approx(metrics.mean_absolute_error(targets, values))
    assert found.rmse**2 == pytest.approx(metrics.mean_squared_error(targets, values))


def test_histograms_count_every_row_once():
    values, groups = RNG.standard_t(2, size=5000), RNG.integers(0, 3, 5000)
    found = histogram(values, groups, 3, (-1.0, 1.0))
    assert found.counts.shape == (3, BINS)
    assert found.counts.sum(axis=1).tolist() == np.bincount(groups).tolist()
    assert found.edges[0] < -1.0 < 1.0 < found.edges[-1]
    inside = (values >= found.edges[0]) & (values < found.edges[-1])
    assert found.outside == np.count_nonzero(~inside)
    middle = slice(1, BINS - 1)
    assert np.array_equal(found.counts.sum(axis=0)[middle], np.histogram(values, found.edges)[0][middle])


@pytest.mark.parametrize("values", [np.zeros(5), np.full(3, 1e9), np.array([2.0])])
def test_a_window_of_one_value_is_not_empty(values):
    low, high = window(values)
    assert low < values[0] < high


def test_hashes_find_repeated_rows_in_any_storage():
    X = RNG.integers(0, 2, size=(400, 6)).astype(float)
    labels = RNG.integers(0, 2, 400)
    dense, csr = row_hashes(take(X)), row_hashes(take(sparse.csr_array(X)))
    assert np.array_equal(dense, csr)
    assert np.array_equal(dense, row_hashes(take(X.astype(np.float32))))
    assert len(np.unique(dense)) == len(np.unique(X, axis=0))
    found = repeats(dense, labels)
    assert found.repeated == 400 - len(np.unique(X, axis=0))
    keys = [tuple(row) for row in X]
    both = {key for key, label in zip(keys, labels, strict=True) if label} & {
        key for key, label in zip(keys, labels, strict=True) if not label
    }
    assert found.contradicting == sum(key in both for key in keys)


def test_kept_rows_are_those_with_the_largest_keys_whatever_the_blocks():
    keys, X = RNG.random(100), RNG.normal(size=(100, 3))
    kept = KeptRows(7)
    for start in (0, 5, 40, 41):
        stop = {0: 5, 5: 40, 40: 41, 41: 100}[start]
        kept.offer(keys[start:stop], take(np.ascontiguousarray(X[start:stop])), start)
    order = np.argsort(-keys)[:7]
    assert np.array_equal(kept.numbers, order)
    assert np.array_equal(kept.rows.values, X[order])


def test_crossings_lie_on_the_circle():
    axis = np.linspace(-2, 2, 81)
    across, up = np.meshgrid(axis, axis)
    segments = np.array(crossings(Map(axis, axis, across**2 + up**2), 1.0))
    points = segments.reshape(-1, 2)
    assert np.abs(np.hypot(*points.T) - 1.0).max() < 1e-2
    length = np.hypot(segments[:, 2] - segments[:, 0], segments[:, 3] - segments[:, 1]).sum()
    assert length == pytest.approx(2 * np.pi, rel=1e-2)


def test_bands_cover_the_grid_once():
    values = RNG.integers(0, 3, (9, 11))
    drawn = np.full(values.shape, -1)
    for i, a, b, k in bands(values):
        assert np.all(drawn[i, a : b + 1] == -1)
        drawn[i, a : b + 1] = k
    assert np.array_equal(drawn, values)


def test_thinned_places_keep_the_last():
    assert thinned(1000, 10)[-1] == 999
    assert len(thinned(1000, 10)) == 10
    assert thinned(3, 10).tolist() == [0, 1, 2]


def test_labels_are_matched_as_numbers_or_as_text():
    codes, unknown = class_numbers(np.array(["2", "1", "x"]), np.array([1, 2]))
    assert codes.tolist() == [1, 0, -1]
    assert unknown == {"x"}
    assert class_numbers(np.array([1.0, 2.0]), np.array([1, 2]))[0].tolist() == [0, 1]


def test_margins_of_several_classes_are_differences_to_the_best_other_class():
    values = np.array([[3.0, 1.0, 2.0], [0.0, -1.0, 5.0]])
    assert margins(values, np.array([0, 0])).tolist() == [1.0, -5.0]


def table(n=120):
    X = RNG.normal(size=(n, 3))
    return X, np.where(X[:, 0] - 2 * X[:, 1] > 0, "yes", "no")


def test_contributions_of_a_linear_model_add_up_to_the_decision_value():
    X, y = table()
    subject = subject_of(maxmargin.train(X, y))
    means = X.mean(axis=0)
    found = explanations(subject, take(X[:4]), means, [0] * 4)
    centre = subject.model.decide(means[None, :])[0]
    for row, contributions in zip(X[:4], found, strict=True):
        total = sum(one.amount for one in contributions)
        assert total == pytest.approx(subject.model.decide(row[None, :])[0] - centre, abs=1e-9)


def test_contributions_by_replacement_are_those_of_the_weights():
    X, y = table()
    linear, kernel = (subject_of(maxmargin.train(X, y, tol=1e-9, kernel=one)) for one in ("linear", "linear"))
    kernel.__dict__["weights"] = None  # as if the kernel were none with weights
    means = X.mean(axis=0)
    one, other = (explanations(subject, take(X[:3]), means, [0] * 3) for subject in (linear, kernel))
    for a, b in zip(one, other, strict=True):
        assert [c.column for c in a] == [c.column for c in b]
        assert np.allclose([c.amount for c in a], [c.amount for c in b], atol=1e-8)
    changes = sensitivity(kernel, take(X), means)
    weights = np.abs(linear.weights[0])
    assert np.allclose(changes, weights * np.abs(X - means).mean(axis=0), atol=1e-8)


def test_support_vectors_are_marked_only_in_the_rows_of_the_training():
    X, y = table(200)
    X = X + 0.8 * RNG.normal(size=X.shape)
    result = maxmargin.train(X[:100], y[:100])
    subject = subject_of(result)
    found = is_support(subject, gathered(subject, X[:100], y[:100]))
    assert np.array_equal(np.flatnonzero(found), np.sort(result.model.support))
    assert is_support(subject, gathered(subject, X[100:], y[100:])) is None


def test_a_history_is_thinned_and_comes_back_from_the_model():
    X, y = table(300)
    result = maxmargin.train(X, y, solver="sgd", max_epochs=300, tol=1e-12)
    found = curves(result.history * 5)
    assert all(len(one.seconds) <= MOST for one in found)
    again = restored({"history": stored(found)})
    for one, other in zip(found, again, strict=True):
        for name in ("seconds", "epochs", "primal", "dual"):
            assert np.allclose(getattr(one, name), getattr(other, name), rtol=1e-11)
    assert again[0].gap[-1] == pytest.approx(result.certificate.relative_gap, rel=1e-6)


@pytest.mark.parametrize("history", [3, [{"problem": "a"}], [{"problem": "a", "seconds": [1, 2], "epochs": [1]}]])
def test_a_damaged_history_is_one_clear_line(history):
    with pytest.raises(FileError, match="history of the model is damaged"):
        restored({"history": history})


def three_classes(n=240):
    X = RNG.normal(size=(n, 2))
    return X, np.array(["a", "b", "c"])[RNG.integers(0, 3, n) * (X[:, 0] > 0) + (X[:, 1] > 1) * (X[:, 0] <= 0)]


def test_margins_of_pairs_are_the_smallest_of_a_class_against_the_others():
    X, y = three_classes()
    model = maxmargin.train(X, y, kernel="gaussian").model
    pairs, codes = model.decide_pairs(X), np.searchsorted(model.classes, y)
    signed = {(0, 1): pairs[:, 0], (0, 2): pairs[:, 1], (1, 2): pairs[:, 2]}
    signed |= {(j, i): -values for (i, j), values in signed.items()}
    wanted = [min(signed[code, other][row] for other in range(3) if other != code) for row, code in enumerate(codes)]
    found = margins_of_pairs(pairs, codes, 3)
    assert np.array_equal(found, wanted)
    assert np.all(found[model.predict(X) != y] <= 0.0)


def test_margins_tell_the_support_vectors_of_pairs_apart():
    X, y = three_classes()
    result = maxmargin.train(X, y, kernel="gaussian", tol=1e-8)
    subject = subject_of(result)
    evidence = gathered(subject, X, y)
    found = is_support(subject, evidence)
    assert np.array_equal(np.flatnonzero(found), np.sort(result.model.support))
    assert np.all(evidence.margins[found] <= 1.0 + 1e-3)
    assert np.all(evidence.margins[~found] >= 1.0 - 1e-3)
    assert is_support(subject, gathered(subject, X[::-1].copy(), y[::-1].copy())) is None


@pytest.mark.parametrize(
    "options",
    [
        {"probability": True},
        {"loss": "logistic"},
        {"kernel": "gaussian", "probability": True},
        {"kernel": "gaussian", "approx": "nystrom", "components": 50, "loss": "logistic"},
    ],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_decisions_and_probabilities_are_those_of_the_model(options, classes):
    X, y = three_classes()
    y = y if classes == 3 else np.where(y == "a", "a", "other")
    model = maxmargin.train(X, y, **options).model
    found = decisions(subject_of(model), take(X), 1)
    assert np.array_equal(found.values, model.decide(X, 1))
    assert np.array_equal(model.classes[found.predicted], model.predict(X, 1))
    assert np.allclose(found.probabilities, model.probabilities(X, 1), rtol=1e-12)


def test_models_without_probabilities_have_none():
    X, y = three_classes()
    for options in ({}, {"kernel": "gaussian"}):
        assert decisions(subject_of(maxmargin.train(X, y, **options)), take(X), 1).probabilities is None

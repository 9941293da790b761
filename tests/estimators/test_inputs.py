"""The estimators take every ordinary kind of input, and give the model of the array that it holds."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import maxmargin
from maxmargin import SVC, SVR, DataError, LinearSVC, NuSVC, NuSVR, OneClassSVM, PolynomialMap

ESTIMATORS = [LinearSVC, SVC, NuSVC, SVR, NuSVR, OneClassSVM]
generator = np.random.default_rng(5)
X = np.round(generator.normal(size=(60, 3)), 3)
X[generator.random(X.shape) < 0.3] = 0.0
text = np.where(X[:, 0] + generator.normal(size=60) > 0, "yes", "no")
numbers = X[:, 0] + X[:, 1] ** 2
weight = generator.integers(1, 4, 60).astype(float)
NAMES = ["age", "income", "height"]
columns = {name: X[:, place] for place, name in enumerate(NAMES)}


def polars():
    return pytest.importorskip("polars")


FRAMES = {  # a frame, a series
    "pandas": (pd.DataFrame, pd.Series),
    "pandas, nullable": (
        lambda found: pd.DataFrame(found).convert_dtypes(), lambda found: pd.Series(found).convert_dtypes(),
    ),
    "polars": (lambda found: polars().DataFrame(found), lambda found: polars().Series(found)),
    "Arrow table": (pa.table, lambda found: pa.chunked_array([found[:7], found[7:]])),
    "Arrow record batch": (pa.RecordBatch.from_pydict, pa.array),
}  # fmt: skip
STORAGES = {
    **{name: lambda values, name=name: sparse.csr_matrix(values).asformat(name)
       for name in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")},
    "sparse array": sparse.csr_array,
    "Fortran order": np.asfortranarray,
    "every second column": lambda values: np.repeat(values, 2, axis=1)[:, ::2],
    "list": lambda values: values.tolist(),
}  # fmt: skip


def targets(estimator):
    return numbers if issubclass(estimator, SVR | NuSVR) else text


def values_of(estimator, rows):
    return estimator.predict(rows) if isinstance(estimator, SVR | NuSVR) else estimator.decision_function(rows)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("kind", FRAMES)
def test_frames_give_the_model_of_the_array(estimator, kind):
    frame, series = FRAMES[kind]
    y = targets(estimator)
    found = estimator().fit(frame(columns), series(y), sample_weight=series(weight))
    expected = estimator().fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(values_of(found, frame(columns)), values_of(expected, X))
    np.testing.assert_array_equal(found.predict(frame(columns)), expected.predict(X))
    assert found.feature_names_in_.tolist() == NAMES
    assert found.n_features_in_ == 3


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("storage", STORAGES)
def test_storages_give_the_model_of_the_array(estimator, storage):
    rows, y = STORAGES[storage](X), targets(estimator)
    found, expected = estimator().fit(rows, y), estimator().fit(X, y)
    np.testing.assert_allclose(values_of(found, rows), values_of(expected, X), rtol=1e-3, atol=2e-3)
    assert not hasattr(found, "feature_names_in_")


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "int32", "uint8", "int64", "bool"])
@pytest.mark.parametrize("estimator", [LinearSVC, SVC, SVR, OneClassSVM])
def test_number_types_give_the_model_of_float64(estimator, dtype):
    rows, y = (X > 0 if dtype == "bool" else np.abs(X * 4)).astype(dtype), targets(estimator)
    found, expected = estimator().fit(rows, y), estimator().fit(rows.astype(np.float64), y)
    np.testing.assert_allclose(
        values_of(found, rows), values_of(expected, rows.astype(np.float64)), rtol=1e-3, atol=2e-3
    )


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_read_only_memory_maps_give_the_model_of_the_array(estimator, dtype, tmp_path):
    np.save(tmp_path / "X.npy", X.astype(dtype))
    rows, y = np.load(tmp_path / "X.npy", mmap_mode="r"), targets(estimator)
    found, expected = estimator().fit(rows, y), estimator().fit(X.astype(dtype), y)
    np.testing.assert_array_equal(values_of(found, rows), values_of(expected, X.astype(dtype)))


@pytest.mark.parametrize("estimator", [*ESTIMATORS, PolynomialMap])
@pytest.mark.parametrize("kind", FRAMES)
def test_another_order_of_columns_is_named(estimator, kind):
    frame, _ = FRAMES[kind]
    found = estimator().fit(frame(columns), None if estimator is PolynomialMap else targets(estimator))
    use = found.transform if estimator is PolynomialMap else found.predict
    with pytest.raises(ValueError, match="must be in the same order"):
        use(frame(dict(reversed(columns.items()))))
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- weight"):
        use(frame({"weight": X[:, 0], **columns}))


@pytest.mark.parametrize("estimator", [*ESTIMATORS, PolynomialMap])
@pytest.mark.parametrize(("column", "message"), [
    (["red"] * 60, "column 'income' holds text"), ([1.0, None] * 30, r"row 1 .*, column 'income' is missing"),
])  # fmt: skip
def test_a_wrong_column_is_named(estimator, column, message):
    with pytest.raises(DataError, match=message) as caught:
        estimator().fit(pd.DataFrame({**columns, "income": column}), targets(estimator))
    assert "\n" not in str(caught.value)
    fitted = estimator().fit(pd.DataFrame(columns), targets(estimator))
    with pytest.raises(DataError, match=message):
        getattr(fitted, "predict", getattr(fitted, "transform", None))(pd.DataFrame({**columns, "income": column}))


@pytest.mark.parametrize("labels", [
    pd.array(["yes", None] * 30, dtype="string"), pd.array([1, None] * 30, dtype="Int64"),
    pa.chunked_array([["yes", None] * 30]), pa.array([1, None] * 30), pd.Categorical(["yes", None] * 30),
], ids=lambda labels: type(labels).__name__)  # fmt: skip
def test_missing_labels_are_refused(labels):
    for door in (maxmargin.train, LinearSVC().fit, SVC().fit):
        with pytest.raises(ValueError, match=r"NaN|y\[1\] is") as caught:
            door(X, labels)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_polynomial_features_have_names(output):
    pytest.importorskip(output)
    found = PolynomialMap(degree=2).set_output(transform=output).fit_transform(pd.DataFrame(columns))
    assert list(found.columns) == [
        "age^2", "age income", "age height", "age", "income^2", "income height", "income", "height^2", "height", "1",
    ]  # fmt: skip
    np.testing.assert_array_equal(found.to_numpy(), PolynomialMap(degree=2).fit_transform(X))
    assert PolynomialMap(degree=2, coef0=0.0).fit(X[:, :1]).get_feature_names_out().tolist() == ["x0^2"]


@pytest.mark.parametrize("estimator", [LinearSVC, SVC, SVR])
def test_sample_weights_are_routed_through_a_grid_search(estimator):
    y = targets(estimator)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = estimator().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(asked, {"C": [0.1, 1.0]}, cv=2).fit(X, y, sample_weight=weight)
    best = estimator(C=search.best_params_["C"]).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_copies_predict_the_same(estimator, tmp_path):
    frame = pd.DataFrame(columns)
    fitted = estimator().fit(frame, targets(estimator))
    joblib.dump(fitted, tmp_path / "fitted.joblib")
    again = clone(fitted).fit(frame, targets(estimator))
    for copy in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "fitted.joblib"), again):
        np.testing.assert_array_equal(values_of(copy, frame), values_of(fitted, frame))
        assert copy.feature_names_in_.tolist() == NAMES


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_fits_in_threads_give_the_same_models(estimator):
    def fit(C):
        rate = {"nu": C / 4.0} if "nu" in estimator().get_params() else {"C": C}
        return values_of(estimator(**rate).fit(X, targets(estimator)), X)

    settings = [0.5, 1.0, 1.5, 2.0] * 2
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(fit, settings))
    for C, found in zip(settings, together, strict=True):
        np.testing.assert_array_equal(found, fit(C))


class Recorder:
    """A callback of scikit-learn that writes down its calls, and stops the fit if `stop` is true."""

    def __init__(self, stop=False):
        self.calls, self.stop = [], stop

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.calls.append(f"end {context.task_name}")
        if context.task_name == "fit":
            self.predicted = fitted_estimator.predict(X)
        return self.stop


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_callbacks_of_scikit_learn_see_each_certificate(estimator):
    pytest.importorskip("sklearn.callback")
    recorder = Recorder()
    fitted = estimator().set_callbacks(recorder).fit(X, targets(estimator))
    certificates = len(fitted.result_.history)
    assert recorder.calls[:2] == ["setup", "begin fit"]
    assert recorder.calls[2:-2] == ["begin certificate", "end certificate"] * certificates
    assert recorder.calls[-2:] == ["end fit", "teardown"]
    np.testing.assert_array_equal(recorder.predicted, fitted.predict(X))


def test_callbacks_of_scikit_learn_can_stop_a_fit():
    pytest.importorskip("sklearn.callback")
    svc = LinearSVC(loss="hinge", tol=1e-12, solver="dual_coordinate").set_callbacks(Recorder(stop=True))
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        svc.fit(X, text)
    assert len(svc.result_.history) == 1

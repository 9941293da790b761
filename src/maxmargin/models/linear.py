"""Linear classifiers: one weight vector and bias for two classes, one for each class if there are more.

A model consists of arrays and metadata. It predicts, and it is saved to and loaded from a safetensors file together
with the certificate of its training.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from maxmargin.data.columns import shifted, widened
from maxmargin.data.expand import Expansion, Kmers, find_expansion
from maxmargin.data.labels import sides
from maxmargin.data.passes import scores
from maxmargin.data.rows import Rows, count_columns, count_rows
from maxmargin.data.take import take
from maxmargin.data.text.dna import rows_of
from maxmargin.errors import DataError, FileError, MaxmarginError
from maxmargin.kernels.feature_maps import map_of
from maxmargin.models.approximate import KIND as APPROXIMATE_KIND
from maxmargin.models.approximate import ApproximateModel
from maxmargin.models.file_checks import centre_in, certificate_in, check_input, classes_in, training_in
from maxmargin.models.input_rows import input_rows
from maxmargin.models.kernel import KIND as KERNEL_KIND
from maxmargin.models.kernel import KernelModel, kernel_model
from maxmargin.models.kernel_function import KIND as FUNCTION_KIND
from maxmargin.models.kernel_function import KernelFunction, kernel_function
from maxmargin.models.libsvm import is_libsvm_model, read_libsvm_model
from maxmargin.models.notebooks import Shown
from maxmargin.models.probabilities import pair_probabilities
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.losses import LOSSES, losses_with_probabilities, sigmoid
from maxmargin.system.file_checks import REAL, checked_array, row_numbers, section
from maxmargin.system.overwriting import check_replaces_model
from maxmargin.system.tensor_file import read_tensors, write_tensors
from maxmargin.system.threads import thread_count

KIND = "model"

Model: TypeAlias = "LinearModel | KernelModel | ApproximateModel | KernelFunction"


def has_probabilities(loss: str) -> bool:
    """Whether linear models that are trained with this loss have probabilities."""
    return loss in losses_with_probabilities()


def label_of(classes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the labels for decision values: a vector for two classes, else one column for each class."""
    winners = (values > 0).astype(np.intp) if values.ndim == 1 else np.argmax(values, axis=1)
    return np.asarray(classes[winners])


def probabilities_of(values: np.ndarray, sigmoids: np.ndarray | None = None) -> np.ndarray:
    """Return the probability of each class from decision values, one column for each problem.

    Without `sigmoids`, the values are those of a loss that has probabilities.
    """
    found = sigmoid(values) if sigmoids is None else pair_probabilities(values, sigmoids)
    if values.shape[1] == 1:
        return np.hstack([1.0 - found, found])
    return np.asarray(found / np.maximum(np.sum(found, axis=1, keepdims=True), np.finfo(float).tiny))


@dataclass(eq=False)
class LinearModel(Shown):
    """A classifier with the decision function ⟨w, x⟩ + b, or ⟨w, x − centre⟩ + b if columns are far from 0.

    Parameters
    ----------
    classes : array of k labels, sorted
    w : array (1, d) for two classes, (k, d) for more
    b : array (1,) or (k,)
    support : row numbers of the support vectors (alpha > 0) in the training data
    dual_coef : array (1 or k, number of support vectors): alpha times the label ±1 in each problem
    certificate : certificate of the training, summed over the problems if there are several
    training : summary of the training: problem, solver, status, sizes
    centre : array (d,) that is subtracted from each row first, or None; `intercept` is always the b of ⟨w, x⟩ + b
    sigmoids : array (1 or k, 2): A and B of each problem's probabilities, or None (see probabilities)

    Examples
    --------
    >>> import maxmargin
    >>> model = maxmargin.train([[0.0], [1.0], [3.0], [4.0]], ["no", "no", "yes", "yes"], C=10.0).model
    >>> model.predict([[0.5], [3.5]]).tolist()
    ['no', 'yes']
    """

    classes: np.ndarray
    w: np.ndarray = field(repr=False)
    b: np.ndarray = field(repr=False)
    support: np.ndarray = field(repr=False)
    dual_coef: np.ndarray = field(repr=False)
    certificate: Certificate
    training: dict[str, Any] = field(default_factory=dict)
    centre: np.ndarray | None = field(default=None, repr=False)
    sigmoids: np.ndarray | None = field(default=None, repr=False)

    @property
    def d(self) -> int:
        """Number of features."""
        return int(self.w.shape[1])

    @property
    def intercept(self) -> np.ndarray:
        """The b of ⟨w, x⟩ + b. With a centre, that form loses digits; `decide` does not."""
        return self.b if self.centre is None else np.asarray(self.b - self.w @ self.centre)

    @property
    def alphas(self) -> np.ndarray:
        """The dual variables of the support vectors, nonnegative."""
        return np.asarray(np.abs(self.dual_coef))

    @property
    def margins(self) -> np.ndarray:
        """1/‖w‖ of each problem: for a hard margin, the distance of the closest examples from the hyperplane."""
        return np.asarray(1.0 / np.maximum(np.linalg.norm(self.w, axis=1), np.finfo(float).tiny))

    @property
    def loss(self) -> str:
        """The loss of the training."""
        return str(self.training.get("loss", "hinge"))

    @property
    def has_hard_margin(self) -> bool:
        """Whether C was infinite and no example may lie inside the margin."""
        loss = LOSSES.get(self.loss)
        return self.training.get("C") == np.inf and loss is not None and loss.limit == "hard_margin"

    def decide(self, X: Any, threads: int | None = None) -> np.ndarray:
        """Return decision values: (n,) for two classes, positive for the second; (n, k) for more."""
        return self.decide_rows(self.expanded(X), threads)

    def decide_rows(self, rows: Rows, threads: int | None = None) -> np.ndarray:
        """Return the decision values of rows that need no encoding, scaling or expansion."""
        if self.centre is not None:
            rows = shifted(widened(rows, self.d), self.centre)
        columns = [scores(rows, w[: count_columns(rows)], thread_count(threads)) for w in self.w]
        values = np.column_stack(columns) + self.b if columns else np.zeros((count_rows(rows), 0))
        return np.asarray(values[:, 0] if len(self.classes) == 2 else values)

    @property
    def expansion(self) -> Expansion | None:
        """The feature expansion that is applied to rows before prediction, or None."""
        return find_expansion(self.training.get("expand"))

    def expanded(self, X: Any) -> Rows:
        """Return the rows of X after feature expansion. With k-mers, X may be a list of sequences."""
        expansion = self.expansion
        if isinstance(expansion, Kmers) and isinstance(X, (list, tuple)) and all(isinstance(one, str) for one in X):
            return rows_of(X, expansion.k)
        rows = input_rows(self.training, X)
        self.check_width(count_columns(rows), "X")
        return take(expansion.apply(rows)) if expansion else rows

    def check_width(self, d: int, name: str) -> None:
        """Raise if the data have more features than the model; fewer are allowed."""
        known = int(self.training.get("input_d", self.d))
        if d > known:
            raise DataError(
                f"{name} has {d} features, but the model was trained with {known}: "
                "predict on data prepared like the training data"
            )

    def predict(self, X: Any, threads: int | None = None) -> np.ndarray:
        """Return the label of each row."""
        return self.label(self.decide(X, threads))

    def label(self, values: np.ndarray) -> np.ndarray:
        """Return the labels for decision values."""
        return label_of(self.classes, values)

    def probabilities(self, X: Any, threads: int | None = None) -> np.ndarray:
        """Return P(class | x), one column for each class, normalised if there are more than two.

        They come from calibrated sigmoids (`probability`), or from a loss that has probabilities (see `Loss`).
        """
        self.check_probabilities()
        return self.probabilities_at(self.decide(X, threads))

    def probabilities_at(self, values: np.ndarray) -> np.ndarray:
        """Return P(class | x) for decision values."""
        self.check_probabilities()
        return probabilities_of(values[:, None] if values.ndim == 1 else values, self.sigmoids)

    def check_probabilities(self) -> None:
        """Raise if the model has no probabilities."""
        able = losses_with_probabilities()
        if self.sigmoids is None and self.loss not in able:
            raise MaxmarginError(
                f"a model of loss {self.loss!r} has no probabilities: train with loss={able[0]!r}, or with "
                f"probability=True and to the end (--loss {able[0]}, --probability)"
            )

    def to_sklearn(self) -> Any:
        """Return a fitted scikit-learn estimator that predicts the same (see to_sklearn)."""
        from maxmargin.models.to_sklearn import to_sklearn

        return to_sklearn(self)

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write one safetensors file atomically. The same model gives the same bytes.

        Only a model file is replaced, unless `force` is true.
        """
        check_replaces_model(path, force)
        write_tensors(path, KIND, self.tensors(), self.metadata())

    def tensors(self) -> dict[str, np.ndarray]:
        """Return the arrays of the model file."""
        centre = {} if self.centre is None else {"centre": self.centre}
        sigmoids = {} if self.sigmoids is None else {"sigmoids": self.sigmoids}
        return {"w": self.w, "b": self.b, "support": self.support, "dual_coef": self.dual_coef, **centre, **sigmoids}

    def metadata(self) -> dict[str, Any]:
        """Return the metadata of the model file."""
        return {
            "classes": self.classes.tolist(),
            "class_type": self.classes.dtype.str,
            "certificate": asdict(self.certificate),
            "training": self.training,
        }


def load(path: str | Path) -> Model:
    """Read a model from a file of maxmargin, LIBSVM or LIBLINEAR. No code from the file is run.

    An incomplete or invalid file raises a `FileError`.

    Examples
    --------
    >>> import maxmargin
    >>> model = maxmargin.load("model.safetensors")  # doctest: +SKIP
    """
    if is_libsvm_model(path):
        return read_libsvm_model(path)
    from maxmargin.models.liblinear import is_liblinear_model, read_liblinear_model  # which builds models of this file

    if is_liblinear_model(path):
        return read_liblinear_model(path)
    tensors, metadata = read_tensors(path, KIND, KERNEL_KIND, FUNCTION_KIND, APPROXIMATE_KIND)
    try:
        if "coefficients" in tensors:
            return kernel_function(path, tensors, metadata)
        classes = classes_in(metadata)
        if "w" not in tensors:
            return kernel_model(path, tensors, metadata, classes)
        model = linear_model(tensors, metadata, classes)
        if "features" not in metadata:
            check_input(model.training, model.d)
            return model
        return approximate_model(tensors, metadata, model)
    except FileError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError, MemoryError) as error:
        raise FileError(f"{path}: a part of the model is wrong ({error}): it was not written by maxmargin") from error


def linear_model(tensors: dict[str, np.ndarray], metadata: dict[str, Any], classes: np.ndarray) -> LinearModel:
    """Build a model from the tensors and metadata of a file; raise if they are inconsistent."""
    w, b, dual_coef = (
        checked_array(tensors, name, REAL, ndim) for name, ndim in (("w", 2), ("b", 1), ("dual_coef", 2))
    )
    support, count = row_numbers(tensors), len(sides(classes))
    if len(w) != count or b.shape != (count,) or dual_coef.shape != (count, len(support)):
        raise ValueError(
            f"w, b and dual_coef do not fit together: shapes {w.shape}, {b.shape}, {dual_coef.shape} for "
            f"{len(classes)} classes and {len(support)} support vectors"
        )
    sigmoids = checked_array(tensors, "sigmoids", REAL, 2) if "sigmoids" in tensors else None
    if sigmoids is not None and sigmoids.shape != (count, 2):
        raise ValueError(f"sigmoids have shape {sigmoids.shape} for {count} problem(s)")
    centre = centre_in(tensors, w.shape[1])
    return LinearModel(
        classes, w, b, support, dual_coef, certificate_in(metadata), training_in(metadata), centre, sigmoids
    )


def approximate_model(
    tensors: dict[str, np.ndarray], metadata: dict[str, Any], linear: LinearModel
) -> ApproximateModel:
    """Build a model on features that approximate a kernel; raise if they do not match its weights."""
    features = map_of(tensors, section(metadata, "features"))
    if linear.d != features.components or {"expand", "input_d"} & set(linear.training):
        raise ValueError(f"the features do not fit its weights: {features.components} for {linear.d}")
    return ApproximateModel(features, linear, centre_in(tensors, features.d, "input_centre"))

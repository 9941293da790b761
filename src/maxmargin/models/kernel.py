"""Kernel classifiers: support vectors and coefficients, with decision functions Σ c_i K(x_i, x) + b.

There is one decision function for each pair of classes i < j, as in LIBSVM; it is positive for class i. The class with
the most votes wins, in a tie by `tie_order`. The coefficients of a support vector of class i against class j are in row
j − 1 of `dual_coef` if i < j, and in row j if j < i. With two classes, `decide` changes the sign of the only pair, so
that it is positive for the second class.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.rows import Dense, Rows, count_rows
from maxmargin.errors import FileError, MaxmarginError
from maxmargin.kernels.functions import Kernel, kernel_metadata, kernel_of
from maxmargin.kernels.points import Points, few_of
from maxmargin.kernels.support_vectors import SupportVectors, check_places, check_widens, picked_vectors, vectors_of
from maxmargin.kernels.tiles import combination
from maxmargin.loop.outcome import Outcome
from maxmargin.models.file_checks import centre_in, certificate_in, training_in
from maxmargin.models.input_rows import input_rows
from maxmargin.models.notebooks import Shown
from maxmargin.models.probabilities import couple, pair_probabilities
from maxmargin.problems.certificate import Certificate, summed
from maxmargin.system.file_checks import REAL, checked_array, row_numbers, section, short, size
from maxmargin.system.overwriting import check_replaces_model
from maxmargin.system.tensor_file import write_tensors
from maxmargin.system.threads import thread_count

KIND = "kernel model"
AT_ONCE = 1 << 17  # kernel values of examples and support vectors that are computed at once: 1 MB


@dataclass(eq=False)
class KernelModel(Shown, SupportVectors):
    """A classifier that votes over pairs of classes.

    Parameters
    ----------
    classes : array of k labels, sorted
    vectors : the support vectors, grouped by class
    support : their row numbers in the training data
    n_support : the number of support vectors of each class
    dual_coef : array (k - 1, number of support vectors): alpha with the sign of the class in each pair
    b : array (k (k - 1) / 2): the biases of the pairs (0, 1), (0, 2), ..., (1, 2), ...
    kernel : the kernel K
    certificate : certificate of the training, summed over the pairs
    training : summary of the training
    sigmoids : array (number of pairs, 2): A and B of each pair's probabilities, or None (see probabilities)
    centre : array (d,) that is subtracted from examples and support vectors first, or None
    """

    classes: np.ndarray
    vectors: Rows = field(repr=False)
    support: np.ndarray = field(repr=False)
    n_support: np.ndarray = field(repr=False)
    dual_coef: np.ndarray = field(repr=False)
    b: np.ndarray = field(repr=False)
    kernel: Kernel
    certificate: Certificate
    training: dict[str, Any] = field(default_factory=dict)
    sigmoids: np.ndarray | None = field(default=None, repr=False)
    centre: np.ndarray | None = field(default=None, repr=False)

    @property
    def intercept(self) -> np.ndarray:
        """The b of Σ c_i K(x_i, x) + b without a centre, for each pair."""
        if self.centre is None:
            return self.b
        moved = [
            self.moved(self.dual_coef[j - 1] * self.of_class(i)) + self.moved(self.dual_coef[i] * self.of_class(j))
            for i, j in self.pairs
        ]
        return np.asarray(self.b + np.array(moved))

    def of_class(self, number: int) -> np.ndarray:
        """Return a mask of the support vectors of a class."""
        found = np.zeros(len(self.support), dtype=bool)
        found[self.spans[number]] = True
        return found

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of classes, as class numbers."""
        return list(combinations(range(len(self.classes)), 2))

    @property
    def spans(self) -> list[slice]:
        """The slice of the support vectors of each class."""
        ends = np.cumsum(self.n_support).tolist()
        return [slice(stop - count, stop) for count, stop in zip(self.n_support.tolist(), ends, strict=True)]

    def decide_pairs(self, X: Any, threads: int | None = None) -> np.ndarray:
        """Return decision values (n, number of pairs), positive for the first class of the pair."""
        rows, threads, vectors = self.fitting(input_rows(self.training, X)), thread_count(threads), self.points()
        found, few = np.tile(self.b, (count_rows(rows), 1)), count_rows(rows) * len(vectors) <= AT_ONCE
        for part, many in self.parts(rows, threads):
            K = self.values_at_once(many, vectors) if few and self.kernel.by_products else None
            for c, own in enumerate(self.spans):
                coefficients = self.dual_coef[:, own].T
                if K is not None:
                    values = K[:, own] @ coefficients
                else:
                    values = combination(self.kernel, many, vectors.part(own), coefficients, threads)
                for k, (i, j) in enumerate(self.pairs):
                    if c in (i, j):
                        found[part, k] += values[:, j - 1 if c == i else i]
        return found

    def values_at_once(self, many: Points, vectors: Points) -> np.ndarray | None:
        """Return the kernel of all examples and support vectors, if both are dense: one call for few of them."""
        if not (isinstance(many.rows, Dense) and isinstance(vectors.rows, Dense)):
            return None
        K = np.empty((len(many), len(vectors)))
        self.kernel.fill(many, few_of(vectors), K)
        return K

    def decide(self, X: Any, threads: int | None = None) -> np.ndarray:
        """Return decision values: (n,) for two classes, positive for the second; (n, k) for more.

        With more than two classes they are the votes of each class, plus or minus less than half a vote that orders
        equal votes by the sum of the pairs' decision values. A value of exactly 0 is a vote for the first class of the
        pair here, as in scikit-learn, and for the second one in `predict`, as in LIBSVM.
        """
        return decision_of(self.decide_pairs(X, threads), len(self.classes))

    def predict(self, X: Any, threads: int | None = None) -> np.ndarray:
        """Return the label of each row: the class with the most votes, the first one of `tie_order` in a tie."""
        return np.asarray(self.classes[self.winners(self.decide_pairs(X, threads))])

    def winners(self, pairs: np.ndarray) -> np.ndarray:
        """Return the class with the most votes, as a number, for the decision values of the pairs."""
        return winners(pairs, self.tie_order)

    @property
    def tie_order(self) -> np.ndarray:
        """The classes as numbers, in the order that decides ties: as they are sorted, or as in a LIBSVM file."""
        return np.asarray(self.training.get("tie_order", range(len(self.classes))), dtype=np.intp)

    def probabilities(self, X: Any, threads: int | None = None) -> np.ndarray:
        """Return P(class | x), one column for each class; for models trained with `probability`."""
        self.sigmoids_there()
        return self.probabilities_at(self.decide_pairs(X, threads))

    def probabilities_at(self, pairs: np.ndarray) -> np.ndarray:
        """Return P(class | x) for the decision values of the pairs."""
        return couple(pair_probabilities(pairs, self.sigmoids_there()), len(self.classes))

    def sigmoids_there(self) -> np.ndarray:
        """Return the sigmoids; raise if the model has none."""
        if self.sigmoids is None:
            raise MaxmarginError(
                "the model has no probabilities: train with probability=True, and to the end (--probability)"
            )
        return self.sigmoids

    def to_sklearn(self) -> Any:
        """Return a fitted scikit-learn estimator that predicts the same (see to_sklearn)."""
        from maxmargin.models.to_sklearn import to_sklearn

        return to_sklearn(self)

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write one safetensors file atomically. The same model gives the same bytes.

        Only a model file is replaced, unless `force` is true.
        """
        check_replaces_model(path, force)
        metadata = {
            "classes": self.classes.tolist(),
            "class_type": self.classes.dtype.str,
            "certificate": asdict(self.certificate),
            "kernel": kernel_metadata(self.kernel),
            "training": self.training,
        }
        tensors = {"n_support": self.n_support, "dual_coef": self.dual_coef, "b": self.b, **self.vector_tensors()}
        if self.sigmoids is not None:
            tensors["sigmoids"] = self.sigmoids
        write_tensors(path, KIND, tensors, metadata)


def decision_of(values: np.ndarray, k: int) -> np.ndarray:
    """Return the decision values of k classes from those of the pairs (see `KernelModel.decide`)."""
    if k == 2:
        return np.asarray(-values[:, 0])
    sure = np.zeros((len(values), k))
    for p, (i, j) in enumerate(combinations(range(k), 2)):
        sure[:, i] += values[:, p]
        sure[:, j] -= values[:, p]
    return np.asarray(votes_of(values >= 0.0, k) + sure / (3.0 * (np.abs(sure) + 1.0)))


def votes_of(first: np.ndarray, k: int) -> np.ndarray:
    """Return the number of pairs that each of k classes wins; `first` says for each pair whether its first one wins."""
    votes = np.zeros((len(first), k))
    for p, (i, j) in enumerate(combinations(range(k), 2)):
        votes[:, i] += first[:, p]
        votes[:, j] += ~first[:, p]
    return votes


def winners(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the class with the most votes of the pairs, as a number; in a tie the first one of `order`."""
    votes = votes_of(values > 0.0, len(order))
    return np.asarray(order[np.argmax(votes[:, order], axis=1)])


def kernel_model(
    path: str | Path, tensors: dict[str, np.ndarray], metadata: dict[str, Any], classes: np.ndarray
) -> KernelModel:
    """Build a model from the tensors and metadata of a file; raise if they are inconsistent."""
    kernel, training = kernel_of(section(metadata, "kernel")), training_in(metadata)
    d = size(training, "d")
    vectors = vectors_of(tensors, d, kernel)
    support, n_support = row_numbers(tensors), row_numbers(tensors, "n_support")
    dual_coef, b = checked_array(tensors, "dual_coef", REAL, 2), checked_array(tensors, "b", REAL, 1)
    sigmoids = checked_array(tensors, "sigmoids", REAL, 2) if "sigmoids" in tensors else None
    k, count = len(classes), len(support)
    fits = dual_coef.shape == (k - 1, count) and b.shape == (k * (k - 1) // 2,) and n_support.shape == (k,)
    fits = fits and (sigmoids is None or sigmoids.shape == (len(b), 2))
    if not fits or count_rows(vectors) != count or n_support.sum() != count:
        raise FileError(f"{path}: the model's arrays do not fit together: it was not written by maxmargin")
    check_places(kernel, support, d)
    check_widens(training, vectors)
    check_tie_order(training, k)
    return KernelModel(
        classes, vectors, support, n_support, dual_coef, b, kernel, certificate_in(metadata), training, sigmoids,
        centre_in(tensors, d),
    )  # fmt: skip


def check_tie_order(training: dict[str, Any], k: int) -> None:
    """Raise if the order that decides ties does not name each of k classes once."""
    order = training.get("tie_order", list(range(k)))
    if not isinstance(order, list) or not all(type(one) is int for one in order) or sorted(order) != list(range(k)):
        raise ValueError(f"tie_order is {short(order)}, not an order of {k} classes")


def kernel_model_of(
    rows: Rows,
    classes: np.ndarray,
    codes: np.ndarray,
    kernel: Kernel,
    parts: list[Outcome],
    training: dict[str, Any],
    sigmoids: np.ndarray | None = None,
    centre: np.ndarray | None = None,
) -> KernelModel:
    """Build a model from the outcomes of all pairs of classes. Support vectors are grouped by class."""
    used = np.zeros(len(codes), dtype=bool)
    for part in parts:
        used |= part.w != 0.0
    support = np.flatnonzero(used)
    support = support[codes[support].argsort(kind="stable")]
    n_support = np.bincount(codes[support], minlength=len(classes))
    ends = n_support.cumsum().tolist()
    dual_coef = np.zeros((len(classes) - 1, len(support)))
    for part, (i, j) in zip(parts, combinations(range(len(classes)), 2), strict=True):
        for own, line in ((i, j - 1), (j, i)):
            span = slice(ends[own] - int(n_support[own]), ends[own])
            dual_coef[line, span] = part.w[support[span]]
    return KernelModel(
        classes,
        picked_vectors(rows, support, kernel),
        support,
        n_support,
        dual_coef,
        np.array([part.b for part in parts]),
        kernel,
        summed(part.certificate for part in parts),
        training,
        sigmoids,
        centre,
    )

"""LinearSVC on a Dask cluster: fit on Dask collections, lazy predictions.

>>> from maxmargin.dask import LinearSVC
>>> svc = LinearSVC(loss="logistic", C=1.0)  # svc.fit(X, y) takes Dask arrays and data frames
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from maxmargin.cluster.connection import default_client, distributed
from maxmargin.data.collections import is_blocks, is_collection
from maxmargin.data.files import is_file
from maxmargin.errors import DataError
from maxmargin.estimators.base import Estimator, interruptible, iterations, store
from maxmargin.estimators.linear_svc import LinearSVC as LocalLinearSVC
from maxmargin.estimators.names import estimator_names
from maxmargin.models.linear import LinearModel
from maxmargin.status import Status
from maxmargin.training.train import train


class LinearSVC(ClassifierMixin, Estimator):
    """Linear support vector classification on the workers of a Dask cluster, with a certified duality gap.

    Parameters have the names and meanings of `maxmargin.LinearSVC`. Predictions of Dask collections are lazy.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge", "logistic"}, default="squared_hinge"
        The loss.
    C, lam, tol, fit_intercept, intercept_scaling, class_weight, random_state, max_iter, solver, options, max_seconds :
        As in `maxmargin.LinearSVC`.
    verbose, callback, on_interrupt, checkpoint, resume : as in `maxmargin.LinearSVC`.
    timeout : float, default=600.0
        Seconds after which waiting for the cluster is an error.
    client : dask.distributed.Client, address or None, default=None
        The cluster; None for the default client.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, fit_status_, certificate_, result_, n_features_in_ :
        As in `maxmargin.LinearSVC`.
    """

    def __init__(
        self,
        loss: str = "squared_hinge",
        *,
        C: float = 1.0,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: float = -1,
        solver: str = "auto",
        options: dict[str, Any] | None = None,
        max_seconds: float | None = None,
        callback: Any = None,
        on_interrupt: str = "raise",
        checkpoint: Any = None,
        resume: bool = False,
        lam: float | None = None,
        timeout: float = 600.0,
        client: Any = None,
    ) -> None:
        store(self, locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearSVC:
        """Train on the cluster. X is a Dask array or data frame, files, or a list of delayed blocks."""
        if not (is_collection(X) or is_file(X) or isinstance(X, (list, tuple))):
            raise DataError(
                f"X is a {type(X).__name__} in this process: take maxmargin.LinearSVC, or make it a Dask array by "
                "dask.array.from_array(X, chunks=...)"
            )
        parameters = self.get_params(deep=False)
        parameters["client"] = self.client_
        if is_file(X) or is_blocks(X) or hasattr(X, "columns"):
            parameters["encode"] = "none"  # an estimator takes numbers, as those of scikit-learn do
        with interruptible(parameters["on_interrupt"]), estimator_names():
            self.result_ = train(X, y, weights=sample_weight, **self._parameters(parameters))
        self._describe()
        if self.fit_status_:
            warnings.warn(self._warning(parameters["max_iter"]), ConvergenceWarning, stacklevel=2)
        return self

    @property
    def client_(self) -> Any:
        """The client that is used: `client`, or the default one."""
        return self.client if self.client is not None else default_client(distributed())

    def _describe(self) -> None:
        model: Any = self.result_.model
        self.classes_, self.coef_, self.intercept_ = model.classes, model.w, model.intercept
        self.n_iter_, self.n_features_in_ = int(max(iterations(self.result_))), model.d
        self.certificate_ = self.result_.certificate
        self.fit_status_ = int(self.result_.status is not Status.CONVERGED)

    def to_local(self) -> LocalLinearSVC:
        """Return a fitted `maxmargin.LinearSVC`, which needs no cluster."""
        self._fitted()
        parameters = self.get_params(deep=False)
        found = LocalLinearSVC(**{name: parameters[name] for name in parameters if name not in ("client", "timeout")})
        found.result_ = self.result_
        found._describe()
        found.n_features_in_, found.certificate_ = self.n_features_in_, self.certificate_
        found.fit_status_, found.class_weight_ = self.fit_status_, np.ones(len(self.classes_))
        return found

    def predict(self, X: Any) -> Any:
        """Return labels: lazy if X is a Dask collection."""
        return applied(self._fitted(), "predict", X, (), self._fitted().classes.dtype)

    def decision_function(self, X: Any) -> Any:
        """Return decision values, (n,) for two classes, (n, k) for more: lazy if X is a Dask collection."""
        model = self._fitted()
        columns = () if len(model.classes) == 2 else tuple(model.classes.tolist())
        return applied(model, "decide", X, columns, np.dtype(np.float64))

    def predict_proba(self, X: Any) -> Any:
        """Return class probabilities of a model with the loss "logistic": lazy if X is a Dask collection."""
        model = self._fitted()
        return applied(model, "probabilities", X, tuple(model.classes.tolist()), np.dtype(np.float64))

    def __getstate__(self) -> Any:
        """Return the state without the client, which cannot be pickled."""
        return {**super().__getstate__(), "client": self.client if isinstance(self.client, str) else None}

    def __sklearn_clone__(self) -> LinearSVC:
        return type(self)(**self.get_params(deep=False))


def applied(model: LinearModel, method: str, X: Any, columns: tuple[Any, ...], dtype: np.dtype) -> Any:
    """Apply a method of a model to each block of a Dask collection, lazily; to other data at once."""
    if not is_collection(X):
        return getattr(model, method)(X)
    from dask import delayed

    later = delayed(model)
    if hasattr(X, "columns"):
        import pandas as pd

        meta: Any = (
            pd.DataFrame({name: pd.Series(dtype=dtype) for name in columns}) if columns else pd.Series(dtype=dtype)
        )
        return X.map_partitions(on_frame, later, method, columns, dtype, meta=meta)
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    shape = {"chunks": (X.chunks[0], (len(columns),))} if columns else {"drop_axis": 1}
    meta = np.empty((0,) * (2 if columns else 1), dtype=dtype)
    return X.map_blocks(on_array, model=later, method=method, dtype=dtype, meta=meta, **shape)


def on_array(block: Any, model: LinearModel, method: str) -> np.ndarray:
    """Apply a method of the model to a block, on one thread: Dask runs several blocks at once."""
    return np.asarray(getattr(model, method)(block, 1))


def on_frame(block: Any, model: LinearModel, method: str, columns: tuple[Any, ...], dtype: np.dtype) -> Any:
    """Apply a method of the model to a partition of a data frame; the result has its index."""
    import pandas as pd

    found = on_array(block, model, method)
    if columns:
        return pd.DataFrame(found, index=block.index, columns=list(columns))
    return pd.Series(found, index=block.index, dtype=pd.Series(dtype=dtype).dtype)

"""scikit-learn's callbacks (`set_callbacks`, since version 1.9): each certificate of a fit is one task.

A callback that returns True at the end of a task stops the fit. Older versions of scikit-learn have no callbacks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from maxmargin.loop.loop import Callback
from maxmargin.loop.record import Record

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: this version of scikit-learn has no callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method in a call of its own, so that warnings are as many calls away as with scikit-learn 1.9."""

        @wraps(method)
        def called(*positional: Any, **named: Any) -> Any:
            return method(*positional, **named)

        return called


__all__ = ["CallbackSupportMixin", "fit_task", "reporting", "with_callbacks"]


def fit_task(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, dict[str, Any]]:
    """Begin the task of a fit; return its context and the data for callbacks. Without callbacks the context is None."""
    data = {"X": X, "y": y, "metadata": None if sample_weight is None else {"sample_weight": sample_weight}}
    if not getattr(estimator, "_skl_callbacks", None):
        return None, data
    task = estimator._init_callback_context(max_subtasks=None)
    task.call_on_fit_task_begin(estimator=estimator, **data)
    return task, data


def reporting(estimator: Any, task: Any, data: dict[str, Any], callback: Callback | None) -> Callback:
    """Return a callback of `train` that reports each certificate as a task, and then calls the given one."""

    def report(record: Record) -> Any:
        part = task.subcontext(task_name="certificate")
        part.call_on_fit_task_begin(estimator=estimator, **data)
        stop = part.call_on_fit_task_end(estimator=estimator, **data)
        return (callback(record) if callback is not None else None) or stop

    return report

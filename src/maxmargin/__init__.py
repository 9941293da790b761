"""maxmargin: support vector machines, trained and proved."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in typing, which would take most of the time of this import

__version__ = "0.2.0"

# Public names and where they live: imported when first used, so that `import maxmargin` costs nothing.
_HOMES = {
    "train": "maxmargin.training.train",
    "Result": "maxmargin.results",
    "path": "maxmargin.regularisation_path",
    "race": "maxmargin.racing.race",
    "Race": "maxmargin.racing.race",
    "report": "maxmargin.reporting.report",
    "Report": "maxmargin.reporting.report",
    "progress": "maxmargin.reporting.progress",
    "LinearModel": "maxmargin.models.linear",
    "load": "maxmargin.models.linear",
    "write_libsvm_model": "maxmargin.models.libsvm",
    "write_liblinear_model": "maxmargin.models.liblinear",
    "KernelModel": "maxmargin.models.kernel",
    "KernelFunction": "maxmargin.models.kernel_function",
    "ApproximateModel": "maxmargin.models.approximate",
    "LinearSVC": "maxmargin.estimators.linear_svc",
    "LinearSVCCV": "maxmargin.estimators.tuned",
    "SVC": "maxmargin.estimators.svc",
    "SVCCV": "maxmargin.estimators.tuned",
    "NuSVC": "maxmargin.estimators.svc",
    "SVR": "maxmargin.estimators.svr",
    "NuSVR": "maxmargin.estimators.svr",
    "OneClassSVM": "maxmargin.estimators.one_class_svm",
    "from_sklearn": "maxmargin.estimators.exchange",
    "PolynomialMap": "maxmargin.estimators.polynomial_map",
    "Certificate": "maxmargin.problems.certificate",
    "Status": "maxmargin.status",
    "Record": "maxmargin.loop.record",
    "tune": "maxmargin.tuning.tune",
    "cross_validate": "maxmargin.tuning.tune",
    "Tuning": "maxmargin.tuning.tuning",
    "read": "maxmargin.data.files",
    "write": "maxmargin.data.files",
    "MaxmarginError": "maxmargin.errors",
    "DataError": "maxmargin.errors",
    "FileError": "maxmargin.errors",
    "ParameterError": "maxmargin.errors",
    "RefusedError": "maxmargin.errors",
    "ClusterError": "maxmargin.errors",
    "CheckpointWarning": "maxmargin.errors",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604

if TYPE_CHECKING:
    from typing import Any

    from maxmargin.data.files import read as read
    from maxmargin.data.files import write as write
    from maxmargin.errors import CheckpointWarning as CheckpointWarning
    from maxmargin.errors import ClusterError as ClusterError
    from maxmargin.errors import DataError as DataError
    from maxmargin.errors import FileError as FileError
    from maxmargin.errors import MaxmarginError as MaxmarginError
    from maxmargin.errors import ParameterError as ParameterError
    from maxmargin.errors import RefusedError as RefusedError
    from maxmargin.estimators.exchange import from_sklearn as from_sklearn
    from maxmargin.estimators.linear_svc import LinearSVC as LinearSVC
    from maxmargin.estimators.one_class_svm import OneClassSVM as OneClassSVM
    from maxmargin.estimators.polynomial_map import PolynomialMap as PolynomialMap
    from maxmargin.estimators.svc import SVC as SVC
    from maxmargin.estimators.svc import NuSVC as NuSVC
    from maxmargin.estimators.svr import SVR as SVR
    from maxmargin.estimators.svr import NuSVR as NuSVR
    from maxmargin.estimators.tuned import SVCCV as SVCCV
    from maxmargin.estimators.tuned import LinearSVCCV as LinearSVCCV
    from maxmargin.loop.record import Record as Record
    from maxmargin.models.approximate import ApproximateModel as ApproximateModel
    from maxmargin.models.kernel import KernelModel as KernelModel
    from maxmargin.models.kernel_function import KernelFunction as KernelFunction
    from maxmargin.models.liblinear import write_liblinear_model as write_liblinear_model
    from maxmargin.models.libsvm import write_libsvm_model as write_libsvm_model
    from maxmargin.models.linear import LinearModel as LinearModel
    from maxmargin.models.linear import load as load
    from maxmargin.problems.certificate import Certificate as Certificate
    from maxmargin.racing.race import Race as Race
    from maxmargin.racing.race import race as race
    from maxmargin.regularisation_path import path as path
    from maxmargin.reporting.progress import progress as progress
    from maxmargin.reporting.report import Report as Report
    from maxmargin.reporting.report import report as report
    from maxmargin.results import Result as Result
    from maxmargin.status import Status as Status
    from maxmargin.training.train import train as train
    from maxmargin.tuning.tune import cross_validate as cross_validate
    from maxmargin.tuning.tune import tune as tune
    from maxmargin.tuning.tuning import Tuning as Tuning


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

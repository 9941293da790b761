"""The estimators that are timed: class, parameters as a user types them, and the data sets they are fitted to."""

from __future__ import annotations

from typing import Any, NamedTuple

import sklearn.svm

import maxmargin

OURS, THEIRS = "maxmargin", "scikit-learn"
MODULES = {OURS: maxmargin, THEIRS: sklearn.svm}

CLASSIFIED = (
    "iris", "wine", "wine standardised", "breast cancer raw", "breast cancer", "digits raw", "digits", "100×5",
    "500×20", "1000×20", "2000×50", "text 1000×5000",
)  # fmt: skip
REGRESSED = ("diabetes", "regression 1000×20")
DESCRIBED = ("1 blob 100×2", "10 blobs 100×2", "iris", "breast cancer", "1000×20")


class Kind(NamedTuple):
    """An estimator with its parameters, and whether both packages solve the same problem with them."""

    name: str
    parameters: dict[str, Any]
    sets: tuple[str, ...]
    is_same_problem: bool = True

    def make(self, who: str) -> Any:
        """Return the estimator of that package."""
        return getattr(MODULES[who], self.name)(**self.parameters)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.parameters.items())})"


HINGE = Kind("LinearSVC", {"loss": "hinge"}, CLASSIFIED, False)
SQUARED_HINGE = Kind("LinearSVC", {"loss": "squared_hinge"}, CLASSIFIED, False)
SVC = Kind("SVC", {}, CLASSIFIED)

KINDS = (
    HINGE,
    SQUARED_HINGE,
    Kind("LinearSVC", {"loss": "hinge", "intercept_scaling": 1}, CLASSIFIED),
    Kind("LinearSVC", {"loss": "squared_hinge", "intercept_scaling": 1}, CLASSIFIED),
    SVC,
    Kind("SVC", {"kernel": "linear"}, CLASSIFIED),
    Kind("SVC", {"kernel": "poly"}, CLASSIFIED),
    Kind("NuSVC", {}, CLASSIFIED),
    Kind("SVR", {}, REGRESSED),
    Kind("SVR", {"kernel": "linear"}, REGRESSED),
    Kind("NuSVR", {}, REGRESSED),
    Kind("OneClassSVM", {}, DESCRIBED),
    Kind("OneClassSVM", {"kernel": "linear"}, DESCRIBED),
    Kind("OneClassSVM", {"kernel": "poly"}, DESCRIBED),
)

# The table of issue 24, which gives the targets: geometric mean at most 1.0, no cell above 1.5.
TARGET_SETS = ("iris", "breast cancer", "digits", "100×5", "1000×20")
TARGET_KINDS = (HINGE, SQUARED_HINGE, SVC)

"""The settings of a training, checked before any work is done.

Every value is checked, used or not. A parameter that has no effect together with the others is refused with the reason
and a remedy. No parameter is silently ignored.
"""

from __future__ import annotations

from typing import Any

from maxmargin.data.encoding.request import Request, requested
from maxmargin.data.expand import Expansion, find_expansion
from maxmargin.errors import ParameterError
from maxmargin.kernels.approximation import Approximation
from maxmargin.loop.saving import Keeping
from maxmargin.loop.stopping import Limits
from maxmargin.problems.linear import penalty
from maxmargin.settings.checks import CHECKS, checked_keeping
from maxmargin.settings.parameters import PARAMETERS, is_given
from maxmargin.settings.rules import RULES, Values, is_exact_kernel
from maxmargin.solvers import find_solver
from maxmargin.system.budget import Budget, checked_memory
from maxmargin.system.lazy import lazy
from maxmargin.system.threads import thread_count

NOVELTY_NU = 0.5  # scikit-learn's default


class Settings:
    """The checked parameters of one call of `train`, as attributes, and the values derived from them."""

    def __init__(self, values: Values) -> None:
        self.values = dict(values)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None

    def changed(self, **values: Any) -> Settings:
        """Return the settings with some values replaced."""
        return Settings({**self.values, **values})

    @property
    def limits(self) -> Limits:
        """The tolerance and the limits."""
        return Limits(self.tol, self.max_seconds, self.max_epochs)

    @lazy
    def keeping(self) -> Keeping:
        """Where the run saves its checkpoint."""
        return checked_keeping(self.checkpoint, self.resume, self.force)

    @lazy
    def thread_count(self) -> int:
        """The number of threads to use."""
        return thread_count(self.threads)

    @lazy
    def budget(self) -> Budget | None:
        """The memory limit, if one is given."""
        return checked_memory(self.memory)

    @lazy
    def expansion(self) -> Expansion | None:
        """The expansion of the features, if any."""
        return find_expansion(self.expand)

    @property
    def request(self) -> Request | None:
        """How the columns of a table are encoded; None if they are not."""
        return requested(self.encode, self.columns, self.drop, self.kinds, self.label)

    @property
    def approximation(self) -> Approximation | None:
        """The approximation of the kernel by explicit features, if any."""
        return None if self.approx is None else Approximation(self.approx, int(self.components), self.landmarks)

    @property
    def uses_kernel(self) -> bool:
        """Whether training uses a kernel matrix: always for regression and novelty detection."""
        return is_exact_kernel(self.values)

    @property
    def formulation(self) -> str:
        """The formulation that is trained with a kernel, as LIBSVM calls it."""
        if self.task == "novelty":
            return "one-class"
        if self.task == "regress":
            return "epsilon-SVR" if self.nu is None else "nu-SVR"
        return "C-SVC" if self.nu is None else "nu-SVC"

    def penalty(self, n: int) -> float:
        """Return C for n examples, from C or lam."""
        return penalty(n, self.C, self.lam)

    def summary(self) -> dict[str, Any]:
        """Return the part of the training's description that all models have."""
        return {
            "task": self.task, "options": self.options or {}, "bias": self.bias, "tol": float(self.tol),
            "seed": int(self.seed), "weighted": self.weights is not None or self.class_weight is not None,
        }  # fmt: skip


def checked_settings(values: Values) -> Settings:
    """Return the settings of a call. Refuse a wrong value, used or not, and a parameter without effect in this call."""
    check_values(values)
    check_rules(values)
    settings = Settings(values)
    _ = settings.keeping  # refuses a file that may not be replaced
    return settings


def settings_of(function: str, X: Any, given: Values, **defaults: Any) -> Settings:
    """Return the settings of a function that passes its arguments on to `train`; `defaults` are its own defaults."""
    for name in given:
        if name not in PARAMETERS:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
    declared = {name: parameter.default for name, parameter in PARAMETERS.items()}
    return checked_settings({**declared, **defaults, **given, "X": X})


def check_values(values: Values) -> None:
    """Refuse a wrong value, whether it is used or not."""
    for name, check in CHECKS.items():
        if values[name] is not PARAMETERS[name].default:
            check(name, values[name])
    penalty(1, values["C"], values["lam"])
    if values["solver"] != "auto":
        find_solver(values["solver"], values["options"], kernel=is_exact_kernel(values))


def check_rules(values: Values) -> None:
    """Refuse a parameter that has no effect in this call."""
    for name, rules in RULES.items():
        if is_given(name, values[name]):
            for rule in rules:
                if reason := rule(name, values):
                    raise ParameterError(reason)

"""The model that a report is about: its task, its features by column, and what is known of its training."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.encoding.columns import Column
from maxmargin.data.encoding.encoder import Encoder
from maxmargin.data.labels import show
from maxmargin.errors import ParameterError
from maxmargin.models.approximate import ApproximateModel
from maxmargin.models.input_rows import encoder_in
from maxmargin.models.kernel import KernelModel
from maxmargin.models.kernel_function import ONE_CLASS, KernelFunction
from maxmargin.models.linear import LinearModel, Model, load
from maxmargin.models.named_weights import feature_names, weight_rows
from maxmargin.reporting.facts.convergence import Curve, curves, restored
from maxmargin.results import Result
from maxmargin.status import Status


@dataclass(frozen=True)
class Group:
    """The features of one column of the data: those from `start` to `stop`. `column` says how it was encoded."""

    name: str
    start: int
    stop: int
    column: Column | None = None


@dataclass(frozen=True, eq=False)
class Subject:
    """A model, the result that it comes from if there is one, and a name for it."""

    model: Model
    name: str
    result: Result | None = field(default=None, repr=False)

    @property
    def training(self) -> dict[str, Any]:
        """The summary of the training."""
        return self.model.training

    @property
    def task(self) -> str:
        """The task: classify, regress or novelty. The form of the model decides, whatever its summary says."""
        if not isinstance(self.model, KernelFunction):
            return "classify"
        return "novelty" if self.model.formulation == ONE_CLASS else "regress"

    @property
    def classes(self) -> list[str]:
        """The classes as text; none for regression and novelty detection."""
        return [show(label) for label in getattr(self.model, "classes", ())]

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes."""
        return self.task == "classify" and len(self.classes) == 2

    @property
    def decides_by_pairs(self) -> bool:
        """Whether a function for each pair of more than two classes votes: of a kernel model."""
        return isinstance(self.model, KernelModel) and not self.is_binary

    @property
    def d(self) -> int:
        """Number of features of rows before any expansion."""
        return int(self.training.get("input_d", self.model.d))

    @cached_property
    def encoder(self) -> Encoder | None:
        """How the columns of a table were encoded, if it was one."""
        return encoder_in(self.training)

    @cached_property
    def feature_names(self) -> list[str]:
        """Names of the features. Those without a name are counted from 1."""
        return feature_names(self.model)

    @cached_property
    def groups(self) -> list[Group]:
        """The columns of the data, each with its features."""
        if self.encoder is None:
            return [Group(name, k, k + 1) for k, name in enumerate(self.feature_names)]
        starts = self.encoder.starts.tolist()
        return [Group(one.name, at, at + one.size, one) for one, at in zip(self.encoder.used, starts, strict=False)]

    @cached_property
    def curves(self) -> list[Curve]:
        """The course of the training."""
        return curves(self.result.history) if self.result is not None else restored(self.training)

    @property
    def status(self) -> Status | None:
        """How the training ended, if known."""
        if self.result is not None:
            return self.result.status
        try:
            return Status(str(self.training.get("status")))
        except ValueError:
            return None

    @property
    def advice(self) -> str:
        """What the status means and what to do; "" if it is not known."""
        if self.result is not None:
            return self.result.advice
        return self.status.advice if self.status is not None else ""

    @cached_property
    def weights(self) -> np.ndarray | None:
        """The weights of the features, a row for each problem; None for a model without such weights."""
        return weight_rows(self.model)

    @property
    def has_columns(self) -> bool:
        """Whether single columns of the data can be changed: not of a kernel matrix, nor of sequences."""
        from maxmargin.kernels.functions import Precomputed

        precomputed = isinstance(getattr(self.model, "kernel", None), Precomputed)
        return not precomputed and not str(self.training.get("expand", "")).startswith("kmers")

    @property
    def kernel(self) -> str:
        """The kernel in words; "" for a linear model."""
        if isinstance(self.model, LinearModel):
            return ""
        model = self.model
        words = model.approximation if isinstance(model, ApproximateModel) else str(model.kernel)
        return re.sub(r"\d+\.\d+(e[-+]?\d+)?", lambda found: f"{float(found[0]):.4g}", words)

    @property
    def value_name(self) -> str:
        """What `decide` returns, in words."""
        return {"regress": "prediction", "novelty": "value"}.get(self.task, "decision value")


def subject_of(given: Any) -> Subject:
    """Return the subject for a result, a model, or the file of one."""
    given = getattr(given, "result_", given)  # of a fitted estimator
    if isinstance(given, Result):
        return Subject(given.model, "this model", given)
    if isinstance(given, (LinearModel, KernelModel, ApproximateModel, KernelFunction)):
        return Subject(given, "this model")
    if not isinstance(given, (str, os.PathLike)):
        raise ParameterError(f"report takes a result of train, a model or its file, not {type(given).__name__}")
    return Subject(load(Path(given)), Path(given).name)
